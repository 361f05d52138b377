//! Back ends that differ from the one below them in one point.
//!
//! [`Twisted`] is a back end with a twist. [`Draws`] makes vectors and witnesses: keys and encapsulations come from a generator that the test
//! chooses. [`SendsPoint`] and [`SendsCoefficient`] send what no honest side would. [`Refuses`] fails where our own back ends would not.
//!
//! ```
//! use candor_primitives::dh::{DhError, DiffieHellman};
//! use candor_test_support::back_ends::{Draws, Script, Twisted};
//!
//! /// The public key that belongs to a secret of ones.
//! fn known<D: DiffieHellman>(dh: D) -> Result<[u8; 32], DhError> {
//!     Ok(Twisted::new(dh, Draws(Script::of([&[1; 32]]))).generate()?.1)
//! }
//! ```

use candor_primitives::SharedSecret;
use candor_primitives::dh::{DhError, DiffieHellman};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use zeroize::Zeroizing;

mod script;

pub use script::Script;

/// The operating system's generator, for the randomness that does not matter to a test.
pub fn system() -> rand_core::UnwrapErr<getrandom::SysRng> {
    rand_core::UnwrapErr(getrandom::SysRng)
}

/// The back end `below`, with a `twist`: a [`DhTwist`] or a [`KemTwist`].
#[derive(Clone, Default)]
pub struct Twisted<B, T> {
    below: B,
    twist: T,
}

impl<B, T> Twisted<B, T> {
    /// `below`, with `twist`.
    pub fn new(below: B, twist: T) -> Self {
        Self { below, twist }
    }
}

/// What a Diffie-Hellman back end does differently from `dh`.
pub trait DhTwist<D: DiffieHellman> {
    /// In place of [`DiffieHellman::generate`].
    ///
    /// # Errors
    /// Those of `dh`.
    fn generate(&self, dh: &D) -> Result<(D::Secret, [u8; 32]), DhError>;
}

/// What a KEM back end does differently from `kem`. The provided methods do the same as `kem`.
pub trait KemTwist<K: Kem> {
    /// In place of [`Kem::generate`].
    ///
    /// # Errors
    /// Those of `kem`.
    fn generate(&self, kem: &K) -> Result<(K::Secret, K::Public), KemError> {
        kem.generate()
    }

    /// In place of [`Kem::encapsulate`].
    ///
    /// # Errors
    /// Those of `kem`.
    fn encapsulate(&self, kem: &K, to: &K::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        kem.encapsulate(to, ciphertext)
    }

