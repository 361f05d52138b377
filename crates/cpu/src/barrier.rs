//! The constant-time barrier.
//!
//! `(x & m) | (y & !m)` with a mask made from a boolean has no branch in the source, but LLVM may put one into the binary. It can't
//! do so with a value that has passed through here, because the optimiser then knows nothing about it. The only cost is a register.

/// Returns `value` in a way that hides it from the optimiser.
#[inline(always)]
#[allow(unsafe_code)] // an empty asm! has no safe form
#[must_use]
pub fn opaque_u64(value: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    {
        let mut value = value;
        // SAFETY: the template is a comment: no instruction, no memory, no flags.
        unsafe { core::arch::asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    core::hint::black_box(value)
}

/// [`opaque_u64`] for 32 bits.
#[inline(always)]
#[must_use]
pub fn opaque_u32(value: u32) -> u32 {
    opaque_u64(u64::from(value)) as u32
}

/// All ones if `bit` is 1, zero if it is 0, without a branch in the binary either.
#[inline(always)]
#[must_use]
pub fn mask_u64(bit: u64) -> u64 {
    debug_assert!(bit <= 1);
    opaque_u64(0u64.wrapping_sub(bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_pass_through_unchanged() {
        for value in [0, 1, u64::MAX, 0x0123456789abcdef] {
            assert_eq!(opaque_u64(value), value);
            assert_eq!(opaque_u32(value as u32), value as u32);
        }
    }

    #[test]
    fn a_mask_is_all_or_nothing() {
        assert_eq!(mask_u64(0), 0);
        assert_eq!(mask_u64(1), u64::MAX);
    }
}
