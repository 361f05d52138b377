//! The transcript and the key schedule of the hybrids (`docs/hybrid-handshake.md` §4 and §5), over SHA-256.

use crate::handshake::Keys;
use crate::handshake::hkdf::{expand, hmac};
use alloc::format;
use alloc::string::String;
use candor_primitives::SharedSecret;
use candor_primitives::hash::{Digest, Sha256};
use zeroize::Zeroizing;

const FAMILY: &str = "candor-hybrid-1";
const STATIC: &str = "/static:";
const KEY_ID: &[u8] = b"key id";
const HANDSHAKE: &[u8] = b"handshake";
const CLIENT_KEYS: &[u8] = b"candor-hybrid-1:client";
const RELAY_KEYS: &[u8] = b"candor-hybrid-1:relay";
const CIRCUIT_KEYS: &[u8] = b"candor-hybrid-1:keys";

type Key = Zeroizing<[u8; 32]>;

/// The algorithms of a handshake, by their names in their standards.
pub(super) struct Algorithms {
    pub(super) dh: &'static str,
    pub(super) kem: &'static str,
    pub(super) static_kem: Option<&'static str>,
}

impl Algorithms {
    /// PROTOID in pieces: `candor-hybrid-1/X25519/ML-KEM-768`, then `/static:ML-KEM-768` if there is a static key. No
    /// algorithm's name contains a slash.
    fn protoid(&self) -> [&str; 7] {
        let (mark, name) = self.static_kem.map_or(("", ""), |name| (STATIC, name));
        [FAMILY, "/", self.dh, "/", self.kem, mark, name]
    }

    /// The name of the handshake in tasks and tables.
    pub(super) fn name(&self) -> String {
        let level = |name: &str| name.strip_prefix("ML-KEM-").unwrap_or(name).to_lowercase();
        match self.static_kem {
            None => format!("hybrid-{}", level(self.kem)),
            Some(same) if same == self.kem => format!("hybrid-{}-auth", level(self.kem)),
            Some(other) => format!("hybrid-{}-auth-{}", level(self.kem), level(other)),
        }
    }

    /// KEYID, spec §3.
    pub(super) fn key_id(&self, identity: &[u8; 32], onion_key: &[u8; 32], static_kem: &[u8]) -> [u8; 32] {
        let mut transcript = Transcript::domain(self, KEY_ID);
        transcript.fixed(identity);
        transcript.fixed(onion_key);
        transcript.fixed(static_kem);
        transcript.hash()
    }
}

/// The running hash of everything that both sides have sent. Each byte is hashed once.
pub(super) struct Transcript(Sha256);

impl Transcript {
    /// T₀ = ENCAP(PROTOID) | ENCAP("handshake") | ENCAP(VER).
    pub(super) fn begin(algorithms: &Algorithms, verification: &[u8]) -> Self {
        let mut transcript = Self::domain(algorithms, HANDSHAKE);
        transcript.encapsulated(verification);
        transcript
    }

    fn domain(algorithms: &Algorithms, purpose: &[u8]) -> Self {
        let protoid = algorithms.protoid();
        let length: usize = protoid.iter().map(|piece| piece.len()).sum();
        let mut transcript = Self(Sha256::new());
        transcript.0.update((length as u64).to_be_bytes());
        protoid.iter().for_each(|piece| transcript.0.update(piece));
        transcript.encapsulated(purpose);
        transcript
    }

