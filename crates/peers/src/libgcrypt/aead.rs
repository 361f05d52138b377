//! AEADs of libgcrypt: a handle that is opened once, keyed once, and given a nonce for each message.

use super::{Functions, Handle};
use crate::contract::aead::{Aead, Algorithm, Op, TAG};
use crate::shared_object::SharedObject;
use candor_lab::{Provenance, Refusal};
use std::ffi::c_int;
use std::ptr;

/// `gcry_cipher_algos` and `gcry_cipher_modes` of gcrypt.h.
fn numbers(algorithm: Algorithm) -> Option<(c_int, c_int)> {
    const CCM: c_int = 8;
    const GCM: c_int = 9;
    const POLY1305: c_int = 10;
    match algorithm {
        Algorithm::Aes128Gcm => Some((7, GCM)),
        Algorithm::Aes256Gcm => Some((9, GCM)),
        Algorithm::Sm4Gcm => Some((318, GCM)),
        Algorithm::Sm4Ccm => Some((318, CCM)),
        Algorithm::ChaCha20Poly1305 => Some((316, POLY1305)),
        Algorithm::XChaCha20Poly1305 => None,
    }
}

/// An AEAD of one library.
pub(super) struct GcryptAead {
    object: &'static SharedObject<Functions>,
    /// CCM wants to know all lengths before it begins.
    says_lengths: bool,
    handle: Handle,
}

impl GcryptAead {
    pub(super) fn new(object: &'static SharedObject<Functions>, algorithm: Algorithm) -> Result<Self, Refusal> {
        let lacks = || Refusal::never(format!("has no {}", algorithm.title()));
        let (cipher, mode) = numbers(algorithm).ok_or_else(lacks)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the call writes a handle, which becomes ours, or none.
        let failed = unsafe { (object.functions.cipher_open)(&mut handle, cipher, mode, 0) };
        if failed == 0 && !handle.is_null() {
            Ok(Self { object, says_lengths: algorithm == Algorithm::Sm4Ccm, handle })
        } else {
            Err(lacks())
        }
    }

    /// Nonce and associated data of the next message.
    fn begin(&self, nonce: &[u8], aad: &[u8], data: usize) -> u32 {
        /// GCRYCTL_SET_CCM_LENGTHS.
        const SET_LENGTHS: c_int = 69;
        let functions = &self.object.functions;
        if self.says_lengths {
            let mut lengths = [data as u64, aad.len() as u64, TAG as u64];
            let (from, size) = (lengths.as_mut_ptr().cast(), size_of_val(&lengths));
            // SAFETY: a live handle with its key set; the calls read as many bytes as said.
            return unsafe {
                (functions.cipher_setiv)(self.handle, nonce.as_ptr().cast(), nonce.len())
                    | (functions.cipher_ctl)(self.handle, SET_LENGTHS, from, size)
                    | (functions.cipher_authenticate)(self.handle, aad.as_ptr().cast(), aad.len())
            };
        }
        // SAFETY: a live handle with its key set; the calls read as many bytes as said.
        unsafe {
            (functions.cipher_setiv)(self.handle, nonce.as_ptr().cast(), nonce.len())
                | (functions.cipher_authenticate)(self.handle, aad.as_ptr().cast(), aad.len())
        }
    }
}

impl Drop for GcryptAead {
    fn drop(&mut self) {
        // SAFETY: made by this library, owned by this value, and not used after.
        unsafe { (self.object.functions.cipher_close)(self.handle) }
    }
}

impl Aead for GcryptAead {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        // SAFETY: a live handle; the call reads as many bytes as said.
        let failed = unsafe { (self.object.functions.cipher_setkey)(self.handle, key.as_ptr().cast(), key.len()) };
        if failed == 0 { Ok(()) } else { Err(Refusal::failed("refuses the key")) }
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let functions = &self.object.functions;
        // SAFETY: as above; without an input the call works in place. The tag has the bytes that are written.
        let failed = self.begin(nonce, aad, data.len())
            | unsafe {
                (functions.cipher_encrypt)(self.handle, data.as_mut_ptr().cast(), data.len(), ptr::null(), 0)
                    | (functions.cipher_gettag)(self.handle, tag.as_mut_ptr().cast(), TAG)
            };
        assert!(failed == 0, "gcry_cipher_encrypt has worked before");
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let functions = &self.object.functions;
        // SAFETY: as above.
        let failed = self.begin(nonce, aad, data.len())
            | unsafe { (functions.cipher_decrypt)(self.handle, data.as_mut_ptr().cast(), data.len(), ptr::null(), 0) };
        assert!(failed == 0, "gcry_cipher_decrypt has worked before");
        // SAFETY: as above.
        unsafe { (functions.cipher_checktag)(self.handle, tag.as_ptr().cast(), TAG) == 0 }
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = "by a handle that is opened before and gets a nonce for each message";
        self.object.told(&format!("{}, {how}", op.timed()))
    }
}
