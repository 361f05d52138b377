//! Vectors of words, so that a hash of many messages is written once for AVX2 and AVX-512.
//!
//! The methods are inlined into functions that have the features; anywhere else they would be unsound, which is why the traits
//! don't leave `low`.

use core::arch::x86_64::*;

/// Words of 32 bits, one a lane.
pub(super) trait Words32: Copy {
    /// Lanes.
    const LANES: usize;
    fn splat(word: u32) -> Self;
    /// The first `LANES` words of a slice that has as many.
    fn load(words: &[u32]) -> Self;
    fn store(self, words: &mut [u32]);
    fn add(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn shr<const N: u32>(self) -> Self;
    fn rol<const N: i32, const R: i32>(self) -> Self;
    fn xor3(self, b: Self, c: Self) -> Self;
    /// (self ∧ b) ∨ (¬self ∧ c).
    fn choice(self, b: Self, c: Self) -> Self;
    /// (self ∧ b) ∨ (self ∧ c) ∨ (b ∧ c).
    fn majority(self, b: Self, c: Self) -> Self;
}

/// Words of 64 bits, one a lane.
pub(super) trait Words64: Copy {
    /// Lanes.
    const LANES: usize;
    fn splat(word: u64) -> Self;
    /// The first `LANES` words of a slice that has as many.
    fn load(words: &[u64]) -> Self;
    fn store(self, words: &mut [u64]);
    fn xor(self, other: Self) -> Self;
    fn rol<const N: i32, const R: i32>(self) -> Self;
    fn xor3(self, b: Self, c: Self) -> Self;
    /// self ⊕ (¬b ∧ c).
    fn chi(self, b: Self, c: Self) -> Self;
}

/// AVX2.
#[derive(Clone, Copy)]
pub(super) struct Ymm(__m256i);

/// AVX-512 (F and VL) on registers of 256 bits.
#[derive(Clone, Copy)]
pub(super) struct YmmVl(__m256i);

/// AVX-512 (F).
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512i);

impl Words32 for Ymm {
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(word: u32) -> Self {
        // SAFETY: only functions with the features call these methods; likewise below.
        Self(unsafe { _mm256_set1_epi32(word as i32) })
    }

    #[inline(always)]
    fn load(words: &[u32]) -> Self {
        // SAFETY: the slice has as many words as are read.
        Self(unsafe { _mm256_loadu_si256(words[..8].as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        // SAFETY: the slice has as many words as are written.
        unsafe { _mm256_storeu_si256(words[..8].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn shr<const N: u32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_srl_epi32(self.0, _mm_cvtsi32_si128(N as i32)) })
    }

    #[inline(always)]
    fn rol<const N: i32, const R: i32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_or_si256(_mm256_slli_epi32::<N>(self.0), _mm256_srli_epi32::<R>(self.0)) })
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_xor_si256(_mm256_xor_si256(self.0, b.0), c.0) })
    }

    #[inline(always)]
    fn choice(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_xor_si256(c.0, _mm256_and_si256(self.0, _mm256_xor_si256(b.0, c.0))) })
    }

    #[inline(always)]
    fn majority(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe {
            _mm256_xor_si256(b.0, _mm256_and_si256(_mm256_xor_si256(self.0, b.0), _mm256_xor_si256(b.0, c.0)))
        })
    }
}

impl Words32 for YmmVl {
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(word: u32) -> Self {
        // SAFETY: only functions with the features call these methods; likewise below.
        Self(unsafe { _mm256_set1_epi32(word as i32) })
    }

    #[inline(always)]
    fn load(words: &[u32]) -> Self {
        // SAFETY: the slice has as many words as are read.
        Self(unsafe { _mm256_loadu_si256(words[..8].as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        // SAFETY: the slice has as many words as are written.
        unsafe { _mm256_storeu_si256(words[..8].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn shr<const N: u32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_srl_epi32(self.0, _mm_cvtsi32_si128(N as i32)) })
    }

    #[inline(always)]
    fn rol<const N: i32, const R: i32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_rol_epi32::<N>(self.0) })
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_ternarylogic_epi32::<0x96>(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn choice(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_ternarylogic_epi32::<0xca>(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn majority(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_ternarylogic_epi32::<0xe8>(self.0, b.0, c.0) })
    }
}

impl Words32 for Zmm {
    const LANES: usize = 16;

    #[inline(always)]
    fn splat(word: u32) -> Self {
        // SAFETY: only functions with the features call these methods; likewise below.
        Self(unsafe { _mm512_set1_epi32(word as i32) })
    }

    #[inline(always)]
    fn load(words: &[u32]) -> Self {
        // SAFETY: the slice has as many words as are read.
        Self(unsafe { _mm512_loadu_si512(words[..16].as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        // SAFETY: the slice has as many words as are written.
        unsafe { _mm512_storeu_si512(words[..16].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn shr<const N: u32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_srl_epi32(self.0, _mm_cvtsi32_si128(N as i32)) })
    }

    #[inline(always)]
    fn rol<const N: i32, const R: i32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_rol_epi32::<N>(self.0) })
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_ternarylogic_epi32::<0x96>(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn choice(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_ternarylogic_epi32::<0xca>(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn majority(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_ternarylogic_epi32::<0xe8>(self.0, b.0, c.0) })
    }
}

impl Words64 for Ymm {
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(word: u64) -> Self {
        // SAFETY: only functions with the features call these methods; likewise below.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }

    #[inline(always)]
    fn load(words: &[u64]) -> Self {
        // SAFETY: the slice has as many words as are read.
        Self(unsafe { _mm256_loadu_si256(words[..4].as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        // SAFETY: the slice has as many words as are written.
        unsafe { _mm256_storeu_si256(words[..4].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn rol<const N: i32, const R: i32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_or_si256(_mm256_slli_epi64::<N>(self.0), _mm256_srli_epi64::<R>(self.0)) })
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_xor_si256(_mm256_xor_si256(self.0, b.0), c.0) })
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_andnot_si256(b.0, c.0)) })
    }
}

impl Words64 for Zmm {
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(word: u64) -> Self {
        // SAFETY: only functions with the features call these methods; likewise below.
        Self(unsafe { _mm512_set1_epi64(word as i64) })
    }

    #[inline(always)]
    fn load(words: &[u64]) -> Self {
        // SAFETY: the slice has as many words as are read.
        Self(unsafe { _mm512_loadu_si512(words[..8].as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        // SAFETY: the slice has as many words as are written.
        unsafe { _mm512_storeu_si512(words[..8].as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn rol<const N: i32, const R: i32>(self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_rol_epi64::<N>(self.0) })
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_ternarylogic_epi64::<0x96>(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `splat`.
        Self(unsafe { _mm512_ternarylogic_epi64::<0xd2>(self.0, b.0, c.0) })
    }
}
