//! ECDSA and ECDH with a secret key and secret nonces; signatures are published when they are ready.

use super::generator;
use crate::case::{Case, Expect};
use candor_cpu::{Cpu, secret};
use candor_primitives::ec::{Ec, EcdsaCurve, P256, P384, SecretKey};

/// The cases of a curve on an arm.
macro_rules! on {
    ($curve:ident, $name:literal, $ran:literal, $arm:literal) => {
        [
            own(concat!($name, "/keygen@", $arm), ($ran, $arm), keygen::<$curve>),
            own(concat!($name, "/sign@", $arm), ($ran, $arm), sign::<$curve>),
            own(concat!($name, "/sign-deterministic@", $arm), ($ran, $arm), sign_deterministic::<$curve>),
            own(concat!($name, "/agree@", $arm), ($ran, $arm), agree::<$curve>),
        ]
    };
}

pub(super) const CASES: &[[Case; 4]] = &[
    on!(P256, "p256", "P-256", "portable"),
    on!(P256, "p256", "P-256", "adx"),
    on!(P384, "p384", "P-384", "portable"),
    on!(P384, "p384", "P-384", "adx"),
];

const fn own(name: &'static str, ran: (&'static str, &'static str), run: fn(Cpu)) -> Case {
    Case { name, ran, tier: ran.1, kernel: None, expect: Expect::Clean, run }
}

/// A key of secret bytes, all in range.
fn poisoned<C: EcdsaCurve>(ec: Ec<C>) -> SecretKey<C> {
    let mut bytes = ec.secret_from_slice(&vec![0x5a; length::<C>()]).expect("a key").to_bytes();
    secret::poison(bytes.as_mut());
    ec.secret_from_bytes(&bytes).expect("a key")
}

fn length<C: EcdsaCurve>() -> usize {
    size_of::<candor_primitives::ec::Bytes<C>>()
}

fn keygen<C: EcdsaCurve>(cpu: Cpu) {
    let ec = Ec::<C>::with_cpu(cpu);
    let expected = ec.secret_from_slice(&vec![0x5a; length::<C>()]).expect("a key");
    secret::reset();
    let made = poisoned(ec);
    assert!(made.public_key() == expected.public_key(), "the result is wrong, so whatever ran was not this curve");
    ec.generate_with(&mut generator::poisoned(7)).expect("a key");
}

fn sign<C: EcdsaCurve>(cpu: Cpu) {
    let secret = poisoned(Ec::<C>::with_cpu(cpu));
    secret::reset();
    let signature = secret.sign_with(b"message", &mut generator::poisoned(7));
    let verified = secret.public_key().verify(b"message", &signature);
    assert!(verified.is_ok(), "the result is wrong, so whatever ran was not this curve");
}

fn sign_deterministic<C: EcdsaCurve>(cpu: Cpu) {
    let secret = poisoned(Ec::<C>::with_cpu(cpu));
    secret::reset();
    let signature = secret.sign_deterministic(b"message");
    let verified = secret.public_key().verify(b"message", &signature);
    assert!(verified.is_ok(), "the result is wrong, so whatever ran was not this curve");
}

fn agree<C: EcdsaCurve>(cpu: Cpu) {
    let ec = Ec::<C>::with_cpu(cpu);
    let peer = ec.secret_from_slice(&vec![9; length::<C>()]).expect("a key");
    let secret = poisoned(ec);
    let expected = peer.agree(secret.public_key());
    secret::reset();
    let shared = secret.agree(peer.public_key());
    secret::declassify(shared.as_bytes().as_ref(), "result");
    assert!(shared.as_bytes() == expected.as_bytes(), "the result is wrong, so whatever ran was not this curve");
}
