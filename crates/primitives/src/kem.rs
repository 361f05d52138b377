//! Key encapsulation mechanisms.
//!
//! A KEM is a small type, one for each back end: `aws_lc::MlKem768`, `libcrux::MlKem768` and `rustcrypto::MlKem768` are the
//! same algorithm (FIPS 203) from three libraries, `ml_kem::MlKem768` is our own, and a program can use them side by side. Keys are parsed once
//! and used often. Ciphertexts are bytes in memory that the caller owns.
//!
//! Parsing a key fails if its length is wrong, if a public key has an unreduced coefficient, or if the hash inside a secret
//! key does not match its public key (FIPS 203 §7). A ciphertext of the right length never fails: if `encapsulate` did not make it
//! for this key, the result is a pseudorandom secret that nobody else has (implicit rejection).
//!
//! [`Kem::generate`] and [`Kem::encapsulate`] use the operating system's randomness. A back end that can take randomness from
//! the caller is also a [`DerandomizedKem`]: all but AWS-LC are.
//!
//! ```
//! # #[cfg(feature = "aws-lc")] {
//! use candor_primitives::kem::{Kem, KemError, aws_lc::MlKem768};
//!
//! fn exchange<K: Kem>(kem: K) -> Result<(), KemError> {
//!     let (secret, public) = kem.generate()?;
//!     let mut ciphertext = vec![0; K::CIPHERTEXT];
//!     let ours = kem.encapsulate(&public, &mut ciphertext)?;
//!     let theirs = kem.decapsulate(&secret, &ciphertext)?;
//!     assert!(ours == theirs);
//!     Ok(())
//! }
//! exchange(MlKem768).unwrap();
//! # }
//! ```

use alloc::vec::Vec;
use core::fmt;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

pub mod ml_kem;
#[cfg(feature = "pkcs8")]
pub mod pkcs8;

#[cfg(feature = "aws-lc")]
pub mod aws_lc;
#[cfg(feature = "libcrux")]
pub mod libcrux;
#[cfg(feature = "rustcrypto")]
pub mod rustcrypto;

pub use crate::SharedSecret;

/// A decapsulation key and the encapsulation key that belongs to it.
pub type KeyPair<K> = (<K as Kem>::Secret, <K as Kem>::Public);

/// A key encapsulation mechanism.
pub trait Kem {
    /// The decapsulation key, parsed; wiped on drop.
    type Secret;
    /// The encapsulation key, parsed and checked.
    type Public;

    /// The algorithm's name in its standard, such as `ML-KEM-768`. Two back ends of one algorithm share it.
    const NAME: &'static str;
    /// Bytes of an encoded public (encapsulation) key.
    const PUBLIC: usize;
    /// Bytes of an encoded secret (decapsulation) key.
    const SECRET: usize;
    /// Bytes of a ciphertext.
    const CIPHERTEXT: usize;
    /// Bytes of the shared secret.
    const SHARED: usize = SharedSecret::LENGTH;

    /// A fresh key pair, from the operating system's randomness.
    ///
    /// # Errors
    /// [`KemError::Randomness`] if the system has none; [`KemError::BackEnd`] if the library fails (out of memory).
    fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError>;

    /// Parses a public key of [`Self::PUBLIC`] bytes and checks it; for ML-KEM the checks of FIPS 203 §7.2.
    ///
    /// # Errors
    /// [`KemError::Length`], [`KemError::PublicKey`].
    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError>;

    /// Writes a public key into `bytes`, which is [`Self::PUBLIC`] long.
    ///
    /// # Errors
    /// [`KemError::Length`].
    fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError>;

    /// Parses a secret key of [`Self::SECRET`] bytes and checks it; for ML-KEM this is the expanded form of FIPS 203
    /// §7.1, and the checks are those of §7.3.
    ///
    /// # Errors
    /// [`KemError::Length`], [`KemError::SecretKey`].
    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError>;

    /// Encodes a secret key as [`Self::SECRET`] bytes, which are wiped when dropped.
    ///
    /// # Errors
    /// [`KemError::BackEnd`] if the library can't encode it.
    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError>;

    /// The secret key that belongs to a seed: for ML-KEM the 64 bytes d ‖ z, the form in which FIPS 203 §3.3 lets keys be stored.
    ///
    /// # Errors
    /// [`KemError::Length`] if the seed has the wrong length; [`KemError::SeedUnsupported`] if the back end takes none.
    fn secret_from_seed(&self, seed: &[u8]) -> Result<Self::Secret, KemError> {
        let _ = seed;
        Err(KemError::SeedUnsupported)
    }

