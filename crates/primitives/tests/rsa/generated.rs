//! What keys that are made here are like.

use super::{Numbers, arms, rng};
use candor_primitives::rsa::Size;
use num_bigint::BigUint;

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
