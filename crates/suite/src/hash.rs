//! Hashes by name.

use crate::Error;
use crate::error::expect_length;
use candor_primitives::hash::digest::Output;
use candor_primitives::hash::{
    Blake2b256, Blake2b512, Digest, ExtendableOutput, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Shake128, Shake256,
    Sm3, Update, XofReader,
};
use std::fmt;

macro_rules! hashes {
    (
        fixed { $($fixed:ident = $number:literal, $name:literal, tag $tag:literal, $size:literal;)* }
        extendable { $($open:ident = $open_number:literal, $open_name:literal, tag $open_tag:literal, $open_size:literal;)* }
    ) => {
        /// A hash function of the suite.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum HashAlgorithm {
            $(#[doc = $tag] $fixed = $number,)*
            $(#[doc = $open_tag] $open = $open_number,)*
        }

        impl HashAlgorithm {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$fixed,)* $(Self::$open,)*];

            /// The name on the command line, as in `sha256`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$fixed => $name,)* $(Self::$open => $open_name,)* }
            }

            /// The name in a tagged line of checksums, as in `SHA256 (file) = …`.
            #[must_use]
            pub const fn tag(self) -> &'static str {
                match self { $(Self::$fixed => $tag,)* $(Self::$open => $open_tag,)* }
            }

            /// Bytes of a digest; for SHAKE the length that is taken unless another is asked for, twice its security level.
            #[must_use]
            pub const fn size(self) -> usize {
                match self { $(Self::$fixed => $size,)* $(Self::$open => $open_size,)* }
            }

            /// Whether a digest may have any length: SHAKE.
            #[must_use]
            pub const fn is_extendable(self) -> bool {
                match self { $(Self::$fixed => false,)* $(Self::$open => true,)* }
            }

            /// The digest of a message in one piece.
            ///
            /// # Errors
            /// [`Error::Length`] if `digest` is not [`Self::size`] long; SHAKE fills any length.
            pub fn digest(self, message: &[u8], digest: &mut [u8]) -> Result<(), Error> {
                match self {
                    $(Self::$fixed => digest_of::<$fixed>(message, digest),)*
                    $(Self::$open => output_of::<$open>(message, digest),)*
                }
            }
        }

        #[derive(Clone)]
        enum State {
            $($fixed($fixed),)*
            $($open($open),)*
        }

        /// A message that is being hashed. A clone goes on by itself.
        #[derive(Clone)]
        pub struct Hasher(State);

        impl Hasher {
            /// Before the first byte.
            #[must_use]
            pub fn new(algorithm: HashAlgorithm) -> Self {
                Self(match algorithm {
                    $(HashAlgorithm::$fixed => State::$fixed(Default::default()),)*
                    $(HashAlgorithm::$open => State::$open(Default::default()),)*
                })
            }

            /// The algorithm.
            #[must_use]
            pub fn algorithm(&self) -> HashAlgorithm {
                match &self.0 {
                    $(State::$fixed(_) => HashAlgorithm::$fixed,)*
                    $(State::$open(_) => HashAlgorithm::$open,)*
                }
            }

            /// The next piece of the message.
            pub fn update(&mut self, piece: &[u8]) {
                match &mut self.0 {
                    $(State::$fixed(state) => Update::update(state, piece),)*
                    $(State::$open(state) => Update::update(state, piece),)*
                }
            }

            /// The digest of all pieces.
            ///
            /// # Errors
            /// As [`HashAlgorithm::digest`].
            pub fn finish(self, digest: &mut [u8]) -> Result<(), Error> {
                self.algorithm().check_size(digest.len())?;
                match self.0 {
                    $(State::$fixed(state) => digest.copy_from_slice(&state.finalize()),)*
                    $(State::$open(state) => state.finalize_xof().read(digest),)*
                }
                Ok(())
            }
        }
    };
}

