//! Vectors of words, so that a hash of many messages is written once for AVX2 and AVX-512.
//!
//! A vector is made only from its tier's token, so whoever holds one may use the tier's instructions, and all methods are safe. They are
//! inlined into functions that have the features; anywhere else they would be slow, but sound.

use candor_cpu::{HaveAvx2, HaveAvx512Crypto};
use core::arch::asm;
use core::arch::x86_64::*;

/// Words of 32 bits, one a lane.
pub(super) trait Words32: Copy {
    /// The token that proves the instructions.
    type Proof: Copy;
    /// Lanes.
    const LANES: usize;
    fn splat(proof: Self::Proof, word: u32) -> Self;
    /// The first `LANES` words of a slice that has as many.
    fn load(proof: Self::Proof, words: &[u32]) -> Self;
    fn store(self, words: &mut [u32]);
    /// Words 4i to 4i + 3 of `LANES` blocks, big-endian, a block a lane.
    fn of_blocks(proof: Self::Proof, blocks: &[&[u8; 64]], i: usize) -> [Self; 4];
    /// The same, as a value of unknown origin, so that LLVM can't take a sum apart and add its terms in an order of its own.
    fn settled(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
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
    /// The token that proves the instructions.
    type Proof: Copy;
    /// Lanes.
    const LANES: usize;
    fn splat(proof: Self::Proof, word: u64) -> Self;
    /// The first `LANES` words of a slice that has as many.
    fn load(proof: Self::Proof, words: &[u64]) -> Self;
    fn store(self, words: &mut [u64]);
    fn xor(self, other: Self) -> Self;
    fn rol<const N: i32, const R: i32>(self) -> Self;
    fn xor3(self, b: Self, c: Self) -> Self;
    /// self ⊕ (¬b ∧ c).
    fn chi(self, b: Self, c: Self) -> Self;
}

/// AVX-512 (F and VL) on registers of 128 bits, for a single word: more registers, and logic of three operands.
#[derive(Clone, Copy)]
pub(super) struct XmmVl(__m128i);

/// AVX2.
#[derive(Clone, Copy)]
pub(super) struct Ymm(__m256i);

/// AVX-512 (F and VL) on registers of 256 bits.
#[derive(Clone, Copy)]
pub(super) struct YmmVl(__m256i);

/// AVX-512 (F and BW) on registers of 512 bits.
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512i);

/// Implements a trait: the words and lanes of the type, the instructions that fill and store it, and what each operation is.
macro_rules! words {
    ($trait:ident for $vector:ident by $proof:ty: [$word:ty as $signed:ty; $lanes:literal], $splat:ident, $load:ident, $store:ident
     $(, of_blocks $of_blocks:ident, settled $settled:ident)?;
     $($method:ident$(<$($constant:ident: $integer:ty),+>)?($a:ident$(, $more:ident)*) => $result:expr;)+) => {
        impl $trait for $vector {
            type Proof = $proof;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn splat(_: $proof, word: $word) -> Self {
                // SAFETY: the token proves the instructions; so does a vector, which is made from a token; likewise below.
                Self(unsafe { $splat(word as $signed) })
            }

            #[inline(always)]
            fn load(_: $proof, words: &[$word]) -> Self {
                // SAFETY: the slice has as many words as are read.
                Self(unsafe { $load(words[..$lanes].as_ptr().cast()) })
            }

            #[inline(always)]
            fn store(self, words: &mut [$word]) {
                // SAFETY: the slice has as many words as are written.
                unsafe { $store(words[..$lanes].as_mut_ptr().cast(), self.0) }
            }

            $(
                #[inline(always)]
                fn of_blocks(_: $proof, blocks: &[&[u8; 64]], i: usize) -> [Self; 4] {
                    // SAFETY: as for `splat`.
                    let [a, b, c, d] = unsafe { $of_blocks(blocks, i) };
                    [Self(a), Self(b), Self(c), Self(d)]
                }

                #[inline(always)]
                fn settled(self) -> Self {
                    // SAFETY: as for `splat`.
                    Self(unsafe { $settled(self.0) })
                }
            )?

            $(
                #[inline(always)]
                fn $method$(<$(const $constant: $integer),+>)?(self$(, $more: Self)*) -> Self {
                    let ($a, $($more,)*) = (self.0, $($more.0,)*);
                    // SAFETY: as for `splat`.
                    Self(unsafe { $result })
                }
            )+
        }
    };
}

