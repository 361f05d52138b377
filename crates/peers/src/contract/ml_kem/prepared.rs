//! Libraries whose parsed keys hold the expanded matrix, among themselves.

use super::{Failed, KeyPair, MlKem, Op};
use candor_lab::Provenance;

/// A library as it is, in a task where every parsed key holds the expanded matrix and the key's hash, so that its operation is no different one.
pub struct Prepared<K>(pub K);

/// The operations that have such a task, and the last part of its name.
pub const PREPARED: [(Op, &str); 2] = [(Op::Encaps, "encaps-prepared"), (Op::Decaps, "decaps-prepared")];

impl<K: MlKem> MlKem for Prepared<K> {
    type Secret = K::Secret;
    type Public = K::Public;
    type Encoded = K::Encoded;
    type Ciphertext = K::Ciphertext;
    type Shared = K::Shared;

    fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), Failed> {
        self.0.keygen()
    }

    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed> {
        self.0.public(encoded)
    }

    fn encaps(&self, to: &Self::Public) -> Result<(Self::Ciphertext, Self::Shared), Failed> {
        self.0.encaps(to)
    }

    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Self::Shared, Failed> {
        self.0.decaps(with, ciphertext)
    }

    fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, Failed>> {
        self.0.import(expanded)
    }

    fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>> {
        self.0.export(secret)
    }

    fn secret(&self, key: &KeyPair) -> Result<Self::Secret, Failed> {
        self.0.secret(key)
    }

    fn provenance(&self, op: Op) -> Provenance {
        Provenance { different_operation: None, ..self.0.provenance(op) }
    }
}
