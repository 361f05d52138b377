//! HQC, of the specification of 2025-08-22 with the sampler of commit 161cd4f.
//!
//! Everything comes from given randomness, so that every library must answer with the same bytes. What is not equal: some libraries keep keys as
//! bytes and expand them in each call, others expand them when they parse. The provenance of those says so (`different_operation`), and
//! `…/exchange`, which starts from bytes, is the row that compares them fairly.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};
use std::hint::black_box;

/// What an operation of a library ends in when it fails.
pub type Failed = &'static str;

/// HQC by one library, at one level.
pub trait Hqc: 'static {
    /// The decapsulation key, parsed.
    type Secret;
    /// The encapsulation key, parsed.
    type Public;
    /// Bytes of an encapsulation key, of a ciphertext or of a secret, in the library's own type.
    type Bytes: AsRef<[u8]>;

    /// The key pair of a seed, and the public key's bytes.
    fn keygen(&self, seed: &[u8; 32]) -> Result<(Self::Secret, Self::Bytes), Failed>;
    /// The bytes of a decapsulation key.
    fn export(&self, secret: &Self::Secret) -> Vec<u8>;
    /// Parses a public key.
    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed>;
    /// The ciphertext and the shared secret of a message and a salt.
    fn encaps(&self, to: &Self::Public, message: &[u8], salt: &[u8; 16]) -> Result<(Self::Bytes, [u8; 32]), Failed>;
    /// The secret that a ciphertext, as it came over the wire, carries.
    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<[u8; 32], Failed>;
    /// Where the library comes from and how it was built; what it does differently in `op`.
    fn provenance(&self, op: Op) -> Provenance;
}

/// The code below HQC, by one library.
pub trait Code: 'static {
    /// Words of a codeword.
    fn words(&self) -> usize;
    /// The codeword of a message.
    fn encode(&self, message: &[u8], word: &mut [u64]);
    /// The message near to a word.
    fn decode(&self, word: &[u64], message: &mut [u8]);
    /// Where the library comes from and how it was built.
    fn provenance(&self) -> Provenance;
}

/// A parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// HQC-1.
    L1,
    /// HQC-3.
    L3,
    /// HQC-5.
    L5,
}

impl Level {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 3] = [Self::L1, Self::L3, Self::L5];

    /// The number in the name.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::L1 => 1,
            Self::L3 => 3,
            Self::L5 => 5,
        }
    }

    /// Bytes of a message.
    #[must_use]
    pub fn message(self) -> usize {
        match self {
            Self::L1 => 16,
            Self::L3 => 24,
            Self::L5 => 32,
        }
    }
}

/// The operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Key generation.
    Keygen,
    /// Encapsulation.
    Encaps,
    /// Decapsulation.
    Decaps,
    /// All three, from bytes to bytes.
    Exchange,
}

impl Op {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 4] = [Self::Keygen, Self::Encaps, Self::Decaps, Self::Exchange];

    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keygen => "keygen",
            Self::Encaps => "encaps",
            Self::Decaps => "decaps",
            Self::Exchange => "exchange",
        }
    }

    /// What the timed call does, in a sentence without its stop.
    #[must_use]
    pub fn timed(self) -> &'static str {
        match self {
            Self::Keygen => "makes the key pair of a given seed and the public key's bytes",
            Self::Encaps => {
                "encapsulates a given message and salt to a public key that is already parsed; ends with ciphertext and \
                 secret"
            }
            Self::Decaps => {
                "decapsulates bytes with a secret key that is already parsed; sixteen valid ciphertexts in turn"
            }
            Self::Exchange => {
                "a whole exchange from given randomness: a key pair to public bytes; those bytes parsed and encapsulated to; \
                 the ciphertext decapsulated"
            }
        }
    }
}

/// What the timed call of `…/decode` does.
pub const DECODE: &str =
    "decodes a word of the concatenated code with a quarter of its bits wrong; sixteen words in turn";

/// Distinct ciphertexts, or words, that decapsulation works through in turn, so that no branch predictor learns one by heart.
const INPUTS: usize = 16;

/// The entry of a library for an operation. `make` opens the library, or says why it can't be had.
pub fn entry<K: Hqc>(
    subject: impl Into<String>,
    level: Level,
    op: Op,
    make: impl Fn() -> Result<K, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Operation { kem: make()?, level, op, ready: None }))
}

/// The entry of a library for decoding.
pub fn decode<C: Code>(
    subject: impl Into<String>,
    level: Level,
    make: impl Fn() -> Result<C, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || {
        Ok(Decode { code: make()?, level, words: Vec::new(), answer: Witness::default(), next: 0 })
    })
}

struct Operation<K: Hqc> {
    kem: K,
    level: Level,
    op: Op,
    ready: Option<Ready<K>>,
}

/// What the operations work on, and what they have answered.
struct Ready<K: Hqc> {
    seed: [u8; 32],
    secret: K::Secret,
    public: K::Public,
    coins: Vec<(Vec<u8>, [u8; 16])>,
    ciphertexts: Vec<K::Bytes>,
    answer: Witness,
    sizes: Vec<Quantity>,
    next: usize,
}

