//! HMAC (FIPS 198-1, RFC 2104) of one message, under a key that the library already has.

use crate::seed::Stream;
use candor_lab::{Entry, Inputs, Mismatch, Provenance, Refusal, Subject, Witness};
use hmac::{KeyInit, Mac};
use std::hint::black_box;

/// What the timed call does, in a sentence without its stop.
pub const TIMED: &str =
    "computes the tag of one message that is already in memory, from start to tag, under a key that was set before";

/// The purpose of the message's bytes.
const MESSAGE: &str = "message";

/// Bytes of the key.
const KEY: usize = 32;

/// HMAC by one library.
pub trait Hmac: 'static {
    /// The tag in the library's own type.
    type Tag: AsRef<[u8]>;

    /// Takes the key; outside the clock.
    fn set_key(&mut self, key: &[u8; KEY]) -> Result<(), Refusal>;

    /// The tag of `message` under the key that was set.
    fn tag(&mut self, message: &[u8]) -> Self::Tag;

    /// Where the library comes from and how it was built; `timed` as for `Hash`.
    fn provenance(&self, timed: &str) -> Provenance;
}

/// HMAC through the traits of `digest`: a keyed state, and a clone of it for each message. Ours and RustCrypto's are called in this way.
pub struct Keyed<M> {
    keyed: Option<M>,
    provenance: Box<dyn Fn(&str) -> Provenance>,
}

impl<M: KeyInit + Mac + Clone + 'static> Keyed<M> {
    /// A construction that says this of itself.
    #[must_use]
    pub fn new(provenance: impl Fn(&str) -> Provenance + 'static) -> Self {
        Self { keyed: None, provenance: Box::new(provenance) }
    }
}

impl<M: KeyInit + Mac + Clone + 'static> Hmac for Keyed<M> {
    type Tag = digest::Output<M>;

    fn set_key(&mut self, key: &[u8; KEY]) -> Result<(), Refusal> {
        self.keyed = Some(<M as KeyInit>::new_from_slice(key).map_err(|_| Refusal::failed("refuses the key"))?);
        Ok(())
    }

    fn tag(&mut self, message: &[u8]) -> Self::Tag {
        let mut mac = self.keyed.clone().expect("the key is set before the first message");
        mac.update(message);
        mac.finalize().into_bytes()
    }

    fn provenance(&self, timed: &str) -> Provenance {
        (self.provenance)(&format!("{timed} (a clone of the keyed state for each message)"))
    }
}

/// The entry of a library for a message of `bytes`. `make` opens the library, or says why it can't be had.
pub fn entry<M: Hmac>(
    subject: impl Into<String>,
    bytes: usize,
    make: impl Fn() -> Result<M, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(OneMessage { mac: make()?, message: vec![0; bytes], witness: Witness::default() }))
}

/// Key and message of a seed, for programs.
#[must_use]
pub fn inputs(bytes: usize, seed: u64) -> Inputs {
    let mut message = vec![0; bytes];
    Stream::new(seed, MESSAGE).fill(&mut message);
    vec![("key".to_owned(), key(seed).to_vec()), ("message".to_owned(), message)]
}

/// The key of a seed.
fn key(seed: u64) -> [u8; KEY] {
    Stream::new(seed, "hmac key").array()
}

struct OneMessage<M> {
    mac: M,
    message: Vec<u8>,
    witness: Witness,
}

impl<M: Hmac> Subject for OneMessage<M> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.mac.set_key(&key(seed))?;
        Stream::new(seed, MESSAGE).fill(&mut self.message);
        // Twice: whatever a library keeps between messages must not change the answer.
        self.mac.tag(&self.message);
        self.witness = Witness::bytes(self.mac.tag(&self.message));
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(self.mac.tag(black_box(&self.message)));
        }
    }

    fn provenance(&self) -> Provenance {
        self.mac.provenance(TIMED)
    }
}
