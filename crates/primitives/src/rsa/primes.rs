//! Probable primes by FIPS 186-5 §A.1.3: candidates drawn independently, a sieve, and Miller and Rabin's test with random bases.
//!
//! Whatever shows of a candidate that is refused, in time or otherwise, is forgotten with it: the next one has nothing to do with it. Of the one that is
//! taken it shows how many bases were drawn in vain (`docs/rsa.md`).

use super::RsaError;
use super::arm_mux::Arm;
use super::modulus::Modulus;
use super::power::powers;
use super::signatures::Fill;
use crate::word::inverse_of_word;
use crate::words::{Number, copied, from_bytes, is_below, is_same, is_word, is_zero_word, shift_down, subtract_word};
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::{barrier, secret};
use zeroize::Zeroizing;

/// The public exponent of keys that are made here.
pub(super) const EXPONENT: u64 = 65537;

/// Small primes are below this.
const LIMIT: usize = 8192;

/// The highest word of a candidate is above this: √2·2^63 without its fraction.
const LEAST: u64 = 0xb504f333f9de6484;

/// Candidates that are drawn at once.
const DRAWN: usize = 16;

/// Small odd primes, in groups whose products are words.
pub(super) struct Sieve(Vec<Group>);

struct Group {
    product: u64,
    /// −1/product modulo 2^64.
    inverse: u64,
    primes: Vec<Small>,
}

/// A number is a multiple of a prime if and only if its product with the prime's inverse, modulo 2^64, is at most 2^64 over the prime.
struct Small {
    inverse: u64,
    most: u64,
}

impl Sieve {
    pub(super) fn new() -> Self {
        let mut is_composite = vec![false; LIMIT];
        let mut groups: Vec<Group> = Vec::new();
        for number in (3..LIMIT).step_by(2) {
            if is_composite[number] {
                continue;
            }
            (number * number..LIMIT).step_by(number).for_each(|multiple| is_composite[multiple] = true);
            let prime = number as u64;
            let small = Small { inverse: inverse_of_word(prime), most: u64::MAX / prime };
            match groups.last_mut().and_then(|group| Some((group.product.checked_mul(prime)?, group))) {
                Some((product, group)) => {
                    group.product = product;
                    group.primes.push(small);
                }
                None => groups.push(Group { product: prime, inverse: 0, primes: vec![small] }),
            }
        }
        for group in &mut groups {
            group.inverse = inverse_of_word(group.product).wrapping_neg();
        }
        Self(groups)
    }

    /// Whether one of the primes divides it.
    pub(super) fn divides(&self, number: &[u64]) -> bool {
        self.0.iter().any(|group| {
            let rest = over_radix(number, group.product, group.inverse);
            let mut divides = 0;
            for prime in &group.primes {
                divides |= 1 ^ u64::from(rest.wrapping_mul(prime.inverse) > prime.most);
            }
            is_told(divides)
        })
    }
}

/// What is published of candidates.
fn is_told(bit: u64) -> bool {
    secret::declassified(barrier::opaque_u64(bit) as u8, "rsa-candidate") == 1
}

/// The number over 2^(64n), modulo an odd word: 0 modulo a prime of it if and only if the number is.
fn over_radix(number: &[u64], modulus: u64, inverse: u64) -> u64 {
    number.iter().fold(0, |rest, word| {
        let sum = u128::from(rest) + u128::from(*word);
        let factor = (sum as u64).wrapping_mul(inverse);
        // At most (2^64 − 1)² + 2·(2^64 − 1), which is 2^128 − 1.
        ((sum + u128::from(factor) * u128::from(modulus)) >> 64) as u64
    })
}

/// Rounds of Miller and Rabin's test for a prime of so many words (FIPS 186-5, table B.1): errors with probabilities of 2^-112, 2^-128 and 2^-144.
const fn rounds(words: usize) -> usize {
    if words == 16 { 5 } else { 4 }
}

/// Which of a key's primes is made: how many candidates one may take (FIPS 186-5 §A.1.3, steps 4.7 and 5.8).
#[derive(Clone, Copy)]
pub(super) enum Which {
    /// p: 5·nlen.
    First,
    /// q: 10·nlen.
    Second,
}

impl Which {
    /// As many as the standard allows for primes of so many words. One candidate in 355 is a prime of 1,024 bits, one in 710 of 2,048: that there is none has a
    /// probability of 2^-41 for p and 2^-83 for q.
    const fn most(self, words: usize) -> usize {
        let nlen = 2 * 64 * words;
        match self {
            Self::First => 5 * nlen,
            Self::Second => 10 * nlen,
        }
    }
}

