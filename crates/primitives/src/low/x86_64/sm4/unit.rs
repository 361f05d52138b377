//! The units that compute SM4's S-box in AES's field, for vectors of four words a lane of 128 bits.

use super::super::blocks::Blocks;
use crate::sm4_box::{AES, Affine, GFNI, Map};
use core::arch::x86_64::*;
use core::marker::PhantomData;

/// What the rounds need of vectors beside [`Blocks`]. Like those, the methods are inlined into functions that have the features.
pub(super) trait Words: Blocks {
    fn and(self, other: Self) -> Self;
    /// Each word shifted right by 4 bits.
    fn shift4(self) -> Self;
    /// The bytes of each lane by the indices in `by`, which are below 16.
    fn shuffle(self, by: Self) -> Self;
    /// In each lane the words a0 b0 a1 b1, or a2 b2 a3 b3.
    fn low32(self, other: Self) -> Self;
    fn high32(self, other: Self) -> Self;
    /// In each lane a0 a1 b0 b1, or a2 a3 b2 b3.
    fn low64(self, other: Self) -> Self;
    fn high64(self, other: Self) -> Self;

    /// The same word everywhere.
    #[inline(always)]
    fn word(word: u32) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self::splat(unsafe { _mm_set1_epi32(word as i32) })
    }

    /// These bytes in each lane.
    #[inline(always)]
    fn bytes(bytes: [u8; 16]) -> Self {
        Self::splat(__m128i::load(&[bytes]))
    }

    /// A square of words turned over in each lane.
    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let (ab, cd, ef, gh) = (a.low32(b), c.low32(d), a.high32(b), c.high32(d));
        [ab.low64(cd), ab.high64(cd), ef.low64(gh), ef.high64(gh)]
    }
}

macro_rules! words {
    ($vector:ty; $($method:ident($self:ident $(, $other:ident)?) => $result:expr;)+) => {
        impl Words for $vector {
            $(
                #[inline(always)]
                fn $method($self $(, $other: Self)?) -> Self {
                    // SAFETY: only functions with the features call these methods.
                    unsafe { $result }
                }
            )+
        }
    };
}

words! {
    __m128i;
    and(self, other) => _mm_and_si128(self, other);
    shift4(self) => _mm_srli_epi32::<4>(self);
    shuffle(self, by) => _mm_shuffle_epi8(self, by);
    low32(self, other) => _mm_unpacklo_epi32(self, other);
    high32(self, other) => _mm_unpackhi_epi32(self, other);
    low64(self, other) => _mm_unpacklo_epi64(self, other);
    high64(self, other) => _mm_unpackhi_epi64(self, other);
}

words! {
    __m256i;
    and(self, other) => _mm256_and_si256(self, other);
    shift4(self) => _mm256_srli_epi32::<4>(self);
    shuffle(self, by) => _mm256_shuffle_epi8(self, by);
    low32(self, other) => _mm256_unpacklo_epi32(self, other);
    high32(self, other) => _mm256_unpackhi_epi32(self, other);
    low64(self, other) => _mm256_unpacklo_epi64(self, other);
    high64(self, other) => _mm256_unpackhi_epi64(self, other);
}

words! {
    __m512i;
    and(self, other) => _mm512_and_si512(self, other);
    shift4(self) => _mm512_srli_epi32::<4>(self);
    shuffle(self, by) => _mm512_shuffle_epi8(self, by);
    low32(self, other) => _mm512_unpacklo_epi32(self, other);
    high32(self, other) => _mm512_unpackhi_epi32(self, other);
    low64(self, other) => _mm512_unpacklo_epi64(self, other);
    high64(self, other) => _mm512_unpackhi_epi64(self, other);
}

/// One way to compute the S-box and what follows it. Words are in the order of memory: the first byte is the lowest, so that "the next
/// byte" of the standard's words is the next higher one here.
pub(super) trait Unit {
    type Vector: Words;
    /// Bytes into the basis of AES's field.
    fn enter(words: Self::Vector) -> Self::Vector;
    /// And back.
    fn leave(words: Self::Vector) -> Self::Vector;
    /// The four terms of L(S(x)), which is their sum.
    fn cipher(x: Self::Vector) -> [Self::Vector; 4];
    /// The four terms of L′(S(x)).
    fn key(x: Self::Vector) -> [Self::Vector; 4];
}

