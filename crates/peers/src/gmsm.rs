//! gmsm (emmansun), China's algorithms in Go with assembly, loaded at run time as the shared library that `cargo xtask peers gmsm` builds: SM2.
//!
//! Loading it starts Go's run-time system, with its threads and its collector, in this process.

#![cfg(feature = "peer-gmsm")]
#![allow(unsafe_code)] // A library behind dlopen: every call crosses into it.

use crate::contract::sm2::{self, Failed, Op, Public, Sm2};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Provenance};
use libloading::Library;
use std::ffi::c_int;
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "gmsm",
    file: "libcandor-gmsm",
    what: "China's national algorithms in Go and assembly, loaded at run time",
    how: "build it with `cargo xtask peers gmsm`, which needs Go 1.24 or newer",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &[],
};

/// A key of the library, as a number that stands for it; never 0.
type Handle = usize;
/// Key, input and its length, output and its length. Gives the bytes of the output: 0 where the operation failed.
type Crypt = unsafe extern "C" fn(Handle, *const u8, usize, *mut u8, usize) -> usize;

struct Functions {
    free: unsafe extern "C" fn(Handle),
    generate: unsafe extern "C" fn(*mut u8) -> Handle,
    secret: unsafe extern "C" fn(*const u8) -> Handle,
    public: unsafe extern "C" fn(*const u8) -> Handle,
    sign: unsafe extern "C" fn(Handle, *const u8, *mut u8, usize) -> usize,
    verify: unsafe extern "C" fn(Handle, *const u8, *const u8, usize) -> c_int,
    encrypt: Crypt,
    decrypt: Crypt,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of the shim, which our own recipe compiles; as many bytes as said.
    let found = unsafe {
        let version = function::<unsafe extern "C" fn(*mut u8, usize) -> usize>(&library, "candor_gmsm_version")?;
        let functions = Functions {
            free: function(&library, "candor_gmsm_free")?,
            generate: function(&library, "candor_gmsm_generate")?,
            secret: function(&library, "candor_gmsm_secret")?,
            public: function(&library, "candor_gmsm_public")?,
            sign: function(&library, "candor_gmsm_sign")?,
            verify: function(&library, "candor_gmsm_verify")?,
            encrypt: function(&library, "candor_gmsm_encrypt")?,
            decrypt: function(&library, "candor_gmsm_decrypt")?,
        };
        let mut told = [0; 64];
        let length = version(told.as_mut_ptr(), told.len());
        (String::from_utf8_lossy(&told[..length]).trim_start_matches('v').to_owned(), functions)
    };
    // Go's run-time system can't be unloaded.
    std::mem::forget(library);
    Ok(found)
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What gmsm offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn sm2(&self, op: Op) -> Vec<Entry> {
        FOUND.each(|object| sm2::entry(&object.name, op, move || Ok(Gmsm(object))))
    }
}

/// Bytes that hold any signature or any ciphertext of 32 bytes in DER.
const ROOM: usize = 256;

/// SM2 of one library.
struct Gmsm(&'static SharedObject<Functions>);

impl Gmsm {
    fn key(&self, handle: Handle, failed: Failed) -> Result<Key, Failed> {
        if handle == 0 { Err(failed) } else { Ok(Key(handle, self.0)) }
    }
}

/// A key, which the library keeps until it is told that nobody needs it.
struct Key(Handle, &'static SharedObject<Functions>);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: a key that the library gave, which is not used after.
        unsafe { (self.1.functions.free)(self.0) }
    }
}

/// What `write` puts into memory of [`ROOM`] bytes.
fn written(write: impl FnOnce(*mut u8) -> usize, failed: Failed) -> Result<Vec<u8>, Failed> {
    let mut output = vec![0; ROOM];
    let length = write(output.as_mut_ptr());
    output.truncate(length);
    if length == 0 { Err(failed) } else { Ok(output) }
}

impl Sm2 for Gmsm {
    type Secret = Key;
    type Public = Key;

    fn keygen(&self) -> Result<(Key, Public), Failed> {
        let mut public = [0; 65];
        // SAFETY: room for the 65 bytes that the call writes.
        let handle = unsafe { (self.0.functions.generate)(public.as_mut_ptr()) };
        Ok((self.key(handle, "sm2.GenerateKey fails")?, public))
    }

    fn secret(&self, secret: &[u8; 32], _: &Public) -> Result<Key, Failed> {
        // SAFETY: the 32 bytes that the call reads.
        self.key(unsafe { (self.0.functions.secret)(secret.as_ptr()) }, "sm2.NewPrivateKey refuses the key")
    }

    fn public(&self, public: &Public) -> Result<Key, Failed> {
        // SAFETY: the 65 bytes that the call reads.
        self.key(unsafe { (self.0.functions.public)(public.as_ptr()) }, "sm2.NewPublicKey refuses the key")
    }

    fn sign(&self, secret: &Key, digest: &[u8; 32]) -> Result<Vec<u8>, Failed> {
        let sign = self.0.functions.sign;
        // SAFETY: a live secret key, 32 bytes, and room for as many as said.
        written(|to| unsafe { sign(secret.0, digest.as_ptr(), to, ROOM) }, "sm2.SignASN1 fails")
    }

    fn verify(&self, public: &Key, digest: &[u8; 32], signature: &[u8]) -> Result<(), Failed> {
        let verify = self.0.functions.verify;
        // SAFETY: a live public key, 32 bytes, and as many as said.
        let right = unsafe { verify(public.0, digest.as_ptr(), signature.as_ptr(), signature.len()) };
        if right == 1 { Ok(()) } else { Err("sm2.VerifyASN1 refuses the signature") }
    }

    fn encrypt(&self, public: &Key, message: &[u8]) -> Result<Vec<u8>, Failed> {
        let encrypt = self.0.functions.encrypt;
        // SAFETY: a live public key, as many bytes as said, and room for as many as said.
        written(|to| unsafe { encrypt(public.0, message.as_ptr(), message.len(), to, ROOM) }, "sm2.EncryptASN1 fails")
    }

    fn decrypt(&self, secret: &Key, ciphertext: &[u8]) -> Result<Vec<u8>, Failed> {
        let decrypt = self.0.functions.decrypt;
        // SAFETY: a live secret key; otherwise as above.
        written(|to| unsafe { decrypt(secret.0, ciphertext.as_ptr(), ciphertext.len(), to, ROOM) }, "sm2.Decrypt fails")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Keygen => ", by getrandom in the process itself where the kernel offers that (vDSO)",
            Op::Sign | Op::Encrypt => {
                "; randomness by getrandom in the process itself where the kernel offers that (vDSO)"
            }
            Op::Verify | Op::Decrypt => "",
        };
        let crossing = "a call from C into Go, some 100 ns, is inside, and Go's collector runs beside it";
        self.0.provenance(&format!("{}{how}; {crossing}", op.timed()))
    }
}
