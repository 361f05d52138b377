//! Ciphers without authentication: counter mode and cipher block chaining over a message, and the set-up of a key.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use sha2::{Digest, Sha256};
use std::hint::black_box;

/// A mode of SM4 (GB/T 32907), in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Counter mode, with a counter of 128 bits.
    Ctr,
    /// Cipher block chaining, encryption.
    CbcEncrypt,
    /// Cipher block chaining, decryption.
    CbcDecrypt,
}

/// All of them, in the order of the tasks.
pub const MODES: [Mode; 3] = [Mode::Ctr, Mode::CbcDecrypt, Mode::CbcEncrypt];

impl Mode {
    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ctr => "sm4-ctr",
            Self::CbcEncrypt => "sm4-cbc/encrypt",
            Self::CbcDecrypt => "sm4-cbc/decrypt",
        }
    }

    /// As people write it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ctr => "SM4-CTR",
            Self::CbcEncrypt | Self::CbcDecrypt => "SM4-CBC",
        }
    }
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A message of so many bytes under a key that is set.
    Message(usize),
    /// The set-up of a key.
    New,
}

impl Op {
    /// What the timed call does, in a sentence without its full stop.
    #[must_use]
    pub fn timed(self) -> &'static str {
        match self {
            Self::Message(_) => {
                "encrypts or decrypts a message in place, from its counter block or initialisation vector on, under a key that was set before"
            }
            Self::New => "sets a key",
        }
    }
}

/// A cipher in one mode by one library.
pub trait Cipher: 'static {
    /// Takes a key.
    fn set_key(&mut self, key: &[u8; 16]) -> Result<(), Refusal>;

    /// Begins with the counter block or initialisation vector `iv`, and encrypts or decrypts `data`, whole blocks, in place.
    fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8]);

    /// Where the library comes from and how it was built. `timed` says what the task does; the library adds what it does differently.
    fn provenance(&self, timed: &str) -> Provenance;
}

/// The entry of a library. `make` opens it, or says why it can't be had.
pub fn entry<C: Cipher>(
    subject: impl Into<String>,
    mode: Mode,
    op: Op,
    make: impl Fn() -> Result<C, Refusal> + Send + Sync + 'static,
) -> Entry {
    let bytes = if let Op::Message(bytes) = op { bytes } else { 1 << 10 };
    Entry::new(subject, move || {
        let (cipher, data) = (make()?, vec![0; bytes]);
        Ok(Message { cipher, mode, op, key: [0; 16], iv: [0; 16], data, witness: Witness::default() })
    })
}

/// A message, which is encrypted or decrypted in place again and again.
struct Message<C> {
    cipher: C,
    mode: Mode,
    op: Op,
    key: [u8; 16],
    iv: [u8; 16],
    data: Vec<u8>,
    witness: Witness,
}

impl<C: Cipher> Subject for Message<C> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, self.mode.name());
        stream.fill(&mut self.key);
        stream.fill(&mut self.iv);
        stream.fill(&mut self.data);
        // Another key before, so that the answer shows the set-up too.
        self.cipher.set_key(&self.iv)?;
        self.cipher.set_key(&self.key)?;
        self.cipher.crypt(&self.iv, &mut self.data);
        self.witness = Witness::bytes(Sha256::digest(&self.data));
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            match self.op {
                Op::Message(_) => self.cipher.crypt(black_box(&self.iv), black_box(&mut self.data)),
                Op::New => self.cipher.set_key(black_box(&self.key)).expect("the key was taken before"),
            }
        }
        black_box(&mut self.data);
    }

    fn provenance(&self) -> Provenance {
        self.cipher.provenance(self.op.timed())
    }
}
