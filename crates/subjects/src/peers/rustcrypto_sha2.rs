//! RustCrypto's `sha2`.

use super::linked_peer;
use crate::linked;
use crate::tasks::sha256::{self, Sha256};
use candor_lab::{Entry, Provenance};
use sha2::Digest;

const PACKAGE: &str = "sha2";

pub(super) fn peer() -> super::Peer {
    linked_peer(PACKAGE, "SHA-2 by RustCrypto, Rust with the CPU's SHA instructions")
}

pub(super) fn sha256(bytes: usize) -> Entry {
    sha256::entry(linked::subject(PACKAGE), bytes, || Ok(RustCrypto))
}

struct RustCrypto;

impl Sha256 for RustCrypto {
    type Digest = digest::Output<sha2::Sha256>;

    fn digest(&mut self, message: &[u8]) -> Self::Digest {
        sha2::Sha256::digest(message)
    }

    fn provenance(&self) -> Provenance {
        let mut provenance = linked::provenance(PACKAGE, sha256::TIMED);
        provenance.arm = Some(arm().into());
        provenance
    }
}

/// The arm by the crate's own rule (its `sha256.rs`), which asks the CPU once.
fn arm() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sha") && std::arch::is_x86_feature_detected!("sse4.1") {
        return "sha";
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("sha2") {
        return "arm-sha2";
    }
    "portable"
}
