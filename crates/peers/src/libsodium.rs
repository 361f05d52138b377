//! libsodium, loaded at run time: BLAKE2b by `crypto_generichash`, Argon2id by `crypto_pwhash`, ChaCha20 with Poly1305, which choose among
//! SSE and AVX2; ristretto255. What `cargo xtask peers libsodium` builds as `+kept` differs in Argon2's memory alone, so it has rows for that only.

#![cfg(feature = "peer-libsodium")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

mod aead;

use crate::contract::hash::{self, Algorithm, Hash, Shape};
use crate::contract::ksf::{self, Argon2id, Store, Tag};
use crate::contract::opaque::parts::{self, Ristretto};
use crate::contract::{self, BY_SYSTEM_CALL};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Habit, Provenance, Refusal};
use candor_primitives::ksf::Params;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_ulonglong};
use std::ptr;
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "libsodium",
    file: "libsodium",
    what: "the NaCl family's library, loaded at run time",
    how: "install it (Debian: apt install libsodium23), build it with `cargo xtask peers libsodium`, or name a directory with a libsodium.so.* in \
          CANDOR_PEERS",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &[],
};

type GenericHash =
    unsafe extern "C" fn(*mut c_uchar, usize, *const c_uchar, c_ulonglong, *const c_uchar, usize) -> c_int;

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

/// `crypto_pwhash_ALG_ARGON2ID13`.
const ARGON2ID13: c_int = 2;

/// The functions used. Types are those of sodium.h, which have not changed since 1.0.
struct Functions {
    generichash: GenericHash,
    pwhash: PwHash,
    aead: Option<aead::AeadFunctions>,
    ristretto: Option<RistrettoFunctions>,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

/// ristretto255, which came with 1.0.18.
#[derive(Clone, Copy)]
struct RistrettoFunctions {
    scalar_random: unsafe extern "C" fn(*mut c_uchar),
    /// Product, scalar.
    base: unsafe extern "C" fn(*mut c_uchar, *const c_uchar) -> c_int,
    /// Product, scalar, element.
    scalarmult: unsafe extern "C" fn(*mut c_uchar, *const c_uchar, *const c_uchar) -> c_int,
}

/// # Safety
/// As for [`function`].
unsafe fn ristretto_of(library: &Library) -> Result<RistrettoFunctions, String> {
    // SAFETY: the types are those of sodium.h; the caller keeps the library.
    unsafe {
        Ok(RistrettoFunctions {
            scalar_random: function(library, "crypto_core_ristretto255_scalar_random")?,
            base: function(library, "crypto_scalarmult_ristretto255_base")?,
            scalarmult: function(library, "crypto_scalarmult_ristretto255")?,
        })
    }
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of sodium.h. `sodium_init` must come first, and may come twice; the version is a constant.
    unsafe {
        let init = function::<unsafe extern "C" fn() -> c_int>(&library, "sodium_init")?;
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "sodium_version_string")?;
        let generichash = function(&library, "crypto_generichash_blake2b")?;
        let pwhash = function(&library, "crypto_pwhash")?;
        let aead = aead::look_up(&library).ok();
        let ristretto = ristretto_of(&library).ok();
        if init() < 0 {
            return Err("does not initialise".into());
        }
        let version = CStr::from_ptr(version()).to_string_lossy().into_owned();
        Ok((version, Functions { generichash, pwhash, aead, ristretto, _library: library }))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

type Object = &'static SharedObject<Functions>;

/// Whether Argon2's memory was made to be kept in this one.
fn keeps(object: &SharedObject<Functions>) -> bool {
    object.name.ends_with("+kept")
}

/// An entry for each that is as its authors have it.
fn each_unchanged(entry: impl Fn(Object) -> Entry) -> Vec<Entry> {
    FOUND.each_by_several(|object| if keeps(object) { Vec::new() } else { vec![entry(object)] })
}

/// What libsodium offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        hash(algorithm, shape)
    }

    fn aead(&self, algorithm: contract::aead::Algorithm, op: contract::aead::Op, bytes: usize) -> Vec<Entry> {
        match algorithm {
            contract::aead::Algorithm::ChaCha20Poly1305 | contract::aead::Algorithm::XChaCha20Poly1305 => {
                each_unchanged(|object| {
                    let make = move || aead::SodiumAead::new(object, algorithm);
                    contract::aead::entry(&object.name, algorithm, op, bytes, make)
                })
            }
            _ => Vec::new(),
        }
    }

    fn aeads(&self, algorithm: contract::aead::Algorithm) -> Vec<(String, Box<dyn contract::aead::Aead>)> {
        let make = |object: &'static SharedObject<Functions>| -> Option<(String, Box<dyn contract::aead::Aead>)> {
            Some((object.name.clone(), Box::new(aead::SodiumAead::new(object, algorithm).ok()?)))
        };
        FOUND.usable().filter(|object| !keeps(object)).filter_map(make).collect()
    }

    fn argon2id(&self, params: Params, store: Store) -> Vec<Entry> {
        argon2id(params, store)
    }

    fn ristretto(&self, op: parts::Op) -> Vec<Entry> {
        ristretto(op)
    }
}

