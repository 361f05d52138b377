//! Back ends whose "fresh" keys come from the lab's seed, so that the reference's side of a handshake can be done again by
//! whoever checks it. They are never timed.

use crate::seed::Stream;
use candor_primitives::SharedSecret;
use candor_primitives::dh::{DhError, DiffieHellman};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use zeroize::Zeroizing;

/// X25519 whose key generation always gives the key pair of `seed` and `role`.
#[derive(Clone, Default)]
pub(super) struct SeededDh<D> {
    pub(super) dh: D,
    pub(super) seed: u64,
    pub(super) role: &'static str,
}

impl<D: DiffieHellman> DiffieHellman for SeededDh<D> {
    type Secret = D::Secret;

    const NAME: &'static str = D::NAME;

    fn generate(&self) -> Result<(D::Secret, [u8; 32]), DhError> {
        let secret =
            self.dh.secret_from_bytes(&Stream::new(self.seed, &format!("x25519 of the {}", self.role)).array())?;
        let public = self.dh.public_of(&secret)?;
        Ok((secret, public))
    }

    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<D::Secret, DhError> {
        self.dh.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &D::Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        self.dh.secret_to_bytes(secret)
    }

    fn public_of(&self, secret: &D::Secret) -> Result<[u8; 32], DhError> {
        self.dh.public_of(secret)
    }

    fn agree(&self, secret: &D::Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        self.dh.agree(secret, peer)
    }
}

/// A KEM whose key generation and encapsulation always take the coins of `seed` and `role`.
#[derive(Clone, Default)]
pub(super) struct SeededKem<K> {
    pub(super) kem: K,
    pub(super) seed: u64,
    pub(super) role: &'static str,
}

impl<K: DerandomizedKem> SeededKem<K> {
    fn coins(&self, purpose: &str, length: usize) -> Vec<u8> {
        let mut coins = vec![0; length];
        Stream::new(self.seed, &format!("{purpose} of the {}", self.role)).fill(&mut coins);
        coins
    }
}

impl<K: DerandomizedKem> Kem for SeededKem<K> {
    type Secret = K::Secret;
    type Public = K::Public;

    const NAME: &'static str = K::NAME;
    const PUBLIC: usize = K::PUBLIC;
    const SECRET: usize = K::SECRET;
    const CIPHERTEXT: usize = K::CIPHERTEXT;

    fn generate(&self) -> Result<(K::Secret, K::Public), KemError> {
        self.kem.generate_from(&self.coins("kem key pair", K::GENERATE_COINS))
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<K::Public, KemError> {
        self.kem.public_from_bytes(bytes)
    }

    fn public_to_bytes(&self, public: &K::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        self.kem.public_to_bytes(public, bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<K::Secret, KemError> {
        self.kem.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &K::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        self.kem.secret_to_bytes(secret)
    }

    fn encapsulate(&self, to: &K::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.kem.encapsulate_from(to, &self.coins("kem encapsulation", K::ENCAPSULATE_COINS), ciphertext)
    }

    fn decapsulate(&self, with: &K::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.kem.decapsulate(with, ciphertext)
    }
}
