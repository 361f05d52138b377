//! Vectors of 16-byte blocks, so that AES, POLYVAL and GCM are written once for 128, 256 and 512 bits.
//!
//! The methods are inlined into functions that have the features; anywhere else they would be unsound, which is why the trait
//! doesn't leave `low`.

use core::arch::x86_64::*;

/// Blocks of 16 bytes, one a lane.
pub(super) trait Blocks: Copy {
    /// Lanes.
    const LANES: usize;
    /// The first `LANES` blocks of a slice that has as many.
    fn load(blocks: &[[u8; 16]]) -> Self;
    fn store(self, blocks: &mut [[u8; 16]]);
    /// The same block in each lane.
    fn splat(block: __m128i) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Zeros.
    fn zero() -> Self;
    /// The block in the lowest lane, zeros in the others.
    #[cfg_attr(not(feature = "aead"), allow(dead_code))]
    fn lowest(block: __m128i) -> Self;
    /// The xor of all lanes.
    fn sum(self) -> __m128i;
    /// In each lane the carry-less product of a half of `self` (bit 0 of `HALVES` set: the upper) and of `other` (bit 4).
    fn multiply<const HALVES: i32>(self, other: Self) -> Self;
    /// The halves of each block swapped.
    fn swap(self) -> Self;
    /// A round of AES encryption.
    fn encrypt_round(self, key: Self) -> Self;
    /// The last one.
    fn encrypt_last(self, key: Self) -> Self;
    /// Each block with its bytes reversed.
    fn reverse(self) -> Self;
    /// Words of 32 bits added.
    fn add32(self, other: Self) -> Self;
}

/// What a cipher does between its rounds, so that both kinds of instructions are under way.
pub(super) trait Beside {
    /// Does step number `n`. A cipher calls it with 0, 1 and so on, up to 7 at least.
    fn step(&mut self, n: usize);
}

/// Steps that the rounds of every cipher have room for.
#[cfg(feature = "aead")]
pub(super) const STEPS: usize = 8;

/// Nothing to be done.
impl Beside for () {
    #[inline(always)]
    fn step(&mut self, _: usize) {}
}

macro_rules! blocks {
    ($vector:ty, $lanes:literal, $load:ident, $store:ident, $xor:ident, $multiply:ident, $shuffle32:ident, $round:ident, $last:ident,
     $shuffle8:ident, $add:ident, splat($block:ident) $splat:expr, lowest($low:ident) $lowest:expr, sum($all:ident) $sum:expr) => {
        impl Blocks for $vector {
            const LANES: usize = $lanes;

            #[inline(always)]
            fn load(blocks: &[[u8; 16]]) -> Self {
                // SAFETY: the slice has as many blocks as are read; only functions with the features call this, likewise below.
                unsafe { $load(blocks[..$lanes].as_ptr().cast()) }
            }

            #[inline(always)]
            fn store(self, blocks: &mut [[u8; 16]]) {
                // SAFETY: the slice has as many blocks as are written.
                unsafe { $store(blocks[..$lanes].as_mut_ptr().cast(), self) }
            }

            #[inline(always)]
            fn splat($block: __m128i) -> Self {
                $splat
            }

            #[inline(always)]
            fn zero() -> Self {
                // SAFETY: SSE2 is part of x86-64.
                Self::splat(unsafe { _mm_setzero_si128() })
            }

            #[inline(always)]
            fn lowest($low: __m128i) -> Self {
                $lowest
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: as for `load`.
                unsafe { $xor(self, other) }
            }

            #[inline(always)]
            fn sum(self) -> __m128i {
                let $all = self;
                $sum
            }

            #[inline(always)]
            fn multiply<const HALVES: i32>(self, other: Self) -> Self {
                // SAFETY: as for `load`.
                unsafe { $multiply::<HALVES>(self, other) }
            }

            #[inline(always)]
            fn swap(self) -> Self {
                // SAFETY: as for `load`.
                unsafe { $shuffle32::<0x4e>(self) }
            }

            #[inline(always)]
            fn encrypt_round(self, key: Self) -> Self {
                // SAFETY: as for `load`.
                unsafe { $round(self, key) }
            }

            #[inline(always)]
            fn encrypt_last(self, key: Self) -> Self {
                // SAFETY: as for `load`.
                unsafe { $last(self, key) }
            }

            #[inline(always)]
            fn reverse(self) -> Self {
                // SAFETY: as for `load`.
                unsafe {
                    $shuffle8(self, Self::splat(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)))
                }
            }

            #[inline(always)]
            fn add32(self, other: Self) -> Self {
                // SAFETY: as for `load`.
                unsafe { $add(self, other) }
            }
        }
    };
}

blocks!(
    __m128i, 1, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128, _mm_clmulepi64_si128, _mm_shuffle_epi32, _mm_aesenc_si128,
    _mm_aesenclast_si128, _mm_shuffle_epi8, _mm_add_epi32, splat(block) block, lowest(block) block, sum(all) all
);

blocks!(
    __m256i, 2, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256, _mm256_clmulepi64_epi128, _mm256_shuffle_epi32,
    _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_shuffle_epi8, _mm256_add_epi32,
    // SAFETY: as for `load`.
    splat(block) unsafe { _mm256_broadcastsi128_si256(block) },
    // SAFETY: as for `load`.
    lowest(block) unsafe { _mm256_zextsi128_si256(block) },
    // SAFETY: as for `load`.
    sum(all) unsafe { _mm_xor_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all)) }
);

blocks!(
    __m512i, 4, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512, _mm512_clmulepi64_epi128, _mm512_shuffle_epi32,
    _mm512_aesenc_epi128, _mm512_aesenclast_epi128, _mm512_shuffle_epi8, _mm512_add_epi32,
    // SAFETY: as for `load`.
    splat(block) unsafe { _mm512_broadcast_i32x4(block) },
    // SAFETY: as for `load`.
    lowest(block) unsafe { _mm512_zextsi128_si512(block) },
    // SAFETY: as for `load`.
    sum(all) unsafe { _mm256_xor_si256(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all)).sum() }
);
