//! Keys as PKCS#8 and SubjectPublicKeyInfo, in the form that OpenSSL 3 writes: an elliptic curve's key (RFC 5480, RFC 5915) on the curve
//! sm2p256v1 (GM/T 0006).

use super::key::FRAMES_OF_BYTES;
use super::{PublicKey, SecretKey, Sm2};
use crate::stack;
use pkcs8::der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use pkcs8::der::{Decode, Encode};
use pkcs8::spki::{self, AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{
    Document, EncodePrivateKey, EncodePublicKey, Error, KeyError, ObjectIdentifier, PrivateKeyInfoRef, SecretDocument,
};
use sec1::EcPrivateKey;
use zeroize::Zeroizing;

/// id-ecPublicKey, RFC 5480 §2.1.1.
const ELLIPTIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
/// sm2p256v1, GM/T 0006.
const CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.156.10197.1.301");

fn algorithm() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid: ELLIPTIC, parameters: Some(AnyRef::from(&CURVE)) }
}

impl EncodePrivateKey for SecretKey {
    fn to_pkcs8_der(&self) -> Result<SecretDocument, Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let (secret, public) = (self.to_bytes(), self.public_key().to_bytes());
            let key = EcPrivateKey { private_key: secret.as_slice(), parameters: None, public_key: Some(&public) };
            let key = Zeroizing::new(key.to_der()?);
            Ok(SecretDocument::encode_msg(&PrivateKeyInfoRef::new(algorithm(), OctetStringRef::new(&key)?))?)
        })
    }
}

impl TryFrom<PrivateKeyInfoRef<'_>> for SecretKey {
    type Error = Error;

    /// Refuses another curve, a number that is no key, and a public key that is not its own.
    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self, Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            info.algorithm.assert_oids(ELLIPTIC, CURVE)?;
            let key = EcPrivateKey::from_der(info.private_key.as_bytes())?;
            if key.parameters.is_some_and(|parameters| parameters.named_curve() != Some(CURVE)) {
                return Err(Error::ParametersMalformed);
            }
            let number: &[u8; 32] = key.private_key.try_into().map_err(|_| Error::KeyMalformed(KeyError::Invalid))?;
            let sm2 = Sm2::new();
            let secret = sm2.secret_from_bytes(number).map_err(|_| Error::KeyMalformed(KeyError::Invalid))?;
            let is_other = |public: &[u8]| sm2.public_from_bytes(public).as_ref() != Ok(secret.public_key());
            let publics = [key.public_key, info.public_key.map(|bits| bits.as_bytes().unwrap_or_default())];
            if publics.into_iter().flatten().any(is_other) {
                return Err(Error::KeyMalformed(KeyError::Invalid));
            }
            Ok(secret)
        })
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let key = self.to_bytes();
        let subject_public_key = BitStringRef::from_bytes(&key)?;
        Ok(Document::encode_msg(&SubjectPublicKeyInfoRef { algorithm: algorithm(), subject_public_key })?)
    }
}

impl TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        info.algorithm.assert_oids(ELLIPTIC, CURVE)?;
        let bytes = info.subject_public_key.as_bytes().ok_or(spki::Error::KeyMalformed)?;
        Sm2::new().public_from_bytes(bytes).map_err(|_| spki::Error::KeyMalformed)
    }
}
