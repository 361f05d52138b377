//! The primitive suite for C, and for whatever speaks C. `include/candor.h` is the interface, README.md shows how to use it.
//!
//! # Why handles are numbers
//!
//! An object is an entry of a table, and its handle is a number: the entry's place, and how often that place has been used before. A handle that was
//! freed, was never made, or was freed twice finds nothing, and the call answers `CANDOR_HANDLE`; a pointer would have to be trusted. The price is a lock
//! that is held while the table is read, and not while the object works. An object that one thread frees while another uses it lives until that use
//! ends. Each object knows what it is, so that the handle of a key given as that of a hash is `CANDOR_KIND`.
//!
//! # What the caller still has to get right
//!
//! Pointers and lengths: C has no way to check that a buffer is as long as it is said to be. Null is refused where a length is not 0. Outputs may overlap
//! inputs in any way, since inputs are read before outputs are written.
//!
//! # Where things are
//!
//! `memory.rs` turns pointers into slices and writes outputs; all `unsafe` blocks stand there. The other files are the functions of the header, and `handles.rs`
//! the table. No panic crosses into C: [`status::guard`] turns one into `CANDOR_INTERNAL`.

// The exported names, and the functions that C promises to call with valid pointers.
#![allow(unsafe_code)]

mod aead;
mod handles;
mod hash;
mod key;
mod mac;
mod memory;
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
    status::guard(|| if handle == 0 { Ok(()) } else { handles::remove(handle) })
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
