//! libsodium, loaded at run time. Of its hashes BLAKE2b, its own `crypto_generichash`, which chooses among SSE and AVX2.

#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

use super::Peer;
use super::shared_object::{Found, SharedObject, each, find_all, function, peers as listed};
use crate::tasks::hash::{self, Algorithm, Hash, Shape};
use candor_lab::{Entry, Provenance};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_ulonglong};
use std::ptr;
use std::sync::OnceLock;

const LIBRARY: &str = "libsodium";
const WHAT: &str = "the NaCl family's library, loaded at run time";
const HOW: &str =
    "install it (Debian: apt install libsodium23), or name a directory with a libsodium.so.* in CANDOR_PEERS";

type GenericHash =
    unsafe extern "C" fn(*mut c_uchar, usize, *const c_uchar, c_ulonglong, *const c_uchar, usize) -> c_int;

/// The functions used. Types are those of sodium.h, which have not changed since 1.0.
struct Functions {
    generichash: GenericHash,
    /// Keeps the code mapped for as long as the pointer above exists.
    _library: Library,
}

fn look_up(library: Library) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of sodium.h. `sodium_init` must come first, and may come twice; the version is a constant.
    unsafe {
        let init = function::<unsafe extern "C" fn() -> c_int>(&library, "sodium_init")?;
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "sodium_version_string")?;
        let generichash = function(&library, "crypto_generichash_blake2b")?;
        if init() < 0 {
            return Err("does not initialise".into());
        }
        let version = CStr::from_ptr(version()).to_string_lossy().into_owned();
        Ok((version, Functions { generichash, _library: library }))
    }
}

fn found() -> &'static Found<Functions> {
    static FOUND: OnceLock<Found<Functions>> = OnceLock::new();
    FOUND.get_or_init(|| find_all(LIBRARY, look_up))
}

pub(super) fn peers() -> Vec<Peer> {
    listed(found(), LIBRARY, WHAT, HOW)
}

/// BLAKE2b only: its SHA-2 is plain C.
pub(super) fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    if algorithm != Algorithm::Blake2b512 {
        return Vec::new();
    }
    each(found(), LIBRARY, HOW, |object| hash::entry(&object.name, shape, move || Ok(Blake2b(object))))
}

struct Blake2b(&'static SharedObject<Functions>);

impl Hash for Blake2b {
    type Digest = [u8; 64];

    fn digest(&mut self, message: &[u8]) -> [u8; 64] {
        let mut digest = [0; 64];
        // SAFETY: the call reads as many bytes as said and writes 64; there is no key.
        let failed = unsafe {
            let (to, from) = (digest.as_mut_ptr(), message.as_ptr());
            (self.0.functions.generichash)(to, 64, from, message.len() as c_ulonglong, ptr::null(), 0)
        };
        assert!(failed == 0, "crypto_generichash_blake2b takes 64 bytes of output");
        digest
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.0.provenance(&format!("{timed}, crypto_generichash_blake2b"), None, None)
    }
}
