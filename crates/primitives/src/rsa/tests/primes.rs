//! How many candidates a prime may take.

use super::arms;
use crate::rsa::RsaError;
use crate::rsa::primes::{Sieve, Which, prime};

/// What comes of numbers of 1,024 bits made of one byte, and how many of them were drawn.
fn prime_of(byte: u8, which: Which) -> (Result<bool, RsaError>, usize) {
    let mut drawn = 0;
    let mut fill = |bytes: &mut [u8]| {
        bytes.fill(byte);
        drawn += bytes.len() / 128;
        Ok(())
    };
    let found = prime(arms()[0].arm, 16, which, &Sieve::new(), &mut fill, |_| u64::MAX);
    (found.map(|prime| prime.is_some()), drawn)
}

#[test]
fn a_prime_takes_as_many_candidates_as_the_standard_allows_and_no_more() {
    // 2^1024 − 1 is large enough and a multiple of 3. Numbers are drawn sixteen at once; the one behind the last candidate ends it.
    assert_eq!(prime_of(0xff, Which::First), (Ok(false), 5 * 2048 + 16));
    assert_eq!(prime_of(0xff, Which::Second), (Ok(false), 10 * 2048 + 16));
}

#[test]
fn a_generator_whose_numbers_are_all_too_small_is_broken() {
    assert_eq!(prime_of(0, Which::First), (Err(RsaError::Generator), 2 * 5 * 2048));
}
