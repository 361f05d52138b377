//! Back ends whose randomness is written down beforehand: they make vectors, and what no honest side would send.
#![allow(dead_code)] // not every test file uses all of it

use candor_primitives::SharedSecret;
use candor_primitives::dh::{DhError, DiffieHellman};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use zeroize::Zeroizing;

/// Coins, handed out in order. Clones share them; running out is a mistake in the test.
#[derive(Clone, Default)]
pub(crate) struct Script(Rc<RefCell<VecDeque<Vec<u8>>>>);

impl Script {
    pub(crate) fn of<const N: usize>(coins: [&[u8]; N]) -> Self {
        Self(Rc::new(RefCell::new(coins.iter().map(|coins| coins.to_vec()).collect())))
    }

    fn next(&self) -> Vec<u8> {
        self.0.borrow_mut().pop_front().expect("the script has coins for every step")
    }
}

/// A Diffie-Hellman back end with scripted secret keys.
#[derive(Clone, Default)]
pub(crate) struct ScriptedDh<D> {
    pub(crate) inner: D,
    pub(crate) script: Script,
}

impl<D: DiffieHellman> DiffieHellman for ScriptedDh<D> {
    type Secret = D::Secret;

    fn generate(&self) -> Result<(D::Secret, [u8; 32]), DhError> {
        let secret = self.inner.secret_from_bytes(&self.script.next().try_into().expect("32 bytes"))?;
        let public = self.inner.public_of(&secret)?;
        Ok((secret, public))
    }

    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<D::Secret, DhError> {
        self.inner.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &D::Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        self.inner.secret_to_bytes(secret)
    }

    fn public_of(&self, secret: &D::Secret) -> Result<[u8; 32], DhError> {
        self.inner.public_of(secret)
    }

    fn agree(&self, secret: &D::Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        self.inner.agree(secret, peer)
    }
}

/// A KEM back end with scripted coins.
#[derive(Clone, Default)]
pub(crate) struct ScriptedKem<K> {
    pub(crate) inner: K,
    pub(crate) script: Script,
}

impl<K: DerandomizedKem> Kem for ScriptedKem<K> {
    type Secret = K::Secret;
    type Public = K::Public;

    const NAME: &'static str = K::NAME;
    const PUBLIC: usize = K::PUBLIC;
    const SECRET: usize = K::SECRET;
    const CIPHERTEXT: usize = K::CIPHERTEXT;

    fn generate(&self) -> Result<(K::Secret, K::Public), KemError> {
        self.inner.generate_from(&self.script.next())
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<K::Public, KemError> {
        self.inner.public_from_bytes(bytes)
    }

    fn public_to_bytes(&self, public: &K::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        self.inner.public_to_bytes(public, bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<K::Secret, KemError> {
        self.inner.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &K::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        self.inner.secret_to_bytes(secret)
    }

    fn encapsulate(&self, to: &K::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.inner.encapsulate_from(to, &self.script.next(), ciphertext)
    }

    fn decapsulate(&self, with: &K::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.inner.decapsulate(with, ciphertext)
    }
}

/// A Diffie-Hellman back end that sends another public key than the one it has.
#[derive(Clone)]
pub(crate) struct LyingDh<D> {
    pub(crate) inner: D,
    pub(crate) sends: [u8; 32],
}

impl<D: DiffieHellman> DiffieHellman for LyingDh<D> {
    type Secret = D::Secret;

    fn generate(&self) -> Result<(D::Secret, [u8; 32]), DhError> {
        Ok((self.inner.generate()?.0, self.sends))
    }

    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<D::Secret, DhError> {
        self.inner.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &D::Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        self.inner.secret_to_bytes(secret)
    }

    fn public_of(&self, secret: &D::Secret) -> Result<[u8; 32], DhError> {
        self.inner.public_of(secret)
    }

    fn agree(&self, secret: &D::Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        self.inner.agree(secret, peer)
    }
}

/// A KEM back end that sends its public key with the bytes at an offset replaced.
#[derive(Clone)]
pub(crate) struct LyingKem<K> {
    pub(crate) inner: K,
    pub(crate) at: usize,
    pub(crate) sends: [u8; 3],
}

impl<K: Kem> Kem for LyingKem<K> {
    type Secret = K::Secret;
    type Public = K::Public;

    const NAME: &'static str = K::NAME;
    const PUBLIC: usize = K::PUBLIC;
    const SECRET: usize = K::SECRET;
    const CIPHERTEXT: usize = K::CIPHERTEXT;

    fn generate(&self) -> Result<(K::Secret, K::Public), KemError> {
        self.inner.generate()
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<K::Public, KemError> {
        self.inner.public_from_bytes(bytes)
    }

    fn public_to_bytes(&self, public: &K::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        self.inner.public_to_bytes(public, bytes)?;
        bytes[self.at..self.at + 3].copy_from_slice(&self.sends);
        Ok(())
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<K::Secret, KemError> {
        self.inner.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &K::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        self.inner.secret_to_bytes(secret)
    }

    fn encapsulate(&self, to: &K::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.inner.encapsulate(to, ciphertext)
    }

    fn decapsulate(&self, with: &K::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.inner.decapsulate(with, ciphertext)
    }
}
