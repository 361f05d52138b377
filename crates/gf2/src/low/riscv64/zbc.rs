//! Zbc: `clmul` and `clmulh` on general registers. Inline assembly, since the intrinsics are not stable.

use crate::low::kernel::Kernel;
use crate::low::memory;
use crate::low::scalar::scalar_kernel;
use crate::word::WordProduct;
use candor_cpu::HaveZbc;
use core::arch::asm;

/// [`WordProduct`] by Zbc. Made only in this file, for the functions of `KERNEL` and by [`product`].
#[derive(Clone, Copy)]
pub(crate) struct Zbc(());

/// The word product by itself, for the fields.
#[inline]
pub(crate) fn product(_: HaveZbc) -> Zbc {
    Zbc(())
}

impl WordProduct for Zbc {
    #[inline(always)]
    fn product(self, a: u64, b: u64) -> u128 {
        let (low, high): (u64, u64);
        // SAFETY: `KERNEL`, whose functions hold a `Zbc`, and `product` hand out only against the token. The instructions touch
        // nothing but the registers named; `.option arch` lets the assembler take them and is undone after.
        unsafe {
            asm!(
                ".option push",
                ".option arch, +zbc",
                "clmul {low}, {a}, {b}",
                "clmulh {high}, {a}, {b}",
                ".option pop",
                a = in(reg) a, b = in(reg) b, low = out(reg) low, high = lateout(reg) high,
                options(pure, nomem, nostack),
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }

    #[inline(always)]
    fn square(self, a: u64) -> u128 {
        self.product(a, a)
    }
}

scalar_kernel!(Zbc(()));

// SAFETY: the functions come from `scalar_kernel`, which fits them to the contract, and `kernel` hands the value out only against
// the token.
static KERNEL: Kernel = unsafe { Kernel::new("zbc", &LEAVES, &BATCHES, row, square, memory::table!(u64)) };

/// The arm, against proof of its instructions.
#[inline]
pub(crate) fn kernel(_: HaveZbc) -> &'static Kernel {
    &KERNEL
}
