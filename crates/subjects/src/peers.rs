//! Everyone candor is measured against, one file each.
//!
//! `unsafe` is allowed here, and only where a library is loaded at run time or a C function is called.

use crate::linked;
use crate::tasks::hash::{Algorithm, Shape};
use crate::tasks::{gf2, gf2m, ml_kem, ntor, opaque, oprf, x25519};
use candor_lab::Entry;
use candor_primitives::ksf;
use serde::Serialize;
use std::path::PathBuf;

pub mod insecure_seed;
pub(crate) mod layout;

#[cfg(feature = "peer-argon2-rust")]
mod argon2_rust;
#[cfg(feature = "peer-aws-lc")]
mod aws_lc;
#[cfg(feature = "peer-blake2b-simd")]
mod blake2b_simd;
#[cfg(any(feature = "peer-openssl", feature = "peer-gf2x", feature = "peer-libgcrypt", feature = "peer-libsodium"))]
mod built;
#[cfg(feature = "peer-dalek")]
mod dalek;
#[cfg(any(feature = "peer-openssl", feature = "peer-gf2x", feature = "peer-libgcrypt", feature = "peer-libsodium"))]
mod find;
#[cfg(feature = "peer-gf2x")]
mod gf2x;
#[cfg(feature = "peer-graviola")]
mod graviola;
#[cfg(feature = "peer-libcrux")]
mod libcrux;
#[cfg(feature = "peer-libgcrypt")]
mod libgcrypt;
#[cfg(feature = "peer-liboqs")]
mod liboqs;
#[cfg(feature = "peer-libsm")]
mod libsm;
#[cfg(feature = "peer-libsodium")]
mod libsodium;
#[cfg(feature = "peer-gf2x")]
mod ntl;
#[cfg(feature = "peer-opaque-ke")]
mod opaque_ke;
#[cfg(feature = "peer-openssl")]
mod openssl;
#[cfg(feature = "peer-ring")]
mod ring;
#[cfg(any(feature = "peer-aws-lc", feature = "peer-ring"))]
mod ring_interface;
#[cfg(feature = "peer-argon2")]
mod rustcrypto_argon2;
#[cfg(feature = "peer-rustcrypto-hash")]
mod rustcrypto_hash;
#[cfg(feature = "peer-ml-kem")]
mod rustcrypto_ml_kem;
#[cfg(any(feature = "peer-gf2x", feature = "peer-libgcrypt", feature = "peer-liboqs", feature = "peer-libsodium"))]
mod shared_object;
#[cfg(feature = "peer-opaque-ke")]
mod voprf;

