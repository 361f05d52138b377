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
    support("hqc-1/generate@portable", "portable", "kernels::portable::scatter", generate::<Level1>),
    support("hqc-1/generate@avx2", "avx2", "x86_64::support::scatter::with_features", generate::<Level1>),
    support("hqc-1/encapsulate@portable", "portable", "kernels::portable::distinct", encapsulate::<Level1>),
    support("hqc-1/encapsulate@avx2", "avx2", "avx2::distinct::with_features", encapsulate::<Level1>),
    support("hqc-1/decapsulate@portable", "portable", "kernels::portable::distinct", decapsulate::<Level1>),
    support("hqc-1/decapsulate@avx2", "avx2", "avx2::distinct::with_features", decapsulate::<Level1>),
    support("hqc-3/decapsulate@avx2", "avx2", "avx2::distinct::with_features", decapsulate::<Level3>),
    support("hqc-5/decapsulate@avx2", "avx2", "avx2::distinct::with_features", decapsulate::<Level5>),
];

const fn code(name: &'static str, arm: &'static str, kernel: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("hqc-code", arm), tier: arm, kernel: Some(kernel), expect: Expect::Clean, run }
}

const fn support(name: &'static str, arm: &'static str, kernel: &'static str, run: fn(Cpu)) -> Case {
    Case { name, ran: ("hqc-support", arm), tier: arm, kernel: Some(kernel), expect: Expect::Clean, run }
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

/// A good and a bad ciphertext for a key from a poisoned seed. That the two take different paths is what must not show.
fn decapsulate<L: Level>(cpu: Cpu) {
    let kem = Hqc::<L>::with_cpu(cpu);
    let (key, public) = kem.generate_from(&[0x3c; 32]).expect("a key pair");
    let mut good = vec![0; Hqc::<L>::CIPHERTEXT];
    let sent = kem.encapsulate(&public, &mut good).expect("an encapsulation");
    let mut bad = good.clone();
    bad[Hqc::<L>::CIPHERTEXT / 2] ^= 1;
    let rejected = kem.decapsulate(&key, &bad).expect("implicit rejection");
    secret::reset();

    let seed = [0x3c; 32];
    secret::poison(&seed);
    let poisoned = kem.secret_from_seed(&seed).expect("a key pair");
    for (ciphertext, expected) in [(&good, sent), (&bad, rejected)] {
        let found = kem.decapsulate(&poisoned, ciphertext).expect("no ciphertext is an error");
        secret::declassify(found.as_bytes(), "result");
        assert!(found == expected, "the result is wrong, so whatever ran was not HQC");
    }
}
