//! What needs `unsafe`: a signal handler.

pub(crate) mod interrupts;
