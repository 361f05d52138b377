//! Keys as files, in the forms that OpenSSL reads and writes: PKCS#8 and SubjectPublicKeyInfo, as PEM or DER, SEC1's form of a curve's secret key and PKCS#1's
//! of RSA's.
//!
//! Curves follow RFC 5480 and RFC 5915, Ed25519 and X25519 RFC 8410, ML-KEM RFC 9935, RSA RFC 8017. Which kind of key a file holds, the file says.

use crate::Error;
use crate::key::{KeyKind, PublicKey, SecretKey};
use crate::rsa;
use candor_primitives::ec::{DecodeEcPrivateKey, EncodeEcPrivateKey, P256, P384, Secp256k1};
use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
use candor_primitives::kem::pkcs8::{Form, public_from_spki, public_to_spki, secret_from_pkcs8, secret_to_pkcs8};
use candor_primitives::rsa::{self as primitives_rsa, EncodeRsaPrivateKey};
use candor_primitives::{ec, ed25519, sm2, stack};
use pkcs1::{RsaPrivateKeyRef, RsaPublicKeyRef};
use pkcs8::der::asn1::{BitStringRef, OctetStringRef};
use pkcs8::der::{Decode, Encode};
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{
    DecodePrivateKey, DecodePublicKey, Document, EncodePrivateKey, EncodePublicKey, LineEnding, ObjectIdentifier,
    PrivateKeyInfoRef, SecretDocument,
};
use std::fmt::Display;
use zeroize::Zeroizing;

/// What a file of a secret key holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretForm {
    /// PKCS#8; for ML-KEM the seed if the key has one, and the expanded key if not.
    #[default]
    Pkcs8,
    /// PKCS#8 with ML-KEM's expanded key, for readers that take no seed.
    Expanded,
    /// PKCS#8 with both.
    Both,
    /// SEC1's own form, of keys on curves.
    Sec1,
    /// PKCS#1's own form, of RSA.
    Pkcs1,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Text.
    #[default]
    Pem,
    /// Bytes.
    Der,
}

/// A key that was read: of a file with a secret key, that.
#[derive(Debug)]
pub enum Key {
    /// A secret key.
    Secret(SecretKey),
    /// A public key.
    Public(PublicKey),
}

const PKCS8: &str = "PRIVATE KEY";
const SEC1: &str = "EC PRIVATE KEY";
const SPKI: &str = "PUBLIC KEY";
const PKCS1: &str = "RSA PRIVATE KEY";
const PKCS1_PUBLIC: &str = "RSA PUBLIC KEY";
const LABELS: [&str; 5] = [PKCS8, SEC1, SPKI, PKCS1, PKCS1_PUBLIC];

/// Stack below reading and writing that is cleared behind it, in bytes: Base64 and DER of a key are at work there.
const FRAMES: usize = 16384;

/// id-ecPublicKey (RFC 5480 §2.1.1), Ed25519 and X25519 (RFC 8410 §3).
const ELLIPTIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");
/// rsaEncryption (RFC 8017 §A.1).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// ML-KEM (RFC 9935 §3).
const ML_KEM: [(ObjectIdentifier, KeyKind); 3] = [
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.1"), KeyKind::MlKem512),
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.2"), KeyKind::MlKem768),
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.3"), KeyKind::MlKem1024),
];

/// Reads a key of any kind from PEM or DER. Around a block of PEM there may be other text and other blocks, such as OpenSSL's `EC PARAMETERS`.
///
/// # Errors
/// [`Error::KeyFile`].
pub fn read(file: &[u8]) -> Result<Key, Error> {
    stack::clearing::<FRAMES, _>(|| decoded(file))
}

