//! Reed–Solomon codes on every arm.

use crate::kernels::lanes::{power, product};
use crate::kernels::symbols::{Loop, OnePass, Taps};
use crate::kernels::{Set, portable, reed_solomon_decode_singly};
use candor_test_support::random::Random;
use std::vec;
use std::vec::Vec;

type Encode = fn(Set, &[u8], &mut [u8]);
type Correct = fn(Set, &mut [u8]);

/// The arms that this machine can run, and decoding by single products.
fn arms() -> Vec<(Encode, Correct)> {
    let decoders: [Correct; 4] = [
        portable::reed_solomon_decode,
        |set, word| reed_solomon_decode_singly(Loop, set, word),
        |set, word| reed_solomon_decode_singly(Taps, set, word),
        |set, word| reed_solomon_decode_singly(OnePass, set, word),
    ];
    let mut arms: Vec<(Encode, Correct)> =
        decoders.into_iter().map(|decode| (portable::reed_solomon_encode as Encode, decode)).collect();
    #[cfg(target_arch = "x86_64")]
    if candor_cpu::HaveClmul::check(candor_cpu::Cpu::host()).is_some() {
        use crate::low::x86_64::symbols::Clmul;
        use candor_cpu::{Cpu, HaveClmul};
        arms.push((portable::reed_solomon_encode, |set, word| {
            reed_solomon_decode_singly(Clmul(HaveClmul::check(Cpu::host()).unwrap()), set, word);
        }));
    }
    #[cfg(target_arch = "x86_64")]
    if candor_cpu::HaveAvx2::check(candor_cpu::Cpu::host()).is_some() {
        use crate::low::x86_64::avx2;
        use candor_cpu::{Cpu, HaveAvx2};
        arms.push((
            |set, message, word| avx2::reed_solomon_encode(HaveAvx2::check(Cpu::host()).unwrap(), set, message, word),
            |set, word| avx2::reed_solomon_decode(HaveAvx2::check(Cpu::host()).unwrap(), set, word),
        ));
    }
    arms
}

/// Each set with N and K.
const SETS: [(Set, usize, usize); 3] = [(Set::Hqc1, 46, 16), (Set::Hqc3, 56, 24), (Set::Hqc5, 90, 32)];

fn evaluate(word: &[u8], point: u8) -> u8 {
    word.iter().rev().fold(0, |sum, symbol| product(sum, point) ^ symbol)
}

#[test]
fn codewords_end_in_the_message_and_have_the_generator_s_roots() {
    for (encode, _) in arms() {
        for (set, n, k) in SETS {
            let mut random = Random::new(n as u64);
            for _ in 0..20 {
                let (message, mut word) = (random.bytes(k), vec![0; n]);
                encode(set, &message, &mut word);
                assert_eq!(word[n - k..], message);
                assert!((1..=n - k).all(|j| evaluate(&word, power(j as i32)) == 0));
                word[n / 2] ^= 1;
                assert_ne!(evaluate(&word, power(1)), 0, "no codeword any more");
            }
        }
    }
}

#[test]
fn every_number_of_errors_up_to_the_bound_is_corrected_and_one_more_is_not() {
    for (encode, correct) in arms() {
        for (set, n, k) in SETS {
            let mut random = Random::new(k as u64);
            for weight in 0..=(n - k) / 2 + 1 {
                for _ in 0..8 {
                    let (message, mut codeword) = (random.bytes(k), vec![0; n]);
                    encode(set, &message, &mut codeword);
                    let mut word = codeword.clone();
                    let mut left = weight;
                    while left > 0 {
                        let at = random.below(n);
                        if word[at] == codeword[at] {
                            word[at] ^= 1 + random.below(255) as u8;
                            left -= 1;
                        }
                    }
                    correct(set, &mut word);
                    assert_eq!(word == codeword, weight <= (n - k) / 2, "{set:?}, {weight} errors");
                }
            }
        }
    }
}

#[test]
fn errors_in_a_row_at_either_end_are_corrected() {
    for (encode, correct) in arms() {
        for (set, n, k) in SETS {
            let mut codeword = vec![0; n];
            encode(set, &vec![0xa5; k], &mut codeword);
            for first in [0, n - (n - k) / 2] {
                let mut word = codeword.clone();
                word[first..first + (n - k) / 2].iter_mut().for_each(|symbol| *symbol ^= 0xff);
                correct(set, &mut word);
                assert_eq!(word, codeword, "{set:?}, from {first}");
            }
        }
    }
}
