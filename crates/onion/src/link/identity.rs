//! A relay's keys for links, and what it signs with them.

use super::EXPORTER_CONTEXT;
use super::certificate::{Certificate, IDENTITY_SIGNING, RSA_CROSS, SIGNING_AUTH, SIGNING_LINK};
use super::rsa::{RSA_IDENTITY, RsaIdentity};
use crate::cell::payload::{CertEntry, Certs};
use alloc::vec::Vec;
use core::fmt;
use ed25519_dalek::{Signer, SigningKey};

/// Lifetime of certificates in seconds. Tor's relays use a month for the signing key and two days for what it signs.
/// Ours are issued anew at each start and last for a month.
const LIFETIME: u64 = 30 * 24 * 3600;

/// A relay's Ed25519 identity with the keys below it: the signing key, which it certifies, and the key for
/// AUTHENTICATE, which the signing key certifies. Wiped on drop.
pub struct RelayIdentity {
    id: [u8; 32],
    signing: SigningKey,
    authentication: SigningKey,
    expires: u64,
    /// Certificates of type 4 and type 6, ready to send.
    signing_certificate: Vec<u8>,
    authentication_certificate: Vec<u8>,
    rsa: Option<RsaIdentity>,
}

impl RelayIdentity {
    /// Derives the keys from 32 random bytes each. The first are the relay's permanent identity; the others may be
    /// fresh at each start. `now` is in seconds since 1970; the certificates last for 30 days from then.
    pub fn from_seeds(identity: &[u8; 32], signing: &[u8; 32], authentication: &[u8; 32], now: u64) -> Self {
        let [identity, signing, authentication] = [identity, signing, authentication].map(SigningKey::from_bytes);
        // Certificates expire on the hour.
        let expires = now.saturating_add(LIFETIME).div_ceil(3600).saturating_mul(3600);
        let signing_public = signing.verifying_key().to_bytes();
        let authentication_public = authentication.verifying_key().to_bytes();
        Self {
            id: identity.verifying_key().to_bytes(),
            signing_certificate: Certificate::issue(IDENTITY_SIGNING, &signing_public, expires, &identity, true),
            authentication_certificate: Certificate::issue(
                SIGNING_AUTH,
                &authentication_public,
                expires,
                &signing,
                false,
            ),
            signing,
            authentication,
            expires,
            rsa: None,
        }
    }

    /// The same relay with an RSA identity to show, for C tor's relays and clients.
    #[must_use]
    pub fn with_rsa(self, rsa: RsaIdentity) -> Self {
        Self { rsa: Some(rsa), ..self }
    }

    /// The context of the TLS exporter when this relay authenticates: CID, the digest of its RSA identity, or [`EXPORTER_CONTEXT`] if it has none.
    pub fn exporter_context(&self) -> &[u8; 32] {
        self.rsa.as_ref().map_or(&EXPORTER_CONTEXT, RsaIdentity::digest)
    }

    /// The certificate of type 4: the identity certifies the signing key. Descriptors of Tor's begin with it.
    pub fn signing_certificate(&self) -> &[u8] {
        &self.signing_certificate
    }

    /// Signs by the signing key. What is signed must begin with words that say what it is for, as a descriptor of Tor's does.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.signing.sign(message).to_bytes()
    }

    /// The public identity: directories and EXTEND2 name the relay by it.
    pub fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// Expiry of the certificates in seconds since 1970.
    pub fn expires(&self) -> u64 {
        self.expires
    }

    /// The CERTS cell of a responder, whose TLS certificate has this SHA-256 digest.
    pub(crate) fn responder_certs(&self, tls_certificate: &[u8; 32]) -> Certs {
        let link = Certificate::issue(SIGNING_LINK, tls_certificate, self.expires, &self.signing, false);
        self.certs(SIGNING_LINK, link)
    }

    /// The CERTS cell that an initiator sends before AUTHENTICATE.
    pub(crate) fn initiator_certs(&self) -> Certs {
        self.certs(SIGNING_AUTH, self.authentication_certificate.clone())
    }

    /// What both have, and one more.
    fn certs(&self, kind: u8, bytes: Vec<u8>) -> Certs {
        let entry = |kind, bytes: &[u8]| CertEntry { kind, bytes: bytes.to_vec() };
        let mut entries = Vec::new();
        if let Some(rsa) = &self.rsa {
            entries.extend([entry(RSA_IDENTITY, rsa.certificate()), entry(RSA_CROSS, rsa.cross_certificate())]);
        }
        entries.extend([entry(IDENTITY_SIGNING, &self.signing_certificate), CertEntry { kind, bytes }]);
        Certs::new(entries).expect("four certificates fit")
    }

    pub(super) fn sign_authentication(&self, body: &[u8]) -> [u8; 64] {
        self.authentication.sign(body).to_bytes()
    }
}

impl fmt::Debug for RelayIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayIdentity").field("id", &self.id).finish_non_exhaustive()
    }
}
