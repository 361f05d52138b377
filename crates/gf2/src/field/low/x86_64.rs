//! 128-bit lanes on x86-64: one in an xmm register, two in a ymm, four in a zmm.
//!
//! A value of these types can only be made from a token. It therefore proves that the CPU has the instructions, and the methods are safe to
//! call. They compile to single instructions once they are inlined into a function that enables the features; those functions are in [`kernels`](super::x86_64_kernels).

pub(in crate::field) use super::x86_64_kernels::{avx512, clmul, vpclmul};
use crate::field::wide::Wide;
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use core::arch::x86_64::*;

/// Proof of PCLMULQDQ and SSSE3, whichever group brought it.
#[derive(Clone, Copy)]
pub(crate) struct Sse(());

impl From<HaveClmul> for Sse {
    #[inline(always)]
    fn from(_: HaveClmul) -> Self {
        Self(())
    }
}

impl From<HaveVpclmul> for Sse {
    #[inline(always)]
    fn from(_: HaveVpclmul) -> Self {
        Self(())
    }
}

impl From<HaveAvx512Crypto> for Sse {
    #[inline(always)]
    fn from(_: HaveAvx512Crypto) -> Self {
        Self(())
    }
}

/// Proof of AVX2 and VPCLMULQDQ, whichever group brought it.
#[derive(Clone, Copy)]
pub(crate) struct Avx(());

impl From<HaveVpclmul> for Avx {
    #[inline(always)]
    fn from(_: HaveVpclmul) -> Self {
        Self(())
    }
}

impl From<HaveAvx512Crypto> for Avx {
    #[inline(always)]
    fn from(_: HaveAvx512Crypto) -> Self {
        Self(())
    }
}

impl From<Avx> for Sse {
    #[inline(always)]
    fn from(_: Avx) -> Self {
        Self(())
    }
}

/// One lane.
#[derive(Clone, Copy)]
pub(crate) struct Xmm(__m128i);

/// Two lanes.
#[derive(Clone, Copy)]
pub(crate) struct Ymm(__m256i);

/// Four lanes.
#[derive(Clone, Copy)]
pub(crate) struct Zmm(__m512i);

/// The operations that differ only in their names.
macro_rules! arithmetic {
    ($xor:ident, $and:ident, $shl:ident, $shr:ident, $clmul:ident $(::<$select:tt>)?, $low_low:ident, $align:ident) => {
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: a value of this type is proof of its instructions (see the head of the file).
            Self(unsafe { $xor(self.0, other.0) })
        }

        #[inline(always)]
        fn and(self, other: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $and(self.0, other.0) })
        }

        #[inline(always)]
        fn shl(self, n: usize) -> Self {
            // SAFETY: as above. The count is a constant after inlining, and the instruction one with an immediate.
            Self(unsafe { $shl(self.0, _mm_cvtsi64_si128(n as i64)) })
        }

        #[inline(always)]
        fn shr(self, n: usize) -> Self {
            // SAFETY: as above.
            Self(unsafe { $shr(self.0, _mm_cvtsi64_si128(n as i64)) })
        }

        #[inline(always)]
        fn mul_low(self, other: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $clmul::<0x00>(self.0, other.0) })
        }

        #[inline(always)]
        fn mul_high(self, other: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $clmul::<0x11>(self.0, other.0) })
        }

        #[inline(always)]
        fn low_low(self, other: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $low_low(self.0, other.0) })
        }

        #[inline(always)]
        fn high_low(self, other: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $align::<8>(other.0, self.0) })
        }
    };
}

impl Wide for Xmm {
    type Proof = Sse;
    const N: usize = 1;

    #[inline(always)]
    fn zero(_: Sse) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_setzero_si128() })
    }

    #[inline(always)]
    fn splat(_: Sse, low: u64, high: u64) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_set_epi64x(high as i64, low as i64) })
    }

    #[inline(always)]
    fn pair<const W: usize>(_: Sse, from: &[[u64; W]], i: usize) -> Self {
        let words: &[u64; 2] = from[0][i..i + 2].try_into().expect("a range of two");
        // SAFETY: two words are 16 bytes; the load asks for no alignment. SSE2 is part of x86-64.
        Self(unsafe { _mm_loadu_si128(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn single<const W: usize>(_: Sse, from: &[[u64; W]], i: usize) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_cvtsi64_si128(from[0][i] as i64) })
    }

    #[inline(always)]
    fn store_pair<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        let words: &mut [u64; 2] = (&mut to[0][i..i + 2]).try_into().expect("a range of two");
        // SAFETY: two words are 16 bytes; the store asks for no alignment. SSE2 is part of x86-64.
        unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn store_single<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        // SAFETY: one word is 8 bytes; the store asks for no alignment. SSE2 is part of x86-64.
        unsafe { _mm_storel_epi64((&raw mut to[0][i]).cast(), self.0) }
    }

    arithmetic!(
        _mm_xor_si128,
        _mm_and_si128,
        _mm_sll_epi64,
        _mm_srl_epi64,
        _mm_clmulepi64_si128,
        _mm_unpacklo_epi64,
        _mm_alignr_epi8
    );
}

