//! The standard's examples, whose nonces no public method takes, and what depends on nonces.

use super::*;
use crate::curve::arm::on_arm;
use crate::curve::sm2::{N, Sm2Curve};
use crate::curve::words::{from_bytes, minus, to_bytes};
use crate::curve::{Curve, Modulus};
use candor_cpu::Cpu;
use candor_test_support::vectors;
use std::vec::Vec;

/// SM2 on each arm of this machine.
fn arms() -> Vec<Sm2> {
    let mut arms: Vec<Sm2> = [Cpu::host(), Cpu::portable()].map(Sm2::with_cpu).into();
    arms.dedup_by_key(|sm2| sm2.arm());
    arms
}

fn file() -> serde_json::Value {
    vectors::load("sm2.json")
}

#[test]
fn the_standards_signature_on_every_arm() {
    let vector = &file()["signature"];
    let id = vectors::bytes(vector, "id");
    let digest = vectors::array(vector, "digest");
    for sm2 in arms() {
        let secret = sm2.secret_from_bytes(&vectors::array(vector, "secret")).unwrap();
        assert_eq!(secret.public_key().to_bytes(), vectors::array(vector, "public"));
        assert_eq!(secret.public_key().identity_digest(&id).unwrap(), vectors::array(vector, "identity_digest"));
        let signing = secret.signing_key(&id).unwrap();
        assert_eq!(signing.digest(&vectors::bytes(vector, "message")), digest);
        let signature = signing.sign_by(&digest, &from_bytes(&vectors::array(vector, "nonce"))).unwrap();
        assert_eq!(signature.to_bytes(), vectors::array(vector, "signature"));
        assert_eq!(signing.verifying_key().verify(&vectors::bytes(vector, "message"), &signature), Ok(()));
    }
}

#[test]
fn the_standards_ciphertext_on_every_arm() {
    let vector = &file()["encryption"];
    let (message, ciphertext) = (vectors::bytes(vector, "message"), vectors::bytes(vector, "ciphertext"));
    for sm2 in arms() {
        let secret = sm2.secret_from_bytes(&vectors::array(vector, "secret")).unwrap();
        let parts = secret.public_key().encrypt_once(&message, &from_bytes(&vectors::array(vector, "nonce")));
        let (point, digest, text) = parts.unwrap();
        assert_eq!(Format::C1C3C2.write(&point, &digest, &text), ciphertext);
        assert_eq!(secret.decrypt(&ciphertext, Format::C1C3C2).unwrap().as_slice(), message);
    }
}

#[test]
fn the_standards_exchange_on_every_arm() {
    let vector = &file()["exchange"];
    let id = vectors::bytes(vector, "id");
    for sm2 in arms() {
        let key = |name| sm2.secret_from_bytes(&vectors::array(vector, name)).unwrap();
        let (secret_a, secret_b) = (key("secret_a"), key("secret_b"));
        let a = Exchange::with_ephemeral(Role::Initiator, &secret_a, &id, key("ephemeral_a")).unwrap();
        let b = Exchange::with_ephemeral(Role::Responder, &secret_b, &id, key("ephemeral_b")).unwrap();
        let (of_a, of_b) = (a.ephemeral().clone(), b.ephemeral().clone());
        let a = a.agree(secret_b.public_key(), &id, &of_b, 16).unwrap();
        let b = b.agree(secret_a.public_key(), &id, &of_a, 16).unwrap();
        assert_eq!(*a.confirmation(), vectors::array(vector, "confirmation_a"));
        assert_eq!(*b.confirmation(), vectors::array(vector, "confirmation_b"));
        let confirmation = *a.confirmation();
        assert_eq!(*a.unconfirmed(), vectors::bytes(vector, "key"));
        assert_eq!(*b.confirmed_by(&confirmation).unwrap(), vectors::bytes(vector, "key"));
    }
}

#[test]
fn keys_that_cancel_out_are_refused_in_an_exchange_and_their_neighbours_are_not() {
    for sm2 in arms() {
        let ephemeral = || sm2.secret_from_bytes(&[0x21; 32]).unwrap();
        // d = −x̄·r, for which t is 0 and P + x̄·R is infinity; and one more.
        let cancelling = on_arm!(sm2.arm, |group: Sm2Curve| {
            let n = group.order;
            let folded = n.enter(&exchange::folded(ephemeral().public_key()));
            n.difference(&[0; 4], &n.product(&folded, &ephemeral().scalar))
        });
        let other = sm2.secret_from_bytes(&[0x33; 32]).unwrap();
        for (more, refused) in [(0, true), (1, false)] {
            let mut scalar = cancelling;
            scalar[0] += more;
            let secret = sm2.secret_from_bytes(&to_bytes(&scalar)).unwrap();
            let ours = Exchange::with_ephemeral(Role::Initiator, &secret, b"a", ephemeral()).unwrap();
            let agreed = ours.agree(other.public_key(), b"b", other.public_key(), 16);
            assert_eq!(agreed.err(), refused.then_some(Sm2Error::Exchange));
            let theirs = Exchange::with_ephemeral(Role::Responder, &other, b"b", other.clone()).unwrap();
            let agreed = theirs.agree(secret.public_key(), b"a", ephemeral().public_key(), 16);
            assert_eq!(agreed.err(), refused.then_some(Sm2Error::Exchange));
        }
    }
}