/// A prime of so many words, 3 modulo 4, at least √2·2^(bits − 1), of which 65537 does not divide p − 1. `accepts` says with all ones whether it will do.
/// `None` if none was among as many candidates as the standard allows.
///
/// # Errors
/// Those of `fill`, and [`RsaError::Generator`].
pub(super) fn prime(
    arm: Arm,
    words: usize,
    which: Which,
    sieve: &Sieve,
    fill: Fill<'_>,
    accepts: impl Fn(&[u64]) -> u64,
) -> Result<Option<Number>, RsaError> {
    let mut bytes = Zeroizing::new(vec![0; DRAWN * 8 * words]);
    let mut survivors: Vec<Modulus> = Vec::with_capacity(2);
    let most = which.most(words);
    let mut candidates = 0;
    // Three in five numbers are large enough to be candidates, so that twice as many numbers do, unless the generator is broken.
    for _ in 0..2 * most / DRAWN {
        fill(&mut bytes)?;
        for bytes in bytes.chunks_exact(8 * words) {
            let mut candidate = from_bytes(bytes, words).expect("as many bytes as the number has");
            candidate[words - 1] |= 1 << 63;
            candidate[0] |= 3;
            if !is_told(u64::from(candidate[words - 1] > LEAST)) {
                continue;
            }
            if candidates == most {
                return Ok(None);
            }
            candidates += 1;
            if !is_candidate(&candidate, sieve, &accepts) {
                continue;
            }
            survivors.push(Modulus::new(arm, &candidate));
            let [one, other] = &survivors[..] else { continue };
            let passed = pass([one, other], fill)?;
            for (survivor, passed) in survivors.iter().zip(passed) {
                if passed && passes_rest(survivor, fill)? {
                    return Ok(Some(copied(&survivor.words)));
                }
            }
            survivors.clear();
        }
    }
    Err(RsaError::Generator)
}

fn is_candidate(candidate: &[u64], sieve: &Sieve, accepts: impl Fn(&[u64]) -> u64) -> bool {
    if sieve.divides(candidate) {
        return false;
    }
    let mut less_one = copied(candidate);
    less_one[0] ^= 1;
    let rest = over_radix(&less_one, EXPONENT, inverse_of_word(EXPONENT).wrapping_neg());
    // 65537 is a prime, and what is left of a number over 2^64 is at most that.
    let divides = is_zero_word(rest) | is_zero_word(rest ^ EXPONENT);
    is_told(!divides & accepts(candidate) & 1)
}

/// The rounds behind the first one.
fn passes_rest(candidate: &Modulus, fill: Fill<'_>) -> Result<bool, RsaError> {
    for _ in 0..(rounds(candidate.len()) - 1).div_ceil(2) {
        if pass([candidate, candidate], fill)? != [true; 2] {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two candidates, both 3 modulo 4, each pass a round of the test (FIPS 186-5 §B.3.1): (w − 1)/2 is odd, so b^((w − 1)/2) is 1 or −1 for a prime,
/// and nothing else is to be looked at.
fn pass(candidates: [&Modulus; 2], fill: Fill<'_>) -> Result<[bool; 2], RsaError> {
    let [first, second] = candidates;
    let bases = [base(first, fill)?, base(second, fill)?];
    let halves = candidates.map(|candidate| {
        let mut half = copied(&candidate.words);
        shift_down(&mut half, 0);
        half
    });
    let results = powers(candidates, [&bases[0], &bases[1]], [&halves[0], &halves[1]]);
    let mut passed = [false; 2];
    for ((candidate, result), passed) in candidates.iter().zip(results).zip(&mut passed) {
        let result = candidate.leave(&result);
        let mut minus_one = copied(&candidate.words);
        minus_one[0] ^= 1;
        *passed = is_told((is_word(&result, 1) | is_same(&result, &minus_one)) & 1);
    }
    Ok(passed)
}

/// A number from 2 to w − 2, as an element.
fn base(candidate: &Modulus, fill: Fill<'_>) -> Result<Number, RsaError> {
    let mut most = copied(&candidate.words);
    subtract_word(&mut most, 1);
    let mut bytes = Zeroizing::new(vec![0; 8 * candidate.len()]);
    // At least √½ of all numbers are below w − 1.
    for _ in 0..128 {
        fill(&mut bytes)?;
        let number = from_bytes(&bytes, candidate.len()).expect("as many bytes as the number has");
        let is_good = is_below(&number, &most) & !(is_word(&number, 0) | is_word(&number, 1));
        if is_told(is_good & 1) {
            return Ok(candidate.enter(&number));
        }
    }
    Err(RsaError::Generator)
}
