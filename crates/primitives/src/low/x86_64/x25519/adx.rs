//! The ladder and the comb on general registers.

use super::words::{Numbers, element};
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

/// Names for the places of numbers, and how many there are.
macro_rules! places {
    ($($name:ident)*) => {
        #[allow(clippy::upper_case_acronyms)] // formulas' names
        enum Place { $($name,)* COUNT }
        $(const $name: usize = Place::$name as usize;)*
        const COUNT: usize = Place::COUNT as usize;
    };
}

#[inline(always)]
fn steps(token: HaveAdx, scalar: &Scalar, u: &[u8; 32], into: &mut Quotient) {
    places!(X1 X2 Z2 X3 Z3 A B C D DA CB AA BB E SUM DIFFERENCE FACTOR);
    let mut n = Numbers::<COUNT>([[0; 4]; COUNT]);
    n.0[X1] = Element::from_bytes(u).to_words();
    n.0[X2][0] = 1;
    n.0[X3] = n.0[X1];
    n.0[Z3][0] = 1;
    let exchanges = exchanges(scalar);
    for bit in (0..255).rev() {
        let mask = barrier::mask_u64(exchanges[bit / 64] >> (bit % 64) & 1);
        // A CPU looks ahead by some three products only, so each stands where its factors are just ready: in another order, which
        // looks more natural, a step took a fourth longer.
        n.minus::<X2, Z2, B>();
        n.plus::<X3, Z3, C>();
        n.minus::<X3, Z3, D>();
        n.plus::<X2, Z2, A>();
        // What doubles is (A, B), or (C, D) if the points are exchanged; DA and CB are the same then, but for their order.
        n.choose::<A, C, AA>(mask);
        n.product::<D, A, DA>(token);
        n.product::<C, B, CB>(token);
        n.choose::<B, D, BB>(mask);
        n.minus::<DA, CB, DIFFERENCE>();
        n.square::<AA, AA>(token);
        n.square::<BB, BB>(token);
        n.plus::<DA, CB, SUM>();
        n.square::<DIFFERENCE, DIFFERENCE>(token);
        n.square::<SUM, X3>(token);
        n.minus::<AA, BB, E>();
        n.product::<AA, BB, X2>(token);
        n.plus_small::<AA, E, FACTOR>(token);
        n.product::<DIFFERENCE, X1, Z3>(token);
        n.product::<E, FACTOR, Z2>(token);
    }
    *into = Quotient { x: element(&n.0[X2]), z: element(&n.0[Z2]) };
}

/// The sum that `comb.rs` computes, by the same formulas.
#[inline(always)]
fn windows(token: HaveAdx, scalar: &Scalar, into: &mut Quotient) {
    places!(X Y Z T LESS MORE THIRD FIRST SECOND A B C D E F G H BELOW ABOVE);
    let mut n = Numbers::<COUNT>([[0; 4]; COUNT]);
    n.0[Y][0] = 1;
    n.0[Z][0] = 1;
    let biased = comb::biased(scalar);
    for (window, entries) in TABLE.iter().enumerate() {
        let (magnitude, negative) = comb::digit(&biased, window);
        [n.0[LESS], n.0[MORE], n.0[THIRD]] = comb::entry(entries, magnitude);
        // The negative of an entry has its first two numbers exchanged, and the third one's sign, which exchanges F and G.
        n.choose::<LESS, MORE, FIRST>(negative);
        n.choose::<MORE, LESS, SECOND>(negative);
        n.minus::<Y, X, A>();
        n.plus::<Y, X, B>();
        n.product::<A, FIRST, A>(token);
        n.product::<B, SECOND, B>(token);
        n.product::<T, THIRD, C>(token);
        n.plus::<Z, Z, D>();
        n.minus::<B, A, E>();
        n.plus::<B, A, H>();
        n.minus::<D, C, BELOW>();
        n.plus_any::<D, C, ABOVE>();
        n.choose::<BELOW, ABOVE, F>(negative);
        n.choose::<ABOVE, BELOW, G>(negative);
        n.product::<E, F, X>(token);
        n.product::<G, H, Y>(token);
        n.product::<F, G, Z>(token);
        n.product::<E, H, T>(token);
    }
    n.plus::<Z, Y, A>();
    n.minus::<Z, Y, B>();
    *into = Quotient { x: element(&n.0[A]), z: element(&n.0[B]) };
}
