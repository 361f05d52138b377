//! The kernel of an arm, and the table that it works with.

use crate::arm::Arm;
use crate::low::{self, kernel::Kernel};
use crate::plan::{self, Plans};

impl Arm {
    #[inline]
    pub(crate) fn kernel(self) -> &'static Kernel {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => low::x86_64::avx512::kernel(token),
            #[cfg(target_arch = "x86_64")]
            Self::Vpclmul(token) => low::x86_64::vpclmul::kernel(token),
            #[cfg(target_arch = "x86_64")]
            Self::Clmul(token) => low::x86_64::clmul::kernel(token),
            #[cfg(target_arch = "aarch64")]
            Self::Pmull(token) => low::aarch64::pmull::kernel(token),
            #[cfg(target_arch = "riscv64")]
            Self::Zbc(token) => low::riscv64::zbc::kernel(token),
            Self::Portable => &low::portable::KERNEL,
        }
    }

    #[inline]
    pub(crate) fn plans(self) -> &'static Plans {
        let arm = self.name();
        #[cfg(feature = "std")]
        if let Some(plans) = plan::installed(arm) {
            return plans;
        }
        plan::shipped(arm)
    }
}
