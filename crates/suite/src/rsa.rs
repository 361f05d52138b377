//! RSA with paddings and hashes that are chosen at run time.

use crate::Error;
use crate::hash::HashAlgorithm;
use candor_primitives::hash::{Sha256, Sha384, Sha512};
use candor_primitives::rsa::{
    EncodeRsaPrivateKey, EncodeRsaPublicKey, KeyFileError, Pkcs1v15, Pss, PublicKey, Rsa, RsaError, SecretKey,
    Signature, Size,
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
    let key = SecretKey::read_pkcs1(bytes).map_err(refused)?;
    check(size, key.public_key())?;
    Ok(Box::new(key))
}

/// The public key in `RSAPublicKey` of PKCS#1.
pub(crate) fn public_from(size: Size, bytes: &[u8]) -> Result<Box<PublicKey>, Error> {
    let key = PublicKey::read_pkcs1(bytes).map_err(refused)?;
    check(size, &key)?;
    Ok(Box::new(key))
}

/// A refusal in the words of this crate's other files.
pub(crate) fn refused(error: KeyFileError) -> Error {
    match error {
        KeyFileError::Der(error) => Error::KeyFile(format!("can't be read as an RSA key: {error}")),
        KeyFileError::Parts => Error::Rsa(RsaError::SecretKey),
        error => Error::KeyFile(format!("RSA {error}")),
    }
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

/// OAEP with SHA-256, also in its mask.
pub(crate) fn encrypt(key: &PublicKey, message: &[u8], label: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(key.encrypt_oaep::<Sha256>(message, label)?)
}

/// The same.
pub(crate) fn decrypt(key: &SecretKey, ciphertext: &[u8], label: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    Ok(key.decrypt_oaep::<Sha256>(ciphertext, label)?)
}

/// The longest message of [`encrypt`], in bytes.
pub(crate) fn longest_message(key: &PublicKey) -> usize {
    key.longest_message::<Sha256>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pkcs1::der::asn1::UintRef;
    use pkcs1::der::{Decode, Encode};
    use pkcs1::{RsaPrivateKeyRef, RsaPublicKeyRef};

    fn told(modulus: &[u8], exponent: &[u8]) -> Option<String> {
        let number = |bytes| UintRef::new(bytes).unwrap();
        let key = RsaPublicKeyRef { modulus: number(modulus), public_exponent: number(exponent) };
        public_from(Size::Bits2048, &key.to_der().unwrap()).err().map(|error| error.to_string())
    }

    /// A modulus of so many bits, which looks as one should.
    fn modulus(bits: usize) -> Vec<u8> {
        let mut bytes = vec![0xc5; bits.div_ceil(8)];
        bytes[0] = 1 << ((bits - 1) % 8);
        bytes
    }

    #[test]
    fn a_refused_public_key_is_told_what_was_expected_and_found() {
        let f4 = [1, 0, 1];
        assert_eq!(told(&modulus(2048), &f4), None);
        let says = |modulus: &[u8], exponent: &[u8], expected: &str| {
            assert_eq!(told(modulus, exponent).as_deref(), Some(expected));
        };
        says(&modulus(1024), &f4, "RSA modulus has 1024 bits; expected 2048, 3072 or 4096");
        says(&modulus(2047), &f4, "RSA modulus has 2047 bits; expected 2048, 3072 or 4096");
        says(&modulus(3072), &f4, "modulus is 384 bytes long; expected 256");
        let mut even = modulus(2048);
        even[255] = 2;
        says(&even, &f4, "RSA modulus is even; expected a product of two odd primes");
        says(&modulus(2048), &[1], "RSA public exponent is 1; expected an odd number from 3 on");
        says(&modulus(2048), &[1, 0, 0], "RSA public exponent is 65536; expected an odd number from 3 on");
        says(&modulus(2048), &[1; 9], "RSA public exponent has 65 bits; expected at most 64");
        assert_eq!(told(&modulus(2048), &[3]), None);
        assert!(public_from(Size::Bits2048, b"").is_err_and(|error| error.to_string().starts_with("can't be read")));
    }

    #[test]
    fn a_refused_secret_key_is_told_what_was_expected_and_found() {
        let key = generate(Size::Bits2048).unwrap();
        let bytes = secret_bytes(&key).unwrap();
        let with = |change: &dyn Fn(&mut RsaPrivateKeyRef<'_>)| {
            let mut parts = RsaPrivateKeyRef::from_der(&bytes).unwrap();
            change(&mut parts);
            secret_from(Size::Bits2048, &parts.to_der().unwrap()).err().map(|error| error.to_string())
        };
        assert_eq!(with(&|_| {}), None);
        let short: &'static [u8] = modulus(1024).leak();
        let said = with(&|parts| parts.public_exponent = UintRef::new(b"\x01").unwrap());
        assert_eq!(said.as_deref(), Some("RSA public exponent is 1; expected an odd number from 3 on"));
        let said = with(&|parts| parts.modulus = UintRef::new(short).unwrap());
        assert_eq!(said.as_deref(), Some("RSA modulus has 1024 bits; expected 2048, 3072 or 4096"));
        let said = with(&|parts| parts.prime1 = parts.prime2);
        assert!(said.is_some_and(|said| said.contains("do not belong together")));
    }
}
