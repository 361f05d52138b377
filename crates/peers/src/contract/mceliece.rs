//! Classic McEliece, the submission to round 4 of NIST's competition (specification of 2022-10-23).
//!
//! A key pair follows from its seed ([`super::kem`]). The coins of an encapsulation are the state of a [`Stream`], from which the errors'
//! positions are drawn in blocks as large as the reference implementation's, until a block will do.

use super::kem::{Failed, SeededKem, not_prepared};
use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// A parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// mceliece348864.
    S348864,
    /// mceliece348864f, semi-systematic.
    S348864f,
    /// mceliece460896.
    S460896,
    /// mceliece460896f, semi-systematic.
    S460896f,
    /// mceliece6688128.
    S6688128,
    /// mceliece6688128f, semi-systematic.
    S6688128f,
    /// mceliece6960119.
    S6960119,
    /// mceliece6960119f, semi-systematic.
    S6960119f,
    /// mceliece8192128.
    S8192128,
    /// mceliece8192128f, semi-systematic.
    S8192128f,
}

/// Bytes of randomness that an encapsulation is given.
pub const COINS: usize = 8;

/// The stream that the coins of an encapsulation stand for.
#[must_use]
pub fn stream(coins: &[u8]) -> Stream {
    Stream::from_state(state(coins))
}

/// Its state.
#[must_use]
pub fn state(coins: &[u8]) -> u64 {
    coins.iter().rev().fold(0, |state, byte| state << 8 | u64::from(*byte))
}

impl Set {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 10] = [
        Self::S348864,
        Self::S348864f,
        Self::S460896,
        Self::S460896f,
        Self::S6688128,
        Self::S6688128f,
        Self::S6960119,
        Self::S6960119f,
        Self::S8192128,
        Self::S8192128f,
    ];

    /// What follows `mceliece` in its name: `348864f`.
    #[must_use]
    pub fn number(self) -> &'static str {
        match self {
            Self::S348864 => "348864",
            Self::S348864f => "348864f",
            Self::S460896 => "460896",
            Self::S460896f => "460896f",
            Self::S6688128 => "6688128",
            Self::S6688128f => "6688128f",
            Self::S6960119 => "6960119",
            Self::S6960119f => "6960119f",
            Self::S8192128 => "8192128",
            Self::S8192128f => "8192128f",
        }
    }

    /// Bytes of an error vector: n bits.
    #[must_use]
    pub fn error(self) -> usize {
        match self {
            Self::S348864 | Self::S348864f => 3488 / 8,
            Self::S460896 | Self::S460896f => 4608 / 8,
            Self::S6688128 | Self::S6688128f => 6688 / 8,
            Self::S6960119 | Self::S6960119f => 6960 / 8,
            Self::S8192128 | Self::S8192128f => 8192 / 8,
        }
    }

    /// Bytes of an encapsulation key, a decapsulation key and a ciphertext (specification, §4).
    #[must_use]
    pub fn sizes(self) -> [usize; 3] {
        match self {
            Self::S348864 | Self::S348864f => [261_120, 6_492, 96],
            Self::S460896 | Self::S460896f => [524_160, 13_608, 156],
            Self::S6688128 | Self::S6688128f => [1_044_992, 13_932, 208],
            Self::S6960119 | Self::S6960119f => [1_047_319, 13_948, 194],
            Self::S8192128 | Self::S8192128f => [1_357_824, 14_120, 208],
        }
    }
}

/// What the timed call of `…/decode` does.
pub const DECODE: &str = "finds the errors that a ciphertext carries; sixteen valid ciphertexts in turn";

/// A library that decodes by itself.
pub trait Decoder: SeededKem {
    /// Writes the error vector of a ciphertext, and says whether there is one.
    fn decode(&self, with: &Self::Secret, ciphertext: &[u8], error: &mut [u8]) -> bool;
    /// Where the library comes from and how it was built.
    fn decode_provenance(&self) -> Provenance;
}

/// The entry of a library for decoding. `make` opens the library, or says why it can't be had.
pub fn decode<D: Decoder>(
    subject: impl Into<String>,
    set: Set,
    make: impl Fn() -> Result<D, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Decode { decoder: make()?, set, ready: None, next: 0 }))
}

/// Distinct ciphertexts that decoding works through in turn, so that no branch predictor learns one by heart.
const INPUTS: usize = 16;

struct Decode<D: Decoder> {
    decoder: D,
    set: Set,
    ready: Option<Ready<D>>,
    next: usize,
}

/// A key, ciphertexts for it, and what is in them.
struct Ready<D: Decoder> {
    secret: D::Secret,
    ciphertexts: Vec<D::Bytes>,
    answer: Witness,
}

impl<D: Decoder> Decode<D> {
    fn make_ready(&self, seed: u64) -> Result<Ready<D>, Failed> {
        let decoder = &self.decoder;
        let (secret, encoded) = decoder.keygen(&Stream::new(seed, "key pair").array())?;
        let (secret, public) = (decoder.prepared(secret), decoder.public(encoded.as_ref())?);
        let mut stream = Stream::new(seed, "encapsulations");
        let (mut ciphertexts, mut answer) = (Vec::new(), Witness::default());
        for i in 0..INPUTS {
            let (ciphertext, _) = decoder.encaps(&public, &stream.array::<COINS>())?;
            let mut error = vec![0; self.set.error()];
            if !decoder.decode(&secret, ciphertext.as_ref(), &mut error) {
                return Err("finds no errors in its own ciphertext");
            }
            answer = answer.with(&format!("ciphertext {i}"), &ciphertext).with(&format!("errors {i}"), error);
            ciphertexts.push(ciphertext);
        }
        Ok(Ready { secret, ciphertexts, answer })
    }
}

impl<D: Decoder> Subject for Decode<D> {
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
        let Ready { secret, ciphertexts, .. } = self.ready.as_ref().expect("prepare comes before run");
        let mut error = vec![0; self.set.error()];
        for _ in 0..iterations {
            let ciphertext = black_box(ciphertexts[self.next].as_ref());
            black_box(self.decoder.decode(black_box(secret), ciphertext, black_box(&mut error)));
            self.next = (self.next + 1) % INPUTS;
        }
    }

    fn provenance(&self) -> Provenance {
        self.decoder.decode_provenance()
    }
}