/// AESENCLAST: its S-box inverts in AES's field; affine maps are look-ups of nibbles by a shuffle.
pub(super) struct AesBox<L>(PhantomData<L>);

/// GFNI: its instructions invert and apply affine maps.
pub(super) struct GfniBox<V>(PhantomData<V>);

/// Who has the instruction AESENCLAST for a whole vector.
pub(super) trait Last {
    type Vector: Words;
    fn last(x: Self::Vector) -> Self::Vector;
}

/// VAES, or AES-NI on 128 bits.
pub(super) struct Whole<V>(PhantomData<V>);

/// AES-NI on the halves of a vector of 256 bits.
pub(super) struct Halves;

impl Halves {
    /// Two blocks as a vector.
    #[inline(always)]
    pub(super) fn join([low, high]: [__m128i; 2]) -> __m256i {
        // SAFETY: only functions with AVX2 call this.
        unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high) }
    }

    /// The reverse.
    #[inline(always)]
    pub(super) fn of(x: __m256i) -> [__m128i; 2] {
        // SAFETY: only functions with AVX2 call this.
        unsafe { [_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)] }
    }
}

impl<V: Words> Last for Whole<V> {
    type Vector = V;

    #[inline(always)]
    fn last(x: V) -> V {
        // SAFETY: SSE2 is part of x86-64.
        x.encrypt_last(V::splat(unsafe { _mm_setzero_si128() }))
    }
}

impl Last for Halves {
    type Vector = __m256i;

    #[inline(always)]
    fn last(x: __m256i) -> __m256i {
        let [low, high] = Self::of(x);
        // SAFETY: only functions with AVX2 and AES call this.
        Self::join(unsafe {
            [_mm_aesenclast_si128(low, _mm_setzero_si128()), _mm_aesenclast_si128(high, _mm_setzero_si128())]
        })
    }
}

type Tables = [[u8; 16]; 2];

const fn of_map(map: Map) -> Tables {
    Affine { map, constant: 0 }.nibbles()
}

const ENTER: Tables = of_map(GFNI.enter);
const LEAVE: Tables = of_map(GFNI.leave);
const CIPHER: [Tables; 2] = [AES.cipher[0].nibbles(), AES.cipher[1].nibbles()];
const KEY: [Tables; 4] = [AES.key[0].nibbles(), AES.key[1].nibbles(), AES.key[2].nibbles(), AES.key[3].nibbles()];

/// Byte j of each word from byte j + `by`.
const fn moved(by: usize) -> [u8; 16] {
    let (mut indices, mut i) = ([0; 16], 0);
    while i < 16 {
        indices[i] = (i / 4 * 4 + (i + by) % 4) as u8;
        i += 1;
    }
    indices
}

/// The same after AESENCLAST, whose ShiftRows took row r of column c from column c + r (FIPS 197 §5.1.2).
const fn moved_back(by: usize) -> [u8; 16] {
    let (mut indices, mut i) = (moved(by), 0);
    while i < 16 {
        let (row, column) = (indices[i] as usize % 4, indices[i] as usize / 4);
        indices[i] = ((column + 4 - row) % 4 * 4 + row) as u8;
        i += 1;
    }
    indices
}

/// The nibbles of each byte, the lower first.
#[inline(always)]
fn nibbles<V: Words>(x: V) -> [V; 2] {
    let mask = V::bytes([0x0f; 16]);
    [x.and(mask), x.shift4().and(mask)]
}

#[inline(always)]
fn look_up<V: Words>(tables: Tables, [low, high]: [V; 2]) -> V {
    V::bytes(tables[0]).shuffle(low).xor(V::bytes(tables[1]).shuffle(high))
}

impl<L: Last> Unit for AesBox<L> {
    type Vector = L::Vector;

    #[inline(always)]
    fn enter(words: L::Vector) -> L::Vector {
        look_up(ENTER, nibbles(words))
    }

    #[inline(always)]
    fn leave(words: L::Vector) -> L::Vector {
        look_up(LEAVE, nibbles(words))
    }

