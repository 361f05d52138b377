//! Which arm of X25519 runs.

#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::x25519::{self as ifma, adx};
use crate::x25519::{Quotient, Scalar, comb, ladder};
use candor_cpu::{Cpu, HaveAdx, HaveAvx512Ifma};

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// x86-64's products of 52 bits on vectors.
    Avx512(HaveAvx512Ifma),
    /// x86-64's products on general registers, with two chains of carries.
    Adx(HaveAdx),
    /// Safe Rust.
    Portable,
}

impl Arm {
    pub(super) fn choose(cpu: Cpu) -> Self {
        let adx = || HaveAdx::check(cpu).map_or(Self::Portable, Self::Adx);
        HaveAvx512Ifma::check(cpu).map_or_else(adx, Self::Avx512)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx512(_) => "avx512",
            Self::Adx(_) => "adx",
            Self::Portable => "portable",
        }
    }

    /// Whether several points take less time together than one by one.
    #[inline]
    pub(super) fn has_lanes(self) -> bool {
        matches!(self, Self::Avx512(_))
    }

    /// The scalar times the point with this u-coordinate.
    #[inline]
    pub(super) fn ladder(self, scalar: &Scalar, u: &[u8; 32], into: &mut Quotient) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => ifma::ladder(token, scalar, u, into),
            #[cfg(target_arch = "x86_64")]
            Self::Adx(token) => adx::ladder(token, scalar, u, into),
            _ => ladder::ladder(scalar, u, into),
        }
    }

    /// Two of them.
    #[inline]
    pub(super) fn ladder_2(self, scalars: &[Scalar; 2], us: &[[u8; 32]; 2], into: &mut [Quotient; 2]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => ifma::ladder_2(token, scalars, us, into),
            _ => self.each(scalars, us, into),
        }
    }

    /// Eight of them.
    #[inline]
    pub(super) fn ladder_8(self, scalars: &[Scalar; 8], us: &[[u8; 32]; 8], into: &mut [Quotient; 8]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => ifma::ladder_8(token, scalars, us, into),
            _ => self.each(scalars, us, into),
        }
    }

    /// The scalar times the base point.
    #[inline]
    pub(super) fn base(self, scalar: &Scalar, into: &mut Quotient) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => ifma::base(token, scalar, into),
            #[cfg(target_arch = "x86_64")]
            Self::Adx(token) => adx::base(token, scalar, into),
            _ => comb::base(scalar, into),
        }
    }

    /// The same for eight scalars.
    #[inline]
    pub(super) fn base_8(self, scalars: &[Scalar; 8], into: &mut [Quotient; 8]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => ifma::base_8(token, scalars, into),
            _ => scalars.iter().zip(into).for_each(|(scalar, into)| self.base(scalar, into)),
        }
    }

    /// One after the other.
    fn each(self, scalars: &[Scalar], us: &[[u8; 32]], into: &mut [Quotient]) {
        for ((scalar, u), into) in scalars.iter().zip(us).zip(into) {
            self.ladder(scalar, u, into);
        }
    }
}
