//! Vectors of 16-byte blocks, so that AES, POLYVAL, GCM and SM4 are written once for 128, 256 and 512 bits.
//!
//! A vector is made only from tokens ([`registers`](super::registers)), so whoever holds one may use its instructions, and all methods are safe.
//! They are inlined into functions that have the features; anywhere else they would be slow, but sound.

use super::registers::{ProvesAvx2, ProvesAvx512, ProvesClmul, ProvesVpclmul, Xmm, Ymm, Zmm};
use core::arch::x86_64::*;

/// Blocks of 16 bytes, one a lane.
pub(super) trait Blocks: Copy {
    /// The tokens that prove the instructions.
    type Proof: ProvesClmul;
    /// Lanes.
    const LANES: usize;
    /// What this vector was made with.
    fn proof(self) -> Self::Proof;
    /// The first `LANES` blocks of a slice that has as many.
    fn load(proof: Self::Proof, blocks: &[[u8; 16]]) -> Self;
    fn store(self, blocks: &mut [[u8; 16]]);
    /// The same block in each lane.
    fn splat(block: Xmm<Self::Proof>) -> Self;
    fn xor(self, other: Self) -> Self;
    /// The block in the lowest lane, zeros in the others.
    #[cfg_attr(not(feature = "aead"), allow(dead_code))]
    fn lowest(block: Xmm<Self::Proof>) -> Self;
    /// The xor of all lanes.
    fn sum(self) -> Xmm<Self::Proof>;
    /// Each block with its bytes reversed.
    fn reverse(self) -> Self;
    /// Words of 32 bits added.
    fn add32(self, other: Self) -> Self;

    /// Zeros.
    #[inline(always)]
    fn zero(proof: Self::Proof) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self::splat(Xmm::new(proof, unsafe { _mm_setzero_si128() }))
    }
}

/// Blocks with carry-less multiplication.
pub(super) trait Products: Blocks {
    /// In each lane the carry-less product of a half of `self` (bit 0 of `HALVES` set: the upper) and of `other` (bit 4).
    fn multiply<const HALVES: i32>(self, other: Self) -> Self;
    /// The halves of each block swapped.
    fn swap(self) -> Self;
}

/// Blocks with the rounds of AES encryption.
pub(super) trait AesRounds: Blocks {
    /// A round.
    fn encrypt_round(self, key: Self) -> Self;
    /// The last one.
    fn encrypt_last(self, key: Self) -> Self;
}

/// What a cipher does between its rounds, so that both kinds of instructions are under way.
pub(super) trait Beside {
    /// Does step number `n`. A cipher calls it with 0, 1 and so on, up to 7 at least.
    fn step(&mut self, n: usize);

    /// Does a part of step `n`, by its number in the step, for a cipher that has room for parts. They come before the step.
    #[cfg_attr(not(feature = "aead"), allow(dead_code))] // ChaCha20's
    #[inline(always)]
    fn part(&mut self, _n: usize, _part: usize) {}
}

/// Steps that the rounds of every cipher have room for.
#[cfg(feature = "aead")]
pub(super) const STEPS: usize = 8;

/// Nothing to be done.
impl Beside for () {
    #[inline(always)]
    fn step(&mut self, _: usize) {}
}

