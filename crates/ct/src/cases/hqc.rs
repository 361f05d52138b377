//! HQC: keys from secret seeds, encapsulation with secret coins, decapsulation with a secret key; and the code by itself.
//!
//! Of a key pair's seed everything is secret but the public key, and which candidates for positions the sampler drops
//! (crates/codes/docs/hqc.md says why that is no secret). Of an expanded key the public key is public.

use super::kem;
use crate::case::{Case, Expect};
use candor_codes::hqc::{Hqc, Level, Level1, Level3, Level5};
use candor_cpu::{Cpu, secret};
use candor_primitives::kem::{DerandomizedKem, Kem};

pub(super) const CASES: &[Case] = &[
    code("hqc-code@portable", "portable", "kernels::portable::reed_solomon_decode", codes),
    code("hqc-code@avx2", "avx2", "avx2::reed_solomon_decode::with_features", codes),
    sparse("hqc-sparse@portable", "portable", "kernels::portable::sparse_product"),
    sparse("hqc-sparse@avx2", "avx2", "avx2::sparse_product::with_features"),
    support("hqc-1/generate@portable", "portable", "kernels::portable::scatter", generate::<Level1>),
    support("hqc-1/generate@avx2", "avx2", "x86_64::support::scatter::with_features", generate::<Level1>),
    support("hqc-1/encapsulate@portable", "portable", "kernels::portable::distinct", encapsulate::<Level1>),
    support("hqc-1/encapsulate@avx2", "avx2", "avx2::distinct::with_features", encapsulate::<Level1>),
    support("hqc-1/decapsulate@portable", "portable", "kernels::portable::distinct", decapsulate::<Level1>),
    support("hqc-1/decapsulate@avx2", "avx2", "avx2::distinct::with_features", decapsulate::<Level1>),
    support("hqc-3/generate@avx2", "avx2", "x86_64::support::scatter::with_features", generate::<Level3>),
    support("hqc-3/encapsulate@avx2", "avx2", "avx2::distinct::with_features", encapsulate::<Level3>),
    support("hqc-3/decapsulate@avx2", "avx2", "avx2::distinct::with_features", decapsulate::<Level3>),
    support("hqc-5/generate@avx2", "avx2", "x86_64::support::scatter::with_features", generate::<Level5>),
    support("hqc-5/encapsulate@avx2", "avx2", "avx2::distinct::with_features", encapsulate::<Level5>),
    support("hqc-5/decapsulate@avx2", "avx2", "avx2::distinct::with_features", decapsulate::<Level5>),
];

const fn code(name: &'static str, arm: &'static str, kernel: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("hqc-code", arm), tier: arm, kernel: Some(kernel), expect: Expect::Clean, run }
}

const fn support(name: &'static str, arm: &'static str, kernel: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("hqc-support", arm), tier: arm, kernel: Some(kernel), expect: Expect::Clean, run }
}

const fn sparse(name: &'static str, arm: &'static str, kernel: &'static str) -> Case {
    Case {
        name,
        ran: ("hqc-sparse", arm),
        tier: arm,
        kernel: Some(kernel),
        expect: Expect::Clean,
        run: sparse_products,
    }
}

/// Secret positions times a secret polynomial by rotations, which no KEM does; it must be what the KEM's product gives.
fn sparse_products(cpu: Cpu) {
    let mut products = Hqc::<Level1>::with_cpu(cpu).sparse_products();
    let (words, weight) = (products.words(), products.weight());
    let ones = vec![0x35; 8 * (words - 1)];
    let places: Vec<u8> = (0..weight as u32).flat_map(|i| (267 * i + 5).to_le_bytes()).collect();
    let read = |ones: &[u8], places: &[u8]| -> (Vec<u64>, Vec<u32>) {
        let polynomial = ones.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).chain([0]);
        let positions = places.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        (polynomial.collect(), positions)
    };
    let mut expected = vec![0; words];
    let (polynomial, positions) = read(&ones, &places);
    products.by_dense(&polynomial, &positions, &mut expected);
    secret::reset();

    secret::poison(&ones);
    secret::poison(&places);
    let (polynomial, positions) = read(&ones, &places);
    let mut found = vec![0; words];
    products.by_rotations(&polynomial, &positions, &mut found);
    let found: Vec<u8> = found.iter().flat_map(|word| word.to_le_bytes()).collect();
    secret::declassify(&found, "result");
    let expected: Vec<u8> = expected.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(found == expected, "the result is wrong, so whatever ran was not the product");
}

