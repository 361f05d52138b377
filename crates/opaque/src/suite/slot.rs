//! A place in a suite where a KEM may stand.

use super::SuiteKem;
use crate::Error;
use alloc::vec;
use alloc::vec::Vec;
use candor_primitives::SharedSecret;
use candor_primitives::kem::Kem;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// [`NoKem`] or [`WithKem`]; there are no others.
pub trait Slot: Clone + sealed::Sealed {
    /// The secret key, parsed; `()` without a KEM.
    type Secret;
    /// The public key, parsed; `()` without a KEM.
    type Public;

    /// The KEM's name in its standard; empty without one.
    const NAME: &'static str;
    /// Bytes of a public key.
    const PUBLIC: usize;
    /// Bytes of a secret key.
    const SECRET: usize;
    /// Bytes of a ciphertext.
    const CIPHERTEXT: usize;
    /// Bytes of the shared secret.
    const SHARED: usize;

    /// A fresh key pair, and the public key's bytes.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn generate(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<(Self::Secret, Vec<u8>), Error>;

    /// Parses a public key and checks it.
    ///
    /// # Errors
    /// [`Error::Kem`] if it is not valid.
    fn public(&self, bytes: &[u8]) -> Result<Self::Public, Error>;

    /// Parses a secret key and checks it.
    ///
    /// # Errors
    /// [`Error::Kem`] if it is not valid.
    fn secret(&self, bytes: &[u8]) -> Result<Self::Secret, Error>;

    /// A secret key's bytes.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, Error>;

    /// Encapsulates: writes `ciphertext`, which is [`Self::CIPHERTEXT`] long, and returns the secret in it.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn encapsulate(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &Self::Public,
        ciphertext: &mut [u8],
    ) -> Result<Option<SharedSecret>, Error>;

    /// [`Self::encapsulate`] to each of the keys, into the ciphertext at the same place.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn encapsulate_many(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &[&Self::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<Option<SharedSecret>>, Error>;

    /// The secret in a ciphertext; another one, and no error, if it was not made for this key.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Option<SharedSecret>, Error>;
}

/// No KEM here.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKem;

/// This KEM.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithKem<K>(pub(crate) K);

impl Slot for NoKem {
    type Secret = ();
    type Public = ();

    const NAME: &'static str = "";
    const PUBLIC: usize = 0;
    const SECRET: usize = 0;
    const CIPHERTEXT: usize = 0;
    const SHARED: usize = 0;

    fn generate(&self, _: &mut (impl CryptoRng + ?Sized)) -> Result<((), Vec<u8>), Error> {
        Ok(((), Vec::new()))
    }

    fn public(&self, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn secret(&self, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn secret_to_bytes(&self, (): &()) -> Result<Zeroizing<Vec<u8>>, Error> {
        Ok(Zeroizing::default())
    }

    fn encapsulate(
        &self,
        _: &mut (impl CryptoRng + ?Sized),
        (): &(),
        _: &mut [u8],
    ) -> Result<Option<SharedSecret>, Error> {
        Ok(None)
    }

    fn encapsulate_many(
        &self,
        _: &mut (impl CryptoRng + ?Sized),
        to: &[&()],
        _: &mut [&mut [u8]],
    ) -> Result<Vec<Option<SharedSecret>>, Error> {
        Ok(vec![None; to.len()])
    }

    fn decapsulate(&self, (): &(), _: &[u8]) -> Result<Option<SharedSecret>, Error> {
        Ok(None)
    }
}

impl<K: SuiteKem> Slot for WithKem<K> {
    type Secret = <K::Kem as Kem>::Secret;
    type Public = <K::Kem as Kem>::Public;

    const NAME: &'static str = K::Kem::NAME;
    const PUBLIC: usize = K::Kem::PUBLIC;
    const SECRET: usize = K::Kem::SECRET;
    const CIPHERTEXT: usize = K::Kem::CIPHERTEXT;
    const SHARED: usize = SharedSecret::LENGTH;

    fn generate(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<(Self::Secret, Vec<u8>), Error> {
        let (secret, public) = self.0.fresh_keys(rng)?;
        let mut bytes = vec![0; K::Kem::PUBLIC];
        self.0.kem().public_to_bytes(&public, &mut bytes)?;
        Ok((secret, bytes))
    }

    fn public(&self, bytes: &[u8]) -> Result<Self::Public, Error> {
        Ok(self.0.kem().public_from_bytes(bytes)?)
    }

    fn secret(&self, bytes: &[u8]) -> Result<Self::Secret, Error> {
        Ok(self.0.kem().secret_from_bytes(bytes)?)
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, Error> {
        Ok(self.0.kem().secret_to_bytes(secret)?)
    }

    fn encapsulate(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &Self::Public,
        ciphertext: &mut [u8],
    ) -> Result<Option<SharedSecret>, Error> {
        Ok(Some(self.0.fresh_secret(rng, to, ciphertext)?))
    }

    fn encapsulate_many(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &[&Self::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<Option<SharedSecret>>, Error> {
        let secrets = self.0.fresh_secrets(rng, to, ciphertexts)?;
        // Copied, since what is moved out of a list stays in its memory.
        Ok(secrets.iter().cloned().map(Some).collect())
    }

    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Option<SharedSecret>, Error> {
        Ok(Some(self.0.kem().decapsulate(with, ciphertext)?))
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoKem {}
    impl<K> Sealed for super::WithKem<K> {}
}
