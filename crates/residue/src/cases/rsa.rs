//! RSA's keys and their files, signatures and ciphertexts, on each arm.

use super::on_each;
use crate::case::Case;
use crate::probe::{Generator, Probe, step};
use candor_cpu::Cpu;
use candor_primitives::hash::Sha256;
use candor_primitives::rsa::{
    DecodePrivateKey, DecodeRsaPrivateKey, EncodePrivateKey, EncodeRsaPrivateKey, LineEnding, Pkcs1v15, Pss, PublicKey,
    Rsa, SecretKey, Size,
};

pub(super) fn cases() -> Vec<Case> {
    on_each(&["portable", "adx", "avx512"], "rsa", rsa, &[])
}

fn rsa(probe: &mut Probe, cpu: Cpu) {
    let rsa = Rsa::with_cpu(cpu);
    let mut random = probe.generator("key");
    // No step: how many candidates there are, and so how many blocks, differs from key to key.
    let mut made = Some(rsa.generate_with(Size::Bits2048, &mut random).expect("a key"));
    let key = made.as_ref().expect("made above");
    publish(probe, key.public_key());
    keys(probe, key);
    operations(probe, key);
    step!(probe, "drop of the key", [made: &mut Option<SecretKey> = &mut made], *made = None);
}

/// Keys copied, and written to files and read.
fn keys(probe: &mut Probe, key: &SecretKey) {
    step!(probe, "copy", [key: &SecretKey = key], key.clone());
    let der = step!(probe, "to PKCS#1", [key: &SecretKey = key], key.to_pkcs1_der()).expect("a form");
    probe.know("key, as PKCS#1", der.as_bytes());
    step!(probe, "from PKCS#1", [der: &[u8] = der.as_bytes()], SecretKey::from_pkcs1_der(der)).expect("a key");
    let der = step!(probe, "to PKCS#8", [key: &SecretKey = key], key.to_pkcs8_der()).expect("a form");
    step!(probe, "from PKCS#8", [der: &[u8] = der.as_bytes()], SecretKey::from_pkcs8_der(der)).expect("a key");
    let pem = step!(probe, "to PEM", [key: &SecretKey = key], key.to_pkcs8_pem(LineEnding::LF)).expect("a form");
    step!(probe, "from PEM", [pem: &str = &pem], SecretKey::from_pkcs8_pem(pem)).expect("a key");
}

fn operations(probe: &mut Probe, key: &SecretKey) {
    let mut random = probe.generator("randomness");
    let signature = step!(probe, "sign by PSS", [key: &SecretKey = key, random: &mut Generator = &mut random], {
        key.sign_with::<Pss<Sha256>>(b"message", random)
    });
    probe.public(signature.expect("a signature").as_bytes());
    let signature = step!(probe, "sign by PKCS#1", [key: &SecretKey = key, random: &mut Generator = &mut random], {
        key.sign_with::<Pkcs1v15<Sha256>>(b"message", random)
    });
    probe.public(signature.expect("a signature").as_bytes());
    let text: [u8; 32] = probe.secret("text");
    let public = key.public_key();
    let sealed = step!(
        probe,
        "encrypt",
        [public: &PublicKey = public, text: &[u8; 32] = &text, random: &mut Generator = &mut random],
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
    assert!(*opened.expect("a message") == text);
}

/// A public key may be anywhere, the highest byte first or the lowest.
fn publish(probe: &mut Probe, public: &PublicKey) {
    let modulus = public.modulus();
    probe.public(&modulus);
    let turned: Vec<u8> = modulus.iter().rev().copied().collect();
    probe.public(&turned);
}
