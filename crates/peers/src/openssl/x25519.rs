//! X25519 by EVP_PKEY.

use super::Found;
use super::api::{Api, DEFAULT};
use super::key::{Context, Key, SHARED};
use crate::contract::x25519::{Failed, Op, X25519};
use candor_lab::{Habit, Provenance, Refusal};
use std::ffi::CStr;
use std::ptr;

const NAME: &CStr = c"X25519";

/// X25519 of one library.
pub(super) struct OpenSslX25519 {
    found: &'static Found,
    api: &'static Api,
    generator: Context,
    provider: String,
}

impl OpenSslX25519 {
    pub(super) fn new(found: &'static Found, api: &'static Api) -> Result<Self, Refusal> {
        // SAFETY: a name that ends in zero; no properties.
        let exchange = unsafe { (api.EVP_KEYEXCH_fetch)(DEFAULT, NAME.as_ptr(), ptr::null()) };
        if exchange.is_null() {
            return Err(Refusal::new("has no X25519 in its providers"));
        }
        // SAFETY: just fetched, not null, and freed once.
        let provider = unsafe {
            let provider = api.provider_name((api.EVP_KEYEXCH_get0_provider)(exchange));
            (api.EVP_KEYEXCH_free)(exchange);
            provider
        };
        let generator = Context::generator(api, NAME).map_err(Refusal::failed)?;
        Ok(Self { found, api, generator, provider })
    }
}

impl X25519 for OpenSslX25519 {
    /// A fresh key, or one whose context is ready for agreement.
    type Secret = Secret;
    type Encoded = [u8; 32];
    type Shared = [u8; SHARED];

    fn keygen(&self) -> Result<(Secret, [u8; 32]), Failed> {
        let key = self.generator.generate()?;
        let mut encoded = [0; 32];
        key.write_public(&mut encoded)?;
        Ok((Secret::Fresh(key), encoded))
    }

    fn ecdh(&self, secret: &Secret, peer: &[u8; 32]) -> Result<[u8; SHARED], Failed> {
        let peer = Key::public(self.api, NAME, peer)?;
        match secret {
            Secret::Ready(context) => context.derive(&peer),
            Secret::Fresh(key) => key.context()?.ready_to_derive()?.derive(&peer),
        }
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<Secret, Failed>> {
        let ready = |key: Key| key.context()?.ready_to_derive();
        Some(Key::private(self.api, NAME, bytes).and_then(ready).map(Secret::Ready))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let timed = format!("{}; context readied before", op.timed());
        let told = self.found.provenance(self.api, &timed, &self.provider);
        match op {
            Op::Keygen => told,
            Op::Ecdh => told.telling([
                (Habit::Allocates, "the call allocates an EVP_PKEY for the peer's key"),
                (Habit::ReadsKey, "the call checks the key of the peer"),
            ]),
        }
    }
}

/// A private key.
pub(super) enum Secret {
    /// As key generation leaves it.
    Fresh(Key),
    /// With a context for agreement, which holds the key.
    Ready(Context),
}
