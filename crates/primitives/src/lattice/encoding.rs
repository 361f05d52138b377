//! Polynomials as bytes (FIPS 203 §4.2.1): twelve bits a coefficient, or fewer after compression.

use super::arithmetic::Number;
use super::{Poly, Q, REDUCE};

/// The representative between 0 and q − 1.
#[inline(always)]
fn canonical(value: i16) -> u16 {
    let small = value.times(REDUCE);
    (small + (Q & (small >> 15))) as u16
}

/// ByteEncode₁₂ (algorithm 5): 384 bytes.
pub(crate) fn encode(poly: &Poly, bytes: &mut [u8; 384]) {
    pack::<12>(poly, bytes, canonical);
}

/// ByteDecode₁₂ (algorithm 6) without the reduction: coefficients below 2¹².
pub(crate) fn decode(bytes: &[u8; 384], poly: &mut Poly) {
    unpack::<12>(bytes, poly, |value| value);
}

/// Compress and ByteEncode to `D` bits a coefficient, at most 11: 32·`D` bytes.
pub(crate) fn compress<const D: usize>(poly: &Poly, bytes: &mut [u8]) {
    // round(2^D/q · x): the division by q is a multiplication with its inverse, rounded up; it is exact below 2²³.
    pack::<D>(poly, bytes, |value| {
        let raised = (u64::from(canonical(value)) << D) + Q as u64 / 2;
        let quotient = (raised * const { (1 << 36) / Q as u64 + 1 }) >> 36;
        quotient as u16 & ((1 << D) - 1)
    });
}

/// ByteDecode and Decompress from `D` bits a coefficient, at most 11: 32·`D` bytes. Coefficients are between 0 and q.
pub(crate) fn decompress<const D: usize>(bytes: &[u8], poly: &mut Poly) {
    unpack::<D>(bytes, poly, |value| ((u32::from(value) * Q as u32 + (1 << D >> 1)) >> D) as u16);
}

#[inline(always)]
fn pack<const D: usize>(poly: &Poly, bytes: &mut [u8], value: impl Fn(i16) -> u16) {
    for (eight, bytes) in poly.0.as_chunks::<8>().0.iter().zip(bytes.as_chunks_mut::<D>().0) {
        let mut bits = 0;
        for (i, coefficient) in eight.iter().enumerate() {
            bits |= u128::from(value(*coefficient)) << (D * i);
        }
        bytes.copy_from_slice(&bits.to_le_bytes()[..D]);
    }
}

#[inline(always)]
fn unpack<const D: usize>(bytes: &[u8], poly: &mut Poly, coefficient: impl Fn(u16) -> u16) {
    for (eight, bytes) in poly.0.as_chunks_mut::<8>().0.iter_mut().zip(bytes.as_chunks::<D>().0) {
        let mut padded = [0; 16];
        padded[..D].copy_from_slice(bytes);
        let bits = u128::from_le_bytes(padded);
        for (i, value) in eight.iter_mut().enumerate() {
            *value = coefficient((bits >> (D * i)) as u16 & ((1 << D) - 1)) as i16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every representative between −q and q, compressed, against the definition in FIPS 203 §4.2.1 with fractions rounded up at one half.
    fn compression_is_that_of_the_standard<const D: usize>() {
        for first in (-3328..=3328).step_by(256) {
            let poly = Poly(core::array::from_fn(|i| (first + i as i16).min(3328)));
            let mut bytes = std::vec![0; 32 * D];
            compress::<D>(&poly, &mut bytes);
            let mut found = Poly::ZERO;
            unpack::<D>(&bytes, &mut found, |value| value);
            for (value, found) in poly.0.iter().zip(found.0) {
                let exact = (i64::from(value.rem_euclid(Q)) << (D + 1)) + i64::from(Q);
                assert_eq!(i64::from(found), exact / (2 * i64::from(Q)) % (1 << D), "{value}, {D} bits");
            }
        }
    }

    #[test]
    fn every_coefficient_is_compressed_as_the_standard_says() {
        compression_is_that_of_the_standard::<1>();
        compression_is_that_of_the_standard::<4>();
        compression_is_that_of_the_standard::<5>();
        compression_is_that_of_the_standard::<10>();
        compression_is_that_of_the_standard::<11>();
    }

    #[test]
    fn decompressed_coefficients_compress_to_what_they_were() {
        fn check<const D: usize>() {
            for first in (0..1 << D).step_by(256) {
                let values = Poly(core::array::from_fn(|i| ((first + i) % (1 << D)) as i16));
                let (mut bytes, mut again) = (std::vec![0; 32 * D], std::vec![0; 32 * D]);
                pack::<D>(&values, &mut bytes, |value| value as u16);
                let mut poly = Poly::ZERO;
                decompress::<D>(&bytes, &mut poly);
                compress::<D>(&poly, &mut again);
                assert_eq!(bytes, again);
            }
        }
        check::<1>();
        check::<4>();
        check::<5>();
        check::<10>();
        check::<11>();
    }

    #[test]
    fn twelve_bits_hold_every_representative() {
        for first in (-3328..=3328).step_by(256) {
            let poly = Poly(core::array::from_fn(|i| (first + i as i16).min(3328)));
            let (mut bytes, mut again) = ([0; 384], Poly::ZERO);
            encode(&poly, &mut bytes);
            decode(&bytes, &mut again);
            assert!(poly.0.iter().zip(again.0).all(|(value, again)| value.rem_euclid(Q) == again));
        }
    }
}
