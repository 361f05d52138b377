//! RISC-V: carry-less multiplication on general registers.

pub(crate) mod zbc;
