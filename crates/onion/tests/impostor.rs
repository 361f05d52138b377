//! The man in the middle sees every message, knows what the directory says, can compute whatever a relay computes, and
//! has every secret except those of the relay's onion keys. He answers in the relay's place.
//!
//! Beside each attempt, the same computation with the true secrets must succeed, so that the attack fails for lack of
//! the secret and not through a mistake in the test.

use candor_key_schedules::{self as book, Relay};
use candor_onion::Error;
use candor_onion::handshake::{CIRCUIT_EXTEND, Client, Handshake, Hybrid, NtorDefault, NtorV3Default, StaticKem};
use candor_onion::handshake::{Hybrid768, NoStaticKem};
use candor_primitives::dh::{DiffieHellman, aws_lc::X25519, x25519};
use candor_primitives::kem::{Kem, aws_lc::*};
use handshakes::keys;
use std::slice::from_ref;

#[macro_use]
mod handshakes;

fn agree(secret: &<X25519 as DiffieHellman>::Secret, public: &[u8]) -> Vec<u8> {
    X25519.agree(secret, public.try_into().unwrap()).unwrap().as_bytes().to_vec()
}

/// Candidates of the right size for EXP(X,b): everything that an impostor can compute from what he knows.
fn guesses(x: &[u8], b_public: &[u8], y: &<X25519 as DiffieHellman>::Secret) -> Vec<Vec<u8>> {
    let own_b = X25519.generate().unwrap().0;
    vec![vec![0; 32], x.to_vec(), b_public.to_vec(), agree(y, x), agree(y, b_public), agree(&own_b, x)]
}

#[test]
fn nobody_but_the_relay_can_answer_ntor() {
    let ntor = NtorDefault::default();
    let b = X25519.generate().unwrap();
    let b_copy = x25519::X25519::new().secret_from_bytes(&X25519.secret_to_bytes(&b.0).unwrap()).unwrap();
    let relay = ntor.relay([1; 20], b_copy).unwrap();
    let attempt = |guess: Option<usize>| {
        let (client, onionskin) = ntor.start(ntor.public(&relay), b"").unwrap();
        let x = &onionskin[52..];
        let (y, y_public) = X25519.generate().unwrap();
        let xb = guess.map_or_else(|| agree(&b.0, x), |guess| guesses(x, &b.1, &y)[guess].clone());
        let answer = Relay {
            identity: &[1; 20],
            onion_key: &b.1,
            static_secrets: &xb,
            fresh_secrets: &agree(&y, x),
            fresh_public: &y_public,
            message: b"",
        };
        let (reply, relay_keys) = book::ntor(x, &answer);
        let established = client.finish(&reply)?;
        assert_eq!(keys(&established.keys), relay_keys);
        Ok(())
    };
    assert_eq!(attempt(None), Ok(()), "with the relay's secret it works");
    (0..6).for_each(|guess| assert_eq!(attempt(Some(guess)), Err(Error::Authentication), "guess {guess}"));
}

#[test]
fn nobody_but_the_relay_can_answer_ntor_v3() {
    let v3 = NtorV3Default::default();
    let b = X25519.generate().unwrap();
    let b_copy = x25519::X25519::new().secret_from_bytes(&X25519.secret_to_bytes(&b.0).unwrap()).unwrap();
    let relay = v3.relay([1; 32], b_copy).unwrap();
    let attempt = |guess: Option<usize>| {
        let (client, onionskin) = v3.start(v3.public(&relay), b"extensions").unwrap();
        let (x, mac) = (&onionskin[64..96], &onionskin[onionskin.len() - 32..]);
        let (y, y_public) = X25519.generate().unwrap();
        let xb = guess.map_or_else(|| agree(&b.0, x), |guess| guesses(x, &b.1, &y)[guess].clone());
        let answer = Relay {
            identity: &[1; 32],
            onion_key: &b.1,
            static_secrets: &xb,
            fresh_secrets: &agree(&y, x),
            fresh_public: &y_public,
            message: b"I am the relay",
        };
        let (reply, relay_keys) = book::ntor_v3(x, mac, CIRCUIT_EXTEND, &answer);
        let established = client.finish(&reply)?;
        assert_eq!(established.message, b"I am the relay");
        assert_eq!(keys(&established.keys), relay_keys);
        Ok(())
    };
    assert_eq!(attempt(None), Ok(()), "with the relay's secret it works");
    (0..6).for_each(|guess| assert_eq!(attempt(Some(guess)), Err(Error::Authentication), "guess {guess}"));
}

/// The impostor's knowledge of the relay's two secrets.
#[derive(Clone, Copy)]
enum Has {
    Both,
    /// b, after a break of X25519; SS_s is a guess.
    OnionKey,
    /// dk_s, after a break of the KEM; EXP(X,b) is a guess.
    StaticKem,
    /// Only guesses.
    Guess(usize),
}

