//! Keys as PKCS#1 (RFC 8017 §A.1), PKCS#8 and SubjectPublicKeyInfo, in the form that OpenSSL writes.
//!
//! The attributes that PKCS#8 may have behind a key (RFC 5958 §2) are not looked at, as crate `pkcs8` has it; the public key must be the secret one's; all
//! else is DER or refused. Keys of more than two primes are refused, and so are keys that are for PSS or OAEP alone (RFC 4055).
//!
//! The traits of crates `pkcs1` and `pkcs8` read as well as the methods here, and say less of what they refuse.

use super::{FRAMES, KeyFileError, Parts, PublicKey, Rsa, SecretKey};
use crate::stack;
use alloc::string::String;
use pkcs1::{
    DecodeRsaPrivateKey, DecodeRsaPublicKey, EncodeRsaPrivateKey, EncodeRsaPublicKey, RsaPrivateKeyRef, RsaPublicKeyRef,
};
use pkcs8::der::asn1::{AnyRef, BitStringRef, OctetStringRef, UintRef};
use pkcs8::der::pem::PemLabel;
use pkcs8::der::{Decode, Error as DerError, ErrorKind, Tag};
use pkcs8::spki::{self, AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{
    Document, EncodePrivateKey, EncodePublicKey, Error, KeyError, LineEnding, ObjectIdentifier, PrivateKeyInfoRef,
    SecretDocument,
};
use zeroize::Zeroizing;

/// rsaEncryption, RFC 8017 §A.1.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

fn algorithm() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid: RSA, parameters: Some(AnyRef::NULL) }
}

/// rsaEncryption has NULL for parameters. (RFC 4055 §1.2; without any it is refused.)
fn check(algorithm: &AlgorithmIdentifierRef<'_>) -> Result<(), KeyFileError> {
    if algorithm.oid != RSA {
        return Err(KeyFileError::Algorithm { found: algorithm.oid });
    }
    match algorithm.parameters {
        Some(parameters) if parameters == AnyRef::NULL => Ok(()),
        _ => Err(KeyFileError::Parameters),
    }
}

impl SecretKey {
    /// The key of a file in PKCS#1, as DER.
    ///
    /// # Errors
    /// [`KeyFileError`]: other sizes, more than two primes, and parts that don't belong together are refused.
    // ct: rsa/key
    pub fn read_pkcs1(der: &[u8]) -> Result<Self, KeyFileError> {
        stack::clearing::<FRAMES, _>(|| {
            let key = RsaPrivateKeyRef::from_der(der)?;
            if key.other_prime_infos.is_some() {
                return Err(KeyFileError::MorePrimes);
            }
            let (modulus, public_exponent) = (key.modulus.as_bytes(), key.public_exponent.as_bytes());
            let parts = Parts {
                modulus,
                public_exponent,
                private_exponent: key.private_exponent.as_bytes(),
                primes: [key.prime1.as_bytes(), key.prime2.as_bytes()],
                exponents: [key.exponent1.as_bytes(), key.exponent2.as_bytes()],
                coefficient: key.coefficient.as_bytes(),
            };
            let key = Rsa::new().secret_from_parts(&parts);
            key.map_err(|error| KeyFileError::of(error, modulus, public_exponent))
        })
    }

    /// The key of a file in PKCS#8, as DER.
    ///
    /// # Errors
    /// [`KeyFileError`]: other algorithms are refused, another public key beside the secret one, and what [`read_pkcs1`](Self::read_pkcs1) refuses.
    // ct: rsa/key
    pub fn read_pkcs8(der: &[u8]) -> Result<Self, KeyFileError> {
        stack::clearing::<FRAMES, _>(|| Self::of_info(&PrivateKeyInfoRef::from_der(der)?))
    }

    fn of_info(info: &PrivateKeyInfoRef<'_>) -> Result<Self, KeyFileError> {
        check(&info.algorithm)?;
        let key = Self::read_pkcs1(info.private_key.as_bytes())?;
        if let Some(bits) = info.public_key {
            let public = PublicKey::read_pkcs1(bits.as_bytes().ok_or(KeyFileError::PublicKey)?)?;
            if public != key.public {
                return Err(KeyFileError::PublicKey);
            }
        }
        Ok(key)
    }
}

