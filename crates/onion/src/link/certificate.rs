//! Tor's Ed25519 certificates (cert-spec), as CERTS carries them.
//!
//! ```text
//! VERSION 1 | CERT_TYPE 1 | EXPIRATION_DATE 4 | CERT_KEY_TYPE 1 | CERTIFIED_KEY 32 | N_EXTENSIONS 1 | extensions | SIGNATURE 64
//! ```

use crate::parts::Parts;
use crate::{Error, InvalidCertificate as Flaw};
use alloc::vec;
use alloc::vec::Vec;
use candor_primitives::ed25519::{PublicKey, Signature};
use ed25519_dalek::{Signer, SigningKey};

/// CERT_TYPE 4: the identity key certifies a signing key.
pub const IDENTITY_SIGNING: u8 = 4;
/// CERT_TYPE 5: the signing key certifies the digest of a TLS certificate.
pub const SIGNING_LINK: u8 = 5;
/// CERT_TYPE 6: the signing key certifies a key for AUTHENTICATE.
pub const SIGNING_AUTH: u8 = 6;
/// CERT_TYPE 10: an onion key, as an Ed25519 key, certifies the identity. It stands in descriptors of Tor's.
pub const ONION_KEY_IDENTITY: u8 = 10;
/// CERTS type 7: an RSA identity certifies the Ed25519 identity; see [`RsaCross`].
pub const RSA_CROSS: u8 = 7;

/// The version of the format.
const VERSION: u8 = 1;
/// CERT_KEY_TYPE 1: an Ed25519 key.
const ED25519: u8 = 1;
/// CERT_KEY_TYPE 3: SHA-256 of an X.509 certificate.
const X509_DIGEST: u8 = 3;
/// ExtType 4: the key that signed.
const SIGNED_WITH: u8 = 4;
/// ExtFlags bit 0: the certificate must be refused by anyone who does not know the extension.
const AFFECTS_VALIDATION: u8 = 1;

/// A certificate whose signature, date and type have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// CERTIFIED_KEY: a key, or a digest for [`SIGNING_LINK`].
    pub key: [u8; 32],
    /// The key that signed.
    pub signer: [u8; 32],
    /// EXPIRATION_DATE in seconds since 1970.
    pub expires: u64,
}

impl Certificate {
    /// Decodes a certificate and checks everything: it has type `kind`, is not expired at `now` (seconds since 1970),
    /// and is signed by `signer` or, without one, by the key that it names itself.
    ///
    /// # Errors
    /// [`Error::Certificate`], [`Error::Length`].
    pub fn check(bytes: &[u8], kind: u8, signer: Option<&[u8; 32]>, now: u64) -> Result<Self, Error> {
        let refused = |why| Error::Certificate { kind, why };
        let (body, signature) = bytes.split_last_chunk::<64>().ok_or(refused(Flaw::Length { got: bytes.len() }))?;
        let mut parts = Parts::of("certificate", body, 40, true)?;
        let [version, kind_found] = *parts.array()?;
        if version != VERSION {
            return Err(refused(Flaw::Version { got: version }));
        }
        if kind_found != kind {
            return Err(refused(Flaw::Type { got: kind_found }));
        }
        let expires = u64::from(u32::from_be_bytes(*parts.array()?)) * 3600;
        let [key_type] = *parts.array()?;
        let expected = if kind == SIGNING_LINK { X509_DIGEST } else { ED25519 };
        if key_type != expected {
            return Err(refused(Flaw::KeyType { expected, got: key_type }));
        }
        let key = *parts.array::<32>()?;
        let named = Self::signer_named(&mut parts, refused)?;
        let trailing = parts.rest().len();
        if trailing > 0 {
            return Err(refused(Flaw::Trailing { got: trailing }));
        }
        let signer = match (signer, named) {
            (Some(signer), Some(named)) if *signer != named => return Err(refused(Flaw::Signer)),
            (Some(signer), _) => *signer,
            (None, Some(named)) => named,
            (None, None) => return Err(refused(Flaw::SignerMissing)),
        };
        if expires <= now {
            return Err(refused(Flaw::Expired { expires }));
        }
        let verifying = PublicKey::from_bytes(&signer).map_err(|_| refused(Flaw::SignerKey))?;
        let verified = Signature::from_bytes(signature).and_then(|signature| verifying.verify(body, &signature));
        verified.map_err(|_| refused(Flaw::Signature))?;
        Ok(Self { key, signer, expires })
    }

