//! Whether a relay has a static KEM key beside its X25519 onion key.

use crate::Error;
use alloc::vec;
use alloc::vec::Vec;
use candor_primitives::SharedSecret;
use candor_primitives::kem::Kem;

/// What complements the relay's X25519 onion key: [`NoStaticKem`] or [`StaticKem`].
///
/// The trait is sealed: the specification has these two cases, and PROTOID tells them apart by [`StaticKey::NAME`].
pub trait StaticKey: Clone + sealed::Sealed {
    /// The secret key, parsed; `()` without a static KEM.
    type Secret;
    /// The public key, parsed; `()` without a static KEM.
    type Public;

    /// The name of the KEM, if there is one.
    const NAME: Option<&'static str>;
    /// Length of CT_s in the onionskin.
    const CIPHERTEXT: usize;

    /// Generates a key pair.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn generate(&self) -> Result<(Self::Secret, Self::Public), Error>;

    /// EK_s as bytes; empty without a static KEM.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn public_to_bytes(&self, public: &Self::Public) -> Result<Vec<u8>, Error>;

    /// Encapsulates: writes CT_s to `ciphertext`, which is [`Self::CIPHERTEXT`] bytes long, and returns SS_s.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<Option<SharedSecret>, Error>;

    /// Decapsulates: SS_s from CT_s.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Option<SharedSecret>, Error>;

    /// [`Self::decapsulate`] with each of the keys, of the ciphertext at the same place.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn decapsulate_many(
        &self,
        with: &[&Self::Secret],
        ciphertexts: &[&[u8]],
    ) -> Result<Vec<Option<SharedSecret>>, Error>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoStaticKem {}
    impl<S> Sealed for super::StaticKem<S> {}
}

/// The relay proves its identity by its X25519 onion key alone: `hybrid-512`, `hybrid-768`, `hybrid-1024`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStaticKem;

impl StaticKey for NoStaticKem {
    type Secret = ();
    type Public = ();

    const NAME: Option<&'static str> = None;
    const CIPHERTEXT: usize = 0;

    fn generate(&self) -> Result<((), ()), Error> {
        Ok(((), ()))
    }

    fn public_to_bytes(&self, (): &()) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    #[inline]
    fn encapsulate(&self, (): &(), _: &mut [u8]) -> Result<Option<SharedSecret>, Error> {
        Ok(None)
    }

    #[inline]
    fn decapsulate(&self, (): &(), _: &[u8]) -> Result<Option<SharedSecret>, Error> {
        Ok(None)
    }

    fn decapsulate_many(&self, with: &[&()], _: &[&[u8]]) -> Result<Vec<Option<SharedSecret>>, Error> {
        Ok(vec![None; with.len()])
    }
}

/// The relay proves its identity by a static KEM key as well: `hybrid-…-auth`. The KEM may differ from the ephemeral
/// one.
#[derive(Clone, Copy, Debug, Default)]
pub struct StaticKem<S>(pub S);

impl<S: Kem + Clone> StaticKey for StaticKem<S> {
    type Secret = S::Secret;
    type Public = S::Public;

    const NAME: Option<&'static str> = Some(S::NAME);
    const CIPHERTEXT: usize = S::CIPHERTEXT;

    fn generate(&self) -> Result<(S::Secret, S::Public), Error> {
        Ok(self.0.generate()?)
    }

    fn public_to_bytes(&self, public: &S::Public) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; S::PUBLIC];
        self.0.public_to_bytes(public, &mut bytes)?;
        Ok(bytes)
    }

    #[inline]
    fn encapsulate(&self, to: &S::Public, ciphertext: &mut [u8]) -> Result<Option<SharedSecret>, Error> {
        Ok(Some(self.0.encapsulate(to, ciphertext)?))
    }

    #[inline]
    fn decapsulate(&self, with: &S::Secret, ciphertext: &[u8]) -> Result<Option<SharedSecret>, Error> {
        Ok(Some(self.0.decapsulate(with, ciphertext)?))
    }

    fn decapsulate_many(&self, with: &[&S::Secret], ciphertexts: &[&[u8]]) -> Result<Vec<Option<SharedSecret>>, Error> {
        let shared = self.0.decapsulate_many(with, ciphertexts)?;
        // Copied, since what is moved out of a list stays in its memory.
        Ok(shared.iter().cloned().map(Some).collect())
    }
}
