//! What the judge computes of each handshake: its MAC, its reply and its keys. The schedules are in `candor-key-schedules`, which shares no
//! code with the products; that of the insecure scheme is here. Extension messages are empty, as the tasks send them.

use super::Kind;
use candor_key_schedules::{self as schedules, Relay};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// What both sides agree on beforehand, for the handshakes that ask for it (proposal 332, `VER`).
const VERIFICATION: &[u8] = b"circuit extend";

/// What both sides of a handshake know, in bytes. What a handshake lacks is empty.
#[derive(Default)]
pub(super) struct Seen<'a> {
    /// The relay's identity.
    pub(super) identity: &'a [u8],
    /// The relay's onion key B.
    pub(super) onion_key: &'a [u8],
    /// The client's X.
    pub(super) x: &'a [u8],
    /// The onionskin up to its MAC.
    pub(super) onionskin: &'a [u8],
    /// The onionskin's MAC.
    pub(super) mac: &'a [u8],
    /// X25519(x, B), then the static KEM's secret.
    pub(super) first: &'a [u8],
    /// The reply up to the authenticator: Y, then the fresh KEM's ciphertext.
    pub(super) fresh: &'a [u8],
    /// X25519(x, Y), then the fresh KEM's secret.
    pub(super) second: &'a [u8],
}

/// The MAC at the end of the onionskin. Empty for handshakes whose client authenticates nothing.
pub(super) fn onionskin_mac(kind: Kind, seen: &Seen<'_>) -> Vec<u8> {
    let Seen { identity, onion_key, x, onionskin, first, .. } = *seen;
    match kind {
        Kind::Ntor | Kind::InsecureSeed(_) => Vec::new(),
        Kind::NtorV3 => schedules::ntor_v3_client(identity, onion_key, x, first, VERIFICATION, b""),
        Kind::Hybrid(_) | Kind::HybridAuth(_) => {
            schedules::hybrid_client(&hybrid_protocol(kind), VERIFICATION, onionskin, first, b"")
        }
    }
}

/// The whole reply, and the keys.
pub(super) fn reply_and_keys(kind: Kind, seen: &Seen<'_>) -> (Vec<u8>, Vec<u8>) {
    let Seen { identity, onion_key, x, onionskin, mac, first, fresh, second } = *seen;
    let relay =
        Relay { identity, onion_key, static_secrets: first, fresh_secrets: second, fresh_public: fresh, message: b"" };
    match kind {
        Kind::Ntor => schedules::ntor(x, &relay),
        Kind::NtorV3 => schedules::ntor_v3(x, mac, VERIFICATION, &relay),
        Kind::Hybrid(_) | Kind::HybridAuth(_) => {
            let whole = [onionskin, mac].concat();
            schedules::hybrid(&hybrid_protocol(kind), VERIFICATION, &whole, onionskin.len(), &relay)
        }
        // `insecure_seed`, whose onionskin is the KEM's key and the relay's name.
        Kind::InsecureSeed(_) => {
            let public = &onionskin[..onionskin.len() - identity.len()];
            let transcript = [public, fresh, identity].concat();
            let mut material = [0; 32 + 80];
            let hkdf = Hkdf::<Sha256>::new(Some(&Sha256::digest(&transcript)), second);
            hkdf.expand(b"pq-ntor-keys", &mut material).expect("a few blocks");
            let mac = Hmac::<Sha256>::new_from_slice(&material[..32]).expect("HMAC takes keys of every length");
            let auth = mac.chain_update(&transcript).chain_update(b"server").finalize().into_bytes();
            ([fresh, &auth].concat(), material[32..].to_vec())
        }
    }
}

/// PROTOID of a hybrid (`hybrid-handshake.md` §2).
fn hybrid_protocol(kind: Kind) -> String {
    let number = kind.level().map_or(0, super::Level::number);
    let fixed = if kind.has_static_kem() { format!("/static:ML-KEM-{number}") } else { String::new() };
    format!("candor-hybrid-1/X25519/ML-KEM-{number}{fixed}")
}

/// KEYID of a hybrid (`hybrid-handshake.md` §3).
pub(super) fn hybrid_key_id(kind: Kind, identity: &[u8], onion_key: &[u8], static_kem: &[u8]) -> Vec<u8> {
    schedules::hybrid_key_id(&hybrid_protocol(kind), identity, onion_key, static_kem)
}