impl PublicKey {
    /// The key of a file in PKCS#1, as DER.
    ///
    /// # Errors
    /// [`KeyFileError`]: other sizes and exponents are refused.
    // ct: public, because the key is
    pub fn read_pkcs1(der: &[u8]) -> Result<Self, KeyFileError> {
        let key = RsaPublicKeyRef::from_der(der)?;
        let (modulus, exponent) = (key.modulus.as_bytes(), key.public_exponent.as_bytes());
        let public = Rsa::new().public_from_parts(modulus, exponent);
        public.map_err(|error| KeyFileError::of(error, modulus, exponent))
    }

    /// The key of a file that is a SubjectPublicKeyInfo, as DER.
    ///
    /// # Errors
    /// [`KeyFileError`]: other algorithms are refused, and what [`read_pkcs1`](Self::read_pkcs1) refuses.
    // ct: public, because the key is
    pub fn read_spki(der: &[u8]) -> Result<Self, KeyFileError> {
        Self::of_info(&SubjectPublicKeyInfoRef::from_der(der)?)
    }

    fn of_info(info: &SubjectPublicKeyInfoRef<'_>) -> Result<Self, KeyFileError> {
        check(&info.algorithm)?;
        // As many bits as whole bytes have.
        let bytes =
            info.subject_public_key.as_bytes().ok_or(DerError::from(ErrorKind::Length { tag: Tag::BitString }))?;
        Self::read_pkcs1(bytes)
    }
}

impl DecodeRsaPrivateKey for SecretKey {
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        stack::clearing::<FRAMES, _>(|| Ok(Self::read_pkcs1(bytes)?))
    }
}

impl EncodeRsaPrivateKey for SecretKey {
    fn to_pkcs1_der(&self) -> pkcs1::Result<SecretDocument> {
        stack::clearing::<FRAMES, _>(|| {
            let (modulus, exponent) = (self.public.modulus(), self.public.exponent.to_be_bytes());
            let [d, p, q, of_p, of_q, coefficient] = self.numbers();
            Ok(SecretDocument::encode_msg(&RsaPrivateKeyRef {
                modulus: UintRef::new(&modulus)?,
                public_exponent: UintRef::new(&exponent)?,
                private_exponent: UintRef::new(&d)?,
                prime1: UintRef::new(&p)?,
                prime2: UintRef::new(&q)?,
                exponent1: UintRef::new(&of_p)?,
                exponent2: UintRef::new(&of_q)?,
                coefficient: UintRef::new(&coefficient)?,
                other_prime_infos: None,
            })?)
        })
    }

    fn to_pkcs1_pem(&self, line_ending: LineEnding) -> pkcs1::Result<Zeroizing<String>> {
        stack::clearing::<FRAMES, _>(|| Ok(self.to_pkcs1_der()?.to_pem(RsaPrivateKeyRef::PEM_LABEL, line_ending)?))
    }
}

impl EncodePrivateKey for SecretKey {
    fn to_pkcs8_der(&self) -> Result<SecretDocument, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let key = self.to_pkcs1_der().map_err(|_| Error::KeyMalformed(KeyError::Invalid))?;
            Ok(SecretDocument::encode_msg(&PrivateKeyInfoRef::new(algorithm(), OctetStringRef::new(key.as_bytes())?))?)
        })
    }

    fn to_pkcs8_pem(&self, line_ending: LineEnding) -> Result<Zeroizing<String>, Error> {
        stack::clearing::<FRAMES, _>(|| Ok(self.to_pkcs8_der()?.to_pem(PrivateKeyInfoRef::PEM_LABEL, line_ending)?))
    }
}

impl TryFrom<PrivateKeyInfoRef<'_>> for SecretKey {
    type Error = Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self, Error> {
        stack::clearing::<FRAMES, _>(|| Ok(Self::of_info(&info)?))
    }
}

impl DecodeRsaPublicKey for PublicKey {
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        Ok(Self::read_pkcs1(bytes)?)
    }
}

impl EncodeRsaPublicKey for PublicKey {
    fn to_pkcs1_der(&self) -> pkcs1::Result<Document> {
        let (modulus, exponent) = (self.modulus(), self.exponent.to_be_bytes());
        Ok(Document::encode_msg(&RsaPublicKeyRef {
            modulus: UintRef::new(&modulus)?,
            public_exponent: UintRef::new(&exponent)?,
        })?)
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let key = self.to_pkcs1_der().map_err(|_| spki::Error::KeyMalformed)?;
        let subject_public_key = BitStringRef::from_bytes(key.as_bytes())?;
        Ok(Document::encode_msg(&SubjectPublicKeyInfoRef { algorithm: algorithm(), subject_public_key })?)
    }
}

impl TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        Ok(Self::of_info(&info)?)
    }
}
