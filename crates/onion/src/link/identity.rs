//! A relay's keys for links, and what it signs with them.

use super::certificate::{Certificate, IDENTITY_SIGNING, SIGNING_AUTH, SIGNING_LINK};
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
        }
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
        certs([(IDENTITY_SIGNING, self.signing_certificate.clone()), (SIGNING_LINK, link)])
    }

    /// The CERTS cell that an initiator sends before AUTHENTICATE.
    pub(crate) fn initiator_certs(&self) -> Certs {
        let authentication = self.authentication_certificate.clone();
        certs([(IDENTITY_SIGNING, self.signing_certificate.clone()), (SIGNING_AUTH, authentication)])
    }

    pub(super) fn sign_authentication(&self, body: &[u8]) -> [u8; 64] {
        self.authentication.sign(body).to_bytes()
    }
}

fn certs(list: [(u8, Vec<u8>); 2]) -> Certs {
    let entries = list.map(|(kind, bytes)| CertEntry { kind, bytes }).to_vec();
    Certs::new(entries).expect("two certificates of 150 bytes fit")
}

impl fmt::Debug for RelayIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayIdentity").field("id", &self.id).finish_non_exhaustive()
    }
}
