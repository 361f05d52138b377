//! What keys that are made here are like.

use super::{Numbers, arms, rng};
use candor_primitives::rsa::{Rsa, Size};
use num_bigint::BigUint;
use rand_core::Rng;
use std::convert::Infallible;

fn big(bytes: &[u8]) -> BigUint {
    BigUint::from_bytes_be(bytes)
}

#[test]
fn keys_have_what_fips_186_5_asks_for() {
    let one = BigUint::from(1_u8);
    for rsa in arms() {
        let key = rsa.generate_with(Size::Bits2048, &mut rng()).unwrap();
        let numbers = Numbers::of_key(&key);
        let [p, q] = numbers.primes.each_ref().map(|prime| big(prime));
        let (n, d, e) = (big(&numbers.modulus), big(&numbers.private_exponent), BigUint::from(65537_u32));
        assert_eq!(&p * &q, n);
        assert_eq!(n.bits(), 2048);
        assert!(p > q, "the larger is p");
        for prime in [&p, &q] {
            // p² ≥ 2^2047
            assert!(prime * prime >= &one << 2047);
            assert_eq!(BigUint::from(2_u8).modpow(&(prime - &one), prime), one);
            assert_ne!((prime - &one) % &e, BigUint::from(0_u8));
        }
        assert!(&p - &q > &one << (1024 - 100));
        assert!(d > &one << 1024);
        let lambda = (&p - &one) * (&q - &one) / common_divisor(&p - &one, &q - &one);
        assert!(d < lambda);
        assert_eq!(&d * &e % lambda, one);
        assert_eq!(big(&numbers.exponents[0]), &d % (&p - &one));
        assert_eq!(big(&numbers.exponents[1]), &d % (&q - &one));
        assert_eq!(big(&numbers.coefficient) * &q % &p, one);
    }
}

fn common_divisor(a: BigUint, b: BigUint) -> BigUint {
    if a == BigUint::from(0_u8) { b } else { common_divisor(&b % &a, a) }
}

/// A generator that serves candidates for primes in turn, and bases of the test that are below all of them, and counts the bases.
struct Served<'a> {
    /// What it serves, each in one call; after them the system's randomness.
    candidates: Vec<&'a [u8]>,
    served: usize,
    bases: u64,
}

impl<'a> Served<'a> {
    fn new(candidates: &[&'a [u8]]) -> Self {
        Self { candidates: candidates.to_vec(), served: 0, bases: 0 }
    }
}

impl rand_core::TryRng for Served<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    /// Several candidates are drawn in one call, and one base.
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let candidate = self.candidates.get(self.served);
        match candidate {
            Some(candidate) if bytes.len() > candidate.len() => {
                bytes.chunks_exact_mut(candidate.len()).for_each(|to| to.copy_from_slice(candidate));
                self.served += 1;
            }
            _ if bytes.len() > 256 => rng().fill_bytes(bytes),
            _ => {
                self.bases += 1;
                bytes.fill(0);
                bytes[1] = 1;
                *bytes.last_mut().unwrap() = self.bases as u8;
            }
        }
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Served<'_> {}

/// Primes that serve as candidates, those of a key that was made here.
fn primes(size: Size) -> [Vec<u8>; 2] {
    Numbers::of_key(&Rsa::new().generate(size).unwrap()).primes
}

/// Two candidates are tested together: here a number and itself. The rest of the rounds is for one of them, two at a time.
#[test]
fn a_prime_passes_all_rounds_that_the_standard_asks_for() {
    for (size, rounds) in [(Size::Bits2048, 5), (Size::Bits3072, 4)] {
        let primes = primes(size);
        let mut served = Served::new(&[&primes[0], &primes[1]]);
        let key = Rsa::new().generate_with(size, &mut served).unwrap();
        assert_eq!(Numbers::of_key(&key).primes, primes);
        let for_each = served.bases / 2;
        assert!(
            (rounds + 1..=rounds + 2).contains(&for_each),
            "{for_each} bases for a prime, one of them for its twin"
        );
    }
}

#[test]
fn a_prime_that_is_drawn_twice_does_not_serve_twice() {
    let [p, _] = primes(Size::Bits2048);
    let mut served = Served::new(&[&p, &p]);
    let key = Rsa::new().generate_with(Size::Bits2048, &mut served).unwrap();
    assert!(served.served == 2, "both were drawn");
    let found = Numbers::of_key(&key).primes;
    assert!(found.contains(&p) && found[0] != found[1]);
}
