//! Public keys of RSA as Tor has them: named by SHA-1 of their DER, and their signatures without the name of the digest.

use digest::Digest;
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, Pkcs1v15Sign, RsaPublicKey};
use sha1::Sha1;

/// The exponent of every key of Tor's.
pub(crate) const EXPONENT: u64 = 65537;

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RsaKey {
    key: RsaPublicKey,
    fingerprint: [u8; 20],
}

impl RsaKey {
    /// Reads a key (PKCS#1) of 2,048 to 4,096 bits. An authority's has 2,048 or 3,072.
    pub(crate) fn of_authority(der: &[u8]) -> Option<Self> {
        let key = RsaPublicKey::from_pkcs1_der(der).ok()?;
        let fits = (2048..=4096).contains(&key.n().bits_vartime()) && *key.e() == BoxedUint::from(EXPONENT);
        fits.then(|| Self { key, fingerprint: Sha1::digest(der).into() })
    }

    /// SHA-1 of the key's DER.
    pub(crate) fn fingerprint(&self) -> &[u8; 20] {
        &self.fingerprint
    }

    /// Whether that is the key's signature of a digest: PKCS#1 v1.5 with the digest alone.
    pub(crate) fn has_signed(&self, digest: &[u8], signature: &[u8]) -> bool {
        self.key.verify(Pkcs1v15Sign::new_unprefixed(), digest, signature).is_ok()
    }
}
