//! The only `unsafe` of this program: the stack below the stack pointer, and memory that has been freed.

pub(crate) mod heap;
pub(crate) mod stack;
