//! Keys on curves and their files, signatures and agreements, on each arm.

use super::on_each;
use crate::case::Case;
use crate::probe::{Generator, Probe, step};
use candor_cpu::Cpu;
use candor_primitives::ec::{
    DecodeEcPrivateKey, DecodePrivateKey, Ec, EcdsaCurve, EncodeEcPrivateKey, EncodePrivateKey, LineEnding, NamedCurve,
    P256, P384, PublicKey, Secp256k1, SecretKey, SharedSecret,
};

pub(super) fn cases() -> Vec<Case> {
    let arms = ["portable", "adx"];
    let p256 = on_each(&arms, "p256", ec::<P256, 32>, &[]);
    let p384 = on_each(&arms, "p384", ec::<P384, 48>, &[]);
    p256.into_iter().chain(p384).chain(on_each(&arms, "secp256k1", ec::<Secp256k1, 32>, &[])).collect()
}

fn ec<C: EcdsaCurve, const LENGTH: usize>(probe: &mut Probe, cpu: Cpu) {
    let ec = Ec::<C>::with_cpu(cpu);
    let mut bytes: [u8; LENGTH] = probe.secret("key");
    // Below n.
    bytes[0] = 0;
    let made = step!(probe, "key", [ec: &Ec<C> = &ec, bytes: &[u8] = &bytes], ec.secret_from_slice(bytes));
    let mut made = Some(made.expect("a key"));
    let key = made.as_ref().expect("made above");
    publish(probe, key.public_key());
    keys(probe, &ec, key);
    signatures(probe, key);
    let peer = ec.secret_from_slice(&[9; LENGTH]).expect("a key");
    let shared =
        step!(probe, "agree", [key: &SecretKey<C> = key, peer: &PublicKey<C> = peer.public_key()], key.agree(peer));
    probe.know("shared secret", shared.as_bytes().as_ref());
    let mut shared = Some(shared);
    step!(probe, "drop of the shared secret", [shared: &mut Option<SharedSecret<C>> = &mut shared], *shared = None);
    step!(probe, "drop of the key", [made: &mut Option<SecretKey<C>> = &mut made], *made = None);
}

/// Keys made, copied, and written to files and read.
fn keys<C: EcdsaCurve>(probe: &mut Probe, ec: &Ec<C>, key: &SecretKey<C>) {
    step!(probe, "copy", [key: &SecretKey<C> = key], key.clone());
    step!(probe, "generate", [ec: &Ec<C> = ec], ec.generate()).expect("randomness");
    let mut random = probe.generator("key, generated");
    let made = step!(probe, "generate with", [ec: &Ec<C> = ec, random: &mut Generator = &mut random], {
        ec.generate_with(random)
    })
    .expect("a key");
    publish(probe, made.public_key());
    step!(probe, "bytes", [key: &SecretKey<C> = key], key.to_bytes());
    let der = step!(probe, "to PKCS#8", [key: &SecretKey<C> = key], key.to_pkcs8_der()).expect("a form");
    step!(probe, "from PKCS#8", [der: &[u8] = der.as_bytes()], SecretKey::<C>::from_pkcs8_der(der)).expect("a key");
    let pem = step!(probe, "to PEM", [key: &SecretKey<C> = key], key.to_pkcs8_pem(LineEnding::LF)).expect("a form");
    step!(probe, "from PEM", [pem: &str = &pem], SecretKey::<C>::from_pkcs8_pem(pem)).expect("a key");
    let der = step!(probe, "to SEC1", [key: &SecretKey<C> = key], key.to_sec1_der()).expect("a form");
    step!(probe, "from SEC1", [der: &[u8] = der.as_bytes()], SecretKey::<C>::from_sec1_der(der)).expect("a key");
}

fn signatures<C: EcdsaCurve>(probe: &mut Probe, key: &SecretKey<C>) {
    let mut random = probe.generator("nonce");
    let signature = step!(probe, "sign", [key: &SecretKey<C> = key, random: &mut Generator = &mut random], {
        key.sign_with(b"message", random)
    });
    probe.public(signature.to_bytes().as_ref());
    let signature =
        step!(probe, "sign without randomness", [key: &SecretKey<C> = key], key.sign_deterministic(b"message"));
    probe.public(signature.to_bytes().as_ref());
}

/// A public key may be anywhere, in any form.
pub(super) fn publish<C: NamedCurve>(probe: &mut Probe, public: &PublicKey<C>) {
    let bytes = public.to_bytes();
    probe.public(bytes.as_ref());
    for number in bytes.as_ref()[1..].chunks(bytes.as_ref().len() / 2) {
        probe.public(&in_field::<C>(number));
    }
}

/// The words that a number is computed with, the lowest byte first: times R modulo p, or the number itself on secp256k1.
fn in_field<C: NamedCurve>(number: &[u8]) -> Vec<u8> {
    let p: &[u64] = match C::NAME {
        "SM2" => &[u64::MAX, u64::MAX << 32, u64::MAX, u64::MAX - (1 << 32)],
        "P-256" => &[u64::MAX, u64::MAX >> 32, 0, (u64::MAX << 32) | 1],
        "P-384" => &[u64::MAX >> 32, u64::MAX << 32, u64::MAX - 1, u64::MAX, u64::MAX, u64::MAX],
        "secp256k1" => return number.iter().rev().copied().collect(),
        other => panic!("no modulus of {other}"),
    };
    let mut words: Vec<u64> = number.as_chunks().0.iter().rev().map(|word| u64::from_be_bytes(*word)).collect();
    for _ in 0..64 * words.len() {
        let above = words[words.len() - 1] >> 63 == 1;
        for n in (0..words.len()).rev() {
            words[n] = words[n] << 1 | if n == 0 { 0 } else { words[n - 1] >> 63 };
        }
        let mut borrow = false;
        let less: Vec<u64> = words
            .iter()
            .zip(p)
            .map(|(word, p)| {
                let (less, below) = word.borrowing_sub(*p, borrow);
                borrow = below;
                less
            })
            .collect();
        if above || !borrow {
            words = less;
        }
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
