//! Signatures of messages that come in pieces.
//!
//! ECDSA, RSA and SM2 sign a digest, so their messages may have any length. Ed25519 hashes its message twice, the second time behind what came of the first
//! (RFC 8032 §5.1.6). If a file changed between the two, the two signatures of one nonce would give the secret key away; so the message is kept in
//! memory, and is at most [`LONGEST_WHOLE`] bytes long.

use crate::Error;
use crate::hash::{HashAlgorithm, Hasher};
use crate::key::{KeyKind, PublicKey, SecretKey};
use crate::rsa;
pub use crate::rsa::Padding;
use candor_primitives::ec::{self, EcdsaCurve};
use candor_primitives::ed25519;
use candor_primitives::sm2;
use std::fmt;
use zeroize::Zeroizing;

/// The longest message that Ed25519 signs here, in bytes.
pub const LONGEST_WHOLE: usize = 1 << 30;

/// The identity that SM2's signatures name unless another is given (GM/T 0009 §10).
pub const DEFAULT_ID: &[u8] = sm2::DEFAULT_ID;

/// What is not said by the key alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices<'a> {
    /// ECDSA's or RSA's hash: SHA-256, or SHA-384 for P-384, unless another is given. RSA takes SHA-256, SHA-384 and SHA-512.
    pub hash: Option<HashAlgorithm>,
    /// The identity of SM2's signer: [`DEFAULT_ID`] unless another is given.
    pub id: Option<&'a [u8]>,
    /// RSA's padding: PSS unless another is given.
    pub padding: Option<Padding>,
}

/// The message so far.
enum Message {
    /// ECDSA and RSA: a digest of the message. SM2: of the identity, the key and the message.
    Digest(Box<Hasher>),
    /// Ed25519.
    Whole(Zeroizing<Vec<u8>>),
}

impl Message {
    fn new(
        kind: KeyKind,
        choices: Choices<'_>,
        identity: impl FnOnce(&[u8]) -> Result<[u8; 32], Error>,
    ) -> Result<Self, Error> {
        let digest = |algorithm| Ok(Self::Digest(Box::new(Hasher::new(algorithm))));
        let with_id = |id: &[u8]| {
            let mut hasher = Box::new(Hasher::new(HashAlgorithm::Sm3));
            hasher.update(&identity(id)?);
            Ok(Self::Digest(hasher))
        };
        if choices.padding.is_some() && kind.rsa_size().is_none() {
            return Err(kind.unsuitable("sign with a padding"));
        }
        match (kind, choices.hash, choices.id) {
            (KeyKind::Sm2, None | Some(HashAlgorithm::Sm3), id) => with_id(id.unwrap_or(DEFAULT_ID)),
            (KeyKind::Sm2, Some(_), _) => Err(kind.unsuitable("sign with another hash than SM3")),
            (_, _, Some(_)) => Err(kind.unsuitable("sign for an identity")),
            (KeyKind::P256 | KeyKind::Secp256k1, hash, None) => digest(hash.unwrap_or(HashAlgorithm::Sha256)),
            (KeyKind::P384, hash, None) => digest(hash.unwrap_or(HashAlgorithm::Sha384)),
            (KeyKind::Ed25519, None | Some(HashAlgorithm::Sha512), None) => Ok(Self::Whole(Zeroizing::default())),
            (KeyKind::Ed25519, Some(_), None) => Err(kind.unsuitable("sign with another hash than SHA-512")),
            (KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096, hash, None) => {
                let hash = hash.unwrap_or(HashAlgorithm::Sha256);
                let refused = || kind.unsuitable("sign with another hash than SHA-256, SHA-384 and SHA-512");
                if rsa::takes(hash) { digest(hash) } else { Err(refused()) }
            }
            _ => Err(kind.unsuitable("sign")),
        }
    }

    /// The hash whose digest [`Self::finish`] gives.
    fn hash(&self) -> HashAlgorithm {
        match self {
            Self::Digest(hasher) => hasher.algorithm(),
            Self::Whole(_) => HashAlgorithm::Sha512,
        }
    }

    fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        match self {
            Self::Digest(hasher) => hasher.update(piece),
            Self::Whole(message) if LONGEST_WHOLE - message.len() < piece.len() => {
                return Err(Error::MessageTooLong { kind: KeyKind::Ed25519.title(), most: LONGEST_WHOLE });
            }
            Self::Whole(message) => grow(message, piece)?,
        }
        Ok(())
    }

    /// The digest, or the whole message.
    fn finish(self) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Whole(message) => Ok(message),
            Self::Digest(hasher) => {
                let mut digest = Zeroizing::new(vec![0; hasher.algorithm().size()]);
                hasher.finish(&mut digest)?;
                Ok(digest)
            }
        }
    }
}

