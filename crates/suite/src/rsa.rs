//! RSA with paddings and hashes that are chosen at run time.

use crate::Error;
use crate::hash::HashAlgorithm;
use candor_primitives::hash::{Sha256, Sha384, Sha512};
use candor_primitives::rsa::{
    DecodeRsaPrivateKey, DecodeRsaPublicKey, EncodeRsaPrivateKey, EncodeRsaPublicKey, Pkcs1v15, Pss, PublicKey, Rsa,
    RsaError, SecretKey, Signature, Size,
};
use zeroize::Zeroizing;

/// The padding of an RSA signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Padding {
    /// PSS, with a salt as long as the digest.
    #[default]
    Pss = 1,
    /// PKCS#1 v1.5, which is old and everywhere.
    Pkcs1v15 = 2,
}

impl Padding {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Pss, Self::Pkcs1v15];

    /// The name on the command line, as in `pss`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pss => "pss",
            Self::Pkcs1v15 => "pkcs1v15",
        }
    }

    /// The padding of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|padding| padding.name() == name)
    }
}

/// Whether RSA signs digests of this hash.
pub(crate) fn takes(hash: HashAlgorithm) -> bool {
    matches!(hash, HashAlgorithm::Sha256 | HashAlgorithm::Sha384 | HashAlgorithm::Sha512)
}

pub(crate) fn sign(key: &SecretKey, padding: Padding, hash: HashAlgorithm, digest: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(match (padding, hash) {
        (Padding::Pss, HashAlgorithm::Sha256) => key.sign_digest::<Pss<Sha256>>(digest)?.into(),
        (Padding::Pss, HashAlgorithm::Sha384) => key.sign_digest::<Pss<Sha384>>(digest)?.into(),
        (Padding::Pss, HashAlgorithm::Sha512) => key.sign_digest::<Pss<Sha512>>(digest)?.into(),
        (Padding::Pkcs1v15, HashAlgorithm::Sha256) => key.sign_digest::<Pkcs1v15<Sha256>>(digest)?.into(),
        (Padding::Pkcs1v15, HashAlgorithm::Sha384) => key.sign_digest::<Pkcs1v15<Sha384>>(digest)?.into(),
        (Padding::Pkcs1v15, HashAlgorithm::Sha512) => key.sign_digest::<Pkcs1v15<Sha512>>(digest)?.into(),
        _ => return Err(RsaError::Digest.into()),
    })
}

pub(crate) fn verify(
    key: &PublicKey,
    padding: Padding,
    hash: HashAlgorithm,
    digest: &[u8],
    signature: &[u8],
) -> Result<(), Error> {
    macro_rules! by {
        ($scheme:ty) => {
            Ok(key.verify_digest(digest, &Signature::<$scheme>::from_bytes(signature)?)?)
        };
    }
    match (padding, hash) {
        (Padding::Pss, HashAlgorithm::Sha256) => by!(Pss<Sha256>),
        (Padding::Pss, HashAlgorithm::Sha384) => by!(Pss<Sha384>),
        (Padding::Pss, HashAlgorithm::Sha512) => by!(Pss<Sha512>),
        (Padding::Pkcs1v15, HashAlgorithm::Sha256) => by!(Pkcs1v15<Sha256>),
        (Padding::Pkcs1v15, HashAlgorithm::Sha384) => by!(Pkcs1v15<Sha384>),
        (Padding::Pkcs1v15, HashAlgorithm::Sha512) => by!(Pkcs1v15<Sha512>),
        _ => Err(RsaError::Digest.into()),
    }
}

/// The secret key in `RSAPrivateKey` of PKCS#1.
pub(crate) fn secret_from(size: Size, bytes: &[u8]) -> Result<Box<SecretKey>, Error> {
    let key = SecretKey::from_pkcs1_der(bytes).map_err(|_| RsaError::SecretKey)?;
    check(size, key.public_key())?;
    Ok(Box::new(key))
}

/// The public key in `RSAPublicKey` of PKCS#1.
pub(crate) fn public_from(size: Size, bytes: &[u8]) -> Result<Box<PublicKey>, Error> {
    let key = PublicKey::from_pkcs1_der(bytes).map_err(|_| RsaError::Modulus)?;
    check(size, &key)?;
    Ok(Box::new(key))
}

fn check(size: Size, key: &PublicKey) -> Result<(), Error> {
    crate::error::expect_length("modulus", size.bytes(), key.size().bytes())
}

pub(crate) fn generate(size: Size) -> Result<Box<SecretKey>, Error> {
    Ok(Box::new(Rsa::new().generate(size)?))
}

pub(crate) fn secret_bytes(key: &SecretKey) -> Result<Zeroizing<Vec<u8>>, Error> {
    let document = key.to_pkcs1_der().map_err(|_| RsaError::SecretKey)?;
    Ok(Zeroizing::new(document.as_bytes().to_vec()))
}

pub(crate) fn public_bytes(key: &PublicKey) -> Result<Vec<u8>, Error> {
    Ok(key.to_pkcs1_der().map_err(|_| RsaError::Modulus)?.as_bytes().to_vec())
}

/// OAEP with SHA-256, also in its mask, and no label.
pub(crate) fn encrypt(key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(key.encrypt_oaep::<Sha256>(message, b"")?)
}

/// The same.
pub(crate) fn decrypt(key: &SecretKey, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    Ok(key.decrypt_oaep::<Sha256>(ciphertext, b"")?)
}

/// The longest message of [`encrypt`], in bytes.
pub(crate) fn longest_message(key: &PublicKey) -> usize {
    key.longest_message::<Sha256>()
}
