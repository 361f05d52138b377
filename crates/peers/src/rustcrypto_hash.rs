//! RustCrypto's hashes: `sha2`, `sha3`, `shake`, `blake2`, `sm3`, and over them `hmac` and `hkdf`.

#![cfg(feature = "peer-rustcrypto-hash")]

use crate::contract::hash::{self, Algorithm, Hash, Shape};
use crate::contract::kdf;
use crate::contract::mac::{self, Keyed};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance, Refusal};
use digest::{Digest, ExtendableOutput, Update, XofReader};
use hmac::{KeyInit, Mac};
use std::marker::PhantomData;

/// What rustcrypto_hash offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![
            linked_peer("sha2", "SHA-2 by RustCrypto, Rust with the CPU's SHA instructions"),
            linked_peer("sha3", "SHA-3 by RustCrypto"),
            linked_peer("shake", "SHAKE by RustCrypto"),
            linked_peer("blake2", "BLAKE2 by RustCrypto"),
            linked_peer("sm3", "SM3 by RustCrypto"),
            linked_peer("hmac", "HMAC by RustCrypto, over any of its hashes"),
            linked_peer("hkdf", "HKDF by RustCrypto, over any of its hashes"),
        ]
    }

    fn hash(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        HASHES.iter().filter(|(known, _)| *known == algorithm).map(|(_, entry)| entry(shape)).collect()
    }

    fn hmac(&self, hash: Algorithm, bytes: usize) -> Vec<Entry> {
        vec![hmac(hash, bytes)]
    }

    fn hkdf(&self) -> Vec<Entry> {
        vec![hkdf()]
    }
}

type MakeEntry = fn(Shape) -> Entry;

/// A line a hash.
const HASHES: &[(Algorithm, MakeEntry)] = &[
    (Algorithm::Sha256, |shape| fixed::<sha2::Sha256>("sha2", sha256_arm(), shape)),
    (Algorithm::Sha384, |shape| fixed::<sha2::Sha384>("sha2", sha512_arm(), shape)),
    (Algorithm::Sha512, |shape| fixed::<sha2::Sha512>("sha2", sha512_arm(), shape)),
    (Algorithm::Sha3_256, |shape| fixed::<sha3::Sha3_256>("sha3", keccak_arm(), shape)),
    (Algorithm::Sha3_512, |shape| fixed::<sha3::Sha3_512>("sha3", keccak_arm(), shape)),
    (Algorithm::Shake128, |shape| extendable::<shake::Shake128, 32>("shake", shape)),
    (Algorithm::Shake256, |shape| extendable::<shake::Shake256, 64>("shake", shape)),
    (Algorithm::Blake2b512, |shape| fixed::<blake2::Blake2b512>("blake2", "portable", shape)),
    (Algorithm::Sm3, |shape| fixed::<sm3::Sm3>("sm3", "portable", shape)),
];

fn hmac(hash: Algorithm, bytes: usize) -> Entry {
    match hash {
        Algorithm::Sha256 => hmac_over::<hmac::Hmac<sha2::Sha256>>("sha2", sha256_arm(), bytes),
        Algorithm::Sha512 => hmac_over::<hmac::Hmac<sha2::Sha512>>("sha2", sha512_arm(), bytes),
        Algorithm::Sm3 => hmac_over::<hmac::Hmac<sm3::Sm3>>("sm3", "portable", bytes),
        other => {
            Entry::refused(linked::subject("hmac"), Refusal::never(format!("is not measured over {}", other.title())))
        }
    }
}

fn hkdf() -> Entry {
    let subject = format!("{}+{}", linked::subject("hkdf"), linked::subject("sha2"));
    kdf::entry(subject, || Ok(HkdfSha256))
}

fn fixed<D: Digest + 'static>(package: &'static str, arm: &'static str, shape: Shape) -> Entry {
    hash::entry(linked::subject(package), shape, move || Ok(Fixed::<D> { package, arm, digest: PhantomData }))
}

struct Fixed<D> {
    package: &'static str,
    arm: &'static str,
    digest: PhantomData<D>,
}

impl<D: Digest + 'static> Hash for Fixed<D> {
    type Digest = digest::Output<D>;

    fn digest(&mut self, message: &[u8]) -> Self::Digest {
        D::digest(message)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        Provenance { arm: Some(self.arm.to_owned()), ..linked::provenance(self.package, timed) }
    }
}

fn extendable<X, const N: usize>(package: &'static str, shape: Shape) -> Entry
where
    X: Default + Update + ExtendableOutput + 'static,
{
    hash::entry(linked::subject(package), shape, move || Ok(Extendable::<X, N> { package, xof: PhantomData }))
}

struct Extendable<X, const N: usize> {
    package: &'static str,
    xof: PhantomData<X>,
}

impl<X: Default + Update + ExtendableOutput + 'static, const N: usize> Hash for Extendable<X, N> {
    type Digest = [u8; N];

    fn digest(&mut self, message: &[u8]) -> [u8; N] {
        let mut output = [0; N];
        X::default().chain(message).finalize_xof().read(&mut output);
        output
    }

    fn provenance(&self, timed: &str) -> Provenance {
        Provenance { arm: Some(keccak_arm().to_owned()), ..linked::provenance(self.package, timed) }
    }
}

fn hmac_over<M: KeyInit + Mac + Clone + 'static>(package: &'static str, arm: &'static str, bytes: usize) -> Entry {
    let subject = format!("{}+{}", linked::subject("hmac"), linked::subject(package));
    mac::entry(subject, bytes, move || {
        Ok(Keyed::<M>::new(move |timed| over(linked::provenance("hmac", timed), package, arm)))
    })
}

struct HkdfSha256;

impl kdf::Hkdf for HkdfSha256 {
    fn derive(&mut self, input: &kdf::Input) -> [u8; 64] {
        let mut keys = [0; 64];
        let hkdf = hkdf::Hkdf::<sha2::Sha256>::new(Some(&input.salt), &input.secret);
        hkdf.expand(&input.info, &mut keys).expect("64 bytes are not too many");
        keys
    }

    fn provenance(&self, timed: &str) -> Provenance {
        over(linked::provenance("hkdf", timed), "sha2", sha256_arm())
    }
}

/// Adds the hash below to what a construction says about itself.
fn over(mut provenance: Provenance, package: &str, arm: &str) -> Provenance {
    let (version, checksum) = linked::package(package);
    let below = linked::package_id(package, version, checksum);
    provenance.commit = provenance.commit.map(|own| format!("{own}, {below}"));
    provenance.arm = Some(arm.to_owned());
    provenance
}

/// The arm of SHA-256 by the crate's own rule (its `sha256.rs`), which asks the CPU once.
fn sha256_arm() -> &'static str {
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

/// The arm of SHA-512 by the crate's own rule (its `sha512.rs`).
fn sha512_arm() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return "avx2";
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("sha3") {
        return "arm-sha3";
    }
    "portable"
}

/// The arm of crate `keccak` by its own rule; on x86-64 it has SIMD on nightly compilers only.
fn keccak_arm() -> &'static str {
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("sha3") {
        return "arm-sha3";
    }
    "portable"
}
