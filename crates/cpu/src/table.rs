//! The table of arms, read when this crate is compiled, and the routines that it is about.

mod read;

use core::fmt;
use read::{Table, read};

/// The table as text. Its head explains the form.
pub const TABLE: &str = include_str!("../arms.table");

/// The table as it is looked up.
pub(crate) static CHOICES: Table = match read(TABLE) {
    Ok(table) => table,
    Err(_) => panic!("crates/cpu/arms.table is wrong; the test `the_table_can_be_read` says where"),
};

/// A routine of candor's crates that has several arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Routine {
    /// Products of binary polynomials.
    Gf2Mul,
    /// GF(2^m).
    Gf2Field,
    /// SHA-256 of one message.
    Sha256,
    /// SHA-256 of many messages; the size is their number.
    Sha256Batch,
    /// SHA-384 and SHA-512.
    Sha512,
    /// BLAKE2b.
    Blake2b,
    /// SM3 of one message.
    Sm3,
    /// SM3 of many messages; the size is their number.
    Sm3Batch,
    /// SHA-3 and SHAKE of one message.
    Keccak,
    /// SHA-3 and SHAKE of many messages; the size is their number.
    KeccakBatch,
    /// AES in counter mode.
    AesCtr,
    /// POLYVAL.
    Polyval,
    /// SM4: blocks, counter mode and chaining.
    Sm4,
    /// AES-GCM.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// Argon2id.
    Argon2id,
}

impl Routine {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 16] = [
        Self::Gf2Mul,
        Self::Gf2Field,
        Self::Sha256,
        Self::Sha256Batch,
        Self::Sha512,
        Self::Blake2b,
        Self::Sm3,
        Self::Sm3Batch,
        Self::Keccak,
        Self::KeccakBatch,
        Self::AesCtr,
        Self::Polyval,
        Self::Sm4,
        Self::AesGcm,
        Self::ChaCha20Poly1305,
        Self::Argon2id,
    ];

    /// The name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gf2Mul => "gf2-mul",
            Self::Gf2Field => "gf2-field",
            Self::Sha256 => "sha256",
            Self::Sha256Batch => "sha256-batch",
            Self::Sha512 => "sha512",
            Self::Blake2b => "blake2b",
            Self::Sm3 => "sm3",
            Self::Sm3Batch => "sm3-batch",
            Self::Keccak => "keccak",
            Self::KeccakBatch => "keccak-batch",
            Self::AesCtr => "aes-ctr",
            Self::Polyval => "polyval",
            Self::Sm4 => "sm4",
            Self::AesGcm => "aes-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
            Self::Argon2id => "argon2id",
        }
    }

    /// Whether its arm may depend on a size. The others choose their arm before they know one.
    pub const fn is_sized(self) -> bool {
        matches!(self, Self::Sha256Batch | Self::Sm3Batch | Self::KeccakBatch)
    }
}

impl fmt::Display for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        assert_eq!(read(TABLE).map(|_| ()), Ok(()));
    }
}
