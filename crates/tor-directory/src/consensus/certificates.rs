//! The certificates that are known: of the authorities that are trusted, as long as they hold.

use super::Signature;
use crate::Error;
use crate::authorities::{Authorities, Identity, MOST_AUTHORITIES};
use crate::certificate::{AuthorityCertificate, MOST_CERTIFICATE, claimed};
use std::collections::BTreeMap;

/// Signing keys of one authority that are known at a time. It has one, and the one before.
const MOST_KEYS: usize = 8;

/// Certificates of trusted authorities. One that can't be read costs its authority's signature and no other: what was wrong with it stands in [`Error::UnderSigned`] if that is missed.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    /// By authority and signing key. An authority may certify a key again, for longer.
    good: BTreeMap<(Identity, [u8; 20]), AuthorityCertificate>,
    refused: BTreeMap<Identity, String>,
}

impl Certificates {
    /// Takes the certificates of a text, one behind the other, that are these authorities' and hold at `now`, in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::TooMany`]; [`Error::Syntax`] if the text does not begin with a certificate.
    pub fn take(&mut self, text: &str, authorities: &Authorities, now: u64) -> Result<(), Error> {
        let most = MOST_CERTIFICATE * MOST_AUTHORITIES;
        if text.len() > most {
            return Err(Error::TooLong { document: "answer with certificates", got: text.len(), most });
        }
        for piece in AuthorityCertificate::split(text)? {
            let read = AuthorityCertificate::parse(piece);
            let identity = read.as_ref().map_or_else(|_| claimed(piece), |read| Some(*read.identity()));
            let Some(identity) = identity.filter(|identity| authorities.contains(identity)) else { continue };
            match read {
                Ok(read) if read.holds_at(now) => self.keep(read),
                Ok(_) => self.refuse(identity, "the certificate of its signing key does not hold now".to_owned()),
                Err(error) => self.refuse(identity, error.to_string()),
            }
        }
        Ok(())
    }

    /// Notes why a certificate of that authority could not be had.
    pub fn refuse(&mut self, authority: Identity, why: String) {
        self.refused.insert(authority, why);
    }

    /// Forgets those that hold no longer, and why others could not be had.
    pub fn forget_ended(&mut self, now: u64) {
        self.good.retain(|_, certificate| certificate.holds_at(now));
        self.refused.clear();
    }

    /// Whether the key of that signature is certified at that time.
    pub fn has(&self, signature: &Signature, now: u64) -> bool {
        self.of(signature, now).is_ok()
    }

    /// The certificate of a signature's key, or why there is none.
    pub(crate) fn of(&self, signature: &Signature, now: u64) -> Result<&AuthorityCertificate, String> {
        let found = self.good.get(&(signature.identity, signature.signing_key));
        if let Some(certificate) = found.filter(|certificate| certificate.holds_at(now)) {
            return Ok(certificate);
        }
        let refused = self.refused.get(&signature.identity).map(|why| format!(": {why}"));
        Err(match (found, refused) {
            (Some(_), None) => "the certificate of its signing key does not hold now".to_owned(),
            (_, why) => format!("no certificate for its signing key{}", why.unwrap_or_default()),
        })
    }

    fn keep(&mut self, certificate: AuthorityCertificate) {
        let identity = *certificate.identity();
        let key = (identity, *certificate.signing_key_digest());
        if self.good.get(&key).is_some_and(|known| known.expires >= certificate.expires) {
            return;
        }
        self.good.insert(key, certificate);
        let its = || self.good.range((identity, [0; 20])..=(identity, [255; 20]));
        let first = its().min_by_key(|(_, certificate)| certificate.expires).map(|(key, _)| *key);
        if its().count() > MOST_KEYS {
            first.and_then(|key| self.good.remove(&key));
        }
    }
}
