//! Keys as PKCS#1 (RFC 8017 §A.1), PKCS#8 and SubjectPublicKeyInfo, in the form that OpenSSL writes.
//!
//! What PKCS#8 has behind a key, attributes and fields of later versions (RFC 5958 §2), is not looked at, as crate `pkcs8` has it; all else is DER or
//! refused. Keys of more than two primes are refused, and so are keys that are for PSS or OAEP alone (RFC 4055).

use super::{FRAMES, Parts, PublicKey, Rsa, SecretKey};
use crate::stack;
use alloc::string::String;
use pkcs1::{
    DecodeRsaPrivateKey, DecodeRsaPublicKey, EncodeRsaPrivateKey, EncodeRsaPublicKey, RsaPrivateKeyRef, RsaPublicKeyRef,
};
use pkcs8::der::Decode;
use pkcs8::der::asn1::{AnyRef, BitStringRef, OctetStringRef, UintRef};
use pkcs8::der::pem::PemLabel;
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
fn check(algorithm: &AlgorithmIdentifierRef<'_>) -> spki::Result<()> {
    algorithm.assert_algorithm_oid(RSA)?;
    match algorithm.parameters {
        Some(parameters) if parameters == AnyRef::NULL => Ok(()),
        _ => Err(spki::Error::AlgorithmParametersMissing),
    }
}

impl DecodeRsaPrivateKey for SecretKey {
    /// Refuses other sizes, and parts that don't belong together.
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        stack::clearing::<FRAMES, _>(|| {
            let key = RsaPrivateKeyRef::from_der(bytes)?;
            if key.other_prime_infos.is_some() {
                return Err(pkcs1::Error::Version);
            }
            Rsa::new()
                .secret_from_parts(&Parts {
                    modulus: key.modulus.as_bytes(),
                    public_exponent: key.public_exponent.as_bytes(),
                    private_exponent: key.private_exponent.as_bytes(),
                    primes: [key.prime1.as_bytes(), key.prime2.as_bytes()],
                    exponents: [key.exponent1.as_bytes(), key.exponent2.as_bytes()],
                    coefficient: key.coefficient.as_bytes(),
                })
                .map_err(|_| pkcs1::Error::KeyMalformed)
        })
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

    /// Refuses other algorithms, and what [`from_pkcs1_der`](DecodeRsaPrivateKey::from_pkcs1_der) refuses.
    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self, Error> {
        check(&info.algorithm)?;
        Self::from_pkcs1_der(info.private_key.as_bytes()).map_err(|_| Error::KeyMalformed(KeyError::Invalid))
    }
}

impl DecodeRsaPublicKey for PublicKey {
    /// Refuses other sizes and exponents.
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        let key = RsaPublicKeyRef::from_der(bytes)?;
        let public = Rsa::new().public_from_parts(key.modulus.as_bytes(), key.public_exponent.as_bytes());
        public.map_err(|_| pkcs1::Error::KeyMalformed)
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
        check(&info.algorithm)?;
        let bytes = info.subject_public_key.as_bytes().ok_or(spki::Error::KeyMalformed)?;
        Self::from_pkcs1_der(bytes).map_err(|_| spki::Error::KeyMalformed)
    }
}
