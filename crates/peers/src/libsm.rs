//! `libsm`: China's national standards in Rust, by Cryptape; of it, SM3.

#![cfg(feature = "peer-libsm")]

use crate::contract::hash::{self, Algorithm, Hash, Shape};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance};
use libsm::sm3::hash::Sm3Hash;

const PACKAGE: &str = "libsm";

/// What libsm offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "SM2, SM3 and SM4 in Rust, by Cryptape")]
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        hash(algorithm, shape)
    }
}

/// It has no other hash.
fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
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
