//! libgcrypt, GnuPG's library: loaded at run time, as Debian has it. On SM3 it is the fastest that there is.
//!
//! Digests of fixed length go through `gcry_md_hash_buffer`, its call for a whole message; SHAKE, whose output that call
//! does not give, through a handle that is opened once and reset. HMAC and AEADs go through a handle with its key set.

#![cfg(feature = "peer-libgcrypt")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

mod aead;
mod cipher;

use crate::contract;
use crate::contract::hash::{self, Algorithm, Hash, Output, Shape};
use crate::contract::mac;
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Provenance, Refusal};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs;
use std::ptr;
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "libgcrypt",
    file: "libgcrypt",
    what: "GnuPG's cryptography, loaded at run time",
    how: "install it (Debian: apt install libgcrypt20), build 1.11 with `cargo xtask peers libgcrypt`, or name a directory with a libgcrypt.so.* in CANDOR_PEERS",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &[],
};

// Commands of gcry_control and gcry_mac_ctl (gcrypt.h).
const RESET: c_int = 4;
const DISABLE_SECMEM: c_int = 37;
const INITIALIZATION_FINISHED: c_int = 38;

/// A `gcry_md_hd_t` or `gcry_mac_hd_t`.
type Handle = *mut c_void;

/// The functions used. Types are those of gcrypt.h, which have not changed since 1.6.
struct Functions {
    hash_buffer: unsafe extern "C" fn(c_int, *mut c_void, *const c_void, usize),
    md_algo_info: unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut usize) -> c_uint,
    md_open: unsafe extern "C" fn(*mut Handle, c_int, c_uint) -> c_uint,
    md_close: unsafe extern "C" fn(Handle),
    md_reset: unsafe extern "C" fn(Handle),
    md_write: unsafe extern "C" fn(Handle, *const c_void, usize),
    md_extract: unsafe extern "C" fn(Handle, c_int, *mut c_void, usize) -> c_uint,
    cipher_open: unsafe extern "C" fn(*mut Handle, c_int, c_int, c_uint) -> c_uint,
    cipher_close: unsafe extern "C" fn(Handle),
    cipher_setkey: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    cipher_setiv: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    cipher_ctl: unsafe extern "C" fn(Handle, c_int, *mut c_void, usize) -> c_uint,
    cipher_setctr: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    cipher_authenticate: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    cipher_encrypt: unsafe extern "C" fn(Handle, *mut c_void, usize, *const c_void, usize) -> c_uint,
    cipher_decrypt: unsafe extern "C" fn(Handle, *mut c_void, usize, *const c_void, usize) -> c_uint,
    cipher_gettag: unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_uint,
    cipher_checktag: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    mac_open: unsafe extern "C" fn(*mut Handle, c_int, c_uint, *mut c_void) -> c_uint,
    mac_close: unsafe extern "C" fn(Handle),
    mac_setkey: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    mac_ctl: unsafe extern "C" fn(Handle, c_int, *mut c_void, usize) -> c_uint,
    mac_write: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    mac_read: unsafe extern "C" fn(Handle, *mut c_void, *mut usize) -> c_uint,
    /// `cc:…`, the compiler, and `hwflist:…`, the CPU features that the library sees.
    compiler: Option<String>,
    features: Option<String>,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of gcrypt.h.
    unsafe {
        let check_version =
            function::<unsafe extern "C" fn(*const c_char) -> *const c_char>(&library, "gcry_check_version")?;
        let control = function::<unsafe extern "C" fn(c_int, ...) -> c_uint>(&library, "gcry_control")?;
        let config =
            function::<unsafe extern "C" fn(c_int, *const c_char) -> *mut c_char>(&library, "gcry_get_config")?;
        // Must come first, and may come twice: initialises the library and says its version.
        let version = check_version(ptr::null());
        if version.is_null() {
            return Err("does not initialise".into());
        }
        let version = CStr::from_ptr(version).to_string_lossy().into_owned();
        // Nothing secret is computed here, and locked memory is short.
        control(DISABLE_SECMEM, 0 as c_int);
        control(INITIALIZATION_FINISHED, 0 as c_int);
        // Each fact by its name: among all of them is the version of the jitter collector, for which the library would start and test it, six milliseconds in
        // which nothing is measured. The string is the caller's to free; it is read once a process.
        let fact = |name: &CStr| {
            let told = config(0, name.as_ptr());
            if told.is_null() { None } else { Some(CStr::from_ptr(told).to_string_lossy().trim_end().to_owned()) }
        };
        let functions = Functions {
            hash_buffer: function(&library, "gcry_md_hash_buffer")?,
            md_algo_info: function(&library, "gcry_md_algo_info")?,
            md_open: function(&library, "gcry_md_open")?,
            md_close: function(&library, "gcry_md_close")?,
            md_reset: function(&library, "gcry_md_reset")?,
            md_write: function(&library, "gcry_md_write")?,
            md_extract: function(&library, "gcry_md_extract")?,
            cipher_open: function(&library, "gcry_cipher_open")?,
            cipher_close: function(&library, "gcry_cipher_close")?,
            cipher_setkey: function(&library, "gcry_cipher_setkey")?,
            cipher_setiv: function(&library, "gcry_cipher_setiv")?,
            cipher_ctl: function(&library, "gcry_cipher_ctl")?,
            cipher_setctr: function(&library, "gcry_cipher_setctr")?,
            cipher_authenticate: function(&library, "gcry_cipher_authenticate")?,
            cipher_encrypt: function(&library, "gcry_cipher_encrypt")?,
            cipher_decrypt: function(&library, "gcry_cipher_decrypt")?,
            cipher_gettag: function(&library, "gcry_cipher_gettag")?,
            cipher_checktag: function(&library, "gcry_cipher_checktag")?,
            mac_open: function(&library, "gcry_mac_open")?,
            mac_close: function(&library, "gcry_mac_close")?,
            mac_setkey: function(&library, "gcry_mac_setkey")?,
            mac_ctl: function(&library, "gcry_mac_ctl")?,
            mac_write: function(&library, "gcry_mac_write")?,
            mac_read: function(&library, "gcry_mac_read")?,
            compiler: fact(c"cc"),
            features: fact(c"hwflist"),
            _library: library,
        };
        Ok((version, functions))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What libgcrypt offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        hash(algorithm, shape)
    }

    fn cipher(&self, mode: contract::cipher::Mode, op: contract::cipher::Op) -> Vec<Entry> {
        FOUND.each(|object| {
            contract::cipher::entry(&object.name, mode, op, move || cipher::GcryptCipher::new(object, mode))
        })
    }

    fn ciphers(&self, mode: contract::cipher::Mode) -> Vec<(String, Box<dyn contract::cipher::Cipher>)> {
        let make = |object: &'static SharedObject<Functions>| -> Option<(String, Box<dyn contract::cipher::Cipher>)> {
            Some((object.name.clone(), Box::new(cipher::GcryptCipher::new(object, mode).ok()?)))
        };
        FOUND.usable().filter_map(make).collect()
    }

    fn aeads(&self, algorithm: contract::aead::Algorithm) -> Vec<(String, Box<dyn contract::aead::Aead>)> {
        let make = |object: &'static SharedObject<Functions>| -> Option<(String, Box<dyn contract::aead::Aead>)> {
            Some((object.name.clone(), Box::new(aead::GcryptAead::new(object, algorithm).ok()?)))
        };
        FOUND.usable().filter_map(make).collect()
    }

    fn aead(&self, algorithm: contract::aead::Algorithm, op: contract::aead::Op, bytes: usize) -> Vec<Entry> {
        FOUND.each(|object| {
            let make = move || aead::GcryptAead::new(object, algorithm);
            contract::aead::entry(&object.name, algorithm, op, bytes, make)
        })
    }

    fn hmac(&self, hash: Algorithm, bytes: usize) -> Vec<Entry> {
        hmac(hash, bytes)
    }

    fn hkdf(&self) -> Vec<Entry> {
        hkdf()
    }
}

fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    FOUND.each(|object| match algorithm.is_extendable() {
        false => hash::entry(&object.name, shape, move || Buffer::new(object, algorithm)),
        true => hash::entry(&object.name, shape, move || Extendable::new(object, algorithm)),
    })
}

fn hmac(algorithm: Algorithm, bytes: usize) -> Vec<Entry> {
    FOUND.each(|object| mac::entry(&object.name, bytes, move || GcryptHmac::new(object, algorithm)))
}

/// HKDF came with 1.11 (`GCRY_KDF_HKDF`), which Debian 12 does not have, so there is nothing to check a call against.
fn hkdf() -> Vec<Entry> {
    let refusal = Refusal::never("has no HKDF before 1.11, and its interface is not measured here");
    FOUND.each(|object| Entry::refused(&object.name, refusal.clone()))
}

/// The numbers of gcrypt.h.
const NUMBERS: &[(Algorithm, c_int)] = &[
    (Algorithm::Sha256, 8),
    (Algorithm::Sha384, 9),
    (Algorithm::Sha512, 10),
    (Algorithm::Sha3_256, 313),
    (Algorithm::Sha3_512, 315),
    (Algorithm::Shake128, 316),
    (Algorithm::Shake256, 317),
    (Algorithm::Blake2b512, 318),
    (Algorithm::Sm3, 326),
];

