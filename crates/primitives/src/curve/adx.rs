//! The arm for x86-64 with BMI2, ADX and AVX2; its kernels are in `low/x86_64/montgomery.rs`.

use super::Modulus;
use candor_cpu::{Cpu, HaveAdx, HaveAvx2};

/// Products by ADX, look-ups by AVX2.
#[derive(Clone, Copy)]
pub struct Adx {
    pub(crate) adx: HaveAdx,
    pub(crate) avx2: HaveAvx2,
}

impl Adx {
    /// If this CPU has them.
    pub(crate) fn check(cpu: Cpu) -> Option<Self> {
        Some(Self { adx: HaveAdx::check(cpu)?, avx2: HaveAvx2::check(cpu)? })
    }
}

/// [`Arithmetic`](super::Arithmetic) on this arm, for numbers of so many words.
pub trait OnAdx: Sized {
    fn product<M: Modulus<W = Self>>(arm: Adx, a: &Self, b: &Self) -> Self;
    fn square<M: Modulus<W = Self>>(arm: Adx, a: &Self) -> Self;
    fn half<M: Modulus<W = Self>>(arm: Adx, a: &Self) -> Self;
    fn sum<M: Modulus<W = Self>>(arm: Adx, a: &Self, b: &Self) -> Self;
    fn difference<M: Modulus<W = Self>>(arm: Adx, a: &Self, b: &Self) -> Self;
}

/// Twenty division steps on this arm: see [`inverse`](crate::inverse).
pub(crate) trait Steps {
    fn steps(self, zeta: &mut i64, f: &mut i64, g: &mut i64);
}
