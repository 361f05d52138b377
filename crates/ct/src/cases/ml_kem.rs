//! Our own ML-KEM: keys from secret seeds, encapsulation with secret coins, decapsulation with a secret key.
//!
//! Of a key pair's seed ρ and the public key are made public, by name, where they are computed; rejection sampling depends on ρ.

use super::{NO_AVX512, kem, unseen};
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
    case("ml-kem-512/many@avx2", "ML-KEM-512", "avx2", AVX2, |cpu| many(MlKem::<2>::with_cpu(cpu), set(2))),
    case("ml-kem-768/many@avx2", "ML-KEM-768", "avx2", AVX2, |cpu| many(MlKem::<3>::with_cpu(cpu), set(3))),
    case("ml-kem-1024/many@avx2", "ML-KEM-1024", "avx2", AVX2, |cpu| many(MlKem::<4>::with_cpu(cpu), set(4))),
    case("ml-kem-768/prepared-many@avx2", "ML-KEM-768", "avx2", AVX2, |cpu| {
        many(PreparedMlKem::<3>::with_cpu(cpu), set(3));
    }),
    case("ml-kem-768/prepared@portable", "ML-KEM-768", "portable", PORTABLE, prepared),
    case("ml-kem-768/prepared@avx2", "ML-KEM-768", "avx2", AVX2, prepared),
    // Only the hashes, and sampling from ρ, differ from `avx2`. A key pair's ρ decides how long it takes, so what is timed has its keys from before.
    unseen(
        "ml-kem-768/encapsulate@avx512",
        IN_LANES,
        NO_AVX512,
        &["batch::keccak_avx512_4::with_features"],
        encapsulate::<3>,
    ),
    unseen(
        "ml-kem-768/decapsulate@avx512",
        IN_LANES,
        NO_AVX512,
        &["batch::keccak_avx512_4::with_features"],
        decapsulate::<3>,
    ),
    unseen(
        "ml-kem-512/many@avx512",
        ("ML-KEM-512", "avx512"),
        NO_AVX512,
        &["batch::keccak_avx512::with_features"],
        |cpu| {
            many(MlKem::<2>::with_cpu(cpu), set(2));
        },
    ),
    unseen(
        "ml-kem-1024/many@avx512",
        ("ML-KEM-1024", "avx512"),
        NO_AVX512,
        &["batch::keccak_avx512::with_features"],
        |cpu| {
            many(MlKem::<4>::with_cpu(cpu), set(4));
        },
    ),
    unseen("ml-kem-768/many@avx512", IN_LANES, NO_AVX512, &["batch::keccak_avx512::with_features"], |cpu| {
        many(MlKem::<3>::with_cpu(cpu), set(3));
    }),
    // Up to four take four lanes where there are eight.
    unseen("ml-kem-768/three@avx512", IN_LANES, NO_AVX512, &["batch::keccak_avx512_4::with_features"], |cpu| {
        together(MlKem::<3>::with_cpu(cpu), set(3), 3);
    }),
];

/// What records the arm.
const IN_LANES: (&str, &str) = ("ML-KEM-768", "avx512");

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

/// Six operations at once: with four lanes a full group and one that is not, with eight one that is not.
fn many<T: DerandomizedKem>(kem: T, set: ParameterSet) {
    together(kem, set, 6);
}

/// So many operations at once. Every other ciphertext is a bad one.
fn together<T: DerandomizedKem>(kem: T, set: ParameterSet, count: u8) {
    let (mut seeds, mut coins): (Vec<_>, Vec<_>) = (0..count).map(|i| ([i; 64], [0x3c ^ i; 32])).unzip();
    let one_by_one = secret::aside(|| {
        let pairs: Vec<_> = seeds.iter().map(|seed| kem.generate_from(seed).expect("a key pair")).collect();
        let results = pairs.iter().zip(&coins).enumerate().map(|(i, ((secret, public), coins))| {
            let mut ciphertext = vec![0; T::CIPHERTEXT];
            let sent = kem.encapsulate_from(public, coins, &mut ciphertext).expect("an encapsulation");
            let mut arrives = ciphertext.clone();
            arrives[T::CIPHERTEXT / 2] ^= (i % 2) as u8;
            let found = kem.decapsulate(secret, &arrives).expect("no ciphertext is an error");
            (kem.secret_to_bytes(secret).expect("the key's bytes"), ciphertext, sent, arrives, found)
        });
        results.collect::<Vec<_>>()
    });
    secret::reset();

    seeds.iter_mut().for_each(|seed| secret::poison(seed.as_slice()));
    let lists: Vec<_> = seeds.iter().map(<[u8; 64]>::as_slice).collect();
    let pairs = kem.generate_many_from(&lists).expect("key pairs");
    for ((secret, _), (expected, ..)) in pairs.iter().zip(&one_by_one) {
        let bytes = kem.secret_to_bytes(secret).expect("the key's bytes");
        secret::declassify(&bytes, "result");
        assert!(*bytes == **expected, "the result is wrong, so whatever ran was not ML-KEM");
    }

    coins.iter_mut().for_each(|coins| secret::poison(coins.as_slice()));
    let lists: Vec<_> = coins.iter().map(<[u8; 32]>::as_slice).collect();
    let to: Vec<_> = pairs.iter().map(|(_, public)| public).collect();
    let mut ciphertexts = vec![vec![0; T::CIPHERTEXT]; usize::from(count)];
    let mut rooms: Vec<_> = ciphertexts.iter_mut().map(Vec::as_mut_slice).collect();
    let shared = kem.encapsulate_many_from(&to, &lists, &mut rooms).expect("encapsulations");
    for ((shared, ciphertext), (_, expected, sent, ..)) in shared.iter().zip(&ciphertexts).zip(&one_by_one) {
        secret::declassify(shared.as_bytes(), "result");
        secret::declassify(ciphertext, "ciphertext");
        assert!(shared == sent && ciphertext == expected, "the result is wrong, so whatever ran was not this KEM");
    }

    for (dk, ..) in &one_by_one {
        secret::poison(&dk[set.dk_pke()]);
        secret::poison(&dk[set.z()]);
    }
    let keys = one_by_one.iter().map(|(dk, ..)| kem.secret_from_bytes(dk).expect("a good key"));
    let keys: Vec<_> = keys.collect();
    let with: Vec<_> = keys.iter().collect();
    let arrive: Vec<_> = one_by_one.iter().map(|(.., arrives, _)| arrives.as_slice()).collect();
    let found = kem.decapsulate_many(&with, &arrive).expect("no ciphertext is an error");
    for (found, (.., expected)) in found.iter().zip(&one_by_one) {
        secret::declassify(found.as_bytes(), "result");
        assert!(found == expected, "the result is wrong, so whatever ran was not ML-KEM");
    }
}

const fn set(rank: usize) -> ParameterSet {
    match rank {
        2 => ML_KEM_512,
        3 => ML_KEM_768,
        _ => ML_KEM_1024,
    }
}
