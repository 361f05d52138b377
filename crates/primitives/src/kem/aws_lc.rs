//! ML-KEM from AWS-LC, the default back end.
//!
//! AWS-LC draws its own randomness and takes no generator, so this back end is not a [`DerandomizedKem`](super::DerandomizedKem). Its Rust library
//! has no call for seeds either, so [`Kem::secret_from_seed`] and [`Kem::secret_to_seed`] answer [`KemError::SeedUnsupported`]. AWS-LC
//! itself parses keys without checking them and fails when they are used; this back end checks them when it parses them.
//!
//! The two keys that `generate` returns share one object of AWS-LC: the secret is wiped when both are dropped. To keep the public
//! key for longer than the secret, parse it from its bytes.
//!
//! ```
//! use candor_primitives::kem::{Kem, KemError, aws_lc::MlKem768};
//! let unreduced = [0xff; MlKem768::PUBLIC];
//! assert_eq!(MlKem768.public_from_bytes(&unreduced).unwrap_err(), KemError::PublicKey);
//! ```

use super::ml_kem::{ML_KEM_512, ML_KEM_768, ML_KEM_1024, ParameterSet};
use super::{Kem, KemError, SharedSecret, expect_length};
use crate::stack;
use alloc::vec::Vec;
use aws_lc_rs::digest::{SHA3_256, digest};
use aws_lc_rs::kem::{self, Ciphertext, DecapsulationKey, EncapsulationKey};
use candor_cpu::secret;
use core::fmt;
use zeroize::Zeroizing;

const FAILED: KemError = KemError::BackEnd("aws-lc");

/// A decapsulation key of rank `K`; AWS-LC wipes it on drop.
pub struct Secret<const K: usize>(DecapsulationKey);

/// An encapsulation key of rank `K`.
pub struct Public<const K: usize>(EncapsulationKey);

impl<const K: usize> fmt::Debug for Secret<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<const K: usize> fmt::Debug for Public<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Public(..)")
    }
}

macro_rules! level {
    ($(#[$doc:meta])* $level:ident, $name:literal, $set:ident, $algorithm:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $level;

        impl Kem for $level {
            type Secret = Secret<{ $set.k }>;
            type Public = Public<{ $set.k }>;

            const NAME: &'static str = $name;
            const PUBLIC: usize = $set.public();
            const SECRET: usize = $set.secret();
            const CIPHERTEXT: usize = $set.ciphertext();

            fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
                let secret = DecapsulationKey::generate(&kem::$algorithm).map_err(|_| FAILED)?;
                let public = secret.encapsulation_key().map_err(|_| FAILED)?;
                Ok((Secret(secret), Public(public)))
            }

            fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
                $set.check_public(bytes)?;
                EncapsulationKey::new(&kem::$algorithm, bytes).map(Public).map_err(|_| FAILED)
            }

            fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
                public_to_bytes(&$set, &public.0, bytes)
            }

            fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
                $set.check_secret(bytes, sha3_256)?;
                // The library wipes its own memory, but leaves pieces of keys where it hashes them.
                stack::clearing::<2048, _>(|| {
                    DecapsulationKey::new(&kem::$algorithm, bytes).map(Secret).map_err(|_| FAILED)
                })
            }

            fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
                let bytes = secret.0.key_bytes().map_err(|_| FAILED)?;
                Ok(Zeroizing::new(bytes.as_ref().to_vec()))
            }

            #[inline]
            fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
                expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
                secret::ran($name, "aws-lc");
                let (made, shared) = to.0.encapsulate().map_err(|_| FAILED)?;
                ciphertext.copy_from_slice(made.as_ref());
                SharedSecret::from_slice(shared.as_ref()).ok_or(FAILED)
            }

            #[inline]
            fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
                expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
                secret::ran($name, "aws-lc");
                let shared = with.0.decapsulate(Ciphertext::from(ciphertext)).map_err(|_| FAILED)?;
                SharedSecret::from_slice(shared.as_ref()).ok_or(FAILED)
            }
        }
    };
}

level! {
    /// ML-KEM-512 (FIPS 203), category 1.
    MlKem512, "ML-KEM-512", ML_KEM_512, ML_KEM_512
}
level! {
    /// ML-KEM-768 (FIPS 203), category 3.
    MlKem768, "ML-KEM-768", ML_KEM_768, ML_KEM_768
}
level! {
    /// ML-KEM-1024 (FIPS 203), category 5.
    MlKem1024, "ML-KEM-1024", ML_KEM_1024, ML_KEM_1024
}

fn public_to_bytes(set: &ParameterSet, public: &EncapsulationKey, bytes: &mut [u8]) -> Result<(), KemError> {
    expect_length("public key", set.public(), bytes.len())?;
    let encoded = public.key_bytes().map_err(|_| FAILED)?;
    expect_length("public key", set.public(), encoded.as_ref().len())?;
    bytes.copy_from_slice(encoded.as_ref());
    Ok(())
}

fn sha3_256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA3_256, bytes).as_ref());
    hash
}
