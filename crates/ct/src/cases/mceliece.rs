//! Classic McEliece: keys from secret seeds, keys read from secret bytes, encapsulation with secret randomness, decapsulation with a secret key,
//! and decoding alone.
//!
//! Of a seed everything is secret but the public key, and whether an attempt at a key or at an error fails (`crates/codes/docs/mceliece.md`
//! says why that is no secret).

use super::kem;
use crate::case::{Case, Expect};
use candor_codes::mceliece::{Mceliece, ParameterSet, Set348864, Set348864f, Set6688128f, Set6960119f};
use candor_cpu::{Cpu, secret};
use candor_primitives::kem::{DerandomizedKem, Kem};

pub(super) const CASES: &[Case] = &[
    case("mceliece348864f/generate@portable", GENERATE, "portable", "portable::add_rows", generate::<Set348864f>),
    case("mceliece348864f/generate@avx2", GENERATE, "avx2", "rows::add_rows::with_features", generate::<Set348864f>),
    case("mceliece348864/generate@avx2", GENERATE, "avx2", "rows::add_rows::with_features", generate::<Set348864>),
    case("mceliece6960119f/generate@avx2", GENERATE, "avx2", "rows::add_rows::with_features", generate::<Set6960119f>),
    case(
        "mceliece348864f/encapsulate@portable",
        ENCAPSULATE,
        "portable",
        "portable::products",
        encapsulate::<Set348864f>,
    ),
    case(
        "mceliece348864f/encapsulate@avx2",
        ENCAPSULATE,
        "avx2",
        "mceliece::products::with_features",
        encapsulate::<Set348864f>,
    ),
    case(
        "mceliece6960119f/encapsulate@avx2",
        ENCAPSULATE,
        "avx2",
        "mceliece::products::with_features",
        encapsulate::<Set6960119f>,
    ),
    case(
        "mceliece348864f/decapsulate@portable",
        DECAPSULATE,
        "portable",
        "portable::locator",
        decapsulate::<Set348864f>,
    ),
    case(
        "mceliece348864f/decapsulate@avx2",
        DECAPSULATE,
        "avx2",
        "mceliece::locator::with_features",
        decapsulate::<Set348864f>,
    ),
    case(
        "mceliece6960119f/decapsulate@avx2",
        DECAPSULATE,
        "avx2",
        "mceliece::locator::with_features",
        decapsulate::<Set6960119f>,
    ),
    case(
        "mceliece6688128f/decapsulate@avx2",
        DECAPSULATE,
        "avx2",
        "mceliece::locator::with_features",
        decapsulate::<Set6688128f>,
    ),
    unseen("mceliece348864f/generate@avx512", GENERATE, GENERATES, generate::<Set348864f>),
    unseen("mceliece348864f/encapsulate@avx512", ENCAPSULATE, ENCAPSULATES, encapsulate::<Set348864f>),
    unseen("mceliece348864f/decapsulate@avx512", DECAPSULATE, DECAPSULATES, decapsulate::<Set348864f>),
    unseen("mceliece6960119f/generate@avx512", GENERATE, GENERATES, generate::<Set6960119f>),
    unseen("mceliece6960119f/decapsulate@avx512", DECAPSULATE, DECAPSULATES, decapsulate::<Set6960119f>),
    unseen("mceliece6688128f/decapsulate@avx512", DECAPSULATE, DECAPSULATES, decapsulate::<Set6688128f>),
];

/// The routine that each operation is known by; the others that it uses are recorded too.
const GENERATE: &str = "mceliece-reduce";
const ENCAPSULATE: &str = "mceliece-encode";
const DECAPSULATE: &str = "mceliece-locator";

/// What each of them has kernels for, with AVX-512.
const GENERATES: &[&str] = &[
    "mceliece_avx512::apply::with_features",
    "mceliece_avx512::choices::with_features",
    "mceliece_avx512::find_pivots::with_features",
    "mceliece_avx512::fill_columns::with_features",
    "mceliece_avx512::write_rows::with_features",
    "mceliece_avx512::look_up::look_up",
    "mceliece_avx512::multiply::with_features",
    "mceliece_avx512::eliminate::with_features",
];
const ENCAPSULATES: &[&str] =
    &["mceliece_avx512::products::with_features", "mceliece_avx512::all_differ::with_features"];