    /// Absorbs bytes whose length the algorithms fix.
    #[inline]
    pub(super) fn fixed(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Absorbs ENCAP(bytes): their length in eight bytes, big endian, then the bytes.
    #[inline]
    pub(super) fn encapsulated(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    /// The hash of everything so far; more may follow.
    #[inline]
    fn hash(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }
}

/// The keys that both sides have once the onionskin's header is known.
pub(super) struct PhaseOne {
    /// s₁: EXP(B,x), then SS_s if there is a static key.
    onion_key_secret: SharedSecret,
    static_kem_secret: Option<SharedSecret>,
    /// ENC_K1.
    pub(super) enc_key: Key,
    /// MAC_K1.
    mac_key: Key,
}

impl PhaseOne {
    /// Derives them from s₁ and the transcript up to the end of the header.
    pub(super) fn new(
        onion_key_secret: SharedSecret,
        static_kem_secret: Option<SharedSecret>,
        so_far: &Transcript,
    ) -> Self {
        let static_bytes = static_kem_secret.as_ref().map_or(&[][..], |secret| secret.as_bytes());
        let prk = hmac(&so_far.hash(), &[onion_key_secret.as_bytes(), static_bytes]);
        let [enc_key, mac_key] = keys(&prk, CLIENT_KEYS);
        Self { onion_key_secret, static_kem_secret, enc_key, mac_key }
    }

    /// MAC = HMAC(MAC_K1, encrypted message). MAC_K1 depends on the header.
    pub(super) fn mac(&self, encrypted: &[u8]) -> Key {
        hmac(self.mac_key.as_slice(), &[encrypted])
    }

    /// Derives the next phase from s₂ = EXP(X,y) | SS_e | s₁ and the transcript up to the end of CT_e.
    pub(super) fn phase_two(&self, xy: &SharedSecret, ss_e: &SharedSecret, so_far: &Transcript) -> PhaseTwo {
        let static_bytes = self.static_kem_secret.as_ref().map_or(&[][..], |secret| secret.as_bytes());
        let secrets: [&[u8]; 4] = [xy.as_bytes(), ss_e.as_bytes(), self.onion_key_secret.as_bytes(), static_bytes];
        let prk = hmac(&so_far.hash(), &secrets);
        let [enc_key, auth_key, seed] = keys(&prk, RELAY_KEYS);
        PhaseTwo { enc_key, auth_key, seed }
    }
}

/// The keys that both sides have once all public keys and ciphertexts are known.
pub(super) struct PhaseTwo {
    /// ENC_K2.
    pub(super) enc_key: Key,
    auth_key: Key,
    seed: Key,
}

impl PhaseTwo {
    /// AUTH and the circuit's keys, both over the whole transcript.
    pub(super) fn finish(self, whole: &Transcript) -> (Key, Keys) {
        let hash = whole.hash();
        let auth = hmac(self.auth_key.as_slice(), &[&hash]);
        (auth, Keys::hkdf_bound(self.seed, CIRCUIT_KEYS, hash))
    }
}

/// HKDF-Expand(prk, label, 32 · N), cut into keys.
fn keys<const N: usize>(prk: &Key, label: &[u8]) -> [Key; N] {
    let mut bytes = Zeroizing::new([[0; 32]; N]);
    expand(prk, &[label], bytes.as_flattened_mut());
    core::array::from_fn(|index| Zeroizing::new(bytes[index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Algorithms = Algorithms { dh: "X25519", kem: "ML-KEM-768", static_kem: None };
    const AUTH: Algorithms = Algorithms { static_kem: Some("ML-KEM-768"), ..PLAIN };
    const MIXED: Algorithms = Algorithms { static_kem: Some("HQC-3"), ..PLAIN };

    #[test]
    fn protoid_and_name_tell_algorithms_apart() {
        assert_eq!(PLAIN.protoid().concat(), "candor-hybrid-1/X25519/ML-KEM-768");
        assert_eq!(AUTH.protoid().concat(), "candor-hybrid-1/X25519/ML-KEM-768/static:ML-KEM-768");
        assert_eq!(
            [PLAIN, AUTH, MIXED].map(|algorithms| algorithms.name()),
            ["hybrid-768", "hybrid-768-auth", "hybrid-768-auth-hqc-3"]
        );
    }

    #[test]
    fn a_key_id_depends_on_everything() {
        let base = PLAIN.key_id(&[1; 32], &[2; 32], &[]);
        assert_ne!(base, PLAIN.key_id(&[3; 32], &[2; 32], &[]));
        assert_ne!(base, PLAIN.key_id(&[1; 32], &[3; 32], &[]));
        assert_ne!(base, AUTH.key_id(&[1; 32], &[2; 32], &[]));
        assert_ne!(AUTH.key_id(&[1; 32], &[2; 32], &[4; 1184]), AUTH.key_id(&[1; 32], &[2; 32], &[5; 1184]));
    }

    #[test]
    fn the_transcript_knows_where_variable_parts_end() {
        let hash = |first: &[u8], second: &[u8]| {
            let mut transcript = Transcript::begin(&PLAIN, first);
            transcript.encapsulated(second);
            transcript.hash()
        };
        assert_ne!(hash(b"ab", b"c"), hash(b"a", b"bc"));
        assert_ne!(hash(b"", b"abc"), hash(b"abc", b""));
    }
}