fn number(algorithm: Algorithm) -> Result<c_int, Refusal> {
    let known = NUMBERS.iter().find(|(known, _)| *known == algorithm);
    known
        .map(|(_, number)| *number)
        .ok_or_else(|| Refusal::never(format!("candor has no libgcrypt number for {}", algorithm.title())))
}

/// Where an administrator names CPU features that libgcrypt is not to use (its manual, "Hardware features").
const DENIED: &str = "/etc/gcrypt/hwf.deny";

/// The features that are named there.
fn denied() -> Option<String> {
    let text = fs::read_to_string(DENIED).ok()?;
    let features: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    (!features.is_empty()).then(|| features.join(" "))
}

impl SharedObject<Functions> {
    fn told(&self, timed: &str) -> Provenance {
        let Functions { compiler, features, .. } = &self.functions;
        let told = self.provenance(timed);
        // The library tells which instructions it sees, and picks by that.
        let not_at_its_best = denied().map(|features| format!("{DENIED} denies CPU features ({features})"));
        Provenance {
            build: compiler.clone().or(told.build),
            arm: features.clone().or(told.arm),
            not_at_its_best,
            ..told
        }
    }

    /// The number of an algorithm that this version has.
    fn has(&self, algorithm: Algorithm) -> Result<c_int, Refusal> {
        /// GCRYCTL_TEST_ALGO.
        const TEST: c_int = 8;
        let number = number(algorithm)?;
        // SAFETY: the test reads its number only.
        let unknown = unsafe { (self.functions.md_algo_info)(number, TEST, ptr::null_mut(), ptr::null_mut()) };
        match unknown {
            0 => Ok(number),
            _ => Err(Refusal::never(format!("has no {}", algorithm.title()))),
        }
    }
}

/// A digest of fixed length, in one call.
struct Buffer {
    object: &'static SharedObject<Functions>,
    algorithm: Algorithm,
    number: c_int,
}

impl Buffer {
    fn new(object: &'static SharedObject<Functions>, algorithm: Algorithm) -> Result<Self, Refusal> {
        object.has(algorithm).map(|number| Self { object, algorithm, number })
    }
}

impl Hash for Buffer {
    type Digest = Output;

    fn digest(&mut self, message: &[u8]) -> Output {
        let mut digest = Output::of(self.algorithm);
        let to = digest.as_mut().as_mut_ptr().cast();
        // SAFETY: `new` has asked for the algorithm, whose digest has as many bytes as the output; the call reads as many as
        // said.
        unsafe { (self.object.functions.hash_buffer)(self.number, to, message.as_ptr().cast(), message.len()) };
        digest
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.object.told(&format!("{timed}, gcry_md_hash_buffer"))
    }
}

