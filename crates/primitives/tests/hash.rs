//! The hashes with a digest of fixed length, every arm of this machine: the standards' examples, and RustCrypto's crates as oracles
//! for every length and many splits.

use candor_cpu::Cpu;
use candor_primitives::hash::{Blake2b256, Blake2b512, Digest, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Sm3};
use candor_primitives::mac::Blake2bMac;
use candor_test_support::vectors;
use digest::{FixedOutput, FixedOutputReset, KeyInit, Update, typenum::U32};
use proptest::prelude::*;
use std::fmt::Debug;

/// What the tests need of a hash: an arm for each tier, and another implementation of the same.
trait Hash: Digest + FixedOutputReset + Clone + Debug {
    const NAME: &'static str;
    fn on(cpu: Cpu) -> Self;
    fn arm(&self) -> &'static str;
    fn oracle(message: &[u8]) -> Vec<u8>;
}

macro_rules! hash {
    ($hash:ident, $oracle:ty, $name:literal) => {
        impl Hash for $hash {
            const NAME: &'static str = $name;
            fn on(cpu: Cpu) -> Self {
                Self::with_cpu(cpu)
            }
            fn arm(&self) -> &'static str {
                Self::arm(self)
            }
            fn oracle(message: &[u8]) -> Vec<u8> {
                <$oracle>::digest(message).to_vec()
            }
        }
    };
}

hash!(Sha256, sha2::Sha256, "SHA-256");
hash!(Sha384, sha2::Sha384, "SHA-384");
hash!(Sha512, sha2::Sha512, "SHA-512");
hash!(Sha3_256, sha3::Sha3_256, "SHA3-256");
hash!(Sha3_512, sha3::Sha3_512, "SHA3-512");
hash!(Blake2b512, blake2::Blake2b512, "BLAKE2b-512");
hash!(Blake2b256, blake2::Blake2b256, "BLAKE2b-256");
hash!(Sm3, sm3::Sm3, "SM3");

/// A test for each hash.
macro_rules! each {
    ($($test:ident),+) => {
        $(mod $test {
            #[test]
            fn sha256() { super::checks::$test::<super::Sha256>() }
            #[test]
            fn sha384() { super::checks::$test::<super::Sha384>() }
            #[test]
            fn sha512() { super::checks::$test::<super::Sha512>() }
            #[test]
            fn sha3_256() { super::checks::$test::<super::Sha3_256>() }
            #[test]
            fn sha3_512() { super::checks::$test::<super::Sha3_512>() }
            #[test]
            fn blake2b_512() { super::checks::$test::<super::Blake2b512>() }
            #[test]
            fn blake2b_256() { super::checks::$test::<super::Blake2b256>() }
            #[test]
            fn sm3() { super::checks::$test::<super::Sm3>() }
        })+
    };
}

each!(
    every_length_to_4096,
    every_split_of_three_blocks,
    pieces_of_a_prime_length,
    a_chain_of_digests,
    after_a_reset_it_starts_afresh_on_the_same_arm,
    a_clone_goes_its_own_way,
    it_prints_nothing_of_what_it_has_read
);

/// A tier for each arm of the hash that this machine has.
fn tiers<H: Hash>() -> Vec<Cpu> {
    let mut tiers: Vec<Cpu> = Vec::new();
    for tier in Cpu::tiers() {
        let cpu = Cpu::named(tier.name).expect("a tier of this machine");
        if tiers.iter().all(|&other| H::on(other).arm() != H::on(cpu).arm()) {
            tiers.push(cpu);
        }
    }
    assert_eq!(H::on(tiers[0]).arm(), "portable");
    tiers
}

fn message(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256) as u8).collect()
}

fn hash<H: Hash>(cpu: Cpu, parts: &[&[u8]]) -> Vec<u8> {
    let mut hash = H::on(cpu);
    parts.iter().for_each(|part| Digest::update(&mut hash, part));
    hash.finalize().to_vec()
}

mod checks {
    use super::*;

