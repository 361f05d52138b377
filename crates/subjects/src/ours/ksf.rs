//! Our Argon2id on each of the machine's arms.

use super::{distinct_arms, ours};
use candor_lab::{Entry, Provenance, Refusal};
use candor_peers::contract::ksf::{self, Argon2id, Tag};
use candor_primitives::ksf::{Argon2id as Candor, Memory, Params};

/// The arm that this process takes by default, then the machine's others.
pub(crate) fn argon2id(params: Params) -> Vec<Entry> {
    let entry = |(arm, cpu)| {
        ksf::entry(format!("candor@{arm}"), move || {
            let memory = Memory::new(params).map_err(|error| Refusal::failed(error.to_string()))?;
            Ok(Ours { argon2id: Candor::with_cpu(cpu, params), memory })
        })
    };
    distinct_arms(|cpu| Candor::with_cpu(cpu, params).arm()).into_iter().map(entry).collect()
}

struct Ours {
    argon2id: Candor,
    memory: Memory,
}

impl Argon2id for Ours {
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str> {
        let mut tag = [0; 64];
        self.argon2id.derive(password, salt, &mut self.memory, &mut tag).map_err(|_| "candor's Argon2id failed")?;
        Ok(tag)
    }

    fn provenance(&self) -> Provenance {
        let timed = format!("{} (Argon2id::derive in memory that is kept; it wipes it, inside the call)", ksf::TIMED);
        Provenance { arm: Some(self.argon2id.arm().to_owned()), ..ours(&timed) }
    }
}
