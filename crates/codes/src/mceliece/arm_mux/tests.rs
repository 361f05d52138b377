//! Kernels of key generation on every arm, beside the standard library and the definition.

use super::super::tests::arms;
use super::Arm;
use crate::kernels::mceliece::field;
use crate::kernels::mceliece::look_up::Permutation;
use crate::kernels::mceliece::polynomials::{Vector as Coefficients, multiples};
use crate::kernels::mceliece::rows::{PANEL, Panel, STRIP};
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

/// The panel's definition on single bits, in a strip of `height` rows: `pivots` and `others` are tiles of coefficients.
fn applied(
    strip: &[u8],
    height: usize,
    [first, count, candidates]: [usize; 3],
    pivots: &[u8],
    others: &[u8],
) -> Vec<u8> {
    let has = |tile: &[u8], height: usize, row: usize, bit: usize| tile[bit / 8 * height + row] >> (bit % 8) & 1 == 1;
    let mut applied = strip.to_vec();
    for (strip, applied) in strip.chunks(height).zip(applied.chunks_mut(height)) {
        let new = |pivot: usize| {
            (0..candidates).filter(|i| has(pivots, PANEL, pivot, *i)).fold(0, |sum, i| sum ^ strip[first + i])
        };
        let new: Vec<u8> = (0..count).map(new).collect();
        for (row, byte) in applied.iter_mut().enumerate() {
            *byte ^= (0..count).filter(|i| has(others, height, row, *i)).fold(0, |sum, i| sum ^ new[i]);
        }
        applied[first..first + count].copy_from_slice(&new);
    }
    applied
}

#[test]
fn each_row_gets_the_rows_that_its_choices_say() {
    let mut random = Random::new(4);
    for arm in arms() {
        for (height, first, count, candidates) in [
            (64, 0, 64, 64),
            (128, 96, 32, 32),
            (192, 64, 64, 128),
            (1664, 640, 64, 128),
            (1600, 1536, 16, 16),
            (640, 64, 40, 576),
        ] {
            let strip = random.bytes(height * STRIP);
            let (mut pivots, others) = (random.bytes(PANEL / 8 * candidates), random.bytes(height * (count / 8)));
            // There are no pivot rows beyond the last.
            pivots.chunks_mut(PANEL).for_each(|column| column[count..].fill(0));
            let expected = applied(&strip, height, [first, count, candidates], &pivots, &others);
            let (pivots, others) = (arm.choices(&pivots, PANEL), arm.choices(&others, height));
            let panel = Panel { first, count, candidates, pivots: &pivots, others: &others };
            let mut found = strip;
            arm.apply(&mut found, height, panel, &mut vec![0; STRIP * candidates]);
            assert!(found == expected, "{height} rows, {count} pivots, {}", arm.name());
        }
    }
}

#[test]
fn columns_become_rows_as_far_as_there_is_room() {
    let mut random = Random::new(5);
    for arm in arms() {
        for (rows, row_bytes) in [(64usize, 32usize), (768, 340), (1547, 677), (1664, 816), (70, 15), (65, 17)] {
            let height = rows.next_multiple_of(64);
            let before = random.bytes(rows * row_bytes);
            for first in (0..row_bytes).step_by(32) {
                let tile = random.bytes(32 * height);
                let mut matrix = before.clone();
                arm.write_rows(&tile, height, &mut matrix, row_bytes, first);
                let mut expected = before.clone();
                for (at, byte) in expected.iter_mut().enumerate() {
                    let (row, column) = (at / row_bytes, at % row_bytes);
                    if (first..first + 32).contains(&column) {
                        *byte = tile[(column - first) * height + row];
                    }
                }
                assert!(matrix == expected, "{rows} rows of {row_bytes} bytes from {first} on, {}", arm.name());
            }
        }
    }
}

