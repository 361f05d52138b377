//! `argon2-rust`: a port of the reference C code with SIMD kernels of its own, through its hasher, which keeps its memory if one keeps the hasher.

#![cfg(feature = "peer-argon2-rust")]

use crate::contract::ksf::{self, Argon2id, Store, Tag};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use argon2_rust::params::{Memory, TagLen};
use argon2_rust::{Algorithm, Argon2, Hasher, Version};
use candor_lab::{Entry, Provenance, Refusal};
use candor_primitives::ksf::Params;

const PACKAGE: &str = "argon2-rust";

/// What argon2_rust offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "Argon2 in Rust with SIMD kernels, young")]
    }

    fn argon2id(&self, params: Params, store: Store) -> Vec<Entry> {
        vec![argon2id(params, store)]
    }
}

fn argon2id(params: Params, store: Store) -> Entry {
    ksf::entry(linked::subject(PACKAGE), move || {
        let cost = argon2_rust::Params::builder().memory(Memory::kib(params.memory().into()));
        let cost = cost.passes(params.passes()).lanes(params.lanes()).tag_len(TagLen::bytes(64)).build();
        let cost = cost.map_err(|_| Refusal::failed("refuses these parameters"))?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, cost);
        let pooled = (store == Store::Kept).then(|| argon2.hasher());
        Ok(ArgonRust { argon2, pooled })
    })
}

struct ArgonRust {
    argon2: Argon2,
    /// None where each call makes its own.
    pooled: Option<Hasher>,
}

impl Argon2id for ArgonRust {
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str> {
        let mut tag = [0; 64];
        let done = match &mut self.pooled {
            Some(hasher) => hasher.hash_into(password, salt, &mut tag),
            None => self.argon2.hasher().hash_into(password, salt, &mut tag),
        };
        done.map(|()| tag).map_err(|_| "argon2-rust failed")
    }

    fn provenance(&self) -> Provenance {
        let store = if self.pooled.is_some() { Store::Kept } else { Store::Allocated };
        let timed = format!("{} {} (Hasher::hash_into)", ksf::TIMED, store.timed());
        let mut provenance = linked::provenance(PACKAGE, timed).with(store.habit());
        provenance.arm = Some(format!("{:?}, as it tells", argon2_rust::detected_backend()).to_lowercase());
        provenance
    }
}
