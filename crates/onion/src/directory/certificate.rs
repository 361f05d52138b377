//! Authorities: their identities, the keys that sign for them, and how many must have signed.

use super::keys::{Label, digest_of};
use super::{Fingerprint, InvalidDocument, PublicKey, SecretKey, Signature};
use crate::Error;
use crate::parts::Parts;
use alloc::vec::Vec;

/// An authority's identity says which key signs for it, and for how long. So the signing key can change while clients go on knowing the
/// identity; certificates of the old key and the new one overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The authority's lasting key. Clients know its fingerprint.
    pub identity: PublicKey,
    /// The key that signs views and consensuses.
    pub signing: PublicKey,
    /// From when the signing key may be used, in seconds since 1970.
    pub from: u64,
    /// Until when.
    pub until: u64,
    signature: Signature,
}

impl Certificate {
    /// Bytes of its encoding.
    pub const LENGTH: usize = 2 * PublicKey::LENGTH + 16 + Signature::LENGTH;

    /// Certifies a signing key.
    ///
    /// # Errors
    /// [`Error::Directory`] if AWS-LC fails.
    pub fn issue(identity: &SecretKey, signing: &PublicKey, from: u64, until: u64) -> Result<Self, Error> {
        let body = Self::body(identity.public(), signing, from, until);
        let signature = identity.sign(Label::Certificate, &digest_of(&body))?;
        Ok(Self { identity: identity.public().clone(), signing: signing.clone(), from, until, signature })
    }

    fn body(identity: &PublicKey, signing: &PublicKey, from: u64, until: u64) -> Vec<u8> {
        let mut body = Vec::with_capacity(Self::LENGTH);
        identity.encode(&mut body);
        signing.encode(&mut body);
        body.extend_from_slice(&from.to_be_bytes());
        body.extend_from_slice(&until.to_be_bytes());
        body
    }

    /// Appends IDENTITY 1984 | SIGNING 1984 | FROM 8 | UNTIL 8 | SIGNATURE 3373.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::body(&self.identity, &self.signing, self.from, self.until));
        self.signature.encode(out);
    }

    pub(super) fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        let (identity, signing) = (PublicKey::decode(parts)?, PublicKey::decode(parts)?);
        let (from, until) = (parts.u64()?, parts.u64()?);
        Ok(Self { identity, signing, from, until, signature: Signature::decode(parts)? })
    }

    /// That the identity has signed it, and that it holds at `at`.
    fn verify(&self, at: u64) -> Result<(), Error> {
        if at < self.from || at >= self.until {
            return Err(InvalidDocument::CertificateTime { from: self.from, until: self.until, at }.into());
        }
        let body = Self::body(&self.identity, &self.signing, self.from, self.until);
        self.identity.verify(Label::Certificate, &digest_of(&body), &self.signature)
    }
}

/// An authority's signature of a view or a consensus, with the certificate of the key that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endorsement {
    certificate: Certificate,
    signature: Signature,
}

impl Endorsement {
    /// Bytes of its encoding.
    pub const LENGTH: usize = Certificate::LENGTH + Signature::LENGTH;

    pub(super) fn sign(
        label: Label,
        digest: &[u8; 64],
        key: &SecretKey,
        certificate: &Certificate,
    ) -> Result<Self, Error> {
        if certificate.signing != *key.public() {
            return Err(InvalidDocument::field("authority certificate", "is for another signing key").into());
        }
        Ok(Self { certificate: certificate.clone(), signature: key.sign(label, digest)? })
    }

    /// The authority's fingerprint.
    pub fn authority(&self) -> Fingerprint {
        self.certificate.identity.fingerprint()
    }

