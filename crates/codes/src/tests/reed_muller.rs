//! Repeated Reed–Muller codes on every arm.

use crate::kernels::reed_muller::encode;
use crate::kernels::{Set, portable};
use candor_test_support::random::Random;
use std::vec;
use std::vec::Vec;

type Decode = fn(Set, &[u64], &mut [u8]);

/// The arms that this machine can run.
fn arms() -> Vec<Decode> {
    let mut arms: Vec<Decode> = vec![portable::reed_muller_decode];
    #[cfg(target_arch = "x86_64")]
    if candor_cpu::HaveAvx2::check(candor_cpu::Cpu::host()).is_some() {
        use candor_cpu::{Cpu, HaveAvx2};
        arms.push(|set, words, symbols| {
            let token = HaveAvx2::check(Cpu::host()).expect("checked above");
            crate::low::x86_64::avx2::reed_muller_decode(token, set, words, symbols);
        });
    }
    arms
}

/// The sets with the two numbers of copies.
const SETS: [(Set, usize); 2] = [(Set::Hqc1, 3), (Set::Hqc5, 5)];

fn repeated(symbol: u8, copies: usize) -> Vec<u64> {
    encode(symbol).repeat(copies)
}

fn flip(words: &mut [u64], bit: usize) {
    words[bit / 64] ^= 1 << (bit % 64);
}

#[test]
fn codewords_are_the_affine_functions() {
    for symbol in 0..=255u8 {
        let word = encode(symbol);
        for position in 0..128u32 {
            let value = (u32::from(symbol) & position).count_ones() + u32::from(symbol >> 7);
            assert_eq!(
                word[position as usize / 64] >> (position % 64) & 1,
                u64::from(value % 2),
                "{symbol}, {position}"
            );
        }
    }
}

#[test]
fn every_number_of_errors_below_half_the_distance_is_corrected() {
    for decode in arms() {
        for (set, copies) in SETS {
            let mut random = Random::new(copies as u64);
            for weight in 0..32 * copies {
                let symbols = random.bytes(4);
                let mut words = Vec::new();
                for symbol in &symbols {
                    let clean = repeated(*symbol, copies);
                    let mut word = clean.clone();
                    let mut left = weight;
                    while left > 0 {
                        let bit = random.below(128 * copies);
                        if word[bit / 64] >> (bit % 64) & 1 == clean[bit / 64] >> (bit % 64) & 1 {
                            flip(&mut word, bit);
                            left -= 1;
                        }
                    }
                    words.extend(word);
                }
                let mut found = vec![0; 4];
                decode(set, &words, &mut found);
                assert_eq!(found, symbols, "{set:?}, {weight} errors");
            }
        }
    }
}

#[test]
fn half_way_between_two_codewords_the_smaller_index_wins_and_one_bit_decides() {
    for decode in arms() {
        for (set, copies) in SETS {
            for (one, other) in [(0x00, 0x01), (0x7f, 0x80), (0x13, 0xec), (0xff, 0x7e)] {
                let (from, to) = (repeated(one, copies), repeated(other, copies));
                let mut apart: Vec<usize> =
                    (0..128 * copies).filter(|bit| (from[bit / 64] ^ to[bit / 64]) >> (bit % 64) & 1 == 1).collect();
                assert_eq!(apart.len(), 64 * copies);
                // In any order, so that no third codeword is as near.
                let mut random = Random::new(u64::from(one));
                (1..apart.len()).for_each(|i| apart.swap(i, random.below(i + 1)));
                let decoded = [32 * copies - 1, 32 * copies, 32 * copies + 1].map(|weight| {
                    let mut words = from.clone();
                    apart[..weight].iter().for_each(|bit| flip(&mut words, *bit));
                    let mut found = [0];
                    decode(set, &words, &mut found);
                    found[0]
                });
                let first = if one & 127 < other & 127 { one } else { other };
                assert_eq!(decoded, [one, first, other], "{set:?}, {one:#x} and {other:#x}");
            }
        }
    }
}

#[test]
fn words_that_are_near_to_nothing_give_the_same_symbol_on_every_arm() {
    for (set, copies) in SETS {
        let mut random = Random::new(7);
        let mut words: Vec<u64> = (0..2 * copies * 200).map(|_| random.word()).collect();
        words[..2 * copies].fill(0);
        words[2 * copies..4 * copies].fill(u64::MAX);
        let decoded: Vec<Vec<u8>> = arms()
            .iter()
            .map(|decode| {
                let mut symbols = vec![0; 200];
                decode(set, &words, &mut symbols);
                symbols
            })
            .collect();
        assert!(decoded.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(decoded[0][..2], [0, 0x80]);
    }
}