/// Appends without leaving a copy behind where the vector was.
fn grow(message: &mut Zeroizing<Vec<u8>>, piece: &[u8]) -> Result<(), Error> {
    let needed = message.len() + piece.len();
    if needed > message.capacity() {
        let mut larger = Zeroizing::new(Vec::new());
        larger.try_reserve_exact(needed.next_power_of_two()).map_err(|_| Error::Memory)?;
        larger.extend_from_slice(message);
        *message = larger;
    }
    message.extend_from_slice(piece);
    Ok(())
}

/// A message that is being signed.
pub struct Signing<'k> {
    key: &'k SecretKey,
    message: Message,
    padding: Padding,
}

impl<'k> Signing<'k> {
    /// Before the first byte.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if the key signs nothing, or not as `choices` say; [`Error::Sm2`] if the identity is too long.
    pub fn new(key: &'k SecretKey, choices: Choices<'_>) -> Result<Self, Error> {
        let identity = |id: &[u8]| match key {
            SecretKey::Sm2(key) => Ok(key.public_key().identity_digest(id)?),
            _ => Err(key.kind().unsuitable("sign for an identity")),
        };
        let padding = choices.padding.unwrap_or_default();
        Ok(Self { key, message: Message::new(key.kind(), choices, identity)?, padding })
    }

    /// The next piece of the message.
    ///
    /// # Errors
    /// [`Error::MessageTooLong`], [`Error::Memory`]; only for Ed25519, which needs the message whole.
    pub fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.message.update(piece)
    }

    /// The signature: in DER for ECDSA and SM2, 64 bytes for Ed25519, as long as the modulus for RSA.
    ///
    /// # Errors
    /// The algorithm's, without randomness.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        let hash = self.message.hash();
        let message = self.message.finish()?;
        Ok(match self.key {
            SecretKey::P256(key) => key.sign_digest(&message)?.to_der(),
            SecretKey::P384(key) => key.sign_digest(&message)?.to_der(),
            SecretKey::Secp256k1(key) => key.sign_digest(&message)?.to_der(),
            SecretKey::Sm2(key) => {
                // The identity is in the digest; here it only makes the key.
                let digest = crate::error::exactly("digest", &message)?;
                key.signing_key(DEFAULT_ID)?.sign_digest(digest)?.to_der()
            }
            SecretKey::Ed25519(key) => key.sign(&message).to_bytes().to_vec(),
            SecretKey::Rsa(key) => rsa::sign(key, self.padding, hash, &message)?,
            other => return Err(other.kind().unsuitable("sign")),
        })
    }
}

/// A message whose signature is being verified.
pub struct Verifying<'k> {
    key: &'k PublicKey,
    message: Message,
    padding: Padding,
}

impl<'k> Verifying<'k> {
    /// Before the first byte.
    ///
    /// # Errors
    /// As [`Signing::new`].
    pub fn new(key: &'k PublicKey, choices: Choices<'_>) -> Result<Self, Error> {
        let identity = |id: &[u8]| match key {
            PublicKey::Sm2(key) => Ok(key.identity_digest(id)?),
            _ => Err(key.kind().unsuitable("sign for an identity")),
        };
        let padding = choices.padding.unwrap_or_default();
        Ok(Self { key, message: Message::new(key.kind(), choices, identity)?, padding })
    }

    /// The next piece of the message.
    ///
    /// # Errors
    /// [`Error::MessageTooLong`], [`Error::Memory`]; only for Ed25519, which needs the message whole.
    pub fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.message.update(piece)
    }

    /// Whether the signature belongs to the message and the key.
    ///
    /// # Errors
    /// [`Error::Signature`] if not, also if it is malformed.
    pub fn finish(self, signature: &[u8]) -> Result<(), Error> {
        let hash = self.message.hash();
        let message = self.message.finish()?;
        match self.key {
            PublicKey::P256(key) => ecdsa(key, &message, signature),
            PublicKey::P384(key) => ecdsa(key, &message, signature),
            PublicKey::Secp256k1(key) => ecdsa(key, &message, signature),
            PublicKey::Sm2(key) => {
                let digest = crate::error::exactly("digest", &message)?;
                let signature = sm2::Signature::from_der(signature)?;
                Ok(key.verifying_key(DEFAULT_ID)?.verify_digest(digest, &signature)?)
            }
            PublicKey::Ed25519(key) => Ok(key.verify(&message, &ed25519::Signature::from_bytes(signature)?)?),
            PublicKey::Rsa(key) => rsa::verify(key, self.padding, hash, &message, signature),
            other => Err(other.kind().unsuitable("verify")),
        }
    }
}

fn ecdsa<C: EcdsaCurve>(key: &ec::PublicKey<C>, digest: &[u8], signature: &[u8]) -> Result<(), Error> {
    Ok(key.verify_digest(digest, &ec::Signature::from_der(signature)?)?)
}

