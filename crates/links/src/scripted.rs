//! Stand-ins for cryptography: they have the sizes of X25519 and ML-KEM and compute nothing.
//!
//! The handshakes of `onion` run on them unchanged, with all their hashing and messages, so that a simulated circuit sends what a real one
//! sends, in a fraction of the time. They protect nothing, and only the simulator can reach them.

use candor_primitives::SharedSecret;
use candor_primitives::dh::{DhError, DiffieHellman};
use candor_primitives::kem::{Kem, KemError};
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroizing;

/// What tells keys apart. Nothing that the simulator measures depends on it.
fn fresh() -> [u8; 32] {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let mut bytes = [0x55; 32];
    bytes[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    bytes
}

/// In place of X25519: the public key is the secret one, and two of them agree on their difference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dh;

impl DiffieHellman for Dh {
    type Secret = [u8; 32];

    fn generate(&self) -> Result<([u8; 32], [u8; 32]), DhError> {
        let key = fresh();
        Ok((key, key))
    }

    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<[u8; 32], DhError> {
        Ok(*bytes)
    }

    fn secret_to_bytes(&self, secret: &[u8; 32]) -> Result<Zeroizing<[u8; 32]>, DhError> {
        Ok(Zeroizing::new(*secret))
    }

    fn public_of(&self, secret: &[u8; 32]) -> Result<[u8; 32], DhError> {
        Ok(*secret)
    }

    fn agree(&self, secret: &[u8; 32], peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        Ok(SharedSecret::from(std::array::from_fn(|at| secret[at] ^ peer[at])))
    }
}

macro_rules! kems {
    ($($name:ident = $standard:literal, $public:literal, $ciphertext:literal;)+) => { $(
        /// In place of
        #[doc = $standard]
        /// : the public key is the secret one, and the ciphertext begins with the shared secret.
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct $name;

        impl Kem for $name {
            type Secret = [u8; 32];
            type Public = [u8; 32];
            const NAME: &'static str = $standard;
            // Sizes: FIPS 203, table 3.
            const PUBLIC: usize = $public;
            const SECRET: usize = 32;
            const CIPHERTEXT: usize = $ciphertext;

            fn generate(&self) -> Result<([u8; 32], [u8; 32]), KemError> {
                let key = fresh();
                Ok((key, key))
            }

            fn public_from_bytes(&self, bytes: &[u8]) -> Result<[u8; 32], KemError> {
                bytes.first_chunk().copied().ok_or(KemError::BackEnd("script"))
            }

            fn public_to_bytes(&self, public: &[u8; 32], bytes: &mut [u8]) -> Result<(), KemError> {
                write(public, bytes)
            }

            fn secret_from_bytes(&self, bytes: &[u8]) -> Result<[u8; 32], KemError> {
                self.public_from_bytes(bytes)
            }

            fn secret_to_bytes(&self, secret: &[u8; 32]) -> Result<Zeroizing<Vec<u8>>, KemError> {
                Ok(Zeroizing::new(secret.to_vec()))
            }

            fn encapsulate(&self, _: &[u8; 32], ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
                let secret = fresh();
                write(&secret, ciphertext)?;
                Ok(SharedSecret::from(secret))
            }

            fn decapsulate(&self, _: &[u8; 32], ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
                self.public_from_bytes(ciphertext).map(SharedSecret::from)
            }
        }
    )+ };
}

kems! {
    Kem512 = "ML-KEM-512", 800, 768;
    Kem768 = "ML-KEM-768", 1184, 1088;
    Kem1024 = "ML-KEM-1024", 1568, 1568;
}

fn write(key: &[u8; 32], bytes: &mut [u8]) -> Result<(), KemError> {
    let (front, back) = bytes.split_first_chunk_mut().ok_or(KemError::BackEnd("script"))?;
    *front = *key;
    back.fill(0);
    Ok(())
}
