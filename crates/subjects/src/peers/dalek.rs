//! x25519-dalek on curve25519-dalek: X25519 in Rust.

use super::linked_peer;
use crate::linked;
use crate::tasks::x25519::{self, Failed, Op, X25519};
use candor_lab::{Entry, Provenance};
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};

const PACKAGE: &str = "x25519-dalek";

pub(super) fn peer() -> super::Peer {
    linked_peer(PACKAGE, "X25519 on curve25519-dalek, Rust")
}

pub(super) fn x25519(op: Op) -> Entry {
    x25519::entry(linked::subject(PACKAGE), op, || Ok(Dalek))
}

struct Dalek;

/// A secret of dalek's as a slice.
struct Secret32(SharedSecret);

impl AsRef<[u8]> for Secret32 {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl X25519 for Dalek {
    type Secret = StaticSecret;
    type Encoded = [u8; 32];
    type Shared = Secret32;

    fn keygen(&self) -> Result<(StaticSecret, [u8; 32]), Failed> {
        let secret = StaticSecret::random();
        let encoded = PublicKey::from(&secret).to_bytes();
        Ok((secret, encoded))
    }

    fn ecdh(&self, secret: &StaticSecret, peer: &[u8; 32]) -> Result<Secret32, Failed> {
        let shared = secret.diffie_hellman(&PublicKey::from(*peer));
        // The other libraries refuse an all-zero secret by themselves; here the caller is asked to.
        if shared.was_contributory() { Ok(Secret32(shared)) } else { Err("the secret is all zero") }
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<StaticSecret, Failed>> {
        Some(Ok(StaticSecret::from(*bytes)))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let timed = match op {
            Op::Keygen => format!("{}, by a system call", op.timed()),
            Op::Ecdh => format!("{}; was_contributory included", op.timed()),
        };
        let mut provenance = linked::provenance(PACKAGE, timed);
        let (version, checksum) = linked::package("curve25519-dalek");
        let below = linked::package_id("curve25519-dalek", version, checksum);
        provenance.commit = provenance.commit.map(|id| format!("{id}, {below}"));
        provenance
    }
}
