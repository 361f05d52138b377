//! Sealing with nonces that the cipher draws itself.

use super::{AeadError, Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, Sm4Ccm, Sm4Gcm, TAG, XChaCha20Poly1305};
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
use rand_core::CryptoRng;

/// Seals each message under a random nonce, which stands in front of the sealed message: nonce, ciphertext, tag.
///
/// The first 2^32 messages under a key have nonces of 96 bits that repeat with a probability below 2^-32, which is the limit of SP 800-38D §8.3;
/// this type counts, and refuses to seal more. With [`XChaCha20Poly1305`], whose nonces have 192 bits, the limit is out of reach.
///
/// It counts what it has sealed itself. If several objects or processes use one key, divide the limit among them
/// ([`with_count`](Self::with_count)), or use XChaCha20-Poly1305. Threads can share an object, except on processors without atomic operations on
/// 64 bits, where it isn't `Sync`.
///
/// ```
/// # #[cfg(feature = "getrandom")] {
/// use candor_primitives::aead::{RandomNonce, XChaCha20Poly1305};
///
/// let cipher = RandomNonce::new(XChaCha20Poly1305::new(&[7; 32]));
/// let sealed = cipher.seal(b"", b"message")?;
/// assert_eq!(sealed.len(), 24 + 7 + 16);
/// assert_eq!(cipher.open(b"", &sealed)?, b"message");
/// # }
/// # Ok::<(), candor_primitives::aead::AeadError>(())
/// ```
pub struct RandomNonce<A> {
    aead: A,
    sealed: Count,
}

impl<A: RandomNonceAead> RandomNonce<A> {
    /// A key that has sealed no message yet.
    // ct: public, because the key was made before
    pub fn new(aead: A) -> Self {
        Self::with_count(aead, 0)
    }

    /// A key that has sealed `sealed` messages elsewhere, for instance before a restart: see [`sealed`](Self::sealed).
    // ct: public, because the key was made before
    pub fn with_count(aead: A, sealed: u64) -> Self {
        Self { aead, sealed: Count::new(sealed) }
    }

    /// Messages sealed under this key, by this object and by those that [`with_count`](Self::with_count) was told of. A message that was refused
    /// because it is too long counts as well.
    pub fn sealed(&self) -> u64 {
        self.sealed.read()
    }

    /// Encrypts `message`; the nonce comes from the operating system.
    ///
    /// # Errors
    /// If the key is used up, the message or the associated data is too long, or there is no randomness.
    // ct: aead/random-nonce/seal
    pub fn seal(&self, aad: &[u8], message: &[u8]) -> Result<Vec<u8>, AeadError> {
        self.seal_under(A::os_nonce()?, aad, message)
    }

    /// Encrypts `message`; the nonce comes from `rng`.
    ///
    /// # Errors
    /// If the key is used up, or the message or the associated data is too long.
    // ct: aead/random-nonce/seal
    pub fn seal_with(&self, rng: &mut impl CryptoRng, aad: &[u8], message: &[u8]) -> Result<Vec<u8>, AeadError> {
        let mut nonce = A::NONE;
        rng.fill_bytes(nonce.as_mut());
        self.seal_under(nonce, aad, message)
    }

    fn seal_under(&self, nonce: A::Nonce, aad: &[u8], message: &[u8]) -> Result<Vec<u8>, AeadError> {
        secret::takes("aead/random-nonce/seal", message);
        self.sealed.one_more(A::MESSAGES).ok_or(AeadError::KeyUsedUp)?;
        let nonce_bytes = nonce.as_ref();
        let mut sealed = Vec::with_capacity(nonce_bytes.len() + message.len() + TAG);
        sealed.extend_from_slice(nonce_bytes);
        sealed.extend_from_slice(message);
        let tag = match self.aead.seal(&nonce, aad, &mut sealed[nonce_bytes.len()..]) {
            Ok(tag) => tag,
            Err(error) => {
                // It still holds the message.
                zeroize::Zeroize::zeroize(&mut sealed);
                return Err(error);
            }
        };
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    /// Decrypts what [`seal`](Self::seal) made.
    ///
    /// # Errors
    /// If the tag is wrong, or `sealed` is shorter than a nonce and a tag, or longer than the algorithm allows.
    pub fn open(&self, aad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, AeadError> {
        secret::takes("aead/random-nonce/open", sealed);
        let mut nonce = A::NONE;
        let least = nonce.as_ref().len() + TAG;
        let short = AeadError::TooShort { least, got: sealed.len() };
        let (front, rest) = sealed.split_at_checked(nonce.as_ref().len()).ok_or(short)?;
        let (data, tag) = rest.split_last_chunk::<TAG>().ok_or(short)?;
        nonce.as_mut().copy_from_slice(front);
        let mut message = data.to_vec();
        self.aead.open(&nonce, aad, &mut message, tag)?;
        Ok(message)
    }
}

impl<A: fmt::Debug> fmt::Debug for RandomNonce<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomNonce").field("aead", &self.aead).field("sealed", &self.sealed.read()).finish()
    }
}

