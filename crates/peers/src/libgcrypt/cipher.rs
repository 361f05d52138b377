//! SM4 of libgcrypt: a handle that is opened once, keyed once, and given a counter block or an initialisation vector for each message.

use super::{Functions, Handle};
use crate::contract::cipher::{Cipher, Mode};
use crate::shared_object::SharedObject;
use candor_lab::{Provenance, Refusal};
use std::ffi::c_int;
use std::ptr;

/// A mode of SM4 of one library.
pub(super) struct GcryptCipher {
    object: &'static SharedObject<Functions>,
    mode: Mode,
    handle: Handle,
}

impl GcryptCipher {
    pub(super) fn new(object: &'static SharedObject<Functions>, mode: Mode) -> Result<Self, Refusal> {
        // `gcry_cipher_algos` and `gcry_cipher_modes` of gcrypt.h.
        const SM4: c_int = 318;
        let number = if mode == Mode::Ctr { 6 } else { 3 };
        let mut handle = ptr::null_mut();
        // SAFETY: the call writes a handle, which becomes ours, or none.
        let failed = unsafe { (object.functions.cipher_open)(&mut handle, SM4, number, 0) };
        match failed == 0 && !handle.is_null() {
            true => Ok(Self { object, mode, handle }),
            false => Err(Refusal::never(format!("has no {}", mode.title()))),
        }
    }
}

impl Drop for GcryptCipher {
    fn drop(&mut self) {
        // SAFETY: made by this library, owned by this value, and not used after.
        unsafe { (self.object.functions.cipher_close)(self.handle) }
    }
}

impl Cipher for GcryptCipher {
    fn set_key(&mut self, key: &[u8; 16]) -> Result<(), Refusal> {
        // SAFETY: a live handle; the call reads as many bytes as said.
        let failed = unsafe { (self.object.functions.cipher_setkey)(self.handle, key.as_ptr().cast(), key.len()) };
        if failed == 0 { Ok(()) } else { Err(Refusal::failed("refuses the key")) }
    }

    fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8]) {
        let functions = &self.object.functions;
        let (set, crypt) = match self.mode {
            Mode::Ctr => (functions.cipher_setctr, functions.cipher_encrypt),
            Mode::CbcEncrypt => (functions.cipher_setiv, functions.cipher_encrypt),
            Mode::CbcDecrypt => (functions.cipher_setiv, functions.cipher_decrypt),
        };
        // SAFETY: a live handle with its key set; the calls read as many bytes as said, and without an input the second works in place.
        let failed = unsafe {
            set(self.handle, iv.as_ptr().cast(), iv.len())
                | crypt(self.handle, data.as_mut_ptr().cast(), data.len(), ptr::null(), 0)
        };
        assert!(failed == 0, "gcry_cipher_encrypt has worked before");
    }

    fn provenance(&self, timed: &str) -> Provenance {
        self.object.told(&format!(
            "{timed}, by a handle that is opened before and gets a counter or a vector for each message"
        ))
    }
}