    /// CERTIFICATE | SIGNATURE.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.certificate.encode(out);
        self.signature.encode(out);
    }

    pub(super) fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        Ok(Self { certificate: Certificate::decode(parts)?, signature: Signature::decode(parts)? })
    }

    /// Reads one that stands alone.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode(&mut Parts::of("endorsement", bytes, Self::LENGTH, false)?)
    }

    /// That the authority has signed the document with this digest, by a key that held at `at`.
    pub(super) fn verify(&self, label: Label, digest: &[u8; 64], at: u64) -> Result<(), Error> {
        self.certificate.verify(at)?;
        self.certificate.signing.verify(label, digest, &self.signature)
    }
}

/// The authorities that somebody trusts: so many of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorities {
    known: Vec<Fingerprint>,
    threshold: usize,
}

impl Authorities {
    /// These authorities, `threshold` of which make a consensus. It must be more than half of them: then two consensuses of the same moment
    /// have a signer in common, and no honest authority signs two.
    ///
    /// # Errors
    /// [`InvalidDocument::Threshold`].
    pub fn new(mut known: Vec<Fingerprint>, threshold: usize) -> Result<Self, Error> {
        known.sort_unstable();
        known.dedup();
        if threshold > known.len() || 2 * threshold <= known.len() {
            return Err(InvalidDocument::Threshold { threshold, authorities: known.len() }.into());
        }
        Ok(Self { known, threshold })
    }

    /// More than half of them, and no more than that.
    pub fn majority(count: usize) -> usize {
        count / 2 + 1
    }

    /// Their fingerprints, ascending.
    pub fn known(&self) -> &[Fingerprint] {
        &self.known
    }

    /// How many must have signed.
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// Whether that is one of them.
    pub fn contains(&self, authority: &Fingerprint) -> bool {
        self.known.binary_search(authority).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_more_than_half_and_no_more_than_all() {
        for (count, threshold, good) in [
            (1, 1, true),
            (3, 2, true),
            (3, 3, true),
            (4, 3, true),
            (4, 2, false),
            (3, 1, false),
            (3, 4, false),
            (0, 0, false),
        ] {
            let known = (0..count).map(|index| [index; 32]).collect();
            assert_eq!(Authorities::new(known, threshold).is_ok(), good, "{threshold} of {count}");
        }
        assert!(Authorities::new(vec![[1; 32]; 3], 2).is_err(), "one authority thrice");
        assert_eq!([1, 2, 3, 4, 5, 9].map(Authorities::majority), [1, 2, 2, 3, 3, 5]);
    }

    #[test]
    fn a_signing_key_signs_while_its_certificate_holds() {
        let [identity, signing, other] = [1, 2, 3].map(|seed| SecretKey::from_seeds(&[seed; 32], &[seed; 32]).unwrap());
        let certificate = Certificate::issue(&identity, signing.public(), 100, 200).unwrap();
        let digest = digest_of(b"document");
        let good = Endorsement::sign(Label::View, &digest, &signing, &certificate).unwrap();
        assert_eq!(good.authority(), identity.public().fingerprint());
        for at in [100, 199] {
            good.verify(Label::View, &digest, at).unwrap();
        }
        for at in [99, 200] {
            let refused = InvalidDocument::CertificateTime { from: 100, until: 200, at };
            assert_eq!(good.verify(Label::View, &digest, at), Err(refused.into()));
        }
        assert!(Endorsement::sign(Label::View, &digest, &other, &certificate).is_err(), "not the certified key");

        let mut forged = good.clone();
        forged.certificate.until = 300;
        assert!(forged.verify(Label::View, &digest, 150).is_err(), "a certificate that was prolonged");
        forged = good.clone();
        forged.certificate = Certificate::issue(&other, signing.public(), 100, 200).unwrap();
        forged.verify(Label::View, &digest, 150).unwrap();
        assert_ne!(forged.authority(), good.authority(), "it is another authority's then");

        let mut bytes = Vec::new();
        good.encode(&mut bytes);
        assert_eq!(bytes.len(), Endorsement::LENGTH);
        assert_eq!(Endorsement::from_bytes(&bytes).as_ref(), Ok(&good));
        assert!(Endorsement::from_bytes(&bytes[1..]).is_err());
    }
}
