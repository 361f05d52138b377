//! INSECURE. The handshake of the program that candor was inspired by (pq-ntor-experiment), for comparison only.
//!
//! ```text
//! onionskin   pk | relay_id 20
//! reply       ct | HMAC-SHA256(K_auth, transcript | "server") 32      transcript = pk | ct | relay_id
//! K_auth 32 | K_enc 80 = HKDF-SHA256(salt = SHA-256(transcript), ikm = the KEM's secret, info = "pq-ntor-keys")
//! ```
//!
//! The relay has no key. Its identity is a public constant, and K_auth comes from nothing but the client's ephemeral KEM
//! key, which stands in the onionskin: whoever sees the onionskin can answer it. `man_in_the_middle.rs` in the tests of `candor-subjects` does.
//!
//! Written from a description of the messages; no line of the original is in it. Two things differ from the original: the
//! KEM is ML-KEM (FIPS 203) and not Kyber of round 3, and 1024, which its documents name and its code lacks, is here too.

use crate::contract::ntor::{Failed, RelaySecrets, Scheme};
use candor_lab::Provenance;
use candor_primitives::kem::Kem;
use subtle::ConstantTimeEq;

/// Bytes of a relay's "identity".
const RELAY_ID: usize = 20;
/// Bytes of keys: forward and backward, each a key of 32 bytes and an IV of 8.
const K_ENC: usize = 80;
const K_AUTH: usize = 32;
const INFO: &[u8] = b"pq-ntor-keys";

/// What is wrong with it, wherever its name is printed.
pub const INSECURE: &str =
    "the relay is not authenticated: it has no key, and anyone who sees the onionskin can answer it";
/// What it leaves undone beside a handshake that authenticates.
pub const DIFFERENT: &str = "does not authenticate the relay, and has no X25519";

/// SHA-256 and HMAC-SHA256 of memory that lies together, as the original asks its library for them.
pub trait Hash {
    /// SHA-256.
    fn sha256(&self, data: &[u8]) -> [u8; 32];
    /// HMAC-SHA256.
    fn hmac(&self, key: &[u8], data: &[u8]) -> [u8; 32];
}

/// INSECURE. The scheme over a KEM and a hash function.
pub struct InsecureSeed<K, H> {
    kem: K,
    hash: H,
    provenance: Box<dyn Fn(&str) -> Provenance>,
}

/// A client that waits for a reply.
pub struct Waiting<K: Kem> {
    secret: K::Secret,
    onionskin: Vec<u8>,
}

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A message has the wrong length.
    Length,
    /// The onionskin names another relay.
    OtherRelay,
    /// The reply's HMAC is wrong.
    Authentication,
    /// The KEM refuses a key or fails.
    Kem,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Length => "a message has the wrong length",
            Self::OtherRelay => "the onionskin names another relay",
            Self::Authentication => "the reply's HMAC is wrong",
            Self::Kem => "the KEM refuses the key or fails",
        })
    }
}

impl std::error::Error for Refused {}

impl<K: Kem, H: Hash> InsecureSeed<K, H> {
    /// The scheme over these.
    pub fn new(kem: K, hash: H) -> Self {
        Self {
            kem,
            hash,
            provenance: Box::new(|timed| Provenance::of("insecure-seed", env!("CARGO_PKG_VERSION"), timed)),
        }
    }

    /// Sets the provenance, which says where the libraries come from.
    pub fn by(self, provenance: impl Fn(&str) -> Provenance + 'static) -> Self {
        Self { provenance: Box::new(provenance), ..self }
    }

    /// The client's first step.
    ///
    /// # Errors
    /// [`Refused::Kem`].
    pub fn start(&self, relay_id: &[u8; RELAY_ID]) -> Result<(Waiting<K>, Vec<u8>), Refused> {
        let (secret, public) = self.kem.generate().map_err(|_| Refused::Kem)?;
        let mut onionskin = vec![0; K::PUBLIC + RELAY_ID];
        self.kem.public_to_bytes(&public, &mut onionskin[..K::PUBLIC]).map_err(|_| Refused::Kem)?;
        onionskin[K::PUBLIC..].copy_from_slice(relay_id);
        Ok((Waiting { secret, onionskin: onionskin.clone() }, onionskin))
    }

