//! Which arm multiplies in a field.

#[cfg(target_arch = "x86_64")]
use super::low::x86_64::{avx512, clmul, vpclmul};
use super::modulus::Modulus;
use super::{fused, wide::Words};
use crate::word::Portable;
use candor_cpu::{Cpu, secret};
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx512, HaveClmul, HaveVpclmul};
use core::slice::{from_mut, from_ref};

/// One way to multiply. Holding one of the accelerated is proof that the CPU has its instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    #[cfg(target_arch = "x86_64")]
    Avx512(HaveAvx512),
    #[cfg(target_arch = "x86_64")]
    Vpclmul(HaveVpclmul),
    #[cfg(target_arch = "x86_64")]
    Clmul(HaveClmul),
    /// Safe Rust.
    Portable,
}

/// Calls the same function of the arm's module, or `portable`.
macro_rules! on {
    ($arm:expr, $routine:literal, $function:ident($($argument:expr),+), $portable:expr) => {{
        secret::ran($routine, $arm.name());
        match $arm {
            #[cfg(target_arch = "x86_64")]
            Arm::Avx512(token) => avx512::$function::<M>(token, $($argument),+),
            #[cfg(target_arch = "x86_64")]
            Arm::Vpclmul(token) => vpclmul::$function::<M>(token, $($argument),+),
            #[cfg(target_arch = "x86_64")]
            Arm::Clmul(token) => clmul::$function::<M>(token, $($argument),+),
            Arm::Portable => $portable,
        }
    }};
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(token) = HaveAvx512::check(cpu) {
                return Self::Avx512(token);
            }
            if let Some(token) = HaveVpclmul::check(cpu) {
                return Self::Vpclmul(token);
            }
            if let Some(token) = HaveClmul::check(cpu) {
                return Self::Clmul(token);
            }
        }
        let _ = cpu;
        Self::Portable
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Vpclmul(_) => "vpclmul",
            #[cfg(target_arch = "x86_64")]
            Self::Clmul(_) => "clmul",
            Self::Portable => "portable",
        }
    }

    /// out = a·b.
    #[inline]
    pub(super) fn mul<M: Modulus>(self, a: &M::Words, b: &M::Words, out: &mut M::Words) {
        on!(self, "gf2m-mul", mul(a, b, out), portable_mul::<M>(a, b, out));
    }

    /// out = a^(2^times).
    #[inline]
    pub(super) fn square<M: Modulus>(self, a: &M::Words, times: usize, out: &mut M::Words) {
        on!(self, "gf2m-square", square(a, times, out), portable_square::<M>(a, times, out));
    }

    /// out = low + high·x^64n.
    #[inline]
    pub(super) fn reduce<M: Modulus>(self, low: &M::Words, high: &M::Words, out: &mut M::Words) {
        on!(self, "gf2m-reduce", reduce(low, high, out), portable_reduce::<M>(low, high, out));
    }

    /// Products of the elements at the same place; the slices have the same length.
    #[inline]
    pub(super) fn mul_many<M: Modulus>(self, a: &[M::Words], b: &[M::Words], out: &mut [M::Words]) {
        on!(self, "gf2m-mul-many", mul_many(a, b, out), {
            for ((a, b), out) in a.iter().zip(b).zip(out) {
                portable_mul::<M>(a, b, out);
            }
        });
    }
}

#[inline(never)]
fn portable_mul<M: Modulus>(a: &M::Words, b: &M::Words, out: &mut M::Words) {
    fused::mul::<Words<Portable>, M>(Portable, from_ref(a), from_ref(b), from_mut(out));
}

#[inline(never)]
fn portable_square<M: Modulus>(a: &M::Words, times: usize, out: &mut M::Words) {
    fused::square::<Words<Portable>, M>(Portable, from_ref(a), times, from_mut(out));
}

#[inline(never)]
fn portable_reduce<M: Modulus>(low: &M::Words, high: &M::Words, out: &mut M::Words) {
    fused::reduce::<Words<Portable>, M>(Portable, from_ref(low), from_ref(high), from_mut(out));
}