/// Someone else's library, and whether it can be measured here.
#[derive(Clone, Debug, Serialize)]
pub struct Peer {
    /// The name that its subjects carry: `ring-0.17.14`. Without a version where none was found.
    pub name: String,
    /// The library.
    pub library: String,
    /// What it is, in a line.
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
    /// There, but of no use.
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

/// All peers, with their state here.
pub(crate) fn all() -> Vec<Peer> {
    let mut peers = Vec::new();
    /// One line per peer: its feature, its package, and its module's function.
    macro_rules! linked_peers {
        ($($feature:literal, $library:literal, $module:ident;)+) => {$(
            #[cfg(feature = $feature)]
            peers.push($module::peer());
            #[cfg(not(feature = $feature))]
            peers.push(off($library, $feature));
        )+};
    }
    linked_peers! {
        "peer-argon2", "argon2", rustcrypto_argon2;
        "peer-argon2-rust", "argon2-rust", argon2_rust;
        "peer-aws-lc", "aws-lc-rs", aws_lc;
        "peer-graviola", "graviola", graviola;
        "peer-libcrux", "libcrux-ml-kem", libcrux;
        "peer-ml-kem", "ml-kem", rustcrypto_ml_kem;
        "peer-opaque-ke", "opaque-ke", opaque_ke;
        "peer-opaque-ke", "voprf", voprf;
        "peer-ring", "ring", ring;
        "peer-blake2b-simd", "blake2b_simd", blake2b_simd;
        "peer-libsm", "libsm", libsm;
    }
    /// The same for modules that stand for several: versions side by side, or packages of one family.
    macro_rules! families_of_peers {
        ($($feature:literal, $library:literal, $module:ident;)+) => {$(
            #[cfg(feature = $feature)]
            peers.extend($module::peers());
            #[cfg(not(feature = $feature))]
            peers.push(off($library, $feature));
        )+};
    }
    families_of_peers! {
        "peer-rustcrypto-hash", "sha2", rustcrypto_hash;
        "peer-dalek", "x25519-dalek", dalek;
        "peer-openssl", "openssl", openssl;
        "peer-libgcrypt", "libgcrypt", libgcrypt;
        "peer-libsodium", "libsodium", libsodium;
        "peer-liboqs", "liboqs", liboqs;
        "peer-gf2x", "gf2x", gf2x;
        "peer-gf2x", "ntl", ntl;
    }
    peers
}

/// The peers' entries for ML-KEM.
pub(crate) fn ml_kem(level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
    let _ = (level, op); // Unused where all peers are left out.
    flat([
        #[cfg(feature = "peer-aws-lc")]
        vec![aws_lc::ml_kem(level, op)],
        #[cfg(feature = "peer-libcrux")]
        vec![libcrux::ml_kem(level, op)],
        #[cfg(feature = "peer-ml-kem")]
        vec![rustcrypto_ml_kem::ml_kem(level, op)],
        #[cfg(feature = "peer-graviola")]
        vec![graviola::ml_kem(level, op)],
        #[cfg(feature = "peer-openssl")]
        openssl::ml_kem(level, op),
    ])
}

/// The peers' entries for X25519.
pub(crate) fn x25519(op: x25519::Op) -> Vec<Entry> {
    let _ = op;
    flat([
        #[cfg(feature = "peer-aws-lc")]
        vec![aws_lc::x25519(op)],
        #[cfg(feature = "peer-graviola")]
        vec![graviola::x25519(op)],
        #[cfg(feature = "peer-dalek")]
        vec![dalek::x25519(op)],
        #[cfg(feature = "peer-ring")]
        vec![ring::x25519(op)],
        #[cfg(feature = "peer-openssl")]
        openssl::x25519(op),
    ])
}

/// The peers' entries for a hash function.
pub(crate) fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    let _ = (algorithm, shape);
    flat([
        #[cfg(feature = "peer-aws-lc")]
        vec![aws_lc::hash(algorithm, shape)],
        #[cfg(feature = "peer-ring")]
        vec![ring::hash(algorithm, shape)],
        #[cfg(feature = "peer-rustcrypto-hash")]
        vec![rustcrypto_hash::hash(algorithm, shape)],
        #[cfg(feature = "peer-graviola")]
        vec![graviola::hash(algorithm, shape)],
        #[cfg(feature = "peer-openssl")]
        openssl::hash(algorithm, shape),
        #[cfg(feature = "peer-libgcrypt")]
        libgcrypt::hash(algorithm, shape),
        #[cfg(feature = "peer-libsodium")]
        libsodium::hash(algorithm, shape),
        #[cfg(feature = "peer-blake2b-simd")]
        blake2b_simd::hash(algorithm, shape),
        #[cfg(feature = "peer-libsm")]
        libsm::hash(algorithm, shape),
    ])
}

/// The peers' entries for HMAC over a hash function.
pub(crate) fn hmac(hash: Algorithm, bytes: usize) -> Vec<Entry> {
    let _ = (hash, bytes);
    flat([
        #[cfg(feature = "peer-aws-lc")]
        vec![aws_lc::hmac(hash, bytes)],
        #[cfg(feature = "peer-ring")]
        vec![ring::hmac(hash, bytes)],
        #[cfg(feature = "peer-rustcrypto-hash")]
        vec![rustcrypto_hash::hmac(hash, bytes)],
        #[cfg(feature = "peer-graviola")]
        vec![graviola::hmac(hash, bytes)],
        #[cfg(feature = "peer-openssl")]
        openssl::hmac(hash, bytes),
        #[cfg(feature = "peer-libgcrypt")]
        libgcrypt::hmac(hash, bytes),
    ])
}

/// The peers' entries for HKDF over SHA-256.
pub(crate) fn hkdf() -> Vec<Entry> {
    flat([
        #[cfg(feature = "peer-aws-lc")]
        vec![aws_lc::hkdf()],
        #[cfg(feature = "peer-ring")]
        vec![ring::hkdf()],
        #[cfg(feature = "peer-rustcrypto-hash")]
        vec![rustcrypto_hash::hkdf()],
        #[cfg(feature = "peer-graviola")]
        vec![graviola::hkdf()],
        #[cfg(feature = "peer-openssl")]
        openssl::hkdf(),
        #[cfg(feature = "peer-libgcrypt")]
        libgcrypt::hkdf(),
    ])
}