words! {
    Words32 for Ymm by HaveAvx2: [u32 as i32; 8], _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, of_blocks of_eight_blocks, settled settled_ymm;
    add(a, b) => _mm256_add_epi32(a, b);
    sub(a, b) => _mm256_sub_epi32(a, b);
    xor(a, b) => _mm256_xor_si256(a, b);
    shr<N: u32>(a) => _mm256_srl_epi32(a, _mm_cvtsi32_si128(N as i32));
    rol<N: i32, R: i32>(a) => _mm256_or_si256(_mm256_slli_epi32::<N>(a), _mm256_srli_epi32::<R>(a));
    xor3(a, b, c) => _mm256_xor_si256(_mm256_xor_si256(a, b), c);
    choice(a, b, c) => _mm256_xor_si256(c, _mm256_and_si256(a, _mm256_xor_si256(b, c)));
    majority(a, b, c) => _mm256_xor_si256(b, _mm256_and_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(b, c)));
}

words! {
    Words32 for YmmVl by HaveAvx512Crypto: [u32 as i32; 8], _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, of_blocks of_eight_blocks, settled settled_ymm;
    add(a, b) => _mm256_add_epi32(a, b);
    sub(a, b) => _mm256_sub_epi32(a, b);
    xor(a, b) => _mm256_xor_si256(a, b);
    shr<N: u32>(a) => _mm256_srl_epi32(a, _mm_cvtsi32_si128(N as i32));
    rol<N: i32, R: i32>(a) => _mm256_rol_epi32::<N>(a);
    xor3(a, b, c) => _mm256_ternarylogic_epi32::<0x96>(a, b, c);
    choice(a, b, c) => _mm256_ternarylogic_epi32::<0xca>(a, b, c);
    majority(a, b, c) => _mm256_ternarylogic_epi32::<0xe8>(a, b, c);
}

words! {
    Words32 for Zmm by HaveAvx512Crypto: [u32 as i32; 16], _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, of_blocks of_sixteen_blocks, settled settled_zmm;
    add(a, b) => _mm512_add_epi32(a, b);
    sub(a, b) => _mm512_sub_epi32(a, b);
    xor(a, b) => _mm512_xor_si512(a, b);
    shr<N: u32>(a) => _mm512_srli_epi32::<N>(a);
    rol<N: i32, R: i32>(a) => _mm512_rol_epi32::<N>(a);
    xor3(a, b, c) => _mm512_ternarylogic_epi32::<0x96>(a, b, c);
    choice(a, b, c) => _mm512_ternarylogic_epi32::<0xca>(a, b, c);
    majority(a, b, c) => _mm512_ternarylogic_epi32::<0xe8>(a, b, c);
}

words! {
    Words64 for XmmVl by HaveAvx512Crypto: [u64 as i64; 1], _mm_set1_epi64x, _mm_loadl_epi64, _mm_storel_epi64;
    xor(a, b) => _mm_xor_si128(a, b);
    rol<N: i32, R: i32>(a) => _mm_rol_epi64::<N>(a);
    xor3(a, b, c) => _mm_ternarylogic_epi64::<0x96>(a, b, c);
    chi(a, b, c) => _mm_ternarylogic_epi64::<0xd2>(a, b, c);
}

words! {
    Words64 for Ymm by HaveAvx2: [u64 as i64; 4], _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256;
    xor(a, b) => _mm256_xor_si256(a, b);
    rol<N: i32, R: i32>(a) => _mm256_or_si256(_mm256_slli_epi64::<N>(a), _mm256_srli_epi64::<R>(a));
    xor3(a, b, c) => _mm256_xor_si256(_mm256_xor_si256(a, b), c);
    chi(a, b, c) => _mm256_xor_si256(a, _mm256_andnot_si256(b, c));
}