    /// All that a relay does, with nothing but its public name.
    ///
    /// # Errors
    /// [`Refused::Length`], [`Refused::OtherRelay`], [`Refused::Kem`].
    pub fn answer(&self, relay_id: &[u8; RELAY_ID], onionskin: &[u8]) -> Result<(Vec<u8>, [u8; K_ENC]), Refused> {
        if onionskin.len() != K::PUBLIC + RELAY_ID {
            return Err(Refused::Length);
        }
        if onionskin[K::PUBLIC..] != *relay_id {
            return Err(Refused::OtherRelay);
        }
        let public = self.kem.public_from_bytes(&onionskin[..K::PUBLIC]).map_err(|_| Refused::Kem)?;
        let mut reply = vec![0; K::CIPHERTEXT + 32];
        let shared = self.kem.encapsulate(&public, &mut reply[..K::CIPHERTEXT]).map_err(|_| Refused::Kem)?;
        let (auth, keys) = self.derive(shared.as_bytes(), onionskin, &reply[..K::CIPHERTEXT]);
        reply[K::CIPHERTEXT..].copy_from_slice(&auth);
        Ok((reply, keys))
    }

    /// The client's last step.
    ///
    /// # Errors
    /// [`Refused::Length`], [`Refused::Authentication`], [`Refused::Kem`].
    pub fn finish(&self, waiting: Waiting<K>, reply: &[u8]) -> Result<[u8; K_ENC], Refused> {
        if reply.len() != K::CIPHERTEXT + 32 {
            return Err(Refused::Length);
        }
        let (ciphertext, auth) = reply.split_at(K::CIPHERTEXT);
        let shared = self.kem.decapsulate(&waiting.secret, ciphertext).map_err(|_| Refused::Kem)?;
        let (expected, keys) = self.derive(shared.as_bytes(), &waiting.onionskin, ciphertext);
        if bool::from(expected.ct_eq(auth)) { Ok(keys) } else { Err(Refused::Authentication) }
    }

    /// The authenticator and the keys.
    fn derive(&self, shared: &[u8], onionskin: &[u8], ciphertext: &[u8]) -> ([u8; 32], [u8; K_ENC]) {
        let (public, relay_id) = onionskin.split_at(K::PUBLIC);
        let mut transcript = [public, ciphertext, relay_id].concat();
        let mut material = [0; K_AUTH + K_ENC];
        self.hkdf(&self.hash.sha256(&transcript), shared, &mut material);
        transcript.extend_from_slice(b"server");
        let auth = self.hash.hmac(&material[..K_AUTH], &transcript);
        (auth, *material.last_chunk().expect("the keys stand at the end"))
    }

    /// HKDF-SHA256 (RFC 5869) out of single calls of HMAC, as the original does it.
    fn hkdf(&self, salt: &[u8], ikm: &[u8], out: &mut [u8]) {
        let prk = self.hash.hmac(salt, ikm);
        let mut block = [0; 32 + INFO.len() + 1];
        let mut from = 32;
        for (index, chunk) in out.chunks_mut(32).enumerate() {
            block[32..32 + INFO.len()].copy_from_slice(INFO);
            block[32 + INFO.len()] = index as u8 + 1;
            let made = self.hash.hmac(&prk, &block[from..]);
            chunk.copy_from_slice(&made[..chunk.len()]);
            block[..32].copy_from_slice(&made);
            from = 0;
        }
    }
}

impl<K: Kem + 'static, H: Hash + 'static> Scheme for InsecureSeed<K, H> {
    type Relay = [u8; RELAY_ID];
    type Waiting = Waiting<K>;
    type Keys = [u8; K_ENC];