#[test]
fn nonces_that_make_a_zero_are_refused_and_their_neighbours_are_not() {
    for sm2 in arms() {
        let secret = sm2.secret_from_bytes(&[0x42; 32]).unwrap();
        let signing = secret.signing_key(DEFAULT_ID).unwrap();
        let n_minus = |less: u64| minus(&N::P, &[less, 0, 0, 0]);
        assert!(signing.sign_by(&[9; 32], &[0; 4]).is_none());
        for nonce in [[1, 0, 0, 0], n_minus(1), n_minus(2), n_minus(6)] {
            let signature = signing.sign_by(&[9; 32], &nonce).unwrap();
            assert_eq!(signing.verifying_key().verify_digest(&[9; 32], &signature), Ok(()));
        }
        // With k = 1, r is e + x(G): zero for e = −x(G), and −1 for one less, when r + k is zero.
        let [x, _] = Sm2Curve::GENERATOR;
        let e = minus(&N::P, &x);
        assert!(signing.sign_by(&to_bytes(&e), &[1, 0, 0, 0]).is_none());
        assert!(signing.sign_by(&to_bytes(&minus(&e, &[1, 0, 0, 0])), &[1, 0, 0, 0]).is_none());
        for e in [minus(&e, &[2, 0, 0, 0]), minus(&e, &[u64::MAX, u64::MAX, u64::MAX, u64::MAX])] {
            assert!(signing.sign_by(&to_bytes(&e), &[1, 0, 0, 0]).is_some());
        }
    }
}

#[test]
fn a_nonce_depends_on_the_key_the_message_and_the_randomness() {
    let signing = |byte| Sm2::new().secret_from_bytes(&[byte; 32]).unwrap().signing_key(DEFAULT_ID).unwrap();
    let nonces = [
        signing(1).nonce(&[2; 32], &[3; 32], 0),
        signing(4).nonce(&[2; 32], &[3; 32], 0),
        signing(1).nonce(&[4; 32], &[3; 32], 0),
        signing(1).nonce(&[2; 32], &[4; 32], 0),
        signing(1).nonce(&[2; 32], &[3; 32], 1),
    ];
    for (at, nonce) in nonces.iter().enumerate() {
        assert!(nonces[..at].iter().all(|other| other != nonce), "{at}");
    }
    assert_eq!(*signing(1).nonce(&[2; 32], &[3; 32], 0), *nonces[0]);
}

#[test]
fn the_nonce_of_an_encryption_depends_on_the_key_the_message_and_the_randomness() {
    let public = |byte| Sm2::new().secret_from_bytes(&[byte; 32]).unwrap().public_key().clone();
    let nonces = [
        public(1).nonce(b"an offer", &[3; 32], 0),
        public(4).nonce(b"an offer", &[3; 32], 0),
        public(1).nonce(b"another", &[3; 32], 0),
        public(1).nonce(b"an offer", &[4; 32], 0),
        public(1).nonce(b"an offer", &[3; 32], 1),
    ];
    for (at, nonce) in nonces.iter().enumerate() {
        assert!(nonces[..at].iter().all(|other| other != nonce), "{at}");
    }
    assert_eq!(*public(1).nonce(b"an offer", &[3; 32], 0), *nonces[0]);
}

#[test]
fn a_message_that_ders_lengths_have_no_bits_for_is_too_long_for_asn1_alone() {
    // What stands around a message is longest with coordinates whose first bit is set, and with heads of six bytes.
    let message = std::vec![0; 1 << 24];
    let longest = Format::Asn1.write(&[[0xff; 32]; 2], &[0; 32], &message);
    let most = u32::MAX as usize - (longest.len() - message.len());
    for (format, holds) in [(Format::Asn1, [true, false]), (Format::C1C3C2, [true; 2]), (Format::C1C2C3, [true; 2])] {
        assert_eq!([most, most + 1].map(|length| format.holds(length)), holds, "{format:?}");
    }
}

#[test]
fn a_nonce_whose_key_stream_is_zero_is_refused() {
    // One byte of key stream is zero for one nonce in 256.
    let secret = Sm2::new().secret_from_bytes(&[5; 32]).unwrap();
    let refused = (1..2000_u64).filter(|nonce| secret.public_key().encrypt_once(b"x", &[*nonce, 0, 0, 0]).is_none());
    let refused: Vec<u64> = refused.collect();
    assert!((1..30).contains(&refused.len()), "{refused:?}");
    assert!(secret.public_key().encrypt_once(b"x", &[0; 4]).is_none());
    let accepted = secret.public_key().encrypt_once(b"x", &[refused[0] + 1, 0, 0, 0]).unwrap();
    assert_eq!(accepted.2.len(), 1);
    assert_ne!(accepted.2, b"x");
}