/// SHAKE, through a handle.
struct Extendable {
    object: &'static SharedObject<Functions>,
    algorithm: Algorithm,
    number: c_int,
    handle: Handle,
}

impl Extendable {
    fn new(object: &'static SharedObject<Functions>, algorithm: Algorithm) -> Result<Self, Refusal> {
        let number = number(algorithm)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the call writes a handle, which becomes ours, or none.
        let failed = unsafe { (object.functions.md_open)(&mut handle, number, 0) };
        match failed == 0 && !handle.is_null() {
            true => Ok(Self { object, algorithm, number, handle }),
            false => Err(Refusal::never(format!("has no {}", algorithm.title()))),
        }
    }
}

impl Drop for Extendable {
    fn drop(&mut self) {
        // SAFETY: made by this library, owned by this value, and not used after.
        unsafe { (self.object.functions.md_close)(self.handle) }
    }
}

impl Hash for Extendable {
    type Digest = Output;

    fn digest(&mut self, message: &[u8]) -> Output {
        let mut digest = Output::of(self.algorithm);
        let to = digest.as_mut();
        let functions = &self.object.functions;
        // SAFETY: a live handle; the calls read and write as many bytes as said.
        let failed = unsafe {
            (functions.md_reset)(self.handle);
            (functions.md_write)(self.handle, message.as_ptr().cast(), message.len());
            (functions.md_extract)(self.handle, self.number, to.as_mut_ptr().cast(), to.len())
        };
        assert!(failed == 0, "gcry_md_extract has worked before");
        digest
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.object.told(&format!("{timed}, gcry_md_reset, write and extract with a handle opened before"))
    }
}

struct GcryptHmac {
    object: &'static SharedObject<Functions>,
    algorithm: Algorithm,
    handle: Handle,
}

impl GcryptHmac {
    fn new(object: &'static SharedObject<Functions>, algorithm: Algorithm) -> Result<Self, Refusal> {
        let number = match algorithm {
            Algorithm::Sha256 => 101,
            Algorithm::Sha512 => 103,
            Algorithm::Sm3 => 128,
            other => return Err(Refusal::never(format!("is not measured over {}", other.title()))),
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the call writes a handle, which becomes ours, or none.
        let failed = unsafe { (object.functions.mac_open)(&mut handle, number, 0, ptr::null_mut()) };
        match failed == 0 && !handle.is_null() {
            true => Ok(Self { object, algorithm, handle }),
            false => Err(Refusal::never(format!("has no HMAC over {}", algorithm.title()))),
        }
    }
}

impl Drop for GcryptHmac {
    fn drop(&mut self) {
        // SAFETY: made by this library, owned by this value, and not used after.
        unsafe { (self.object.functions.mac_close)(self.handle) }
    }
}

impl mac::Hmac for GcryptHmac {
    type Tag = Output;

    fn set_key(&mut self, key: &[u8; 32]) -> Result<(), Refusal> {
        // SAFETY: a live handle; the call reads as many bytes as said.
        let failed = unsafe { (self.object.functions.mac_setkey)(self.handle, key.as_ptr().cast(), key.len()) };
        if failed == 0 { Ok(()) } else { Err(Refusal::failed("refuses the key")) }
    }

    fn tag(&mut self, message: &[u8]) -> Output {
        let mut tag = Output::of(self.algorithm);
        let to = tag.as_mut();
        let mut written = to.len();
        let functions = &self.object.functions;
        // SAFETY: a live handle with its key set; the calls read as many bytes as said and write at most `written`.
        let failed = unsafe {
            (functions.mac_ctl)(self.handle, RESET, ptr::null_mut(), 0)
                | (functions.mac_write)(self.handle, message.as_ptr().cast(), message.len())
                | (functions.mac_read)(self.handle, to.as_mut_ptr().cast(), &mut written)
        };
        assert!(failed == 0 && written == to.len(), "gcry_mac_read has worked before");
        tag
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.object.told(&format!("{timed}, gcry_mac_reset, write and read"))
    }
}
