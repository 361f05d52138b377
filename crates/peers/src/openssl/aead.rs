//! AEADs by EVP: the cipher is fetched and two contexts are made once, one for each direction, before the clock starts. A message sets its nonce
//! only. A key goes into the context for sealing at once, and into the other before the first message is opened, since who sets a key has one
//! direction in mind: the task that times a key would count two.

use super::Found;
use super::api::{Api, DEFAULT, Object};
use crate::contract::aead::{Aead, Algorithm, Op, TAG};
use candor_lab::{Provenance, Refusal};
use std::ffi::{CStr, c_int};
use std::ptr;

// Controls of EVP_CIPHER_CTX_ctrl(3).
const SET_NONCE_LENGTH: c_int = 9;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

/// An AEAD of one library.
pub(super) struct OpenSslAead {
    found: &'static Found,
    api: &'static Api,
    /// CCM wants the lengths before it begins, and the tag before it decrypts.
    ccm: bool,
    cipher: Object,
    sealing: Object,
    opening: Object,
    /// The key that the opening context has yet to get.
    pending: Option<([u8; 32], usize)>,
}

/// The name by which a provider has the algorithm (EVP_CIPHER-AES(7), EVP_CIPHER-CHACHA(7)); none has XChaCha20.
fn name(algorithm: Algorithm) -> Option<&'static CStr> {
    match algorithm {
        Algorithm::Aes128Gcm => Some(c"AES-128-GCM"),
        Algorithm::Aes256Gcm => Some(c"AES-256-GCM"),
        Algorithm::Sm4Gcm => Some(c"SM4-GCM"),
        Algorithm::Sm4Ccm => Some(c"SM4-CCM"),
        Algorithm::ChaCha20Poly1305 => Some(c"ChaCha20-Poly1305"),
        Algorithm::XChaCha20Poly1305 => None,
    }
}

impl OpenSslAead {
    pub(super) fn new(found: &'static Found, api: &'static Api, algorithm: Algorithm) -> Result<Self, Refusal> {
        let lacks = || Refusal::new(format!("has no {} in its providers", algorithm.title()));
        let name = name(algorithm).ok_or_else(lacks)?;
        // SAFETY: a name that ends in zero; no properties.
        let cipher = unsafe { (api.EVP_CIPHER_fetch)(DEFAULT, name.as_ptr(), ptr::null()) };
        // SAFETY: takes nothing.
        let [sealing, opening] = unsafe { [(api.EVP_CIPHER_CTX_new)(), (api.EVP_CIPHER_CTX_new)()] };
        let made = Self { found, api, ccm: algorithm == Algorithm::Sm4Ccm, cipher, sealing, opening, pending: None };
        let all = [cipher, sealing, opening];
        if all.iter().any(|object| object.is_null()) { Err(lacks()) } else { Ok(made) }
    }

    /// Puts a key into a context.
    fn key(&self, context: Object, direction: c_int, key: &[u8]) -> bool {
        let init = self.api.EVP_CipherInit_ex2;
        let control = self.api.EVP_CIPHER_CTX_ctrl;
        // To name the cipher again would undo the lengths.
        let cipher = if self.ccm { ptr::null_mut() } else { self.cipher };
        // SAFETY: a live context; the key has the cipher's length. The nonce comes with each message. CCM's lengths have to be known before the key.
        unsafe {
            (!self.ccm
                || init(context, self.cipher, ptr::null(), ptr::null(), direction, ptr::null()) == 1
                    && control(context, SET_NONCE_LENGTH, 12, ptr::null_mut()) == 1
                    && control(context, SET_TAG, TAG as c_int, ptr::null_mut()) == 1)
                && init(context, cipher, key.as_ptr(), ptr::null(), direction, ptr::null()) == 1
        }
    }

