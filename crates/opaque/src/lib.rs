//! OPAQUE and its hybrid form, without I/O.
#![no_std]
#![forbid(unsafe_code)]
