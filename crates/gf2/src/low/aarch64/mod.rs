//! AArch64: polynomial multiplication on 128-bit registers.

pub(crate) mod pmull;
