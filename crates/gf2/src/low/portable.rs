//! The arm without special instructions: the word product of `word`, behind the contract.

use super::kernel::Kernel;
use super::memory;
use super::scalar::scalar_kernel;
use crate::word::Portable;

scalar_kernel!(Portable);

/// Runs everywhere.
// SAFETY: the functions come from `scalar_kernel`, which fits them to the contract, and need no special instruction.
pub(crate) static KERNEL: Kernel =
    unsafe { Kernel::new("portable", &LEAVES, &BATCHES, row, square, memory::table!(u64)) };
