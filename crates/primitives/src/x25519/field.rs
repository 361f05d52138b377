//! Integers modulo p = 2^255 − 19 in five limbs of 51 bits.

use crate::inverse::{self, Prime};
use candor_cpu::barrier;

/// A number modulo p: Σ limb·2^(51n). Limbs may exceed 51 bits; `docs/x25519.md` says by how much where.
#[derive(Clone, Copy)]
pub(crate) struct Element(pub(crate) [u64; 5]);

pub(crate) const LIMB: u64 = (1 << 51) - 1;

/// (A − 2) / 4 for Curve25519, RFC 7748 §5.
pub(crate) const A24: u64 = 121665;

/// p.
#[derive(Clone, Copy)]
struct P;

impl Prime<4> for P {
    const P: [u64; 4] = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];
}

/// 4p, each limb of it at least 2^53 − 76.
const FOUR_P: [u64; 5] = [4 * (LIMB - 18), 4 * LIMB, 4 * LIMB, 4 * LIMB, 4 * LIMB];

impl Element {
    pub(crate) const ZERO: Self = Self([0; 5]);
    pub(crate) const ONE: Self = Self([1, 0, 0, 0, 0]);

    /// The number in these bytes (RFC 7748 §5, `decodeUCoordinate`): bit 255 is ignored, and p and above are accepted.
    #[inline(always)]
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let word = |n: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[n]);
        let (a, b, c, d) = (word(0), word(1), word(2), word(3));
        Self([
            a & LIMB,
            (a >> 51 | b << 13) & LIMB,
            (b >> 38 | c << 26) & LIMB,
            (c >> 25 | d << 39) & LIMB,
            d >> 12 & LIMB,
        ])
    }

    /// The number below p, in bytes. Limbs up to 2^63.
    #[inline(always)]
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        let [a, b, c, d] = self.to_words();
        let mut bytes = [0; 32];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip([a, b, c, d]) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// The number below p, in words, the lowest first. Limbs up to 2^63.
    #[inline(always)]
    pub(crate) fn to_words(self) -> [u64; 4] {
        let [mut a, mut b, mut c, mut d, mut e] = self.carried().carried().0;
        // The number is below 2p now. It is p or more just if adding 19 reaches 2^255.
        let mut above = (a + 19) >> 51;
        above = (b + above) >> 51;
        above = (c + above) >> 51;
        above = (d + above) >> 51;
        above = (e + above) >> 51;
        a += 19 * above;
        b += a >> 51;
        c += b >> 51;
        d += c >> 51;
        e += d >> 51;
        [a, b, c, d, e] = [a, b, c, d, e].map(|limb| limb & LIMB);
        [a | b << 51, b >> 13 | c << 38, c >> 26 | d << 25, d >> 39 | e << 12]
    }

    /// The number in words. The highest word is below 2^63.
    #[inline(always)]
    pub(crate) fn from_words([a, b, c, d]: [u64; 4]) -> Self {
        Self([a & LIMB, (a >> 51 | b << 13) & LIMB, (b >> 38 | c << 26) & LIMB, (c >> 25 | d << 39) & LIMB, d >> 12])
    }

    /// 1 if the number is 0 modulo p, else 0.
    #[inline(always)]
    pub(crate) fn is_zero(self) -> u64 {
        let [a, b, c, d] = self.to_words();
        let any = a | b | c | d;
        barrier::opaque_u64(1 ^ ((any | any.wrapping_neg()) >> 63))
    }

    /// The same number, limbs up to 2^51 + 2^13·19 after one pass from 2^64.
    #[inline(always)]
    pub(crate) fn carried(self) -> Self {
        let [a, b, c, d, e] = self.0;
        Self([
            (a & LIMB) + 19 * (e >> 51),
            (b & LIMB) + (a >> 51),
            (c & LIMB) + (b >> 51),
            (d & LIMB) + (c >> 51),
            (e & LIMB) + (d >> 51),
        ])
    }

    /// The sum; limbs are added and not carried.
    #[inline(always)]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|n| self.0[n] + other.0[n]))
    }

    /// The difference, for a subtrahend with limbs up to 2^52 + 2^51; not carried.
    #[inline(always)]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|n| self.0[n] + FOUR_P[n] - other.0[n]))
    }

    /// The product, for limbs up to 2^54; carried.
    #[inline(always)]
    pub(crate) fn times(&self, other: &Self) -> Self {
        let [a0, a1, a2, a3, a4] = self.0;
        let [b0, b1, b2, b3, b4] = other.0;
        let [w1, w2, w3, w4] = [19 * b1, 19 * b2, 19 * b3, 19 * b4];
        reduced([
            by(a0, b0) + by(a1, w4) + by(a2, w3) + by(a3, w2) + by(a4, w1),
            by(a0, b1) + by(a1, b0) + by(a2, w4) + by(a3, w3) + by(a4, w2),
            by(a0, b2) + by(a1, b1) + by(a2, b0) + by(a3, w4) + by(a4, w3),
            by(a0, b3) + by(a1, b2) + by(a2, b1) + by(a3, b0) + by(a4, w4),
            by(a0, b4) + by(a1, b3) + by(a2, b2) + by(a3, b1) + by(a4, b0),
        ])
    }

    /// The square, for limbs up to 2^54; carried.
    #[inline(always)]
    pub(crate) fn squared(&self) -> Self {
        let [a0, a1, a2, a3, a4] = self.0;
        let [d0, d1, d2] = [2 * a0, 2 * a1, 2 * a2];
        let [w3, w4] = [19 * a3, 19 * a4];
        reduced([
            by(a0, a0) + by(d1, w4) + by(d2, w3),
            by(d0, a1) + by(d2, w4) + by(a3, w3),
            by(d0, a2) + by(a1, a1) + by(2 * a3, w4),
            by(d0, a3) + by(d1, a2) + by(a4, w4),
            by(d0, a4) + by(d1, a3) + by(a2, a2),
        ])
    }

    /// The product with a number below 2^17, for limbs up to 2^55; carried.
    #[inline(always)]
    pub(crate) fn times_small(&self, factor: u64) -> Self {
        reduced(self.0.map(|limb| by(limb, factor)))
    }

    /// The inverse, for limbs up to 2^63. That of 0 is 0.
    #[inline(always)]
    pub(crate) fn inverse(&self) -> Self {
        Self::from_words(inverse::inverse::<P, 4>(&self.to_words(), inverse::twenty_steps))
    }

    /// Exchanges the two where `mask` is all ones; leaves them where it is zero.
    #[inline(always)]
    pub(crate) fn exchange(&mut self, other: &mut Self, mask: u64) {
        for (a, b) in self.0.iter_mut().zip(&mut other.0) {
            let both = (*a ^ *b) & mask;
            *a ^= both;
            *b ^= both;
        }
    }
}

