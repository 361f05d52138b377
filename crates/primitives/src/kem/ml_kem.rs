//! ML-KEM: lengths and the checks of keys (FIPS 203 §7 and §8), in one place for every back end, and with the feature `ml-kem` our own
//! implementation.
//!
//! ```
//! use candor_primitives::kem::ml_kem::{ML_KEM_768, ParameterSet};
//! assert_eq!((ML_KEM_768.public(), ML_KEM_768.secret(), ML_KEM_768.ciphertext()), (1184, 2400, 1088));
//! ```
//!
//! Our implementation keeps keys in one of two forms. [`MlKem768`] keeps bytes as they came and expands them within each operation, which suits
//! keys that are used once. [`PreparedMlKem768`] expands them when it reads or makes them, which suits keys that are used often: reading a key then
//! does the larger part of an operation's work, each use is that much shorter, and a key takes several times the memory.
//!
//! ```
//! # #[cfg(feature = "ml-kem")] {
//! use candor_primitives::kem::ml_kem::{MlKem768, PreparedMlKem768};
//! use candor_primitives::kem::{DerandomizedKem, Kem};
//!
//! let (secret, public) = MlKem768::new().generate_from(&[7; 64])?;
//! let mut bytes = [0; MlKem768::PUBLIC];
//! MlKem768::new().public_to_bytes(&public, &mut bytes)?;
//!
//! let prepared = PreparedMlKem768::new();
//! let public = prepared.public_from_bytes(&bytes)?;
//! let mut ciphertext = [0; MlKem768::CIPHERTEXT];
//! let sent = prepared.encapsulate_from(&public, &[9; 32], &mut ciphertext)?;
//! assert!(MlKem768::new().decapsulate(&secret, &ciphertext)? == sent);
//! # }
//! # Ok::<(), candor_primitives::kem::KemError>(())
//! ```
//!
//! Who has several operations to do at the same time gives them in one call ([`Kem::generate_many`](super::Kem::generate_many) and the others): on AVX2
//! four of them, with AVX-512 eight, share the lanes in which Keccak is computed. Results are those of one by one.
//!
//! ```
//! # #[cfg(feature = "ml-kem")] {
//! use candor_primitives::kem::ml_kem::MlKem768;
//! use candor_primitives::kem::{DerandomizedKem, Kem};
//!
//! let pairs = MlKem768::new().generate_many_from(&[&[1; 64], &[2; 64]])?;
//! let publics = [&pairs[0].1, &pairs[1].1];
//! let [mut first, mut second] = [[0; MlKem768::CIPHERTEXT]; 2];
//! let sent = MlKem768::new().encapsulate_many_from(&publics, &[&[3; 32], &[4; 32]], &mut [&mut first, &mut second])?;
//! let found = MlKem768::new().decapsulate_many(&[&pairs[0].0, &pairs[1].0], &[&first, &second])?;
//! assert!(sent == found);
//! # }
//! # Ok::<(), candor_primitives::kem::KemError>(())
//! ```

#[cfg(feature = "ml-kem")]
mod arm_mux;
#[cfg(feature = "ml-kem")]
mod keys;
#[cfg(feature = "ml-kem")]
mod many;
#[cfg(feature = "ml-kem")]
mod prepared;
#[cfg(feature = "ml-kem")]
mod scheme;
#[cfg(feature = "ml-kem")]
mod sponges;

#[cfg(feature = "ml-kem")]
pub use keys::{MlKem, MlKem512, MlKem768, MlKem1024, Public, Secret};
#[cfg(feature = "ml-kem")]
pub use prepared::{
    PreparedMlKem, PreparedMlKem512, PreparedMlKem768, PreparedMlKem1024, PreparedPublic, PreparedSecret,
};

use super::{KemError, expect_length};
use core::ops::Range;

/// The modulus of ML-KEM's coefficients.
pub const Q: u16 = 3329;

/// The parameters of FIPS 203's table 2 that determine lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterSet {
    /// The rank of the module.
    pub k: usize,
    /// Bits of a compressed coefficient in a ciphertext's first part.
    pub du: usize,
    /// Bits of a compressed coefficient in a ciphertext's second part.
    pub dv: usize,
}

/// Category 1.
pub const ML_KEM_512: ParameterSet = ParameterSet { k: 2, du: 10, dv: 4 };
/// Category 3.
pub const ML_KEM_768: ParameterSet = ParameterSet { k: 3, du: 10, dv: 4 };
/// Category 5.
pub const ML_KEM_1024: ParameterSet = ParameterSet { k: 4, du: 11, dv: 5 };

impl ParameterSet {
    /// Bytes of an encapsulation key: t̂ and ρ.
    pub const fn public(&self) -> usize {
        384 * self.k + 32
    }

    /// Bytes of an expanded decapsulation key: dk_pke ‖ ek ‖ H(ek) ‖ z.
    pub const fn secret(&self) -> usize {
        768 * self.k + 96
    }