#[test]
fn tables_are_read_in_the_order_of_a_permutation() {
    let mut random = Random::new(6);
    for arm in arms() {
        for (m, w) in (4..=13).flat_map(|m| (2..=m).map(move |w| (m, w))) {
            let (count, block) = (1 << m, 1 << w);
            let mut image: Vec<u16> = (0..count).map(|i| (i % block) as u16).collect();
            for block in image.chunks_mut(block) {
                (1..block.len()).for_each(|i| block.swap(i, random.below(i + 1)));
            }
            let mut inverse = vec![0; count];
            (0..count).for_each(|x| inverse[x / block * block + usize::from(image[x])] = (x % block) as u16);
            let mut table = || -> Vec<u16> { (0..count).map(|_| random.word() as u16 & (block - 1) as u16).collect() };
            let tables = [table(), table()];
            let expected = |table: &[u16]| -> Vec<u16> {
                (0..count).map(|x| table[x / block * block + usize::from(image[x])]).collect()
            };
            let at = Permutation { image: &image, inverse: &inverse };
            let (mut room, mut found) = (vec![0; 2 * count], [vec![0; count], vec![0; count]]);
            arm.look_up(w, at, &tables[0], &mut found[0], &mut room);
            assert_eq!(found[0], expected(&tables[0]), "2^{m} numbers in blocks of 2^{w}, {}", arm.name());
            let [first, second] = &mut found;
            arm.look_up_two(w, at, [&tables[0], &tables[1]], [first, second], &mut room);
            assert!(
                found == [expected(&tables[0]), expected(&tables[1])],
                "two tables of 2^{m} numbers in blocks of 2^{w}, {}",
                arm.name()
            );
        }
    }
}

/// Random systems; triangular ones with two neighbouring rows exchanged, so that the upper one's pivot is zero and comes from below; and singular ones.
fn systems_are_solved_as_by_portable_code<const M: usize>() {
    let mut random = Random::new(M as u64);
    let mut element = || random.word() as u16 & ((1 << M) - 1);
    for rows in [1, 2, 17, 63, 64, 65, 96, 119, 128] {
        let mut column = |last: usize| -> Coefficients {
            core::array::from_fn(|row| match row {
                _ if row > last || row >= rows => 0,
                _ if row == last => element() | 1,
                _ => element(),
            })
        };
        let dense: Vec<Coefficients> = (0..=rows).map(|_| column(rows)).collect();
        let triangular: Vec<Coefficients> = (0..=rows).map(&mut column).collect();
        let mut systems = vec![(dense.clone(), None)];
        for zero in [0, rows / 2, rows.saturating_sub(2)].into_iter().filter(|zero| zero + 1 < rows) {
            let mut system = triangular.clone();
            system.iter_mut().for_each(|column| column.swap(zero, zero + 1));
            assert_eq!(system[zero][zero], 0);
            systems.push((system, Some(1)));
        }
        let mut singular = dense;
        singular[rows - 1] = if rows == 1 { [0; 128] } else { singular[0] };
        systems.push((singular, Some(0)));
        for (system, known) in systems {
            let mut expected = system.clone();
            let solvable = Arm::Portable.eliminate::<M>(&mut expected);
            assert_eq!(known.unwrap_or(solvable), solvable, "{rows} rows");
            for arm in arms() {
                let mut found = system.clone();
                assert_eq!(arm.eliminate::<M>(&mut found), solvable, "{rows} rows, {}", arm.name());
                if solvable == 1 {
                    assert_eq!(found[rows], expected[rows], "{rows} rows, {}", arm.name());
                }
            }
        }
    }
}

#[test]
fn a_zero_pivot_comes_from_below_on_every_arm() {
    systems_are_solved_as_by_portable_code::<12>();
    systems_are_solved_as_by_portable_code::<13>();
}

/// Every element times a basis of the field, and times the element with all bits.
fn every_element_multiplies<const M: usize>() {
    for b in (0..M).map(|bit| 1 << bit).chain([field::mask::<M>()]) {
        let mut constant = [0; 128];
        constant[0] = b;
        let multiples = multiples::<M>(&constant);
        for arm in arms() {
            for first in (0..1u16 << M).step_by(128) {
                let elements: Coefficients = core::array::from_fn(|i| first + i as u16);
                let found = arm.multiply::<M>(&elements, &multiples);
                let expected = elements.map(|element| field::times::<M>(element, b));
                assert_eq!(found[..128], expected, "{first}… times {b} on {}", arm.name());
                assert_eq!(found[128..], [0; 128]);
            }
        }
    }
}

#[test]
fn each_element_multiplies_as_in_the_field_on_every_arm() {
    every_element_multiplies::<12>();
    every_element_multiplies::<13>();
}
