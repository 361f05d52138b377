//! Time in ticks of the time-stamp counter, and how many cycles a tick lasts.

#![allow(unsafe_code)] // the counter's instructions, and a chain of multiplications in assembly

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};

/// The counter before the work: nothing of what follows begins before it is read.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn begin() -> u64 {
    // SAFETY: every x86-64 CPU has these instructions; they read and write no memory.
    unsafe {
        _mm_lfence();
        let now = _rdtsc();
        _mm_lfence();
        now
    }
}

/// The counter after the work: all of what came before has been done.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn end() -> u64 {
    let mut core = 0;
    // SAFETY: likewise; `core` is a place for the number of the core.
    unsafe {
        let now = __rdtscp(&raw mut core);
        _mm_lfence();
        now
    }
}

/// How many cycles the core makes during a tick: the counter has a clock of its own. A multiplication takes three cycles on every x86-64
/// core of the last fifteen years, and each of a chain waits for the one before.
#[cfg(target_arch = "x86_64")]
pub(crate) fn cycles_per_tick() -> f64 {
    const ROUNDS: u64 = 20_000;
    let fastest = (0..50).map(|_| {
        let start = begin();
        // SAFETY: arithmetic in registers.
        unsafe {
            core::arch::asm!(
                "2:",
                "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
                "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
                "dec {n}", "jnz 2b",
                x = inout(reg) 3_u64 => _, n = inout(reg) ROUNDS => _, options(nomem, nostack),
            );
        }
        end() - start
    });
    (ROUNDS * 8 * 3) as f64 / fastest.min().map_or(1.0, |ticks| ticks.max(1) as f64)
}

/// Elsewhere there is no such counter, and [`AVAILABLE`] says so.
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    pub(crate) fn begin() -> u64 {
        0
    }
    pub(crate) fn end() -> u64 {
        0
    }
    pub(crate) fn cycles_per_tick() -> f64 {
        1.0
    }
}
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use elsewhere::{begin, cycles_per_tick, end};

/// Whether this architecture has the counter.
pub(crate) const AVAILABLE: bool = cfg!(target_arch = "x86_64");
