//! RSA's keys, read from files, copied and written; signatures and ciphertexts, on each arm.
//!
//! What the making of a key allocates depends on the key that is found. So none is made here: two are stored, of which each part is as long as the other's.

use super::on_each;
use crate::case::Case;
use crate::probe::{Generator, Probe, step};
use candor_cpu::Cpu;
use candor_primitives::hash::Sha256;
use candor_primitives::rsa::{
    DecodePrivateKey, DecodeRsaPrivateKey, EncodePrivateKey, EncodeRsaPrivateKey, LineEnding, Pkcs1v15, Pss, PublicKey,
    Rsa, SecretKey,
};

/// Keys of 2,048 bits as `RSAPrivateKey`, made by `openssl genrsa` for this case.
const KEYS: [&[u8; 1191]; 2] = [include_bytes!("rsa/one.pkcs1"), include_bytes!("rsa/other.pkcs1")];

pub(super) fn cases() -> Vec<Case> {
    on_each(&["portable", "adx", "avx512"], "rsa", rsa, &[])
}

fn rsa(probe: &mut Probe, cpu: Cpu) {
    let rsa = Rsa::with_cpu(cpu);
    let file = probe.either("key, as PKCS#1", KEYS);
    let read = step!(probe, "from PKCS#1", [file: &[u8] = &file], SecretKey::from_pkcs1_der(file)).expect("a key");
    publish(probe, read.public_key());
    let mut made = Some(step!(probe, "copy", [read: &SecretKey = &read, rsa: &Rsa = &rsa], read.on(rsa)));
    drop(read);
    let key = made.as_ref().expect("made above");
    files(probe, key);
    signatures(probe, key);
    ciphertexts(probe, key);
    step!(probe, "drop of the key", [made: &mut Option<SecretKey> = &mut made], *made = None);
}

/// Keys written to files and read.
fn files(probe: &mut Probe, key: &SecretKey) {
    step!(probe, "to PKCS#1", [key: &SecretKey = key], key.to_pkcs1_der()).expect("a form");
    let der = step!(probe, "to PKCS#8", [key: &SecretKey = key], key.to_pkcs8_der()).expect("a form");
    step!(probe, "from PKCS#8", [der: &[u8] = der.as_bytes()], SecretKey::from_pkcs8_der(der)).expect("a key");
    let pem = step!(probe, "to PEM", [key: &SecretKey = key], key.to_pkcs8_pem(LineEnding::LF)).expect("a form");
    step!(probe, "from PEM", [pem: &str = &pem], SecretKey::from_pkcs8_pem(pem)).expect("a key");
}

fn signatures(probe: &mut Probe, key: &SecretKey) {
    let mut random = probe.generator("randomness");
    let signature = step!(probe, "sign by PSS", [key: &SecretKey = key, random: &mut Generator = &mut random], {
        key.sign_with::<Pss<Sha256>>(b"message", random)
    });
    probe.public(signature.expect("a signature").as_bytes());
    let signature = step!(probe, "sign by PKCS#1", [key: &SecretKey = key, random: &mut Generator = &mut random], {
        key.sign_with::<Pkcs1v15<Sha256>>(b"message", random)
    });
    probe.public(signature.expect("a signature").as_bytes());
    // With a pair of the blinding from the system's randomness, and with its square.
    for step in ["sign with a fresh pair", "sign with a pair that was kept"] {
        let signature = step!(probe, step, [key: &SecretKey = key], key.sign::<Pkcs1v15<Sha256>>(b"message"));
        probe.public(signature.expect("a signature").as_bytes());
    }
}

fn ciphertexts(probe: &mut Probe, key: &SecretKey) {
    let (text, mut random): ([u8; 32], _) = (probe.secret("text"), probe.generator("randomness of ciphertexts"));
    let sealed = step!(
        probe,
        "encrypt",
        [public: &PublicKey = key.public_key(), text: &[u8; 32] = &text, random: &mut Generator = &mut random],
        public.encrypt_oaep_with::<Sha256>(text, b"", random)
    )
    .expect("a short message");
    probe.public(&sealed);
    let opened = step!(
        probe,
        "decrypt",
        [key: &SecretKey = key, sealed: &[u8] = &sealed, random: &mut Generator = &mut random],
        key.decrypt_oaep_with::<Sha256>(sealed, b"", random)
    );
    assert!(*opened.expect("its own ciphertext") == text, "another message");
    let mut changed = sealed;
    changed[255] ^= 1;
    let opened = step!(
        probe,
        "decrypt what was changed",
        [key: &SecretKey = key, sealed: &[u8] = &changed, random: &mut Generator = &mut random],
        key.decrypt_oaep_with::<Sha256>(sealed, b"", random)
    );
    assert!(opened.is_err(), "a changed ciphertext was taken");
}

/// A modulus may be anywhere, the highest byte first or the lowest.
fn publish(probe: &mut Probe, public: &PublicKey) {
    let modulus = public.modulus();
    probe.public(&modulus);
    let turned: Vec<u8> = modulus.iter().rev().copied().collect();
    probe.public(&turned);
}