words! {
    Words64 for YmmVl by HaveAvx512Crypto: [u64 as i64; 4], _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256;
    xor(a, b) => _mm256_xor_si256(a, b);
    rol<N: i32, R: i32>(a) => _mm256_rol_epi64::<N>(a);
    xor3(a, b, c) => _mm256_ternarylogic_epi64::<0x96>(a, b, c);
    chi(a, b, c) => _mm256_ternarylogic_epi64::<0xd2>(a, b, c);
}

words! {
    Words64 for Zmm by HaveAvx512Crypto: [u64 as i64; 8], _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512;
    xor(a, b) => _mm512_xor_si512(a, b);
    rol<N: i32, R: i32>(a) => _mm512_rol_epi64::<N>(a);
    xor3(a, b, c) => _mm512_ternarylogic_epi64::<0x96>(a, b, c);
    chi(a, b, c) => _mm512_ternarylogic_epi64::<0xd2>(a, b, c);
}

/// Makes the transposition of four words of each block: a register holds those of block l, of block l + 4 and so on, 16 bytes each.
/// Within the 16 bytes the words are numbers of lanes, so that four such registers are a 4×4 square to turn over.
macro_rules! of_blocks {
    ($(#[$doc:meta])* $name:ident, $vector:ty, $features:literal, $shuffle:ident, $splat:ident,
     $low32:ident, $high32:ident, $low64:ident, $high64:ident, |$piece:ident, $l:ident| $row:expr) => {
        $(#[$doc])*
        #[target_feature(enable = $features)]
        #[inline]
        fn $name(blocks: &[&[u8; 64]], i: usize) -> [$vector; 4] {
            let swap = $splat(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
            macro_rules! row {
                ($number:literal) => {{
                    let $l = $number;
                    // SAFETY: the four pieces of 16 bytes lie within the block; the load needs no alignment.
                    let $piece = |l: usize| unsafe { _mm_loadu_si128(blocks[l].as_chunks::<16>().0[i].as_ptr().cast()) };
                    $shuffle($row, swap)
                }};
            }
            let [a, b, c, d] = [row!(0), row!(1), row!(2), row!(3)];
            let [ab, cd] = [$low32(a, b), $low32(c, d)];
            let [ef, gh] = [$high32(a, b), $high32(c, d)];
            [$low64(ab, cd), $high64(ab, cd), $low64(ef, gh), $high64(ef, gh)]
        }
    };
}

of_blocks! {
    /// See [`Words32::of_blocks`].
    of_eight_blocks, __m256i, "avx2", _mm256_shuffle_epi8, _mm256_broadcastsi128_si256,
    _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64,
    |piece, l| _mm256_set_m128i(piece(l + 4), piece(l))
}

of_blocks! {
    /// See [`Words32::of_blocks`].
    of_sixteen_blocks, __m512i, "avx2,avx512f,avx512bw,avx512vl", _mm512_shuffle_epi8, _mm512_broadcast_i32x4,
    _mm512_unpacklo_epi32, _mm512_unpackhi_epi32, _mm512_unpacklo_epi64, _mm512_unpackhi_epi64,
    |piece, l| _mm512_inserti64x4::<1>(
        _mm512_castsi256_si512(_mm256_set_m128i(piece(l + 4), piece(l))),
        _mm256_set_m128i(piece(l + 12), piece(l + 8)),
    )
}

/// See [`Words32::settled`].
#[target_feature(enable = "avx2")]
#[inline]
fn settled_ymm(mut words: __m256i) -> __m256i {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} */", inout(ymm_reg) words, options(pure, nomem, nostack, preserves_flags)) }
    words
}

/// See [`Words32::settled`].
#[target_feature(enable = "avx512f")]
#[inline]
fn settled_zmm(mut words: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe { asm!("/* {0} */", inout(zmm_reg) words, options(pure, nomem, nostack, preserves_flags)) }
    words
}
