//! The Montgomery ladder, RFC 7748 §5, in safe Rust.

use super::field::{A24, Element};
use super::{Quotient, Scalar, exchanges};
use candor_cpu::barrier;

/// The scalar times the point with this u-coordinate.
pub(crate) fn ladder(scalar: &Scalar, u: &[u8; 32], into: &mut Quotient) {
    let x1 = Element::from_bytes(u);
    let (mut x2, mut z2, mut x3, mut z3) = (Element::ONE, Element::ZERO, x1, Element::ONE);
    let exchanges = exchanges(scalar);
    // A clamped scalar ends in three zeros, so no exchange is left at the end.
    for bit in (0..255).rev() {
        let mask = barrier::mask_u64(exchanges[bit / 64] >> (bit % 64) & 1);
        x2.exchange(&mut x3, mask);
        z2.exchange(&mut z3, mask);
        let (a, b) = (x2.plus(&z2), x2.minus(&z2));
        let (c, d) = (x3.plus(&z3), x3.minus(&z3));
        let (aa, bb) = (a.squared(), b.squared());
        let (da, cb) = (d.times(&a), c.times(&b));
        let e = aa.minus(&bb);
        x3 = da.plus(&cb).squared();
        z3 = da.minus(&cb).squared().times(&x1);
        x2 = aa.times(&bb);
        z2 = e.times(&aa.plus(&e.times_small(A24)));
    }
    *into = Quotient { x: x2, z: z2 };
}
