//! Six words.

use super::{Adx, OnAdx};
use crate::curve::Arithmetic;
use crate::curve::modulus::Modulus;
use crate::curve::portable::Portable;

type Words = [u64; 6];

impl OnAdx for Words {
    #[inline(always)]
    fn product<M: Modulus<W = Self>>(_: Adx, a: &Self, b: &Self) -> Self {
        Portable.product::<M>(a, b)
    }

    #[inline(always)]
    fn square<M: Modulus<W = Self>>(_: Adx, a: &Self) -> Self {
        Portable.square::<M>(a)
    }

    #[inline(always)]
    fn sum<M: Modulus<W = Self>>(_: Adx, a: &Self, b: &Self) -> Self {
        Portable.sum::<M>(a, b)
    }

    #[inline(always)]
    fn difference<M: Modulus<W = Self>>(_: Adx, a: &Self, b: &Self) -> Self {
        Portable.difference::<M>(a, b)
    }
}
