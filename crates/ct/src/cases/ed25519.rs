//! Ed25519 as the library wraps dalek's: key generation and signing, with the secret key poisoned.

use super::generator;
use crate::case::{Case, Expect};
use candor_cpu::{Cpu, secret};
use candor_primitives::ed25519::{PublicKey, SecretKey};

pub(super) const CASES: &[Case] = &[wrapped("ed25519/keygen", keygen), wrapped("ed25519/sign", sign)];

/// dalek chooses its arm by itself.
const fn wrapped(name: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("Ed25519", "dalek"), tier: "portable", kernel: None, expect: Expect::Clean, run }
}

fn poisoned() -> SecretKey {
    let bytes = [0x5a; 32];
    secret::poison(&bytes);
    SecretKey::from_bytes(&bytes)
}

fn keygen(_: Cpu) {
    let expected = SecretKey::from_bytes(&[0x5a; 32]).public_key();
    secret::reset();
    assert!(poisoned().public_key() == expected, "the result is wrong, so whatever ran was not Ed25519");
    let _ = SecretKey::generate_with(&mut generator::poisoned(7));
}

fn sign(_: Cpu) {
    let secret = poisoned();
    secret::reset();
    let signature = secret.sign(b"message");
    // From its bytes, which are public; the coordinates beside them are marked still.
    let public = PublicKey::from_bytes(&secret.public_key().to_bytes()).expect("a point");
    let verified = public.verify(b"message", &signature);
    assert!(verified.is_ok(), "the result is wrong, so whatever ran was not Ed25519");
}
