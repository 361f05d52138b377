//! RustCrypto's `argon2`, as its documentation calls it and with memory that the caller keeps.

#![cfg(feature = "peer-argon2")]

use crate::contract::ksf::{self, Argon2id, Store, Tag};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use argon2::{Algorithm, Argon2, Block, Version};
use candor_lab::{Entry, Habit, Provenance, Refusal};
use candor_primitives::ksf::Params;

const PACKAGE: &str = "argon2";

/// What argon2 offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "Argon2 by RustCrypto, Rust compiled twice, once for AVX2")]
    }

    fn argon2id(&self, params: Params, store: Store) -> Vec<Entry> {
        vec![argon2id(params, store)]
    }
}

fn argon2id(params: Params, store: Store) -> Entry {
    ksf::entry(linked::subject(PACKAGE), move || {
        let cost = argon2::Params::new(params.memory(), params.passes(), params.lanes(), Some(64));
        let cost = cost.map_err(|_| Refusal::failed("refuses these parameters"))?;
        let memory = match store {
            Store::Kept => vec![Block::default(); cost.block_count()],
            Store::Allocated => Vec::new(),
        };
        Ok(RustCrypto { argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, cost), memory })
    })
}

struct RustCrypto {
    argon2: Argon2<'static>,
    /// Empty where each call makes its own.
    memory: Vec<Block>,
}

impl RustCrypto {
    fn store(&self) -> Store {
        if self.memory.is_empty() { Store::Allocated } else { Store::Kept }
    }
}

impl Argon2id for RustCrypto {
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str> {
        let mut tag = [0; 64];
        let done = match &mut self.memory[..] {
            [] => self.argon2.hash_password_into(password, salt, &mut tag),
            memory => self.argon2.hash_password_into_with_memory(password, salt, &mut tag, memory),
        };
        done.map(|()| tag).map_err(|_| "RustCrypto's Argon2id failed")
    }

    fn provenance(&self) -> Provenance {
        let store = self.store();
        let call = match store {
            Store::Allocated => "hash_password_into",
            Store::Kept => "hash_password_into_with_memory",
        };
        let told = linked::provenance(PACKAGE, format!("{} {} ({call})", ksf::TIMED, store.timed()));
        let mut provenance = told.with(store.habit()).telling([(Habit::WipesNothing, "nothing is wiped")]);
        provenance.arm = Some("avx2 where the CPU has it, by the crate's own rule".into());
        provenance
    }
}
