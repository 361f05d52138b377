//! ML-KEM, FIPS 203.
//!
//! A library that does ML-KEM implements [`MlKem`]; the subjects below are generic over it, so that every library is
//! prepared, checked and timed by the same code.
//!
//! What is equal between libraries: randomness comes from each library's own default source; key generation ends with the
//! public key's bytes; encapsulation and decapsulation start from a key in the form that the library parses it into. Some
//! libraries do a part of the work when they parse: they expand the matrix and hash the key. Their provenance says so
//! (`different_operation`), and `…/exchange`, which starts from bytes, is the row that compares them fairly. Among themselves they are
//! compared as [`Prepared`], in tasks of their own.

mod at_once;
mod prepared;
mod reference;
mod subjects;

pub use super::kem::{Failed, Op};
pub use at_once::{AT_ONCE, BATCH, ManyMlKem, Pair, Sent, batch_entry, one_after_another};
pub use prepared::{PREPARED, Prepared};
pub use reference::KeyPair;
pub(super) use reference::{decapsulate_with, encapsulate_to};
pub use subjects::entry;

use candor_lab::Provenance;

/// ML-KEM by one library, at one parameter set.
pub trait MlKem: 'static {
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
pub enum Level {
    /// ML-KEM-512, category 1.
    L512,
    /// ML-KEM-768, category 3.
    L768,
    /// ML-KEM-1024, category 5.
    L1024,
}

impl Level {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 3] = [Self::L512, Self::L768, Self::L1024];

    /// The number in the name.
    pub fn number(self) -> u32 {
        match self {
            Self::L512 => 512,
            Self::L768 => 768,
            Self::L1024 => 1024,
        }
    }

    /// Bytes of an encapsulation key (FIPS 203 §8, table 3).
    #[must_use]
    pub fn public_key(self) -> usize {
        384 * (self.number() as usize / 256) + 32
    }

    /// Bytes of a ciphertext (FIPS 203 §8, table 3).
    #[must_use]
    pub fn ciphertext(self) -> usize {
        let k = self.number() as usize / 256;
        32 * if self == Self::L1024 { 11 * k + 5 } else { 10 * k + 4 }
    }
}
