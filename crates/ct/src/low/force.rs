//! Tiers past CPUID.

use candor_cpu::Cpu;

/// The tier of that name, whether or not CPUID reports it: valgrind hides instructions that it can run.
#[allow(unsafe_code)] // forcing past the check is what this file is for
pub(crate) fn tier(name: &str) -> Option<Cpu> {
    // SAFETY: the tier comes from the table of cases, and `cargo xtask ct` runs only cases whose instructions valgrind has
    // and the CPU behind it has been asked for; where it lacks one, this process dies of SIGILL and the case fails.
    unsafe { Cpu::assume(name) }
}
