//! The operations of a field on the arm that was chosen.

#[cfg(target_arch = "aarch64")]
use super::low::aarch64;
#[cfg(target_arch = "x86_64")]
use super::low::x86_64::{avx512, clmul, vpclmul};
use super::modulus::Modulus;
use super::{fused, wide::Words};
use crate::arm::Arm;
#[cfg(target_arch = "riscv64")]
use crate::low::riscv64::zbc;
use crate::word::{Portable, WordProduct};
use candor_cpu::secret;
use core::slice::{from_mut, from_ref};

/// Calls the same function of the arm's module, or `$scalar` with the arm's word product.
macro_rules! on {
    ($arm:expr, $routine:literal, $function:ident($($argument:expr),+), $scalar:ident) => {{
        secret::ran($routine, $arm.name());
        match $arm {
            #[cfg(target_arch = "x86_64")]
            Arm::Avx512(token) => avx512::$function::<M>(token, $($argument),+),
            #[cfg(target_arch = "x86_64")]
            Arm::Vpclmul(token) => vpclmul::$function::<M>(token, $($argument),+),
            #[cfg(target_arch = "x86_64")]
            Arm::Clmul(token) => clmul::$function::<M>(token, $($argument),+),
            #[cfg(target_arch = "aarch64")]
            Arm::Pmull(token) => aarch64::$function::<M>(token, $($argument),+),
            #[cfg(target_arch = "riscv64")]
            Arm::Zbc(token) => $scalar::<M, _>(zbc::product(token), $($argument),+),
            Arm::Portable => $scalar::<M, _>(Portable, $($argument),+),
        }
    }};
}

impl Arm {
    /// out = a·b.
    #[inline]
    pub(super) fn mul<M: Modulus>(self, a: &M::Words, b: &M::Words, out: &mut M::Words) {
        on!(self, "gf2m-mul", mul(a, b, out), scalar_mul);
    }

    /// out = a^(2^times).
    #[inline]
    pub(super) fn square<M: Modulus>(self, a: &M::Words, times: usize, out: &mut M::Words) {
        on!(self, "gf2m-square", square(a, times, out), scalar_square);
    }

    /// out = low + high·x^64n.
    #[inline]
    pub(super) fn reduce<M: Modulus>(self, low: &M::Words, high: &M::Words, out: &mut M::Words) {
        on!(self, "gf2m-reduce", reduce(low, high, out), scalar_reduce);
    }

    /// Products of the elements at the same place; the slices have the same length.
    #[inline]
    pub(super) fn mul_many<M: Modulus>(self, a: &[M::Words], b: &[M::Words], out: &mut [M::Words]) {
        on!(self, "gf2m-mul-many", mul_many(a, b, out), scalar_mul_many);
    }
}

#[inline(never)]
fn scalar_mul<M: Modulus, P: WordProduct>(product: P, a: &M::Words, b: &M::Words, out: &mut M::Words) {
    fused::mul::<Words<P>, M>(product, from_ref(a), from_ref(b), from_mut(out));
}

#[inline(never)]
fn scalar_square<M: Modulus, P: WordProduct>(product: P, a: &M::Words, times: usize, out: &mut M::Words) {
    fused::square::<Words<P>, M>(product, from_ref(a), times, from_mut(out));
}

#[inline(never)]
fn scalar_reduce<M: Modulus, P: WordProduct>(product: P, low: &M::Words, high: &M::Words, out: &mut M::Words) {
    fused::reduce::<Words<P>, M>(product, from_ref(low), from_ref(high), from_mut(out));
}

fn scalar_mul_many<M: Modulus, P: WordProduct>(product: P, a: &[M::Words], b: &[M::Words], out: &mut [M::Words]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        scalar_mul::<M, P>(product, a, b, out);
    }
}
