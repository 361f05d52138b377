//! Hash functions, message by message and several messages at once.

use crate::seed::Stream;
use candor_lab::{Entry, Habit, Mismatch, Provenance, Refusal, Subject, Witness};
use std::array;
use std::hint::black_box;

// The type, the name in a task, the standard's name, bytes of output, whether the caller chooses those, and the standard.
algorithms! {
    /// A hash function, or an extendable-output function with a fixed length of output.
    Algorithm,
    /// Bytes of the digest; of an extendable-output function as many as its strength asks for.
    output: usize,
    /// Whether the caller chooses the length of the output.
    is_extendable: bool;
    Sha256, "sha256", "SHA-256", 32, false, "FIPS 180-4";
    Sha384, "sha384", "SHA-384", 48, false, "FIPS 180-4";
    Sha512, "sha512", "SHA-512", 64, false, "FIPS 180-4";
    Sha3_256, "sha3-256", "SHA3-256", 32, false, "FIPS 202";
    Sha3_512, "sha3-512", "SHA3-512", 64, false, "FIPS 202";
    Shake128, "shake128", "SHAKE128", 32, true, "FIPS 202, 32 bytes of output";
    Shake256, "shake256", "SHAKE256", 64, true, "FIPS 202, 64 bytes of output";
    Blake2b512, "blake2b-512", "BLAKE2b-512", 64, false, "RFC 7693, no key";
    Sm3, "sm3", "SM3", 32, false, "GB/T 32905-2016";
}

/// A digest whose length is known at run time only.
#[derive(Clone, Copy)]
pub struct Output {
    bytes: [u8; 64],
    length: usize,
}

impl Output {
    /// Zeros, as many as the algorithm has bytes of output.
    pub fn of(algorithm: Algorithm) -> Self {
        Self { bytes: [0; 64], length: algorithm.output() }
    }
}

impl AsRef<[u8]> for Output {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl AsMut<[u8]> for Output {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

/// A hash function by one library.
pub trait Hash: 'static {
    /// The digest in the library's own type.
    type Digest: AsRef<[u8]>;

    /// The digest of `message`. `&mut` for libraries that keep a context between messages.
    fn digest(&mut self, message: &[u8]) -> Self::Digest;

    /// Where the library comes from and how it was built. `timed` says what the task does; the library adds what it does
    /// differently.
    fn provenance(&self, timed: &str) -> Provenance;
}

/// A hash function of `N` messages at once by one library, with digests of `D` bytes.
pub trait BatchHash<const N: usize, const D: usize>: 'static {
    /// The digests of the messages, in their order.
    fn digests(&mut self, messages: [&[u8]; N]) -> [[u8; D]; N];

    /// As for [`Hash`].
    fn provenance(&self, timed: &str) -> Provenance;
}

/// The message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many messages make an operation.
    pub messages: usize,
    /// Bytes of each.
    pub bytes: usize,
}

impl Shape {
    /// What the timed call does, in a sentence without its full stop.
    pub fn timed(self) -> String {
        match self.messages {
            1 => "hashes one message that is already in memory, from start to digest, in one call".to_owned(),
            n => format!(
                "hashes {n} messages of {} bytes that are already in memory, one after another, a call for each",
                self.bytes
            ),
        }
    }

    /// What [`timed`](Self::timed) tells besides the work.
    fn habit(self) -> Option<Habit> {
        (self.messages > 1).then_some(Habit::OneAfterAnother)
    }

    /// [`Self::timed`] for libraries that take all messages at once.
    fn timed_at_once(self) -> String {
        format!(
            "hashes {} messages of {} bytes that are already in memory, as one batch in one call",
            self.messages, self.bytes
        )
    }
}

/// The entry of a library that hashes one message after another. `make` opens the library, or says why it can't be had.
pub fn entry<H: Hash>(
    subject: impl Into<String>,
    shape: Shape,
    make: impl Fn() -> Result<H, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Singles { hash: make()?, inputs: Inputs::new(shape) }))
}

/// The entry of a library that hashes all `N` messages at once.
pub fn batch_entry<H: BatchHash<N, D>, const N: usize, const D: usize>(
    subject: impl Into<String>,
    bytes: usize,
    make: impl Fn() -> Result<H, Refusal> + Send + Sync + 'static,
) -> Entry {
    let shape = Shape { messages: N, bytes };
    Entry::new(subject, move || Ok(AtOnce::<H, N, D> { hash: make()?, inputs: Inputs::new(shape) }))
}

/// The message of a seed, for programs. Only for one message.
#[must_use]
pub fn inputs(bytes: usize, seed: u64) -> candor_lab::Inputs {
    let mut inputs = Inputs::new(Shape { messages: 1, bytes });
    inputs.fill(seed);
    inputs.messages.into_iter().map(|message| ("message".to_owned(), message)).collect()
}

/// The messages, and the digests that were found.
struct Inputs {
    shape: Shape,
    messages: Vec<Vec<u8>>,
    witness: Witness,
}

impl Inputs {
    fn new(shape: Shape) -> Self {
        Self { shape, messages: vec![vec![0; shape.bytes]; shape.messages], witness: Witness::default() }
    }

    fn fill(&mut self, seed: u64) {
        let mut stream = Stream::new(seed, "message");
        self.messages.iter_mut().for_each(|message| stream.fill(message));
    }

    /// The witness: all digests, one after another.
    fn answer<D: AsRef<[u8]>>(&mut self, digests: impl IntoIterator<Item = D>) -> Witness {
        let all: Vec<u8> = digests.into_iter().flat_map(|digest| digest.as_ref().to_vec()).collect();
        self.witness = Witness::bytes(all);
        self.witness.clone()
    }
}

struct Singles<H> {
    hash: H,
    inputs: Inputs,
}

impl<H: Hash> Subject for Singles<H> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.inputs.fill(seed);
        let digests: Vec<H::Digest> = self.inputs.messages.iter().map(|message| self.hash.digest(message)).collect();
        Ok(self.inputs.answer(digests))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.inputs.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            for message in &self.inputs.messages {
                black_box(self.hash.digest(black_box(message)));
            }
        }
    }

    fn provenance(&self) -> Provenance {
        self.hash.provenance(&self.inputs.shape.timed()).with(self.inputs.shape.habit())
    }
}

struct AtOnce<H, const N: usize, const D: usize> {
    hash: H,
    inputs: Inputs,
}

impl<H: BatchHash<N, D>, const N: usize, const D: usize> AtOnce<H, N, D> {
    fn digests(&mut self) -> [[u8; D]; N] {
        let messages = black_box(&self.inputs.messages);
        self.hash.digests(array::from_fn(|i| messages[i].as_slice()))
    }
}

impl<H: BatchHash<N, D>, const N: usize, const D: usize> Subject for AtOnce<H, N, D> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.inputs.fill(seed);
        let digests = self.digests();
        Ok(self.inputs.answer(digests))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.inputs.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(self.digests());
        }
    }

    fn provenance(&self) -> Provenance {
        self.hash.provenance(&self.inputs.shape.timed_at_once()).with([Habit::Batches])
    }
}
