//! `argon2-rust`: a port of the reference C code with SIMD kernels of its own, through its hasher that keeps its memory.

#![cfg(feature = "peer-argon2-rust")]

use crate::contract::ksf::{self, Argon2id, Tag};
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

    fn argon2id(&self, params: Params) -> Vec<Entry> {
        vec![argon2id(params)]
    }
}

fn argon2id(params: Params) -> Entry {
    ksf::entry(linked::subject(PACKAGE), move || {
        let cost = argon2_rust::Params::builder().memory(Memory::kib(params.memory().into()));
        let cost = cost.passes(params.passes()).lanes(params.lanes()).tag_len(TagLen::bytes(64)).build();
        let cost = cost.map_err(|_| Refusal::failed("refuses these parameters"))?;
        Ok(Pooled(Argon2::new(Algorithm::Argon2id, Version::V0x13, cost).hasher()))
    })
}

struct Pooled(Hasher);

impl Argon2id for Pooled {
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str> {
        let mut tag = [0; 64];
        self.0.hash_into(password, salt, &mut tag).map(|()| tag).map_err(|_| "argon2-rust failed")
    }

    fn provenance(&self) -> Provenance {
        let mut provenance = linked::provenance(PACKAGE, format!("{} (Hasher::hash_into, memory kept)", ksf::TIMED));
        provenance.arm = Some(format!("{:?}, as it tells", argon2_rust::detected_backend()).to_lowercase());
        provenance
    }
}
