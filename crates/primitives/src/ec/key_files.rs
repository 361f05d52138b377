//! Keys as PKCS#8 and SubjectPublicKeyInfo, in the form that OpenSSL 3 writes: an elliptic curve's key (RFC 5480, RFC 5915) with the name of
//! its curve. SEC1's own form, that of a PEM file with `BEGIN EC PRIVATE KEY`, is read and written as well.
//!
//! What PKCS#8 has behind a key, attributes and fields of later versions (RFC 5958 §2), is not looked at, as crate `pkcs8` has it; all else is DER or
//! refused.

use super::key::FRAMES_OF_BYTES;
use super::{Ec, NamedCurve, PublicKey, SecretKey};
use crate::stack;
use alloc::string::String;
use pkcs8::der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use pkcs8::der::pem::PemLabel;
use pkcs8::der::{Decode, Encode};
use pkcs8::spki::{self, AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{
    Document, EncodePrivateKey, EncodePublicKey, Error, KeyError, LineEnding, ObjectIdentifier, PrivateKeyInfoRef,
    SecretDocument,
};
use sec1::{DecodeEcPrivateKey, EcParameters, EcPrivateKey, EncodeEcPrivateKey};
use zeroize::Zeroizing;

/// id-ecPublicKey, RFC 5480 §2.1.1.
const ELLIPTIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

fn algorithm<C: NamedCurve>() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid: ELLIPTIC, parameters: Some(AnyRef::from(C::OID)) }
}

impl<C: NamedCurve> EncodePrivateKey for SecretKey<C> {
    fn to_pkcs8_der(&self) -> Result<SecretDocument, Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let (secret, public) = (self.to_bytes(), self.public_key().to_bytes());
            let key =
                EcPrivateKey { private_key: secret.as_ref(), parameters: None, public_key: Some(public.as_ref()) };
            let key = Zeroizing::new(key.to_der()?);
            Ok(SecretDocument::encode_msg(&PrivateKeyInfoRef::new(algorithm::<C>(), OctetStringRef::new(&key)?))?)
        })
    }

    fn to_pkcs8_pem(&self, line_ending: LineEnding) -> Result<Zeroizing<String>, Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            Ok(self.to_pkcs8_der()?.to_pem(PrivateKeyInfoRef::PEM_LABEL, line_ending)?)
        })
    }
}

impl<C: NamedCurve> TryFrom<PrivateKeyInfoRef<'_>> for SecretKey<C> {
    type Error = Error;

    /// Refuses another curve, a number that is no key, and a public key that is not its own.
    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self, Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            info.algorithm.assert_oids(ELLIPTIC, *C::OID)?;
            let key = EcPrivateKey::from_der(info.private_key.as_bytes())?;
            let outside = info.public_key.map(|bits| bits.as_bytes().unwrap_or_default());
            from_sec1(&key, outside)
        })
    }
}

/// A key in SEC1's form, and the public key that may stand beside it.
fn from_sec1<C: NamedCurve>(key: &EcPrivateKey<'_>, outside: Option<&[u8]>) -> Result<SecretKey<C>, Error> {
    if key.parameters.is_some_and(|parameters| parameters.named_curve() != Some(*C::OID)) {
        return Err(Error::ParametersMalformed);
    }
    let ec = Ec::<C>::new();
    let secret = ec.secret_from_slice(key.private_key).map_err(|_| Error::KeyMalformed(KeyError::Invalid))?;
    let is_other = |public: &[u8]| ec.public_from_bytes(public).as_ref() != Ok(secret.public_key());
    if [key.public_key, outside].into_iter().flatten().any(is_other) {
        return Err(Error::KeyMalformed(KeyError::Invalid));
    }
    Ok(secret)
}

impl<C: NamedCurve> EncodeEcPrivateKey for SecretKey<C> {
    fn to_sec1_der(&self) -> sec1::Result<SecretDocument> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let (secret, public) = (self.to_bytes(), self.public_key().to_bytes());
            Ok(SecretDocument::encode_msg(&EcPrivateKey {
                private_key: secret.as_ref(),
                parameters: Some(EcParameters::NamedCurve(*C::OID)),
                public_key: Some(public.as_ref()),
            })?)
        })
    }

    fn to_sec1_pem(&self, line_ending: LineEnding) -> sec1::Result<Zeroizing<String>> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            Ok(self.to_sec1_der()?.to_pem(EcPrivateKey::PEM_LABEL, line_ending)?)
        })
    }
}

impl<C: NamedCurve> DecodeEcPrivateKey for SecretKey<C> {
    /// Refuses another curve or none, a number that is no key, and a public key that is not its own.
    fn from_sec1_der(bytes: &[u8]) -> sec1::Result<Self> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let key = EcPrivateKey::from_der(bytes)?;
            if key.parameters.is_none() {
                return Err(sec1::Error::Crypto);
            }
            from_sec1(&key, None).map_err(|_| sec1::Error::Crypto)
        })
    }
}

impl<C: NamedCurve> EncodePublicKey for PublicKey<C> {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let key = self.to_bytes();
        let subject_public_key = BitStringRef::from_bytes(key.as_ref())?;
        Ok(Document::encode_msg(&SubjectPublicKeyInfoRef { algorithm: algorithm::<C>(), subject_public_key })?)
    }
}

impl<C: NamedCurve> TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey<C> {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        info.algorithm.assert_oids(ELLIPTIC, *C::OID)?;
        let bytes = info.subject_public_key.as_bytes().ok_or(spki::Error::KeyMalformed)?;
        Ec::new().public_from_bytes(bytes).map_err(|_| spki::Error::KeyMalformed)
    }
}
