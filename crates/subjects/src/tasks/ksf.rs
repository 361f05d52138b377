//! `ksf/argon2id/{64m,256m}`: Argon2id (RFC 9106), 3 passes, 1 lane, 64 bytes out: what a client of OPAQUE does at each login.

use crate::seed::Stream;
use crate::{ours, peers};
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use candor_primitives::ksf::Params;
use std::hint::black_box;

/// What the timed call does, in a sentence without its stop.
pub(crate) const TIMED: &str = "stretches one password of 16 bytes with a salt of 16 bytes into 64 bytes";

/// Name and cost of the tasks.
const COSTS: [(&str, Params); 2] = [("64m", Params::BROWSER), ("256m", Params::NATIVE)];

/// What one call gives.
pub(crate) type Tag = [u8; 64];

/// Argon2id by one library, at a cost given when it is made.
pub(crate) trait Argon2id: 'static {
    /// The tag.
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str>;

    /// Where the library comes from and how it was built.
    fn provenance(&self) -> Provenance;
}

/// All tasks of key stretching.
pub(crate) fn tasks() -> Vec<Task> {
    COSTS.map(|(name, params)| task(name, params)).into()
}

fn task(name: &str, params: Params) -> Task {
    let cost = format!("{} MiB, {} passes, {} lane", params.memory() / 1024, params.passes(), params.lanes());
    let mut task = Task::new(format!("ksf/argon2id/{name}"), format!("Argon2id with {cost}: {TIMED}"));
    task.entries.extend(ours::argon2id(params));
    task.entries.extend(peers::argon2id(params));
    task
}

/// The entry of a library. `make` opens it and allocates what it keeps between calls, or says why it can't be had.
pub(crate) fn entry<A: Argon2id>(
    subject: impl Into<String>,
    make: impl Fn() -> Result<A, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || {
        Ok(OneByOne { argon2id: make()?, password: [0; 16], salt: [0; 16], witness: Witness::default() })
    })
}

struct OneByOne<A> {
    argon2id: A,
    password: [u8; 16],
    salt: [u8; 16],
    witness: Witness,
}

impl<A: Argon2id> Subject for OneByOne<A> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        Stream::new(seed, "password").fill(&mut self.password);
        Stream::new(seed, "salt").fill(&mut self.salt);
        self.witness = Witness::bytes(self.argon2id.derive(&self.password, &self.salt).map_err(Refusal::failed)?);
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let tag = self.argon2id.derive(black_box(&self.password), black_box(&self.salt));
            black_box(tag.expect("it could before"));
        }
    }

    fn provenance(&self) -> Provenance {
        self.argon2id.provenance()
    }
}
