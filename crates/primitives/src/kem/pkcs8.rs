//! ML-KEM keys in the forms of X.509: PKCS#8 for private keys, SubjectPublicKeyInfo for public ones (RFC 9935).
//!
//! A private key is stored as its seed of 64 bytes, in the expanded form of FIPS 203, or as both ([`Form`]). RFC 9935 recommends the seed.
//! The documents are DER; [`SecretDocument::from_pem`] and [`SecretDocument::to_pem`] are the way from and to PEM.
//!
//! Reading refuses whatever contradicts itself: a seed and an expanded key that differ, an expanded key whose public part does not belong to its
//! secret part, a public key beside a private one that is not its own. AWS-LC has no keys from seeds, so its back end reads and writes the
//! expanded form only.
//!
//! ```
//! # #[cfg(feature = "libcrux")] {
//! use candor_primitives::kem::pkcs8::{Form, SecretDocument, secret_from_pkcs8, secret_to_pkcs8};
//! use candor_primitives::kem::{DerandomizedKem, libcrux::MlKem768};
//!
//! let (secret, _) = MlKem768.generate_from(&[7; 64])?;
//! let pem = secret_to_pkcs8(&MlKem768, &secret, Form::Seed)?.to_pem("PRIVATE KEY", Default::default())?;
//! let (_, document) = SecretDocument::from_pem(&pem)?;
//! let again = secret_from_pkcs8(&MlKem768, document.as_bytes())?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Kem, KemError};
use alloc::vec;
use candor_cpu::secret;
use core::fmt;
use core::ops::Range;
use pkcs8::der::asn1::{BitStringRef, ContextSpecific, OctetStringRef};
use pkcs8::der::{self, AnyRef, Encode, Reader, SliceReader, Tag, TagMode, TagNumber};
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A DER document, and one that is wiped when dropped; the trait that gives a KEM its object identifier.
pub use pkcs8::{AssociatedOid, Document, SecretDocument};

/// What a PKCS#8 document holds (RFC 9935 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The seed, from which everything else follows.
    Seed,
    /// The decapsulation key of FIPS 203.
    Expanded,
    /// Both, for readers that know only one.
    Both,
}

