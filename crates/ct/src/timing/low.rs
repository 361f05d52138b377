//! The time-stamp counter, which only `unsafe` code reads.

pub(crate) mod ticks;
