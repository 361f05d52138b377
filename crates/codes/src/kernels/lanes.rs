//! GF(2⁸) modulo x⁸ + x⁴ + x³ + x² + 1, a field element a byte, without tables.
//!
//! A mask that all lanes share passes through [`candor_cpu::barrier`]: LLVM would make it a branch around the loop.

use candor_cpu::barrier;

/// The modulus without x⁸.
const MODULUS: u8 = 0x1d;

/// α^e for the generator α = x; any integer e.
pub(crate) const fn power(exponent: i32) -> u8 {
    let mut left = exponent.rem_euclid(255);
    let mut value = 1u8;
    while left > 0 {
        value = double(value);
        left -= 1;
    }
    value
}

/// α^(step · (i + first)) in lane i, for the first `count` lanes; zero beyond.
pub(crate) const fn powers<const L: usize>(step: i32, first: i32, count: usize) -> [u8; L] {
    let mut lanes = [0; L];
    let mut i = 0;
    while i < count {
        lanes[i] = power(step * (i as i32 + first));
        i += 1;
    }
    lanes
}

/// x · a.
#[inline(always)]
const fn double(a: u8) -> u8 {
    (a << 1) ^ (MODULUS & all_if_top(a))
}

/// 255 if bit 7 of `a` is set, or else 0.
#[inline(always)]
const fn all_if_top(a: u8) -> u8 {
    0u8.wrapping_sub(a >> 7)
}

/// 255 if `bit` of `a` is set, or else 0.
#[inline(always)]
pub(crate) const fn all_if(a: u8, bit: u32) -> u8 {
    0u8.wrapping_sub((a >> bit) & 1)
}

/// The same, of a value that all lanes share: no branch comes of it.
#[inline(always)]
pub(crate) fn mask_of(a: u8, bit: u32) -> u8 {
    barrier::opaque_u32(u32::from(all_if(a, bit))) as u8
}

/// a · b of two single elements.
pub(crate) const fn product(a: u8, b: u8) -> u8 {
    let (mut sum, mut bit) = (0, 8);
    while bit > 0 {
        bit -= 1;
        sum = double(sum) ^ (a & all_if(b, bit));
    }
    sum
}

/// How elements are multiplied, many at once.
pub(crate) trait Field: Copy {
    /// a · b in each lane.
    fn times<const L: usize>(self, a: &[u8; L], b: &[u8; L]) -> [u8; L];

    /// a · x + b · y in each lane, for two single elements x and y.
    fn combine<const L: usize>(self, a: &[u8; L], x: u8, b: &[u8; L], y: u8) -> [u8; L];

    /// 1/a in each lane, and 0 for 0: a²⁵⁴.
    #[inline(always)]
    fn inverse<const L: usize>(self, a: &[u8; L]) -> [u8; L] {
        let square = |a: &[u8; L]| self.times(a, a);
        let a2 = square(a);
        let a3 = self.times(&a2, a);
        let a12 = square(&square(&a3));
        let a15 = self.times(&a12, &a3);
        let a240 = square(&square(&square(&square(&a15))));
        self.times(&self.times(&a240, &a12), &a2)
    }
}

/// In all lanes at once, bit by bit: what the KEM computes with. The number of lanes is a multiple of 32.
#[derive(Clone, Copy)]
pub(crate) struct Lanes;

impl Field for Lanes {
    #[inline(always)]
    fn times<const L: usize>(self, a: &[u8; L], b: &[u8; L]) -> [u8; L] {
        times(a, b)
    }

    #[inline(always)]
    fn combine<const L: usize>(self, a: &[u8; L], x: u8, b: &[u8; L], y: u8) -> [u8; L] {
        combine(a, x, b, y)
    }
}

/// a · b in each lane.
#[inline(always)]
fn times<const L: usize>(a: &[u8; L], b: &[u8; L]) -> [u8; L] {
    let mut sum = [0; L];
    for ((sum, a), b) in thirty_two(&mut sum).zip(a.as_chunks::<32>().0).zip(b.as_chunks::<32>().0) {
        for bit in (0..8).rev() {
            for i in 0..32 {
                sum[i] = double(sum[i]) ^ (a[i] & all_if(b[i], bit));
            }
        }
    }
    sum
}

