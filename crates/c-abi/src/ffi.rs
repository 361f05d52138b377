//! The room in which `unsafe` may stand.

pub mod memory;