impl Wide for Ymm {
    type Proof = Avx;
    const N: usize = 2;

    #[inline(always)]
    fn zero(_: Avx) -> Self {
        // SAFETY: the token proves AVX2.
        Self(unsafe { _mm256_setzero_si256() })
    }

    #[inline(always)]
    fn splat(_: Avx, low: u64, high: u64) -> Self {
        // SAFETY: the token proves AVX2.
        Self(unsafe { _mm256_set_epi64x(high as i64, low as i64, high as i64, low as i64) })
    }

    #[inline(always)]
    fn pair<const W: usize>(token: Avx, from: &[[u64; W]], i: usize) -> Self {
        let a = Xmm::pair(token.into(), from, i).0;
        let b = Xmm::pair(token.into(), &from[1..], i).0;
        // SAFETY: the token proves AVX2.
        Self(unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b) })
    }

    #[inline(always)]
    fn single<const W: usize>(token: Avx, from: &[[u64; W]], i: usize) -> Self {
        let a = Xmm::single(token.into(), from, i).0;
        let b = Xmm::single(token.into(), &from[1..], i).0;
        // SAFETY: the token proves AVX2.
        Self(unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b) })
    }

    #[inline(always)]
    fn store_pair<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        let [low, high] = self.halves();
        low.store_pair(to, i);
        high.store_pair(&mut to[1..], i);
    }

    #[inline(always)]
    fn store_single<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        let [low, high] = self.halves();
        low.store_single(to, i);
        high.store_single(&mut to[1..], i);
    }

    arithmetic!(
        _mm256_xor_si256,
        _mm256_and_si256,
        _mm256_sll_epi64,
        _mm256_srl_epi64,
        _mm256_clmulepi64_epi128,
        _mm256_unpacklo_epi64,
        _mm256_alignr_epi8
    );
}

impl Wide for Zmm {
    type Proof = HaveAvx512Crypto;
    const N: usize = 4;

    #[inline(always)]
    fn zero(_: HaveAvx512Crypto) -> Self {
        // SAFETY: the token proves AVX-512F.
        Self(unsafe { _mm512_setzero_si512() })
    }

    #[inline(always)]
    fn splat(_: HaveAvx512Crypto, low: u64, high: u64) -> Self {
        // SAFETY: the token proves AVX-512F.
        Self(unsafe { _mm512_broadcast_i64x2(_mm_set_epi64x(high as i64, low as i64)) })
    }

    #[inline(always)]
    fn pair<const W: usize>(token: HaveAvx512Crypto, from: &[[u64; W]], i: usize) -> Self {
        let low = Ymm::pair(token.into(), from, i);
        let high = Ymm::pair(token.into(), &from[2..], i);
        Self::of(token, low, high)
    }

    #[inline(always)]
    fn single<const W: usize>(token: HaveAvx512Crypto, from: &[[u64; W]], i: usize) -> Self {
        let low = Ymm::single(token.into(), from, i);
        let high = Ymm::single(token.into(), &from[2..], i);
        Self::of(token, low, high)
    }

    #[inline(always)]
    fn store_pair<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        let [low, high] = self.halves();
        low.store_pair(to, i);
        high.store_pair(&mut to[2..], i);
    }

    #[inline(always)]
    fn store_single<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        let [low, high] = self.halves();
        low.store_single(to, i);
        high.store_single(&mut to[2..], i);
    }

    arithmetic!(
        _mm512_xor_si512,
        _mm512_and_si512,
        _mm512_sll_epi64,
        _mm512_srl_epi64,
        _mm512_clmulepi64_epi128,
        _mm512_unpacklo_epi64,
        _mm512_alignr_epi8
    );
}

impl Ymm {
    #[inline(always)]
    fn halves(self) -> [Xmm; 2] {
        // SAFETY: a value of this type is proof of AVX2.
        unsafe { [Xmm(_mm256_castsi256_si128(self.0)), Xmm(_mm256_extracti128_si256::<1>(self.0))] }
    }
}

impl Zmm {
    #[inline(always)]
    fn of(_: HaveAvx512Crypto, low: Ymm, high: Ymm) -> Self {
        // SAFETY: the token proves AVX-512F.
        Self(unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low.0), high.0) })
    }

    #[inline(always)]
    fn halves(self) -> [Ymm; 2] {
        // SAFETY: a value of this type is proof of AVX-512F.
        unsafe { [Ymm(_mm512_castsi512_si256(self.0)), Ymm(_mm512_extracti64x4_epi64::<1>(self.0))] }
    }
}