/// a · x + b · y in each lane, for two single elements x and y.
#[inline(always)]
fn combine<const L: usize>(a: &[u8; L], x: u8, b: &[u8; L], y: u8) -> [u8; L] {
    let (masks_of_x, masks_of_y) = (masks_of(x), masks_of(y));
    let mut sum = [0; L];
    for ((sum, a), b) in thirty_two(&mut sum).zip(a.as_chunks::<32>().0).zip(b.as_chunks::<32>().0) {
        for bit in (0..8).rev() {
            let (x, y) = (masks_of_x[bit], masks_of_y[bit]);
            for i in 0..32 {
                sum[i] = double(sum[i]) ^ (a[i] & x) ^ (b[i] & y);
            }
        }
    }
    sum
}

/// For each bit of `a`, 255 if it is set, or else 0. No closures: LLVM left those calls, now of one function, now of another, in the middle of the kernel.
#[inline(always)]
fn masks_of(a: u8) -> [u8; 8] {
    let mut masks = [0; 8];
    for (bit, mask) in masks.iter_mut().enumerate() {
        *mask = mask_of(a, bit as u32);
    }
    masks
}

/// a + b in each lane.
#[inline(always)]
pub(crate) fn plus<const L: usize>(a: &[u8; L], b: &[u8; L]) -> [u8; L] {
    core::array::from_fn(|i| a[i] ^ b[i])
}

/// One register of 256 bits after another.
#[inline(always)]
fn thirty_two<const L: usize>(lanes: &mut [u8; L]) -> impl Iterator<Item = &mut [u8; 32]> {
    const { assert!(L.is_multiple_of(32)) }
    lanes.as_chunks_mut::<32>().0.iter_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A product as the definition has it: shift and add, then divide.
    fn defined(a: u8, b: u8) -> u8 {
        let mut product = (0..8).fold(0u16, |sum, bit| sum ^ if b >> bit & 1 == 1 { u16::from(a) << bit } else { 0 });
        for bit in (8..15).rev() {
            if product >> bit & 1 == 1 {
                product ^= 0x11d << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn all_products_are_those_of_the_definition() {
        for a in 0..=255u8 {
            for b in (0..=255u8).step_by(32) {
                let bs: [u8; 32] = core::array::from_fn(|i| b + i as u8);
                let products = times(&[a; 32], &bs);
                for (b, found) in bs.into_iter().zip(products) {
                    assert_eq!((found, product(a, b)), (defined(a, b), defined(a, b)), "{a} · {b}");
                }
            }
        }
    }

    #[test]
    fn a_combination_is_the_sum_of_two_products() {
        let a: [u8; 64] = core::array::from_fn(|i| (i * 37 + 5) as u8);
        let b: [u8; 64] = core::array::from_fn(|i| (i * 91 + 2) as u8);
        for (x, y) in [(0, 0), (1, 0), (0, 1), (0x80, 0x53), (255, 254)] {
            let expected: [u8; 64] = core::array::from_fn(|i| defined(a[i], x) ^ defined(b[i], y));
            assert_eq!(combine(&a, x, &b, y), expected);
        }
    }

    #[test]
    fn every_element_but_zero_has_its_inverse() {
        for first in (0..=255u8).step_by(32) {
            let elements: [u8; 32] = core::array::from_fn(|i| first + i as u8);
            for (element, inverse) in elements.into_iter().zip(Lanes.inverse(&elements)) {
                assert_eq!(defined(element, inverse), u8::from(element != 0), "{element}");
            }
        }
    }

    #[test]
    fn powers_of_the_generator_run_through_the_field() {
        let seen: std::collections::BTreeSet<u8> = (0..255).map(power).collect();
        assert_eq!(seen.len(), 255);
        assert_eq!((power(0), power(1), power(8), power(-1)), (1, 2, 0x1d, 0x8e));
        assert_eq!(powers::<32>(-2, 1, 3)[..4], [power(-2), power(-4), power(-6), 0]);
    }
}