/// A secret message, encoded; a secret word with errors, decoded.
fn codes(cpu: Cpu) {
    for code in
        [Hqc::<Level1>::with_cpu(cpu).code(), Hqc::<Level3>::with_cpu(cpu).code(), Hqc::<Level5>::with_cpu(cpu).code()]
    {
        let message: Vec<u8> = (0..code.message_bytes()).map(|i| 0x51 ^ i as u8).collect();
        let mut word = vec![0; code.words()];
        secret::poison(&message);
        code.encode(&message, &mut word);
        // Some bits in every symbol, and a symbol that is lost.
        word.iter_mut().for_each(|word| *word ^= 0x0101);
        word[..10].fill(0);
        let mut found = vec![0; message.len()];
        code.decode(&word, &mut found);
        secret::declassify(&found, "result");
        secret::declassify(&message, "keys");
        assert!(found == message, "the result is wrong, so whatever ran was not the code");
    }
}

fn generate<L: Level>(cpu: Cpu) {
    let kem = Hqc::<L>::with_cpu(cpu);
    let expected = secret::aside(|| {
        let (secret, _) = kem.generate_from(&[0x3c; 32]).expect("a key pair");
        kem.secret_to_bytes(&secret).expect("the key's bytes")
    });
    let seed = [0x3c; 32];
    secret::poison(&seed);
    let (made, _) = kem.generate_from(&seed).expect("a key pair");
    let bytes = kem.secret_to_bytes(&made).expect("the key's bytes");
    secret::declassify(&bytes, "result");
    assert!(*bytes == *expected, "the result is wrong, so whatever ran was not HQC");

    // The same key read from its bytes, all of it secret but the public key.
    let bytes = expected.to_vec();
    secret::poison(&bytes[Hqc::<L>::PUBLIC..]);
    let read = kem.secret_from_bytes(&bytes).expect("a good key");
    let again = kem.secret_to_bytes(&read).expect("the key's bytes");
    secret::declassify(&again, "result");
    assert!(*again == *expected, "the result is wrong, so whatever ran was not HQC");
}

/// Secret coins; the ciphertext is published.
fn encapsulate<L: Level>(cpu: Cpu) {
    kem::encapsulate(Hqc::<L>::with_cpu(cpu));
}

/// A good ciphertext and bad ones for a key from a poisoned seed: with another u, with bits of u beyond its length, and with another salt. That they
/// take different paths is what must not show.
fn decapsulate<L: Level>(cpu: Cpu) {
    let kem = Hqc::<L>::with_cpu(cpu);
    let (key, public) = kem.generate_from(&[0x3c; 32]).expect("a key pair");
    let mut good = vec![0; Hqc::<L>::CIPHERTEXT];
    let sent = kem.encapsulate(&public, &mut good).expect("an encapsulation");
    // A public key is a seed and as many bytes as u has.
    let u = Hqc::<L>::PUBLIC - 32;
    let mut ciphertexts = vec![(good.clone(), sent)];
    for (at, mask) in [(u / 2, 1), (u - 1, 0x80), (good.len() - 1, 1)] {
        let mut bad = good.clone();
        bad[at] ^= mask;
        let rejected = kem.decapsulate(&key, &bad).expect("implicit rejection");
        ciphertexts.push((bad, rejected));
    }
    secret::reset();

    let seed = [0x3c; 32];
    secret::poison(&seed);
    let poisoned = kem.secret_from_seed(&seed).expect("a key pair");
    for (ciphertext, expected) in ciphertexts {
        let found = kem.decapsulate(&poisoned, &ciphertext).expect("no ciphertext is an error");
        secret::declassify(found.as_bytes(), "result");
        assert!(found == expected, "the result is wrong, so whatever ran was not HQC");
    }
}