    /// Bytes of a ciphertext.
    pub const fn ciphertext(&self) -> usize {
        32 * (self.du * self.k + self.dv)
    }

    /// Where dk_pke stands in a decapsulation key. Secret.
    pub const fn dk_pke(&self) -> Range<usize> {
        0..384 * self.k
    }

    /// Where the encapsulation key stands in a decapsulation key. Public.
    pub const fn ek(&self) -> Range<usize> {
        384 * self.k..768 * self.k + 32
    }

    /// Where H(ek) stands in a decapsulation key. Public.
    pub const fn hash_of_ek(&self) -> Range<usize> {
        768 * self.k + 32..768 * self.k + 64
    }

    /// Where z, the seed of implicit rejection, stands in a decapsulation key. Secret.
    pub const fn z(&self) -> Range<usize> {
        768 * self.k + 64..768 * self.k + 96
    }

    /// The checks of an encapsulation key, FIPS 203 §7.2: its length, and that every coefficient is below q.
    ///
    /// # Errors
    /// [`KemError::Length`], [`KemError::PublicKey`].
    // ct: public, because it is an encapsulation key
    pub fn check_public(&self, ek: &[u8]) -> Result<(), KemError> {
        expect_length("public key", self.public(), ek.len())?;
        // No early exit, so that the loop becomes vector code; the key is public anyway.
        let (triples, _) = ek[..384 * self.k].as_chunks::<3>();
        let unreduced = triples.iter().fold(false, |seen, &[a, b, c]| {
            let low = u16::from(a) | u16::from(b & 15) << 8;
            let high = u16::from(b >> 4) | u16::from(c) << 4;
            seen | (low >= Q) | (high >= Q)
        });
        if unreduced { Err(KemError::PublicKey) } else { Ok(()) }
    }

    /// The checks of an expanded decapsulation key, FIPS 203 §7.3: its length, and that the hash in it is SHA3-256 of
    /// the encapsulation key in it, which `sha3_256` computes. Beyond the standard, that encapsulation key must itself pass
    /// [`Self::check_public`]: key generation makes no other, and the back ends then agree on what they refuse.
    ///
    /// Only the public parts of the key are looked at.
    ///
    /// # Errors
    /// [`KemError::Length`], [`KemError::SecretKey`].
    pub fn check_secret(&self, dk: &[u8], sha3_256: impl FnOnce(&[u8]) -> [u8; 32]) -> Result<(), KemError> {
        candor_cpu::secret::takes("ml-kem/check-secret", dk);
        expect_length("secret key", self.secret(), dk.len())?;
        let ek = &dk[self.ek()];
        if self.check_public(ek).is_err() || sha3_256(ek) != dk[self.hash_of_ek()] {
            return Err(KemError::SecretKey);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn lengths_are_those_of_fips_203_table_3() {
        let lengths = |set: ParameterSet| (set.public(), set.secret(), set.ciphertext());
        assert_eq!(lengths(ML_KEM_512), (800, 1632, 768));
        assert_eq!(lengths(ML_KEM_768), (1184, 2400, 1088));
        assert_eq!(lengths(ML_KEM_1024), (1568, 3168, 1568));
    }

    #[test]
    fn the_parts_of_a_secret_key_cover_it_without_gaps() {
        for set in [ML_KEM_512, ML_KEM_768, ML_KEM_1024] {
            let parts = [set.dk_pke(), set.ek(), set.hash_of_ek(), set.z()];
            assert_eq!(parts[0].start, 0);
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!(parts[3].end, set.secret());
            assert_eq!(set.ek().len(), set.public());
        }
    }

    #[test]
    fn a_coefficient_of_q_is_refused_wherever_it_stands() {
        for set in [ML_KEM_512, ML_KEM_768, ML_KEM_1024] {
            for at in 0..256 * set.k {
                let put = |value: u16| {
                    let mut ek = vec![0; set.public()];
                    let byte = at / 2 * 3;
                    if at % 2 == 0 {
                        ek[byte] = value as u8;
                        ek[byte + 1] = (value >> 8) as u8;
                    } else {
                        ek[byte + 1] = (value << 4) as u8;
                        ek[byte + 2] = (value >> 4) as u8;
                    }
                    ek
                };
                assert_eq!(set.check_public(&put(Q - 1)), Ok(()), "coefficient {at}");
                assert_eq!(set.check_public(&put(Q)), Err(KemError::PublicKey), "coefficient {at}");
                assert_eq!(set.check_public(&put(4095)), Err(KemError::PublicKey), "coefficient {at}");
            }
        }
    }

    #[test]
    fn the_seed_in_a_public_key_may_be_anything() {
        let mut ek = vec![0; ML_KEM_768.public()];
        ek[1152..].fill(0xff);
        assert_eq!(ML_KEM_768.check_public(&ek), Ok(()));
    }
}
