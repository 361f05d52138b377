//! X25519 with a secret scalar; the peer's key is public.

use super::{NO_AVX512, unseen};
use crate::case::{Case, Expect};
use candor_cpu::{Cpu, secret};
use candor_primitives::dh::x25519::X25519;
use candor_primitives::dh::{self, DiffieHellman};

/// Our own, arm by arm.
pub(super) const CASES: &[Case] = &[
    own("x25519/agree@portable", "portable", "x25519::ladder::ladder", |cpu| agree(X25519::with_cpu(cpu))),
    own("x25519/agree@adx", "adx", "adx::ladder::with_features", |cpu| agree(X25519::with_cpu(cpu))),
    own("x25519/many@portable", "portable", "x25519::comb::base", |cpu| many(X25519::with_cpu(cpu))),
    unseen(
        "x25519/agree@avx512",
        ("X25519", "avx512"),
        NO_AVX512,
        &["x25519::ladder::ladder::with_features", "x25519::comb::base::with_features"],
        |cpu| agree(X25519::with_cpu(cpu)),
    ),
    unseen(
        "x25519/many@avx512",
        ("X25519", "avx512"),
        NO_AVX512,
        &[
            "x25519::ladder::ladder_2::with_features",
            "x25519::ladder::ladder_8::with_features",
            "x25519::comb::base_8::with_features",
        ],
        |cpu| many(X25519::with_cpu(cpu)),
    ),
];

const fn own(name: &'static str, arm: &'static str, kernel: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("X25519", arm), tier: arm, kernel: Some(kernel), expect: Expect::Clean, run }
}

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

/// A pair, and a batch whose last points are of small order.
fn many<D: DiffieHellman>(dh: D) {
    const COUNT: usize = 7;
    let scalars: [[u8; 32]; COUNT] = core::array::from_fn(|n| [n as u8 + 0x3c; 32]);
    let peers: [[u8; 32]; COUNT] = core::array::from_fn(|n| [if n < 5 { n as u8 + 9 } else { 0 }; 32]);
    let secrets = |scalars: &[[u8; 32]]| -> Vec<D::Secret> {
        scalars.iter().map(|scalar| dh.secret_from_bytes(scalar).expect("any 32 bytes are a key")).collect()
    };
    let one_by_one = secret::aside(|| {
        let each = secrets(&scalars);
        let shared: Vec<_> = each.iter().zip(&peers).map(|(secret, peer)| dh.agree(secret, peer)).collect();
        (each.iter().map(|secret| dh.public_of(secret).expect("a public key")).collect::<Vec<_>>(), shared)
    });
    secret::reset();

    let poisoned = scalars;
    secret::poison(poisoned.as_flattened());
    let secrets = secrets(&poisoned);
    let publics = dh.public_many(&secrets.iter().collect::<Vec<_>>()).expect("public keys");
    secret::declassify(publics.as_flattened(), "result");
    let pairs: Vec<_> = secrets.iter().zip(&peers).collect();
    let mut shared = dh.agree_pair([pairs[0], pairs[1]]).to_vec();
    shared.extend(dh.agree_many(&pairs[2..]));
    for shared in shared.iter().flatten() {
        secret::declassify(shared.as_bytes(), "result");
    }
    assert!((publics, shared) == one_by_one, "the result is wrong, so whatever ran was not X25519");
}
