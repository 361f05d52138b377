//! SHA-256 by EVP: the digest is fetched and the context made once, before the clock starts.

use super::Found;
use super::api::{Api, DEFAULT, Object};
use crate::tasks::sha256::{Sha256, TIMED};
use candor_lab::{Provenance, Refusal};
use std::ptr;

/// SHA-256 of one library.
pub(super) struct OpenSslSha256 {
    found: &'static Found,
    api: &'static Api,
    digest: Object,
    context: Object,
}

impl OpenSslSha256 {
    pub(super) fn new(found: &'static Found, api: &'static Api) -> Result<Self, Refusal> {
        // SAFETY: a name that ends in zero; no properties.
        let digest = unsafe { (api.EVP_MD_fetch)(DEFAULT, c"SHA256".as_ptr(), ptr::null()) };
        // SAFETY: takes nothing.
        let context = unsafe { (api.EVP_MD_CTX_new)() };
        let made = Self { found, api, digest, context };
        if digest.is_null() || context.is_null() {
            return Err(Refusal::new("has no SHA256 in its providers"));
        }
        Ok(made)
    }
}

impl Drop for OpenSslSha256 {
    fn drop(&mut self) {
        // SAFETY: both were made by this library and are owned here; both functions take null.
        unsafe {
            (self.api.EVP_MD_CTX_free)(self.context);
            (self.api.EVP_MD_free)(self.digest);
        }
    }
}

impl Sha256 for OpenSslSha256 {
    type Digest = [u8; 32];

    fn digest(&mut self, message: &[u8]) -> [u8; 32] {
        let mut digest = [0; 32];
        // SAFETY: `new` has made both objects. The update reads as many bytes as said, the final call writes the 32 that
        // SHA-256 has.
        let done = unsafe {
            (self.api.EVP_DigestInit_ex2)(self.context, self.digest, DEFAULT) == 1
                && (self.api.EVP_DigestUpdate)(self.context, message.as_ptr().cast(), message.len()) == 1
                && (self.api.EVP_DigestFinal_ex)(self.context, digest.as_mut_ptr(), ptr::null_mut()) == 1
        };
        assert!(done, "EVP_Digest… has worked before");
        digest
    }

    fn provenance(&self) -> Provenance {
        // SAFETY: `new` has made the digest.
        let provider = unsafe { (self.api.EVP_MD_get0_provider)(self.digest) };
        let timed = format!("{TIMED}; digest fetched and context made before, init, update and final timed");
        self.found.provenance(self.api, &timed, &self.api.provider_name(provider))
    }
}
