//! The primitive suite for C, and for whatever speaks C. `include/candor.h` is the interface, README.md shows how to use it.
//!
//! Handles are numbers, and `candor-c-abi` says why: an entry's place in a table, and how often that place has been used before. It has the table, the turning of
//! pointers into slices, and the wall that no panic crosses. The files here are the functions of the header, `handles.rs` what a handle stands for, `status.rs`
//! what functions return.

// The exported names, and the functions that C promises to call with valid pointers.
#![allow(unsafe_code)]

mod aead;
mod handles;
mod hash;
mod key;
mod mac;
mod public_key;
mod rsa;
pub mod status;

pub use aead::*;
pub use hash::*;
pub use key::*;
pub use mac::*;
pub use public_key::*;
pub use rsa::*;

use handles::Handle;
use std::ffi::{c_char, c_int};

/// Frees an object and wipes it: at once, or when the last call that uses it ends. The handle 0 is ignored, as `free` ignores null.
#[unsafe(no_mangle)]
pub extern "C" fn candor_free(handle: Handle) -> c_int {
    status::guard(|| Ok(handles::TABLE.free(handle)?))
}

/// What a status means, for people. Never null, and never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn candor_message(status: c_int) -> *const c_char {
    status::Status::message(status).as_ptr()
}

/// The version of the library. Never null, and never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn candor_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
