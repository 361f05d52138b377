//! Products of single elements of GF(2⁸), each way that HQC's reference code and document 004 reduce them, to be compared: no KEM uses them unless
//! [`SymbolProduct`](crate::hqc::SymbolProduct) asks for it. All multiply by shifting and adding first, which is not how the reference code does.
//!
//! Each product is a call, as in the C code, where it stands in a file of its own.

use super::lanes::Field;
use candor_cpu::barrier;
use core::hint::black_box;

/// The exponents of the modulus' terms below x⁸.
const TAPS: [u32; 4] = [4, 3, 2, 0];

/// A way to multiply two elements.
pub(crate) trait Product: Copy {
    /// a · b.
    fn product(self, a: u8, b: u8) -> u8;
}

/// One product after another, in as many lanes as are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Singly<P>(pub(crate) P);

impl<P: Product> Field for Singly<P> {
    #[inline(always)]
    fn times<const L: usize>(self, a: &[u8; L], b: &[u8; L]) -> [u8; L] {
        core::array::from_fn(|i| self.0.product(a[i], b[i]))
    }

    #[inline(always)]
    fn combine<const L: usize>(self, a: &[u8; L], x: u8, b: &[u8; L], y: u8) -> [u8; L] {
        core::array::from_fn(|i| self.0.product(a[i], x) ^ self.0.product(b[i], y))
    }
}

/// Reduction in two rounds by a loop over the modulus' terms, which it looks for in the modulus each time, as HQC's reference code did up to round 4.
/// The modulus is hidden from the compiler, which would unroll the loop.
#[derive(Clone, Copy)]
pub(crate) struct Loop;

/// Reduction in two rounds by the modulus' terms, written out, as HQC's reference code has it since 2025.
#[derive(Clone, Copy)]
pub(crate) struct Taps;

/// Reduction in one round, which feeds back first what the modulus' terms throw above x⁷: document 004, with the mask that is missing there.
#[derive(Clone, Copy)]
pub(crate) struct OnePass;

impl Product for Loop {
    #[inline(never)]
    fn product(self, a: u8, b: u8) -> u8 {
        let mut sum = carryless(a, b);
        for _ in 0..2 {
            let mut high = sum >> 8;
            sum = sum & 0xff ^ high;
            let (mut left, mut last) = (black_box(0x11d_u32) & 0xfe, 0);
            while left > 0 {
                let term = left.trailing_zeros();
                high <<= term - last;
                sum ^= high;
                (left, last) = (left & (left - 1), term);
            }
        }
        sum as u8
    }
}

impl Product for Taps {
    #[inline(never)]
    fn product(self, a: u8, b: u8) -> u8 {
        let round = |sum: u32| TAPS.iter().fold(sum & 0xff, |low, tap| low ^ sum >> 8 << tap);
        round(round(carryless(a, b))) as u8
    }
}

impl Product for OnePass {
    #[inline(never)]
    fn product(self, a: u8, b: u8) -> u8 {
        one_pass(carryless(a, b))
    }
}

/// The product as a polynomial, of at most 15 bits.
#[inline(always)]
fn carryless(a: u8, b: u8) -> u32 {
    (0..8).fold(0, |sum, bit| {
        sum ^ (u32::from(a) << bit) & barrier::opaque_u32(0u32.wrapping_sub(u32::from(b >> bit & 1)))
    })
}

/// Such a polynomial modulo x⁸ + x⁴ + x³ + x² + 1.
#[inline(always)]
pub(crate) fn one_pass(product: u32) -> u8 {
    let high = product >> 8;
    let high = high ^ high >> 4 ^ high >> 5 ^ high >> 6;
    // Casting cuts off what stands above x⁷.
    (product ^ high ^ high << 2 ^ high << 3 ^ high << 4) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::lanes::product;

    #[test]
    fn all_products_are_those_of_the_lanes() {
        for a in 0..=255 {
            for b in 0..=255 {
                let expected = product(a, b);
                let found = [Loop.product(a, b), Taps.product(a, b), OnePass.product(a, b)];
                assert_eq!(found, [expected; 3], "{a} · {b}");
            }
        }
    }
}
