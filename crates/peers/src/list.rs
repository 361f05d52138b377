//! The list of peers, and what each offers.

use crate::contract::hash::{Algorithm, Shape};
use crate::contract::ksf::Store;
use crate::contract::{aead, cipher, ec, gf2, gf2m, hqc, kem, mceliece, ml_kem, ntor, opaque, oprf, rsa, sm2, x25519};
use crate::linked;
use candor_lab::{Entry, Imported};
use candor_primitives::ksf::Params;
use serde::Serialize;
use std::path::PathBuf;

/// What a library offers: a method for each contract that it implements. The default of each offers nothing.
///
/// If a library is expected to do the work but can't, it returns an entry that says so ([`Entry::refused`]).
#[allow(unused_variables)] // the arguments of what is not offered
pub(crate) trait Offers: Sync {
    /// The names under which it is listed: versions side by side, or packages of one family.
    fn peers(&self) -> Vec<Peer>;

    /// ML-KEM.
    fn ml_kem(&self, level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// ML-KEM, if parsed keys hold the expanded matrix and the key's hash ([`ml_kem::Prepared`]).
    fn ml_kem_prepared(&self, level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// HQC.
    fn hqc(&self, level: hqc::Level, op: kem::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// The code below HQC.
    fn hqc_decode(&self, level: hqc::Level) -> Vec<Entry> {
        Vec::new()
    }

    /// Classic McEliece.
    fn mceliece(&self, set: mceliece::Set, op: kem::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// Decoding below Classic McEliece.
    fn mceliece_decode(&self, set: mceliece::Set) -> Vec<Entry> {
        Vec::new()
    }

    /// X25519.
    fn x25519(&self, op: x25519::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// ECDSA and ECDH on a curve.
    fn ec(&self, curve: ec::Curve, op: ec::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// RSA with keys of a size.
    fn rsa(&self, size: rsa::Size, op: rsa::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// SM2.
    fn sm2(&self, op: sm2::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// A hash function.
    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        Vec::new()
    }

    /// A hash function of several messages in one call; the subjects' names end in `+batch`.
    fn hash_batch(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        Vec::new()
    }

    /// SHA-256 of a file of so many bytes by a program.
    fn file_sha256(&self, bytes: u64) -> Vec<Entry> {
        Vec::new()
    }

    /// An AEAD, for messages of so many bytes.
    fn aead(&self, algorithm: aead::Algorithm, op: aead::Op, bytes: usize) -> Vec<Entry> {
        Vec::new()
    }

    /// An AEAD itself, by the name of the library, to compare many answers with. It has no key yet.
    fn aeads(&self, algorithm: aead::Algorithm) -> Vec<(String, Box<dyn aead::Aead>)> {
        Vec::new()
    }

    /// HMAC over a hash function, for messages of so many bytes.
    fn hmac(&self, hash: Algorithm, bytes: usize) -> Vec<Entry> {
        Vec::new()
    }

    /// SM4 in a mode without authentication.
    fn cipher(&self, mode: cipher::Mode, op: cipher::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// That cipher itself, by the name of the library, to compare many answers with. It has no key yet.
    fn ciphers(&self, mode: cipher::Mode) -> Vec<(String, Box<dyn cipher::Cipher>)> {
        Vec::new()
    }

    /// HKDF over SHA-256.
    fn hkdf(&self) -> Vec<Entry> {
        Vec::new()
    }

    /// Argon2id.
    fn argon2id(&self, params: Params, store: Store) -> Vec<Entry> {
        Vec::new()
    }

    /// OPAQUE; `reference` checks its logins.
    fn opaque(&self, suite: opaque::Suite, op: opaque::Op, reference: &'static dyn opaque::Reference) -> Vec<Entry> {
        Vec::new()
    }

    /// The OPRF below OPAQUE.
    fn oprf(&self, op: oprf::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// The key exchange below OPAQUE.
    fn ristretto(&self, op: opaque::parts::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// A circuit handshake.
    fn ntor(&self, kind: ntor::Kind) -> Vec<Entry> {
        Vec::new()
    }

    /// What a tool of its own found of a task's work here, or an entry that says why there is nothing.
    fn imported(&self, task: &str) -> Option<Result<Imported, Entry>> {
        None
    }

    /// Products of binary polynomials.
    fn gf2(&self, words: usize, work: gf2::Work) -> Vec<Entry> {
        Vec::new()
    }

    /// An operation in a field GF(2^m).
    fn gf2m(&self, modulus: gf2m::Modulus, op: gf2m::Op) -> Vec<Entry> {
        Vec::new()
    }

    /// What multiplies binary polynomials of any length, by name.
    fn gf2_products(&self) -> Vec<(String, Box<dyn gf2::Product>)> {
        Vec::new()
    }

    /// Its own routine for products of so many words.
    fn gf2_inlined(&self, words: usize) -> Option<(String, Box<dyn gf2::Loop>)> {
        None
    }

    /// Arithmetic modulo the polynomial with these exponents, the degree first.
    fn gf2_field(&self, exponents: &[usize]) -> Option<(String, Box<dyn gf2m::Field>)> {
        None
    }
}

// The features of Cargo.toml, each with its module's `Offer` where it is on.
include!(concat!(env!("OUT_DIR"), "/offers.rs"));

fn all() -> impl Iterator<Item = &'static dyn Offers> {
    OFFERS.iter().filter_map(|(_, offer)| *offer)
}

/// All peers, with their state here.
#[must_use]
pub fn peers() -> Vec<Peer> {
    let of = |(feature, offer): &(&'static str, Option<&dyn Offers>)| match offer {
        Some(offer) => offer.peers(),
        None => vec![off(feature)],
    };
    OFFERS.iter().flat_map(of).collect()
}

/// The peers' entries for ML-KEM.
#[must_use]
pub fn ml_kem(level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.ml_kem(level, op)).collect()
}

/// The peers' entries for ML-KEM where parsed keys hold the expanded matrix.
#[must_use]
pub fn ml_kem_prepared(level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.ml_kem_prepared(level, op)).collect()
}

/// The peers' entries for HQC.
#[must_use]
pub fn hqc(level: hqc::Level, op: kem::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.hqc(level, op)).collect()
}

/// The peers' entries for decoding HQC's code.
#[must_use]
pub fn hqc_decode(level: hqc::Level) -> Vec<Entry> {
    all().flat_map(|peer| peer.hqc_decode(level)).collect()
}

/// The peers' entries for Classic McEliece.
#[must_use]
pub fn mceliece(set: mceliece::Set, op: kem::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.mceliece(set, op)).collect()
}

/// The peers' entries for decoding below Classic McEliece.
#[must_use]
pub fn mceliece_decode(set: mceliece::Set) -> Vec<Entry> {
    all().flat_map(|peer| peer.mceliece_decode(set)).collect()
}

/// The peers' entries for X25519.
#[must_use]
pub fn x25519(op: x25519::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.x25519(op)).collect()
}

/// The peers' entries for ECDSA and ECDH on a curve.
#[must_use]
pub fn ec(curve: ec::Curve, op: ec::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.ec(curve, op)).collect()
}

/// The peers' entries for RSA with keys of a size.
#[must_use]
pub fn rsa(size: rsa::Size, op: rsa::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.rsa(size, op)).collect()
}

/// The peers' entries for SM2.
#[must_use]
pub fn sm2(op: sm2::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.sm2(op)).collect()
}

/// The peers' entries for a hash function.
#[must_use]
pub fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    all().flat_map(|peer| peer.hash(algorithm, shape)).collect()
}

