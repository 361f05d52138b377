//! x86-64: carry-less multiplication on registers of 128, 256 and 512 bits.

pub(crate) mod avx512;
mod avx512_alone;
pub(crate) mod clmul;
mod halves;
pub(crate) mod vpclmul;
