//! Our Argon2id on each of the machine's arms.

use super::{distinct_arms, ours};
use candor_lab::{Entry, Provenance, Refusal};
use candor_peers::contract::ksf::{self, Argon2id, Store, Tag};
use candor_primitives::ksf::{Argon2id as Candor, Memory, Params};

/// The arm that this process takes by default, then the machine's others.
pub(crate) fn argon2id(params: Params, store: Store) -> Vec<Entry> {
    let entry = |(arm, cpu)| {
        ksf::entry(format!("candor@{arm}"), move || {
            let memory = match store {
                Store::Kept => Some(Memory::new(params).map_err(|error| Refusal::failed(error.to_string()))?),
                Store::Allocated => None,
            };
            Ok(Ours { argon2id: Candor::with_cpu(cpu, params), params, memory })
        })
    };
    distinct_arms(|cpu| Candor::with_cpu(cpu, params).arm()).into_iter().map(entry).collect()
}

struct Ours {
    argon2id: Candor,
    params: Params,
    /// None where each call makes its own.
    memory: Option<Memory>,
}

impl Ours {
    fn store(&self) -> Store {
        if self.memory.is_some() { Store::Kept } else { Store::Allocated }
    }
}

impl Argon2id for Ours {
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str> {
        let mut tag = [0; 64];
        let mut own = None;
        let memory = match &mut self.memory {
            Some(memory) => memory,
            None => own.insert(Memory::new(self.params).map_err(|_| "there is no memory for candor's Argon2id")?),
        };
        self.argon2id.derive(password, salt, memory, &mut tag).map_err(|_| "candor's Argon2id failed")?;
        Ok(tag)
    }

    fn provenance(&self) -> Provenance {
        let timed = format!(
            "{} {} (Argon2id::derive, which wipes it; huge pages where the system gives them for the asking)",
            ksf::TIMED,
            self.store().timed()
        );
        Provenance { arm: Some(self.argon2id.arm().to_owned()), ..ours(&timed).with(self.store().habit()) }
    }
}
