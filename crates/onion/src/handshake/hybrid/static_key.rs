//! Whether a relay has a static KEM key beside its X25519 onion key.

use crate::Error;
use candor_primitives::SharedSecret;
use candor_primitives::kem::Kem;

/// What stands beside the relay's X25519 onion key: [`NoStaticKem`] or [`StaticKem`].
///
/// There are no others: the specification knows these two, and PROTOID tells them apart by [`StaticKey::NAME`].
pub trait StaticKey: Clone + sealed::Sealed {
    /// The secret key, parsed; `()` without a static KEM.
    type Secret;
    /// The public key, parsed; `()` without a static KEM.
    type Public;

    /// The KEM's name, if there is one.
    const NAME: Option<&'static str>;
    /// Bytes of CT_s in the onionskin.
    const CIPHERTEXT: usize;

    /// A fresh key pair.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn generate(&self) -> Result<(Self::Secret, Self::Public), Error>;

    /// EK_s as bytes; none without a static KEM.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn public_to_bytes(&self, public: &Self::Public) -> Result<Vec<u8>, Error>;

    /// CT_s into `ciphertext`, which has [`Self::CIPHERTEXT`] bytes, and SS_s.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<Option<SharedSecret>, Error>;

    /// SS_s from CT_s.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Option<SharedSecret>, Error>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoStaticKem {}
    impl<S> Sealed for super::StaticKem<S> {}
}

/// The relay proves itself by its X25519 onion key alone: `hybrid-512`, `hybrid-768`, `hybrid-1024`.
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
}

/// The relay proves itself by a static key of that KEM as well: `hybrid-…-auth`. It may be another KEM than the ephemeral
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
}
