//! Everyone candor is measured against, one file each.
//!
//! `unsafe` is allowed here, and only where a library is loaded at run time or a C function is called.

use crate::linked;
use crate::tasks::{ml_kem, ntor, x25519};
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
#[cfg(feature = "peer-dalek")]
mod dalek;
#[cfg(any(feature = "peer-openssl", feature = "peer-libsodium"))]
mod find;
#[cfg(feature = "peer-graviola")]
mod graviola;
#[cfg(feature = "peer-libcrux")]
mod libcrux;
#[cfg(feature = "peer-liboqs")]
mod liboqs;
#[cfg(feature = "peer-libsodium")]
mod libsodium;
#[cfg(feature = "peer-openssl")]
mod openssl;
#[cfg(feature = "peer-ring")]
mod ring;
#[cfg(feature = "peer-argon2")]
mod rustcrypto_argon2;
#[cfg(feature = "peer-ml-kem")]
mod rustcrypto_ml_kem;
#[cfg(feature = "peer-sha2")]
mod rustcrypto_sha2;

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
        "peer-ring", "ring", ring;
        "peer-sha2", "sha2", rustcrypto_sha2;
        "peer-dalek", "x25519-dalek", dalek;
    }
    #[cfg(feature = "peer-openssl")]
    peers.extend(openssl::peers());
    #[cfg(not(feature = "peer-openssl"))]
    peers.push(off("openssl", "peer-openssl"));
    #[cfg(feature = "peer-liboqs")]
    peers.extend(liboqs::peers());
    #[cfg(not(feature = "peer-liboqs"))]
    peers.push(off("liboqs", "peer-liboqs"));
    #[cfg(feature = "peer-libsodium")]
    peers.push(libsodium::peer());
    #[cfg(not(feature = "peer-libsodium"))]
    peers.push(off("libsodium", "peer-libsodium"));
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

/// The peers' entries for SHA-256 of `bytes` bytes.
pub(crate) fn sha256(bytes: usize) -> Vec<Entry> {
    let _ = bytes;
    flat([
        #[cfg(feature = "peer-aws-lc")]
        vec![aws_lc::sha256(bytes)],
        #[cfg(feature = "peer-ring")]
        vec![ring::sha256(bytes)],
        #[cfg(feature = "peer-sha2")]
        vec![rustcrypto_sha2::sha256(bytes)],
        #[cfg(feature = "peer-graviola")]
        vec![graviola::sha256(bytes)],
        #[cfg(feature = "peer-openssl")]
        openssl::sha256(bytes),
    ])
}

/// The peers' entries for Argon2id.
pub(crate) fn argon2id(params: ksf::Params) -> Vec<Entry> {
    let _ = params;
    flat([
        #[cfg(feature = "peer-libsodium")]
        vec![libsodium::argon2id(params)],
        #[cfg(feature = "peer-argon2")]
        rustcrypto_argon2::argon2id(params),
        #[cfg(feature = "peer-argon2-rust")]
        vec![argon2_rust::argon2id(params)],
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