fn decoded(file: &[u8]) -> Result<Key, Error> {
    if let Some(found) = pem_block(file)? {
        let (label, document) = SecretDocument::from_pem(found).map_err(|error| refused("PEM", error))?;
        return match label {
            PKCS8 => from_pkcs8(document.as_bytes()).map(Key::Secret),
            SEC1 => from_sec1(document.as_bytes()).map(Key::Secret),
            PKCS1 => from_pkcs1(document.as_bytes()).map(Key::Secret),
            PKCS1_PUBLIC => public_from_pkcs1(document.as_bytes()).map(Key::Public),
            _ => from_spki(document.as_bytes()).map(Key::Public),
        };
    }
    // The first elements tell them apart: a version and an algorithm in PKCS#8, a version and a string in SEC1, numbers in PKCS#1, an algorithm in
    // SubjectPublicKeyInfo.
    if PrivateKeyInfoRef::from_der(file).is_ok() {
        return from_pkcs8(file).map(Key::Secret);
    }
    if SubjectPublicKeyInfoRef::from_der(file).is_ok() {
        return from_spki(file).map(Key::Public);
    }
    if RsaPrivateKeyRef::from_der(file).is_ok() {
        return from_pkcs1(file).map(Key::Secret);
    }
    if RsaPublicKeyRef::from_der(file).is_ok() {
        return public_from_pkcs1(file).map(Key::Public);
    }
    let unknown = "file holds no key; expected PEM or DER of PKCS#8, PKCS#1, SEC1 or SubjectPublicKeyInfo";
    from_sec1(file).map(Key::Secret).map_err(|_| Error::KeyFile(unknown.to_owned()))
}

impl Key {
    /// The public key, or that of the secret key.
    ///
    /// # Errors
    /// The algorithm's.
    pub fn into_public(self) -> Result<PublicKey, Error> {
        match self {
            Self::Public(public) => Ok(public),
            Self::Secret(secret) => secret.public_key(),
        }
    }
}

impl SecretKey {
    /// The key as a file.
    ///
    /// # Errors
    /// [`Error::KeyFile`] if this kind has no such form.
    pub fn to_file(&self, form: SecretForm, encoding: Encoding) -> Result<Zeroizing<Vec<u8>>, Error> {
        stack::clearing::<FRAMES, _>(|| self.encoded(form, encoding))
    }

    fn encoded(&self, form: SecretForm, encoding: Encoding) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (label, document) = match form {
            SecretForm::Sec1 => (SEC1, to_sec1(self)?),
            SecretForm::Pkcs1 => (PKCS1, to_pkcs1(self)?),
            _ => (PKCS8, to_pkcs8(self, form)?),
        };
        Ok(match encoding {
            Encoding::Der => Zeroizing::new(document.as_bytes().to_vec()),
            Encoding::Pem => {
                let text = document.to_pem(label, LineEnding::LF).map_err(|error| refused("PEM", error))?;
                Zeroizing::new(text.as_bytes().to_vec())
            }
        })
    }
}

impl PublicKey {
    /// The key as a file.
    ///
    /// # Errors
    /// [`Error::KeyFile`], which no valid key gives.
    pub fn to_file(&self, encoding: Encoding) -> Result<Vec<u8>, Error> {
        let document = to_spki(self)?;
        match encoding {
            Encoding::Der => Ok(document.as_bytes().to_vec()),
            Encoding::Pem => {
                Ok(document.to_pem(SPKI, LineEnding::LF).map_err(|error| refused("PEM", error))?.into_bytes())
            }
        }
    }
}

/// The first block of PEM that may be a key, if the file is text with one.
fn pem_block(file: &[u8]) -> Result<Option<&str>, Error> {
    const BEGIN: &str = "-----BEGIN ";
    let Ok(mut rest) = str::from_utf8(file) else { return Ok(None) };
    let mut other = None;
    while let Some((_, found)) = rest.split_once(BEGIN) {
        let Some((label, _)) = found.split_once("-----") else { break };
        // What stands there goes into errors, and so onto terminals.
        let label = if label.len() <= 64 && label.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
            label
        } else {
            "another"
        };
        let start = rest.len() - found.len() - BEGIN.len();
        if LABELS.contains(&label) {
            let end = format!("-----END {label}-----");
            let Some(at) = rest[start..].find(&end) else {
                return Err(Error::KeyFile(format!("PEM block has no line `{end}`")));
            };
            return Ok(Some(&rest[start..start + at + end.len()]));
        }
        other.get_or_insert(label);
        rest = found;
    }
    match other {
        Some("ENCRYPTED PRIVATE KEY") => Err(Error::KeyFile(
            "key is encrypted with a password; `openssl pkey -in FILE -out NEW` writes it without one".to_owned(),
        )),
        Some(label) => {
            Err(Error::KeyFile(format!("PEM block is `{label}`; expected one of `{}`", LABELS.join("`, `"))))
        }
        None => Ok(None),
    }
}

