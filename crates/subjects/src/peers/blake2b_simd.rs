//! `blake2b_simd`: BLAKE2b by one of the authors of BLAKE3, with AVX2.

use super::linked_peer;
use crate::linked;
use crate::tasks::hash::{self, Algorithm, Hash, Shape};
use blake2b_simd::Params;
use candor_lab::{Entry, Provenance};

const PACKAGE: &str = "blake2b_simd";

pub(super) fn peer() -> super::Peer {
    linked_peer(PACKAGE, "BLAKE2b with AVX2, by one of BLAKE3's authors")
}

/// It has no other hash.
pub(super) fn hash(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
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
