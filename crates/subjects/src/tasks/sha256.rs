//! `hash/sha256/{1k,64k,1m,10m}`: SHA-256, FIPS 180-4, of one message that is already in memory.

use crate::seed::Stream;
use crate::{ours, peers};
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use std::hint::black_box;

/// What the timed call does, in a sentence without its stop.
pub(crate) const TIMED: &str = "hashes one message that is already in memory, from start to digest, in one call";

/// Name and length of the messages.
const SIZES: [(&str, usize); 4] = [("1k", 1 << 10), ("64k", 64 << 10), ("1m", 1 << 20), ("10m", 10 << 20)];

/// SHA-256 by one library.
pub(crate) trait Sha256: 'static {
    /// The digest in the library's own type.
    type Digest: AsRef<[u8]>;

    /// The digest of `message`. `&mut` for libraries that keep a context between messages.
    fn digest(&mut self, message: &[u8]) -> Self::Digest;

    /// Where the library comes from and how it was built.
    fn provenance(&self) -> Provenance;
}

/// All tasks of SHA-256.
pub(crate) fn tasks() -> Vec<Task> {
    SIZES.map(|(name, bytes)| task(name, bytes)).into()
}

fn task(name: &str, bytes: usize) -> Task {
    let task = Task::new(format!("hash/sha256/{name}"), format!("SHA-256 of {bytes} bytes: {TIMED}"));
    let mut task = task.bytes(bytes as u64);
    task.entries.extend(ours::sha256(bytes));
    task.entries.extend(peers::sha256(bytes));
    task
}

/// The entry of a library for a message of `bytes`. `make` opens the library, or says why it can't be had.
pub(crate) fn entry<H: Sha256>(
    subject: impl Into<String>,
    bytes: usize,
    make: impl Fn() -> Result<H, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(OneShot { hash: make()?, message: vec![0; bytes], witness: Witness::default() }))
}

struct OneShot<H> {
    hash: H,
    message: Vec<u8>,
    witness: Witness,
}

impl<H: Sha256> Subject for OneShot<H> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        Stream::new(seed, "message").fill(&mut self.message);
        self.witness = Witness::bytes(self.hash.digest(&self.message));
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(self.hash.digest(black_box(&self.message)));
        }
    }

    fn provenance(&self) -> Provenance {
        self.hash.provenance()
    }
}
