//! What is there for client and server alike.

#![allow(unsafe_code)] // The exported names, and functions that C promises to call with valid pointers.

use crate::object::{self, part};
use crate::status::{Status, guard, guard_secret};
use candor_c_abi::handles::Handle;
use candor_c_abi::memory::Out;
use candor_opaque::KsfParams;
use std::ffi::{c_char, c_int};

/// The encoding of Argon2id's parameters, 13 bytes.
///
/// # Safety
/// `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_argon2id(
    memory_kib: u32,
    iterations: u32,
    parallelism: u32,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard(|| Ok(out.write(&KsfParams::argon2id(memory_kib, iterations, parallelism)?.to_bytes())?))
}

/// The bytes of a part of an object.
///
/// # Safety
/// `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_bytes(
    object: Handle,
    part_number: u32,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard_secret(|| Ok(out.write(&part(object, part_number)?)?))
}

/// Frees an object and wipes it: at once, or when the last call that uses it ends. The handle 0 is ignored, as `free` ignores null.
#[unsafe(no_mangle)]
pub extern "C" fn candor_opaque_free(object: Handle) -> c_int {
    guard_secret(|| object::free(object))
}

/// What a status means, for people. Never null, and never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn candor_opaque_message(status: c_int) -> *const c_char {
    Status::message(status).as_ptr()
}

/// The version of the library. Never null, and never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn candor_opaque_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
