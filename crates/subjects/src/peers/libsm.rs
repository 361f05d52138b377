//! `libsm`: China's national standards in Rust, by Cryptape; of it, SM3.

use super::linked_peer;
use crate::linked;
use crate::tasks::hash::{self, Algorithm, Hash, Shape};
use candor_lab::{Entry, Provenance};
use libsm::sm3::hash::Sm3Hash;

const PACKAGE: &str = "libsm";

pub(super) fn peer() -> super::Peer {
    linked_peer(PACKAGE, "SM2, SM3 and SM4 in Rust, by Cryptape")
}

/// It has no other hash.
pub(super) fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    let entry = || hash::entry(linked::subject(PACKAGE), shape, || Ok(LibSm));
    if algorithm == Algorithm::Sm3 { vec![entry()] } else { Vec::new() }
}

struct LibSm;

impl Hash for LibSm {
    type Digest = [u8; 32];

    fn digest(&mut self, message: &[u8]) -> [u8; 32] {
        Sm3Hash::new(message).get_hash()
    }

    fn provenance(&self, timed: &str) -> Provenance {
        let timed = format!("{timed}; the library copies the message, as its interface has it");
        Provenance { arm: Some("portable".into()), ..linked::provenance(PACKAGE, timed) }
    }
}
