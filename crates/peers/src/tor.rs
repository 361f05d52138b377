//! C tor's ntor, loaded at run time as the shared library that `cargo xtask peers tor` links from its objects: an implementation of the handshake that shares
//! nothing with ours. Its X25519 is curve25519-donna, and the client's key pair comes from its Ed25519 by donna as well, where that is the faster.
//!
//! Its ntor-v3 has no row: it takes and gives extension messages in types of tor's, and no relay of Tor's network needs it for this.

#![cfg(feature = "peer-tor")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

mod bench;

use crate::contract::ntor::{self, Failed, Kind, RelaySecrets, Scheme};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{Found, SharedObject, Which, function};
use candor_lab::{Entry, Imported, Provenance, Refusal};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "tor",
    file: "libcandor-tor-ntor",
    what: "C tor's circuit handshake, loaded at run time",
    how: "build it with `cargo xtask peers tor`",
    arm: "portable C (curve25519-donna), SHA-256 by OpenSSL",
    needs: &[],
};

/// Bytes of an onionskin, of a reply, and of the keys that each side expands (`Kind::timed`).
const ONIONSKIN: usize = 84;
const REPLY: usize = 64;
const KEYS: usize = 72;

struct Functions {
    relay: unsafe extern "C" fn(*const u8, *const u8) -> *mut c_void,
    relay_free: unsafe extern "C" fn(*mut c_void),
    start: unsafe extern "C" fn(*const c_void, *mut u8) -> *mut c_void,
    forget: unsafe extern "C" fn(*mut c_void),
    answer: unsafe extern "C" fn(*const c_void, *const u8, *mut u8, *mut u8, usize) -> c_int,
    finish: unsafe extern "C" fn(*const c_void, *const u8, *mut u8, usize) -> c_int,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of the shim, which our own recipe compiles. The version is a constant; `init` must come first.
    unsafe {
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "candor_tor_version")?;
        let init = function::<unsafe extern "C" fn() -> c_int>(&library, "candor_tor_init")?;
        let functions = Functions {
            relay: function(&library, "candor_tor_relay")?,
            relay_free: function(&library, "candor_tor_relay_free")?,
            start: function(&library, "candor_tor_start")?,
            forget: function(&library, "candor_tor_forget")?,
            answer: function(&library, "candor_tor_answer")?,
            finish: function(&library, "candor_tor_finish")?,
            _library: library,
        };
        if init() != 1 {
            return Err("crypto_early_init fails".into());
        }
        Ok((CStr::from_ptr(version()).to_string_lossy().into_owned(), functions))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What C tor offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn ntor(&self, kind: Kind) -> Vec<Entry> {
        match kind {
            Kind::Ntor => FOUND.each(|object| ntor::entry(&object.name, kind, move || Ok::<_, Refusal>(Tor(object)))),
            _ => Vec::new(),
        }
    }

    fn imported(&self, task: &str) -> Option<Result<Imported, Entry>> {
        bench::imported(task)
    }
}

type Object = &'static SharedObject<Functions>;

/// ntor of one library.
struct Tor(Object);

/// A relay, as the shim keeps it.
struct Relay(NonNull<c_void>, Object);

impl Drop for Relay {
    fn drop(&mut self) {
        // SAFETY: made by candor_tor_relay, owned by this value, and not used after.
        unsafe { (self.1.functions.relay_free)(self.0.as_ptr()) }
    }
}

/// A client that waits: `ntor_handshake_state_t`.
struct Waiting(NonNull<c_void>, Object);

impl Drop for Waiting {
    fn drop(&mut self) {
        // SAFETY: made by candor_tor_start, owned by this value, and not used after.
        unsafe { (self.1.functions.forget)(self.0.as_ptr()) }
    }
}

impl Scheme for Tor {
    type Relay = Relay;
    type Waiting = Waiting;
    type Keys = [u8; KEYS];

    fn relay(&self, secrets: &RelaySecrets) -> Result<Relay, Failed> {
        // SAFETY: 32 bytes of each, of which the call reads 32 and 20.
        let relay = unsafe { (self.0.functions.relay)(secrets.onion_key.as_ptr(), secrets.identity.as_ptr()) };
        Ok(Relay(NonNull::new(relay).ok_or_else(|| Failed::because("tor makes no relay"))?, self.0))
    }

    fn start(&self, relay: &Relay) -> Result<(Waiting, Vec<u8>), Failed> {
        let mut onionskin = vec![0; ONIONSKIN];
        // SAFETY: a live relay, and room for an onionskin.
        let waiting = unsafe { (self.0.functions.start)(relay.0.as_ptr(), onionskin.as_mut_ptr()) };
        let waiting = NonNull::new(waiting).ok_or_else(|| Failed::because("onion_skin_ntor_create fails"))?;
        Ok((Waiting(waiting, self.0), onionskin))
    }

    fn answer(&self, relay: &Relay, onionskin: &[u8]) -> Result<(Vec<u8>, [u8; KEYS]), Failed> {
        if onionskin.len() != ONIONSKIN {
            return Err(Failed::because("the onionskin has another length"));
        }
        let (mut reply, mut keys) = (vec![0; REPLY], [0; KEYS]);
        let answer = self.0.functions.answer;
        // SAFETY: a live relay, an onionskin, and room for a reply and as many bytes of keys as said.
        let done =
            unsafe { answer(relay.0.as_ptr(), onionskin.as_ptr(), reply.as_mut_ptr(), keys.as_mut_ptr(), keys.len()) };
        if done == 1 { Ok((reply, keys)) } else { Err(Failed::because("onion_skin_ntor_server_handshake fails")) }
    }

    fn finish(&self, waiting: Waiting, reply: &[u8]) -> Result<[u8; KEYS], Failed> {
        if reply.len() != REPLY {
            return Err(Failed::because("the reply has another length"));
        }
        let mut keys = [0; KEYS];
        // SAFETY: a live client, a reply, and room for as many bytes of keys as said.
        let done =
            unsafe { (self.0.functions.finish)(waiting.0.as_ptr(), reply.as_ptr(), keys.as_mut_ptr(), keys.len()) };
        if done == 1 { Ok(keys) } else { Err(Failed::because("onion_skin_ntor_client_handshake fails")) }
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.0.provenance(&format!("{timed}; randomness from OpenSSL's generator; tor looks the onion key up in a map"))
    }
}
