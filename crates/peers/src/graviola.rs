//! graviola: formally verified assembly from s2n-bignum, in Rust.
//!
//! It has ML-KEM-768 only. Its keys can't be imported, and `decaps` uses its key up; the functions that FIPS 203 calls
//! internal are public without being documented, and are used where the others can't be: to make a key from a seed, and
//! to decapsulate more than once with the same key.

#![cfg(feature = "peer-graviola")]

mod aead;
mod ec;
mod hash;
mod rsa;

use aead::aead;
use hash::{hash, hkdf, hmac};

use crate::contract::{self, BY_SYSTEM_CALL, ml_kem, x25519};
use crate::linked;
use crate::list::{Offers, Peer, PeerState, linked_peer};
use candor_lab::{Entry, Habit, Provenance, Refusal};
use graviola::key_agreement::mlkem768::{Ciphertext, DecapKey, EncapKey, SharedSecret};
use graviola::key_agreement::x25519::{PublicKey, StaticPrivateKey};

const PACKAGE: &str = "graviola";

/// What graviola offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![peer()]
    }

    fn ml_kem(&self, level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
        vec![ml_kem(level, op)]
    }

    fn ml_kem_prepared(&self, level: ml_kem::Level, op: ml_kem::Op) -> Vec<Entry> {
        vec![ml_kem_prepared(level, op)]
    }

    fn x25519(&self, op: x25519::Op) -> Vec<Entry> {
        vec![x25519(op)]
    }

    fn ec(&self, curve: contract::ec::Curve, op: contract::ec::Op) -> Vec<Entry> {
        vec![ec::ec(curve, op)]
    }

    fn rsa(&self, size: contract::rsa::Size, op: contract::rsa::Op) -> Vec<Entry> {
        vec![rsa::rsa(size, op)]
    }

    fn hash(&self, algorithm: contract::hash::Algorithm, shape: contract::hash::Shape) -> Vec<Entry> {
        vec![hash(algorithm, shape)]
    }

    fn aead(&self, algorithm: contract::aead::Algorithm, op: contract::aead::Op, bytes: usize) -> Vec<Entry> {
        vec![aead(algorithm, op, bytes)]
    }

    fn hmac(&self, hash: contract::hash::Algorithm, bytes: usize) -> Vec<Entry> {
        vec![hmac(hash, bytes)]
    }

    fn hkdf(&self) -> Vec<Entry> {
        vec![hkdf()]
    }
}

fn peer() -> Peer {
    let mut peer = linked_peer(PACKAGE, "verified assembly (s2n-bignum, mlkem-native) as a Rust library");
    if let Err(refusal) = cpu() {
        peer.state = PeerState::Refused { reason: refusal.to_string() };
    }
    peer
}

fn ml_kem(level: ml_kem::Level, op: ml_kem::Op) -> Entry {
    match level {
        ml_kem::Level::L768 => ml_kem::entry(linked::subject(PACKAGE), level, op, || cpu().map(|()| Graviola)),
        _ => has_only_768(level),
    }
}

fn ml_kem_prepared(level: ml_kem::Level, op: ml_kem::Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    match (level, op) {
        (ml_kem::Level::L768, ml_kem::Op::Encaps) => {
            Entry::refused(subject, Refusal::never("keeps encapsulation keys as bytes"))
        }
        (ml_kem::Level::L768, _) => ml_kem::entry(subject, level, op, || cpu().map(|()| ml_kem::Prepared(Graviola))),
        _ => has_only_768(level),
    }
}

fn has_only_768(level: ml_kem::Level) -> Entry {
    let refusal = Refusal::never(format!("has no ML-KEM-{} (only 768)", level.number()));
    Entry::refused(linked::subject(PACKAGE), refusal)
}

fn x25519(op: x25519::Op) -> Entry {
    x25519::entry(linked::subject(PACKAGE), op, || cpu().map(|()| Graviola))
}

/// graviola panics on a CPU that lacks what it needs, so that is asked first.
fn cpu() -> Result<(), Refusal> {
    match graviola::util::is_cpu_supported() {
        true => Ok(()),
        false => Err(Refusal::new("needs a CPU with AVX2, BMI, ADX and AES, or an AArch64 with AES and SHA-2")),
    }
}

struct Graviola;

/// A secret of graviola's as a slice; its own `AsRef` gives an array.
struct Secret32(SharedSecret);

impl AsRef<[u8]> for Secret32 {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// A ciphertext of graviola's as a slice.
struct Bytes1088(Ciphertext);

impl AsRef<[u8]> for Bytes1088 {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl ml_kem::MlKem for Graviola {
    type Secret = DecapKey;
    type Public = EncapKey;
    type Encoded = [u8; 1184];
    type Ciphertext = Bytes1088;
    type Shared = Secret32;