    fn signer_named(parts: &mut Parts<'_>, refused: impl Fn(Flaw) -> Error) -> Result<Option<[u8; 32]>, Error> {
        let [count] = *parts.array()?;
        let mut signer = None;
        for _ in 0..count {
            let length = parts.u16()?;
            let [kind, flags] = *parts.array()?;
            let data = parts.slice(length.into())?;
            match (kind, signer) {
                (SIGNED_WITH, None) => {
                    signer = Some(data.try_into().map_err(|_| refused(Flaw::SignerKey))?);
                }
                (SIGNED_WITH, Some(_)) => return Err(refused(Flaw::SignerRepeated)),
                _ if flags & AFFECTS_VALIDATION != 0 => {
                    return Err(refused(Flaw::Extension { kind }));
                }
                _ => {}
            }
        }
        Ok(signer)
    }

    /// Issues a certificate. `expires` is rounded down to whole hours, the unit of the format.
    pub(super) fn issue(kind: u8, key: &[u8; 32], expires: u64, signer: &SigningKey, name_signer: bool) -> Vec<u8> {
        let signer_named = name_signer.then(|| signer.verifying_key().to_bytes());
        let mut bytes = Self::unsigned(kind, key, expires, signer_named.as_ref());
        let signature = signer.sign(&bytes);
        bytes.extend_from_slice(&signature.to_bytes());
        bytes
    }

    /// A certificate up to its signature.
    pub(crate) fn unsigned(kind: u8, key: &[u8; 32], expires: u64, signer_named: Option<&[u8; 32]>) -> Vec<u8> {
        let hours = u32::try_from(expires / 3600).unwrap_or(u32::MAX);
        let mut bytes = vec![VERSION, kind];
        bytes.extend_from_slice(&hours.to_be_bytes());
        bytes.push(if kind == SIGNING_LINK { X509_DIGEST } else { ED25519 });
        bytes.extend_from_slice(key);
        match signer_named {
            Some(signer) => {
                bytes.extend_from_slice(&[1, 0, 32, SIGNED_WITH, 0]);
                bytes.extend_from_slice(signer);
            }
            None => bytes.push(0),
        }
        bytes
    }
}

/// CERTS type 7: ED25519_KEY 32 | EXPIRATION_DATE 4 | SIGLEN 1 | SIGNATURE (tor-spec, "RSA→Ed25519 cross-certificate").
///
/// Decoded but not verified: the signature is by an RSA-1024 key, and we trust no relay for having one. To verify it,
/// check `signature` (PKCS #1 v1.5 padding without an algorithm's name) over SHA-256 of [`Self::PREFIX`] and `signed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RsaCross {
    /// The certified Ed25519 identity.
    pub key: [u8; 32],
    /// EXPIRATION_DATE in seconds since 1970.
    pub expires: u64,
    /// The signed bytes after the prefix.
    pub signed: [u8; 36],
    /// The signature, 128 bytes for RSA-1024.
    pub signature: Vec<u8>,
}

impl RsaCross {
    /// The prefix of the signed bytes.
    pub const PREFIX: &[u8] = b"Tor TLS RSA/Ed25519 cross-certificate";

    /// Decodes the certificate.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("RSA cross-certificate", bytes, 37, true)?;
        let signed = *parts.array::<36>()?;
        let (key, date) = signed.split_first_chunk().expect("36 bytes hold 32");
        let expires = date.iter().fold(0, |hours, byte| hours << 8 | u64::from(*byte)) * 3600;
        let [length] = *parts.array()?;
        let signature = parts.slice(length.into())?.to_vec();
        Ok(Self { key: *key, expires, signed, signature })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encodings of p + y for y from 2 to 18 that dalek takes for points. None of them is of small order, and nobody knows a secret key to one, so no
    /// signature tells one reader from another: only the reason of the refusal does.
    fn other_encodings() -> Vec<[u8; 32]> {
        let encoding = |y: u8| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (0xed + y, 0x7f);
            bytes
        };
        (2..=18).map(encoding).filter(|bytes| ed25519_dalek::VerifyingKey::from_bytes(bytes).is_ok()).collect()
    }

    #[test]
    fn a_signer_is_named_by_the_one_encoding_of_its_key() {
        let signer = SigningKey::from_bytes(&[7; 32]);
        let bytes = Certificate::issue(IDENTITY_SIGNING, &[9; 32], 7200, &signer, false);
        let check = |signer: &[u8; 32]| Certificate::check(&bytes, IDENTITY_SIGNING, Some(signer), 3600);
        assert!(check(signer.verifying_key().as_bytes()).is_ok());
        let refused = |why| Err(Error::Certificate { kind: IDENTITY_SIGNING, why });
        assert_eq!(check(SigningKey::from_bytes(&[8; 32]).verifying_key().as_bytes()), refused(Flaw::Signature));
        assert!(!other_encodings().is_empty());
        for key in other_encodings() {
            assert_eq!(check(&key), refused(Flaw::SignerKey));
        }
    }
}