    pub(super) fn every_length_to_4096<H: Hash>() {
        let message = message(4096);
        for length in 0..=4096 {
            let expected = H::oracle(&message[..length]);
            for cpu in tiers::<H>() {
                assert_eq!(hash::<H>(cpu, &[&message[..length]]), expected, "{cpu:?}, {length} bytes");
            }
        }
    }

    pub(super) fn every_split_of_three_blocks<H: Hash>() {
        let message = message(3 * 136 + 1);
        let expected = H::oracle(&message);
        for cpu in tiers::<H>() {
            for at in 0..=message.len() {
                let (head, tail) = message.split_at(at);
                assert_eq!(hash::<H>(cpu, &[head, tail]), expected, "{cpu:?}, split at {at}");
            }
        }
    }

    pub(super) fn pieces_of_a_prime_length<H: Hash>() {
        let message = message(1 << 18);
        let expected = H::oracle(&message);
        for cpu in tiers::<H>() {
            let pieces: Vec<&[u8]> = message.chunks(997).collect();
            assert_eq!(hash::<H>(cpu, &pieces), expected, "{cpu:?}");
        }
    }

    /// As in NIST's Monte Carlo tests: each message is made of digests, here of the last three.
    pub(super) fn a_chain_of_digests<H: Hash>() {
        for cpu in tiers::<H>() {
            let [mut ours, mut theirs] = [vec![0x5a; 200], vec![0x5a; 200]];
            for round in 0..1000 {
                let [digest, expected] = [hash::<H>(cpu, &[&ours]), H::oracle(&theirs)];
                assert_eq!(digest, expected, "{cpu:?}, round {round}");
                for (message, digest) in [(&mut ours, digest), (&mut theirs, expected)] {
                    message.extend(digest);
                    message.drain(..message.len().saturating_sub(3 * <H as Digest>::output_size()));
                }
            }
        }
    }

    pub(super) fn after_a_reset_it_starts_afresh_on_the_same_arm<H: Hash>() {
        for cpu in tiers::<H>() {
            let mut hash = H::on(cpu);
            Digest::update(&mut hash, message(300));
            Digest::reset(&mut hash);
            assert_eq!(hash.arm(), H::on(cpu).arm());
            Digest::update(&mut hash, b"abc");
            let first = hash.finalize_fixed_reset();
            Digest::update(&mut hash, b"abc");
            assert_eq!(hash.arm(), H::on(cpu).arm());
            assert_eq!(hash.finalize(), first);
            assert_eq!(first.to_vec(), H::oracle(b"abc"));
        }
    }

    pub(super) fn a_clone_goes_its_own_way<H: Hash>() {
        let mut hash = H::new();
        Digest::update(&mut hash, b"a");
        let mut other = hash.clone();
        Digest::update(&mut hash, b"b");
        Digest::update(&mut other, b"c");
        assert_eq!(hash.finalize().to_vec(), H::oracle(b"ab"));
        assert_eq!(other.finalize().to_vec(), H::oracle(b"ac"));
    }

    pub(super) fn it_prints_nothing_of_what_it_has_read<H: Hash>() {
        let mut hash = H::new();
        let name = format!("{hash:?}");
        Digest::update(&mut hash, b"secret");
        assert_eq!(format!("{hash:?}"), name);
        assert!(name.ends_with(" { ... }"), "{name}");
    }

    pub(super) fn the_vectors_named<H: Hash>(file: &str) {
        let file = vectors::load(file);
        let mine: Vec<_> = vectors::list(&file, "vectors")
            .iter()
            .filter(|vector| vector["hash"].as_str().is_none_or(|name| name == H::NAME))
            .collect();
        assert!(!mine.is_empty(), "no vector for {}", H::NAME);
        for vector in mine {
            let message = vectors::bytes(vector, "message").repeat(vector["repeat"].as_u64().unwrap_or(1) as usize);
            for cpu in tiers::<H>() {
                assert_eq!(hash::<H>(cpu, &[&message]), vectors::bytes(vector, "digest"), "{cpu:?}: {vector}");
            }
        }
    }
}

