//! GmSSL, the reference of many for China's standards, loaded at run time: SM2, and SM4 in counter mode, CBC and GCM. Debian has no package
//! of it. `cargo xtask peers gmssl` builds the newest in a Rust package, 3.1.1, and 3.2.0 from a git repository, if it is given one: several times as fast.
//! Before 3.2 its SM4 has names and types of its own, and no rows.

#![cfg(feature = "peer-gmssl")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

mod sm2;
mod sm4;

use crate::contract::cipher::{self, Mode};
use crate::contract::{self, aead};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{Found, Which, function};
use candor_lab::Entry;
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "gmssl",
    file: "libgmssl",
    what: "GmSSL, China's national algorithms, loaded at run time",
    how: "build it with `cargo xtask peers gmssl`, or name a directory with a libgmssl.so.* in CANDOR_PEERS",
    arm: "chosen when the library was built, which does not tell which",
    needs: &[],
};

struct Functions {
    sm2: sm2::Functions,
    /// Or why it has none that we know.
    sm4: Result<sm4::Functions, String>,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the type is that of version.h, and the version is a constant; all functions live as long as the library.
    unsafe {
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "gmssl_version_str")?;
        let version = CStr::from_ptr(version()).to_string_lossy().trim_start_matches("GmSSL ").to_owned();
        let (sm2, sm4) = (sm2::Functions::look_up(&library)?, sm4::Functions::look_up(&library));
        Ok((version, Functions { sm2, sm4, _library: library }))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What GmSSL offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn sm2(&self, op: contract::sm2::Op) -> Vec<Entry> {
        FOUND.each(|object| contract::sm2::entry(&object.name, op, move || Ok(sm2::GmsslSm2(object))))
    }

    /// SM4 only: its AES is portable code with tables.
    fn aead(&self, algorithm: aead::Algorithm, op: aead::Op, bytes: usize) -> Vec<Entry> {
        match algorithm {
            aead::Algorithm::Sm4Gcm => {
                FOUND.each(|object| aead::entry(&object.name, algorithm, op, bytes, move || sm4::GmsslGcm::new(object)))
            }
            _ => Vec::new(),
        }
    }

    fn cipher(&self, mode: Mode, op: cipher::Op) -> Vec<Entry> {
        FOUND.each(|object| cipher::entry(&object.name, mode, op, move || sm4::GmsslCipher::new(object, mode)))
    }
}
