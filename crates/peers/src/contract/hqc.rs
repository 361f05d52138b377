//! HQC, of the specification of 2025-08-22 with the sampler of commit 161cd4f, and the code below it. The coins of an encapsulation are the message
//! and the salt.

use super::kem::not_prepared;
use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

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

    /// Bytes of randomness in an encapsulation: a message and a salt of 16 bytes.
    #[must_use]
    pub fn coins(self) -> usize {
        self.message() + 16
    }
}

/// What the timed call of `…/decode` does.
pub const DECODE: &str =
    "decodes a word of the concatenated code with a quarter of its bits wrong; sixteen words in turn";

/// Distinct words that decoding works through in turn, so that no branch predictor learns one by heart.
const INPUTS: usize = 16;

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
