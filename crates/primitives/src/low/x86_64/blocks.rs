//! Vectors of 16-byte blocks, so that AES and POLYVAL are written once for 128, 256 and 512 bits.
//!
//! A vector is made only from its tier's token or from another vector, so whoever holds one may use the tier's instructions, and all
//! methods are safe. They are inlined into functions that have the features; anywhere else they would be slow, but sound.

use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use core::arch::x86_64::*;

/// Blocks of 16 bytes, one a lane.
pub(super) trait Blocks: Copy {
    /// The token that proves the instructions.
    type Proof: Copy;
    /// Lanes.
    const LANES: usize;
    /// The first `LANES` blocks of a slice that has as many.
    fn load(proof: Self::Proof, blocks: &[[u8; 16]]) -> Self;
    /// A single block.
    fn one(proof: Self::Proof, block: &[u8; 16]) -> Xmm;
    fn store(self, blocks: &mut [[u8; 16]]);
    /// The same block in each lane.
    fn splat(proof: Self::Proof, block: Xmm) -> Self;
    /// `block` in each lane; nothing is taken from `self` but the proof.
    fn constant(self, block: __m128i) -> Self;
    fn xor(self, other: Self) -> Self;
    /// The xor of all lanes.
    fn sum(self) -> Xmm;
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

/// One block, with AES and PCLMULQDQ. The wider tiers have these as well.
#[derive(Clone, Copy)]
pub(super) struct Xmm(__m128i);

/// Two, with VAES and VPCLMULQDQ.
#[derive(Clone, Copy)]
pub(super) struct Ymm(__m256i);

/// Four, with AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512i);

/// A block in a register. SSE2 is part of x86-64, so that it takes no token.
#[inline(always)]
pub(super) fn load(block: &[u8; 16]) -> __m128i {
    // SAFETY: sixteen bytes are read; no alignment is asked for.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// The inverse of [`load`].
#[inline(always)]
pub(super) fn store(block: __m128i, to: &mut [u8; 16]) {
    // SAFETY: sixteen bytes are written; no alignment is asked for.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), block) }
}

macro_rules! blocks {
    ($vector:ident by $proof:ty, $lanes:literal, $load:ident, $store:ident, $xor:ident, $multiply:ident, $shuffle32:ident, $round:ident,
     $last:ident, $shuffle8:ident, $add:ident, splat($block:ident) $splat:expr, sum($all:ident) $sum:expr) => {
        impl Blocks for $vector {
            type Proof = $proof;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn load(_: $proof, blocks: &[[u8; 16]]) -> Self {
                // SAFETY: the token proves the instructions, and the slice has as many blocks as are read.
                Self(unsafe { $load(blocks[..$lanes].as_ptr().cast()) })
            }

            #[inline(always)]
            fn one(_: $proof, block: &[u8; 16]) -> Xmm {
                Xmm(load(block))
            }

            #[inline(always)]
            fn store(self, blocks: &mut [[u8; 16]]) {
                // SAFETY: a vector proves what its token proved, likewise below; the slice has as many blocks as are written.
                unsafe { $store(blocks[..$lanes].as_mut_ptr().cast(), self.0) }
            }

            #[inline(always)]
            fn splat(_: $proof, Xmm($block): Xmm) -> Self {
                Self($splat)
            }

            #[inline(always)]
            fn constant(self, $block: __m128i) -> Self {
                Self($splat)
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: as for `store`.
                Self(unsafe { $xor(self.0, other.0) })
            }

            #[inline(always)]
            fn sum(self) -> Xmm {
                let $all = self.0;
                Xmm($sum)
            }

            #[inline(always)]
            fn multiply<const HALVES: i32>(self, other: Self) -> Self {
                // SAFETY: as for `store`.
                Self(unsafe { $multiply::<HALVES>(self.0, other.0) })
            }

            #[inline(always)]
            fn swap(self) -> Self {
                // SAFETY: as for `store`.
                Self(unsafe { $shuffle32::<0x4e>(self.0) })
            }

            #[inline(always)]
            fn encrypt_round(self, key: Self) -> Self {
                // SAFETY: as for `store`.
                Self(unsafe { $round(self.0, key.0) })
            }

            #[inline(always)]
            fn encrypt_last(self, key: Self) -> Self {
                // SAFETY: as for `store`.
                Self(unsafe { $last(self.0, key.0) })
            }

            #[inline(always)]
            fn reverse(self) -> Self {
                // SAFETY: as for `store`.
                Self(unsafe {
                    let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                    $shuffle8(self.0, self.constant(order).0)
                })
            }

            #[inline(always)]
            fn add32(self, other: Self) -> Self {
                // SAFETY: as for `store`.
                Self(unsafe { $add(self.0, other.0) })
            }
        }
    };
}

blocks!(
    Xmm by HaveClmul, 1, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128, _mm_clmulepi64_si128, _mm_shuffle_epi32, _mm_aesenc_si128,
    _mm_aesenclast_si128, _mm_shuffle_epi8, _mm_add_epi32, splat(block) block, sum(all) all
);

blocks!(
    Ymm by HaveVpclmul, 2, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256, _mm256_clmulepi64_epi128, _mm256_shuffle_epi32,
    _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_shuffle_epi8, _mm256_add_epi32,
    // SAFETY: the token or the vector at hand proves the instructions; likewise below.
    splat(block) unsafe { _mm256_broadcastsi128_si256(block) },
    // SAFETY: as above.
    sum(all) unsafe { _mm_xor_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all)) }
);

blocks!(
    Zmm by HaveAvx512Crypto, 4, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512, _mm512_clmulepi64_epi128, _mm512_shuffle_epi32,
    _mm512_aesenc_epi128, _mm512_aesenclast_epi128, _mm512_shuffle_epi8, _mm512_add_epi32,
    // SAFETY: as above.
    splat(block) unsafe { _mm512_broadcast_i32x4(block) },
    // SAFETY: as above.
    sum(all) unsafe {
        let two = _mm256_xor_si256(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all));
        _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two))
    }
);
