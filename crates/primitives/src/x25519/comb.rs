//! Multiples of the base point from a table: X25519(k, 9) is the u-coordinate of k·B, computed on the Edwards curve of RFC 7748 §4.1.
//!
//! k = Σ dᵢ·16ⁱ with digits −8 ≤ dᵢ ≤ 8, and the table holds j·16ⁱ·B for each i and 1 ≤ j ≤ 8. Each look-up reads all eight entries of
//! its window.

use super::field::{Element, LIMB};
use super::{Quotient, Scalar};
use candor_cpu::barrier;

/// Windows of four bits in a scalar.
pub(crate) const WINDOWS: usize = 64;
/// Entries of a window.
pub(crate) const ENTRIES: usize = 8;

/// A point (x, y) as y − x, y + x and 2d·x·y: what the sum with it takes.
pub(crate) type Entry = [[u64; 4]; 3];

/// j·16ⁱ·B at `[i][j − 1]`. `comb.bin` has each number in 32 bytes, below p, the lowest byte first. It was written by the test
/// `write_the_table`, and `the_table_holds_the_multiples_of_the_base_point` derives it again.
pub(crate) static TABLE: [[Entry; ENTRIES]; WINDOWS] = read(include_bytes!("comb.bin"));

const fn read(bytes: &[u8; WINDOWS * ENTRIES * 96]) -> [[Entry; ENTRIES]; WINDOWS] {
    let mut table = [[[[0; 4]; 3]; ENTRIES]; WINDOWS];
    let words = bytes.as_chunks::<8>().0;
    let mut at = 0;
    while at < words.len() {
        table[at / 96][at / 12 % ENTRIES][at / 4 % 3][at % 4] = u64::from_le_bytes(words[at]);
        at += 1;
    }
    table
}

/// A number of the table in limbs.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // of a kernel
pub(crate) const fn limbs([a, b, c, d]: [u64; 4]) -> [u64; 5] {
    [a & LIMB, (a >> 51 | b << 13) & LIMB, (b >> 38 | c << 26) & LIMB, (c >> 25 | d << 39) & LIMB, d >> 12]
}

/// The scalar plus 8·16ⁱ for each i below 63. Its hexadecimal digits less 8 are the dᵢ; the last one is its digit as it is.
#[inline(always)]
pub(crate) fn biased(scalar: &Scalar) -> Scalar {
    const BIAS: u64 = 0x8888_8888_8888_8888;
    let (a, carry) = scalar[0].overflowing_add(BIAS);
    let (b, carry) = scalar[1].carrying_add(BIAS, carry);
    let (c, carry) = scalar[2].carrying_add(BIAS, carry);
    // A clamped scalar is below 2^255, so this does not overflow.
    [a, b, c, scalar[3] + (BIAS >> 4) + u64::from(carry)]
}

/// A digit: its absolute value, and all ones if it is negative.
#[inline(always)]
pub(crate) fn digit(biased: &Scalar, window: usize) -> (u64, u64) {
    let nibble = biased[window / 16] >> (window % 16 * 4) & 15;
    let digit = nibble.wrapping_sub(if window == WINDOWS - 1 { 0 } else { 8 });
    let negative = barrier::mask_u64(digit >> 63);
    ((digit ^ negative).wrapping_sub(negative), negative)
}

/// The u-coordinate of the scalar times the base point.
pub(crate) fn base(scalar: &Scalar, into: &mut Quotient) {
    let biased = biased(scalar);
    let mut sum = Point::NEUTRAL;
    for (window, entries) in TABLE.iter().enumerate() {
        let (magnitude, negative) = digit(&biased, window);
        sum = sum.plus(&select(entries, magnitude, negative));
    }
    *into = sum.u();
}

/// The entry of this magnitude. For 0 that is the neutral element.
#[inline(always)]
pub(crate) fn entry(entries: &[Entry; ENTRIES], magnitude: u64) -> Entry {
    let is = |number: u64| {
        let other = magnitude ^ number;
        barrier::mask_u64(1 ^ ((other | other.wrapping_neg()) >> 63))
    };
    let one = is(0) & 1;
    let mut found: Entry = [[one, 0, 0, 0], [one, 0, 0, 0], [0; 4]];
    for (number, entry) in (1..).zip(entries) {
        let mask = is(number);
        for (to, from) in found.as_flattened_mut().iter_mut().zip(entry.as_flattened()) {
            *to |= from & mask;
        }
    }
    found
}

/// The entry of this magnitude and sign.
#[inline(always)]
fn select(entries: &[Entry; ENTRIES], magnitude: u64, negative: u64) -> [Element; 3] {
    let [mut minus, mut plus, mut product] = entry(entries, magnitude).map(Element::from_words);
    minus.exchange(&mut plus, negative);
    product.exchange(&mut Element::ZERO.minus(&{ product }), negative);
    [minus, plus, product]
}

/// A point (X/Z, Y/Z) with T = XY/Z (Hisil, Wong, Carter, Dawson, "Twisted Edwards Curves Revisited", §3).
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) x: Element,
    pub(crate) y: Element,
    pub(crate) z: Element,
    pub(crate) t: Element,
}