/// Which kind of key an algorithm is for.
fn kind_of(algorithm: &AlgorithmIdentifierRef<'_>) -> Result<KeyKind, Error> {
    if algorithm.oid == ELLIPTIC {
        let curve = algorithm.parameters_oid().map_err(|error| refused("curve", error))?;
        return curve_of(curve);
    }
    let of_kem = ML_KEM.iter().find(|(oid, _)| *oid == algorithm.oid).map(|(_, kind)| *kind);
    match algorithm.oid {
        ED25519 => Ok(KeyKind::Ed25519),
        X25519 => Ok(KeyKind::X25519),
        oid => {
            of_kem.ok_or_else(|| Error::KeyFile(format!("key is for the algorithm {oid}, which candor does not have")))
        }
    }
}

fn curve_of(curve: ObjectIdentifier) -> Result<KeyKind, Error> {
    use ec::NamedCurve;
    let curves = [
        (P256::OID, KeyKind::P256),
        (P384::OID, KeyKind::P384),
        (Secp256k1::OID, KeyKind::Secp256k1),
        (sm2::Sm2Curve::OID, KeyKind::Sm2),
    ];
    let found = curves.into_iter().find(|(oid, _)| **oid == curve).map(|(_, kind)| kind);
    found.ok_or_else(|| Error::KeyFile(format!("key is on the curve {curve}, which candor does not have")))
}

fn from_pkcs8(der: &[u8]) -> Result<SecretKey, Error> {
    let info = PrivateKeyInfoRef::from_der(der).map_err(|error| refused("PKCS#8", error))?;
    if info.algorithm.oid == RSA {
        let key = primitives_rsa::SecretKey::read_pkcs8(der).map_err(rsa::refused)?;
        return Ok(SecretKey::Rsa(Box::new(key)));
    }
    let kind = kind_of(&info.algorithm)?;
    let wrong = |error| refused(kind.title(), error);
    let kem = |error| refused(kind.title(), error);
    Ok(match kind {
        KeyKind::P256 => SecretKey::P256(DecodePrivateKey::from_pkcs8_der(der).map_err(wrong)?),
        KeyKind::P384 => SecretKey::P384(DecodePrivateKey::from_pkcs8_der(der).map_err(wrong)?),
        KeyKind::Secp256k1 => SecretKey::Secp256k1(DecodePrivateKey::from_pkcs8_der(der).map_err(wrong)?),
        KeyKind::Sm2 => SecretKey::Sm2(DecodePrivateKey::from_pkcs8_der(der).map_err(wrong)?),
        KeyKind::Ed25519 => SecretKey::Ed25519(ed25519::SecretKey::from_pkcs8_der(der).map_err(wrong)?),
        KeyKind::X25519 => x25519_from(&info)?,
        KeyKind::MlKem512 => SecretKey::MlKem512(secret_from_pkcs8(&MlKem512::new(), der).map_err(kem)?),
        KeyKind::MlKem768 => SecretKey::MlKem768(secret_from_pkcs8(&MlKem768::new(), der).map_err(kem)?),
        KeyKind::MlKem1024 => SecretKey::MlKem1024(secret_from_pkcs8(&MlKem1024::new(), der).map_err(kem)?),
        // RSA's algorithm names no size, so `kind_of` gives none of its kinds.
        KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => return from_pkcs1(info.private_key.as_bytes()),
    })
}