/// The peers' entries for Argon2id.
pub(crate) fn argon2id(params: ksf::Params) -> Vec<Entry> {
    let _ = params;
    flat([
        #[cfg(feature = "peer-libsodium")]
        libsodium::argon2id(params),
        #[cfg(feature = "peer-argon2")]
        rustcrypto_argon2::argon2id(params),
        #[cfg(feature = "peer-argon2-rust")]
        vec![argon2_rust::argon2id(params)],
    ])
}

/// The peers' entries for OPAQUE.
pub(crate) fn opaque(suite: opaque::Suite, op: opaque::Op) -> Vec<Entry> {
    let _ = (suite, op);
    flat([
        #[cfg(feature = "peer-opaque-ke")]
        opaque_ke::opaque(suite, op),
    ])
}

/// The peers' entries for the OPRF below OPAQUE.
pub(crate) fn oprf(op: oprf::Op) -> Vec<Entry> {
    let _ = op;
    flat([
        #[cfg(feature = "peer-opaque-ke")]
        vec![voprf::oprf(op)],
    ])
}

/// The peers' entries for the key exchange below OPAQUE.
pub(crate) fn ristretto(op: opaque::parts::Op) -> Vec<Entry> {
    let _ = op;
    flat([
        #[cfg(feature = "peer-opaque-ke")]
        vec![opaque_ke::ristretto(op)],
        #[cfg(feature = "peer-dalek")]
        vec![dalek::ristretto(op)],
        #[cfg(feature = "peer-libsodium")]
        libsodium::ristretto(op),
    ])
}

/// The peers' entries for a handshake; the original's scheme stands beside the hybrid of its level, and in
/// a task of its own on the libraries that the original used.
pub(crate) fn ntor(kind: ntor::Kind) -> Vec<Entry> {
    match kind {
        ntor::Kind::Hybrid(level) => vec![insecure_seed::beside(level)],
        #[cfg(feature = "peer-liboqs")]
        ntor::Kind::InsecureSeed(level) => liboqs::insecure_seed(level),
        _ => Vec::new(),
    }
}

/// The peers' entries for products of binary polynomials.
pub(crate) fn gf2(words: usize, work: gf2::Work) -> Vec<Entry> {
    let _ = (words, work);
    flat([
        #[cfg(feature = "peer-gf2x")]
        gf2x::products(words, work),
    ])
}

/// The peers' entries for an operation in a field GF(2^m).
pub(crate) fn gf2m(modulus: gf2m::Modulus, op: gf2m::Op) -> Vec<Entry> {
    let _ = (modulus, op);
    flat([
        #[cfg(feature = "peer-gf2x")]
        ntl::entries(modulus, op),
    ])
}

/// Everyone who multiplies binary polynomials of any length.
pub(crate) fn gf2_products() -> Vec<(String, Box<dyn gf2::Product>)> {
    #[cfg(feature = "peer-gf2x")]
    return gf2x::multipliers().into_iter().chain(ntl::product()).collect();
    #[cfg(not(feature = "peer-gf2x"))]
    Vec::new()
}

/// gf2x's own routine for a product of `words` words.
pub(crate) fn gf2_inlined(words: usize) -> Option<(String, Box<dyn gf2::Loop>)> {
    let _ = words;
    #[cfg(feature = "peer-gf2x")]
    return gf2x::inlined(words);
    #[cfg(not(feature = "peer-gf2x"))]
    None
}

/// NTL modulo the polynomial with these exponents, the degree first.
pub(crate) fn gf2_field(exponents: &[usize]) -> Option<(String, Box<dyn gf2m::Field>)> {
    let _ = exponents;
    #[cfg(feature = "peer-gf2x")]
    return ntl::field(exponents);
    #[cfg(not(feature = "peer-gf2x"))]
    None
}

fn flat<const N: usize>(entries: [Vec<Entry>; N]) -> Vec<Entry> {
    entries.into_iter().flatten().collect()
}

/// A peer that is part of this program.
fn linked_peer(package: &str, what: &'static str) -> Peer {
    let version = linked::package(package).0.to_owned();
    Peer { name: linked::subject(package), library: package.into(), what, state: PeerState::Linked { version } }
}

/// A peer that this build has left out.
#[cfg_attr(feature = "peers", allow(dead_code))]
fn off(library: &str, feature: &'static str) -> Peer {
    Peer {
        name: library.into(),
        library: library.into(),
        what: "left out of this build",
        state: PeerState::Off { feature },
    }
}
