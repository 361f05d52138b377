//! Argon2id (RFC 9106), 3 passes, 1 lane, 64 bytes out.

use crate::seed::Stream;
use candor_lab::{Entry, Habit, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// What the timed call does, in a sentence without its stop.
pub const TIMED: &str = "stretches one password of 16 bytes with a salt of 16 bytes into 64 bytes";

/// Whose memory a call works in. Mapping 256 MiB and touching it for the first time takes a good part of the whole, so the two are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Memory that was allocated before the call and is used again by the next: a server's, or a client's that logs in often.
    Kept,
    /// Memory that the call allocates and gives back.
    Allocated,
}

impl Store {
    /// How the timed call comes by its memory, as the end of a sentence.
    #[must_use]
    pub fn timed(self) -> &'static str {
        match self {
            Self::Kept => "in memory that is kept from call to call",
            Self::Allocated => "in memory that the call allocates and gives back",
        }
    }

    /// What that is as a habit.
    #[must_use]
    pub fn habit(self) -> Option<Habit> {
        (self == Self::Allocated).then_some(Habit::Allocates)
    }
}

/// The output of one call.
pub type Tag = [u8; 64];

/// Argon2id by one library, at a cost given when it is made.
pub trait Argon2id: 'static {
    /// The tag.
    fn derive(&mut self, password: &[u8; 16], salt: &[u8; 16]) -> Result<Tag, &'static str>;

    /// Where the library comes from and how it was built.
    fn provenance(&self) -> Provenance;
}

/// The entry of a library. `make` opens it and allocates what it keeps between calls, or says why it can't be had.
pub fn entry<A: Argon2id>(
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