#[test]
fn the_examples_of_the_standards() {
    checks::the_vectors_named::<Sha256>("sha256.json");
    checks::the_vectors_named::<Sha384>("hashes.json");
    checks::the_vectors_named::<Sha512>("hashes.json");
    checks::the_vectors_named::<Sha3_256>("hashes.json");
    checks::the_vectors_named::<Sha3_512>("hashes.json");
    checks::the_vectors_named::<Blake2b512>("hashes.json");
    checks::the_vectors_named::<Sm3>("hashes.json");
}

#[test]
fn the_arm_is_the_tiers() {
    assert_eq!(Sha256::with_cpu(Cpu::portable()).arm(), "portable");
    for (tier, arm) in [("sha", "sha"), ("clmul", "portable"), ("avx2", "portable"), ("arm-sha2", "arm-sha2")] {
        if let Ok(cpu) = Cpu::named(tier) {
            assert_eq!(Sha256::with_cpu(cpu).arm(), arm, "{tier}");
        }
    }
    for (tier, arm) in [("sha", "portable"), ("clmul", "portable"), ("avx2", "avx2"), ("vpclmul", "avx2")] {
        if let Ok(cpu) = Cpu::named(tier) {
            assert_eq!(Sha512::with_cpu(cpu).arm(), arm, "{tier}");
            assert_eq!(Sha3_256::with_cpu(cpu).arm(), arm, "{tier}");
            assert_eq!(Sm3::with_cpu(cpu).arm(), arm, "{tier}");
        }
    }
    if let Ok(cpu) = Cpu::named("avx512") {
        assert_eq!(Sha3_256::with_cpu(cpu).arm(), "avx512");
        assert_eq!(Sha512::with_cpu(cpu).arm(), "avx512");
        assert_eq!(Sm3::with_cpu(cpu).arm(), "avx512");
        assert_eq!(Blake2b512::with_cpu(cpu).arm(), "avx512");
    }
    assert_eq!(Sha256::new().arm(), Sha256::with_cpu(Cpu::default()).arm());
}

#[test]
fn blake2b_with_a_key_is_the_oracles() {
    for key in [1, 5, 32, 63, 64].map(message) {
        for text in [0, 1, 127, 128, 129, 300].map(message) {
            let mut oracle = blake2::Blake2bMac::<U32>::new_from_slice(&key).unwrap();
            Update::update(&mut oracle, &text);
            let expected = oracle.finalize_fixed();
            for cpu in tiers::<Blake2b512>() {
                let mut mac = Blake2bMac::<U32>::with_cpu(cpu, &key).unwrap();
                mac.update(&text);
                assert_eq!(mac.finalize_fixed(), expected, "{cpu:?}, key {}, text {}", key.len(), text.len());
            }
        }
    }
}

#[test]
fn blake2b_takes_keys_of_1_to_64_bytes() {
    assert!(Blake2bMac::<U32>::new(&[]).is_err());
    assert!(Blake2bMac::<U32>::new(&[0; 1]).is_ok());
    assert!(Blake2bMac::<U32>::new(&[0; 64]).is_ok());
    assert!(Blake2bMac::<U32>::new(&[0; 65]).is_err());
}

fn pieces_are_hashed_as_a_whole<H: Hash>(pieces: &[Vec<u8>]) {
    let expected = H::oracle(&pieces.concat());
    for cpu in tiers::<H>() {
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        assert_eq!(hash::<H>(cpu, &pieces), expected, "{cpu:?}");
    }
}

proptest! {
    #[test]
    fn pieces_do_not_matter(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..12)) {
        pieces_are_hashed_as_a_whole::<Sha256>(&pieces);
        pieces_are_hashed_as_a_whole::<Sha512>(&pieces);
        pieces_are_hashed_as_a_whole::<Sha3_256>(&pieces);
        pieces_are_hashed_as_a_whole::<Sha3_512>(&pieces);
        pieces_are_hashed_as_a_whole::<Blake2b512>(&pieces);
        pieces_are_hashed_as_a_whole::<Sm3>(&pieces);
    }
}
