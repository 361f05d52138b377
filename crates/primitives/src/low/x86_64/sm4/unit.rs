//! The units that compute SM4's S-box in AES's field, for vectors of four words a lane of 128 bits.

use super::super::blocks::{AesRounds, Blocks};
use super::super::registers::{ProvesAvx2, ProvesAvx512, ProvesClmul, ProvesGfni, ProvesVpclmul, Xmm, Ymm, Zmm};
use crate::sm4_box::{AES, Affine, GFNI, Map};
use candor_cpu::{HaveAvx2, HaveClmul};
use core::arch::x86_64::*;
use core::marker::PhantomData;

/// What the rounds need of vectors beside [`Blocks`].
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
    fn word(proof: Self::Proof, word: u32) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self::splat(Xmm::new(proof, unsafe { _mm_set1_epi32(word as i32) }))
    }

    /// These bytes in each lane.
    #[inline(always)]
    fn bytes(proof: Self::Proof, bytes: [u8; 16]) -> Self {
        Self::splat(Xmm::load(proof, &[bytes]))
    }

    /// A square of words turned over in each lane.
    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let (ab, cd, ef, gh) = (a.low32(b), c.low32(d), a.high32(b), c.high32(d));
        [ab.low64(cd), ab.high64(cd), ef.low64(gh), ef.high64(gh)]
    }
}

macro_rules! words {
    ($vector:ident by $proof:ident $(+ $more:ident)*; $($method:ident($a:ident $(, $b:ident)?) => $result:expr;)+) => {
        impl<P: $proof $(+ $more)*> Words for $vector<P> {
            $(
                #[inline(always)]
                fn $method(self $(, $b: Self)?) -> Self {
                    let ($a, $($b)?) = (self.0, $($b.0)?);
                    // SAFETY: the tokens that the vector was made with prove the instructions.
                    self.with(unsafe { $result })
                }
            )+
        }
    };
}

words! {
    Xmm by ProvesClmul;
    and(a, b) => _mm_and_si128(a, b);
    shift4(a) => _mm_srli_epi32::<4>(a);
    shuffle(a, b) => _mm_shuffle_epi8(a, b);
    low32(a, b) => _mm_unpacklo_epi32(a, b);
    high32(a, b) => _mm_unpackhi_epi32(a, b);
    low64(a, b) => _mm_unpacklo_epi64(a, b);
    high64(a, b) => _mm_unpackhi_epi64(a, b);
}

words! {
    Ymm by ProvesClmul + ProvesAvx2;
    and(a, b) => _mm256_and_si256(a, b);
    shift4(a) => _mm256_srli_epi32::<4>(a);
    shuffle(a, b) => _mm256_shuffle_epi8(a, b);
    low32(a, b) => _mm256_unpacklo_epi32(a, b);
    high32(a, b) => _mm256_unpackhi_epi32(a, b);
    low64(a, b) => _mm256_unpacklo_epi64(a, b);
    high64(a, b) => _mm256_unpackhi_epi64(a, b);
}

words! {
    Zmm by ProvesClmul + ProvesAvx512;
    and(a, b) => _mm512_and_si512(a, b);
    shift4(a) => _mm512_srli_epi32::<4>(a);
    shuffle(a, b) => _mm512_shuffle_epi8(a, b);
    low32(a, b) => _mm512_unpacklo_epi32(a, b);
    high32(a, b) => _mm512_unpackhi_epi32(a, b);
    low64(a, b) => _mm512_unpacklo_epi64(a, b);
    high64(a, b) => _mm512_unpackhi_epi64(a, b);
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
pub(super) struct AesBox<V>(PhantomData<V>);

/// Vectors with the instruction AESENCLAST.
pub(super) trait Last: Words {
    /// It, with a key of zeros.
    fn last(self) -> Self;
}

/// AES-NI.
impl<P: ProvesClmul> Last for Xmm<P> {
    #[inline(always)]
    fn last(self) -> Self {
        self.encrypt_last(Self::zero(self.proof()))
    }
}

/// VAES.
impl<P: ProvesVpclmul> Last for Ymm<P> {
    #[inline(always)]
    fn last(self) -> Self {
        self.encrypt_last(Self::zero(self.proof()))
    }
}

/// AES-NI on the halves of a vector.
impl Last for Ymm<(HaveClmul, HaveAvx2)> {
    #[inline(always)]
    fn last(self) -> Self {
        let [low, high] = self.halves();
        Self::join([low.last(), high.last()])
    }
}

/// GFNI: its instructions invert and apply affine maps.
pub(super) struct GfniBox<V>(PhantomData<V>);

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
    let mask = V::bytes(x.proof(), [0x0f; 16]);
    [x.and(mask), x.shift4().and(mask)]
}

