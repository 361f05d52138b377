//! The ladder and the comb on general registers.

use super::words::{Words, chosen, element, minus, plus, plus_small, product, square};
use crate::x25519::comb::{self, TABLE};
use crate::x25519::field::Element;
use crate::x25519::{Quotient, Scalar, exchanges};
use candor_cpu::{HaveAdx, barrier};

/// A function with the features that the token proves.
macro_rules! with_features {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*), $inner:ident) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name(token: HaveAdx, $($argument: $type),*) {
            #[target_feature(enable = "bmi2,adx")]
            fn with_features(token: HaveAdx, $($argument: $type),*) {
                $inner(token, $($argument),*);
            }
            // SAFETY: the token proves the features.
            unsafe { with_features(token, $($argument),*) }
        }
    };
}

with_features! {
    /// The scalar times the point with this u-coordinate.
    ladder(scalar: &Scalar, u: &[u8; 32], into: &mut Quotient), steps
}
with_features! {
    /// The scalar times the base point.
    base(scalar: &Scalar, into: &mut Quotient), windows
}

#[inline(always)]
fn steps(token: HaveAdx, scalar: &Scalar, u: &[u8; 32], into: &mut Quotient) {
    let x1 = Element::from_bytes(u).to_words();
    let (mut x2, mut z2, mut x3, mut z3) = ([1, 0, 0, 0], [0; 4], x1, [1, 0, 0, 0]);
    let exchanges = exchanges(scalar);
    for bit in (0..255).rev() {
        let mask = barrier::mask_u64(exchanges[bit / 64] >> (bit % 64) & 1);
        let (a, b) = (plus(&x2, &z2), minus(&x2, &z2));
        let (c, d) = (plus(&x3, &z3), minus(&x3, &z3));
        let (da, cb) = (product(token, &d, &a), product(token, &c, &b));
        // What doubles is (a, b), or (c, d) if the points are exchanged; the products of both are the same, but for their order.
        let (aa, bb) = (square(token, &chosen(&a, &c, mask)), square(token, &chosen(&b, &d, mask)));
        let e = minus(&aa, &bb);
        x3 = square(token, &plus(&da, &cb));
        z3 = product(token, &square(token, &minus(&da, &cb)), &x1);
        x2 = product(token, &aa, &bb);
        z2 = product(token, &e, &plus_small(token, &aa, &e));
    }
    *into = Quotient { x: element(&x2), z: element(&z2) };
}

/// The sum that `comb.rs` computes, by the same formulas.
#[inline(always)]
fn windows(token: HaveAdx, scalar: &Scalar, into: &mut Quotient) {
    let biased = comb::biased(scalar);
    let (mut x, mut y, mut z, mut t): (Words, Words, Words, Words) = ([0; 4], [1, 0, 0, 0], [1, 0, 0, 0], [0; 4]);
    for (window, entries) in TABLE.iter().enumerate() {
        let (magnitude, negative) = comb::digit(&biased, window);
        let [less, more, third] = comb::entry(entries, magnitude);
        // The negative of an entry has its first two numbers exchanged, and the third one's sign, which exchanges f and g.
        let a = product(token, &minus(&y, &x), &chosen(&less, &more, negative));
        let b = product(token, &plus(&y, &x), &chosen(&more, &less, negative));
        let (c, d) = (product(token, &t, &third), plus(&z, &z));
        let (e, h) = (minus(&b, &a), plus(&b, &a));
        let (below, above) = (minus(&d, &c), plus(&d, &c));
        let (f, g) = (chosen(&below, &above, negative), chosen(&above, &below, negative));
        (x, y) = (product(token, &e, &f), product(token, &g, &h));
        (z, t) = (product(token, &f, &g), product(token, &e, &h));
    }
    *into = Quotient { x: element(&plus(&z, &y)), z: element(&minus(&z, &y)) };
}