const DECAPSULATES: &[&str] = &[
    "mceliece_avx512::locator::with_features",
    "mceliece_avx512::evaluate::with_features",
    "mceliece_avx512::power_sums::with_features",
    "mceliece_avx512::invert::with_features",
    "mceliece_avx512::square::with_features",
];

const fn unseen(name: &'static str, routine: &'static str, reads: &'static [&'static str], run: fn(Cpu)) -> Case {
    super::unseen(name, (routine, "avx512"), super::NO_AVX512, reads, run)
}

const fn case(
    name: &'static str,
    routine: &'static str,
    arm: &'static str,
    kernel: &'static str,
    run: fn(Cpu),
) -> Case {
    Case { name, ran: (routine, arm), tier: arm, kernel: Some(kernel), expect: Expect::Clean, run }
}

const SEED: [u8; 32] = [0x3c; 32];
const WRONG: &str = "the result is wrong, so whatever ran was not Classic McEliece";

/// A key pair from a secret seed.
fn generate<S: ParameterSet>(cpu: Cpu) {
    let kem = Mceliece::<S>::with_cpu(cpu);
    let expected = secret::aside(|| {
        let (secret, _) = kem.generate_from(&SEED).expect("a key pair");
        kem.secret_to_bytes(&secret).expect("the key's bytes")
    });
    let seed = SEED;
    secret::poison(&seed);
    let (made, _) = kem.generate_from(&seed).expect("a key pair");
    let bytes = kem.secret_to_bytes(&made).expect("the key's bytes");
    secret::declassify(&bytes, "result");
    assert!(*bytes == *expected, "{WRONG}");
}

/// Secret coins; the ciphertext is published.
fn encapsulate<S: ParameterSet>(cpu: Cpu) {
    kem::encapsulate(Mceliece::<S>::with_cpu(cpu));
}

/// A key read from secret bytes in both ways, and with it a good ciphertext and bad ones decapsulated: with an error of weight t − 1, and with the
/// last bit changed, which is beyond the length where there are such bits (6960119). That they take different paths is what must not show.
fn decapsulate<S: ParameterSet>(cpu: Cpu) {
    let kem = Mceliece::<S>::with_cpu(cpu);
    let (key, public) = kem.generate_from(&SEED).expect("a key pair");
    let mut good = vec![0; Mceliece::<S>::CIPHERTEXT];
    let sent = kem.encapsulate(&public, &mut good).expect("an encapsulation");
    let bytes = kem.secret_to_bytes(&key).expect("the key's bytes").to_vec();
    let mut errors = vec![0; Mceliece::<S>::ERROR];
    kem.decode(&key, &good, &mut errors).expect("buffers that fit");
    // The matrix begins with the identity, so that a bit of the ciphertext is a bit of the error as well.
    let bit = |i: usize| errors[i / 8] >> (i % 8) & 1;
    let flipped = |i: usize| {
        let mut bad = good.clone();
        bad[i / 8] ^= 1 << (i % 8);
        bad
    };
    let less = (0..).find(|i| bit(*i) == 1).expect("an error has bits");
    let bad = [flipped(less), flipped(8 * good.len() - 1)];
    let mut ciphertexts = vec![(good.clone(), sent)];
    for bad in bad {
        let rejected = kem.decapsulate(&key, &bad).expect("implicit rejection");
        ciphertexts.push((bad, rejected));
    }
    secret::reset();

    secret::poison(&bytes);
    let poisoned = kem.secret_from_bytes(&bytes).expect("a good key");
    for (ciphertext, expected) in ciphertexts {
        let found = kem.decapsulate(&poisoned, &ciphertext).expect("no ciphertext is an error");
        secret::declassify(found.as_bytes(), "result");
        assert!(found == expected, "{WRONG}");
    }
    let mut found = vec![0; Mceliece::<S>::ERROR];
    let trusted = kem.secret_from_trusted_bytes(&bytes).expect("as many bytes as a key has");
    let there = kem.decode(&trusted, &good, &mut found).expect("buffers that fit");
    secret::declassify(&found, "result");
    assert!(secret::declassified(there.unwrap_u8(), "result") == 1 && found == errors, "{WRONG}");
}
