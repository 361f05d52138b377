//! X25519 with a secret scalar; the peer's key is public.

use candor_cpu::{Cpu, secret};
use candor_primitives::dh::{self, DiffieHellman};

pub(crate) fn aws_lc(_: Cpu) {
    agree(dh::aws_lc::X25519);
}

pub(crate) fn dalek(_: Cpu) {
    agree(dh::dalek::X25519);
}

fn agree<D: DiffieHellman>(dh: D) {
    let scalar: [u8; 32] = core::array::from_fn(|i| (i as u8).wrapping_mul(29).wrapping_add(3));
    let (_, peer) = dh.generate().expect("a key pair");
    let plain = dh.secret_from_bytes(&scalar).expect("any 32 bytes are a key");
    let (public, shared) = (dh.public_of(&plain).expect("a public key"), dh.agree(&plain, &peer).expect("a secret"));
    secret::reset();

    let poisoned = scalar;
    secret::poison(&poisoned);
    let secret = dh.secret_from_bytes(&poisoned).expect("any 32 bytes are a key");
    let same_public = dh.public_of(&secret).expect("a public key");
    secret::declassify(&same_public, "result");
    let same_shared = dh.agree(&secret, &peer).expect("a secret");
    secret::declassify(same_shared.as_bytes(), "result");
    assert!(same_public == public && same_shared == shared, "the result is wrong, so whatever ran was not X25519");
}
