//! Keys as PKCS#8 and SubjectPublicKeyInfo (RFC 8410), in the form that OpenSSL writes: without the public key beside the secret one, which it
//! reads only from 3.5 on. Both forms are read here, and a public key that is not the secret key's own is refused.

use super::{FRAMES, PublicKey, SecretKey};
use crate::stack;
use alloc::string::String;
use ed25519_dalek::pkcs8::{KeypairBytes, PublicKeyBytes};
use pkcs8::der::pem::PemLabel;
use pkcs8::spki::{self, SubjectPublicKeyInfoRef};
use pkcs8::{
    Document, EncodePrivateKey, EncodePublicKey, Error, KeyError, LineEnding, PrivateKeyInfoRef, SecretDocument,
};
use zeroize::Zeroizing;

impl EncodePrivateKey for SecretKey {
    fn to_pkcs8_der(&self) -> Result<SecretDocument, Error> {
        stack::clearing::<FRAMES, _>(|| KeypairBytes { secret_key: *self.to_bytes(), public_key: None }.to_pkcs8_der())
    }

    fn to_pkcs8_pem(&self, line_ending: LineEnding) -> Result<Zeroizing<String>, Error> {
        stack::clearing::<FRAMES, _>(|| Ok(self.to_pkcs8_der()?.to_pem(PrivateKeyInfoRef::PEM_LABEL, line_ending)?))
    }
}

impl TryFrom<PrivateKeyInfoRef<'_>> for SecretKey {
    type Error = Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> Result<Self, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let outside = info.public_key.is_some();
            let pair = KeypairBytes::try_from(info)?;
            let key = Self::from_bytes(&pair.secret_key);
            let is_own = |public: &PublicKeyBytes| public.0 == key.public_key().to_bytes();
            // Bits that are no bytes are lost in reading, and are no key.
            if outside && !pair.public_key.as_ref().is_some_and(is_own) {
                return Err(Error::KeyMalformed(KeyError::Invalid));
            }
            Ok(key)
        })
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        PublicKeyBytes(self.to_bytes()).to_public_key_der()
    }
}

impl TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        let bytes = PublicKeyBytes::try_from(info)?;
        Self::from_bytes(&bytes.0).map_err(|_| spki::Error::KeyMalformed)
    }
}