/// BLAKE2b only: its SHA-2 is plain C.
fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    if algorithm != Algorithm::Blake2b512 {
        return Vec::new();
    }
    each_unchanged(|object| hash::entry(&object.name, shape, move || Ok(Blake2b(object))))
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
        self.0.provenance(&format!("{timed}, crypto_generichash_blake2b"))
    }
}

fn argon2id(params: Params, store: Store) -> Vec<Entry> {
    FOUND.each_by_several(|object| match (store, keeps(object)) {
        (Store::Kept, false) => vec![Entry::refused(
            &object.name,
            Refusal::never(
                "allocates in each call and can't keep memory; see …/allocating, and libsodium-…+kept of `cargo xtask peers libsodium`",
            ),
        )],
        (Store::Allocated, true) => Vec::new(),
        _ if params.lanes() > 1 => {
            vec![Entry::refused(&object.name, Refusal::never("has Argon2 with a single lane only"))]
        }
        _ => vec![ksf::entry(&object.name, move || Ok(PasswordHash { object, params, store }))],
    })
}

/// Versions in whose source Argon2 clears no memory unless its flags ask for it, and `crypto_pwhash` gives no flags (argon2-core.c, argon2.h).
const WITHOUT_WIPING: [&str; 2] = ["1.0.18", "1.0.22"];

struct PasswordHash {
    object: Object,
    params: Params,
    store: Store,
}

impl Argon2id for PasswordHash {
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str> {
        let mut tag = [0; 64];
        // SAFETY: the lengths are those of the buffers; the salt has the 16 bytes that libsodium asks for.
        let answer = unsafe {
            (self.object.functions.pwhash)(
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
        let how = match self.store {
            Store::Allocated => "crypto_pwhash",
            Store::Kept => "crypto_pwhash, with its mapping and unmapping replaced by candor's kept region",
        };
        let told = self.object.provenance(&format!("{} {} ({how})", ksf::TIMED, self.store.timed()));
        let wipes_nothing = (Habit::WipesNothing, "nothing is wiped of that memory");
        let is_known = WITHOUT_WIPING.contains(&told.version.as_str());
        told.with(self.store.habit()).telling(is_known.then_some(wipes_nothing))
    }
}

fn ristretto(op: parts::Op) -> Vec<Entry> {
    each_unchanged(|object| match object.functions.ristretto {
        Some(functions) => parts::entry(&object.name, op, move || Ok(Group { object, functions })),
        None => Entry::refused(&object.name, Refusal::never("has no ristretto255 (needs 1.0.18)")),
    })
}

/// Scalars and elements are bytes, as libsodium has them.
struct Group {
    object: &'static SharedObject<Functions>,
    functions: RistrettoFunctions,
}

impl Ristretto for Group {
    type Secret = [u8; 32];

    fn keypair(&self) -> Result<([u8; 32], [u8; 32]), String> {
        let (mut secret, mut public) = ([0; 32], [0; 32]);
        // SAFETY: each of the buffers has the 32 bytes that are written or read.
        let failed = unsafe {
            (self.functions.scalar_random)(secret.as_mut_ptr());
            (self.functions.base)(public.as_mut_ptr(), secret.as_ptr())
        };
        if failed == 0 { Ok((secret, public)) } else { Err("crypto_scalarmult_ristretto255_base failed".into()) }
    }

    fn secret(&self, bytes: &[u8; 32]) -> Result<[u8; 32], String> {
        Ok(*bytes)
    }

    fn dh(&self, secret: &[u8; 32], public: &[u8; 32]) -> Result<[u8; 32], String> {
        let mut shared = [0; 32];
        // SAFETY: each of the buffers has the 32 bytes that are written or read.
        let failed = unsafe { (self.functions.scalarmult)(shared.as_mut_ptr(), secret.as_ptr(), public.as_ptr()) };
        if failed == 0 { Ok(shared) } else { Err("crypto_scalarmult_ristretto255 refuses the public key".into()) }
    }

    fn provenance(&self, op: parts::Op) -> Provenance {
        let timed = format!("{}, crypto_scalarmult_ristretto255, which decodes and encodes in each call", op.timed());
        let told = self.object.provenance(&timed).telling((op == parts::Op::KeyPair).then_some(BY_SYSTEM_CALL));
        let arm = "fixed when it was built: libsodium has one ristretto255, on 51-bit limbs where the compiler has 128-bit integers";
        Provenance { arm: Some(arm.into()), ..told }
    }
}
