//! Vectors of 256 bits, so that the kernels are written once for every arm.

use candor_cpu::barrier;
use core::ops::{Deref, DerefMut};

/// 256 bits as they lie in memory: bit i of word j is position 64j + i. None crosses a line of the cache; where the stack left it to chance, loads
/// that did made a decapsulation up to a third slower.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(crate) struct Row(pub(crate) [u64; 4]);

impl Row {
    pub(crate) const ZERO: Self = Self([0; 4]);
}

impl Deref for Row {
    type Target = [u64; 4];
    #[inline(always)]
    fn deref(&self) -> &[u64; 4] {
        &self.0
    }
}

impl DerefMut for Row {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64; 4] {
        &mut self.0
    }
}

impl zeroize::DefaultIsZeroes for Row {}

/// 256 bits in registers. One is made only from the proof that the CPU has its instructions, so all methods are safe. They are inlined
/// into functions that have the features; anywhere else they would be slow, but sound.
pub(crate) trait Vector: Copy {
    /// What proves the instructions.
    type Proof: Copy;
    fn load(proof: Self::Proof, row: &Row) -> Self;
    fn load_bytes(proof: Self::Proof, bytes: &[u8; 32]) -> Self;
    fn store(self, row: &mut Row);
    /// The same word four times.
    fn splat(proof: Self::Proof, word: u64) -> Self;
    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    /// All ones in each lane whose only bit in `self` is set in `word`, zeros in the others. No branch comes of the masks.
    fn masks(self, word: u64) -> Self;
    /// Each position moved up by one, the highest gone. At the lowest comes in the highest of `entering`'s lowest lane.
    fn up(self, entering: Self) -> Self;
    /// Each lane shifted up by `COUNT` bits.
    fn raise_lanes<const COUNT: i32>(self) -> Self;
    /// Each lane shifted down by `COUNT` bits.
    fn down_lanes<const COUNT: i32>(self) -> Self;
    /// Lane i becomes lane i ⊕ 1.
    fn swap_neighbours(self) -> Self;
    /// Lane i becomes lane i ⊕ 2.
    fn swap_halves(self) -> Self;
    /// Lane j of vector i becomes lane i of vector j.
    fn transpose(four: [Self; 4]) -> [Self; 4];

    /// Zeros.
    #[inline(always)]
    fn zero(proof: Self::Proof) -> Self {
        Self::splat(proof, 0)
    }

    /// `other` where `mask` has ones, `self` elsewhere.
    #[inline(always)]
    fn select(self, other: Self, mask: Self) -> Self {
        self.xor(self.xor(other).and(mask))
    }
}

/// The portable vector.
#[derive(Clone, Copy)]
pub(crate) struct Portable([u64; 4]);

impl Vector for Portable {
    type Proof = ();

    #[inline(always)]
    fn load((): (), row: &Row) -> Self {
        Self(row.0)
    }

    #[inline(always)]
    fn load_bytes((): (), bytes: &[u8; 32]) -> Self {
        let words = bytes.as_chunks::<8>().0;
        Self(core::array::from_fn(|i| u64::from_le_bytes(words[i])))
    }

    #[inline(always)]
    fn store(self, row: &mut Row) {
        row.0 = self.0;
    }

    #[inline(always)]
    fn splat((): (), word: u64) -> Self {
        Self([word; 4])
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    #[inline(always)]
    fn masks(self, word: u64) -> Self {
        Self(self.0.map(|bit| {
            let found = word & bit;
            barrier::opaque_u64(((found | found.wrapping_neg()).cast_signed() >> 63).cast_unsigned())
        }))
    }

    #[inline(always)]
    fn up(self, entering: Self) -> Self {
        let below = [entering.0[0], self.0[0], self.0[1], self.0[2]];
        Self(core::array::from_fn(|i| self.0[i] << 1 | below[i] >> 63))
    }

    #[inline(always)]
    fn raise_lanes<const COUNT: i32>(self) -> Self {
        Self(self.0.map(|word| word << COUNT))
    }

    #[inline(always)]
    fn down_lanes<const COUNT: i32>(self) -> Self {
        Self(self.0.map(|word| word >> COUNT))
    }

    #[inline(always)]
    fn swap_neighbours(self) -> Self {
        let Self([a, b, c, d]) = self;
        Self([b, a, d, c])
    }

    #[inline(always)]
    fn swap_halves(self) -> Self {
        let Self([a, b, c, d]) = self;
        Self([c, d, a, b])
    }

    #[inline(always)]
    fn transpose(four: [Self; 4]) -> [Self; 4] {
        core::array::from_fn(|i| Self(core::array::from_fn(|j| four[j].0[i])))
    }
}
