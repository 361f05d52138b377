//! The key schedules of all handshakes, from their specifications, on RustCrypto's hashes and on nothing of candor's. They are for empty
//! extension messages, which is what the tasks send, so that nothing is to be encrypted.

use super::Kind;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use sha3::Sha3_256;
use shake::{ExtendableOutput, Shake256, Update, XofReader};

/// What both sides agree on beforehand, for the handshakes that ask for it (proposal 332, `VER`).
const VERIFICATION: &[u8] = b"circuit extend";
const NTOR: &[u8] = b"ntor-curve25519-sha256-1";
const NTOR_V3: &[u8] = b"ntor3-curve25519-sha3_256-1";

/// What both sides of a handshake know, in bytes. What a handshake lacks is empty.
#[derive(Default)]
pub(super) struct Seen<'a> {
    /// The relay's name and its onion key B.
    pub(super) identity: &'a [u8],
    pub(super) onion_key: &'a [u8],
    /// The client's X.
    pub(super) x: &'a [u8],
    /// All of the onionskin up to the MAC at its end, and that MAC.
    pub(super) onionskin: &'a [u8],
    pub(super) mac: &'a [u8],
    /// X25519(x, B), then the static KEM's secret.
    pub(super) first: &'a [u8],
    /// The reply up to the authenticator: Y, then the fresh KEM's ciphertext.
    pub(super) fresh: &'a [u8],
    /// X25519(x, Y), then the fresh KEM's secret.
    pub(super) second: &'a [u8],
}

/// What stands at the end of the onionskin: nothing in handshakes whose client authenticates nothing.
pub(super) fn onionskin_mac(kind: Kind, seen: &Seen<'_>) -> Vec<u8> {
    let Seen { identity, onion_key, x, onionskin, first, .. } = *seen;
    match kind {
        Kind::Ntor | Kind::InsecureSeed(_) => Vec::new(),
        Kind::NtorV3 => {
            let secret_input = [first, identity, x, onion_key, NTOR_V3, &encap(VERIFICATION)].concat();
            let keys = v3_kdf(":kdf_phase1", &secret_input, 64);
            let key = encap(&keys[32..]);
            v3_hash(":msg_mac", &[&key[..], identity, onion_key, x].concat())
        }
        Kind::Hybrid(_) | Kind::HybridAuth(_) => {
            let transcript = Sha256::digest(hybrid_transcript(kind, onionskin));
            let keys = hkdf(&transcript, first, b"candor-hybrid-1:client", 64);
            hmac(&keys[32..], b"")
        }
    }
}

/// What stands at the end of the reply, and the keys.
pub(super) fn reply_and_keys(kind: Kind, seen: &Seen<'_>) -> (Vec<u8>, Vec<u8>) {
    let Seen { identity, onion_key, x, onionskin, mac, first, fresh, second } = *seen;
    match kind {
        // tor-spec, "The ntor handshake".
        Kind::Ntor => {
            let tweak = |name: &[u8]| [NTOR, name].concat();
            let secret_input = [second, first, identity, onion_key, x, fresh, NTOR].concat();
            let key_seed = hmac(&tweak(b":key_extract"), &secret_input);
            let verify = hmac(&tweak(b":verify"), &secret_input);
            let auth_input = [&verify, identity, onion_key, fresh, x, NTOR, b"Server"].concat();
            (hmac(&tweak(b":mac"), &auth_input), hkdf_expand(&key_seed, &tweak(b":key_expand"), KEYS))
        }
        // Proposal 332.
        Kind::NtorV3 => {
            let secret_input = [second, first, identity, onion_key, x, fresh, NTOR_V3, &encap(VERIFICATION)].concat();
            let key_seed = v3_hash(":key_seed", &secret_input);
            let verify = v3_hash(":verify", &secret_input);
            let stream = v3_kdf(":kdf_final", &key_seed, 32 + KEYS);
            let auth_input = [&verify, identity, onion_key, fresh, x, mac, &encap(b""), NTOR_V3, b"Server"].concat();
            (v3_hash(":auth_final", &auth_input), stream[32..].to_vec())
        }
        // crates/onion/docs/hybrid-handshake.md §5.
        Kind::Hybrid(_) | Kind::HybridAuth(_) => {
            let mut transcript = [&hybrid_transcript(kind, onionskin)[..], &encap(b""), mac, fresh].concat();
            let keys = hkdf(&Sha256::digest(&transcript), &[second, first].concat(), b"candor-hybrid-1:relay", 96);
            transcript.extend(encap(b""));
            let whole = Sha256::digest(&transcript);
            let circuit = hkdf_expand(&keys[64..], &[b"candor-hybrid-1:keys", &whole[..]].concat(), KEYS);
            (hmac(&keys[32..64], &whole), circuit)
        }
        // `insecure_seed`, whose onionskin is the KEM's key and the relay's name.
        Kind::InsecureSeed(_) => {
            let public = &onionskin[..onionskin.len() - identity.len()];
            let transcript = [public, fresh, identity].concat();
            let material = hkdf(&Sha256::digest(&transcript), second, b"pq-ntor-keys", 32 + 80);
            (hmac(&material[..32], &[&transcript[..], b"server"].concat()), material[32..].to_vec())
        }
    }
}

/// Bytes of keys that both sides expand: what tor1's relay cryptography takes.
const KEYS: usize = 72;

/// PROTOID of a hybrid (its §2).
fn hybrid_protocol(kind: Kind) -> String {
    let number = kind.level().map_or(0, super::Level::number);
    let fixed = if kind.has_static_kem() { format!("/static:ML-KEM-{number}") } else { String::new() };
    format!("candor-hybrid-1/X25519/ML-KEM-{number}{fixed}")
}

fn hybrid_transcript(kind: Kind, onionskin: &[u8]) -> Vec<u8> {
    let protocol = encap(hybrid_protocol(kind).as_bytes());
    [&protocol[..], &encap(b"handshake"), &encap(VERIFICATION), onionskin].concat()
}

/// KEYID of a hybrid (its §3).
pub(super) fn hybrid_key_id(kind: Kind, identity: &[u8], onion_key: &[u8], static_kem: &[u8]) -> Vec<u8> {
    let protocol = encap(hybrid_protocol(kind).as_bytes());
    Sha256::digest([&protocol[..], &encap(b"key id"), identity, onion_key, static_kem].concat()).to_vec()
}

/// The length in eight bytes, big-endian, then the bytes.
fn encap(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_be_bytes()[..], bytes].concat()
}

/// H(s, t) of proposal 332.
fn v3_hash(tweak: &str, input: &[u8]) -> Vec<u8> {
    let tweak = encap(&[NTOR_V3, tweak.as_bytes()].concat());
    Sha3_256::digest([&tweak[..], input].concat()).to_vec()
}

/// KDF(s, t) of proposal 332.
fn v3_kdf(tweak: &str, input: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    let tweak = encap(&[NTOR_V3, tweak.as_bytes()].concat());
    Shake256::default().chain(tweak).chain(input).finalize_xof().read(&mut out);
    out
}

fn hmac(key: &[u8], input: &[u8]) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.chain_update(input).finalize().into_bytes().to_vec()
}

fn hkdf(salt: &[u8], secret: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    Hkdf::<Sha256>::new(Some(salt), secret).expand(info, &mut out).expect("a few blocks");
    out
}

fn hkdf_expand(key: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    Hkdf::<Sha256>::from_prk(key).expect("32 bytes are enough").expand(info, &mut out).expect("a few blocks");
    out
}
