//! The small fields whole: every product, every input of every reducer.

mod field_reference;

use candor_cpu::Cpu;
use candor_gf2::field::*;
use candor_test_support::Random;
use field_reference::remainder;
use std::cell::RefCell;

/// x^9 + x^8 + 1: its tap lies right below the degree, so that feedback takes three rounds.
#[derive(Clone, Copy)]
struct Tight9;
impl Modulus for Tight9 {
    const MODULUS: SparseModulus<'static> = SparseModulus::constant(9, &[8, 0]);
    type Words = [u64; 1];
}

/// x^10 + x^9 + x^8 + x^7 + x^3 + 1: several taps that feed back to each other.
#[derive(Clone, Copy)]
struct Dense10;
impl Modulus for Dense10 {
    const MODULUS: SparseModulus<'static> = SparseModulus::constant(10, &[9, 8, 7, 3, 0]);
    type Words = [u64; 1];
}

/// x^16 + x^5 + x^3 + x + 1: the widest that is packed.
#[derive(Clone, Copy)]
struct Wide16;
impl Modulus for Wide16 {
    const MODULUS: SparseModulus<'static> = SparseModulus::constant(16, &[5, 3, 1, 0]);
    type Words = [u64; 1];
}

/// x + 1: the smallest modulus, whose only elements are 0 and 1.
#[derive(Clone, Copy)]
struct Least1;
impl Modulus for Least1 {
    const MODULUS: SparseModulus<'static> = SparseModulus::constant(1, &[0]);
    type Words = [u64; 1];
}

/// x^12 has no taps at all: what is above is cut off.
#[derive(Clone, Copy)]
struct Power12;
impl Modulus for Power12 {
    const MODULUS: SparseModulus<'static> = SparseModulus::constant(12, &[]);
    type Words = [u64; 1];
}

/// a·x^i for each i, from which all products are sums: the reference knows shifts by one and nothing else.
fn multiples<M: Modulus>(a: u16) -> Vec<u16> {
    let m = M::MODULUS.degree();
    let taps: u32 = M::MODULUS.taps().iter().map(|tap| 1 << tap).sum();
    let mut power = u32::from(a);
    (0..m)
        .map(|_| {
            let this = power as u16;
            power <<= 1;
            if power >> m & 1 == 1 {
                power ^= 1 << m | taps;
            }
            this
        })
        .collect()
}

/// All products of a with 0, 1, 2, …: each is the one of b without its highest bit, plus a multiple.
fn row<M: Modulus>(a: u16) -> Vec<u16> {
    let mut row = vec![0];
    for multiple in multiples::<M>(a) {
        for b in 0..row.len() {
            row.push(row[b] ^ multiple);
        }
    }
    row
}

fn all_products<M: Modulus>(tiers: &[&str]) {
    let size = 1 << M::MODULUS.degree();
    let all: Vec<u16> = (0..size).map(|b| b as u16).collect();
    let mut products = vec![0; size];
    for a in 0..size {
        let right = row::<M>(a as u16);
        for tier in tiers {
            Packed::<M>::with_cpu(Cpu::named(tier).unwrap()).mul_many(&vec![a as u16; size], &all, &mut products);
            assert!(products == right, "products of {a:#x} modulo {} on {tier}", M::MODULUS);
        }
    }
}

fn every_tier() -> Vec<&'static str> {
    Cpu::tiers().map(|tier| tier.name).collect()
}

#[test]
fn every_product_of_hqc8_is_right() {
    all_products::<Hqc8>(&every_tier());
}

#[test]
fn every_product_of_aes8_is_right() {
    all_products::<Aes8>(&every_tier());
}

#[test]
fn every_product_modulo_a_polynomial_that_needs_three_rounds_is_right() {
    assert_eq!(Tight9::MODULUS.rounds(16), 3);
    all_products::<Tight9>(&every_tier());
}

#[test]
fn every_product_modulo_a_polynomial_whose_taps_feed_each_other_is_right() {
    all_products::<Dense10>(&every_tier());
}

#[test]
fn every_product_of_mceliece12_is_right() {
    all_products::<McEliece12>(&every_tier());
}

#[test]
fn every_product_of_the_smallest_field_is_right() {
    all_products::<Least1>(&every_tier());
}

#[test]
fn every_product_modulo_a_power_is_right() {
    all_products::<Power12>(&["portable", Cpu::host().tier()]);
}

#[test]
fn every_product_of_mceliece13_is_right() {
    all_products::<McEliece13>(&["portable", Cpu::host().tier()]);
}

#[test]
fn products_of_sixteen_bits_are_right_at_random_and_at_the_edges() {
    let mut random = Random::new(16);
    let edges = (0..=u16::MAX).rev().take(40).chain([1, 2, 1 << 15, 0x5555, 0xaaaa]);
    for a in edges.chain((0..100).map(|_| random.word() as u16)).collect::<Vec<_>>() {
        let right = row::<Wide16>(a);
        let all: Vec<u16> = (0..=u16::MAX).collect();
        for tier in every_tier() {
            let mut products = vec![0; 1 << 16];
            Packed::<Wide16>::with_cpu(Cpu::named(tier).unwrap()).mul_many(&vec![a; 1 << 16], &all, &mut products);
            assert!(products == right, "products of {a:#x} on {tier}");
        }
    }
}

