//! `hash/<algorithm>/{1k,64k,1m,10m}`: one message that is already in memory, from start to digest; and
//! `hash/<algorithm>/batch<n>`: `n` messages of 1 KB, by whoever can hash them at once, and one after another by the others.

use crate::seed::Stream;
use crate::{ours, peers};
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use std::array;
use std::hint::black_box;

/// A hash function, or an extendable-output function with a fixed length of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
    Sha3_256,
    Sha3_512,
    Shake128,
    Shake256,
    Blake2b512,
    Sm3,
}

/// All of them, in the order of the tasks.
pub(crate) const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::Sha256,
    Algorithm::Sha384,
    Algorithm::Sha512,
    Algorithm::Sha3_256,
    Algorithm::Sha3_512,
    Algorithm::Shake128,
    Algorithm::Shake256,
    Algorithm::Blake2b512,
    Algorithm::Sm3,
];

impl Algorithm {
    /// As tasks are named.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Sha3_256 => "sha3-256",
            Self::Sha3_512 => "sha3-512",
            Self::Shake128 => "shake128",
            Self::Shake256 => "shake256",
            Self::Blake2b512 => "blake2b-512",
            Self::Sm3 => "sm3",
        }
    }

    /// As its standard writes it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
            Self::Sha3_256 => "SHA3-256",
            Self::Sha3_512 => "SHA3-512",
            Self::Shake128 => "SHAKE128",
            Self::Shake256 => "SHAKE256",
            Self::Blake2b512 => "BLAKE2b-512",
            Self::Sm3 => "SM3",
        }
    }

    /// Where it is defined.
    fn standard(self) -> &'static str {
        match self {
            Self::Sha256 | Self::Sha384 | Self::Sha512 => "FIPS 180-4",
            Self::Sha3_256 | Self::Sha3_512 => "FIPS 202",
            Self::Shake128 => "FIPS 202, 32 bytes of output",
            Self::Shake256 => "FIPS 202, 64 bytes of output",
            Self::Blake2b512 => "RFC 7693, no key",
            Self::Sm3 => "GB/T 32905-2016",
        }
    }

    /// Bytes of the digest; of an extendable-output function as many as its strength asks for.
    pub(crate) fn output(self) -> usize {
        match self {
            Self::Sha256 | Self::Sha3_256 | Self::Shake128 | Self::Sm3 => 32,
            Self::Sha384 => 48,
            Self::Sha512 | Self::Sha3_512 | Self::Shake256 | Self::Blake2b512 => 64,
        }
    }

    /// Whether the caller chooses the length of the output.
    pub(crate) fn is_extendable(self) -> bool {
        matches!(self, Self::Shake128 | Self::Shake256)
    }
}

/// A digest whose length is known at run time only.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    bytes: [u8; 64],
    length: usize,
}

impl Output {
    /// Zeros, as many as the algorithm has bytes of output.
    pub(crate) fn of(algorithm: Algorithm) -> Self {
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
pub(crate) trait Hash: 'static {
    /// The digest in the library's own type.
    type Digest: AsRef<[u8]>;

    /// The digest of `message`. `&mut` for libraries that keep a context between messages.
    fn digest(&mut self, message: &[u8]) -> Self::Digest;

    /// Where the library comes from and how it was built. `timed` says what the task does; the library adds what it does
    /// differently.
    fn provenance(&self, timed: &str) -> Provenance;
}

/// A hash function of `N` messages at once by one library, with digests of `D` bytes.
pub(crate) trait BatchHash<const N: usize, const D: usize>: 'static {
    /// The digests of the messages, in their order.
    fn digests(&mut self, messages: [&[u8]; N]) -> [[u8; D]; N];

    /// As for [`Hash`].
    fn provenance(&self, timed: &str) -> Provenance;
}

/// What is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// How many messages make an operation.
    pub(crate) messages: usize,
    /// Bytes of each.
    pub(crate) bytes: usize,
}

impl Shape {
    /// What the timed call does, in a sentence without its stop.
    fn timed(self) -> String {
        match self.messages {
            1 => "hashes one message that is already in memory, from start to digest, in one call".to_owned(),
            n => format!("hashes {n} messages of {} bytes that are already in memory, one call for each", self.bytes),
        }
    }

    /// The same for whoever takes them all at once.
    fn timed_at_once(self) -> String {
        format!("hashes {} messages of {} bytes that are already in memory, all in one call", self.messages, self.bytes)
    }
}

/// Name and length of single messages.
const SIZES: [(&str, usize); 4] = [("1k", 1 << 10), ("64k", 64 << 10), ("1m", 1 << 20), ("10m", 10 << 20)];

/// Which algorithms have batches, and of how many messages.
const BATCHES: [(Algorithm, usize); 5] = [
    (Algorithm::Sha256, 8),
    (Algorithm::Sha3_256, 4),
    (Algorithm::Sha3_512, 4),
    (Algorithm::Shake128, 4),
    (Algorithm::Sm3, 8),
];

/// All tasks of hash functions.
pub(crate) fn tasks() -> Vec<Task> {
    let of = |algorithm| {
        let sizes = SIZES.into_iter().map(move |(name, bytes)| single(algorithm, name, bytes));
        let batches = BATCHES.into_iter().filter(move |(known, _)| *known == algorithm);
        sizes.chain(batches.map(move |(_, messages)| batch(algorithm, messages)))
    };
    ALGORITHMS.into_iter().flat_map(of).collect()
}

fn single(algorithm: Algorithm, name: &str, bytes: usize) -> Task {
    let shape = Shape { messages: 1, bytes };
    let what = format!("{} ({}) of {bytes} bytes: {}", algorithm.title(), algorithm.standard(), shape.timed());
    let mut task = Task::new(format!("hash/{}/{name}", algorithm.name()), what).bytes(bytes as u64);
    task.entries.extend(ours::hash::singles(algorithm, shape));
    task.entries.extend(peers::hash(algorithm, shape));
    task
}

fn batch(algorithm: Algorithm, messages: usize) -> Task {
    let shape = Shape { messages, bytes: 1 << 10 };
    let what = format!(
        "{} ({}) of {messages} messages of {} bytes each: all at once where the subject's name has a + (our batches), else \
         one after another",
        algorithm.title(),
        algorithm.standard(),
        shape.bytes
    );
    let mut task = Task::new(format!("hash/{}/batch{messages}", algorithm.name()), what);
    task = task.bytes((messages * shape.bytes) as u64);
    task.entries.extend(ours::hash::batches(algorithm, shape));
    task.entries.extend(ours::hash::singles(algorithm, shape));
    task.entries.extend(peers::hash(algorithm, shape));
    task
}

/// The entry of a library that hashes one message after another. `make` opens the library, or says why it can't be had.
pub(crate) fn entry<H: Hash>(
    subject: impl Into<String>,
    shape: Shape,
    make: impl Fn() -> Result<H, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Singles { hash: make()?, inputs: Inputs::new(shape) }))
}

/// The entry of a library that hashes all `N` messages at once.
pub(crate) fn batch_entry<H: BatchHash<N, D>, const N: usize, const D: usize>(
    subject: impl Into<String>,
    bytes: usize,
    make: impl Fn() -> Result<H, Refusal> + Send + Sync + 'static,
) -> Entry {
    let shape = Shape { messages: N, bytes };
    Entry::new(subject, move || Ok(AtOnce::<H, N, D> { hash: make()?, inputs: Inputs::new(shape) }))
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
        self.hash.provenance(&self.inputs.shape.timed())
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
        self.hash.provenance(&self.inputs.shape.timed_at_once())
    }
}