    fn keygen(&self) -> Result<(DecapKey, [u8; 1184]), ml_kem::Failed> {
        let secret = DecapKey::generate().map_err(|_| "no randomness")?;
        let encoded = secret.encapsulation_key().as_bytes();
        Ok((secret, encoded))
    }

    fn public(&self, encoded: &[u8]) -> Result<EncapKey, ml_kem::Failed> {
        let encoded = encoded.try_into().map_err(|_| "the public key has another length")?;
        EncapKey::from_bytes(encoded).map_err(|_| "EncapKey::from_bytes refuses the key")
    }

    fn encaps(&self, to: &EncapKey) -> Result<(Bytes1088, Secret32), ml_kem::Failed> {
        // `encaps` uses the key up.
        let (shared, ciphertext) = to.clone().encaps().map_err(|_| "no randomness")?;
        Ok((Bytes1088(ciphertext), Secret32(shared)))
    }

    fn decaps(&self, with: &DecapKey, ciphertext: &[u8]) -> Result<Secret32, ml_kem::Failed> {
        let ciphertext: [u8; 1088] = ciphertext.try_into().map_err(|_| "the ciphertext has another length")?;
        Ok(Secret32(with.decaps_internal(&Ciphertext::from(ciphertext))))
    }

    fn import(&self, _expanded: &[u8]) -> Option<Result<DecapKey, ml_kem::Failed>> {
        None
    }

    fn export(&self, secret: &DecapKey) -> Option<Vec<u8>> {
        Some(secret.as_bytes().to_vec())
    }

    fn secret(&self, key: &ml_kem::KeyPair) -> Result<DecapKey, ml_kem::Failed> {
        Ok(DecapKey::keygen_internal(&key.coins))
    }

    fn provenance(&self, op: ml_kem::Op) -> Provenance {
        use ml_kem::Op;
        let how = match op {
            Op::Keygen => "",
            Op::Encaps => "; copies the key (1 kB), which encaps uses up",
            Op::Decaps => {
                "; by the undocumented decaps_internal, which leaves the key in place and, unlike decaps, does not clear \
                 vector registers; copies the ciphertext into the library's type"
            }
            Op::Exchange => "; decapsulates by the undocumented decaps_internal",
        };
        let keeps = (Habit::KeepsTables, "the expanded matrix is kept with the parsed key");
        let habit = if op == Op::Decaps { keeps } else { BY_SYSTEM_CALL };
        #[cfg(target_arch = "x86_64")]
        let arm = match std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi")
            && std::arch::is_x86_feature_detected!("avx512vbmi2")
        {
            true => "avx2, sampling and Keccak avx512, by the crate's own rule (its low/x86_64/cpu.rs)",
            false => "avx2, by the crate's own rule (its low/x86_64/cpu.rs)",
        };
        #[cfg(not(target_arch = "x86_64"))]
        let arm = "neon";
        let mut provenance = provenance(&format!("{}{how}", op.timed()), arm).telling([habit]);
        if op == Op::Decaps {
            provenance.different_operation = Some(
                "the parsed key already holds the expanded matrix, which libraries that keep bytes compute in the timed \
                 call; …/exchange has it inside for all"
                    .into(),
            );
        }
        provenance
    }
}

impl x25519::X25519 for Graviola {
    type Secret = StaticPrivateKey;
    type Encoded = [u8; 32];
    type Shared = [u8; 32];

    fn keygen(&self) -> Result<(StaticPrivateKey, [u8; 32]), x25519::Failed> {
        let secret = StaticPrivateKey::new_random().map_err(|_| "no randomness")?;
        let encoded = secret.public_key().as_bytes();
        Ok((secret, encoded))
    }

    fn ecdh(&self, secret: &StaticPrivateKey, peer: &[u8; 32]) -> Result<[u8; 32], x25519::Failed> {
        let shared = secret.diffie_hellman(&PublicKey::from_array(peer)).map_err(|_| "diffie_hellman failed")?;
        Ok(shared.0)
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<StaticPrivateKey, x25519::Failed>> {
        Some(Ok(StaticPrivateKey::from_array(bytes)))
    }

    fn provenance(&self, op: x25519::Op) -> Provenance {
        let arm = if cfg!(target_arch = "aarch64") { "base AArch64" } else { "bmi2, adx" };
        provenance(op.timed(), arm).telling((op == x25519::Op::Keygen).then_some(BY_SYSTEM_CALL))
    }
}

fn provenance(timed: &str, arm: &str) -> Provenance {
    let mut provenance = linked::provenance(PACKAGE, timed);
    provenance.arm = Some(arm.to_owned());
    provenance
}
