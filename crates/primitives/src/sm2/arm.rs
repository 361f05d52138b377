//! Which arm of SM2 runs.

use crate::curve::portable::Portable;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::montgomery::Adx;
use candor_cpu::Cpu;

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// Products on general registers with two chains of carries, look-ups on vectors.
    #[cfg(target_arch = "x86_64")]
    Adx(Adx),
    /// Safe Rust.
    Portable(Portable),
}

impl Arm {
    pub(super) fn choose(cpu: Cpu) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(adx) = Adx::check(cpu) {
            return Self::Adx(adx);
        }
        let _ = cpu;
        Self::Portable(Portable)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Adx(_) => "adx",
            Self::Portable(_) => "portable",
        }
    }
}

/// Runs an expression with the curve's group on this arm.
macro_rules! on_arm {
    ($arm:expr, |$group:ident| $body:expr) => {
        match $arm {
            #[cfg(target_arch = "x86_64")]
            $crate::sm2::arm::Arm::Adx(adx) => {
                let $group = $crate::curve::Group::<$crate::curve::sm2::Sm2Curve, _>::new(adx);
                $body
            }
            $crate::sm2::arm::Arm::Portable(portable) => {
                let $group = $crate::curve::Group::<$crate::curve::sm2::Sm2Curve, _>::new(portable);
                $body
            }
        }
    };
}

pub(super) use on_arm;