fn to_pkcs8(key: &SecretKey, form: SecretForm) -> Result<SecretDocument, Error> {
    let kind = key.kind();
    if form != SecretForm::Pkcs8 && !kind.encapsulates() {
        return Err(Error::KeyFile(format!("{} keys have no expanded form", kind.title())));
    }
    let wrong = |error| refused(kind.title(), error);
    let kem = |error| refused(kind.title(), error);
    // A key that was read without its seed is written without it.
    macro_rules! ml_kem {
        ($kem:expr, $key:expr) => {
            match form {
                SecretForm::Expanded => secret_to_pkcs8(&$kem, $key, Form::Expanded),
                SecretForm::Both => secret_to_pkcs8(&$kem, $key, Form::Both),
                _ => secret_to_pkcs8(&$kem, $key, Form::Seed).or_else(|_| secret_to_pkcs8(&$kem, $key, Form::Expanded)),
            }
            .map_err(kem)
        };
    }
    match key {
        SecretKey::P256(key) => key.to_pkcs8_der().map_err(wrong),
        SecretKey::P384(key) => key.to_pkcs8_der().map_err(wrong),
        SecretKey::Secp256k1(key) => key.to_pkcs8_der().map_err(wrong),
        SecretKey::Sm2(key) => key.to_pkcs8_der().map_err(wrong),
        SecretKey::Ed25519(key) => key.to_pkcs8_der().map_err(wrong),
        SecretKey::X25519(_) => {
            // An octet string in an octet string (RFC 8410 §7).
            let inner = key.to_bytes()?;
            let inner =
                Zeroizing::new(OctetStringRef::new(&inner).and_then(|string| string.to_der()).map_err(wrong_der)?);
            let string = OctetStringRef::new(&inner).map_err(wrong_der)?;
            let info = PrivateKeyInfoRef::new(AlgorithmIdentifierRef { oid: X25519, parameters: None }, string);
            SecretDocument::encode_msg(&info).map_err(wrong_der)
        }
        SecretKey::MlKem512(key) => ml_kem!(MlKem512::new(), key),
        SecretKey::MlKem768(key) => ml_kem!(MlKem768::new(), key),
        SecretKey::MlKem1024(key) => ml_kem!(MlKem1024::new(), key),
        SecretKey::Rsa(key) => key.to_pkcs8_der().map_err(wrong),
    }
}

fn x25519_from(info: &PrivateKeyInfoRef<'_>) -> Result<SecretKey, Error> {
    if info.algorithm.parameters.is_some() {
        return Err(Error::KeyFile("algorithm has parameters; X25519 has none".to_owned()));
    }
    let inner = <&OctetStringRef>::from_der(info.private_key.as_bytes()).map_err(wrong_der)?;
    let key = SecretKey::from_bytes(KeyKind::X25519, inner.as_bytes())?;
    if let Some(public) = info.public_key
        && public.as_bytes() != Some(&key.public_key()?.to_bytes()?)
    {
        return Err(Error::KeyFile("public key beside the private key is another's".to_owned()));
    }
    Ok(key)
}

fn from_sec1(der: &[u8]) -> Result<SecretKey, Error> {
    // The parameters are part of it (RFC 5915 §3); each curve refuses the others'.
    let found = DecodeEcPrivateKey::from_sec1_der(der).map(SecretKey::P256);
    let found = found.or_else(|_| DecodeEcPrivateKey::from_sec1_der(der).map(SecretKey::P384));
    let found = found.or_else(|_| DecodeEcPrivateKey::from_sec1_der(der).map(SecretKey::Secp256k1));
    let found = found.or_else(|_| DecodeEcPrivateKey::from_sec1_der(der).map(SecretKey::Sm2));
    found.map_err(|error| refused("SEC1", error))
}

fn to_sec1(key: &SecretKey) -> Result<SecretDocument, Error> {
    match key {
        SecretKey::P256(key) => key.to_sec1_der(),
        SecretKey::P384(key) => key.to_sec1_der(),
        SecretKey::Secp256k1(key) => key.to_sec1_der(),
        SecretKey::Sm2(key) => key.to_sec1_der(),
        other => return Err(Error::KeyFile(format!("{} keys have no form in SEC1", other.kind().title()))),
    }
    .map_err(|error| refused("SEC1", error))
}

