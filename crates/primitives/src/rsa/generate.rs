//! Key generation by FIPS 186-5 §A.1.3, with e = 65537.

use super::exponents::{inverse_of, less_one};
use super::primes::{EXPONENT, Sieve, Which, prime};
use super::signatures::Fill;
use super::{FRAMES, Rsa, RsaError, SecretKey, Size, padding};
use crate::words::{
    Number, common_divisor, copied, divide_exactly, is_below, is_zero_word, product, shift_down, shift_up, subtract,
    to_bytes,
};
use crate::{random, stack};
use candor_cpu::{barrier, secret};
use rand_core::CryptoRng;

impl Rsa {
    /// A fresh key pair, from the operating system's randomness.
    ///
    /// # Errors
    /// [`RsaError::Randomness`], and [`RsaError::Generator`] if no prime is found where there must be one.
    // ct: rsa/keygen
    pub fn generate(&self, size: Size) -> Result<SecretKey, RsaError> {
        self.generate_by(size, &mut |bytes| Ok(random::fill(bytes)?))
    }

    /// A fresh key pair, from `rng`.
    ///
    /// # Errors
    /// [`RsaError::Generator`].
    // ct: rsa/keygen
    pub fn generate_with(&self, size: Size, rng: &mut (impl CryptoRng + ?Sized)) -> Result<SecretKey, RsaError> {
        self.generate_by(size, &mut |bytes| {
            rng.fill_bytes(bytes);
            secret::takes("rsa/keygen", bytes);
            Ok(())
        })
    }

    fn generate_by(&self, size: Size, fill: Fill<'_>) -> Result<SecretKey, RsaError> {
        secret::ran("RSA", self.arm());
        let half = size.words() / 2;
        stack::clearing::<FRAMES, _>(|| {
            let sieve = Sieve::new();
            // More than one pass is needed with a probability of 2^-41.
            for _ in 0..4 {
                let Some(p) = prime(self.arm, half, Which::First, &sieve, fill, |_| u64::MAX)? else { continue };
                let far = |q: &[u64]| is_far(&p, q);
                let Some(q) = prime(self.arm, half, Which::Second, &sieve, fill, far)? else { continue };
                if let Some(key) = self.of_primes(size, p, q)? {
                    return Ok(key);
                }
            }
            Err(RsaError::Generator)
        })
    }

    /// The key of two primes, unless (p − 1)/2 and (q − 1)/2 have a common divisor of more than 64 bits, or d is too small.
    fn of_primes(&self, size: Size, mut p: Number, mut q: Number) -> Result<Option<SecretKey>, RsaError> {
        // The larger is p, as others have it.
        let is_smaller = barrier::mask_u64(is_below(&p, &q));
        exchange_where(&mut p, &mut q, is_smaller);
        let n = product(&p, &q);
        let mut bytes = padding::zeros(size.bytes());
        to_bytes(&n, &mut bytes);
        secret::declassify(&bytes, "rsa-public-key");
        let public = self.public_from_parts(&bytes, &EXPONENT.to_be_bytes())?;
        // λ(n), the least common multiple of p − 1 and q − 1: both are twice an odd number.
        let [of_p, of_q] = [&p, &q].map(|prime| {
            let mut odd = less_one(prime);
            shift_down(&mut odd, 0);
            odd
        });
        let divisor = common_divisor(&of_p, &of_q);
        let has_one_word = is_zero_word(divisor[1..].iter().fold(0, |any, word| any | word));
        let mut lambda = product(&of_p, &of_q);
        divide_exactly(&mut lambda, divisor[0]);
        shift_up(&mut lambda, 0);
        let (exponent, exists) = inverse_of(EXPONENT, &lambda);
        // d > 2^(nlen/2)
        let is_large = !is_zero_word(exponent[exponent.len() / 2..].iter().fold(0, |any, word| any | word));
        if secret::declassified((has_one_word & exists & is_large) as u8 & 1, "rsa-candidate") == 0 {
            return Ok(None);
        }
        SecretKey::assembled(public, [p, q], exponent, None).map(Some)
    }
}

/// All ones if two primes differ in their first 64 bits: FIPS asks for |p − q| > 2^(bits − 100).
pub(super) fn is_far(p: &[u64], q: &[u64]) -> u64 {
    let mut difference = copied(p);
    let borrow = barrier::mask_u64(u64::from(subtract(&mut difference, q)));
    let highest = difference[difference.len() - 1] ^ borrow;
    !is_zero_word(highest)
}

/// Exchanges two numbers where the mask is all ones.
fn exchange_where(a: &mut [u64], b: &mut [u64], mask: u64) {
    for (a, b) in a.iter_mut().zip(b) {
        let difference = (*a ^ *b) & mask;
        *a ^= difference;
        *b ^= difference;
    }
}
