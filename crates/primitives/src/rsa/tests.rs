//! The arithmetic on each arm, against long integers of others.

mod blinding;
mod primes;

use super::exponents::inverse_of;
use super::generate::is_far;
use super::modulus::Modulus;
use super::power::{powers, public_power};
use super::primes::Sieve;
use super::*;
use crate::words::*;
use candor_cpu::Cpu;
use num_bigint::BigUint;
use std::vec;
use std::vec::Vec;

/// Each arm of this machine.
pub(super) fn arms() -> Vec<Rsa> {
    let mut arms: Vec<Rsa> = Cpu::tiers().map(|tier| Rsa::with_cpu(Cpu::named(tier.name).unwrap())).collect();
    arms.dedup_by_key(|rsa| rsa.arm());
    arms
}

const LENGTHS: [usize; 5] = [16, 24, 32, 48, 64];

fn big(words: &[u64]) -> BigUint {
    let mut bytes = vec![0; 8 * words.len()];
    to_bytes(words, &mut bytes);
    BigUint::from_bytes_be(&bytes)
}

fn words(number: &BigUint, length: usize) -> Number {
    from_bytes(&number.to_bytes_be(), length).unwrap()
}

/// SplitMix64: numbers for tests, the same each time.
struct Stream(u64);

impl Stream {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d049bb133111eb);
        word ^ word >> 31
    }

    fn number(&mut self, length: usize) -> Number {
        let mut number = zero(length);
        number.iter_mut().for_each(|word| *word = self.word());
        number
    }

    fn modulus(&mut self, length: usize) -> Number {
        let mut number = self.number(length);
        number[0] |= 1;
        number[length - 1] |= 1 << 63;
        number
    }
}

/// Moduli of a length: random ones, and those at the ends of the range.
fn moduli(length: usize) -> Vec<Number> {
    let mut stream = Stream(length as u64);
    let mut least = zero(length);
    least[length - 1] = 1 << 63;
    least[0] = 1;
    let mut ones = zero(length);
    ones.fill(u64::MAX);
    let mut mixed = ones.clone();
    mixed[1..length - 1].fill(0);
    let mut all = vec![least, ones, mixed];
    all.extend((0..3).map(|_| stream.modulus(length)));
    all
}

/// Factors: random ones, small ones, and those around the modulus.
fn numbers(modulus: &[u64]) -> Vec<Number> {
    let length = modulus.len();
    let mut stream = Stream(7);
    let mut all: Vec<Number> = (0..3).map(|small| words(&BigUint::from(small as u64), length)).collect();
    for less in 1..3 {
        let mut number = copied(modulus);
        subtract_word(&mut number, less);
        all.push(number);
    }
    all.extend((0..4).map(|_| {
        let mut number = stream.number(length);
        reduce_once(&mut number, 0, modulus);
        number
    }));
    all
}

#[test]
fn products_on_each_arm_are_those_of_long_integers() {
    for (rsa, length) in arms().iter().flat_map(|rsa| LENGTHS.map(|length| (rsa, length))) {
        for modulus in moduli(length) {
            let m = Modulus::new(rsa.arm, &modulus);
            let big_m = big(&modulus);
            for a in numbers(&modulus) {
                let entered = m.enter(&a);
                assert_eq!(m.leave(&entered), a, "{} {length}", rsa.arm());
                let mut square = m.element();
                m.square(&entered, &mut square);
                assert_eq!(big(&m.leave(&square)), big(&a) * big(&a) % &big_m, "{} {length}", rsa.arm());
                for b in numbers(&modulus) {
                    let mut product = m.element();
                    m.product(&entered, &m.enter(&b), &mut product);
                    assert_eq!(big(&m.leave(&product)), big(&a) * big(&b) % &big_m, "{} {length}", rsa.arm());
                    let mut plain = m.element();
                    m.product(&entered, &m.formed(&b), &mut plain);
                    assert_eq!(big(&m.plain(&plain)), big(&a) * big(&b) % &big_m, "{} {length}", rsa.arm());
                }
            }
        }
    }
}

#[test]
fn two_products_at_a_time_are_those_of_long_integers_after_squares_too() {
    for (rsa, length) in arms().iter().flat_map(|rsa| [16, 24, 32].map(|length| (rsa, length))) {
        let (ones, others) = (moduli(length), moduli(length).into_iter().rev());
        for moduli in ones.into_iter().zip(others).map(<[Number; 2]>::from) {
            let m = moduli.each_ref().map(|modulus| Modulus::new(rsa.arm, modulus));
            let numbers = moduli.each_ref().map(|modulus| numbers(modulus));
            for (at, squares) in (0..numbers[0].len()).flat_map(|at| [0, 1, 3].map(|squares| (at, squares))) {
                let a = [&numbers[0][at], &numbers[1][at]];
                // The largest, and another.
                for b in [3, 8].map(|at| [&numbers[0][at], &numbers[1][at]]) {
                    let [mut first, mut second] = [0, 1].map(|which| m[which].enter(a[which]));
                    let factors = [0, 1].map(|which| m[which].enter(b[which]));
                    let mut to = m.each_ref().map(Modulus::element);
                    rsa.arm.products_of_powers(
                        m.each_ref(),
                        squares,
                        [&mut first, &mut second],
                        [&factors[0], &factors[1]],
                        to.each_mut(),
                    );
                    for which in [0, 1] {
                        let [a, b, modulus] = [a[which], b[which], &moduli[which]].map(|number| big(number));
                        let expected = a.modpow(&BigUint::from(1_u8 << squares), &modulus) * b % modulus;
                        assert_eq!(big(&m[which].leave(&to[which])), expected, "{} {length} {squares}", rsa.arm());
                    }
                }
            }
        }
    }
}