    /// There are no secrets.
    fn relay(&self, secrets: &RelaySecrets) -> Result<[u8; RELAY_ID], Failed> {
        Ok(*secrets.identity.first_chunk().expect("32 bytes begin with 20"))
    }

    fn start(&self, relay: &[u8; RELAY_ID]) -> Result<(Waiting<K>, Vec<u8>), Failed> {
        Ok(Self::start(self, relay)?)
    }

    fn answer(&self, relay: &[u8; RELAY_ID], onionskin: &[u8]) -> Result<(Vec<u8>, [u8; K_ENC]), Failed> {
        Ok(Self::answer(self, relay, onionskin)?)
    }

    fn finish(&self, waiting: Waiting<K>, reply: &[u8]) -> Result<[u8; K_ENC], Failed> {
        Ok(Self::finish(self, waiting, reply)?)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        Provenance { insecure: Some(INSECURE.into()), ..(self.provenance)(timed) }
    }
}

/// Bytes of the onionskin and of the reply.
#[must_use]
pub fn sizes<K: Kem>(_: &K) -> (usize, usize) {
    (K::PUBLIC + RELAY_ID, K::CIPHERTEXT + 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_primitives::kem::aws_lc;
    use hmac::{KeyInit, Mac};
    use sha2::{Digest, Sha256};

    struct RustCrypto;

    impl Hash for RustCrypto {
        fn sha256(&self, data: &[u8]) -> [u8; 32] {
            Sha256::digest(data).into()
        }

        fn hmac(&self, key: &[u8], data: &[u8]) -> [u8; 32] {
            let mac = hmac::Hmac::<Sha256>::new_from_slice(key).unwrap();
            mac.chain_update(data).finalize().into_bytes().into()
        }
    }

    #[test]
    fn both_sides_end_with_the_same_keys() {
        let scheme = InsecureSeed::new(aws_lc::MlKem512, RustCrypto);
        let (waiting, onionskin) = scheme.start(&[1; 20]).unwrap();
        let (reply, theirs) = scheme.answer(&[1; 20], &onionskin).unwrap();
        assert_eq!((onionskin.len(), reply.len()), (820, 800));
        assert_eq!(scheme.finish(waiting, &reply).unwrap(), theirs);
    }

    /// RFC 5869 appendix A.1 with our info: the first block is HMAC(PRK, info | 1).
    #[test]
    fn the_key_derivation_is_hkdf() {
        let scheme = InsecureSeed::new(aws_lc::MlKem512, RustCrypto);
        let mut out = [0; 112];
        scheme.hkdf(&[1; 32], &[2; 32], &mut out);
        let prk = RustCrypto.hmac(&[1; 32], &[2; 32]);
        let first = RustCrypto.hmac(&prk, &[INFO, &[1]].concat());
        let second = RustCrypto.hmac(&prk, &[&first, INFO, &[2]].concat());
        let fourth_from = &out[96..];
        assert_eq!((&out[..32], &out[32..64], fourth_from.len()), (&first[..], &second[..], 16));
    }

    #[test]
    fn a_changed_message_is_refused() {
        let scheme = InsecureSeed::new(aws_lc::MlKem512, RustCrypto);
        for at in [0, 767, 768, 799] {
            let (waiting, onionskin) = scheme.start(&[1; 20]).unwrap();
            let (mut reply, _) = scheme.answer(&[1; 20], &onionskin).unwrap();
            reply[at] ^= 1;
            assert_eq!(scheme.finish(waiting, &reply), Err(Refused::Authentication), "{at}");
        }
        let (waiting, onionskin) = scheme.start(&[1; 20]).unwrap();
        assert_eq!(scheme.answer(&[2; 20], &onionskin), Err(Refused::OtherRelay));
        assert_eq!(scheme.answer(&[1; 20], &onionskin[1..]), Err(Refused::Length));
        assert_eq!(scheme.finish(waiting, b""), Err(Refused::Length));
    }
}
