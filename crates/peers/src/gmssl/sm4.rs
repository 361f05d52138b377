//! SM4 in counter mode, CBC and GCM.
//!
//! Its calls for a message take all of it at once and a key that is expanded before; GCM computes the hash key for each message anew. Its CCM
//! is left out, since it authenticates the ciphertext if told to work in place (3.3).

use super::Functions as Gmssl;
use crate::contract::aead::{Aead, Op, TAG};
use crate::contract::cipher::{Cipher, Mode};
use crate::shared_object::{SharedObject, function};
use candor_lab::{Provenance, Refusal};
use libloading::Library;
use std::ffi::c_int;

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
pub(super) struct Functions {
    set_encrypt_key: SetKey,
    set_decrypt_key: SetKey,
    ctr: Blocks,
    cbc_encrypt: Blocks,
    cbc_decrypt: Blocks,
    gcm_seal: Seal,
    gcm_open: Open,
}

impl Functions {
    /// Looks the functions up, or names the one that is missing: before 3.2 they had other names and types.
    ///
    /// # Safety
    /// They are not called once the library is gone.
    pub(super) unsafe fn look_up(library: &Library) -> Result<Self, String> {
        // SAFETY: the types are those of sm4.h, and the caller's promise.
        unsafe {
            Ok(Self {
                ctr: function(library, "sm4_ctr_encrypt_blocks")?,
                cbc_encrypt: function(library, "sm4_cbc_encrypt_blocks")?,
                cbc_decrypt: function(library, "sm4_cbc_decrypt_blocks")?,
                set_encrypt_key: function(library, "sm4_set_encrypt_key")?,
                set_decrypt_key: function(library, "sm4_set_decrypt_key")?,
                gcm_seal: function(library, "sm4_gcm_encrypt")?,
                gcm_open: function(library, "sm4_gcm_decrypt")?,
            })
        }
    }
}

/// The library's functions, or why it has none that we know.
fn functions(object: &'static SharedObject<Gmssl>) -> Result<&'static Functions, Refusal> {
    object.functions.sm4.as_ref().map_err(|why| Refusal::never(format!("{why} (needs 3.2)")))
}

/// SM4-GCM of one library.
pub(super) struct GmsslGcm {
    object: &'static SharedObject<Gmssl>,
    functions: &'static Functions,
    key: Key,
}

impl GmsslGcm {
    pub(super) fn new(object: &'static SharedObject<Gmssl>) -> Result<Self, Refusal> {
        Ok(Self { object, functions: functions(object)?, key: [0; 32] })
    }
}

impl Aead for GmsslGcm {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let key: &[u8; 16] = key.try_into().map_err(|_| Refusal::failed("SM4's keys have 16 bytes"))?;
        // SAFETY: room for the round keys, and the 16 bytes that the call reads.
        unsafe { (self.functions.set_encrypt_key)(&mut self.key, key.as_ptr()) };
        Ok(())
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let (at, length) = (data.as_mut_ptr(), data.len());
        // SAFETY: the calls read and write as many bytes as said; input and output may be the same.
        let done = unsafe {
            (self.functions.gcm_seal)(
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
            (self.functions.gcm_open)(
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

    fn provenance(&self, op: Op) -> Provenance {
        let before = if op == Op::New { "" } else { ", with round keys made before" };
        self.object.provenance(&format!("{}{before}", op.timed()))
    }
}

/// A mode of SM4 of one library.
pub(super) struct GmsslCipher {
    object: &'static SharedObject<Gmssl>,
    functions: &'static Functions,
    mode: Mode,
    key: Key,
}

impl GmsslCipher {
    pub(super) fn new(object: &'static SharedObject<Gmssl>, mode: Mode) -> Result<Self, Refusal> {
        Ok(Self { object, functions: functions(object)?, mode, key: [0; 32] })
    }
}

impl Cipher for GmsslCipher {
    fn set_key(&mut self, key: &[u8; 16]) -> Result<(), Refusal> {
        let functions = self.functions;
        let set = if self.mode == Mode::CbcDecrypt { functions.set_decrypt_key } else { functions.set_encrypt_key };
        // SAFETY: room for the round keys, and the 16 bytes that the call reads.
        unsafe { set(&mut self.key, key.as_ptr()) };
        Ok(())
    }

    fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8]) {
        let functions = self.functions;
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