#[test]
fn elements_that_are_not_reduced_give_what_is_left_of_them() {
    for (rsa, length) in arms().iter().flat_map(|rsa| LENGTHS.map(|length| (rsa, length))) {
        for modulus in moduli(length) {
            let m = Modulus::new(rsa.arm, &modulus);
            let mut ones = zero(length);
            ones.fill(u64::MAX);
            for any in [ones.clone(), modulus.clone()] {
                assert_eq!(big(&m.leave(&m.enter(&any))), big(&any) % big(&modulus), "{} {length}", rsa.arm());
            }
            let mut wide = zero(2 * length);
            wide.fill(u64::MAX);
            for wide in [wide, Stream(1).number(2 * length), zero(2 * length)] {
                let left = m.leave(&m.enter_wide(&wide));
                assert_eq!(big(&left), big(&wide) % big(&modulus), "{} {length}", rsa.arm());
            }
        }
    }
}

#[test]
fn long_chains_of_products_stay_right() {
    for (rsa, length) in arms().iter().flat_map(|rsa| LENGTHS.map(|length| (rsa, length))) {
        for modulus in moduli(length) {
            let m = Modulus::new(rsa.arm, &modulus);
            let x = Stream(3).number(length);
            let mut element = m.enter(&x);
            let mut expected = big(&x) % big(&modulus);
            for _ in 0..40 {
                let factor = element.clone();
                m.multiply(&mut element, &factor);
                expected = &expected * &expected % big(&modulus);
            }
            assert_eq!(big(&m.leave(&element)), expected, "{} {length}", rsa.arm());
        }
    }
}

#[test]
fn powers_with_secret_and_public_exponents_are_those_of_long_integers() {
    for (rsa, length) in arms().iter().flat_map(|rsa| LENGTHS.map(|length| (rsa, length))) {
        let mut stream = Stream(9);
        let moduli = [stream.modulus(length), stream.modulus(length)];
        let [m, other] = moduli.each_ref().map(|modulus| Modulus::new(rsa.arm, modulus));
        let bases = [stream.number(length), stream.number(length)];
        let mut ones = zero(length);
        ones.fill(u64::MAX);
        // Secret exponents are those of halves.
        let of_halves = [[stream.number(length), stream.number(length)], [zero(length), ones]];
        for exponents in of_halves.into_iter().filter(|_| length <= 32) {
            let elements = [m.enter(&bases[0]), other.enter(&bases[1])];
            let results = powers([&m, &other], [&elements[0], &elements[1]], [&exponents[0], &exponents[1]]);
            for (at, m) in [&m, &other].into_iter().enumerate() {
                let expected = big(&bases[at]).modpow(&big(&exponents[at]), &big(&moduli[at]));
                assert_eq!(big(&m.leave(&results[at])), expected, "{} {length}", rsa.arm());
            }
        }
        for e in [3, 5, 7, 17, 257, 65537, u64::MAX, (1 << 63) + 1] {
            let x = m.reduced(&bases[0]);
            let expected = big(&x).modpow(&BigUint::from(e), &big(&moduli[0]));
            assert_eq!(big(&public_power(&m, &x, e)), expected, "{} {length} {e}", rsa.arm());
        }
    }
}

#[test]
fn a_look_up_finds_each_entry_on_each_arm() {
    for rsa in arms() {
        // As long as elements of halves are: words of 64 bits, on AVX-512 digits of 52 in whole vectors.
        for width in if rsa.arm() == "avx512" { [24, 32, 40] } else { [16, 24, 32] } {
            let table: Vec<u64> = (0..32 * width as u64).map(|at| at.wrapping_mul(0x9e3779b97f4a7c15)).collect();
            for number in 0..32 {
                let mut found = vec![1; width];
                rsa.arm.select(&table, number as u64, &mut found);
                assert_eq!(found, table[width * number..width * (number + 1)], "{} {width}", rsa.arm());
            }
        }
    }
}

