//! The KEMs that a suite can be built on, and where their randomness comes from.

use alloc::vec;
use alloc::vec::Vec;
use candor_primitives::SharedSecret;
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

type Keys<K> = (<K as Kem>::Secret, <K as Kem>::Public);

/// A KEM for a suite: any [`DerandomizedKem`], fed by the caller's generator, or [`SystemRandomness`] around any other [`Kem`].
pub trait SuiteKem: Clone {
    /// The KEM.
    type Kem: Kem;

    /// The KEM.
    fn kem(&self) -> &Self::Kem;

    /// A fresh key pair.
    ///
    /// # Errors
    /// Those of the KEM.
    fn fresh_keys(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Keys<Self::Kem>, KemError>;

    /// A fresh secret, and its ciphertext in `ciphertext`.
    ///
    /// # Errors
    /// Those of the KEM.
    fn fresh_secret(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &<Self::Kem as Kem>::Public,
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError>;

    /// [`Self::fresh_secret`] for each of the keys, its ciphertext at the same place.
    ///
    /// # Errors
    /// Those of the KEM.
    fn fresh_secrets(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &[&<Self::Kem as Kem>::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError>;
}

impl<K: DerandomizedKem + Clone> SuiteKem for K {
    type Kem = K;

    fn kem(&self) -> &K {
        self
    }

    fn fresh_keys(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Keys<K>, KemError> {
        self.generate_with(rng)
    }

    fn fresh_secret(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &K::Public,
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError> {
        self.encapsulate_with(rng, to, ciphertext)
    }

    fn fresh_secrets(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &[&K::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        let mut coins = Zeroizing::new(vec![0; K::ENCAPSULATE_COINS * to.len()]);
        rng.fill_bytes(&mut coins);
        self.encapsulate_many_from(to, &coins.chunks_exact(K::ENCAPSULATE_COINS).collect::<Vec<_>>(), ciphertexts)
    }
}

/// A KEM that draws its own randomness from the operating system, whatever generator the caller brings. AWS-LC takes no other.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandomness<K>(pub K);

impl<K: Kem + Clone> SuiteKem for SystemRandomness<K> {
    type Kem = K;

    fn kem(&self) -> &K {
        &self.0
    }

    fn fresh_keys(&self, _: &mut (impl CryptoRng + ?Sized)) -> Result<Keys<K>, KemError> {
        self.0.generate()
    }

    fn fresh_secret(
        &self,
        _: &mut (impl CryptoRng + ?Sized),
        to: &K::Public,
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError> {
        self.0.encapsulate(to, ciphertext)
    }

    fn fresh_secrets(
        &self,
        _: &mut (impl CryptoRng + ?Sized),
        to: &[&K::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        self.0.encapsulate_many(to, ciphertexts)
    }
}