/// The peers' entries for a hash function of several messages in one call.
#[must_use]
pub fn hash_batch(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    all().flat_map(|peer| peer.hash_batch(algorithm, shape)).collect()
}

/// The peers' entries for SHA-256 of a file of so many bytes by a program.
#[must_use]
pub fn file_sha256(bytes: u64) -> Vec<Entry> {
    all().flat_map(|peer| peer.file_sha256(bytes)).collect()
}

/// The peers' entries for an AEAD, for messages of so many bytes.
#[must_use]
pub fn aead(algorithm: aead::Algorithm, op: aead::Op, bytes: usize) -> Vec<Entry> {
    all().flat_map(|peer| peer.aead(algorithm, op, bytes)).collect()
}

/// The libraries that give their AEAD for such comparisons, by name.
#[must_use]
pub fn aeads(algorithm: aead::Algorithm) -> Vec<(String, Box<dyn aead::Aead>)> {
    all().flat_map(|peer| peer.aeads(algorithm)).collect()
}

/// The peers' entries for HMAC over a hash function, for messages of so many bytes.
#[must_use]
pub fn hmac(hash: Algorithm, bytes: usize) -> Vec<Entry> {
    all().flat_map(|peer| peer.hmac(hash, bytes)).collect()
}

/// The peers' entries for SM4 in a mode without authentication.
#[must_use]
pub fn cipher(mode: cipher::Mode, op: cipher::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.cipher(mode, op)).collect()
}

