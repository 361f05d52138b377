//! Documents against `vectors/directory.json`, which a second writer has made. Unit tests, since what is signed has no public form.

use super::keys::{Label, SecretKey, digest_of};
use super::{Authorities, Certificate, Consensus, Host, PublicKey, Relay, Rule, Times, View, merge};
use crate::parts::Parts;
use candor_test_support::vectors::{array, bytes, list, load};
use serde_json::Value;

fn vectors() -> Value {
    load("directory.json")
}

fn identity(of: &Value) -> [u8; 32] {
    base16ct::mixed::decode_vec(of.as_str().unwrap()).unwrap().try_into().unwrap()
}

fn number(of: &Value) -> u64 {
    of.as_u64().unwrap()
}

fn relay(of: &Value) -> Relay {
    let kems = list(of, "kems");
    let rule = |of: &Value| {
        let host = match of[0].as_str().unwrap() {
            "public" => Host::Public,
            "private" => Host::Private,
            network => {
                let (address, bits) = network.split_once('/').unwrap();
                Host::Network(address.parse().unwrap(), bits.parse().unwrap())
            }
        };
        Rule { host, low: number(&of[1]) as u16, high: number(&of[2]) as u16 }
    };
    let address = |of: &Value| (of[0].as_str().unwrap().parse::<core::net::IpAddr>().unwrap(), number(&of[1]) as u16);
    Relay {
        identity: array(of, "identity"),
        fingerprint: array(of, "fingerprint"),
        x25519: array(of, "x25519"),
        kems: [0, 1, 2].map(|index| {
            kems[index].as_str().map(|text| base16ct::mixed::decode_vec(text).unwrap().try_into().unwrap())
        }),
        published: number(&of["published"]),
        keys_until: number(&of["keys_until"]),
        bandwidth: number(&of["bandwidth"]) as u32,
        handshakes: list(of, "handshakes").iter().map(|of| number(of) as u16).collect(),
        addresses: list(of, "addresses").iter().map(|of| address(of).into()).collect(),
        exit: of["exit"].as_array().unwrap().iter().map(rule).collect(),
        name: of["name"].as_str().unwrap().into(),
    }
}

#[test]
fn relays_are_written_and_read_as_the_specification_says() {
    for vector in list(&vectors(), "relays") {
        let (expected, encoded) = (relay(vector), bytes(vector, "encoded"));
        let mut out = Vec::new();
        expected.encode(&mut out);
        assert_eq!(out, encoded);
        let mut parts = Parts::of("relay", &encoded, 0, true).unwrap();
        assert_eq!(Relay::decode(&mut parts).unwrap(), expected);
        parts.end().unwrap();
    }
}

#[test]
fn a_view_and_the_consensus_of_it_are_the_second_writers() {
    let vectors = vectors();
    let relays: Vec<(Relay, Vec<[u8; 32]>)> = list(&vectors, "relays")
        .iter()
        .zip(list(&vectors, "families"))
        .map(|(of, declared)| (relay(of), declared.as_array().unwrap().iter().map(identity).collect()))
        .collect();
    let at = |index: usize| number(&list(&vectors, "times")[index]);
    let times = Times { valid_after: at(0), fresh_until: at(1), valid_until: at(2) };
    let [authority, signing] = [1, 2].map(|seed| SecretKey::from_seeds(&[seed; 32], &[seed; 32]).unwrap());
    let certificate = Certificate::issue(&authority, signing.public(), at(0), at(1)).unwrap();
    let authorities = Authorities::new(vec![authority.public().fingerprint()], 1).unwrap();

    let signed = View::sign(times, &relays, &signing, &certificate).unwrap();
    let body = bytes(&vectors, "view_body");
    assert_eq!(signed[..4], (body.len() as u32).to_be_bytes());
    assert_eq!(signed[4..4 + body.len()], body);
    let view = View::verify(&signed, &authorities).unwrap();
    assert_eq!(view.relays, relays);

    let merged = merge(times, &[view], 1).unwrap();
    let document = merged.signed(&[merged.sign(&signing, &certificate).unwrap()]);
    let body = bytes(&vectors, "consensus_body");
    assert_eq!(document[4..4 + body.len()], body);
    assert_eq!(merged.digest()[..], bytes(&vectors, "consensus_digest"));
    assert_eq!(Consensus::verify(&document, &authorities).unwrap().relays.len(), 3);
}

#[test]
fn labels_fingerprints_and_seeds_are_the_second_writers() {
    let vectors = vectors();
    let digest = digest_of(&bytes(&vectors, "consensus_body"));
    for (label, text) in [
        (Label::Descriptor, "candor relay descriptor 1"),
        (Label::Certificate, "candor authority certificate 1"),
        (Label::View, "candor directory view 1"),
        (Label::Consensus, "candor consensus 1"),
    ] {
        assert_eq!(label.message(&digest), bytes(&vectors["signed"], text));
    }
    let public = bytes(&vectors["fingerprint"], "public");
    let key = PublicKey::decode(&mut Parts::of("key", &public, PublicKey::LENGTH, false).unwrap()).unwrap();
    assert_eq!(key.fingerprint(), array(&vectors["fingerprint"], "fingerprint"));
    let identity = array(&vectors["ml_dsa_seed"], "identity");
    let seeded = SecretKey::from_seeds(&identity, &array(&vectors["ml_dsa_seed"], "seed")).unwrap();
    assert_eq!(SecretKey::of_relay(&identity).unwrap().public(), seeded.public());
}
