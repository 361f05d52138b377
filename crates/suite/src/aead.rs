//! Authenticated encryption by name.

use crate::Error;
use crate::error::exactly;
use candor_primitives::aead::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, Sm4Ccm, Sm4Gcm, XChaCha20Poly1305};
use candor_primitives::stack;
use std::fmt;

/// Bytes of a tag, of every algorithm.
pub const TAG: usize = 16;

/// Stack below the making of a key that is cleared behind it, in bytes: more than two of the largest schedule, which moves to the heap.
const FRAMES: usize = 8192;

/// The same below a call, where a key may be put aside.
const CALL: usize = 1024;

macro_rules! aeads {
    ($($variant:ident = $number:literal, $name:literal, key $key:literal, nonce $nonce:literal;)*) => {
        /// An AEAD of the suite.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum AeadAlgorithm {
            $(#[doc = $name] $variant = $number,)*
        }

        impl AeadAlgorithm {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, as in `aes-256-gcm`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Bytes of a key.
            #[must_use]
            pub const fn key_size(self) -> usize {
                match self { $(Self::$variant => $key,)* }
            }

            /// Bytes of a nonce.
            #[must_use]
            pub const fn nonce_size(self) -> usize {
                match self { $(Self::$variant => $nonce,)* }
            }
        }

        // A schedule of keys is large; on the heap a cipher that moves leaves no copy behind.
        enum State {
            $($variant(Box<$variant>),)*
        }

        /// A key. Wiped on drop.
        pub struct Cipher(State);

        impl Cipher {
            /// The key.
            ///
            /// # Errors
            /// [`Error::Length`].
            pub fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, Error> {
                stack::clearing::<FRAMES, _>(|| Ok(Self(match algorithm {
                    $(AeadAlgorithm::$variant => State::$variant(Box::new($variant::new(exactly::<$key>("key", key)?))),)*
                })))
            }

            /// The algorithm.
            #[must_use]
            pub fn algorithm(&self) -> AeadAlgorithm {
                match &self.0 { $(State::$variant(_) => AeadAlgorithm::$variant,)* }
            }

            /// Encrypts `data` in place and returns its tag. **Never use a nonce twice under one key.**
            ///
            /// # Errors
            /// [`Error::Length`] of the nonce, [`Error::Aead`] if the message is too long.
            pub fn seal(&self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG], Error> {
                stack::clearing::<CALL, _>(|| match &self.0 {
                    $(State::$variant(cipher) => Ok(cipher.seal_in_place(exactly::<$nonce>("nonce", nonce)?, aad, data)?),)*
                })
            }

            /// Decrypts `data` in place, if `tag` belongs to it; otherwise it is all zeros.
            ///
            /// # Errors
            /// [`Error::Length`], [`Error::Aead`].
            pub fn open(&self, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> Result<(), Error> {
                stack::clearing::<CALL, _>(|| match &self.0 {
                    $(State::$variant(cipher) => Ok(cipher.open_in_place(exactly::<$nonce>("nonce", nonce)?, aad, data, tag)?),)*
                })
            }
        }
    };
}

aeads! {
    Aes128Gcm = 1, "aes-128-gcm", key 16, nonce 12;
    Aes256Gcm = 2, "aes-256-gcm", key 32, nonce 12;
    ChaCha20Poly1305 = 3, "chacha20-poly1305", key 32, nonce 12;
    XChaCha20Poly1305 = 4, "xchacha20-poly1305", key 32, nonce 24;
    Sm4Gcm = 5, "sm4-gcm", key 16, nonce 12;
    Sm4Ccm = 6, "sm4-ccm", key 16, nonce 12;
}

impl AeadAlgorithm {
    /// The algorithm of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher({})", self.algorithm().name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_primitives::aead::AeadError;

    #[test]
    fn what_is_sealed_opens_and_what_was_changed_does_not() {
        for algorithm in AeadAlgorithm::ALL.iter().copied() {
            let cipher = Cipher::new(algorithm, &vec![7; algorithm.key_size()]).unwrap();
            let nonce = vec![1; algorithm.nonce_size()];
            let mut data = *b"a message";
            let tag = cipher.seal(&nonce, b"aad", &mut data).unwrap();
            let mut opened = data;
            cipher.open(&nonce, b"aad", &mut opened, &tag).unwrap();
            assert_eq!(&opened, b"a message");
            let refused = cipher.open(&nonce, b"add", &mut data, &tag);
            assert_eq!((refused, data), (Err(Error::Aead(AeadError::Tag)), [0; 9]), "{}", algorithm.name());
            assert!(matches!(cipher.seal(&nonce[1..], b"", &mut data), Err(Error::Length { what: "nonce", .. })));
            assert!(matches!(Cipher::new(algorithm, &[0; 15]), Err(Error::Length { what: "key", .. })));
            assert_eq!(AeadAlgorithm::named(algorithm.name()), Some(algorithm));
        }
    }
}
