//! libsodium, loaded at run time: Argon2id by `crypto_pwhash`.

#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

use super::{Peer, PeerState, find};
use crate::tasks::ksf::{self, Argon2id, Tag};
use candor_lab::{Entry, Provenance, Refusal};
use candor_primitives::ksf::Params;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_ulonglong};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const WHAT: &str = "the library that made good defaults popular, loaded at run time";
const HOW: &str =
    "install it (Debian: apt install libsodium23), or name a directory with a libsodium.so.* in CANDOR_PEERS";

/// `crypto_pwhash_ALG_ARGON2ID13`.
const ARGON2ID13: c_int = 2;

/// `crypto_pwhash`: tag, password, salt, passes, memory in bytes, algorithm.
type PwHash = unsafe extern "C" fn(
    *mut c_uchar,
    c_ulonglong,
    *const c_char,
    c_ulonglong,
    *const c_uchar,
    c_ulonglong,
    usize,
    c_int,
) -> c_int;

/// The libsodium of this machine.
struct Found {
    name: String,
    version: String,
    path: PathBuf,
    pwhash: PwHash,
    sha256: OnceLock<Option<String>>,
    /// Keeps the code mapped for as long as the pointer above exists.
    _library: Library,
}

/// The first that loads, or why none does.
fn found() -> &'static Result<Found, PeerState> {
    static FOUND: OnceLock<Result<Found, PeerState>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut refused = PeerState::Missing { how: HOW.into() };
        for path in find::libraries("libsodium") {
            match open(&path) {
                Ok(found) => return Ok(found),
                Err(reason) => refused = PeerState::Refused { reason: format!("{}: {reason}", path.display()) },
            }
        }
        Err(refused)
    })
}

fn open(path: &Path) -> Result<Found, String> {
    // SAFETY: loading runs the library's constructors, of which libsodium has none that need anything of us.
    let library = unsafe { Library::new(path) }.map_err(|error| format!("does not load: {error}"))?;
    let missing = |_| "lacks a function that every libsodium since 1.0.13 has".to_owned();
    // SAFETY: the types are those of sodium/core.h, sodium/version.h and sodium/crypto_pwhash.h.
    let (init, version, pwhash) = unsafe {
        (
            *library.get::<unsafe extern "C" fn() -> c_int>("sodium_init").map_err(missing)?,
            *library.get::<unsafe extern "C" fn() -> *const c_char>("sodium_version_string").map_err(missing)?,
            *library.get::<PwHash>("crypto_pwhash").map_err(missing)?,
        )
    };
    // SAFETY: takes nothing, must come first, and may come twice.
    if unsafe { init() } < 0 {
        return Err("does not initialise".into());
    }
    // SAFETY: a constant string.
    let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy().into_owned();
    Ok(Found {
        name: format!("libsodium-{version}"),
        version,
        path: path.to_owned(),
        pwhash,
        sha256: OnceLock::new(),
        _library: library,
    })
}

pub(super) fn peer() -> Peer {
    let (name, state) = match found() {
        Ok(found) => {
            (found.name.clone(), PeerState::Found { version: found.version.clone(), path: found.path.clone() })
        }
        Err(state) => ("libsodium".into(), state.clone()),
    };
    Peer { name, library: "libsodium".into(), what: WHAT, state }
}

pub(super) fn argon2id(params: Params) -> Entry {
    match found() {
        Err(PeerState::Refused { reason }) => Entry::refused("libsodium", Refusal::new(reason.clone())),
        Err(_) => Entry::refused("libsodium", Refusal::new(format!("is not on this machine: {HOW}"))),
        Ok(found) if params.lanes() != 1 => Entry::refused(&found.name, Refusal::new("has Argon2 with one lane only")),
        Ok(found) => ksf::entry(&found.name, move || Ok(Sodium { found, params })),
    }
}

struct Sodium {
    found: &'static Found,
    params: Params,
}

impl Argon2id for Sodium {
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str> {
        let mut tag = [0; 64];
        // SAFETY: the lengths are those of the buffers; the salt has the 16 bytes that libsodium asks for.
        let answer = unsafe {
            (self.found.pwhash)(
                tag.as_mut_ptr(),
                tag.len() as c_ulonglong,
                password.as_ptr().cast(),
                password.len() as c_ulonglong,
                salt.as_ptr(),
                self.params.passes().into(),
                self.params.memory() as usize * 1024,
                ARGON2ID13,
            )
        };
        if answer == 0 { Ok(tag) } else { Err("libsodium's crypto_pwhash failed (out of memory?)") }
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            build: Some("unknown: libsodium does not tell how it was built".into()),
            arm: Some("chosen by libsodium at run time, which does not tell which".into()),
            object_sha256: self.found.sha256.get_or_init(|| find::sha256(&self.found.path)).clone(),
            ..Provenance::of(
                "libsodium",
                &self.found.version,
                &format!(
                    "{} (crypto_pwhash of {}, which maps and unmaps its memory in each call)",
                    ksf::TIMED,
                    self.found.path.display()
                ),
            )
        }
    }
}
