//! What a relay of ours writes for a network of C tor's. That C tor takes it is tested by `c_tor` in `candor-network`; here is what can be checked without.

use base64ct::{Base64, Encoding};
use candor_onion::directory::onion_key_certificate;
use candor_onion::link::RelayIdentity;
use candor_onion::link::certificate::{Certificate, IDENTITY_SIGNING, RsaCross};
use candor_tor_directory::{Error, RelayKey, RouterDescriptor};
use digest::Digest;
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::{Pkcs1v15Sign, RsaPublicKey};

const NOW: u64 = 1_795_807_940;

/// The content of the object below a line of that keyword.
fn object(text: &str, keyword: &str) -> Vec<u8> {
    let (_, rest) = text.split_once(&format!("\n{keyword}")).unwrap_or_else(|| panic!("{keyword}"));
    let digits: String = rest
        .lines()
        .skip_while(|line| !line.starts_with("-----BEGIN"))
        .skip(1)
        .take_while(|line| !line.starts_with('-'))
        .collect();
    Base64::decode_vec(&digits).unwrap()
}

fn is_signed(key: &[u8], digest: &[u8], signature: &[u8]) -> bool {
    let key = RsaPublicKey::from_pkcs1_der(key).unwrap();
    key.verify(Pkcs1v15Sign::new_unprefixed(), digest, signature).is_ok()
}

#[test]
fn a_descriptor_is_signed_by_both_identities_and_certifies_its_keys() {
    let (rsa, identity) = (RelayKey::generate().unwrap(), RelayIdentity::from_seeds(&[1; 32], &[2; 32], &[3; 32], NOW));
    let (sign, certificate) = onion_key_certificate(&[4; 32], identity.id(), NOW + 7 * 24 * 3600);
    let policy = ["accept 127.0.0.0/8:*".to_owned()];
    let descriptor = RouterDescriptor {
        nickname: "ada",
        address: "192.0.2.1:9001".parse().unwrap(),
        identity: &identity,
        rsa: &rsa,
        ntor: [5; 32],
        ntor_certificate: (sign, &certificate),
        published: NOW,
        uptime: 7,
        bandwidth: 1000,
        policy: &policy,
        has_directory: true,
        family: &[[0xab; 20]],
        contact: Some("ada@example.org"),
    };
    let text = descriptor.sign().unwrap();
    for line in [
        "router ada 192.0.2.1 9001 0 0",
        "published 2026-11-27 19:32:20",
        "bandwidth 1000000 1000000 1000000",
        "family $ABABABABABABABABABABABABABABABABABABABAB",
        "contact ada@example.org",
        "tunnelled-dir-server",
        "accept 127.0.0.0/8:*",
        "reject *:*",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    let signing = Certificate::check(&object(&text, "identity-ed25519"), IDENTITY_SIGNING, None, NOW).unwrap();
    assert_eq!(signing.signer, *identity.id());
    assert_eq!(object(&text, "ntor-onion-key-crosscert"), certificate);
    let key = object(&text, "signing-key");
    let cross = [&rsa.fingerprint()[..], identity.id()].concat();
    assert!(is_signed(&object(&text, "onion-key"), &cross, &object(&text, "onion-key-crosscert")));
    let (signed, _) = text.split_once("-----BEGIN SIGNATURE").unwrap();
    let signature = object(&text, "router-signature");
    assert!(is_signed(&key, &sha1::Sha1::digest(signed), &signature));
    assert!(!is_signed(&key, &sha1::Sha1::digest(signed.replace("ada", "eve")), &signature));
    let fingerprint: String = rsa.fingerprint().iter().map(|byte| format!("{byte:02X}")).collect();
    assert!(text.replace(' ', "").contains(&format!("fingerprint{fingerprint}")));

    for (nickname, contact) in [("", None), ("a-b", None), ("a23456789012345678901", None), ("ada", Some("a\nb"))] {
        let refused = RouterDescriptor { nickname, contact, ..descriptor };
        assert!(matches!(refused.sign(), Err(Error::Descriptor(_))), "{nickname} {contact:?}");
    }
}

#[test]
fn an_rsa_identity_certifies_the_other_and_is_kept_in_pem() {
    let rsa = RelayKey::generate().unwrap();
    let again = RelayKey::from_pem(&rsa.to_pem().unwrap()).unwrap();
    assert_eq!(again.fingerprint(), rsa.fingerprint());
    assert!(matches!(RelayKey::from_pem("-----BEGIN RSA PRIVATE KEY-----\n"), Err(Error::Key(_))));

    let shown = rsa.for_links(&[9; 32], NOW).unwrap();
    assert_ne!(shown.digest(), RelayKey::generate().unwrap().for_links(&[9; 32], NOW).unwrap().digest());
    let cross = RsaCross::decode(shown.cross_certificate()).unwrap();
    assert_eq!((cross.key, cross.expires), ([9; 32], (NOW + 365 * 24 * 3600) / 3600 * 3600));
    // The key in its certificate has signed both.
    let der = shown.certificate();
    let at = der.windows(4).rposition(|window| window == [0x30, 0x81, 0x89, 0x02]).expect("a key of 1,024 bits");
    let key = &der[at..at + 140];
    let digest = sha2::Sha256::new().chain_update(RsaCross::PREFIX).chain_update(cross.signed).finalize();
    assert!(is_signed(key, &digest, &cross.signature));
    let signed = &der[4..4 + 4 + usize::from(u16::from_be_bytes([der[6], der[7]]))];
    let certified = RsaPublicKey::from_pkcs1_der(key).unwrap();
    let signature = &der[der.len() - 128..];
    certified.verify(Pkcs1v15Sign::new::<sha2::Sha256>(), &sha2::Sha256::digest(signed), signature).unwrap();
}
