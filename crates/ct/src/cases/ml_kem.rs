//! Our own ML-KEM: keys from secret seeds, encapsulation with secret coins, decapsulation with a secret key.
//!
//! Of a key pair's seed ρ and the public key are made public, by name, where they are computed; rejection sampling depends on ρ.

use super::kem;
use crate::case::{Case, Expect};
use candor_cpu::{Cpu, secret};
use candor_primitives::kem::DerandomizedKem;
use candor_primitives::kem::ml_kem::{ML_KEM_512, ML_KEM_768, ML_KEM_1024, MlKem, ParameterSet, PreparedMlKem};

pub(super) const CASES: &[Case] = &[
    case("ml-kem-512/generate@avx2", "ML-KEM-512", "avx2", AVX2, generate::<2>),
    case("ml-kem-512/encapsulate@avx2", "ML-KEM-512", "avx2", AVX2, encapsulate::<2>),
    case("ml-kem-512/decapsulate@portable", "ML-KEM-512", "portable", PORTABLE, decapsulate::<2>),
    case("ml-kem-512/decapsulate@avx2", "ML-KEM-512", "avx2", AVX2, decapsulate::<2>),
    case("ml-kem-768/generate@portable", "ML-KEM-768", "portable", PORTABLE, generate::<3>),
    case("ml-kem-768/generate@avx2", "ML-KEM-768", "avx2", AVX2, generate::<3>),
    case("ml-kem-768/encapsulate@portable", "ML-KEM-768", "portable", PORTABLE, encapsulate::<3>),
    case("ml-kem-768/encapsulate@avx2", "ML-KEM-768", "avx2", AVX2, encapsulate::<3>),
    case("ml-kem-768/decapsulate@portable", "ML-KEM-768", "portable", PORTABLE, decapsulate::<3>),
    case("ml-kem-768/decapsulate@avx2", "ML-KEM-768", "avx2", AVX2, decapsulate::<3>),
    case("ml-kem-1024/generate@avx2", "ML-KEM-1024", "avx2", AVX2, generate::<4>),
    case("ml-kem-1024/encapsulate@avx2", "ML-KEM-1024", "avx2", AVX2, encapsulate::<4>),
    case("ml-kem-1024/decapsulate@portable", "ML-KEM-1024", "portable", PORTABLE, decapsulate::<4>),
    case("ml-kem-1024/decapsulate@avx2", "ML-KEM-1024", "avx2", AVX2, decapsulate::<4>),
    case("ml-kem-768/prepared@portable", "ML-KEM-768", "portable", PORTABLE, prepared),
    case("ml-kem-768/prepared@avx2", "ML-KEM-768", "avx2", AVX2, prepared),
];

const PORTABLE: &str = "arithmetic::transform_poly";
const AVX2: &str = "lattice::transform::transform::with_features";

const fn case(
    name: &'static str,
    routine: &'static str,
    tier: &'static str,
    kernel: &'static str,
    run: fn(Cpu),
) -> Case {
    Case { name, ran: (routine, tier), tier, kernel: Some(kernel), expect: Expect::Clean, run }
}

fn generate<const K: usize>(cpu: Cpu) {
    generated(MlKem::<K>::with_cpu(cpu));
}

fn generated<T: DerandomizedKem>(kem: T) {
    let expected = secret::aside(|| {
        let (secret, _) = kem.generate_from(&[0x3c; 64]).expect("a key pair");
        kem.secret_to_bytes(&secret).expect("the key's bytes")
    });
    let seed = [0x3c; 64];
    secret::poison(&seed);
    let (made, _) = kem.generate_from(&seed).expect("a key pair");
    let bytes = kem.secret_to_bytes(&made).expect("the key's bytes");
    secret::declassify(&bytes, "result");
    assert!(*bytes == *expected, "the result is wrong, so whatever ran was not ML-KEM");
}

/// Secret coins; the ciphertext is published.
fn encapsulate<const K: usize>(cpu: Cpu) {
    kem::encapsulate(MlKem::<K>::with_cpu(cpu));
}

/// A good and a bad ciphertext for a poisoned key.
fn decapsulate<const K: usize>(cpu: Cpu) {
    kem::decapsulate(MlKem::<K>::with_cpu(cpu), set(K));
}

/// All three with prepared keys.
fn prepared(cpu: Cpu) {
    let kem = PreparedMlKem::<3>::with_cpu(cpu);
    kem::decapsulate(kem, set(3));
    kem::encapsulate(kem);
    generated(kem);
}

const fn set(rank: usize) -> ParameterSet {
    match rank {
        2 => ML_KEM_512,
        3 => ML_KEM_768,
        _ => ML_KEM_1024,
    }
}