#[inline(always)]
fn by(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// Five sums below 2^115, of which the carry of the highest is below 2^60, as limbs.
#[inline(always)]
fn reduced([s0, s1, s2, s3, s4]: [u128; 5]) -> Element {
    let s1 = s1 + u128::from((s0 >> 51) as u64);
    let s2 = s2 + u128::from((s1 >> 51) as u64);
    let s3 = s3 + u128::from((s2 >> 51) as u64);
    let s4 = s4 + u128::from((s3 >> 51) as u64);
    let low = |sum: u128| sum as u64 & LIMB;
    let l0 = low(s0) + 19 * (s4 >> 51) as u64;
    Element([l0 & LIMB, low(s1) + (l0 >> 51), low(s2), low(s3), low(s4)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By Fermat: the power p − 2, bit by bit.
    fn by_fermat(z: &Element) -> Element {
        let mut power = Element::ONE;
        for bit in (0..255).rev() {
            power = power.squared();
            // p − 2 = 2^255 − 21 has zeros at bits 2 and 4 only.
            if bit != 2 && bit != 4 {
                power = power.times(z);
            }
        }
        power
    }

    #[test]
    fn the_inverse_of_zero_is_zero() {
        assert_eq!(Element::ZERO.inverse().to_bytes(), [0; 32]);
        // p, which is zero as well.
        let p = core::array::from_fn(|n| {
            if n == 0 {
                0xed
            } else if n == 31 {
                0x7f
            } else {
                0xff
            }
        });
        assert_eq!(Element::from_bytes(&p).inverse().to_bytes(), [0; 32]);
    }

    #[test]
    fn extreme_numbers_have_the_inverses_that_fermat_gives() {
        for shift in 0..255 {
            let mut words = [0; 4];
            words[shift / 64] = 1 << (shift % 64);
            let power = Element::from_words(words);
            for z in [power, Element::ZERO.minus(&power), power.plus(&Element::ONE), power.minus(&Element::ONE)] {
                assert_eq!(z.inverse().to_bytes(), by_fermat(&z).to_bytes());
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_has_the_inverse_that_fermat_gives(bytes in any::<[u8; 32]>()) {
            let z = Element::from_bytes(&bytes);
            prop_assert_eq!(z.inverse().to_bytes(), by_fermat(&z).to_bytes());
        }
    }
}
