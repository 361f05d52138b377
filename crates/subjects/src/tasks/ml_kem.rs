//! `kem/ml-kem-{512,768,1024}/…`: ML-KEM, FIPS 203.
//!
//! A library that does ML-KEM implements [`MlKem`]; the subjects below are generic over it, so that every library is
//! prepared, checked and timed by the same code.
//!
//! What is equal between libraries: randomness comes from each library's own default source; key generation ends with the
//! public key's bytes; encapsulation and decapsulation start from a key in the form that the library parses it into. Some
//! libraries do a part of the work when they parse: they expand the matrix and hash the key. Their provenance says so
//! (`different_operation`), and `…/exchange`, which starts from bytes, is the row that compares them fairly.

mod reference;
mod subjects;

pub(crate) use reference::{KeyPair, decapsulate_with};
pub(crate) use subjects::entry;

use crate::{ours, peers};
use candor_lab::{Provenance, Task};

/// What an operation of a library ends in when it fails.
pub(crate) type Failed = &'static str;

/// ML-KEM by one library, at one parameter set.
pub(crate) trait MlKem: 'static {
    /// The decapsulation key, parsed.
    type Secret;
    /// The encapsulation key, parsed.
    type Public;
    /// The bytes of an encapsulation key, as key generation gives them.
    type Encoded: AsRef<[u8]>;
    /// A ciphertext in the library's own type.
    type Ciphertext: AsRef<[u8]>;
    /// The shared secret in the library's own type.
    type Shared: AsRef<[u8]>;

    /// A fresh key pair, and the public key's bytes.
    fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), Failed>;
    /// Parses a public key.
    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed>;
    /// A fresh secret, and the ciphertext that carries it.
    fn encaps(&self, to: &Self::Public) -> Result<(Self::Ciphertext, Self::Shared), Failed>;
    /// The secret that a ciphertext, as it came over the wire, carries.
    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Self::Shared, Failed>;

    /// Parses a decapsulation key in its expanded form (FIPS 203 §7.1). Nothing where the library has no such function.
    fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, Failed>>;
    /// The expanded form of a decapsulation key. Nothing where the library does not give it away.
    fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>>;
    /// The library's form of a key pair that was derived from a seed.
    fn secret(&self, key: &KeyPair) -> Result<Self::Secret, Failed> {
        self.import(&key.secret).unwrap_or(Err("can't import a secret key"))
    }

    /// Where the library comes from and how it was built; what it does differently in `op`.
    fn provenance(&self, op: Op) -> Provenance;
}

/// A parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    L512,
    L768,
    L1024,
}

impl Level {
    pub(crate) const ALL: [Self; 3] = [Self::L512, Self::L768, Self::L1024];

    /// The number in the name.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::L512 => 512,
            Self::L768 => 768,
            Self::L1024 => 1024,
        }
    }
}

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Keygen,
    Encaps,
    Decaps,
    Exchange,
}

impl Op {
    pub(crate) const ALL: [Self; 4] = [Self::Keygen, Self::Encaps, Self::Decaps, Self::Exchange];

    fn name(self) -> &'static str {
        match self {
            Self::Keygen => "keygen",
            Self::Encaps => "encaps",
            Self::Decaps => "decaps",
            Self::Exchange => "exchange",
        }
    }

    /// What the timed call does, in a sentence without its stop.
    pub(crate) fn timed(self) -> &'static str {
        match self {
            Self::Keygen => {
                "makes a fresh key pair and the public key's bytes, with randomness from the library's own source"
            }
            Self::Encaps => {
                "encapsulates to a public key that is already parsed, with randomness from the library's own source; \
                 ends with ciphertext and secret"
            }
            Self::Decaps => {
                "decapsulates bytes with a secret key that is already parsed; sixteen valid ciphertexts in turn"
            }
            Self::Exchange => {
                "a whole exchange, which others call a full round: a fresh key pair to public bytes; those bytes parsed and \
                 encapsulated to; the ciphertext decapsulated"
            }
        }
    }
}

/// All tasks of ML-KEM.
pub(crate) fn tasks() -> Vec<Task> {
    let pairs = Level::ALL.into_iter().flat_map(|level| Op::ALL.map(|op| (level, op)));
    pairs.map(|(level, op)| task(level, op)).collect()
}

fn task(level: Level, op: Op) -> Task {
    let name = format!("kem/ml-kem-{}/{}", level.number(), op.name());
    let mut task = Task::new(name, format!("ML-KEM-{}: {}", level.number(), op.timed()));
    task.entries.push(ours::ml_kem(level, op));
    task.entries.extend(peers::ml_kem(level, op));
    task
}
