//! ML-KEM from libcrux, the formally verified back end; it takes coins from outside.
//!
//! libcrux wipes nothing. This back end wipes keys on drop; what libcrux leaves in its stack frames stays there.
//!
//! ```
//! use candor_primitives::kem::{DerandomizedKem, Kem, libcrux::MlKem512};
//! let (secret, public) = MlKem512.generate_from(&[7; 64])?;
//! let mut ciphertext = [0; MlKem512::CIPHERTEXT];
//! let ours = MlKem512.encapsulate_from(&public, &[9; 32], &mut ciphertext)?;
//! assert_eq!(ours, MlKem512.decapsulate(&secret, &ciphertext)?);
//! # Ok::<(), candor_primitives::kem::KemError>(())
//! ```

use super::ml_kem::{ML_KEM_512, ML_KEM_768, ML_KEM_1024};
use super::{DerandomizedKem, Kem, KemError, SharedSecret, expect_length};
use crate::random;
use alloc::boxed::Box;
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
use libcrux_ml_kem::{MlKemCiphertext, MlKemPrivateKey, MlKemPublicKey, mlkem512, mlkem768, mlkem1024};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// A decapsulation key of `N` bytes; on the heap, so that moving it leaves no copies behind, and wiped on drop.
pub struct Secret<const N: usize>(Box<Keys<N>>);

/// The expanded key, and the seed that it was made from, if it was.
struct Keys<const N: usize> {
    expanded: MlKemPrivateKey<N>,
    seed: Option<[u8; 64]>,
}

impl<const N: usize> Secret<N> {
    fn new(expanded: MlKemPrivateKey<N>, seed: Option<[u8; 64]>) -> Self {
        Self(Box::new(Keys { expanded, seed }))
    }
}

/// An encapsulation key of `N` bytes.
pub struct Public<const N: usize>(MlKemPublicKey<N>);

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        // One memset, which the barrier keeps: `zeroize` writes bytes one by one, which shows in key generation.
        self.0.expanded[0..N].fill(0);
        if let Some(seed) = &mut self.0.seed {
            seed.fill(0);
        }
        zeroize::optimization_barrier(&*self.0);
    }
}

impl<const N: usize> ZeroizeOnDrop for Secret<N> {}

impl<const N: usize> fmt::Debug for Secret<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<const N: usize> fmt::Debug for Public<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Public(..)")
    }
}

macro_rules! level {
    ($(#[$doc:meta])* $level:ident, $name:literal, $set:ident, $module:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $level;

        impl Kem for $level {
            type Secret = Secret<{ $set.secret() }>;
            type Public = Public<{ $set.public() }>;

            const NAME: &'static str = $name;
            const PUBLIC: usize = $set.public();
            const SECRET: usize = $set.secret();
            const CIPHERTEXT: usize = $set.ciphertext();

            fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
                self.generate_from(random::bytes::<64>()?.as_slice())
            }

            fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
                let bytes = exactly::<{ $set.public() }>("public key", bytes)?;
                let public = MlKemPublicKey::from(bytes);
                if !$module::validate_public_key(&public) {
                    return Err(KemError::PublicKey);
                }
                Ok(Public(public))
            }

            fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
                expect_length("public key", Self::PUBLIC, bytes.len())?;
                bytes.copy_from_slice(public.0.as_slice());
                Ok(())
            }

            fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
                let bytes = exactly::<{ $set.secret() }>("secret key", bytes)?;
                let secret = Secret::new(MlKemPrivateKey::from(bytes), None);
                if !$module::portable::validate_private_key_only(&secret.0.expanded) {
                    return Err(KemError::SecretKey);
                }
                $set.check_public(&bytes[$set.ek()]).map_err(|_| KemError::SecretKey)?;
                Ok(secret)
            }

            fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
                Ok(Zeroizing::new(secret.0.expanded.as_slice().to_vec()))
            }

            fn secret_from_seed(&self, seed: &[u8]) -> Result<Self::Secret, KemError> {
                self.generate_from(seed).map(|(secret, _)| secret)
            }

            fn secret_to_seed(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
                secret.0.seed.as_ref().map(|seed| Zeroizing::new(seed.to_vec())).ok_or(KemError::NoSeed)
            }

            fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
                self.encapsulate_from(to, random::bytes::<32>()?.as_slice(), ciphertext)
            }

            #[inline]
            fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
                let ciphertext = exactly::<{ $set.ciphertext() }>("ciphertext", ciphertext)?;
                secret::ran($name, "libcrux");
                Ok($module::decapsulate(&with.0.expanded, &MlKemCiphertext::from(ciphertext)).into())
            }
        }

        impl DerandomizedKem for $level {
            const GENERATE_COINS: usize = 64;
            const ENCAPSULATE_COINS: usize = 32;

            #[inline]
            fn generate_from(&self, coins: &[u8]) -> Result<(Self::Secret, Self::Public), KemError> {
                let coins = exactly::<64>("seed of the key pair", coins)?;
                secret::ran($name, "libcrux");
                let (secret, public) = $module::generate_key_pair(*coins).into_parts();
                Ok((Secret::new(secret, Some(*coins)), Public(public)))
            }

            #[inline]
            fn encapsulate_from(
                &self,
                to: &Self::Public,
                coins: &[u8],
                ciphertext: &mut [u8],
            ) -> Result<SharedSecret, KemError> {
                expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
                let coins = exactly::<32>("randomness of the encapsulation", coins)?;
                secret::ran($name, "libcrux");
                let (made, shared) = $module::encapsulate(&to.0, *coins);
                ciphertext.copy_from_slice(made.as_slice());
                Ok(shared.into())
            }
        }
    };
}

level! {
    /// ML-KEM-512 (FIPS 203), category 1.
    MlKem512, "ML-KEM-512", ML_KEM_512, mlkem512
}
level! {
    /// ML-KEM-768 (FIPS 203), category 3.
    MlKem768, "ML-KEM-768", ML_KEM_768, mlkem768
}
level! {
    /// ML-KEM-1024 (FIPS 203), category 5.
    MlKem1024, "ML-KEM-1024", ML_KEM_1024, mlkem1024
}

#[inline]
fn exactly<'a, const N: usize>(what: &'static str, bytes: &'a [u8]) -> Result<&'a [u8; N], KemError> {
    bytes.try_into().map_err(|_| KemError::Length { what, expected: N, got: bytes.len() })
}
