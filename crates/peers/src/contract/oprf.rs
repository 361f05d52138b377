//! The three operations of RFC 9497's OPRF(ristretto255, SHA-512), from bytes to bytes: what OPAQUE does once each in a login.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// The client's input.
pub const INPUT: &[u8] = b"correct horse battery staple";

/// What a call that should succeed says when it doesn't.
pub type Failed = String;

/// The operation that is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// The client's first step.
    Blind,
    /// The server's.
    Evaluate,
    /// The client's last.
    Finalize,
}

impl Op {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 3] = [Self::Blind, Self::Evaluate, Self::Finalize];

    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blind => "blind",
            Self::Evaluate => "evaluate",
            Self::Finalize => "finalize",
        }
    }

    /// What the timed call does, in a sentence without its stop.
    pub fn timed(self) -> &'static str {
        match self {
            Self::Blind => "hashes an input of 28 bytes to the group, blinds it and encodes it",
            Self::Evaluate => "decodes a blinded element, multiplies it by the key and encodes it",
            Self::Finalize => {
                "decodes the evaluated element, takes the blind off and hashes it; the client's state is cloned before"
            }
        }
    }
}

/// An OPRF by one library.
pub trait Oprf: 'static {
    /// A client that waits for the evaluated element.
    type Client: Clone;
    /// A server's key.
    type Key;

    /// Parses a scalar below 2²⁵², little-endian.
    fn key(&self, bytes: &[u8; 32]) -> Result<Self::Key, Failed>;
    /// The blinded element, and the client's state.
    fn blind(&self, input: &[u8]) -> Result<(Self::Client, [u8; 32]), Failed>;
    /// The evaluated element.
    fn evaluate(&self, key: &Self::Key, blinded: &[u8; 32]) -> Result<[u8; 32], Failed>;
    /// The output.
    fn finalize(&self, client: Self::Client, input: &[u8], evaluated: &[u8; 32]) -> Result<[u8; 64], Failed>;

    /// Where the library comes from, and what its call of the operation does.
    fn provenance(&self, op: Op) -> Provenance;
}

/// The entry of a library.
pub fn entry<O: Oprf>(subject: impl Into<String>, op: Op, open: fn() -> O) -> Entry {
    Entry::new(subject, move || Ok(Work { op, oprf: open(), ready: None, witness: Witness::default() }))
}

struct Work<O: Oprf> {
    op: Op,
    oprf: O,
    ready: Option<Ready<O>>,
    witness: Witness,
}

/// Everything that stands before the clock starts.
struct Ready<O: Oprf> {
    key: O::Key,
    client: O::Client,
    blinded: [u8; 32],
    evaluated: [u8; 32],
}

impl<O: Oprf> Work<O> {
    fn make_ready(&self, seed: u64) -> Result<(Ready<O>, Witness), Failed> {
        let mut bytes: [u8; 32] = Stream::new(seed, "oprf key").array();
        bytes[31] &= 0x0f;
        let key = self.oprf.key(&bytes)?;
        let (client, blinded) = self.oprf.blind(INPUT)?;
        let evaluated = self.oprf.evaluate(&key, &blinded)?;
        let output = self.oprf.finalize(client.clone(), INPUT, &evaluated)?;
        // ristretto255's generator is an element that all know: its evaluation depends on nothing but the key.
        let generator = self.oprf.evaluate(&key, &GENERATOR)?;
        let witness = Witness::default().with("output", output).with("key times generator", generator);
        Ok((Ready { key, client, blinded, evaluated }, witness))
    }
}

/// The encoding of ristretto255's generator (RFC 9496, appendix A.1).
const GENERATOR: [u8; 32] = [
    0xe2, 0xf2, 0xae, 0x0a, 0x6a, 0xbc, 0x4e, 0x71, 0xa8, 0x84, 0xa9, 0x61, 0xc5, 0x00, 0x51, 0x5f, 0x58, 0xe3, 0x0b,
    0x6a, 0xa5, 0x82, 0xdd, 0x8d, 0xb6, 0xa6, 0x59, 0x45, 0xe0, 0x8d, 0x2d, 0x76,
];

impl<O: Oprf> Subject for Work<O> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let (ready, witness) = self.make_ready(seed).map_err(Refusal::failed)?;
        self.ready = Some(ready);
        self.witness = witness.clone();
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        const WORKED: &str = "it worked when it was prepared";
        let Ready { key, client, blinded, evaluated } = self.ready.as_ref().expect("prepared before it runs");
        for _ in 0..iterations {
            match self.op {
                Op::Blind => drop(black_box(self.oprf.blind(black_box(INPUT)).expect(WORKED))),
                Op::Evaluate => {
                    black_box(self.oprf.evaluate(key, black_box(blinded)).expect(WORKED));
                }
                Op::Finalize => {
                    let done = self.oprf.finalize(client.clone(), INPUT, black_box(evaluated));
                    black_box(done.expect(WORKED));
                }
            }
        }
    }

    fn provenance(&self) -> Provenance {
        self.oprf.provenance(self.op)
    }
}
