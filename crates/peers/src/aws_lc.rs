//! AWS-LC through `aws-lc-rs`, called as its users call it; curves and XChaCha20-Poly1305 by its C interface. The row that our own traits must be the same as.

#![cfg(feature = "peer-aws-lc")]

mod ec;
mod evp;
mod rsa;

use crate::contract;
use crate::contract::hash::{Algorithm, Shape};
use crate::contract::{aead, hash, kdf, mac, ml_kem, x25519};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use crate::ring_interface::ring_interface;
use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::digest;
use aws_lc_rs::kem::{self, Ciphertext, DecapsulationKey, EncapsulationKey, EncapsulationKeyBytes, SharedSecret};
use candor_lab::{Entry, Provenance, Refusal};

const PACKAGE: &str = "aws-lc-rs";

/// What aws_lc offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "AWS-LC, Amazon's fork of BoringSSL, with its Rust interface")]
    }

    fn ml_kem(&self, level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
        vec![ml_kem(level, op)]
    }

    fn x25519(&self, op: x25519::Op) -> Vec<Entry> {
        vec![x25519(op)]
    }

    fn ec(&self, curve: contract::ec::Curve, op: contract::ec::Op) -> Vec<Entry> {
        vec![ec::entry(curve, op)]
    }

    fn rsa(&self, size: contract::rsa::Size, op: contract::rsa::Op) -> Vec<Entry> {
        vec![rsa::entry(size, op)]
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        vec![hash(algorithm, shape)]
    }

    fn aead(&self, algorithm: aead::Algorithm, op: aead::Op, bytes: usize) -> Vec<Entry> {
        match algorithm {
            aead::Algorithm::XChaCha20Poly1305 => vec![evp::entry(op, bytes)],
            _ => vec![aead(algorithm, op, bytes)],
        }
    }

    fn aeads(&self, algorithm: aead::Algorithm) -> Vec<(String, Box<dyn aead::Aead>)> {
        match algorithm {
            aead::Algorithm::XChaCha20Poly1305 => {
                vec![(linked::subject(PACKAGE), Box::new(evp::XChaCha20Poly1305::new()))]
            }
            _ => aeads(algorithm),
        }
    }

    fn hmac(&self, hash: Algorithm, bytes: usize) -> Vec<Entry> {
        vec![hmac(hash, bytes)]
    }

    fn hkdf(&self) -> Vec<Entry> {
        vec![hkdf()]
    }
}

fn ml_kem(level: ml_kem::Level, op: ml_kem::Op) -> Entry {
    let algorithm = match level {
        ml_kem::Level::L512 => &kem::ML_KEM_512,
        ml_kem::Level::L768 => &kem::ML_KEM_768,
        ml_kem::Level::L1024 => &kem::ML_KEM_1024,
    };
    ml_kem::entry(linked::subject(PACKAGE), level, op, move || Ok(AwsLcKem(algorithm)))
}

fn x25519(op: x25519::Op) -> Entry {
    x25519::entry(linked::subject(PACKAGE), op, || Ok(AwsLcX25519))
}

fn hash(algorithm: Algorithm, shape: Shape) -> Entry {
    let digest = match algorithm {
        Algorithm::Sha256 => &digest::SHA256,
        Algorithm::Sha384 => &digest::SHA384,
        Algorithm::Sha512 => &digest::SHA512,
        Algorithm::Sha3_256 => &digest::SHA3_256,
        Algorithm::Sha3_512 => &digest::SHA3_512,
        other => return has_no(other.title()),
    };
    hash::entry(linked::subject(PACKAGE), shape, move || Ok(LibraryHash(digest)))
}

ring_interface!(aws_lc_rs);

/// The library's bytes of a public key, which give a slice in another way.
struct PublicBytes(EncapsulationKeyBytes<'static>);

impl AsRef<[u8]> for PublicBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

struct AwsLcKem(&'static kem::Algorithm<kem::AlgorithmId>);

impl ml_kem::MlKem for AwsLcKem {
    type Secret = DecapsulationKey;
    type Public = EncapsulationKey;
    type Encoded = PublicBytes;
    type Ciphertext = Ciphertext<'static>;
    type Shared = SharedSecret;

    fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), ml_kem::Failed> {
        let secret = DecapsulationKey::generate(self.0).map_err(|_| "DecapsulationKey::generate failed")?;
        let public = secret.encapsulation_key().map_err(|_| "DecapsulationKey::encapsulation_key failed")?;
        let encoded = public.key_bytes().map_err(|_| "EncapsulationKey::key_bytes failed")?;
        Ok((secret, PublicBytes(encoded)))
    }

    fn public(&self, encoded: &[u8]) -> Result<Self::Public, ml_kem::Failed> {
        EncapsulationKey::new(self.0, encoded).map_err(|_| "EncapsulationKey::new refuses the key")
    }

    fn encaps(&self, to: &Self::Public) -> Result<(Self::Ciphertext, Self::Shared), ml_kem::Failed> {
        to.encapsulate().map_err(|_| "EncapsulationKey::encapsulate failed")
    }

    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Self::Shared, ml_kem::Failed> {
        with.decapsulate(Ciphertext::from(ciphertext)).map_err(|_| "DecapsulationKey::decapsulate failed")
    }

    fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, ml_kem::Failed>> {
        Some(DecapsulationKey::new(self.0, expanded).map_err(|_| "DecapsulationKey::new refuses the key"))
    }

    fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>> {
        secret.key_bytes().ok().map(|bytes| bytes.as_ref().to_vec())
    }

    fn provenance(&self, op: ml_kem::Op) -> Provenance {
        let mut provenance = provenance(op.timed());
        provenance.arm = Some(linked::aws_lc_ml_kem_arm().into());
        provenance
    }
}

struct AwsLcX25519;

impl x25519::X25519 for AwsLcX25519 {
    type Secret = PrivateKey;
    type Encoded = agreement::PublicKey;
    type Shared = [u8; 32];

    fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), x25519::Failed> {
        let secret = PrivateKey::generate(&agreement::X25519).map_err(|_| "PrivateKey::generate failed")?;
        let public = secret.compute_public_key().map_err(|_| "PrivateKey::compute_public_key failed")?;
        Ok((secret, public))
    }

    fn ecdh(&self, secret: &Self::Secret, peer: &[u8; 32]) -> Result<Self::Shared, x25519::Failed> {
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer);
        let take = |shared: &[u8]| shared.try_into().map_err(|_| "the shared secret is not 32 bytes long");
        agreement::agree(secret, peer, "agreement::agree failed", take)
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<Self::Secret, x25519::Failed>> {
        let secret = PrivateKey::from_private_key(&agreement::X25519, bytes);
        Some(secret.map_err(|_| "PrivateKey::from_private_key refuses the key"))
    }

    fn provenance(&self, op: x25519::Op) -> Provenance {
        provenance(op.timed())
    }
}

/// The wrapper's package and, since the code that runs is in it, that of AWS-LC itself.
fn provenance(timed: &str) -> Provenance {
    let mut provenance = linked::provenance(PACKAGE, timed);
    let (version, checksum) = linked::package("aws-lc-sys");
    let library = linked::package_id("aws-lc-sys", version, checksum);
    provenance.commit = provenance.commit.map(|wrapper| format!("{wrapper}, {library}"));
    provenance.build = Some(format!("{}; AWS-LC by the build's C compiler, as aws-lc-sys asks it to", linked::build()));
    provenance.arm = Some("chosen by AWS-LC at run time, which does not tell which".into());
    provenance
}
