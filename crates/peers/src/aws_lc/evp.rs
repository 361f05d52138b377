//! XChaCha20-Poly1305, which `aws-lc-rs` has no call for, by AWS-LC's own interface for AEADs.
#![allow(unsafe_code)] // A C library: every call crosses into it.

use super::{PACKAGE, provenance};
use crate::contract::aead::{self, Aead, Algorithm, Op, TAG};
use crate::linked;
use aws_lc_sys::{
    EVP_AEAD_CTX, EVP_AEAD_CTX_free, EVP_AEAD_CTX_new, EVP_AEAD_CTX_open, EVP_AEAD_CTX_seal,
    EVP_aead_xchacha20_poly1305,
};
use candor_lab::{Entry, Habit, Provenance, Refusal};
use std::ptr::NonNull;

pub(super) fn entry(op: Op, bytes: usize) -> Entry {
    aead::entry(linked::subject(PACKAGE), Algorithm::XChaCha20Poly1305, op, bytes, || Ok(XChaCha20Poly1305::new()))
}

/// A key that is set, once it is.
pub(super) struct XChaCha20Poly1305(Option<Context>);

impl XChaCha20Poly1305 {
    pub(super) fn new() -> Self {
        Self(None)
    }

    fn context(&self) -> *const EVP_AEAD_CTX {
        self.0.as_ref().expect("the key is set before the first message").0.as_ptr()
    }
}

struct Context(NonNull<EVP_AEAD_CTX>);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is the library's, and nobody else's.
        unsafe { EVP_AEAD_CTX_free(self.0.as_ptr()) }
    }
}

impl Aead for XChaCha20Poly1305 {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        // SAFETY: the call reads as many bytes as said, and returns null where it fails.
        let context = unsafe { EVP_AEAD_CTX_new(EVP_aead_xchacha20_poly1305(), key.as_ptr(), key.len(), TAG) };
        self.0 = Some(Context(NonNull::new(context).ok_or_else(|| Refusal::failed("refuses the key"))?));
        Ok(())
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        let (room, length) = (data.len(), data.len() - TAG);
        let mut written = 0;
        // SAFETY: the calls read and write as many bytes as said, in place as openssl/aead.h allows.
        let sealed = unsafe {
            EVP_AEAD_CTX_seal(
                self.context(),
                data.as_mut_ptr(),
                &raw mut written,
                room,
                nonce.as_ptr(),
                nonce.len(),
                data.as_ptr(),
                length,
                aad.as_ptr(),
                aad.len(),
            )
        };
        assert!(sealed == 1 && written == room, "sealing has worked before");
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        let mut written = 0;
        // SAFETY: as above.
        let opened = unsafe {
            EVP_AEAD_CTX_open(
                self.context(),
                data.as_mut_ptr(),
                &raw mut written,
                data.len(),
                nonce.as_ptr(),
                nonce.len(),
                data.as_ptr(),
                data.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        opened == 1 && written == data.len() - TAG
    }

    fn provenance(&self, op: Op) -> Provenance {
        let allocates = (Habit::Allocates, "the call allocates its context");
        provenance(&format!("{} (EVP_AEAD_CTX)", op.timed())).telling((op == Op::New).then_some(allocates))
    }
}