    /// Starts a message and runs associated data and data through a context.
    /// `tag` is that of a message to be opened.
    fn message(&self, context: Object, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: Option<&mut [u8; TAG]>) -> bool {
        let api = self.api;
        let length = |bytes: &[u8]| c_int::try_from(bytes.len()).expect("messages of tasks are shorter than 2 GB");
        let mut written = 0;
        if self.ccm {
            let tag: Object = tag.map_or(ptr::null_mut(), |tag| tag.as_mut_ptr().cast());
            // SAFETY: as below. The control takes the length of the tag, and the tag where there is one; the first update takes the message's length.
            return unsafe {
                (tag.is_null() || (api.EVP_CIPHER_CTX_ctrl)(context, SET_TAG, TAG as c_int, tag) == 1)
                    && (api.EVP_CipherInit_ex2)(context, ptr::null_mut(), ptr::null(), nonce.as_ptr(), -1, ptr::null())
                        == 1
                    && (api.EVP_CipherUpdate)(context, ptr::null_mut(), &mut written, ptr::null(), length(data)) == 1
                    && (api.EVP_CipherUpdate)(context, ptr::null_mut(), &mut written, aad.as_ptr(), length(aad)) == 1
                    && (api.EVP_CipherUpdate)(context, data.as_mut_ptr(), &mut written, data.as_ptr(), length(data))
                        == 1
            };
        }
        // SAFETY: a live context with cipher and key; -1 keeps its direction. The nonce has the cipher's length; the updates read as many bytes as said,
        // and write as many to the same place, or nothing for associated data.
        unsafe {
            (api.EVP_CipherInit_ex2)(context, ptr::null_mut(), ptr::null(), nonce.as_ptr(), -1, ptr::null()) == 1
                && (api.EVP_CipherUpdate)(context, ptr::null_mut(), &mut written, aad.as_ptr(), length(aad)) == 1
                && (api.EVP_CipherUpdate)(context, data.as_mut_ptr(), &mut written, data.as_ptr(), length(data)) == 1
        }
    }
}

impl Drop for OpenSslAead {
    fn drop(&mut self) {
        // SAFETY: all were made by this library and are owned here; the functions take null.
        unsafe {
            (self.api.EVP_CIPHER_CTX_free)(self.sealing);
            (self.api.EVP_CIPHER_CTX_free)(self.opening);
            (self.api.EVP_CIPHER_free)(self.cipher);
        }
    }
}

impl Aead for OpenSslAead {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let mut pending = [0; 32];
        pending[..key.len()].copy_from_slice(key);
        self.pending = Some((pending, key.len()));
        if self.key(self.sealing, 1, key) { Ok(()) } else { Err(Refusal::failed("refuses the key")) }
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let mut written = 0;
        // SAFETY: the last call writes nothing for these modes; the tag has the 16 bytes that are written.
        let done = self.message(self.sealing, nonce, aad, data, None)
            && unsafe {
                (self.api.EVP_CipherFinal_ex)(self.sealing, tag.as_mut_ptr(), &mut written) == 1
                    && (self.api.EVP_CIPHER_CTX_ctrl)(self.sealing, GET_TAG, TAG as c_int, tag.as_mut_ptr().cast()) == 1
            };
        assert!(done, "EVP_Cipher… has worked before");
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        if let Some((key, length)) = self.pending.take() {
            assert!(self.key(self.opening, 0, &key[..length]), "the key was taken before");
        }
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let done = self.message(self.opening, nonce, aad, data, Some(tag));
        if self.ccm {
            return done;
        }
        assert!(done, "EVP_Cipher… has worked before");
        let mut written = 0;
        // SAFETY: as above; the control reads 16 bytes.
        unsafe {
            (self.api.EVP_CIPHER_CTX_ctrl)(self.opening, SET_TAG, TAG as c_int, tag.as_mut_ptr().cast()) == 1
                && (self.api.EVP_CipherFinal_ex)(self.opening, tag.as_mut_ptr(), &mut written) == 1
        }
    }

    fn provenance(&self, op: Op) -> Provenance {
        // SAFETY: `new` has fetched the cipher.
        let provider = unsafe { (self.api.EVP_CIPHER_get0_provider)(self.cipher) };
        let timed =
            format!("{}; cipher fetched and contexts made before; a key goes into the context for sealing", op.timed());
        self.found.provenance(self.api, &timed, &self.api.provider_name(provider))
    }
}