#[inline(always)]
fn look_up<V: Words>(tables: Tables, [low, high]: [V; 2]) -> V {
    let proof = low.proof();
    V::bytes(proof, tables[0]).shuffle(low).xor(V::bytes(proof, tables[1]).shuffle(high))
}

impl<V: Last> Unit for AesBox<V> {
    type Vector = V;

    #[inline(always)]
    fn enter(words: V) -> V {
        look_up(ENTER, nibbles(words))
    }

    #[inline(always)]
    fn leave(words: V) -> V {
        look_up(LEAVE, nibbles(words))
    }

    #[inline(always)]
    fn cipher(x: V) -> [V; 4] {
        let nibbles = nibbles(x.last());
        let [first, second] = [look_up(CIPHER[0], nibbles), look_up(CIPHER[1], nibbles)];
        let by = |indices| V::bytes(x.proof(), indices);
        [
            first.shuffle(by(const { moved_back(0) })),
            second.shuffle(by(const { moved_back(1) })),
            second.shuffle(by(const { moved_back(2) })),
            first.xor(second).shuffle(by(const { moved_back(3) })),
        ]
    }

    #[inline(always)]
    fn key(x: V) -> [V; 4] {
        let nibbles = nibbles(x.last());
        let by = |indices| V::bytes(x.proof(), indices);
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

    /// A map as the instructions take it.
    #[inline(always)]
    fn matrix(proof: Self::Proof, map: Map) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self::splat(Xmm::new(proof, unsafe { _mm_set1_epi64x(map.gfni()) }))
    }
}

macro_rules! gfni {
    ($vector:ident by $proof:ident $(+ $more:ident)*: $affine:ident, $inverse:ident) => {
        impl<P: $proof $(+ $more)*> Gfni for $vector<P> {
            #[inline(always)]
            fn affine(self, map: Map) -> Self {
                // SAFETY: the tokens that the vector was made with prove the instructions.
                self.with(unsafe { $affine::<0>(self.0, Self::matrix(self.proof(), map).0) })
            }

            #[inline(always)]
            fn affine_of_inverse<const CONSTANT: i32>(self, map: Map) -> Self {
                // SAFETY: as above.
                self.with(unsafe { $inverse::<CONSTANT>(self.0, Self::matrix(self.proof(), map).0) })
            }
        }
    };
}

gfni!(Xmm by ProvesClmul + ProvesGfni: _mm_gf2p8affine_epi64_epi8, _mm_gf2p8affineinv_epi64_epi8);
gfni!(Ymm by ProvesClmul + ProvesGfni: _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8affineinv_epi64_epi8);
gfni!(Zmm by ProvesClmul + ProvesAvx512 + ProvesGfni: _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8affineinv_epi64_epi8);

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
        let by = |indices| V::bytes(x.proof(), indices);
        [
            first,
            second.shuffle(by(const { moved(1) })),
            second.shuffle(by(const { moved(2) })),
            fourth.shuffle(by(const { moved(3) })),
        ]
    }

    #[inline(always)]
    fn key(x: V) -> [V; 4] {
        let by = |indices| V::bytes(x.proof(), indices);
        [
            x.affine_of_inverse::<{ GFNI.key[0].constant as i32 }>(GFNI.key[0].map),
            x.affine_of_inverse::<{ GFNI.key[1].constant as i32 }>(GFNI.key[1].map).shuffle(by(const { moved(1) })),
            x.affine_of_inverse::<{ GFNI.key[2].constant as i32 }>(GFNI.key[2].map).shuffle(by(const { moved(2) })),
            x.affine_of_inverse::<{ GFNI.key[3].constant as i32 }>(GFNI.key[3].map).shuffle(by(const { moved(3) })),
        ]
    }
}