/// Answers a `hybrid` client; `S` is the static KEM if `auth`.
fn answer_hybrid<K: Kem + Clone + Default>(auth: bool, has: Has) -> Result<(), Error> {
    let kem = K::default();
    let b = X25519.generate().unwrap();
    let b_copy = X25519.secret_from_bytes(&X25519.secret_to_bytes(&b.0).unwrap()).unwrap();
    let (dk_s, ek_s) = kem.generate().unwrap();
    let dk_copy = kem.secret_from_bytes(&kem.secret_to_bytes(&dk_s).unwrap()).unwrap();

    let forge = |onionskin: &[u8], header: usize, protoid: &str| {
        let (x, ek) = (&onionskin[32..64], &onionskin[64..64 + K::PUBLIC]);
        let (y, y_public) = X25519.generate().unwrap();
        let mut ct_e = vec![0; K::CIPHERTEXT];
        let ss_e = kem.encapsulate(&kem.public_from_bytes(ek).unwrap(), &mut ct_e).unwrap();

        let mut static_secrets = match has {
            Has::Both | Has::OnionKey => agree(&b.0, x),
            Has::StaticKem => vec![0; 32],
            Has::Guess(guess) => guesses(x, &b.1, &y)[guess].clone(),
        };
        if auth {
            let ct_s = &onionskin[64 + K::PUBLIC..header];
            // Without dk_s: decapsulates CT_s with a key of his own.
            let own = kem.generate().unwrap().0;
            let with = if matches!(has, Has::Both | Has::StaticKem) { &dk_copy } else { &own };
            static_secrets.extend_from_slice(kem.decapsulate(with, ct_s).unwrap().as_bytes());
        }
        let answer = Relay {
            identity: &[1; 32],
            onion_key: &b.1,
            static_secrets: &static_secrets,
            fresh_secrets: &[&agree(&y, x)[..], ss_e.as_bytes()].concat(),
            fresh_public: &[&y_public[..], &ct_e].concat(),
            message: b"I am the relay",
        };
        book::hybrid(protoid, CIRCUIT_EXTEND, onionskin, header, &answer)
    };

    let header = 64 + K::PUBLIC + if auth { K::CIPHERTEXT } else { 0 };
    let protoid = format!("candor-hybrid-1/X25519/{}", K::NAME);
    let (established, relay_keys) = if auth {
        let handshake = Hybrid::new(kem.clone(), X25519, StaticKem(kem.clone()));
        let relay = handshake.relay([1; 32], b_copy, (dk_s, ek_s)).unwrap();
        let (client, onionskin) = handshake.start(handshake.public(&relay), b"extensions").unwrap();
        let (reply, relay_keys) = forge(&onionskin, header, &format!("{protoid}/static:{}", K::NAME));
        (client.finish(&reply)?, relay_keys)
    } else {
        let handshake = Hybrid::new(kem.clone(), X25519, NoStaticKem);
        let relay = handshake.relay([1; 32], b_copy, ((), ())).unwrap();
        let (client, onionskin) = handshake.start(handshake.public(&relay), b"extensions").unwrap();
        let (reply, relay_keys) = forge(&onionskin, header, &protoid);
        (client.finish(&reply)?, relay_keys)
    };
    assert_eq!(established.message, b"I am the relay");
    assert_eq!(keys(&established.keys), relay_keys);
    Ok(())
}

#[test]
fn nobody_but_the_relay_can_answer_a_hybrid() {
    fn check<K: Kem + Clone + Default>() {
        assert_eq!(answer_hybrid::<K>(false, Has::Both), Ok(()), "with the relay's secret it works");
        for guess in 0..6 {
            assert_eq!(answer_hybrid::<K>(false, Has::Guess(guess)), Err(Error::Authentication), "guess {guess}");
        }
    }
    check::<MlKem512>();
    check::<MlKem768>();
    check::<MlKem1024>();
}

/// With a static KEM key, one of the two secrets is not enough: this is the purpose of the variant.
#[test]
fn nobody_but_the_holder_of_both_keys_can_answer_an_auth_hybrid() {
    fn check<K: Kem + Clone + Default>() {
        assert_eq!(answer_hybrid::<K>(true, Has::Both), Ok(()), "with the relay's secrets it works");
        assert_eq!(answer_hybrid::<K>(true, Has::OnionKey), Err(Error::Authentication));
        assert_eq!(answer_hybrid::<K>(true, Has::StaticKem), Err(Error::Authentication));
        for guess in 0..6 {
            assert_eq!(answer_hybrid::<K>(true, Has::Guess(guess)), Err(Error::Authentication), "guess {guess}");
        }
    }
    check::<MlKem512>();
    check::<MlKem768>();
    check::<MlKem1024>();
}

/// He contacts the relay himself, passes on its genuine answer, and replaces the keys in the client's onionskin by his
/// own.
#[test]
fn the_client_refuses_a_genuine_reply_to_the_impostor() {
    let handshake = Hybrid768::default();
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let public = handshake.public(&relay);
    let (client, onionskin) = handshake.start(public, b"").unwrap();
    let (_, own) = handshake.start(public, b"").unwrap();
    let mixed = [&onionskin[..64], &own[64..]].concat();
    assert_eq!(handshake.accept(from_ref(&relay), &mixed).unwrap_err(), Error::Onionskin);
    let (reply, _) = {
        use candor_onion::handshake::Request;
        handshake.accept(from_ref(&relay), &own).unwrap().respond(b"").unwrap()
    };
    assert_eq!(client.finish(&reply).unwrap_err(), Error::Authentication);
}