fn from_pkcs1(der: &[u8]) -> Result<SecretKey, Error> {
    let key = primitives_rsa::SecretKey::read_pkcs1(der).map_err(rsa::refused)?;
    Ok(SecretKey::Rsa(Box::new(key)))
}

fn public_from_pkcs1(der: &[u8]) -> Result<PublicKey, Error> {
    let key = primitives_rsa::PublicKey::read_pkcs1(der).map_err(rsa::refused)?;
    Ok(PublicKey::Rsa(Box::new(key)))
}

fn to_pkcs1(key: &SecretKey) -> Result<SecretDocument, Error> {
    match key {
        SecretKey::Rsa(key) => key.to_pkcs1_der().map_err(|error| refused("PKCS#1", error)),
        other => Err(Error::KeyFile(format!("{} keys have no form in PKCS#1", other.kind().title()))),
    }
}

fn from_spki(der: &[u8]) -> Result<PublicKey, Error> {
    let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|error| refused("SubjectPublicKeyInfo", error))?;
    if info.algorithm.oid == RSA {
        let key = primitives_rsa::PublicKey::read_spki(der).map_err(rsa::refused)?;
        return Ok(PublicKey::Rsa(Box::new(key)));
    }
    let kind = kind_of(&info.algorithm)?;
    let wrong = |error| refused(kind.title(), error);
    let kem = |error| refused(kind.title(), error);
    Ok(match kind {
        KeyKind::P256 => PublicKey::P256(DecodePublicKey::from_public_key_der(der).map_err(wrong)?),
        KeyKind::P384 => PublicKey::P384(DecodePublicKey::from_public_key_der(der).map_err(wrong)?),
        KeyKind::Secp256k1 => PublicKey::Secp256k1(DecodePublicKey::from_public_key_der(der).map_err(wrong)?),
        KeyKind::Sm2 => PublicKey::Sm2(DecodePublicKey::from_public_key_der(der).map_err(wrong)?),
        KeyKind::Ed25519 => PublicKey::Ed25519(DecodePublicKey::from_public_key_der(der).map_err(wrong)?),
        KeyKind::X25519 => {
            if info.algorithm.parameters.is_some() {
                return Err(Error::KeyFile("algorithm has parameters; X25519 has none".to_owned()));
            }
            PublicKey::from_bytes(kind, info.subject_public_key.as_bytes().unwrap_or_default())?
        }
        KeyKind::MlKem512 => PublicKey::MlKem512(Box::new(public_from_spki(&MlKem512::new(), der).map_err(kem)?)),
        KeyKind::MlKem768 => PublicKey::MlKem768(Box::new(public_from_spki(&MlKem768::new(), der).map_err(kem)?)),
        KeyKind::MlKem1024 => PublicKey::MlKem1024(Box::new(public_from_spki(&MlKem1024::new(), der).map_err(kem)?)),
        // As in `from_pkcs8`.
        KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            return public_from_pkcs1(info.subject_public_key.as_bytes().unwrap_or_default());
        }
    })
}

fn to_spki(key: &PublicKey) -> Result<Document, Error> {
    let title = key.kind().title();
    let wrong = |error| refused(title, error);
    let kem = |error| refused(title, error);
    match key {
        PublicKey::P256(key) => key.to_public_key_der().map_err(wrong),
        PublicKey::P384(key) => key.to_public_key_der().map_err(wrong),
        PublicKey::Secp256k1(key) => key.to_public_key_der().map_err(wrong),
        PublicKey::Sm2(key) => key.to_public_key_der().map_err(wrong),
        PublicKey::Ed25519(key) => key.to_public_key_der().map_err(wrong),
        PublicKey::X25519(key) => {
            let subject_public_key = BitStringRef::from_bytes(key).map_err(wrong_der)?;
            let algorithm = AlgorithmIdentifierRef { oid: X25519, parameters: None };
            Document::encode_msg(&SubjectPublicKeyInfoRef { algorithm, subject_public_key }).map_err(wrong_der)
        }
        PublicKey::MlKem512(key) => public_to_spki(&MlKem512::new(), key).map_err(kem),
        PublicKey::MlKem768(key) => public_to_spki(&MlKem768::new(), key).map_err(kem),
        PublicKey::MlKem1024(key) => public_to_spki(&MlKem1024::new(), key).map_err(kem),
        PublicKey::Rsa(key) => key.to_public_key_der().map_err(wrong),
    }
}