/// The libraries in C that give their SM4 for such comparisons, by name.
#[must_use]
pub fn ciphers(mode: cipher::Mode) -> Vec<(String, Box<dyn cipher::Cipher>)> {
    all().flat_map(|peer| peer.ciphers(mode)).collect()
}

/// The peers' entries for HKDF over SHA-256.
#[must_use]
pub fn hkdf() -> Vec<Entry> {
    all().flat_map(|peer| peer.hkdf()).collect()
}

/// The peers' entries for Argon2id.
#[must_use]
pub fn argon2id(params: Params, store: Store) -> Vec<Entry> {
    all().flat_map(|peer| peer.argon2id(params, store)).collect()
}

/// The peers' entries for OPAQUE; `reference` checks their logins.
#[must_use]
pub fn opaque(suite: opaque::Suite, op: opaque::Op, reference: &'static dyn opaque::Reference) -> Vec<Entry> {
    all().flat_map(|peer| peer.opaque(suite, op, reference)).collect()
}

/// The peers' entries for the OPRF below OPAQUE.
#[must_use]
pub fn oprf(op: oprf::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.oprf(op)).collect()
}

/// The peers' entries for the key exchange below OPAQUE.
#[must_use]
pub fn ristretto(op: opaque::parts::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.ristretto(op)).collect()
}

/// The peers' entries for a circuit handshake.
#[must_use]
pub fn ntor(kind: ntor::Kind) -> Vec<Entry> {
    all().flat_map(|peer| peer.ntor(kind)).collect()
}

/// What the peers' own tools found of a task's work here, or entries that say why there is nothing.
#[must_use]
pub fn imported(task: &str) -> Vec<Result<Imported, Entry>> {
    all().filter_map(|peer| peer.imported(task)).collect()
}

/// The peers' entries for products of binary polynomials.
#[must_use]
pub fn gf2(words: usize, work: gf2::Work) -> Vec<Entry> {
    all().flat_map(|peer| peer.gf2(words, work)).collect()
}

/// The peers' entries for an operation in a field GF(2^m).
#[must_use]
pub fn gf2m(modulus: gf2m::Modulus, op: gf2m::Op) -> Vec<Entry> {
    all().flat_map(|peer| peer.gf2m(modulus, op)).collect()
}

/// The libraries that multiply binary polynomials of any length, by name.
#[must_use]
pub fn gf2_products() -> Vec<(String, Box<dyn gf2::Product>)> {
    all().flat_map(|peer| peer.gf2_products()).collect()
}

/// A library's own routine for products of `words` words.
#[must_use]
pub fn gf2_inlined(words: usize) -> Option<(String, Box<dyn gf2::Loop>)> {
    all().find_map(|peer| peer.gf2_inlined(words))
}

/// Arithmetic modulo the polynomial with these exponents, the degree first.
#[must_use]
pub fn gf2_field(exponents: &[usize]) -> Option<(String, Box<dyn gf2m::Field>)> {
    all().find_map(|peer| peer.gf2_field(exponents))
}

/// Someone else's library, and whether it can be measured here.
#[derive(Clone, Debug, Serialize)]
pub struct Peer {
    /// The name that its subjects carry: `ring-0.17.14`. Without a version where none was found.
    pub name: String,
    /// The library.
    pub library: String,
    /// A description in one line.
    pub what: &'static str,
    /// Whether it can be measured here.
    #[serde(flatten)]
    pub state: PeerState,
}

/// Whether a peer can be measured here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PeerState {
    /// Part of this program.
    Linked {
        /// Its version, from Cargo.lock.
        version: String,
    },
    /// Found on this machine and loaded at run time.
    Found {
        /// Its version, as it tells it.
        version: String,
        /// Where.
        path: PathBuf,
    },
    /// Found, but unusable.
    Refused {
        /// Why.
        reason: String,
    },
    /// Not on this machine.
    Missing {
        /// How to get it.
        how: String,
    },
    /// Left out of this build.
    Off {
        /// The cargo feature that brings it in.
        feature: &'static str,
    },
}

/// A peer that is part of this program.
pub(crate) fn linked_peer(package: &str, what: &'static str) -> Peer {
    let version = linked::package(package).0.to_owned();
    Peer { name: linked::subject(package), library: package.into(), what, state: PeerState::Linked { version } }
}

/// A peer that this build has left out.
fn off(feature: &'static str) -> Peer {
    let library = feature.trim_start_matches("peer-").to_owned();
    Peer { name: library.clone(), library, what: "left out of this build", state: PeerState::Off { feature } }
}
