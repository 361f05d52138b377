//! graviola's hashes: SHA-2 by its trait, SHA-3 and SHAKE by types of their own, HMAC.

use super::{PACKAGE, cpu, provenance};
use crate::contract::hash::{self, Algorithm, Shape};
use crate::contract::mac;
use crate::linked;
use candor_lab::{Entry, Provenance, Refusal};
use graviola::hashing::hmac::Hmac;
use graviola::hashing::sha3::{Sha3_256Context, Sha3_512Context, Shake128, Shake256};
use graviola::hashing::{Hash, HashOutput, Sha256, Sha384, Sha512};
use std::marker::PhantomData;

pub(crate) fn hash(algorithm: Algorithm, shape: Shape) -> Entry {
    match algorithm {
        Algorithm::Sha256 => sha2::<Sha256>(sha256_arm(), shape),
        Algorithm::Sha384 => sha2::<Sha384>(sha512_arm(), shape),
        Algorithm::Sha512 => sha2::<Sha512>(sha512_arm(), shape),
        Algorithm::Sha3_256 => keccak(shape, |message| {
            let mut hash = Sha3_256Context::new();
            hash.update(message);
            hash.finish()
        }),
        Algorithm::Sha3_512 => keccak(shape, |message| {
            let mut hash = Sha3_512Context::new();
            hash.update(message);
            hash.finish()
        }),
        Algorithm::Shake128 => keccak(shape, |message| {
            let mut output = [0; 32];
            Shake128::new(&[message]).read(&mut output);
            output
        }),
        Algorithm::Shake256 => keccak(shape, |message| {
            let mut output = [0; 64];
            Shake256::new(&[message]).read(&mut output);
            output
        }),
        other => has_no(other.title()),
    }
}

pub(crate) fn hmac(algorithm: Algorithm, bytes: usize) -> Entry {
    match algorithm {
        Algorithm::Sha256 => hmac_over::<Sha256>(sha256_arm(), bytes),
        Algorithm::Sha512 => hmac_over::<Sha512>(sha512_arm(), bytes),
        other => has_no(&format!("HMAC over {}", other.title())),
    }
}

pub(crate) fn hkdf() -> Entry {
    has_no("HKDF in its interface")
}

fn has_no(what: &str) -> Entry {
    Entry::refused(linked::subject(PACKAGE), Refusal::never(format!("has no {what}")))
}

fn sha2<H: Hash + 'static>(arm: &'static str, shape: Shape) -> Entry {
    hash::entry(linked::subject(PACKAGE), shape, move || cpu().map(|()| Sha2::<H> { arm, hash: PhantomData }))
}

struct Sha2<H> {
    arm: &'static str,
    hash: PhantomData<H>,
}

impl<H: Hash + 'static> hash::Hash for Sha2<H> {
    type Digest = HashOutput;

    fn digest(&mut self, message: &[u8]) -> HashOutput {
        H::hash(message)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        provenance(timed, self.arm)
    }
}

fn keccak<const N: usize>(shape: Shape, digest: fn(&[u8]) -> [u8; N]) -> Entry {
    hash::entry(linked::subject(PACKAGE), shape, move || cpu().map(|()| Keccak(digest)))
}

struct Keccak<const N: usize>(fn(&[u8]) -> [u8; N]);

impl<const N: usize> hash::Hash for Keccak<N> {
    type Digest = [u8; N];

    fn digest(&mut self, message: &[u8]) -> [u8; N] {
        (self.0)(message)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        provenance(timed, keccak_arm())
    }
}

fn hmac_over<H: Hash + 'static>(arm: &'static str, bytes: usize) -> Entry
where
    Hmac<H>: Clone,
{
    mac::entry(linked::subject(PACKAGE), bytes, move || cpu().map(|()| GraviolaHmac::<H> { arm, keyed: None }))
}

struct GraviolaHmac<H: Hash> {
    arm: &'static str,
    /// Has absorbed the key; each message starts from a copy.
    keyed: Option<Hmac<H>>,
}

impl<H: Hash + 'static> mac::Hmac for GraviolaHmac<H>
where
    Hmac<H>: Clone,
{
    type Tag = HashOutput;

    fn set_key(&mut self, key: &[u8; 32]) -> Result<(), Refusal> {
        self.keyed = Some(Hmac::new(key));
        Ok(())
    }

    fn tag(&mut self, message: &[u8]) -> HashOutput {
        let mut mac = self.keyed.clone().expect("the key is set before the first message");
        mac.update(message);
        mac.finish()
    }

    fn provenance(&self, timed: &str) -> Provenance {
        provenance(&format!("{timed} (a clone of the keyed state for each message)"), self.arm)
    }
}

// The arms by the crate's own rules (its low/x86_64/*_mux.rs); on AArch64 it needs the SHA-2 instructions.

fn sha256_arm() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return if std::arch::is_x86_feature_detected!("sha") { "sha" } else { "portable" };
    #[cfg(not(target_arch = "x86_64"))]
    "arm-sha2"
}

fn sha512_arm() -> &'static str {
    if cfg!(target_arch = "x86_64") { "portable, compiled for bmi2" } else { "portable" }
}

fn keccak_arm() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl") {
        return "avx512";
    }
    "base instructions"
}