hashes! {
    fixed {
    Sha256 = 1, "sha256", tag "SHA256", 32;
    Sha384 = 2, "sha384", tag "SHA384", 48;
    Sha512 = 3, "sha512", tag "SHA512", 64;
    Sha3_256 = 4, "sha3-256", tag "SHA3-256", 32;
    Sha3_512 = 5, "sha3-512", tag "SHA3-512", 64;
    Blake2b256 = 6, "blake2b-256", tag "BLAKE2b-256", 32;
    Blake2b512 = 7, "blake2b-512", tag "BLAKE2b", 64;
    Sm3 = 8, "sm3", tag "SM3", 32;
    }
    extendable {
    Shake128 = 9, "shake128", tag "SHAKE128", 32;
    Shake256 = 10, "shake256", tag "SHAKE256", 64;
    }
}

/// The digest of a message. A function of its own for each hash, since the compiler inlines less in one for all of them; and written in its place, since
/// what was just written in words is slow to copy in vectors.
#[inline(never)]
fn digest_of<D: Digest>(message: &[u8], digest: &mut [u8]) -> Result<(), Error> {
    let size = digest.len();
    let digest = <&mut Output<D>>::try_from(digest).map_err(|_| Error::Length {
        what: "digest",
        expected: <D as Digest>::output_size(),
        got: size,
    })?;
    D::new_with_prefix(message).finalize_into(digest);
    Ok(())
}

/// The same of a hash that fills any length.
#[inline(never)]
fn output_of<X: Default + Update + ExtendableOutput>(message: &[u8], digest: &mut [u8]) -> Result<(), Error> {
    let mut hash = X::default();
    hash.update(message);
    hash.finalize_xof().read(digest);
    Ok(())
}

impl HashAlgorithm {
    /// The algorithm of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
    }

    /// The algorithm of this tag, also as OpenSSL writes it (`SHA2-256`, `BLAKE2b512`).
    #[must_use]
    pub fn tagged(tag: &str) -> Option<Self> {
        let also = [("SHA2-256", Self::Sha256), ("SHA2-384", Self::Sha384), ("SHA2-512", Self::Sha512)];
        let also = also.into_iter().chain([("BLAKE2b512", Self::Blake2b512), ("BLAKE2B-512", Self::Blake2b512)]);
        let ours = Self::ALL.iter().copied().find(|algorithm| algorithm.tag() == tag);
        ours.or_else(|| also.into_iter().find(|(name, _)| *name == tag).map(|(_, algorithm)| algorithm))
    }

    fn check_size(self, got: usize) -> Result<(), Error> {
        if self.is_extendable() { Ok(()) } else { expect_length("digest", self.size(), got) }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hasher({})", self.algorithm().name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_copies_give_the_digest_of_the_whole() {
        for algorithm in HashAlgorithm::ALL.iter().copied() {
            let (mut whole, mut pieces, mut copied) =
                (vec![0; algorithm.size()], vec![0; algorithm.size()], vec![0; algorithm.size()]);
            algorithm.digest(b"a message", &mut whole).unwrap();
            let mut hasher = Hasher::new(algorithm);
            hasher.update(b"a mes");
            let mut copy = hasher.clone();
            hasher.update(b"sage");
            copy.update(b"sage");
            hasher.finish(&mut pieces).unwrap();
            copy.finish(&mut copied).unwrap();
            assert!(whole == pieces && whole == copied, "{}", algorithm.name());
            assert_eq!(HashAlgorithm::named(algorithm.name()), Some(algorithm));
            assert_eq!(HashAlgorithm::tagged(algorithm.tag()), Some(algorithm));
        }
    }

    #[test]
    fn a_digest_has_its_length_and_shakes_any() {
        assert!(matches!(HashAlgorithm::Sha256.digest(b"", &mut [0; 31]), Err(Error::Length { expected: 32, .. })));
        assert!(HashAlgorithm::Sha256.digest(b"", &mut [0; 32]).is_ok());
        let (mut short, mut long) = ([0; 5], [0; 500]);
        HashAlgorithm::Shake128.digest(b"x", &mut short).unwrap();
        HashAlgorithm::Shake128.digest(b"x", &mut long).unwrap();
        assert_eq!(short, long[..5]);
    }
}
