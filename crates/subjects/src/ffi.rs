//! C code of our own.

pub(crate) mod layout;