    /// In place of [`Kem::encapsulate_many`]: one by one, as [`Self::encapsulate`] does it.
    ///
    /// # Errors
    /// Those of `kem`.
    fn encapsulate_many(
        &self,
        kem: &K,
        to: &[&K::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        to.iter().zip(ciphertexts).map(|(to, ciphertext)| self.encapsulate(kem, to, ciphertext)).collect()
    }

    /// In place of [`Kem::decapsulate`].
    ///
    /// # Errors
    /// Those of `kem`.
    fn decapsulate(&self, kem: &K, with: &K::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        kem.decapsulate(with, ciphertext)
    }

    /// In place of [`Kem::decapsulate_many`]: the batch of `kem`.
    ///
    /// # Errors
    /// Those of `kem`.
    fn decapsulate_many(
        &self,
        kem: &K,
        with: &[&K::Secret],
        ciphertexts: &[&[u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        kem.decapsulate_many(with, ciphertexts)
    }

    /// In place of [`Kem::public_to_bytes`].
    ///
    /// # Errors
    /// Those of `kem`.
    fn public_to_bytes(&self, kem: &K, public: &K::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        kem.public_to_bytes(public, bytes)
    }
}

/// Key pairs and encapsulations are drawn from a generator instead of the operating system.
///
/// Each is drawn from a *clone* of it. Clones of a [`Script`] share what is left of it, so one draw follows the other. Clones of a generator
/// that has its state to itself begin again, so each draw is the same.
#[derive(Clone, Default)]
pub struct Draws<R>(pub R);

impl<D: DiffieHellman, R: rand_core::CryptoRng + Clone> DhTwist<D> for Draws<R> {
    fn generate(&self, dh: &D) -> Result<(D::Secret, [u8; 32]), DhError> {
        dh.generate_with(&mut self.0.clone())
    }
}

impl<K: DerandomizedKem, R: rand_core::CryptoRng + Clone> KemTwist<K> for Draws<R> {
    fn generate(&self, kem: &K) -> Result<(K::Secret, K::Public), KemError> {
        kem.generate_with(&mut self.0.clone())
    }

    fn encapsulate(&self, kem: &K, to: &K::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        kem.encapsulate_with(&mut self.0.clone(), to, ciphertext)
    }

    /// The same draws as one by one, and then the batch of `kem`.
    fn encapsulate_many(
        &self,
        kem: &K,
        to: &[&K::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        let mut coins = Zeroizing::new(vec![0; to.len() * K::ENCAPSULATE_COINS]);
        coins.chunks_exact_mut(K::ENCAPSULATE_COINS).for_each(|coins| self.0.clone().fill_bytes(coins));
        let coins: Vec<_> = coins.chunks_exact(K::ENCAPSULATE_COINS).collect();
        kem.encapsulate_many_from(to, &coins, ciphertexts)
    }
}

/// The public key that is sent is this one, whatever the secret key.
#[derive(Clone)]
pub struct SendsPoint(pub [u8; 32]);

impl<D: DiffieHellman> DhTwist<D> for SendsPoint {
    fn generate(&self, dh: &D) -> Result<(D::Secret, [u8; 32]), DhError> {
        Ok((dh.generate()?.0, self.0))
    }
}

/// Encoded public keys have these three bytes (two coefficients of ML-KEM, of 12 bits each) at the offset `at`.
#[derive(Clone)]
pub struct SendsCoefficient {
    /// Where, from the beginning of the encoded key.
    pub at: usize,
    /// What.
    pub bytes: [u8; 3],
}

impl<K: Kem> KemTwist<K> for SendsCoefficient {
    fn public_to_bytes(&self, kem: &K, public: &K::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        kem.public_to_bytes(public, bytes)?;
        bytes[self.at..self.at + 3].copy_from_slice(&self.bytes);
        Ok(())
    }
}

/// Refuses the public key and the ciphertext whose bytes these are, and any batch with them.
#[derive(Clone)]
pub struct Refuses(pub Vec<u8>);

impl Refuses {
    fn unless(&self, is_it: bool) -> Result<(), KemError> {
        if is_it { Err(KemError::BackEnd("the test")) } else { Ok(()) }
    }
}

impl<K: Kem> KemTwist<K> for Refuses {
    fn encapsulate(&self, kem: &K, to: &K::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        let mut bytes = vec![0; K::PUBLIC];
        kem.public_to_bytes(to, &mut bytes)?;
        self.unless(bytes == self.0)?;
        kem.encapsulate(to, ciphertext)
    }

    fn decapsulate(&self, kem: &K, with: &K::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.unless(ciphertext == self.0)?;
        kem.decapsulate(with, ciphertext)
    }

    fn decapsulate_many(
        &self,
        kem: &K,
        with: &[&K::Secret],
        ciphertexts: &[&[u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        self.unless(ciphertexts.contains(&&self.0[..]))?;
        kem.decapsulate_many(with, ciphertexts)
    }
}

impl<D: DiffieHellman, T: DhTwist<D>> DiffieHellman for Twisted<D, T> {
    type Secret = D::Secret;

    const NAME: &'static str = D::NAME;

    fn generate(&self) -> Result<(D::Secret, [u8; 32]), DhError> {
        self.twist.generate(&self.below)
    }

    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<D::Secret, DhError> {
        self.below.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &D::Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        self.below.secret_to_bytes(secret)
    }

    fn public_of(&self, secret: &D::Secret) -> Result<[u8; 32], DhError> {
        self.below.public_of(secret)
    }

    fn agree(&self, secret: &D::Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        self.below.agree(secret, peer)
    }

    fn agree_pair(&self, pairs: [(&D::Secret, &[u8; 32]); 2]) -> [Result<SharedSecret, DhError>; 2] {
        self.below.agree_pair(pairs)
    }

    fn agree_many(&self, pairs: &[(&D::Secret, &[u8; 32])]) -> Vec<Result<SharedSecret, DhError>> {
        self.below.agree_many(pairs)
    }
}

impl<K: Kem, T: KemTwist<K>> Kem for Twisted<K, T> {
    type Secret = K::Secret;
    type Public = K::Public;

    const NAME: &'static str = K::NAME;
    const PUBLIC: usize = K::PUBLIC;
    const SECRET: usize = K::SECRET;
    const CIPHERTEXT: usize = K::CIPHERTEXT;

    fn generate(&self) -> Result<(K::Secret, K::Public), KemError> {
        self.twist.generate(&self.below)
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<K::Public, KemError> {
        self.below.public_from_bytes(bytes)
    }

    fn public_to_bytes(&self, public: &K::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        self.twist.public_to_bytes(&self.below, public, bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<K::Secret, KemError> {
        self.below.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &K::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        self.below.secret_to_bytes(secret)
    }

    fn encapsulate(&self, to: &K::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.twist.encapsulate(&self.below, to, ciphertext)
    }

    fn encapsulate_many(
        &self,
        to: &[&K::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        self.twist.encapsulate_many(&self.below, to, ciphertexts)
    }

    fn decapsulate(&self, with: &K::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.twist.decapsulate(&self.below, with, ciphertext)
    }

    fn decapsulate_many(&self, with: &[&K::Secret], ciphertexts: &[&[u8]]) -> Result<Vec<SharedSecret>, KemError> {
        self.twist.decapsulate_many(&self.below, with, ciphertexts)
    }
}
