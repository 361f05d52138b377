//! ring: BoringSSL's cryptography with a Rust interface.

#![cfg(feature = "peer-ring")]

mod ec;
mod rsa;

use crate::contract::hash::{Algorithm, Shape};
use crate::contract::{self, BY_SYSTEM_CALL, aead, hash, kdf, mac, x25519};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use crate::ring_interface::ring_interface;
use candor_lab::{Entry, Provenance, Refusal};
use ring::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use ring::digest;
use ring::rand::SystemRandom;

const PACKAGE: &str = "ring";

/// Why agreement can't be measured.
const ONE_USE: &str =
    "makes private keys for a single use and can't import them, so its ecdh can't be timed without keygen";

/// What ring offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "cryptography of BoringSSL with a Rust interface")]
    }

    fn x25519(&self, op: x25519::Op) -> Vec<Entry> {
        vec![x25519(op)]
    }

    fn ec(&self, curve: contract::ec::Curve, op: contract::ec::Op) -> Vec<Entry> {
        vec![ec::ec(curve, op)]
    }

    fn rsa(&self, size: contract::rsa::Size, op: contract::rsa::Op) -> Vec<Entry> {
        vec![rsa::rsa(size, op)]
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        vec![hash(algorithm, shape)]
    }

    fn aead(&self, algorithm: aead::Algorithm, op: aead::Op, bytes: usize) -> Vec<Entry> {
        vec![aead(algorithm, op, bytes)]
    }

    fn aeads(&self, algorithm: aead::Algorithm) -> Vec<(String, Box<dyn aead::Aead>)> {
        aeads(algorithm)
    }

    fn hmac(&self, hash: Algorithm, bytes: usize) -> Vec<Entry> {
        vec![hmac(hash, bytes)]
    }

    fn hkdf(&self) -> Vec<Entry> {
        vec![hkdf()]
    }
}

/// Key generation only. ring's private keys can't be imported and serve one agreement each: an agreement alone can be
/// neither checked against a known answer nor timed without the key generation before it.
fn x25519(op: x25519::Op) -> Entry {
    match op {
        x25519::Op::Keygen => x25519::entry(linked::subject(PACKAGE), op, || Ok(Ring(SystemRandom::new()))),
        x25519::Op::Ecdh => Entry::refused(linked::subject(PACKAGE), Refusal::never(ONE_USE)),
    }
}

fn hash(algorithm: Algorithm, shape: Shape) -> Entry {
    let digest = match algorithm {
        Algorithm::Sha256 => &digest::SHA256,
        Algorithm::Sha384 => &digest::SHA384,
        Algorithm::Sha512 => &digest::SHA512,
        other => return has_no(other.title()),
    };
    hash::entry(linked::subject(PACKAGE), shape, move || Ok(LibraryHash(digest)))
}

ring_interface!(ring);

struct Ring(SystemRandom);

impl x25519::X25519 for Ring {
    type Secret = EphemeralPrivateKey;
    type Encoded = agreement::PublicKey;
    type Shared = [u8; 32];

    fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), x25519::Failed> {
        let secret = EphemeralPrivateKey::generate(&agreement::X25519, &self.0).map_err(|_| "no randomness")?;
        let public = secret.compute_public_key().map_err(|_| "compute_public_key failed")?;
        Ok((secret, public))
    }

    fn ecdh(&self, _secret: &Self::Secret, _peer: &[u8; 32]) -> Result<[u8; 32], x25519::Failed> {
        Err("a private key of ring's serves one agreement only")
    }

    fn ecdh_once(&self, secret: Self::Secret, peer: &[u8; 32]) -> Result<[u8; 32], x25519::Failed> {
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer);
        let take = |shared: &[u8]| shared.try_into().map_err(|_| "the shared secret is not 32 bytes long");
        agreement::agree_ephemeral(secret, &peer, take).map_err(|_| "agree_ephemeral failed")?
    }

    fn import(&self, _bytes: &[u8; 32]) -> Option<Result<Self::Secret, x25519::Failed>> {
        None
    }

    fn provenance(&self, op: x25519::Op) -> Provenance {
        provenance(op.timed()).telling((op == x25519::Op::Keygen).then_some(BY_SYSTEM_CALL))
    }
}

fn provenance(timed: &str) -> Provenance {
    let mut provenance = linked::provenance(PACKAGE, timed);
    provenance.build = Some(format!("{}; its C by the build's C compiler, as ring asks it to", linked::build()));
    provenance.arm = Some("chosen by ring at run time, which does not tell which".into());
    provenance
}
