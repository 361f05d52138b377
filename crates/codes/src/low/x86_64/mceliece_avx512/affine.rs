//! Many elements of the field times one, by affine maps of GFNI: an element is a byte with its lowest eight bits and one with the others, and to multiply by an
//! element is a matrix of 16 by 16 bits, four maps of a byte to a byte.

use core::arch::x86_64::*;

/// 64 elements.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    pub(super) low: __m512i,
    pub(super) high: __m512i,
}

/// What multiplies by an element.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    low_of_low: __m512i,
    high_of_low: __m512i,
    low_of_high: __m512i,
    high_of_high: __m512i,
}

impl Elements {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn zero() -> Self {
        Self { low: _mm512_setzero_si512(), high: _mm512_setzero_si512() }
    }

    /// Those where `mask` has ones, zeros elsewhere.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn only(self, mask: u64) -> Self {
        Self { low: _mm512_maskz_mov_epi8(mask, self.low), high: _mm512_maskz_mov_epi8(mask, self.high) }
    }

    /// `other` where `mask` has ones.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn or(self, other: Self, mask: u64) -> Self {
        Self {
            low: _mm512_mask_mov_epi8(self.low, mask, other.low),
            high: _mm512_mask_mov_epi8(self.high, mask, other.high),
        }
    }

    /// Each times the factor.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn times(self, factor: &Factor) -> Self {
        Self {
            low: _mm512_xor_si512(
                _mm512_gf2p8affine_epi64_epi8::<0>(self.low, factor.low_of_low),
                _mm512_gf2p8affine_epi64_epi8::<0>(self.high, factor.low_of_high),
            ),
            high: _mm512_xor_si512(
                _mm512_gf2p8affine_epi64_epi8::<0>(self.low, factor.high_of_low),
                _mm512_gf2p8affine_epi64_epi8::<0>(self.high, factor.high_of_high),
            ),
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn plus(self, other: Self) -> Self {
        Self { low: _mm512_xor_si512(self.low, other.low), high: _mm512_xor_si512(self.high, other.high) }
    }

    /// The one that follows in the numbering `below` and `self`, from the last of `below` on.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn up(self, below: Self) -> Self {
        Self { low: up(self.low, below.low), high: up(self.high, below.high) }
    }
}

/// The bytes of `vector`, one place up; the first is the last of `below`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn up(vector: __m512i, below: __m512i) -> __m512i {
    let lanes_below = _mm512_alignr_epi64::<6>(vector, below);
    _mm512_alignr_epi8::<15>(vector, lanes_below)
}

impl Factor {
    /// By the element in both bytes of each word. `M` is 12 or 13.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn of<const M: usize>(element: __m256i) -> Self {
        const { assert!(M == 12 || M == 13) }
        // The element times zʲ in word j: what stays, and what is thrown back, that which is thrown back twice first.
        let up = _mm256_set_epi16(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        let stays = _mm256_sllv_epi16(element, up);
        let high = _mm256_srlv_epi16(element, _mm256_sub_epi16(_mm256_set1_epi16(M as i16), up));
        let xor = |a, b, c| _mm256_ternarylogic_epi64::<0x96>(a, b, c);
        let (thrown, mask) = if M == 12 {
            let above = _mm256_xor_si256(high, _mm256_srli_epi16::<9>(high));
            (_mm256_xor_si256(above, _mm256_slli_epi16::<3>(above)), _mm256_set1_epi16(0xfff))
        } else {
            let above = _mm256_xor_si256(high, _mm256_srli_epi16::<9>(high));
            let above = xor(above, _mm256_srli_epi16::<10>(high), _mm256_srli_epi16::<12>(high));
            let two = _mm256_xor_si256(above, _mm256_slli_epi16::<1>(above));
            (xor(two, _mm256_slli_epi16::<3>(above), _mm256_slli_epi16::<4>(above)), _mm256_set1_epi16(0x1fff))
        };
        // (stays ⊕ thrown) ∧ mask
        let columns = _mm256_ternarylogic_epi64::<0x28>(stays, thrown, mask);
        // In each half the lower bytes, then the upper ones, in opposite order; their transpositions are the maps.
        let order = _mm256_broadcastsi128_si256(_mm_set_epi8(1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14));
        let identity = _mm256_set1_epi64x(0x0102040810204080);
        let maps = _mm256_gf2p8affine_epi64_epi8::<0>(identity, _mm256_shuffle_epi8(columns, order));
        let maps = _mm512_castsi256_si512(maps);
        Self {
            low_of_low: _mm512_permutexvar_epi64(_mm512_setzero_si512(), maps),
            high_of_low: _mm512_permutexvar_epi64(_mm512_set1_epi64(1), maps),
            low_of_high: _mm512_permutexvar_epi64(_mm512_set1_epi64(2), maps),
            high_of_high: _mm512_permutexvar_epi64(_mm512_set1_epi64(3), maps),
        }
    }

    /// `other` if `mask` is all ones, and this one if it is zero.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    pub(super) fn or(self, other: Self, mask: u64) -> Self {
        let choose = |a, b| _mm512_mask_mov_epi64(a, mask as u8, b);
        Self {
            low_of_low: choose(self.low_of_low, other.low_of_low),
            high_of_low: choose(self.high_of_low, other.high_of_low),
            low_of_high: choose(self.low_of_high, other.low_of_high),
            high_of_high: choose(self.high_of_high, other.high_of_high),
        }
    }
}