#[test]
fn rests_quotients_inverses_and_divisors_are_those_of_long_integers() {
    let mut stream = Stream(5);
    for length in [1, 2, 16, 24] {
        for _ in 0..20 {
            let (number, modulus) = (stream.number(2 * length), stream.modulus(length));
            assert_eq!(big(&remainder(&number, &modulus)), big(&number) % big(&modulus));
            assert_eq!(big(&product(&number, &modulus)), big(&number) * big(&modulus));
            for e in [3, 65537, stream.word() | 1, u64::MAX] {
                assert_eq!(BigUint::from(remainder_word(&number, e)), big(&number) % e);
                let mut multiple = product(&number, &[e]);
                divide_exactly(&mut multiple, e);
                assert_eq!(multiple[..number.len()], number[..]);
                let (inverse, exists) = inverse_of(e, &number);
                let has_one = remainder_word(&number, e) != 0 && divisor(remainder_word(&number, e), e) == 1;
                assert_eq!(exists, if has_one { u64::MAX } else { 0 }, "{e}");
                if has_one {
                    assert_eq!(big(&inverse) * e % big(&number), BigUint::from(1_u8));
                    assert!(is_below(&inverse, &number) == 1);
                }
            }
            let (a, mut b) = (stream.number(length), stream.number(length));
            b[0] |= 1;
            let common = product(&[15 * 7], &[stream.word() >> 32 | 1]);
            let (a, b) = (product(&a, &common), product(&b, &common));
            assert_eq!(big(&common_divisor(&a, &b)), euclid(big(&a), big(&b)));
        }
    }
    for (number, odd) in [(0, 3), (1, 3), (2, 3), (6, 9), (u64::MAX - 1, u64::MAX), (1, u64::MAX), (65536, 65537)] {
        let (inverse, exists) = inverse_modulo(number, odd);
        assert_eq!(exists != 0, divisor(number, odd) == 1, "{number} {odd}");
        assert!(exists == 0 || u128::from(inverse) * u128::from(number) % u128::from(odd) == 1, "{number} {odd}");
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if a == 0 { b } else { divisor(b % a, a) }
}

fn euclid(a: BigUint, b: BigUint) -> BigUint {
    if a == BigUint::from(0_u8) { b } else { euclid(&b % &a, a) }
}

#[test]
fn the_sieve_finds_numbers_with_small_factors_and_no_others() {
    let sieve = Sieve::new();
    let mut stream = Stream(2);
    let mut primes: Vec<u64> = Vec::new();
    for number in (3..8192).step_by(2) {
        if primes.iter().all(|prime| number % prime != 0) {
            primes.push(number);
        }
    }
    assert_eq!(primes.len(), 1027);
    let mut divided = 0;
    for _ in 0..300 {
        let number = stream.modulus(16);
        let has_factor = primes.iter().any(|prime| remainder_word(&number, *prime) == 0);
        assert_eq!(sieve.divides(&number), has_factor);
        divided += u64::from(has_factor);
    }
    assert!((200..300).contains(&divided));
    for prime in primes {
        assert!(sieve.divides(&product(&stream.modulus(15), &[prime])), "{prime}");
    }
}

fn check_padding<S: Scheme>() {
    let digest = vec![7; padding::length::<S::Hash>()];
    let mut encoded = vec![0; 256];
    let cpu = Cpu::default();
    S::encode(cpu, &digest, &mut |salt| Ok(random::fill(salt)?), &mut encoded).unwrap();
    assert!(S::is_of(cpu, &digest, &mut encoded.clone()));
    for at in 0..encoded.len() {
        for bit in [1, 0x80] {
            let mut bad = encoded.clone();
            bad[at] ^= bit;
            assert!(!S::is_of(cpu, &digest, &mut bad), "byte {at}");
        }
    }
}

#[test]
fn paddings_with_one_wrong_byte_are_refused() {
    use crate::hash::{Sha256, Sha384, Sha512};
    check_padding::<Pss<Sha256>>();
    check_padding::<Pss<Sha384>>();
    check_padding::<Pss<Sha512>>();
    check_padding::<Pkcs1v15<Sha256>>();
    check_padding::<Pkcs1v15<Sha384>>();
    check_padding::<Pkcs1v15<Sha512>>();
}

#[test]
fn primes_that_are_close_to_each_other_are_told_apart_from_those_that_are_far() {
    let mut stream = Stream(4);
    let p = stream.modulus(16);
    let mut low = p.clone();
    low[..15].copy_from_slice(&stream.number(15));
    let mut far = p.clone();
    far[15] ^= 2;
    for (p, q) in [(&p, &far), (&far, &p)] {
        assert_eq!(is_far(p, q), u64::MAX);
    }
    // 5·2^960 and one less.
    let mut round = zero(16);
    round[15] = 5;
    let mut less = round.clone();
    subtract_word(&mut less, 1);
    for (p, q) in [(&p, &p), (&p, &low), (&low, &p), (&round, &less), (&less, &round)] {
        assert_eq!(is_far(p, q), 0);
    }
}
