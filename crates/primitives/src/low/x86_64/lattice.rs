//! ML-KEM's ring on 256-bit vectors, sixteen coefficients each, and its rejection sampling on AVX-512.
//!
//! A polynomial lies in memory as the standard has it, and in sixteen vectors. Four layers of the transform pair whole vectors; for the other
//! three, two vectors exchange their halves, quarters and eighths. All give the same representatives as `crate::lattice`.

mod bytes;
mod sampling;
mod transform;
mod twiddles;

pub(crate) use bytes::{
    compress_1, compress_4, compress_5, compress_10, compress_11, decode, decompress_1, decompress_4, decompress_5,
    decompress_10, decompress_11, encode,
};
pub(crate) use sampling::{binomial_2, binomial_3, uniform, uniform_avx512};
pub(crate) use transform::{add, factor, inner_product, inverse, subtract_from, transform};

use crate::lattice::{Poly, Q, Twiddle};
use core::arch::x86_64::*;

/// Makes the entry points: a safe function that takes the token, and within it the kernel with the token's features.
macro_rules! entry {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)+) => {
        entry! { candor_cpu::HaveAvx2, "avx2,bmi1,bmi2"; $($(#[$doc])* $name($($argument: $type),*) $(-> $result)? $body)+ }
    };
    ($token:ty, $features:literal; $($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub(crate) fn $name(_: $token, $($argument: $type),*) $(-> $result)? {
                #[target_feature(enable = $features)]
                fn with_features($($argument: $type),*) $(-> $result)? $body
                // SAFETY: the token proves the features.
                unsafe { with_features($($argument),*) }
            }
        )+
    };
}

use entry;

/// Vector `i` of a polynomial.
#[target_feature(enable = "avx2")]
#[inline]
fn load(poly: &Poly, i: usize) -> __m256i {
    // SAFETY: the sixteen coefficients lie within the polynomial; the load needs no alignment.
    unsafe { _mm256_loadu_si256(poly.0.as_chunks::<16>().0[i].as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(poly: &mut Poly, i: usize, vector: __m256i) {
    // SAFETY: as for `load`.
    unsafe { _mm256_storeu_si256(poly.0.as_chunks_mut::<16>().0[i].as_mut_ptr().cast(), vector) }
}

/// A constant of [`Twiddle`] for each lane.
#[derive(Clone, Copy)]
struct Constants {
    factors: __m256i,
    ratios: __m256i,
}

#[target_feature(enable = "avx2")]
#[inline]
fn splat(twiddle: Twiddle) -> Constants {
    Constants { factors: _mm256_set1_epi16(twiddle.factor), ratios: _mm256_set1_epi16(twiddle.ratio) }
}

/// See [`Number::times`](crate::lattice::arithmetic::Number::times).
#[target_feature(enable = "avx2")]
#[inline]
fn times(a: __m256i, constants: Constants) -> __m256i {
    let quotients = _mm256_mulhrs_epi16(a, constants.ratios);
    let multiples = _mm256_mullo_epi16(quotients, _mm256_set1_epi16(Q));
    _mm256_sub_epi16(_mm256_mullo_epi16(a, constants.factors), multiples)
}

/// The same for the constant 1.
#[target_feature(enable = "avx2")]
#[inline]
fn reduced(a: __m256i) -> __m256i {
    let quotients = _mm256_mulhrs_epi16(a, _mm256_set1_epi16(crate::lattice::REDUCE.ratio));
    _mm256_sub_epi16(a, _mm256_mullo_epi16(quotients, _mm256_set1_epi16(Q)))
}