fn refused(what: &str, error: impl Display) -> Error {
    Error::KeyFile(format!("can't be read or written as {what}: {error}"))
}

fn wrong_der(error: pkcs8::der::Error) -> Error {
    refused("X25519", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(kind: KeyKind) -> Vec<SecretForm> {
        match kind {
            KeyKind::P256 | KeyKind::P384 | KeyKind::Secp256k1 | KeyKind::Sm2 => {
                vec![SecretForm::Pkcs8, SecretForm::Sec1]
            }
            KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => vec![SecretForm::Pkcs8, SecretForm::Pkcs1],
            kind if kind.encapsulates() => vec![SecretForm::Pkcs8, SecretForm::Expanded, SecretForm::Both],
            _ => vec![SecretForm::Pkcs8],
        }
    }

    #[test]
    fn every_key_comes_back_from_every_form() {
        for kind in KeyKind::ALL.iter().copied().filter(|kind| *kind != KeyKind::Rsa4096) {
            let secret = SecretKey::generate(kind).unwrap();
            let public = secret.public_key().unwrap().to_bytes().unwrap();
            for encoding in [Encoding::Pem, Encoding::Der] {
                for form in forms(kind) {
                    let file = secret.to_file(form, encoding).unwrap();
                    let Key::Secret(again) = read(&file).unwrap() else { panic!("{} is public", kind.name()) };
                    assert_eq!(again.kind(), kind, "{form:?} {encoding:?}");
                    assert_eq!(again.public_key().unwrap().to_bytes().unwrap(), public);
                }
                let file = secret.public_key().unwrap().to_file(encoding).unwrap();
                let Key::Public(again) = read(&file).unwrap() else { panic!("{} is secret", kind.name()) };
                assert_eq!((again.kind(), again.to_bytes().unwrap()), (kind, public.clone()));
            }
        }
    }

    #[test]
    fn a_key_without_a_seed_is_written_expanded() {
        let secret = SecretKey::generate(KeyKind::MlKem768).unwrap();
        let file = secret.to_file(SecretForm::Expanded, Encoding::Der).unwrap();
        let Key::Secret(expanded) = read(&file).unwrap() else { panic!("it is secret") };
        assert_eq!(*expanded.to_file(SecretForm::Pkcs8, Encoding::Der).unwrap(), *file);
        assert!(expanded.to_file(SecretForm::Both, Encoding::Der).is_err());
        assert!(secret.to_file(SecretForm::Pkcs8, Encoding::Der).unwrap().len() < 100, "a seed is short");
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let refusal = |file: &[u8]| read(file).expect_err("it is no key").to_string();
        assert!(refusal(b"").contains("holds no key"));
        assert!(refusal(&[0x30, 0]).contains("holds no key"));
        assert!(refusal(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n").contains("openssl pkey"));
        assert!(refusal(b"-----BEGIN CERTIFICATE-----\n").contains("CERTIFICATE"));
        assert!(refusal(b"-----BEGIN \x1b[2J-----\n").contains("`another`"), "no control character in an error");
        assert!(refusal(b"-----BEGIN PRIVATE KEY-----\nAAAA\n").contains("-----END PRIVATE KEY-----"));
        assert!(SecretKey::generate(KeyKind::Ed25519).unwrap().to_file(SecretForm::Sec1, Encoding::Der).is_err());
        assert!(SecretKey::generate(KeyKind::P256).unwrap().to_file(SecretForm::Both, Encoding::Der).is_err());
    }

    #[test]
    fn text_and_other_blocks_around_a_key_are_passed_over() {
        let secret = SecretKey::generate(KeyKind::P256).unwrap();
        let pem = secret.to_file(SecretForm::Sec1, Encoding::Pem).unwrap();
        let before = b"a comment\n-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
        assert!(matches!(read(&[before, &pem[..], b"\nmore\n"].concat()), Ok(Key::Secret(_))));
    }
}
