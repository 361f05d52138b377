//! Kernels of key generation on every arm, beside the standard library and the definition.

use super::super::tests::arms;
use crate::kernels::mceliece::rows;
use candor_test_support::Random;
use std::vec;
use std::vec::Vec;

#[test]
fn blocks_of_every_size_are_sorted() {
    let mut random = Random::new(1);
    for arm in arms() {
        for log in 0..=13 {
            // In random order, in reverse, and almost all equal, with the largest number among them.
            let numbers: [Vec<u32>; 3] = [
                (0..8192).map(|_| random.word() as u32 >> 1).collect(),
                (0..8192).rev().collect(),
                (0..8192).map(|i| if i % 7 == 0 { u32::MAX >> 1 } else { i & 1 }).collect(),
            ];
            for numbers in numbers {
                let mut found = numbers.clone();
                arm.sort_blocks(&mut found, &mut vec![0; 8192], 1 << log);
                let mut expected = numbers;
                expected.chunks_mut(1 << log).for_each(<[u32]>::sort_unstable);
                assert_eq!(found, expected, "blocks of 2^{log}, {}", arm.name());
            }
        }
    }
}

#[test]
fn words_are_sorted_whatever_their_order() {
    let mut random = Random::new(2);
    let top = u64::MAX >> 1;
    for arm in arms() {
        for count in [4096, 8192] {
            let inputs: [Vec<u64>; 5] = [
                (0..count).map(|_| random.word() >> 1).collect(),
                (0..count).collect(),
                (0..count).rev().collect(),
                vec![7; count as usize],
                (0..count).map(|i| if i % 5 == 0 { top - i } else { i << 31 }).collect(),
            ];
            for words in inputs {
                let mut found = words.clone();
                arm.sort_words(&mut found, &mut vec![0; count as usize]);
                let mut expected = words;
                expected.sort_unstable();
                assert_eq!(found, expected, "{}", arm.name());
            }
        }
    }
}

/// A network of comparisons sorts everything if it sorts all sequences of zeros and ones (Knuth, TAOCP 3, 5.3.4). Here: all that are zeros, ones and zeros, or the
/// reverse, which is what the merges of a bitonic network see, and random ones.
#[test]
fn sequences_of_zeros_and_ones_are_sorted() {
    let mut random = Random::new(3);
    for arm in arms() {
        for size in [64, 128, 256] {
            for case in 0..size * size + 1000 {
                let (first, last) = (case % size, case / size);
                let bit = |i: usize| match last {
                    last if last < size => u32::from((i < first) == (i < last)),
                    _ => random.word() as u32 & 1,
                };
                let mut numbers: Vec<u32> = (0..size).map(bit).collect();
                let ones = numbers.iter().sum::<u32>() as usize;
                arm.sort_blocks(&mut numbers, &mut vec![0; size], size);
                assert!(numbers.iter().enumerate().all(|(i, bit)| (*bit == 1) == (i >= size - ones)));
            }
        }
    }
}

#[test]
fn each_row_gets_the_rows_that_its_choices_say() {
    let mut random = Random::new(4);
    for arm in arms() {
        for (height, columns, groups) in [(32, 1, 1), (64, 8, 16), (96, 3, 6), (1664, 2, 8), (1568, 1, 7)] {
            let (mut tile, coefficients) = (random.bytes(height * columns), random.bytes(height * groups));
            let sources = random.bytes(columns * 8 * groups);
            let mut expected = tile.clone();
            for (at, byte) in expected.iter_mut().enumerate() {
                let (column, row) = (at / height, at % height);
                for source in 0..8 * groups {
                    if coefficients[source / 8 * height + row] >> (source % 8) & 1 == 1 {
                        *byte ^= sources[column * 8 * groups + source];
                    }
                }
            }
            let mut choices = vec![0; 2 * coefficients.len()];
            rows::choices(&coefficients, height, &mut choices);
            arm.add_rows(&mut tile, height, &choices, &sources);
            assert!(tile == expected, "{height} rows, {}", arm.name());
        }
    }
}