#[test]
fn packed_products_of_every_length_are_right() {
    let a: Vec<u16> = (0..100).map(|i| 37 * i % 4096).collect();
    let b: Vec<u16> = (0..100).map(|i| 101 * i % 4096).collect();
    let right: Vec<u16> = a.iter().zip(&b).map(|(a, b)| row::<McEliece12>(*a)[usize::from(*b)]).collect();
    for tier in every_tier() {
        for n in 0..=100 {
            let mut products = vec![0; n];
            Packed::<McEliece12>::with_cpu(Cpu::named(tier).unwrap()).mul_many(&a[..n], &b[..n], &mut products);
            assert_eq!(products, right[..n], "{n} products on {tier}");
        }
    }
}

#[test]
fn the_mask_that_document_004_leaves_out_of_hqcs_reduction_is_needed() {
    let mut wrong = 0;
    for a in 0..256 {
        let right = row::<Hqc8>(a);
        for (b, right) in right.into_iter().enumerate() {
            let product = (0..8).fold(0, |sum, i| if b >> i & 1 == 1 { sum ^ a << i } else { sum });
            let (mut high, low) = (product >> 8, product & 0xff);
            high ^= (high >> 4) ^ (high >> 5) ^ (high >> 6);
            high ^= (high << 4) ^ (high << 3) ^ (high << 2);
            assert_eq!((low ^ high) & 0xff, right);
            wrong += u32::from(low ^ high != right);
        }
    }
    assert_eq!(wrong, 45056);
}

/// Every modulus of these degrees, sparse or dense, with and without a constant term.
fn every_modulus(degrees: core::ops::RangeInclusive<usize>, check: impl Fn(&SparseModulus<'_>)) {
    for m in degrees {
        for set in 0..1_u32 << m {
            let taps: Vec<usize> = (0..m).rev().filter(|t| set >> t & 1 == 1).collect();
            check(&SparseModulus::new(m, &taps).unwrap());
        }
    }
}

/// Both reducers, for every product of two reduced polynomials.
fn reducers_are_right_everywhere(modulus: &SparseModulus<'_>) {
    let powers = powers(modulus);
    let mut right = vec![0_u64];
    for power in &powers[..2 * modulus.degree() - 1] {
        right.extend_from_within(..);
        let half = right.len() / 2;
        for value in &mut right[half..] {
            *value ^= power;
        }
    }
    for (input, right) in right.into_iter().enumerate() {
        check(modulus, input as u64, right);
    }
}

fn check(modulus: &SparseModulus<'_>, input: u64, right: u64) {
    let (mut folded, mut fed_back) = ([input], [input]);
    modulus.reduce(&mut folded);
    modulus.reduce_by_rounds(&mut fed_back, &mut [0]);
    assert_eq!(folded[0], right, "{input:#b} modulo {modulus}, folded");
    assert_eq!(fed_back[0], right, "{input:#b} modulo {modulus}, by rounds");
}

#[test]
fn reducers_are_right_on_long_polynomials_even_where_a_word_folds_into_itself() {
    let mut random = Random::new(64);
    let all_below: Vec<usize> = (0..130).rev().collect();
    for m in [1, 2, 5, 31, 63, 64, 65, 100, 127, 128, 130] {
        let all = &all_below[130 - m..];
        for taps in [all, &all[..1], &all[m / 3..], &all[m / 2..m / 2 + 1], &all[m - 1..], &[]] {
            let modulus = SparseModulus::new(m, taps).unwrap();
            for length in 1..=5 {
                for _ in 0..4 {
                    let input: Vec<u64> = (0..length).map(|_| random.word()).collect();
                    let mut right = remainder(&modulus, &input);
                    right.resize(length.max(right.len()), 0);
                    right.truncate(length);
                    let (mut folded, mut fed_back) = (input.clone(), input.clone());
                    modulus.reduce(&mut folded);
                    modulus.reduce_by_rounds(&mut fed_back, &mut vec![0; length]);
                    assert_eq!(folded, right, "{input:x?} modulo {modulus}, folded");
                    assert_eq!(fed_back, right, "{input:x?} modulo {modulus}, by rounds");
                }
            }
        }
    }
}

/// x^i modulo the modulus, for i below 64, from the bit-serial reference.
fn powers(modulus: &SparseModulus<'_>) -> Vec<u64> {
    (0..64).map(|i| remainder(modulus, &[1 << i])[0]).collect()
}

#[test]
fn reducers_are_right_for_every_modulus_and_product_up_to_degree_seven() {
    every_modulus(1..=7, reducers_are_right_everywhere);
}

#[test]
#[ignore = "takes minutes"]
fn reducers_are_right_for_every_modulus_and_product_up_to_degree_ten() {
    every_modulus(8..=10, reducers_are_right_everywhere);
}

#[test]
fn reducers_are_right_for_every_modulus_up_to_degree_ten_on_every_bit_and_at_random() {
    let random = RefCell::new(Random::new(10));
    every_modulus(8..=10, |modulus| {
        let powers = powers(modulus);
        let words = (0..8).map(|_| random.borrow_mut().word());
        for input in (0..64).map(|i| 1 << i).chain([u64::MAX]).chain(words) {
            check(modulus, input, (0..64).filter(|i| input >> i & 1 == 1).fold(0, |sum, i| sum ^ powers[i]));
        }
    });
}