    /// The seed of a secret key, wiped when dropped.
    ///
    /// # Errors
    /// [`KemError::NoSeed`] if the key was read by [`Self::secret_from_bytes`], since the expanded form does not hold the seed;
    /// [`KemError::SeedUnsupported`] if the back end gives none.
    fn secret_to_seed(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        let _ = secret;
        Err(KemError::SeedUnsupported)
    }

    /// Makes a shared secret and the ciphertext that carries it to the holder of the secret key, from the operating
    /// system's randomness. `ciphertext` is [`Self::CIPHERTEXT`] long and wholly overwritten; after an error its
    /// content means nothing.
    ///
    /// # Errors
    /// [`KemError::Length`], [`KemError::Randomness`], [`KemError::BackEnd`].
    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError>;

    /// The shared secret in `ciphertext`, which is [`Self::CIPHERTEXT`] long. A ciphertext that was not made for this
    /// key gives another secret, not an error.
    ///
    /// # Errors
    /// [`KemError::Length`], [`KemError::BackEnd`].
    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError>;

    /// `count` fresh key pairs. One by one, unless the implementation says that it has something better: our ML-KEM hashes for several at once. The
    /// results are the same; so it is with the other methods for many.
    ///
    /// # Errors
    /// Those of [`Self::generate`]; then there are no keys at all.
    fn generate_many(&self, count: usize) -> Result<Vec<KeyPair<Self>>, KemError> {
        // With room from the start, so that no secret is moved and left behind.
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push(self.generate()?);
        }
        Ok(pairs)
    }

    /// [`Self::encapsulate`] to each of the keys, which may be different ones or the same, into the ciphertext at the same place of the list.
    ///
    /// # Errors
    /// [`KemError::Batch`] if the lists differ in length, and those of [`Self::encapsulate`], for all together.
    fn encapsulate_many(
        &self,
        to: &[&Self::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        expect_as_many("ciphertexts", to.len(), ciphertexts.len())?;
        let mut shared = Vec::with_capacity(to.len());
        for (to, ciphertext) in to.iter().zip(ciphertexts) {
            shared.push(self.encapsulate(to, ciphertext)?);
        }
        Ok(shared)
    }

    /// [`Self::decapsulate`] with each of the keys, which may be different ones or the same, of the ciphertext at the same place of the list.
    ///
    /// # Errors
    /// [`KemError::Batch`] if the lists differ in length, and those of [`Self::decapsulate`], for all together.
    fn decapsulate_many(&self, with: &[&Self::Secret], ciphertexts: &[&[u8]]) -> Result<Vec<SharedSecret>, KemError> {
        expect_as_many("ciphertexts", with.len(), ciphertexts.len())?;
        let mut shared = Vec::with_capacity(with.len());
        for (with, ciphertext) in with.iter().zip(ciphertexts) {
            shared.push(self.decapsulate(with, ciphertext)?);
        }
        Ok(shared)
    }
}

/// A [`Kem`] that can take its randomness from the caller.
///
/// The `…_with` functions draw it from a generator. The `…_from` functions take it as bytes, *coins*: the same coins always give the
/// same result, so coins used twice reveal what they protect. They are for test vectors; a key stored as a seed is read by
/// [`Kem::secret_from_seed`].
pub trait DerandomizedKem: Kem {
    /// Bytes of randomness in a key pair; 64 for ML-KEM: d ‖ z (FIPS 203 §7.1).
    const GENERATE_COINS: usize;
    /// Bytes of randomness in an encapsulation; 32 for ML-KEM: m (FIPS 203 §7.2).
    const ENCAPSULATE_COINS: usize;

    /// The key pair that belongs to `coins`.
    ///
    /// # Errors
    /// [`KemError::Length`] if there are not [`Self::GENERATE_COINS`] of them.
    fn generate_from(&self, coins: &[u8]) -> Result<(Self::Secret, Self::Public), KemError>;

