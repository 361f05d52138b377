//! ML-KEM from RustCrypto: safe portable Rust, the back end for wasm and a third opinion. It takes coins from outside.
//!
//! ```
//! use candor_primitives::kem::{DerandomizedKem, Kem, rustcrypto::MlKem1024};
//! let (secret, public) = MlKem1024.generate_from(&[7; 64])?;
//! let mut ciphertext = [0; MlKem1024::CIPHERTEXT];
//! let ours = MlKem1024.encapsulate_from(&public, &[9; 32], &mut ciphertext)?;
//! assert_eq!(ours, MlKem1024.decapsulate(&secret, &ciphertext)?);
//! # Ok::<(), candor_primitives::kem::KemError>(())
//! ```

use super::ml_kem::{ML_KEM_512, ML_KEM_768, ML_KEM_1024};
use super::{DerandomizedKem, Kem, KemError, SharedSecret, expect_length};
use crate::random;
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
#[allow(deprecated)] // the crate prefers seeds; FIPS 203 §7.1 and the other back ends exchange the expanded form
use ml_kem::ExpandedKeyEncoding;
use ml_kem::{Decapsulate, KeyExport, array::Array};
use zeroize::{Zeroize, Zeroizing};

/// A decapsulation key; the crate, whose type `D` is, wipes it on drop.
pub struct Secret<D>(D);

/// An encapsulation key; `E` is the crate's type.
pub struct Public<E>(E);

impl<D> fmt::Debug for Secret<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<E> fmt::Debug for Public<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Public(..)")
    }
}

macro_rules! level {
    ($(#[$doc:meta])* $level:ident, $name:literal, $set:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $level;

        impl Kem for $level {
            type Secret = Secret<ml_kem::DecapsulationKey<ml_kem::$level>>;
            type Public = Public<ml_kem::EncapsulationKey<ml_kem::$level>>;

            const NAME: &'static str = $name;
            const PUBLIC: usize = $set.public();
            const SECRET: usize = $set.secret();
            const CIPHERTEXT: usize = $set.ciphertext();

            fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
                self.generate_from(random::bytes::<64>()?.as_slice())
            }

            fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
                let encoded = bytes.try_into().map_err(|_| length("public key", Self::PUBLIC, bytes))?;
                ml_kem::EncapsulationKey::new(encoded).map(Public).map_err(|_| KemError::PublicKey)
            }

            fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
                expect_length("public key", Self::PUBLIC, bytes.len())?;
                bytes.copy_from_slice(&public.0.to_bytes());
                Ok(())
            }

            #[allow(deprecated)] // as above
            fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
                let encoded = bytes.try_into().map_err(|_| length("secret key", Self::SECRET, bytes))?;
                ml_kem::DecapsulationKey::from_expanded(encoded).map(Secret).map_err(|_| KemError::SecretKey)
            }

            #[allow(deprecated)] // as above
            fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
                let mut encoded = secret.0.to_expanded_bytes();
                let bytes = Zeroizing::new(encoded.to_vec());
                encoded.zeroize();
                Ok(bytes)
            }

            fn secret_from_seed(&self, seed: &[u8]) -> Result<Self::Secret, KemError> {
                self.generate_from(seed).map(|(secret, _)| secret)
            }

            fn secret_to_seed(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
                let mut seed = secret.0.to_seed().ok_or(KemError::NoSeed)?;
                let bytes = Zeroizing::new(seed.to_vec());
                seed.zeroize();
                Ok(bytes)
            }

            fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
                self.encapsulate_from(to, random::bytes::<32>()?.as_slice(), ciphertext)
            }

            #[inline]
            fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
                let ciphertext =
                    ciphertext.try_into().map_err(|_| length("ciphertext", Self::CIPHERTEXT, ciphertext))?;
                secret::ran($name, "rustcrypto");
                Ok(<[u8; 32]>::from(with.0.decapsulate(ciphertext)).into())
            }
        }

        impl DerandomizedKem for $level {
            const GENERATE_COINS: usize = 64;
            const ENCAPSULATE_COINS: usize = 32;

            #[inline]
            fn generate_from(&self, coins: &[u8]) -> Result<(Self::Secret, Self::Public), KemError> {
                let mut seed = Array::try_from(coins).map_err(|_| length("seed of the key pair", 64, coins))?;
                secret::ran($name, "rustcrypto");
                let secret = ml_kem::DecapsulationKey::from_seed(seed);
                seed.zeroize();
                let public = secret.encapsulation_key().clone();
                Ok((Secret(secret), Public(public)))
            }

            #[inline]
            fn encapsulate_from(
                &self,
                to: &Self::Public,
                coins: &[u8],
                ciphertext: &mut [u8],
            ) -> Result<SharedSecret, KemError> {
                expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
                let m = coins.try_into().map_err(|_| length("randomness of the encapsulation", 32, coins))?;
                secret::ran($name, "rustcrypto");
                let (made, shared) = to.0.encapsulate_deterministic(m);
                ciphertext.copy_from_slice(&made);
                Ok(<[u8; 32]>::from(shared).into())
            }
        }
    };
}

level! {
    /// ML-KEM-512 (FIPS 203), category 1.
    MlKem512, "ML-KEM-512", ML_KEM_512
}
level! {
    /// ML-KEM-768 (FIPS 203), category 3.
    MlKem768, "ML-KEM-768", ML_KEM_768
}
level! {
    /// ML-KEM-1024 (FIPS 203), category 5.
    MlKem1024, "ML-KEM-1024", ML_KEM_1024
}

fn length(what: &'static str, expected: usize, bytes: &[u8]) -> KemError {
    KemError::Length { what, expected, got: bytes.len() }
}
