//! Elliptic curves y² = x³ + ax + b over a prime field, of prime order: arithmetic, multiples of points, and the parameters of each curve.
//!
//! `docs/curves.md` has the mathematics, the bounds and the exceptional cases.

pub(crate) mod group;
pub(crate) mod modulus;
pub(crate) mod multiply;
pub(crate) mod portable;
pub(crate) mod sm2;

pub(crate) use crate::inverse::Prime;
pub(crate) use group::{Affine, Group};
pub(crate) use modulus::{Modulus, Ring, Words};

/// A multiple of the generator in a table: x and y in Montgomery's form.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Entry(pub(crate) [Words; 2]);

/// Bits of a window of the comb, windows in a scalar, and multiples that each window has a table of.
pub(crate) const COMB_BITS: usize = 7;
pub(crate) const COMB_WINDOWS: usize = 37;
pub(crate) const COMB_ENTRIES: usize = 1 << (COMB_BITS - 1);

/// j·2^(7i)·G at `[i][j − 1]`.
pub(crate) type Comb = [[Entry; COMB_ENTRIES]; COMB_WINDOWS];

/// A curve with a = −3, of prime order n, where both p and n lie between 2^255 and 2^256.
pub(crate) trait Curve: Copy + 'static {
    /// The field's modulus p.
    type Field: Modulus;
    /// The order n of the group.
    type Order: Modulus;
    /// b, as an integer.
    const B: Words;
    /// The generator's coordinates, as integers.
    const GENERATOR: [Words; 2];
    /// Its multiples.
    fn comb() -> &'static Comb;
}

/// One way to compute modulo a prime of 256 bits, on numbers below it.
pub(crate) trait Arithmetic: Copy {
    /// a·b/2^256 for a below 2^256 and b below the modulus.
    fn product<M: Modulus>(self, a: &Words, b: &Words) -> Words;
    /// a²/2^256.
    fn square<M: Modulus>(self, a: &Words) -> Words;
    /// a + b.
    fn sum<M: Modulus>(self, a: &Words, b: &Words) -> Words;
    /// a − b.
    fn difference<M: Modulus>(self, a: &Words, b: &Words) -> Words;
    /// a/2.
    fn half<M: Modulus>(self, a: &Words) -> Words;
    /// `other` where the mask is all ones, `one` where it is zero.
    fn chosen(self, one: &Words, other: &Words, mask: u64) -> Words;
    /// The entry at `number` − 1; zeros if `number` is 0. Reads all entries.
    fn selected<const N: usize>(self, entries: &[[Words; N]], number: u64) -> [Words; N];
    /// [`selected`](Self::selected) for a window of the comb.
    fn selected_entry(self, entries: &[Entry; COMB_ENTRIES], number: u64) -> [Words; 2];
}

/// All ones if the number is zero, else zero.
#[inline(always)]
pub(crate) fn is_zero([a, b, c, d]: &Words) -> u64 {
    let any = a | b | c | d;
    candor_cpu::barrier::mask_u64(1 ^ ((any | any.wrapping_neg()) >> 63))
}

/// The words of a number, of which the bytes have the highest first.
#[inline(always)]
pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Words {
    let [d, c, b, a] = *bytes.as_chunks::<8>().0 else { unreachable!("32 bytes are four words") };
    [a, b, c, d].map(u64::from_be_bytes)
}

/// The bytes of a number, the highest first.
#[inline(always)]
pub(crate) fn to_bytes(words: &Words) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words.iter().rev()) {
        *to = word.to_be_bytes();
    }
    bytes
}