impl<K: Hqc> Operation<K> {
    fn make_ready(&self, seed: u64) -> Result<Ready<K>, Failed> {
        let seed_of_key = Stream::new(seed, "hqc key pair").array();
        let (secret, encoded) = self.kem.keygen(&seed_of_key)?;
        let public = self.kem.public(encoded.as_ref())?;
        let mut answer = Witness::default().with("public key", &encoded).with("secret key", self.kem.export(&secret));
        let mut stream = Stream::new(seed, "hqc encapsulations");
        let (mut coins, mut ciphertexts) = (Vec::new(), Vec::new());
        for i in 0..INPUTS {
            let mut message = vec![0; self.level.message()];
            stream.fill(&mut message);
            let salt = stream.array();
            let (ciphertext, shared) = self.kem.encaps(&public, &message, &salt)?;
            if self.kem.decaps(&secret, ciphertext.as_ref())? != shared {
                return Err("gives the two sides of one exchange different secrets");
            }
            answer = answer.with(&format!("ciphertext {i}"), &ciphertext).with(&format!("shared secret {i}"), shared);
            coins.push((message, salt));
            ciphertexts.push(ciphertext);
        }
        // A ciphertext with one bit wrong: the secret comes from σ then, and is as determined as any other.
        let mut damaged = ciphertexts[0].as_ref().to_vec();
        damaged[0] ^= 1;
        answer = answer.with("implicit rejection", self.kem.decaps(&secret, &damaged)?);
        let sizes = [("public key", encoded.as_ref()), ("ciphertext", ciphertexts[0].as_ref())]
            .map(|(name, bytes)| Quantity::bytes(name, bytes));
        Ok(Ready { seed: seed_of_key, secret, public, coins, ciphertexts, answer, sizes: sizes.into(), next: 0 })
    }

    fn exchange(kem: &K, ready: &Ready<K>) -> Result<(), Failed> {
        let (message, salt) = &ready.coins[ready.next];
        let (secret, encoded) = kem.keygen(black_box(&ready.seed))?;
        let public = kem.public(black_box(encoded.as_ref()))?;
        let (ciphertext, shared) = kem.encaps(&public, black_box(message), salt)?;
        black_box(shared);
        black_box(kem.decaps(&secret, black_box(ciphertext.as_ref()))?);
        Ok(())
    }
}

impl<K: Hqc> Subject for Operation<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = self.make_ready(seed).map_err(Refusal::failed)?;
        let answer = ready.answer.clone();
        self.ready = Some(ready);
        Ok(answer)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.ready.as_ref().ok_or_else(not_prepared)?.answer.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let Self { kem, op, ready, .. } = self;
        let ready = ready.as_mut().expect("prepare comes before run");
        for _ in 0..iterations {
            match op {
                Op::Keygen => drop(black_box(kem.keygen(black_box(&ready.seed)).expect("it has worked before"))),
                Op::Encaps => {
                    let (message, salt) = black_box(&ready.coins[ready.next]);
                    drop(black_box(kem.encaps(black_box(&ready.public), message, salt).expect("it has worked before")));
                }
                Op::Decaps => {
                    let ciphertext = black_box(ready.ciphertexts[ready.next].as_ref());
                    black_box(kem.decaps(black_box(&ready.secret), ciphertext).expect("it has worked before"));
                }
                Op::Exchange => Self::exchange(kem, ready).expect("it has worked before"),
            }
            ready.next = (ready.next + 1) % INPUTS;
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.ready.as_ref().map(|ready| ready.sizes.clone()).unwrap_or_default()
    }

    fn provenance(&self) -> Provenance {
        self.kem.provenance(self.op)
    }
}

struct Decode<C> {
    code: C,
    level: Level,
    words: Vec<Vec<u64>>,
    answer: Witness,
    next: usize,
}

impl<C: Code> Subject for Decode<C> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "hqc words");
        (self.words, self.answer) = (Vec::new(), Witness::default());
        for i in 0..INPUTS {
            let mut message = vec![0; self.level.message()];
            stream.fill(&mut message);
            let mut word = vec![0; self.code.words()];
            self.code.encode(&message, &mut word);
            let codeword: Vec<u8> = word.iter().flat_map(|word| word.to_le_bytes()).collect();
            word.iter_mut().for_each(|word| *word ^= stream.word() & stream.word());
            let mut found = vec![0; message.len()];
            self.code.decode(&word, &mut found);
            if found != message {
                return Err(Refusal::failed("does not find the message again"));
            }
            self.answer =
                self.answer.clone().with(&format!("codeword {i}"), codeword).with(&format!("message {i}"), message);
            self.words.push(word);
        }
        Ok(self.answer.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        if self.words.is_empty() { Err(not_prepared()) } else { self.answer.same_as(other) }
    }

    fn run(&mut self, iterations: u64) {
        let mut message = [0; 32];
        let message = &mut message[..self.level.message()];
        for _ in 0..iterations {
            self.code.decode(black_box(&self.words[self.next]), black_box(&mut *message));
            self.next = (self.next + 1) % INPUTS;
        }
    }

    fn provenance(&self) -> Provenance {
        self.code.provenance()
    }
}

fn not_prepared() -> Mismatch {
    Mismatch::new("was checked before it was prepared")
}
