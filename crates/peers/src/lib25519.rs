//! lib25519, loaded at run time: X25519 in assembly, which chooses among the arms that it was compiled with.
//!
//! `cargo xtask peers lib25519` puts Debian's package into `target/peers`, with a stand-in for librandombytes.

#![cfg(feature = "peer-lib25519")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

use crate::contract::BY_SYSTEM_CALL;
use crate::contract::x25519::{self, Failed, Op, X25519};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::given::{Randomness, randomness};
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Habit, Provenance};
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "lib25519",
    file: "lib25519",
    what: "X25519 by the authors of its fastest assembly, with arms chosen at run time, loaded at run time",
    how: "build it with `cargo xtask peers lib25519`",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &["librandombytes-kernel.so.1"],
};

/// The functions used, with the types of lib25519.h.
struct Functions {
    randomness: Randomness,
    /// Public key, secret key.
    keypair: unsafe extern "C" fn(*mut u8, *mut u8),
    /// Shared secret, public key, secret key.
    dh: unsafe extern "C" fn(*mut u8, *const u8, *const u8),
    implementation: unsafe extern "C" fn() -> *const c_char,
    /// Keeps the code mapped.
    _library: Library,
}

fn look_up(library: Library, built: &Built) -> Result<(String, Functions), String> {
    // The library's own need for it has been met by now, so that this is the one that it uses.
    // SAFETY: it is in memory already; its constructors have run.
    let source = unsafe { Library::new("librandombytes-kernel.so.1") };
    let source = source.map_err(|error| format!("lacks librandombytes: {error}"))?;
    let randomness = randomness(&source)?;
    std::mem::forget(source);
    // SAFETY: the types are those of lib25519.h, and the functions live as long as the library beside them.
    let functions = unsafe {
        Functions {
            randomness,
            keypair: function(&library, "lib25519_dh_x25519_keypair")?,
            dh: function(&library, "lib25519_dh_x25519")?,
            implementation: function(&library, "lib25519_dh_x25519_implementation")?,
            _library: library,
        }
    };
    Ok((built.field("version").unwrap_or("of unknown version").to_owned(), functions))
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What lib25519 offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn x25519(&self, op: Op) -> Vec<Entry> {
        FOUND.each(|object| x25519::entry(&object.name, op, move || Ok(Lib25519(object))))
    }
}

struct Lib25519(&'static SharedObject<Functions>);

impl X25519 for Lib25519 {
    type Secret = [u8; 32];
    type Encoded = [u8; 32];
    type Shared = [u8; 32];

    fn keygen(&self) -> Result<([u8; 32], [u8; 32]), Failed> {
        let (mut coins, mut public, mut secret) = ([0; 32], [0; 32], [0; 32]);
        getrandom::fill(&mut coins).map_err(|_| "no randomness")?;
        // SAFETY: all are 32 bytes; the stand-in hands the coins out within the call.
        unsafe {
            (self.0.functions.randomness)(coins.as_ptr(), coins.len(), 0);
            (self.0.functions.keypair)(public.as_mut_ptr(), secret.as_mut_ptr());
        }
        Ok((secret, public))
    }

    fn ecdh(&self, secret: &[u8; 32], peer: &[u8; 32]) -> Result<[u8; 32], Failed> {
        let mut shared = [0; 32];
        // SAFETY: all are 32 bytes.
        unsafe { (self.0.functions.dh)(shared.as_mut_ptr(), peer.as_ptr(), secret.as_ptr()) };
        // The other libraries refuse an all-zero secret by themselves; here the caller is asked to.
        let any = shared.iter().fold(0, |any, byte| any | byte);
        if any == 0 { Err("the shared secret is all zero") } else { Ok(shared) }
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<[u8; 32], Failed>> {
        Some(Ok(*bytes))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let timed = match op {
            Op::Keygen => format!("{}, through a stand-in for librandombytes", op.timed()),
            Op::Ecdh => format!("{}; a test for zero included", op.timed()),
        };
        let habit = match op {
            Op::Keygen => BY_SYSTEM_CALL,
            Op::Ecdh => (Habit::WipesNothing, "nothing is wiped"),
        };
        let mut provenance = self.0.provenance(&timed).telling([habit]);
        // SAFETY: it returns a constant string.
        let implementation = unsafe { CStr::from_ptr((self.0.functions.implementation)()) };
        provenance.arm = Some(format!("{}, chosen by the library at run time", implementation.to_string_lossy()));
        provenance
    }
}