    #[inline(always)]
    fn cipher(x: L::Vector) -> [L::Vector; 4] {
        let nibbles = nibbles(L::last(x));
        let [first, second] = [look_up(CIPHER[0], nibbles), look_up(CIPHER[1], nibbles)];
        let by = |indices| L::Vector::bytes(indices);
        [
            first.shuffle(by(const { moved_back(0) })),
            second.shuffle(by(const { moved_back(1) })),
            second.shuffle(by(const { moved_back(2) })),
            first.xor(second).shuffle(by(const { moved_back(3) })),
        ]
    }

    #[inline(always)]
    fn key(x: L::Vector) -> [L::Vector; 4] {
        let nibbles = nibbles(L::last(x));
        let by = |indices| L::Vector::bytes(indices);
        [
            look_up(KEY[0], nibbles).shuffle(by(const { moved_back(0) })),
            look_up(KEY[1], nibbles).shuffle(by(const { moved_back(1) })),
            look_up(KEY[2], nibbles).shuffle(by(const { moved_back(2) })),
            look_up(KEY[3], nibbles).shuffle(by(const { moved_back(3) })),
        ]
    }
}

/// GFNI's instructions.
pub(super) trait Gfni: Words {
    /// The map of each byte.
    fn affine(self, map: Map) -> Self;
    /// The map of the inverse of each byte, plus a constant.
    fn affine_of_inverse<const CONSTANT: i32>(self, map: Map) -> Self;
}

macro_rules! gfni {
    ($vector:ty, $affine:ident, $inverse:ident) => {
        impl Gfni for $vector {
            #[inline(always)]
            fn affine(self, map: Map) -> Self {
                // SAFETY: only functions with the features call these methods; SSE2 is part of x86-64.
                unsafe { $affine::<0>(self, Self::splat(_mm_set1_epi64x(map.gfni()))) }
            }

            #[inline(always)]
            fn affine_of_inverse<const CONSTANT: i32>(self, map: Map) -> Self {
                // SAFETY: as above.
                unsafe { $inverse::<CONSTANT>(self, Self::splat(_mm_set1_epi64x(map.gfni()))) }
            }
        }
    };
}

gfni!(__m128i, _mm_gf2p8affine_epi64_epi8, _mm_gf2p8affineinv_epi64_epi8);
gfni!(__m256i, _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8affineinv_epi64_epi8);
gfni!(__m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8affineinv_epi64_epi8);

impl<V: Gfni> Unit for GfniBox<V> {
    type Vector = V;

    #[inline(always)]
    fn enter(words: V) -> V {
        words.affine(GFNI.enter)
    }

    #[inline(always)]
    fn leave(words: V) -> V {
        words.affine(GFNI.leave)
    }

    #[inline(always)]
    fn cipher(x: V) -> [V; 4] {
        let first = x.affine_of_inverse::<{ GFNI.cipher[0].constant as i32 }>(GFNI.cipher[0].map);
        let second = x.affine_of_inverse::<{ GFNI.cipher[1].constant as i32 }>(GFNI.cipher[1].map);
        let fourth = x.affine_of_inverse::<{ GFNI.cipher[3].constant as i32 }>(GFNI.cipher[3].map);
        let by = |indices| V::bytes(indices);
        [
            first,
            second.shuffle(by(const { moved(1) })),
            second.shuffle(by(const { moved(2) })),
            fourth.shuffle(by(const { moved(3) })),
        ]
    }

    #[inline(always)]
    fn key(x: V) -> [V; 4] {
        let by = |indices| V::bytes(indices);
        [
            x.affine_of_inverse::<{ GFNI.key[0].constant as i32 }>(GFNI.key[0].map),
            x.affine_of_inverse::<{ GFNI.key[1].constant as i32 }>(GFNI.key[1].map).shuffle(by(const { moved(1) })),
            x.affine_of_inverse::<{ GFNI.key[2].constant as i32 }>(GFNI.key[2].map).shuffle(by(const { moved(2) })),
            x.affine_of_inverse::<{ GFNI.key[3].constant as i32 }>(GFNI.key[3].map).shuffle(by(const { moved(3) })),
        ]
    }
}