/// A block as it lies in memory.
#[inline(always)]
pub(super) fn load(block: &[u8; 16]) -> __m128i {
    // SAFETY: SSE2 is part of x86-64; the block has the 16 bytes that are read.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// The reverse.
#[inline(always)]
pub(super) fn store(vector: __m128i, block: &mut [u8; 16]) {
    // SAFETY: SSE2 is part of x86-64; the block has the 16 bytes that are written.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), vector) }
}

/// Implements the traits: the tokens that prove the instructions of each, then the instructions.
macro_rules! blocks {
    ($vector:ident, $lanes:literal,
     blocks by $proof:ident $(+ $more:ident)*: $load:ident, $store:ident, $xor:ident, $shuffle8:ident, $add:ident,
         splat($block:ident) $splat:expr, lowest($low:ident) $lowest:expr, sum($all:ident) $sum:expr;
     products by $wide:ident $(+ $wider:ident)*: $multiply:ident, $shuffle32:ident;
     rounds: $round:ident, $last:ident) => {
        impl<P: $proof $(+ $more)*> Blocks for $vector<P> {
            type Proof = P;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn proof(self) -> P {
                self.proof()
            }

            #[inline(always)]
            fn load(proof: P, blocks: &[[u8; 16]]) -> Self {
                // SAFETY: the slice has as many blocks as are read. The tokens prove the instructions; so does a vector, which is made from
                // them; likewise below.
                Self::new(proof, unsafe { $load(blocks[..$lanes].as_ptr().cast()) })
            }

            #[inline(always)]
            fn store(self, blocks: &mut [[u8; 16]]) {
                // SAFETY: the slice has as many blocks as are written.
                unsafe { $store(blocks[..$lanes].as_mut_ptr().cast(), self.0) }
            }

            #[inline(always)]
            #[allow(unused_unsafe)] // with a single lane it is no instruction
            fn splat($block: Xmm<P>) -> Self {
                // SAFETY: as for `load`.
                Self::new($block.proof(), unsafe { $splat })
            }

            #[inline(always)]
            #[allow(unused_unsafe)] // with a single lane it is no instruction
            fn lowest($low: Xmm<P>) -> Self {
                // SAFETY: as for `load`.
                Self::new($low.proof(), unsafe { $lowest })
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: as for `load`.
                self.with(unsafe { $xor(self.0, other.0) })
            }

            #[inline(always)]
            #[allow(unused_unsafe)] // with a single lane it is no instruction
            fn sum(self) -> Xmm<P> {
                let $all = self;
                // SAFETY: as for `load`.
                Xmm::new(self.proof(), unsafe { $sum })
            }

            #[inline(always)]
            fn reverse(self) -> Self {
                // SAFETY: as for `load`.
                unsafe {
                    let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                    self.with($shuffle8(self.0, Self::splat(Xmm::new(self.proof(), order)).0))
                }
            }

            #[inline(always)]
            fn add32(self, other: Self) -> Self {
                // SAFETY: as for `load`.
                self.with(unsafe { $add(self.0, other.0) })
            }
        }

        impl<P: $wide $(+ $wider)*> Products for $vector<P> {
            #[inline(always)]
            fn multiply<const HALVES: i32>(self, other: Self) -> Self {
                // SAFETY: as for `load`.
                self.with(unsafe { $multiply::<HALVES>(self.0, other.0) })
            }

            #[inline(always)]
            fn swap(self) -> Self {
                // SAFETY: as for `load`.
                self.with(unsafe { $shuffle32::<0x4e>(self.0) })
            }
        }

        impl<P: $wide $(+ $wider)*> AesRounds for $vector<P> {
            #[inline(always)]
            fn encrypt_round(self, key: Self) -> Self {
                // SAFETY: as for `load`.
                self.with(unsafe { $round(self.0, key.0) })
            }

            #[inline(always)]
            fn encrypt_last(self, key: Self) -> Self {
                // SAFETY: as for `load`.
                self.with(unsafe { $last(self.0, key.0) })
            }
        }
    };
}

blocks! {
    Xmm, 1,
    blocks by ProvesClmul: _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128, _mm_shuffle_epi8, _mm_add_epi32,
        splat(block) block.0, lowest(block) block.0, sum(all) all.0;
    products by ProvesClmul: _mm_clmulepi64_si128, _mm_shuffle_epi32;
    rounds: _mm_aesenc_si128, _mm_aesenclast_si128
}

blocks! {
    Ymm, 2,
    blocks by ProvesClmul + ProvesAvx2: _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256, _mm256_shuffle_epi8, _mm256_add_epi32,
        splat(block) _mm256_broadcastsi128_si256(block.0),
        lowest(block) _mm256_zextsi128_si256(block.0),
        sum(all) _mm_xor_si128(_mm256_castsi256_si128(all.0), _mm256_extracti128_si256::<1>(all.0));
    products by ProvesVpclmul: _mm256_clmulepi64_epi128, _mm256_shuffle_epi32;
    rounds: _mm256_aesenc_epi128, _mm256_aesenclast_epi128
}

blocks! {
    Zmm, 4,
    blocks by ProvesClmul + ProvesAvx512: _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512, _mm512_shuffle_epi8, _mm512_add_epi32,
        splat(block) _mm512_broadcast_i32x4(block.0),
        lowest(block) _mm512_zextsi128_si512(block.0),
        sum(all) Ymm::new(
            all.proof(),
            _mm256_xor_si256(_mm512_castsi512_si256(all.0), _mm512_extracti64x4_epi64::<1>(all.0)),
        ).sum().0;
    products by ProvesVpclmul + ProvesAvx512: _mm512_clmulepi64_epi128, _mm512_shuffle_epi32;
    rounds: _mm512_aesenc_epi128, _mm512_aesenclast_epi128
}
