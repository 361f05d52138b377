//! Vectors of 64-bit lanes with products of 52 bits, so that arithmetic is written once for registers of 256 and 512 bits.
//!
//! As in [`super::super::vector`], whoever holds a vector may use its instructions: it is made only from the token.

use candor_cpu::HaveAvx512Ifma;
use core::arch::x86_64::*;

/// Lanes of 64 bits.
pub(super) trait Lanes: Copy {
    fn splat(proof: HaveAvx512Ifma, word: u64) -> Self;
    /// The first words of a slice that has as many as there are lanes.
    fn load(proof: HaveAvx512Ifma, words: &[u64]) -> Self;
    fn store(self, words: &mut [u64]);
    fn plus(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn shr<const N: u32>(self) -> Self;
    fn shl<const N: u32>(self) -> Self;
    /// self and the lower 52 bits of a·b; of a and b the lower 52 bits count.
    fn low(self, a: Self, b: Self) -> Self;
    /// self and the upper 52 bits of a·b.
    fn high(self, a: Self, b: Self) -> Self;
    /// Within each four lanes those that `P` names, two bits each.
    fn permuted<const P: i32>(self) -> Self;
    /// The lanes that the lower bits of `index` name.
    fn looked_up(self, index: Self) -> Self;
    /// `other` where a lane's bit in `from_other` is set.
    fn blended<const FROM_OTHER: u8>(self, other: Self) -> Self;
    /// `other` in the lanes where the highest bit of `by` is set.
    fn chosen(self, other: Self, by: Self) -> Self;
    /// `other` in the lanes where `a` and `b` are the same.
    fn where_same(self, other: Self, a: Self, b: Self) -> Self;
}

/// Four lanes.
#[derive(Clone, Copy)]
pub(super) struct Four(__m256i);

/// Eight.
#[derive(Clone, Copy)]
pub(super) struct Eight(__m512i);

macro_rules! lanes {
    ($vector:ident, $lanes:literal, $splat:ident, $load:ident, $store:ident, $sign:ident, $same:ident, $mov:ident;
     $($method:ident$(<$constant:ident: $integer:ty>)?($a:ident$(, $more:ident)*) => $result:expr;)+) => {
        impl Lanes for $vector {
            #[inline(always)]
            fn splat(_: HaveAvx512Ifma, word: u64) -> Self {
                // SAFETY: the token proves the instructions; so does a vector, which is made from a token; likewise below.
                Self(unsafe { $splat(word.cast_signed()) })
            }

            #[inline(always)]
            fn load(_: HaveAvx512Ifma, words: &[u64]) -> Self {
                // SAFETY: the slice has as many words as are read.
                Self(unsafe { $load(words[..$lanes].as_ptr().cast()) })
            }

            #[inline(always)]
            fn store(self, words: &mut [u64]) {
                // SAFETY: the slice has as many words as are written.
                unsafe { $store(words[..$lanes].as_mut_ptr().cast(), self.0) }
            }

            #[inline(always)]
            fn chosen(self, other: Self, by: Self) -> Self {
                // SAFETY: as for `splat`.
                Self(unsafe { $mov(self.0, $sign(by.0), other.0) })
            }

            #[inline(always)]
            fn where_same(self, other: Self, a: Self, b: Self) -> Self {
                // SAFETY: as for `splat`.
                Self(unsafe { $mov(self.0, $same(a.0, b.0), other.0) })
            }

            $(
                #[inline(always)]
                fn $method$(<const $constant: $integer>)?(self$(, $more: Self)*) -> Self {
                    let ($a, $($more,)*) = (self.0, $($more.0,)*);
                    // SAFETY: as for `splat`.
                    Self(unsafe { $result })
                }
            )+
        }
    };
}

lanes! {
    Four, 4, _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_movepi64_mask, _mm256_cmpeq_epi64_mask, _mm256_mask_mov_epi64;
    plus(a, b) => _mm256_add_epi64(a, b);
    and(a, b) => _mm256_and_si256(a, b);
    xor(a, b) => _mm256_xor_si256(a, b);
    shr<N: u32>(a) => _mm256_srl_epi64(a, _mm_cvtsi32_si128(N as i32));
    shl<N: u32>(a) => _mm256_sll_epi64(a, _mm_cvtsi32_si128(N as i32));
    low(sum, a, b) => _mm256_madd52lo_epu64(sum, a, b);
    high(sum, a, b) => _mm256_madd52hi_epu64(sum, a, b);
    permuted<P: i32>(a) => _mm256_permutex_epi64::<P>(a);
    looked_up(a, index) => _mm256_permutexvar_epi64(index, a);
    blended<FROM_OTHER: u8>(a, b) => _mm256_mask_mov_epi64(a, FROM_OTHER, b);
}

lanes! {
    Eight, 8, _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_movepi64_mask, _mm512_cmpeq_epi64_mask, _mm512_mask_mov_epi64;
    plus(a, b) => _mm512_add_epi64(a, b);
    and(a, b) => _mm512_and_si512(a, b);
    xor(a, b) => _mm512_xor_si512(a, b);
    shr<N: u32>(a) => _mm512_srli_epi64::<N>(a);
    shl<N: u32>(a) => _mm512_slli_epi64::<N>(a);
    low(sum, a, b) => _mm512_madd52lo_epu64(sum, a, b);
    high(sum, a, b) => _mm512_madd52hi_epu64(sum, a, b);
    permuted<P: i32>(a) => _mm512_permutex_epi64::<P>(a);
    looked_up(a, index) => _mm512_permutexvar_epi64(index, a);
    blended<FROM_OTHER: u8>(a, b) => _mm512_mask_mov_epi64(a, FROM_OTHER | FROM_OTHER << 4, b);
}
