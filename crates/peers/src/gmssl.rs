//! GmSSL, the reference of many for China's standards, loaded at run time: SM4 in counter mode, CBC and GCM. Debian has no package of it.
//!
//! Its calls for a message take all of it at once and a key that is expanded before; GCM computes the hash key for each message anew. Its CCM
//! is left out, since it authenticates the ciphertext if told to work in place (3.3).
//!
//! It could have rows in the tasks of SM2: its sm2.h takes a digest and gives DER (`sm2_sign`, `sm2_verify`, `sm2_encrypt`, `sm2_decrypt`), with keys in
//! a structure whose fields changed between 3.1 and 3.2. Nothing of it is here yet. gmsm is Go and Tongsuo a fork of OpenSSL 3.0, which `openssl.rs`
//! tells apart and refuses.

#![cfg(feature = "peer-gmssl")]
#![allow(unsafe_code)] // A C library behind dlopen: every call crosses into it.

use crate::contract::aead::{self, Aead, TAG};
use crate::contract::cipher::{self, Cipher, Mode};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{Found, SharedObject, Which, function};
use candor_lab::{Entry, Provenance, Refusal};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "gmssl",
    file: "libgmssl",
    what: "GmSSL, China's national algorithms, loaded at run time",
    how: "build GmSSL 3.2 or newer from its sources, and name the directory with its libgmssl.so.* in CANDOR_PEERS",
    arm: "chosen when the library was built, which does not tell which",
    needs: &[],
};

/// `SM4_KEY` of sm4.h: the round keys.
type Key = [u32; 32];

/// Whole blocks: key, chain, input, blocks, output. The chain is updated.
type Blocks = unsafe extern "C" fn(*const Key, *mut u8, *const u8, usize, *mut u8);

/// Key, nonce and its length, associated data, input, output, the tag's length, tag. Gives 1.
type Seal = unsafe extern "C" fn(
    *const Key,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *mut u8,
    usize,
    *mut u8,
) -> c_int;

/// Key, nonce and its length, associated data, input, tag and its length, output. Gives 1 if the tag is right.
type Open = unsafe extern "C" fn(
    *const Key,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *mut u8,
) -> c_int;

type SetKey = unsafe extern "C" fn(*mut Key, *const u8);

/// The functions used. Types are those of sm4.h since 3.2.
struct Functions {
    set_encrypt_key: SetKey,
    set_decrypt_key: SetKey,
    ctr: Blocks,
    cbc_encrypt: Blocks,
    cbc_decrypt: Blocks,
    gcm_seal: Seal,
    gcm_open: Open,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of sm4.h and version.h; the version is a constant.
    unsafe {
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "gmssl_version_str")?;
        let version = CStr::from_ptr(version()).to_string_lossy().trim_start_matches("GmSSL ").to_owned();
        let functions = Functions {
            set_encrypt_key: function(&library, "sm4_set_encrypt_key")?,
            set_decrypt_key: function(&library, "sm4_set_decrypt_key")?,
            ctr: function(&library, "sm4_ctr_encrypt_blocks")?,
            cbc_encrypt: function(&library, "sm4_cbc_encrypt_blocks")?,
            cbc_decrypt: function(&library, "sm4_cbc_decrypt_blocks")?,
            gcm_seal: function(&library, "sm4_gcm_encrypt")?,
            gcm_open: function(&library, "sm4_gcm_decrypt")?,
            _library: library,
        };
        Ok((version, functions))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What GmSSL offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    /// SM4 only: its AES is portable code with tables.
    fn aead(&self, algorithm: aead::Algorithm, op: aead::Op, bytes: usize) -> Vec<Entry> {
        match algorithm {
            aead::Algorithm::Sm4Gcm => FOUND.each(|object| {
                aead::entry(&object.name, algorithm, op, bytes, move || Ok(GmsslGcm { object, key: [0; 32] }))
            }),
            _ => Vec::new(),
        }
    }

    fn cipher(&self, mode: Mode, op: cipher::Op) -> Vec<Entry> {
        FOUND.each(|object| {
            cipher::entry(&object.name, mode, op, move || Ok(GmsslCipher { object, mode, key: [0; 32] }))
        })
    }
}

/// SM4-GCM of one library.
struct GmsslGcm {
    object: &'static SharedObject<Functions>,
    key: Key,
}

impl Aead for GmsslGcm {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let key: &[u8; 16] = key.try_into().map_err(|_| Refusal::failed("SM4's keys have 16 bytes"))?;
        // SAFETY: room for the round keys, and the 16 bytes that the call reads.
        unsafe { (self.object.functions.set_encrypt_key)(&mut self.key, key.as_ptr()) };
        Ok(())
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let (at, length) = (data.as_mut_ptr(), data.len());
        // SAFETY: the calls read and write as many bytes as said; input and output may be the same.
        let done = unsafe {
            (self.object.functions.gcm_seal)(
                &self.key,
                nonce.as_ptr(),
                nonce.len(),
                aad.as_ptr(),
                aad.len(),
                at,
                length,
                at,
                TAG,
                tag.as_mut_ptr(),
            )
        };
        assert!(done == 1, "SM4 has worked before");
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let (at, length) = (data.as_mut_ptr(), data.len());
        // SAFETY: as above.
        unsafe {
            (self.object.functions.gcm_open)(
                &self.key,
                nonce.as_ptr(),
                nonce.len(),
                aad.as_ptr(),
                aad.len(),
                at,
                length,
                tag.as_ptr(),
                TAG,
                at,
            ) == 1
        }
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.object.provenance(&format!("{timed}, with round keys made before"))
    }
}

/// A mode of SM4 of one library.
struct GmsslCipher {
    object: &'static SharedObject<Functions>,
    mode: Mode,
    key: Key,
}

impl Cipher for GmsslCipher {
    fn set_key(&mut self, key: &[u8; 16]) -> Result<(), Refusal> {
        let functions = &self.object.functions;
        let set = if self.mode == Mode::CbcDecrypt { functions.set_decrypt_key } else { functions.set_encrypt_key };
        // SAFETY: room for the round keys, and the 16 bytes that the call reads.
        unsafe { set(&mut self.key, key.as_ptr()) };
        Ok(())
    }

    fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8]) {
        let functions = &self.object.functions;
        let crypt = match self.mode {
            Mode::Ctr => functions.ctr,
            Mode::CbcEncrypt => functions.cbc_encrypt,
            Mode::CbcDecrypt => functions.cbc_decrypt,
        };
        let mut chain = *iv;
        // SAFETY: the calls read and write so many whole blocks, in place, and 16 bytes of the chain.
        unsafe { crypt(&self.key, chain.as_mut_ptr(), data.as_ptr(), data.len() / 16, data.as_mut_ptr()) };
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.object.provenance(&format!("{timed}, with round keys made before"))
    }
}
