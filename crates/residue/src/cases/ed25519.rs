//! Ed25519 as the library wraps dalek's: keys, their files, and signatures.

use super::anywhere;
use crate::case::Case;
use crate::probe::{Generator, Probe, step};
use candor_primitives::ed25519::{DecodePrivateKey, EncodePrivateKey, LineEnding, SecretKey};

pub(super) fn case() -> Case {
    anywhere("ed25519/dalek", |probe, _| keys_and_signatures(probe), &[])
}

fn keys_and_signatures(probe: &mut Probe) {
    let bytes: [u8; 32] = probe.secret("key");
    let mut made = Some(step!(probe, "key", [bytes: &[u8; 32] = &bytes], SecretKey::from_bytes(bytes)));
    let key = made.as_ref().expect("made above");
    probe.public(&key.public_key().to_bytes());
    step!(probe, "copy", [key: &SecretKey = key], key.clone());
    step!(probe, "generate", [], SecretKey::generate()).expect("randomness");
    let mut random = probe.generator("key, generated");
    let other = step!(probe, "generate with", [random: &mut Generator = &mut random], SecretKey::generate_with(random));
    probe.public(&other.public_key().to_bytes());
    step!(probe, "bytes", [key: &SecretKey = key], key.to_bytes());
    let der = step!(probe, "to PKCS#8", [key: &SecretKey = key], key.to_pkcs8_der()).expect("a form");
    step!(probe, "from PKCS#8", [der: &[u8] = der.as_bytes()], SecretKey::from_pkcs8_der(der)).expect("a key");
    let pem = step!(probe, "to PEM", [key: &SecretKey = key], key.to_pkcs8_pem(LineEnding::LF)).expect("a form");
    step!(probe, "from PEM", [pem: &str = &pem], SecretKey::from_pkcs8_pem(pem)).expect("a key");
    let signature = step!(probe, "sign", [key: &SecretKey = key], key.sign(b"message"));
    probe.public(&signature.to_bytes());
    step!(probe, "drop of the key", [made: &mut Option<SecretKey> = &mut made], *made = None);
}
