//! HKDF (RFC 5869) over SHA-256, extract and expand.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// What the timed call does, in a sentence without its stop.
pub const TIMED: &str =
    "extracts from a salt of 32 and a secret of 32 bytes, and expands with 32 bytes of context to 64 bytes";

/// The input key material.
#[derive(Default)]
pub struct Input {
    /// The salt of the extraction.
    pub salt: [u8; 32],
    /// The secret that is extracted from.
    pub secret: [u8; 32],
    /// The context of the expansion.
    pub info: [u8; 32],
}

/// HKDF over SHA-256 by one library.
pub trait Hkdf: 'static {
    /// Derives 64 bytes.
    fn derive(&mut self, input: &Input) -> [u8; 64];

    /// Where the library comes from and how it was built; `timed` as for `Hash`.
    fn provenance(&self, timed: &str) -> Provenance;
}

/// The entry of a library. `make` opens the library, or says why it can't be had.
pub fn entry<K: Hkdf>(
    subject: impl Into<String>,
    make: impl Fn() -> Result<K, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Derive { hkdf: make()?, input: Input::default(), witness: Witness::default() }))
}

struct Derive<K> {
    hkdf: K,
    input: Input,
    witness: Witness,
}

impl<K: Hkdf> Subject for Derive<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "hkdf");
        self.input = Input { salt: stream.array(), secret: stream.array(), info: stream.array() };
        self.hkdf.derive(&self.input);
        self.witness = Witness::bytes(self.hkdf.derive(&self.input));
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(self.hkdf.derive(black_box(&self.input)));
        }
    }

    fn provenance(&self) -> Provenance {
        self.hkdf.provenance(TIMED)
    }
}
