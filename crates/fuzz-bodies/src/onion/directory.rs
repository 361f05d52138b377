//! Documents of the directory.

use candor_onion::directory::{
    Authorities, Certificate, Consensus, Descriptor, Drafted, Endorsement, Host, Relay, Rule, SecretKey, Times, View,
    merge,
};
use candor_primitives::dh::{DiffieHellman, x25519::X25519};

/// A document from anywhere; the first byte says of which kind it is taken to be. An error, never a panic, and whatever is read could have been signed.
pub fn directory(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let trust = Authorities::new(vec![key(1).public().fingerprint()], 1).expect("one of one");
    match kind % 4 {
        0 => {
            if let Ok(Descriptor { relay, family, kems }) = Descriptor::decode(data) {
                assert!(!family.contains(&relay.identity) && !relay.handshakes.is_empty());
                assert!(relay.kems.iter().zip(&kems).all(|(digest, key)| digest.is_some() == key.is_some()));
            }
        }
        1 => {
            if let Ok(consensus) = Consensus::verify(data, &trust) {
                assert!(
                    consensus.signers.len() == 1 && consensus.relays.is_sorted_by_key(|listed| listed.relay.identity)
                );
            }
        }
        2 => {
            if let Ok(view) = View::verify(data, &trust) {
                assert!(trust.contains(&view.authority));
            }
        }
        _ => {
            if let Ok(endorsement) = Endorsement::from_bytes(data) {
                let mut again = Vec::new();
                endorsement.encode(&mut again);
                assert_eq!(again, data);
            }
        }
    }
}

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seeds(&[seed; 32], &[seed; 32]).expect("AWS-LC has ML-DSA")
}

/// Honest documents, to start a corpus with: the file's name and the data.
pub fn honest_directory() -> Vec<(&'static str, Vec<u8>)> {
    let relay = Relay {
        identity: [7; 32],
        fingerprint: [7; 32],
        x25519: [7; 32],
        kems: [None; 3],
        published: 1_800_000_000,
        keys_until: 1_803_000_000,
        bandwidth: 1000,
        handshakes: vec![3, 0xff68],
        addresses: vec![([192, 0, 2, 1], 9001).into()],
        exit: vec![Rule { host: Host::Public, low: 80, high: 443 }],
        name: "ada".to_owned(),
    };
    let onion = [9; 32];
    let public = X25519::new()
        .secret_from_bytes(&onion)
        .and_then(|secret| X25519::new().public_of(&secret))
        .expect("a good key");
    let drafted = Drafted { relay: relay.clone(), family: vec![[1; 32]], kems: [None, Some(vec![5; 1184]), None] };
    let descriptor = drafted.sign(&key(3), (&onion, public)).expect("an honest descriptor");

    let (identity, signing) = (key(1), key(2));
    let times = Times { valid_after: 1_800_000_000, fresh_until: 1_800_003_600, valid_until: 1_800_010_800 };
    let certificate = Certificate::issue(&identity, signing.public(), 0, u64::MAX).expect("AWS-LC signs");
    let trust = Authorities::new(vec![identity.public().fingerprint()], 1).expect("one of one");
    let view = View::sign(times, &[(relay, Vec::new())], &signing, &certificate).expect("an honest view");
    let verified = View::verify(&view, &trust).expect("an honest view");
    let merged = merge(times, &[verified], 1).expect("one view");
    let signature = merged.sign(&signing, &certificate).expect("AWS-LC signs");
    let mut endorsement = Vec::new();
    signature.encode(&mut endorsement);
    let consensus = merged.signed(&[signature]);
    let of = |kind: u8, document: Vec<u8>| [vec![kind], document].concat();
    vec![
        ("descriptor", of(0, descriptor)),
        ("consensus", of(1, consensus)),
        ("view", of(2, view)),
        ("endorsement", of(3, endorsement)),
    ]
}
