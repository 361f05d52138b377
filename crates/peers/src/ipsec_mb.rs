//! Intel's Multi-Buffer Crypto for IPsec, loaded at run time through the small shim that `cargo xtask peers ipsec-mb` compiles: SHA-256 of several
//! messages at once. Its SHA-384, SHA-512 and SM3 have no tasks of batches here, and its SM3 takes one message at a time.
//!
//! The code that it picks for a CPU need not be its fastest: on a CPU with SHA instructions and without GFNI it picks eight lanes of AVX2, and two
//! messages side by side through the SHA instructions take less time. So both have a row.

#![cfg(feature = "peer-ipsec-mb")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

use crate::contract::hash::{self, Algorithm, BatchHash, Shape};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Provenance, Refusal};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "ipsec-mb",
    file: "libcandor-ipsec-mb",
    what: "Intel's library that hashes and encrypts several messages side by side, loaded at run time",
    how: "build it with `cargo xtask peers ipsec-mb`",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &["libIPSec_MB.so.2"],
};

/// Bytes of a digest of SHA-256.
const DIGEST: usize = 32;

struct Functions {
    new: unsafe extern "C" fn(c_int) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    lanes: unsafe extern "C" fn(*const c_void) -> c_uint,
    arm: unsafe extern "C" fn(*const c_void) -> *const c_char,
    hash: unsafe extern "C" fn(*mut c_void, *const *const u8, usize, c_uint, *mut u8) -> c_uint,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of the shim, which our own recipe compiles. The version is a constant.
    unsafe {
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "candor_ipsec_mb_version")?;
        let functions = Functions {
            new: function(&library, "candor_ipsec_mb_new")?,
            free: function(&library, "candor_ipsec_mb_free")?,
            lanes: function(&library, "candor_ipsec_mb_lanes")?,
            arm: function(&library, "candor_ipsec_mb_arm")?,
            hash: function(&library, "candor_ipsec_mb_hash")?,
            _library: library,
        };
        Ok((CStr::from_ptr(version()).to_string_lossy().into_owned(), functions))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What IPsec-MB offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn hash_batch(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        match (algorithm, shape.messages) {
            (Algorithm::Sha256, 4) => entries::<4>(shape),
            (Algorithm::Sha256, 8) => entries::<8>(shape),
            _ => Vec::new(),
        }
    }
}

fn entries<const N: usize>(shape: Shape) -> Vec<Entry> {
    FOUND.each_by_several(|object| {
        let entry = |variant, code| {
            let name = format!("{}{variant}+batch", object.name);
            hash::batch_entry::<_, N, DIGEST>(name, shape.bytes, move || Manager::new(object, code))
        };
        vec![entry("", Code::Picked), entry("+sse", Code::Sse)]
    })
}

/// Which of the library's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// What it picks for this CPU.
    Picked,
    /// For SSE, with the SHA instructions where there are any.
    Sse,
}

/// `IMB_MGR`, with the shim's jobs.
struct Manager {
    object: &'static SharedObject<Functions>,
    at: NonNull<c_void>,
}

impl Manager {
    fn new(object: &'static SharedObject<Functions>, code: Code) -> Result<Self, Refusal> {
        // SAFETY: takes any number.
        let at = unsafe { (object.functions.new)(c_int::from(code == Code::Sse)) };
        let at = NonNull::new(at).ok_or_else(|| Refusal::new("has no manager for this CPU"))?;
        Ok(Self { object, at })
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // SAFETY: made by candor_ipsec_mb_new, owned by this value, and not used after.
        unsafe { (self.object.functions.free)(self.at.as_ptr()) }
    }
}

impl<const N: usize> BatchHash<N, DIGEST> for Manager {
    fn digests(&mut self, messages: [&[u8]; N]) -> [[u8; DIGEST]; N] {
        let bytes = messages[0].len();
        assert!(messages.iter().all(|message| message.len() == bytes), "the shim takes one length");
        let (mut digests, starts) = ([[0; DIGEST]; N], messages.map(<[u8]>::as_ptr));
        let to = digests.as_mut_ptr().cast();
        // SAFETY: a live manager, N messages of as many bytes as said, and room for N digests.
        let done = unsafe { (self.object.functions.hash)(self.at.as_ptr(), starts.as_ptr(), bytes, N as c_uint, to) };
        assert!(done as usize == N, "IMB_SUBMIT_HASH_BURST_NOCHECK hashes all jobs");
        digests
    }

    fn provenance(&self, timed: &str) -> Provenance {
        // SAFETY: a live manager; the description is a constant of the library.
        let (lanes, arm) = unsafe {
            let functions = &self.object.functions;
            ((functions.lanes)(self.at.as_ptr()), CStr::from_ptr((functions.arm)(self.at.as_ptr())))
        };
        let arm = format!("{}; {lanes} lanes", arm.to_string_lossy());
        let told = self.object.provenance(&format!("{timed}; a burst of jobs that the library does not check"));
        Provenance { arm: Some(arm), ..told }
    }
}