/// How many messages a key has sealed. Threads share it.
#[cfg(target_has_atomic = "64")]
struct Count(core::sync::atomic::AtomicU64);

/// The same where there are no atomic operations on 64 bits: the key stays with one thread.
#[cfg(not(target_has_atomic = "64"))]
struct Count(core::cell::Cell<u64>);

#[cfg(target_has_atomic = "64")]
impl Count {
    fn read(&self) -> u64 {
        self.0.load(core::sync::atomic::Ordering::Relaxed)
    }

    /// Counts one more, unless there are `most` already.
    fn one_more(&self, most: u64) -> Option<()> {
        use core::sync::atomic::Ordering::Relaxed; // no other memory depends on the count
        let count = |sealed: u64| (sealed < most).then(|| sealed + 1);
        self.0.fetch_update(Relaxed, Relaxed, count).ok().map(|_| ())
    }
}

#[cfg(not(target_has_atomic = "64"))]
impl Count {
    fn read(&self) -> u64 {
        self.0.get()
    }

    fn one_more(&self, most: u64) -> Option<()> {
        (self.0.get() < most).then(|| self.0.set(self.0.get() + 1))
    }
}

impl Count {
    fn new(sealed: u64) -> Self {
        Self(sealed.into())
    }
}

mod sealed {
    use super::*;

    /// What [`RandomNonce`] calls.
    pub trait Raw {
        type Nonce: AsRef<[u8]> + AsMut<[u8]>;
        const NONE: Self::Nonce;
        fn os_nonce() -> Result<Self::Nonce, AeadError>;
        fn seal(&self, nonce: &Self::Nonce, aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG], AeadError>;
        fn open(&self, nonce: &Self::Nonce, aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> Result<(), AeadError>;
    }
}

/// A cipher that [`RandomNonce`] takes: all of this module.
pub trait RandomNonceAead: sealed::Raw {
    /// Messages that random nonces allow under one key.
    const MESSAGES: u64;
}

macro_rules! random_nonce {
    ($($type:ident $nonce:literal $messages:expr;)+) => {$(
        impl RandomNonceAead for $type {
            const MESSAGES: u64 = $messages;
        }

        impl sealed::Raw for $type {
            type Nonce = [u8; $nonce];
            const NONE: Self::Nonce = [0; $nonce];

            fn os_nonce() -> Result<Self::Nonce, AeadError> {
                crate::random::bytes::<$nonce>().map(|nonce| *nonce).map_err(|_| AeadError::Randomness)
            }

            fn seal(&self, nonce: &Self::Nonce, aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG], AeadError> {
                self.seal_in_place(nonce, aad, data)
            }

            fn open(
                &self,
                nonce: &Self::Nonce,
                aad: &[u8],
                data: &mut [u8],
                tag: &[u8; TAG],
            ) -> Result<(), AeadError> {
                self.open_in_place(nonce, aad, data, tag)
            }
        }
    )+};
}

random_nonce! {
    Aes128Gcm 12 1 << 32;
    Aes256Gcm 12 1 << 32;
    Sm4Gcm 12 1 << 32;
    Sm4Ccm 12 1 << 32;
    ChaCha20Poly1305 12 1 << 32;
    XChaCha20Poly1305 24 u64::MAX;
}
