//! x86-64: carry-less multiplication on registers of 128, 256 and 512 bits.

pub(crate) mod avx512;
pub(crate) mod clmul;
pub(crate) mod vpclmul;
