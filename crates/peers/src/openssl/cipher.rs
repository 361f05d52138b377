//! SM4 by EVP: the cipher is fetched and a context made once, before the clock starts. A message sets its counter block or initialisation
//! vector only.

use super::Found;
use super::api::{Api, DEFAULT, Object};
use crate::contract::cipher::{Cipher, Mode};
use candor_lab::{Provenance, Refusal};
use std::ffi::c_int;
use std::ptr;

/// A mode of SM4 of one library.
pub(super) struct OpenSslCipher {
    found: &'static Found,
    api: &'static Api,
    encrypts: c_int,
    cipher: Object,
    context: Object,
}

impl OpenSslCipher {
    pub(super) fn new(found: &'static Found, api: &'static Api, mode: Mode) -> Result<Self, Refusal> {
        let name = if mode == Mode::Ctr { c"SM4-CTR" } else { c"SM4-CBC" };
        // SAFETY: a name that ends in zero; no properties.
        let cipher = unsafe { (api.EVP_CIPHER_fetch)(DEFAULT, name.as_ptr(), ptr::null()) };
        // SAFETY: takes nothing.
        let context = unsafe { (api.EVP_CIPHER_CTX_new)() };
        let made = Self { found, api, encrypts: c_int::from(mode != Mode::CbcDecrypt), cipher, context };
        match cipher.is_null() || context.is_null() {
            true => Err(Refusal::new(format!("has no {} in its providers", mode.title()))),
            false => Ok(made),
        }
    }
}

impl Drop for OpenSslCipher {
    fn drop(&mut self) {
        // SAFETY: both were made by this library and are owned here; both functions take null.
        unsafe {
            (self.api.EVP_CIPHER_CTX_free)(self.context);
            (self.api.EVP_CIPHER_free)(self.cipher);
        }
    }
}

impl Cipher for OpenSslCipher {
    fn set_key(&mut self, key: &[u8; 16]) -> Result<(), Refusal> {
        let api = self.api;
        // SAFETY: a live context; the key has the cipher's length. The initialisation vector comes with each message, which has whole blocks.
        let done = unsafe {
            (api.EVP_CipherInit_ex2)(self.context, self.cipher, key.as_ptr(), ptr::null(), self.encrypts, ptr::null())
                == 1
                && (api.EVP_CIPHER_CTX_set_padding)(self.context, 0) == 1
        };
        if done { Ok(()) } else { Err(Refusal::failed("refuses the key")) }
    }

    fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8]) {
        let (api, mut written) = (self.api, 0);
        let length = c_int::try_from(data.len()).expect("messages of tasks are shorter than 2 GB");
        // SAFETY: a live context with cipher and key; -1 keeps its direction. The update reads as many bytes as said and writes as many
        // to the same place.
        let done = unsafe {
            (api.EVP_CipherInit_ex2)(self.context, ptr::null_mut(), ptr::null(), iv.as_ptr(), -1, ptr::null()) == 1
                && (api.EVP_CipherUpdate)(self.context, data.as_mut_ptr(), &mut written, data.as_ptr(), length) == 1
        };
        assert!(done && written == length, "EVP_Cipher… has worked before");
    }

    fn provenance(&self, timed: &str) -> Provenance {
        // SAFETY: `new` has fetched the cipher.
        let provider = unsafe { (self.api.EVP_CIPHER_get0_provider)(self.cipher) };
        let timed = format!("{timed}; cipher fetched and context made before");
        self.found.provenance(self.api, &timed, &self.api.provider_name(provider))
    }
}
