//! Slow and plain: polynomials as vectors of bits, written without a look at the crate's own reducers.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

pub mod curves;

use candor_cpu::Cpu;
use candor_gf2::field::{Field, Modulus, SparseModulus};
use candor_test_support::Random;

/// The remainder, bit by bit from the top.
pub fn remainder(modulus: &SparseModulus<'_>, words: &[u64]) -> Vec<u64> {
    let mut words = words.to_vec();
    let m = modulus.degree();
    for i in (m..words.len() * 64).rev() {
        if words[i / 64] >> (i % 64) & 1 == 1 {
            words[i / 64] ^= 1 << (i % 64);
            for tap in modulus.taps() {
                let at = i - m + tap;
                words[at / 64] ^= 1 << (at % 64);
            }
        }
    }
    words.resize(modulus.words(), 0);
    words
}

/// The product, bit by bit.
pub fn product(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0; a.len() + b.len()];
    for i in 0..a.len() * 64 {
        if a[i / 64] >> (i % 64) & 1 == 1 {
            for (j, word) in b.iter().enumerate() {
                out[i / 64 + j] ^= word << (i % 64);
                if i % 64 != 0 {
                    out[i / 64 + j + 1] ^= word >> (64 - i % 64);
                }
            }
        }
    }
    out
}

/// The product of two elements.
pub fn mul<M: Modulus>(a: &M::Words, b: &M::Words) -> M::Words {
    words::<M>(&remainder(&M::MODULUS, &product(a.as_ref(), b.as_ref())))
}

/// A slice as the words of an element.
pub fn words<M: Modulus>(from: &[u64]) -> M::Words {
    let mut words = Field::<M>::with_cpu(Cpu::portable()).zero().words().to_owned();
    words.as_mut().copy_from_slice(from);
    words
}

/// Every tier of this machine, with its name.
pub fn fields<M: Modulus>() -> Vec<(&'static str, Field<M>)> {
    Cpu::tiers().map(|tier| (tier.name, Field::with_cpu(Cpu::named(tier.name).unwrap()))).collect()
}

/// Elements at which carries, masks and word boundaries show, then `random` ones.
pub fn elements<M: Modulus>(random: usize) -> Vec<M::Words> {
    let (m, n) = (M::MODULUS.degree(), M::MODULUS.words());
    let mut out = Vec::new();
    let bit = |i: usize| {
        let mut words = vec![0; n];
        words[i / 64] = 1 << (i % 64);
        words
    };
    let top = if m % 64 == 0 { u64::MAX } else { (1 << (m % 64)) - 1 };
    let all = |word: u64| {
        let mut words = vec![word; n];
        words[n - 1] &= top;
        words
    };
    out.push(vec![0; n]);
    out.extend([u64::MAX, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, 0xffff_ffff_0000_0000, 1 << 63, 1].map(all));
    for i in (0..m).filter(|i| i % 64 < 2 || i % 64 > 61 || *i + 2 > m || M::MODULUS.taps().contains(i)) {
        out.push(bit(i));
    }
    let mut sequence = Random::new(m as u64);
    for _ in 0..random {
        let mut words: Vec<u64> = (0..n).map(|_| sequence.word()).collect();
        words[n - 1] &= top;
        out.push(words);
    }
    out.iter().map(|element| words::<M>(element)).collect()
}
