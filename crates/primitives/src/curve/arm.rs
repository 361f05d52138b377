//! Which arm of the curves runs.

#[cfg(target_arch = "x86_64")]
use super::adx::Adx;
use super::portable::Portable;
use candor_cpu::Cpu;

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
#[repr(u32)] // As wide as the `Cpu` that it stands beside in keys: what lay on the stack before is kept in bytes between two fields.
pub enum Arm {
    /// Products on general registers with two chains of carries, look-ups on vectors.
    #[cfg(target_arch = "x86_64")]
    Adx(Adx),
    /// Safe Rust.
    Portable(Portable),
}

impl Arm {
    pub(crate) fn choose(cpu: Cpu) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(adx) = Adx::check(cpu) {
            return Self::Adx(adx);
        }
        let _ = cpu;
        Self::Portable(Portable)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Adx(_) => "adx",
            Self::Portable(_) => "portable",
        }
    }
}

/// Runs an expression with a curve's group on an arm.
macro_rules! on_arm {
    ($arm:expr, |$group:ident: $curve:ty| $body:expr) => {
        match $arm {
            #[cfg(target_arch = "x86_64")]
            $crate::curve::arm::Arm::Adx(adx) => {
                let $group = $crate::curve::Group::<$curve, _>::new(adx);
                $body
            }
            $crate::curve::arm::Arm::Portable(portable) => {
                let $group = $crate::curve::Group::<$curve, _>::new(portable);
                $body
            }
        }
    };
}

pub(crate) use on_arm;