/// Why a key can't be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The document is not DER, or has another structure.
    Der(der::Error),
    /// The document is for another algorithm.
    Algorithm {
        /// The KEM's object identifier.
        expected: ObjectIdentifier,
        /// The one in the document.
        found: ObjectIdentifier,
    },
    /// The algorithm has parameters, which ML-KEM must not have.
    Parameters,
    /// Two parts of the document are of different keys.
    Contradiction(&'static str),
    /// The key itself is wrong, or this back end can't handle this form.
    Kem(KemError),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Der(error) => write!(f, "document is not a key in DER: {error}"),
            Self::Algorithm { expected, found } => write!(f, "key is for the algorithm {found}; expected {expected}"),
            Self::Parameters => f.write_str("algorithm has parameters; ML-KEM has none"),
            Self::Contradiction(what) => write!(f, "{what}; restore the key from a backup"),
            Self::Kem(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for KeyError {}

impl From<der::Error> for KeyError {
    fn from(error: der::Error) -> Self {
        Self::Der(error)
    }
}

impl From<KemError> for KeyError {
    fn from(error: KemError) -> Self {
        Self::Kem(error)
    }
}

/// Bytes of a seed.
const SEED: usize = 64;
/// The tag of a seed that stands alone.
const SEED_TAG: TagNumber = TagNumber(0);

macro_rules! identifiers {
    ($back_end:ident) => {
        impl AssociatedOid for super::$back_end::MlKem512 {
            const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.1");
        }
        impl AssociatedOid for super::$back_end::MlKem768 {
            const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.2");
        }
        impl AssociatedOid for super::$back_end::MlKem1024 {
            const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.3");
        }
    };
}

#[cfg(feature = "aws-lc")]
identifiers!(aws_lc);
#[cfg(feature = "libcrux")]
identifiers!(libcrux);
#[cfg(feature = "ml-kem")]
identifiers!(ml_kem);
#[cfg(feature = "rustcrypto")]
identifiers!(rustcrypto);

/// Writes a public key as SubjectPublicKeyInfo (RFC 9935 §4).
///
/// # Errors
/// [`KeyError::Kem`] if the back end fails.
// ct: public, because the key is
pub fn public_to_spki<K: Kem + AssociatedOid>(kem: &K, public: &K::Public) -> Result<Document, KeyError> {
    let mut key = vec![0; K::PUBLIC];
    kem.public_to_bytes(public, &mut key)?;
    let info =
        SubjectPublicKeyInfoRef { algorithm: algorithm::<K>(), subject_public_key: BitStringRef::from_bytes(&key)? };
    Ok(Document::encode_msg(&info)?)
}

/// Reads a public key from SubjectPublicKeyInfo, and checks it as [`Kem::public_from_bytes`] does.
///
/// # Errors
/// Every [`KeyError`] but [`KeyError::Contradiction`].
// ct: public, because the key is
pub fn public_from_spki<K: Kem + AssociatedOid>(kem: &K, der: &[u8]) -> Result<K::Public, KeyError> {
    let info = SubjectPublicKeyInfoRef::try_from(der).map_err(|error| match error {
        pkcs8::spki::Error::Asn1(error) => KeyError::Der(error),
        _ => KeyError::Der(Tag::Sequence.value_error().into()),
    })?;
    check_algorithm::<K>(&info.algorithm)?;
    let key = info.subject_public_key.as_bytes().ok_or_else(|| KeyError::Der(Tag::BitString.value_error().into()))?;
    Ok(kem.public_from_bytes(key)?)
}

/// Writes a secret key as PKCS#8 (RFC 9935 §6), in this form.
///
/// # Errors
/// [`KeyError::Kem`] with [`KemError::NoSeed`] or [`KemError::SeedUnsupported`] if the form needs a seed that isn't there.
// ct: ml-kem/pkcs8
pub fn secret_to_pkcs8<K: Kem + AssociatedOid>(
    kem: &K,
    secret: &K::Secret,
    form: Form,
) -> Result<SecretDocument, KeyError> {
    let seed = if form == Form::Expanded { Zeroizing::default() } else { kem.secret_to_seed(secret)? };
    let expanded = if form == Form::Seed { Zeroizing::default() } else { kem.secret_to_bytes(secret)? };
    let key = match form {
        Form::Seed => {
            let value = OctetStringRef::new(&seed)?;
            ContextSpecific { tag_number: SEED_TAG, tag_mode: TagMode::Implicit, value }.to_der()
        }
        Form::Expanded => OctetStringRef::new(&expanded)?.to_der(),
        Form::Both => [OctetStringRef::new(&seed)?, OctetStringRef::new(&expanded)?].to_der(),
    };
    let key = Zeroizing::new(key?);
    Ok(SecretDocument::encode_msg(&PrivateKeyInfoRef::new(algorithm::<K>(), OctetStringRef::new(&key)?))?)
}

/// Reads a secret key from PKCS#8, in whatever form it is, and checks that all its parts belong together. For an expanded key that includes
/// an encapsulation, with randomness as for [`Kem::encapsulate`].
///
/// # Errors
/// [`KeyError`]; [`KemError::SeedUnsupported`] if there is a seed and the back end takes none.
pub fn secret_from_pkcs8<K: Kem + AssociatedOid>(kem: &K, der: &[u8]) -> Result<K::Secret, KeyError> {
    secret::takes("ml-kem/pkcs8", der);
    let info = PrivateKeyInfoRef::try_from(der).map_err(|error| match error {
        pkcs8::Error::Asn1(error) => KeyError::Der(error),
        _ => KeyError::Der(Tag::Sequence.value_error().into()),
    })?;
    check_algorithm::<K>(&info.algorithm)?;
    let (seed, expanded) = parts(info.private_key.as_bytes())?;
    let secret = match (seed, expanded) {
        (Some(seed), expanded) => {
            let secret = kem.secret_from_seed(seed)?;
            if let Some(expanded) = expanded
                && secret::declassified(
                    kem.secret_to_bytes(&secret)?.as_slice().ct_eq(expanded).unwrap_u8(),
                    "key-pair",
                ) == 0
            {
                return Err(KeyError::Contradiction("seed and expanded key are of different keys"));
            }
            secret
        }
        (None, expanded) => {
            let secret = kem.secret_from_bytes(expanded.unwrap_or_default())?;
            check_pair(kem, &secret)?;
            secret
        }
    };
    if let Some(public) = info.public_key
        && public.as_bytes() != Some(&kem.secret_to_bytes(&secret)?[public_part::<K>()])
    {
        return Err(KeyError::Contradiction("public key beside the private key is another's"));
    }
    Ok(secret)
}

/// The seed and the expanded key, of which one may be missing.
type Parts<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// What stands in ML-KEM-PrivateKey. The tag alone tells the form (RFC 9935 §6).
fn parts(der: &[u8]) -> Result<Parts<'_>, KeyError> {
    let mut reader = SliceReader::new(der)?;
    let parts = match Tag::peek(&reader)? {
        Tag::OctetString => (None, Some(reader.decode::<&OctetStringRef>()?.as_bytes())),
        Tag::Sequence => reader.sequence(|both| -> der::Result<_> {
            let (seed, expanded) = (both.decode::<&OctetStringRef>()?, both.decode::<&OctetStringRef>()?);
            Ok((Some(seed.as_bytes()), Some(expanded.as_bytes())))
        })?,
        _ => {
            let seed = ContextSpecific::<&OctetStringRef>::decode_implicit(&mut reader, SEED_TAG)?;
            (Some(seed.ok_or_else(|| der::Error::from(Tag::OctetString.value_error()))?.value.as_bytes()), None)
        }
    };
    reader.finish()?;
    if let Some(seed) = parts.0 {
        super::expect_length("seed of the key pair", SEED, seed.len())?;
    }
    Ok(parts)
}

/// What is encapsulated to the public part of an expanded key must come out of its secret part. The standard's check, a hash, sees only that
/// the public part is whole.
fn check_pair<K: Kem>(kem: &K, key: &K::Secret) -> Result<(), KeyError> {
    let public = kem.public_from_bytes(&kem.secret_to_bytes(key)?[public_part::<K>()])?;
    let mut ciphertext = vec![0; K::CIPHERTEXT];
    let sent = kem.encapsulate(&public, &mut ciphertext)?;
    let same = kem.decapsulate(key, &ciphertext)?.ct_eq(&sent);
    if secret::declassified(same.unwrap_u8(), "key-pair") == 1 {
        Ok(())
    } else {
        Err(KeyError::Contradiction("secret and public part of the expanded key are of different keys"))
    }
}

/// Where the encapsulation key stands in an expanded key: before its hash and z.
const fn public_part<K: Kem>() -> Range<usize> {
    K::SECRET - 64 - K::PUBLIC..K::SECRET - 64
}

fn algorithm<K: AssociatedOid>() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid: K::OID, parameters: None::<AnyRef<'static>> }
}

fn check_algorithm<K: AssociatedOid>(found: &AlgorithmIdentifierRef<'_>) -> Result<(), KeyError> {
    if found.oid != K::OID {
        return Err(KeyError::Algorithm { expected: K::OID, found: found.oid });
    }
    if found.parameters.is_some() { Err(KeyError::Parameters) } else { Ok(()) }
}
