//! One attack on every handshake: a man in the middle answers in the relay's place. He sees the onionskin, knows everything that the
//! directory says about the relay, and runs a relay of his own with the same identity. He lacks only the relay's secret keys.
//!
//! Against the scheme of pq-ntor-experiment (`insecure-seed`) he gets the client's keys. In every other handshake the client refuses his
//! answer. `crates/onion/tests/impostor.rs` shows that he fails for lack of the secret and not of skill: there he also computes everything
//! that a relay computes, with every guess for the secret.

use candor_onion::Error;
use candor_onion::handshake::*;
use candor_peers::insecure_seed::{Hash, InsecureSeed};
use candor_primitives::hash::{Digest, Sha256};
use candor_primitives::kem::{Kem, aws_lc};
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use std::ops::Range;
use std::slice::from_ref;

struct OurSha256;

impl Hash for OurSha256 {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        Sha256::digest(data).into()
    }

    fn hmac(&self, key: &[u8], data: &[u8]) -> [u8; 32] {
        let mac = HmacSha256::new_from_slice(key).expect("HMAC takes keys of every length");
        mac.chain_update(data).finalize().into_bytes().into()
    }
}

/// The man in the middle against the insecure scheme: its relay has no secret, so he is as good a relay as the relay.
fn he_has_the_keys<K: Kem>(kem: K) {
    let scheme = InsecureSeed::new(kem, OurSha256);
    let directory = [7; 20];
    let (client, onionskin) = scheme.start(&directory).unwrap();

    let (reply, his_keys) = scheme.answer(&directory, &onionskin).unwrap();

    let keys = scheme.finish(client, &reply).expect("the client takes him for the relay");
    assert_eq!(keys, his_keys);
}

#[test]
fn the_man_in_the_middle_is_the_relay_to_a_client_of_insecure_seed() {
    he_has_the_keys(aws_lc::MlKem512);
    he_has_the_keys(aws_lc::MlKem768);
    he_has_the_keys(aws_lc::MlKem1024);
}

/// The same against a handshake that authenticates. `key_id` is where an onionskin says which onion key it is for.
fn he_is_refused<H: Handshake>(handshake: H, key_id: Range<usize>) {
    let name = handshake.name();
    let identity = H::Identity::default();
    let relay = handshake.generate_relay(identity).unwrap();
    let own = handshake.generate_relay(identity).unwrap();
    let start = || handshake.start(handshake.public(&relay), b"").unwrap();

    // With the relay's secrets it works.
    let (client, onionskin) = start();
    let (reply, keys) = handshake.accept(from_ref(&relay), &onionskin).unwrap().respond(b"").unwrap();
    assert_eq!(*client.finish(&reply).unwrap().keys.expand(72).unwrap(), *keys.expand(72).unwrap(), "{name}");

    // With his own, the onionskin is not for him.
    let (client, onionskin) = start();
    assert_eq!(handshake.accept(from_ref(&own), &onionskin).err(), Some(Error::UnknownKey), "{name}");

    // He makes it his by writing in his own key. ntor's onionskins are not authenticated, so there his relay answers it;
    // the client does not take the answer.
    let (_, his) = handshake.start(handshake.public(&own), b"").unwrap();
    let mut readdressed = onionskin.clone();
    readdressed[key_id.clone()].copy_from_slice(&his[key_id]);
    let reply = match handshake.accept(from_ref(&own), &readdressed) {
        Ok(request) => request.respond(b"").unwrap().0,
        Err(refused) => {
            assert_eq!(refused, Error::Onionskin, "{name}");
            // Then he sends the answer to an onionskin that he made himself.
            handshake.accept(from_ref(&own), &his).unwrap().respond(b"").unwrap().0
        }
    };
    assert_eq!(client.finish(&reply).err(), Some(Error::Authentication), "{name}");

    // He has the true relay answer an onionskin of his, and passes that on.
    let (client, _) = start();
    let (_, his) = start();
    let (reply, _) = handshake.accept(from_ref(&relay), &his).unwrap().respond(b"").unwrap();
    assert_eq!(client.finish(&reply).err(), Some(Error::Authentication), "{name}");
}

#[test]
fn the_man_in_the_middle_is_refused_by_a_client_of_every_other_handshake() {
    // Where KEYID stands: after the node's identity, or in front.
    he_is_refused(NtorDefault::default(), 20..52);
    he_is_refused(NtorV3Default::default(), 32..64);
    he_is_refused(Hybrid512::default(), 0..32);
    he_is_refused(Hybrid768::default(), 0..32);
    he_is_refused(Hybrid1024::default(), 0..32);
    he_is_refused(Hybrid512Auth::default(), 0..32);
    he_is_refused(Hybrid768Auth::default(), 0..32);
    he_is_refused(Hybrid1024Auth::default(), 0..32);
}