    /// The encapsulation that belongs to `coins`.
    ///
    /// # Errors
    /// [`KemError::Length`] if there are not [`Self::ENCAPSULATE_COINS`] of them, or `ciphertext` is not
    /// [`Kem::CIPHERTEXT`] long.
    fn encapsulate_from(
        &self,
        to: &Self::Public,
        coins: &[u8],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError>;

    /// The key pair of each coins.
    ///
    /// # Errors
    /// Those of [`Self::generate_from`]; then there are no keys at all.
    fn generate_many_from(&self, coins: &[&[u8]]) -> Result<Vec<KeyPair<Self>>, KemError> {
        let mut pairs = Vec::with_capacity(coins.len());
        for coins in coins {
            pairs.push(self.generate_from(coins)?);
        }
        Ok(pairs)
    }

    /// [`Kem::encapsulate_many`] with the coins at the same place of the list.
    ///
    /// # Errors
    /// [`KemError::Batch`] if the lists differ in length, and those of [`Self::encapsulate_from`], for all together.
    fn encapsulate_many_from(
        &self,
        to: &[&Self::Public],
        coins: &[&[u8]],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        expect_as_many("ciphertexts", to.len(), ciphertexts.len())?;
        expect_as_many("coins", to.len(), coins.len())?;
        let mut shared = Vec::with_capacity(to.len());
        for ((to, coins), ciphertext) in to.iter().zip(coins).zip(ciphertexts) {
            shared.push(self.encapsulate_from(to, coins, ciphertext)?);
        }
        Ok(shared)
    }

    /// [`Kem::generate`] with randomness from `rng`.
    ///
    /// # Errors
    /// Those of [`Self::generate_from`].
    fn generate_with(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<(Self::Secret, Self::Public), KemError> {
        let mut coins = Zeroizing::new(alloc::vec![0; Self::GENERATE_COINS]);
        rng.fill_bytes(&mut coins);
        self.generate_from(&coins)
    }

    /// [`Kem::encapsulate`] with randomness from `rng`.
    ///
    /// # Errors
    /// Those of [`Self::encapsulate_from`].
    fn encapsulate_with(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &Self::Public,
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError> {
        let mut coins = Zeroizing::new(alloc::vec![0; Self::ENCAPSULATE_COINS]);
        rng.fill_bytes(&mut coins);
        self.encapsulate_from(to, &coins, ciphertext)
    }
}

/// Why an operation of a KEM failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KemError {
    /// A key, a ciphertext, a buffer or the coins have the wrong length.
    Length {
        /// What was too short or too long.
        what: &'static str,
        /// The length that the algorithm has.
        expected: usize,
        /// The length that was given.
        got: usize,
    },
    /// The lists of a batch differ in length.
    Batch {
        /// What there was too little or too much of.
        what: &'static str,
        /// How many keys there are.
        keys: usize,
        /// How many of the others.
        got: usize,
    },
    /// The public key is not one that key generation makes; for ML-KEM, a coefficient is not below q = 3329; for HQC, it has bits beyond
    /// its polynomial.
    PublicKey,
    /// The secret key contradicts itself; for ML-KEM, the hash in it is not that of the public key in it; for HQC, its seed gives another.
    SecretKey,
    /// The secret key was read in its expanded form, which does not hold the seed.
    NoSeed,
    /// The back end neither takes nor gives seeds: AWS-LC's Rust library has no call for them.
    SeedUnsupported,
    /// The operating system gave no randomness, or the crate was built without the feature `getrandom`.
    Randomness,
    /// The back end of this name failed, which it does only when memory or its own randomness run out.
    BackEnd(&'static str),
}

impl fmt::Display for KemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { what, expected, got } => write!(f, "{what} is {got} bytes long; expected {expected}"),
            Self::Batch { what, keys, got } => {
                write!(f, "batch has {keys} keys and {got} {what}; expected equally many")
            }
            Self::PublicKey => {
                f.write_str("public key is invalid: no key generation makes it; get the key from its owner again")
            }
            Self::SecretKey => {
                f.write_str("secret key is invalid: it contradicts the public key inside it; restore it from a backup")
            }
            Self::NoSeed => {
                f.write_str("secret key was imported in expanded form and has no seed; export it in that form")
            }
            Self::SeedUnsupported => f.write_str(
                "this back end has no keys from seeds; use the expanded form, or the back end libcrux or rustcrypto",
            ),
            Self::Randomness => f.write_str(crate::random::MISSING),
            Self::BackEnd(name) => write!(f, "{name} failed; memory or randomness may have run out"),
        }
    }
}

impl core::error::Error for KemError {}

impl From<crate::random::Unavailable> for KemError {
    fn from(_: crate::random::Unavailable) -> Self {
        Self::Randomness
    }
}

/// `bytes` if there are `expected` of them.
#[inline]
pub(crate) fn expect_length(what: &'static str, expected: usize, got: usize) -> Result<(), KemError> {
    if got == expected { Ok(()) } else { Err(KemError::Length { what, expected, got }) }
}

/// Nothing if there are as many of `what` as keys.
#[inline]
pub(crate) fn expect_as_many(what: &'static str, keys: usize, got: usize) -> Result<(), KemError> {
    if got == keys { Ok(()) } else { Err(KemError::Batch { what, keys, got }) }
}
