//! C code of our own, and our interface for C.

pub(crate) mod c_abi;
pub(crate) mod layout;
