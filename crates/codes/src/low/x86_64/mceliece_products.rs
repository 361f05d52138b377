//! Two and four products of elements at a time, by the carry-less multiplication of 128-bit registers.

use crate::kernels::mceliece::field;
use crate::kernels::mceliece::products::{self, Four, Lazy, Pairs, Two};
use candor_cpu::{HaveAvx2, HaveClmul};
use core::arch::x86_64::*;

/// The instructions that the token proves.
#[derive(Clone, Copy)]
struct Clmul(HaveClmul);

impl Pairs for Clmul {
    #[inline(always)]
    fn two(self, a: u16, two: u64) -> u64 {
        // SAFETY: the token proves carry-less multiplication.
        unsafe {
            let two = _mm_cvtsi64_si128(two.cast_signed());
            let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(i64::from(a)), two);
            _mm_cvtsi128_si64(product).cast_unsigned()
        }
    }

    #[inline(always)]
    fn reduce_two<const M: usize>(self, products: u64) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_cvtsi128_si64(reduce::<M>(_mm_cvtsi64_si128(products.cast_signed()))).cast_unsigned() }
    }

    #[inline(always)]
    fn reduce_four<const M: usize>(self, products: [u64; 2]) -> [u64; 2] {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let reduced = reduce::<M>(_mm_set_epi64x(products[1].cast_signed(), products[0].cast_signed()));
            let high = _mm_unpackhi_epi64(reduced, reduced);
            [_mm_cvtsi128_si64(reduced).cast_unsigned(), _mm_cvtsi128_si64(high).cast_unsigned()]
        }
    }
}

/// The products in four lanes modulo the field's polynomial: what its taps throw back above is fed back first, in one round.
#[inline(always)]
fn reduce<const M: usize>(products: __m128i) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let mask = _mm_set1_epi32(i32::from(field::mask::<M>()));
        if M == 12 {
            let high = _mm_srli_epi32::<12>(products);
            let high = _mm_xor_si128(high, _mm_srli_epi32::<9>(high));
            let sum = _mm_xor_si128(_mm_xor_si128(products, high), _mm_slli_epi32::<3>(high));
            _mm_and_si128(sum, mask)
        } else {
            let first = _mm_srli_epi32::<13>(products);
            let high = _mm_xor_si128(first, _mm_srli_epi32::<12>(first));
            let high = _mm_xor_si128(high, _mm_xor_si128(_mm_srli_epi32::<10>(first), _mm_srli_epi32::<9>(first)));
            let sum = _mm_xor_si128(_mm_xor_si128(products, high), _mm_slli_epi32::<1>(high));
            let sum = _mm_xor_si128(sum, _mm_xor_si128(_mm_slli_epi32::<3>(high), _mm_slli_epi32::<4>(high)));
            _mm_and_si128(sum, mask)
        }
    }
}

/// Makes the entry points: a safe function that takes the token, and within it the kernel with the token's features.
macro_rules! entry {
    ($($name:ident, $token:ident, $features:literal: ($($argument:ident: $type:ty),*), $proof:ident => $kernel:expr;)+) => {
        $(
            /// See the kernel.
            #[inline]
            pub(crate) fn $name<const M: usize>($proof: $token, $($argument: $type),*) {
                #[target_feature(enable = $features)]
                #[allow(unused_variables, reason = "some kernels need no intrinsics")]
                fn with_features<const M: usize>($proof: $token, $($argument: $type),*) {
                    $kernel
                }
                // SAFETY: the token proves the features.
                unsafe { with_features::<M>($proof, $($argument),*) }
            }
        )+
    };
}

entry! {
    schoolbook_two, HaveClmul, "ssse3,sse4.1,pclmulqdq": (a: &[u16], b: &[u16], product: &mut [u16]),
        proof => products::schoolbook::<_, M>(Two(Clmul(proof)), a, b, product);
    schoolbook_four, HaveClmul, "ssse3,sse4.1,pclmulqdq": (a: &[u16], b: &[u16], product: &mut [u16]),
        proof => products::schoolbook::<_, M>(Four(Clmul(proof)), a, b, product);
    schoolbook_lazy, HaveClmul, "ssse3,sse4.1,pclmulqdq": (a: &[u16], b: &[u16], product: &mut [u16]),
        proof => products::schoolbook::<_, M>(Lazy(Clmul(proof)), a, b, product);
    unpack, HaveAvx2, "avx2,bmi1,bmi2": (words: &[u64], coefficients: &mut [u16]), proof => products::unpack::<M>(words, coefficients);
}
