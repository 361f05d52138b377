//! Message authentication codes by name.

use crate::Error;
use candor_primitives::hash::digest::consts::U64;
use candor_primitives::mac::{
    Blake2bMac, CmacAes128, CmacAes256, CmacSm4, HmacBlake2b512, HmacSha3_256, HmacSha3_512, HmacSha256, HmacSha384,
    HmacSha512, HmacSm3, KeyInit, Mac,
};
use candor_primitives::stack;
use std::fmt;
use zeroize::Zeroizing;

type Blake2bMac512 = Blake2bMac<U64>;

/// Stack below an operation that is cleared behind it, in bytes: crate `hmac` moves keys and states, and those of SHA-3 are the largest.
const FRAMES: usize = 8192;

macro_rules! macs {
    ($($variant:ident = $number:literal, $Type:ident, $new:ident, $name:literal, $size:literal, key $key:expr;)*) => {
        /// A message authentication code of the suite.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum MacAlgorithm {
            $(#[doc = $name] $variant = $number,)*
        }

        impl MacAlgorithm {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name on the command line, as in `hmac-sha256`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Bytes of a code.
            #[must_use]
            pub const fn size(self) -> usize {
                match self { $(Self::$variant => $size,)* }
            }

            /// Bytes of a key, if only one length is allowed.
            #[must_use]
            pub const fn key_size(self) -> Option<usize> {
                match self { $(Self::$variant => $key,)* }
            }
        }

        // On the heap, so that one that moves leaves no copy of its key behind.
        enum State {
            $($variant(Box<$Type>),)*
        }

        /// A message that is being authenticated. A clone goes on by itself.
        pub struct Authenticator(State);

        impl Clone for Authenticator {
            fn clone(&self) -> Self {
                stack::clearing::<FRAMES, _>(|| match &self.0 {
                    $(State::$variant(state) => Self(State::$variant(state.clone())),)*
                })
            }
        }

        impl Authenticator {
            /// Before the first byte.
            ///
            /// # Errors
            /// [`Error::Length`] or [`Error::KeyLength`] if the algorithm takes no key of this length. HMAC takes any.
            pub fn new(algorithm: MacAlgorithm, key: &[u8]) -> Result<Self, Error> {
                let got = key.len();
                let refused = |_| match algorithm.key_size() {
                    Some(expected) => Error::Length { what: "key", expected, got },
                    // Of those that take several lengths, BLAKE2b alone refuses any.
                    None => Error::KeyLength { algorithm: algorithm.name(), least: 1, most: 64, got },
                };
                stack::clearing::<FRAMES, _>(|| Ok(Self(match algorithm {
                    $(MacAlgorithm::$variant => State::$variant(Box::new($Type::$new(key).map_err(refused)?)),)*
                })))
            }

            /// The algorithm.
            #[must_use]
            pub fn algorithm(&self) -> MacAlgorithm {
                match &self.0 { $(State::$variant(_) => MacAlgorithm::$variant,)* }
            }

            /// The next piece of the message.
            pub fn update(&mut self, piece: &[u8]) {
                match &mut self.0 { $(State::$variant(state) => Mac::update(&mut **state, piece),)* }
            }

            /// The code of all pieces.
            #[must_use]
            pub fn finish(self) -> Zeroizing<Vec<u8>> {
                // Of a copy on the stack, which is cleared: moved out of its box, the state would stay there unwiped.
                stack::clearing::<FRAMES, _>(|| Zeroizing::new(match &self.0 {
                    $(State::$variant(state) => $Type::clone(state).finalize().into_bytes().to_vec(),)*
                }))
            }

            /// Compares the code of all pieces with `code`, in constant time.
            ///
            /// # Errors
            /// [`Error::Mac`] if it is another, or has another length.
            pub fn verify(self, code: &[u8]) -> Result<(), Error> {
                let same = stack::clearing::<FRAMES, _>(|| match &self.0 {
                    $(State::$variant(state) => $Type::clone(state).verify_slice(code).is_ok(),)*
                });
                if same { Ok(()) } else { Err(Error::Mac) }
            }
        }
    };
}

macs! {
    HmacSha256 = 1, HmacSha256, new_from_slice, "hmac-sha256", 32, key None;
    HmacSha384 = 2, HmacSha384, new_from_slice, "hmac-sha384", 48, key None;
    HmacSha512 = 3, HmacSha512, new_from_slice, "hmac-sha512", 64, key None;
    HmacSha3_256 = 4, HmacSha3_256, new_from_slice, "hmac-sha3-256", 32, key None;
    HmacSha3_512 = 5, HmacSha3_512, new_from_slice, "hmac-sha3-512", 64, key None;
    HmacBlake2b512 = 6, HmacBlake2b512, new_from_slice, "hmac-blake2b-512", 64, key None;
    HmacSm3 = 7, HmacSm3, new_from_slice, "hmac-sm3", 32, key None;
    Blake2b512 = 8, Blake2bMac512, new, "blake2b-512", 64, key None;
    CmacAes128 = 9, CmacAes128, new_from_slice, "cmac-aes-128", 16, key Some(16);
    CmacAes256 = 10, CmacAes256, new_from_slice, "cmac-aes-256", 16, key Some(32);
    CmacSm4 = 11, CmacSm4, new_from_slice, "cmac-sm4", 16, key Some(16);
}

impl MacAlgorithm {
    /// The algorithm of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authenticator({})", self.algorithm().name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_its_own_and_no_other_is() {
        for algorithm in MacAlgorithm::ALL.iter().copied() {
            let key = vec![7; algorithm.key_size().unwrap_or(20)];
            let of = |pieces: &[&[u8]]| {
                let mut state = Authenticator::new(algorithm, &key).unwrap();
                pieces.iter().for_each(|piece| state.update(piece));
                state
            };
            let mut code = of(&[b"a message"]).finish().to_vec();
            assert_eq!(code.len(), algorithm.size(), "{}", algorithm.name());
            assert_eq!(of(&[b"a mes", b"sage"]).verify(&code), Ok(()));
            assert_eq!(of(&[b"a message"]).verify(&code[1..]), Err(Error::Mac));
            code[0] ^= 1;
            assert_eq!(of(&[b"a message"]).verify(&code), Err(Error::Mac), "{}", algorithm.name());
            assert_eq!(MacAlgorithm::named(algorithm.name()), Some(algorithm));
        }
    }

    #[test]
    fn keys_of_other_lengths_are_refused_where_there_is_one_length() {
        assert!(Authenticator::new(MacAlgorithm::CmacAes128, &[0; 15]).is_err());
        assert!(Authenticator::new(MacAlgorithm::CmacAes128, &[0; 16]).is_ok());
        for got in [0, 65] {
            let refused = Authenticator::new(MacAlgorithm::Blake2b512, &vec![0; got]).map(drop);
            assert_eq!(refused, Err(Error::KeyLength { algorithm: "blake2b-512", least: 1, most: 64, got }));
        }
        assert!(Authenticator::new(MacAlgorithm::Blake2b512, &[0; 64]).is_ok());
        assert!(Authenticator::new(MacAlgorithm::HmacSha256, &[]).is_ok());
    }
}