/// 2d = −2·121665/121666.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // of a kernel
const TWICE_D: Element =
    Element([1859910466990425, 932731440258426, 1072319116312658, 1815898335770999, 633789495995903]);

impl Point {
    pub(crate) const NEUTRAL: Self = Self { x: Element::ZERO, y: Element::ONE, z: Element::ONE, t: Element::ZERO };

    /// The sum of any two points, likewise.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // of a kernel
    #[inline(always)]
    pub(crate) fn plus_any(&self, other: &Self) -> Self {
        let factors = [other.y.minus(&other.x), other.y.plus(&other.x), other.t.times(&TWICE_D)];
        Self { z: self.z.times(&other.z), ..*self }.plus(&factors)
    }

    /// The sum with a point of the table (§3.1 there, a = −1). It has no exceptions, since d is no square.
    #[inline(always)]
    fn plus(&self, [minus, plus, product]: &[Element; 3]) -> Self {
        let a = self.y.minus(&self.x).times(minus);
        let b = self.y.plus(&self.x).times(plus);
        let c = self.t.times(product);
        let d = self.z.plus(&self.z);
        let (e, f, g, h) = (b.minus(&a), d.minus(&c), d.plus(&c), b.plus(&a));
        Self { x: e.times(&f), y: g.times(&h), z: f.times(&g), t: e.times(&h) }
    }

    /// (1 + y) / (1 − y), RFC 7748 §4.1.
    #[inline(always)]
    pub(crate) fn u(&self) -> Quotient {
        Quotient { x: self.z.plus(&self.y), z: self.z.minus(&self.y) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The x-coordinate of RFC 8032 §5.1's base point.
    const X: [u8; 32] = [
        0x1a, 0xd5, 0x25, 0x8f, 0x60, 0x2d, 0x56, 0xc9, 0xb2, 0xa7, 0x25, 0x95, 0x60, 0xc7, 0x2c, 0x69, 0x5c, 0xdc,
        0xd6, 0xfd, 0x31, 0xe2, 0xa4, 0xc0, 0xfe, 0x53, 0x6e, 0xcd, 0xd3, 0x36, 0x69, 0x21,
    ];

    fn number(value: u64) -> Element {
        Element([value, 0, 0, 0, 0])
    }

    /// d = −121665/121666.
    fn d() -> Element {
        Element::ZERO.minus(&number(121665)).times(&number(121666).inverse())
    }

    fn entry_of(point: &Point) -> [Element; 3] {
        let inverse = point.z.inverse();
        let (x, y) = (point.x.times(&inverse), point.y.times(&inverse));
        let product = x.times(&y).times(&d());
        [y.minus(&x), y.plus(&x), product.plus(&product)].map(Element::carried)
    }

    /// The table, from the base point.
    fn derived() -> Vec<u8> {
        let x = Element::from_bytes(&X);
        let y = number(4).times(&number(5).inverse());
        let mut power = Point { x, y, z: Element::ONE, t: x.times(&y) };
        let mut bytes = Vec::new();
        for _ in 0..WINDOWS {
            let one = entry_of(&power);
            let mut multiple = power;
            for _ in 0..ENTRIES {
                bytes.extend(entry_of(&multiple).into_iter().flat_map(Element::to_bytes));
                multiple = multiple.plus(&one);
            }
            // It is 9 of them now; 16 = 9 + 7.
            power = (0..7).fold(multiple, |sum, _| sum.plus(&one));
        }
        bytes
    }

    #[test]
    fn the_base_point_is_on_the_curve_and_has_u_9() {
        let (x, y) = (Element::from_bytes(&X), number(4).times(&number(5).inverse()));
        let (xx, yy) = (x.squared(), y.squared());
        let right = Element::ONE.plus(&d().times(&xx).times(&yy));
        assert_eq!(yy.minus(&xx).to_bytes(), right.to_bytes());
        let point = Point { x, y, z: Element::ONE, t: x.times(&y) };
        assert_eq!(point.u().to_bytes(), number(9).to_bytes());
    }

    #[test]
    fn the_table_holds_the_multiples_of_the_base_point() {
        assert!(derived() == include_bytes!("comb.bin"));
    }

    #[test]
    #[ignore = "writes src/x25519/comb.bin"]
    fn write_the_table() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/x25519/comb.bin"), derived()).unwrap();
    }

    #[test]
    fn digits_add_up_to_the_scalar() {
        for scalar in [[0, 0, 0, 1 << 62], [!7, !0, !0, !0 >> 1], [0x8888888888888888; 4].map(|word| word >> 1)] {
            let biased = biased(&scalar);
            // From the highest digit down, in wrapping arithmetic on words: the sum is that of the scalar modulo 2^256.
            let mut sum = [0_u64; 4];
            for window in (0..WINDOWS).rev() {
                let (magnitude, negative) = digit(&biased, window);
                assert!(magnitude <= 8);
                sum = core::array::from_fn(|n| sum[n] << 4 | if n == 0 { 0 } else { sum[n - 1] >> 60 });
                let signed = (magnitude ^ negative).wrapping_sub(negative);
                let mut carry = false;
                for (n, word) in sum.iter_mut().enumerate() {
                    (*word, carry) = word.carrying_add(if n == 0 { signed } else { negative }, carry);
                }
            }
            assert_eq!(sum, scalar);
        }
    }
}