impl fmt::Debug for Signing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signing({})", self.key.kind().title())
    }
}

impl fmt::Debug for Verifying<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifying({})", self.key.kind().title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(key: &SecretKey, choices: Choices<'_>, pieces: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let mut signing = Signing::new(key, choices)?;
        pieces.iter().try_for_each(|piece| signing.update(piece))?;
        signing.finish()
    }

    fn verify(key: &SecretKey, choices: Choices<'_>, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let public = key.public_key()?;
        let mut verifying = Verifying::new(&public, choices)?;
        verifying.update(message)?;
        verifying.finish(signature)
    }

    #[test]
    fn a_signature_is_of_its_message_and_of_no_other() {
        let large = [KeyKind::Rsa3072, KeyKind::Rsa4096];
        for kind in KeyKind::ALL.iter().copied().filter(|kind| kind.signs() && !large.contains(kind)) {
            let (key, other) = (SecretKey::generate(kind).unwrap(), SecretKey::generate(kind).unwrap());
            let plain = Choices::default();
            let signature = sign(&key, plain, &[b"a mes", b"", b"sage"]).unwrap();
            assert!(Some(signature.len()) <= kind.longest_signature(), "{}", kind.name());
            assert_eq!(verify(&key, plain, b"a message", &signature), Ok(()), "{}", kind.name());
            assert_eq!(verify(&key, plain, b"a massage", &signature), Err(Error::Signature));
            assert_eq!(verify(&other, plain, b"a message", &signature), Err(Error::Signature));
            assert_eq!(verify(&key, plain, b"a message", &signature[1..]), Err(Error::Signature));
            assert_eq!(verify(&key, plain, b"a message", b""), Err(Error::Signature));
        }
        let key = SecretKey::generate(KeyKind::X25519).unwrap();
        assert!(matches!(sign(&key, Choices::default(), &[]), Err(Error::Unsuitable { .. })));
    }

    #[test]
    fn identities_and_hashes_are_part_of_what_is_signed() {
        let sm2 = SecretKey::generate(KeyKind::Sm2).unwrap();
        let alice = Choices { id: Some(b"alice"), ..Choices::default() };
        let signature = sign(&sm2, alice, &[b"m"]).unwrap();
        assert_eq!(verify(&sm2, alice, b"m", &signature), Ok(()));
        assert_eq!(verify(&sm2, Choices::default(), b"m", &signature), Err(Error::Signature));
        let named = Choices { id: Some(DEFAULT_ID), hash: Some(HashAlgorithm::Sm3), padding: None };
        let signature = sign(&sm2, named, &[b"m"]).unwrap();
        assert_eq!(verify(&sm2, Choices::default(), b"m", &signature), Ok(()));

        let p256 = SecretKey::generate(KeyKind::P256).unwrap();
        let sha512 = Choices { hash: Some(HashAlgorithm::Sha512), ..Choices::default() };
        let signature = sign(&p256, sha512, &[b"m"]).unwrap();
        assert_eq!(verify(&p256, sha512, b"m", &signature), Ok(()));
        assert_eq!(verify(&p256, Choices::default(), b"m", &signature), Err(Error::Signature));
        assert!(matches!(sign(&p256, alice, &[]), Err(Error::Unsuitable { .. })));
        assert!(matches!(sign(&sm2, sha512, &[]), Err(Error::Unsuitable { .. })));
    }

    #[test]
    fn paddings_are_part_of_what_rsa_signs_and_nothing_for_others() {
        let key = SecretKey::generate(KeyKind::Rsa2048).unwrap();
        let by = |padding, hash| Choices { hash: Some(hash), padding: Some(padding), id: None };
        let all = Padding::ALL.iter().flat_map(|padding| {
            [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512].map(|hash| by(*padding, hash))
        });
        let all: Vec<_> = all.collect();
        for (at, choices) in all.iter().enumerate() {
            let signature = sign(&key, *choices, &[b"m"]).unwrap();
            for (other, choices) in all.iter().enumerate() {
                let expected = if other == at { Ok(()) } else { Err(Error::Signature) };
                assert_eq!(verify(&key, *choices, b"m", &signature), expected, "{at} {other}");
            }
        }
        let signature = sign(&key, Choices::default(), &[b"m"]).unwrap();
        assert_eq!(verify(&key, by(Padding::Pss, HashAlgorithm::Sha256), b"m", &signature), Ok(()));
        assert!(matches!(sign(&key, by(Padding::Pss, HashAlgorithm::Sm3), &[]), Err(Error::Unsuitable { .. })));
        let p256 = SecretKey::generate(KeyKind::P256).unwrap();
        let padded = by(Padding::Pss, HashAlgorithm::Sha256);
        assert!(matches!(sign(&p256, padded, &[]), Err(Error::Unsuitable { what: "sign with a padding", .. })));
    }
}
