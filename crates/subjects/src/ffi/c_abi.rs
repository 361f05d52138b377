//! SHA-256 through the C interface of `candor-ffi`, called as C calls it: by the addresses of the exported functions, which the compiler does not know, so
//! that nothing of them can be inlined here.

#![allow(unsafe_code)] // Functions that trust their caller's pointers.

use candor_ffi::{candor_free, candor_hash, candor_hash_final, candor_hash_init, candor_hash_update};
use std::ffi::c_int;
use std::hint::black_box;
use std::ptr;

/// `CANDOR_HASH_SHA256` of the header.
const SHA256: u32 = 1;

/// `CANDOR_OK` of the header.
const OK: c_int = 0;

type OneCall = unsafe extern "C" fn(u32, *const u8, usize, *mut u8, usize, *mut usize) -> c_int;
type Init = unsafe extern "C" fn(u32, *mut u64) -> c_int;
type Update = unsafe extern "C" fn(u64, *const u8, usize) -> c_int;
type Final = unsafe extern "C" fn(u64, *mut u8, usize, *mut usize) -> c_int;
type Free = extern "C" fn(u64) -> c_int;

/// The addresses, as a program has them that was linked with the library.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    hash: OneCall,
    init: Init,
    update: Update,
    finish: Final,
    free: Free,
}

impl Functions {
    pub(crate) fn new() -> Self {
        black_box(Self {
            hash: candor_hash,
            init: candor_hash_init,
            update: candor_hash_update,
            finish: candor_hash_final,
            free: candor_free,
        })
    }

    /// The digest in one call.
    pub(crate) fn in_one_call(&self, message: &[u8]) -> Result<[u8; 32], c_int> {
        let mut digest = [0; 32];
        let (from, to) = (message.as_ptr(), digest.as_mut_ptr());
        // SAFETY: the message is as long as it is said to be, there are 32 bytes for the digest, and no length is asked for.
        let status = unsafe { (self.hash)(SHA256, from, message.len(), to, digest.len(), ptr::null_mut()) };
        if status == OK { Ok(digest) } else { Err(status) }
    }

    /// The digest by a handle: made, fed once, finished and freed.
    pub(crate) fn by_handle(&self, message: &[u8]) -> Result<[u8; 32], c_int> {
        let mut digest = [0; 32];
        let mut handle = 0;
        // SAFETY: there is room for a handle; a failed call leaves 0, which the others refuse.
        let made = unsafe { (self.init)(SHA256, &mut handle) };
        // SAFETY: the message is as long as it is said to be.
        let fed = unsafe { (self.update)(handle, message.as_ptr(), message.len()) };
        // SAFETY: there are 32 bytes for the digest, and no length is asked for.
        let finished = unsafe { (self.finish)(handle, digest.as_mut_ptr(), digest.len(), ptr::null_mut()) };
        let statuses = [made, fed, finished, (self.free)(handle)];
        match statuses.into_iter().find(|status| *status != OK) {
            None => Ok(digest),
            Some(status) => Err(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_primitives::hash::{Digest, Sha256};

    #[test]
    fn both_ways_give_the_digest_of_the_rust_call() {
        let functions = Functions::new();
        for message in [&b""[..], b"abc", &[7; 1000]] {
            let expected: [u8; 32] = Sha256::digest(message).into();
            let found = (functions.in_one_call(message), functions.by_handle(message));
            assert_eq!(found, (Ok(expected), Ok(expected)));
        }
    }
}
