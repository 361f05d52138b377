//! The only `unsafe` of this program.

pub(crate) mod force;
