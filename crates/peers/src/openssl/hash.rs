//! Hashes by EVP: the digest is fetched and the context made once, before the clock starts.

use super::Found;
use super::api::{Api, DEFAULT, Object};
use crate::contract::hash::{Algorithm, Hash, Output};
use candor_lab::{Provenance, Refusal};
use std::ffi::CString;
use std::ptr;

/// The name by which a provider has the algorithm: its standard's, in any case (EVP_MD-SHA2(7), EVP_MD-SHA3(7), …).
pub(super) fn name(algorithm: Algorithm) -> CString {
    CString::new(algorithm.title()).expect("no title has a zero in it")
}

/// A hash function of one library.
pub(super) struct OpenSslHash {
    found: &'static Found,
    api: &'static Api,
    algorithm: Algorithm,
    digest: Object,
    context: Object,
}

impl OpenSslHash {
    pub(super) fn new(found: &'static Found, api: &'static Api, algorithm: Algorithm) -> Result<Self, Refusal> {
        let name = name(algorithm);
        // SAFETY: a name that ends in zero; no properties.
        let digest = unsafe { (api.EVP_MD_fetch)(DEFAULT, name.as_ptr(), ptr::null()) };
        // SAFETY: takes nothing.
        let context = unsafe { (api.EVP_MD_CTX_new)() };
        let made = Self { found, api, algorithm, digest, context };
        if digest.is_null() || context.is_null() {
            return Err(Refusal::new(format!("has no {} in its providers", algorithm.title())));
        }
        Ok(made)
    }
}

impl Drop for OpenSslHash {
    fn drop(&mut self) {
        // SAFETY: both were made by this library and are owned here; both functions take null.
        unsafe {
            (self.api.EVP_MD_CTX_free)(self.context);
            (self.api.EVP_MD_free)(self.digest);
        }
    }
}

impl Hash for OpenSslHash {
    type Digest = Output;

    fn digest(&mut self, message: &[u8]) -> Output {
        let mut digest = Output::of(self.algorithm);
        let to = digest.as_mut();
        // SAFETY: `new` has made both objects. The update reads as many bytes as said; the final call writes as many as the
        // algorithm has, which is what `Output` has room for, or as many as said.
        let done = unsafe {
            (self.api.EVP_DigestInit_ex2)(self.context, self.digest, DEFAULT) == 1
                && (self.api.EVP_DigestUpdate)(self.context, message.as_ptr().cast(), message.len()) == 1
                && match self.algorithm.is_extendable() {
                    true => (self.api.EVP_DigestFinalXOF)(self.context, to.as_mut_ptr(), to.len()) == 1,
                    false => (self.api.EVP_DigestFinal_ex)(self.context, to.as_mut_ptr(), ptr::null_mut()) == 1,
                }
        };
        assert!(done, "EVP_Digest… has worked before");
        digest
    }

    fn provenance(&self, timed: &str) -> Provenance {
        // SAFETY: `new` has made the digest.
        let provider = unsafe { (self.api.EVP_MD_get0_provider)(self.digest) };
        let timed = format!("{timed}; digest fetched and context made before, init, update and final timed");
        self.found.provenance(self.api, &timed, &self.api.provider_name(provider))
    }
}
