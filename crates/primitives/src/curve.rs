//! Elliptic curves y² = x³ + ax + b over a prime field, of prime order: arithmetic, multiples of points, and the parameters of each curve.
//!
//! `docs/curves.md` has the mathematics, the bounds and the exceptional cases.

#[cfg(target_arch = "x86_64")]
pub(crate) mod adx;
pub(crate) mod arm;
pub(crate) mod comb;
pub(crate) mod endomorphism;
pub(crate) mod group;
pub(crate) mod modulus;
pub(crate) mod multiply;
pub(crate) mod p256;
pub(crate) mod p384;
pub(crate) mod portable;
pub(crate) mod secp256k1;
pub(crate) mod sm2;
pub(crate) mod words;

pub(crate) use arm::Arm;
pub(crate) use comb::Entry;
pub(crate) use endomorphism::Endomorphism;
pub(crate) use group::{Affine, Group, Point};
pub(crate) use modulus::{Modulus, Ring};
pub(crate) use words::Words;

/// The coefficient a.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum A {
    MinusThree,
    Zero,
}

/// A curve of prime order n, where both p and n lie between R/2 and R.
pub trait Curve: Copy + Send + Sync + 'static {
    type W: Words;
    /// The field's modulus p.
    type Field: Modulus<W = Self::W>;
    /// The order n of the group.
    type Order: Modulus<W = Self::W>;
    const A: A;
    /// b, as an integer.
    const B: Self::W;
    /// The generator's coordinates, as integers.
    const GENERATOR: [Self::W; 2];
    /// By which multiples of any point are computed from halves of their scalars.
    const ENDOMORPHISM: Option<Endomorphism<Self::W>> = None;
    /// Multiples of the generator: [`comb`] says which.
    fn comb() -> &'static [Entry<Self::W>];
    /// k·G for k below n.
    fn base(arm: Arm, scalar: &Self::W) -> Point<Self::W>;
    /// k·P for k below n.
    fn times(arm: Arm, scalar: &Self::W, point: &Affine<Self::W>) -> Point<Self::W>;
    /// The same for public numbers and points.
    fn times_vartime(arm: Arm, scalar: &Self::W, point: &Affine<Self::W>) -> Point<Self::W>;
    /// s·G + t·P for s and t below n. For public numbers and points.
    fn base_plus_times_vartime(arm: Arm, s: &Self::W, t: &Self::W, point: &Affine<Self::W>) -> Point<Self::W>;
}

/// The multiples of a [`Curve`], as functions that are compiled once, and not again in each crate that uses a curve.
macro_rules! multiples {
    () => {
        #[inline(never)]
        fn base(arm: $crate::curve::Arm, scalar: &Self::W) -> $crate::curve::Point<Self::W> {
            $crate::curve::arm::on_arm!(arm, |group: Self| group.base(scalar))
        }

        #[inline(never)]
        fn times(
            arm: $crate::curve::Arm,
            scalar: &Self::W,
            point: &$crate::curve::Affine<Self::W>,
        ) -> $crate::curve::Point<Self::W> {
            $crate::curve::arm::on_arm!(arm, |group: Self| group.times(scalar, point))
        }

        #[inline(never)]
        fn times_vartime(
            arm: $crate::curve::Arm,
            scalar: &Self::W,
            point: &$crate::curve::Affine<Self::W>,
        ) -> $crate::curve::Point<Self::W> {
            $crate::curve::arm::on_arm!(arm, |group: Self| group.times_vartime(scalar, point))
        }

        #[inline(never)]
        fn base_plus_times_vartime(
            arm: $crate::curve::Arm,
            s: &Self::W,
            t: &Self::W,
            point: &$crate::curve::Affine<Self::W>,
        ) -> $crate::curve::Point<Self::W> {
            $crate::curve::arm::on_arm!(arm, |group: Self| group.base_plus_times_vartime(s, t, point))
        }
    };
}

pub(crate) use multiples;

/// One way to compute modulo a prime, on numbers below it.
pub(crate) trait Arithmetic: Copy {
    /// a·b/R in Montgomery's form, a·b in the plain one, for a below R and b below the modulus.
    fn product<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W;
    /// a², likewise.
    fn square<M: Modulus>(self, a: &M::W) -> M::W;
    /// a + b.
    fn sum<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W;
    /// a − b.
    fn difference<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W;
    /// a/2.
    fn half<M: Modulus>(self, a: &M::W) -> M::W;
    /// `other` where the mask is all ones, `one` where it is zero.
    fn chosen<W: Words>(self, one: &W, other: &W, mask: u64) -> W;
    /// The entry at `number` − 1; zeros if `number` is 0. Reads all entries.
    fn selected<W: Words>(self, entries: &[[W; 2]], number: u64) -> [W; 2];
    type Search<W: Words>: Search<W>;
    /// Begins to look for the entry at `index`.
    fn search<W: Words>(self, entries: &'static [Entry<W>], index: u64) -> Self::Search<W>;
    /// The inverse of a number as it stands; 0 for 0.
    fn inverse<M: Modulus>(self, a: &M::W) -> M::W;
    /// Runs what searches as a function of its own, which may use this arm's instructions.
    fn apart<T>(self, work: impl FnOnce() -> T) -> T;
}

/// A search through entries, all of which are read.
pub(crate) trait Search<W> {
    /// Goes on for some entries.
    fn step(&mut self);
    /// Goes on to the end: what is at the index.
    fn found(self) -> [W; 2];
}
