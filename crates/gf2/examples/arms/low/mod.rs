//! Tiers past what the CPU says of itself.

use candor_cpu::Cpu;

/// The tier of that name, whether or not it is detected. `None` without the feature `ct`, or if the tier is unknown.
#[cfg(feature = "ct")]
#[allow(unsafe_code)] // forcing past the check is what this file is for
pub(crate) fn force(tier: &str) -> Option<Cpu> {
    // SAFETY: whoever types `force` wants to know whether the instructions are there; where one is missing, the process dies of
    // SIGILL, which is the answer.
    unsafe { Cpu::assume(tier) }
}

/// Without the feature the check can't be skipped.
#[cfg(not(feature = "ct"))]
pub(crate) fn force(_: &str) -> Option<Cpu> {
    None
}
