//! `blake2b_simd`: BLAKE2b by one of the authors of BLAKE3, with AVX2.

#![cfg(feature = "peer-blake2b-simd")]

use crate::contract::hash::{self, Algorithm, Hash, Shape};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use blake2b_simd::Params;
use candor_lab::{Entry, Provenance};

const PACKAGE: &str = "blake2b_simd";

/// What blake2b_simd offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "BLAKE2b with AVX2, by one of BLAKE3's authors")]
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        hash(algorithm, shape)
    }
}

/// It has no other hash.
fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
    let entry = || hash::entry(linked::subject(PACKAGE), shape, || Ok(Blake2bSimd));
    if algorithm == Algorithm::Blake2b512 { vec![entry()] } else { Vec::new() }
}

struct Blake2bSimd;

impl Hash for Blake2bSimd {
    type Digest = blake2b_simd::Hash;

    fn digest(&mut self, message: &[u8]) -> blake2b_simd::Hash {
        Params::new().hash_length(64).hash(message)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        let mut provenance = linked::provenance(PACKAGE, timed);
        provenance.arm = Some(arm().to_owned());
        provenance
    }
}

/// The arm by the crate's own rule (its `guts.rs`).
fn arm() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return "avx2";
    }
    "portable"
}
