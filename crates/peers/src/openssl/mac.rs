//! HMAC and HKDF by EVP_MAC and EVP_KDF: fetched once, one context each, before the clock starts.

use super::Found;
use super::api::{Api, DEFAULT, Object, Parameter};
use super::hash::name;
use crate::contract::hash::{Algorithm, Output};
use crate::contract::{kdf, mac};
use candor_lab::{Provenance, Refusal};
use std::ptr;

/// HMAC of one library.
pub(super) struct OpenSslHmac {
    found: &'static Found,
    api: &'static Api,
    algorithm: Algorithm,
    mac: Object,
    context: Object,
}

impl OpenSslHmac {
    pub(super) fn new(found: &'static Found, api: &'static Api, algorithm: Algorithm) -> Result<Self, Refusal> {
        // SAFETY: a name that ends in zero; no properties.
        let mac = unsafe { (api.EVP_MAC_fetch)(DEFAULT, c"HMAC".as_ptr(), ptr::null()) };
        if mac.is_null() {
            return Err(Refusal::new("has no HMAC in its providers"));
        }
        // SAFETY: what was just fetched; the context takes a reference of its own.
        let context = unsafe { (api.EVP_MAC_CTX_new)(mac) };
        let made = Self { found, api, algorithm, mac, context };
        if context.is_null() { Err(Refusal::failed("EVP_MAC_CTX_new failed")) } else { Ok(made) }
    }
}

impl Drop for OpenSslHmac {
    fn drop(&mut self) {
        // SAFETY: both were made by this library and are owned here; both functions take null.
        unsafe {
            (self.api.EVP_MAC_CTX_free)(self.context);
            (self.api.EVP_MAC_free)(self.mac);
        }
    }
}

impl mac::Hmac for OpenSslHmac {
    type Tag = Output;

    fn set_key(&mut self, key: &[u8; 32]) -> Result<(), Refusal> {
        let digest = name(self.algorithm);
        let parameters = [Parameter::name(c"digest", &digest), Parameter::END];
        // SAFETY: a live context; the call reads as many bytes of the key as said, and the list, which has its end.
        let done = unsafe { (self.api.EVP_MAC_init)(self.context, key.as_ptr(), key.len(), parameters.as_ptr()) };
        match done {
            1 => Ok(()),
            _ => Err(Refusal::never(format!("has no HMAC over {}", self.algorithm.title()))),
        }
    }

    fn tag(&mut self, message: &[u8]) -> Output {
        let mut tag = Output::of(self.algorithm);
        let to = tag.as_mut();
        let mut written = 0;
        // SAFETY: a context with its key set, which an init without a key keeps (EVP_MAC(3)). The update reads as many bytes
        // as said; the final call writes at most as many as said, and how many.
        let done = unsafe {
            (self.api.EVP_MAC_init)(self.context, ptr::null(), 0, ptr::null()) == 1
                && (self.api.EVP_MAC_update)(self.context, message.as_ptr(), message.len()) == 1
                && (self.api.EVP_MAC_final)(self.context, to.as_mut_ptr(), &mut written, to.len()) == 1
        };
        assert!(done && written == to.len(), "EVP_MAC_… has worked before");
        tag
    }

    fn provenance(&self, timed: &str) -> Provenance {
        // SAFETY: `new` has fetched it.
        let provider = unsafe { (self.api.EVP_MAC_get0_provider)(self.mac) };
        let timed = format!("{timed}; fetched and context made before, init without a key, update and final timed");
        self.found.provenance(self.api, &timed, &self.api.provider_name(provider))
    }
}

/// HKDF over SHA-256 of one library.
pub(super) struct OpenSslHkdf {
    found: &'static Found,
    api: &'static Api,
    kdf: Object,
    context: Object,
}

impl OpenSslHkdf {
    pub(super) fn new(found: &'static Found, api: &'static Api) -> Result<Self, Refusal> {
        // SAFETY: a name that ends in zero; no properties.
        let kdf = unsafe { (api.EVP_KDF_fetch)(DEFAULT, c"HKDF".as_ptr(), ptr::null()) };
        if kdf.is_null() {
            return Err(Refusal::new("has no HKDF in its providers"));
        }
        // SAFETY: what was just fetched; the context takes a reference of its own.
        let context = unsafe { (api.EVP_KDF_CTX_new)(kdf) };
        let made = Self { found, api, kdf, context };
        if context.is_null() {
            return Err(Refusal::failed("EVP_KDF_CTX_new failed"));
        }
        // The digest once: naming it in each derivation would fetch it each time.
        let digest = name(Algorithm::Sha256);
        let parameters = [Parameter::name(c"digest", &digest), Parameter::END];
        // SAFETY: a live context, and a list with its end.
        let done = unsafe { (api.EVP_KDF_CTX_set_params)(context, parameters.as_ptr()) };
        if done == 1 { Ok(made) } else { Err(Refusal::never("has no HKDF over SHA-256")) }
    }
}

impl Drop for OpenSslHkdf {
    fn drop(&mut self) {
        // SAFETY: both were made by this library and are owned here; both functions take null.
        unsafe {
            (self.api.EVP_KDF_CTX_free)(self.context);
            (self.api.EVP_KDF_free)(self.kdf);
        }
    }
}

impl kdf::Hkdf for OpenSslHkdf {
    fn derive(&mut self, input: &kdf::Input) -> [u8; 64] {
        let mut keys = [0; 64];
        let parameters = [
            Parameter::bytes(c"key", &input.secret),
            Parameter::bytes(c"salt", &input.salt),
            Parameter::bytes(c"info", &input.info),
            Parameter::END,
        ];
        // SAFETY: a live context with its digest set, and a list with its end whose bytes outlive the call; it writes as many
        // bytes as said.
        let done =
            unsafe { (self.api.EVP_KDF_derive)(self.context, keys.as_mut_ptr(), keys.len(), parameters.as_ptr()) };
        assert!(done == 1, "EVP_KDF_derive has worked before");
        keys
    }

    fn provenance(&self, timed: &str) -> Provenance {
        // SAFETY: `new` has fetched it.
        let provider = unsafe { (self.api.EVP_KDF_get0_provider)(self.kdf) };
        let timed = format!("{timed}; fetched, context made and digest set before, EVP_KDF_derive with the rest timed");
        self.found.provenance(self.api, &timed, &self.api.provider_name(provider))
    }
}
