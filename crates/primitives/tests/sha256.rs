//! SHA-256, every arm of this machine: NIST's examples, and `sha2` as the oracle for every length and many splits.

use candor_cpu::Cpu;
use candor_primitives::hash::{Digest, Sha256};
use proptest::prelude::*;

mod vectors;

/// A tier for each arm of SHA-256 that this machine has.
fn tiers() -> Vec<Cpu> {
    let mut tiers: Vec<Cpu> = Vec::new();
    for tier in Cpu::tiers() {
        let cpu = Cpu::named(tier.name).expect("a tier of this machine");
        if tiers.iter().all(|&other| Sha256::with_cpu(other).arm() != Sha256::with_cpu(cpu).arm()) {
            tiers.push(cpu);
        }
    }
    tiers
}

fn message(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256) as u8).collect()
}

fn hash(cpu: Cpu, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::with_cpu(cpu);
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

#[test]
fn the_examples_of_nist() {
    for vector in vectors::list(&vectors::load("sha256.json"), "vectors") {
        let message = vectors::bytes(vector, "message").repeat(vector["repeat"].as_u64().unwrap_or(1) as usize);
        for cpu in tiers() {
            assert_eq!(hash(cpu, &[&message])[..], vectors::bytes(vector, "digest"), "{cpu:?}: {vector}");
        }
    }
}

#[test]
fn every_length_to_4096_in_one_piece() {
    let message = message(4096);
    for length in 0..=4096 {
        let expected: [u8; 32] = sha2::Sha256::digest(&message[..length]).into();
        for cpu in tiers() {
            assert_eq!(hash(cpu, &[&message[..length]]), expected, "{cpu:?}, {length} bytes");
        }
    }
}

#[test]
fn every_split_of_three_blocks() {
    let message = message(193);
    let expected: [u8; 32] = sha2::Sha256::digest(&message).into();
    for cpu in tiers() {
        for at in 0..=message.len() {
            let (head, tail) = message.split_at(at);
            assert_eq!(hash(cpu, &[head, tail]), expected, "{cpu:?}, split at {at}");
        }
    }
}

#[test]
fn a_long_message_in_pieces_of_a_prime_length() {
    let message = message(1 << 20);
    let expected: [u8; 32] = sha2::Sha256::digest(&message).into();
    for cpu in tiers() {
        let pieces: Vec<&[u8]> = message.chunks(997).collect();
        assert_eq!(hash(cpu, &pieces), expected, "{cpu:?}");
    }
}

#[test]
fn the_arm_is_the_tiers() {
    assert_eq!(Sha256::with_cpu(Cpu::portable()).arm(), "portable");
    for (tier, arm) in [("sha", "sha"), ("clmul", "portable"), ("avx2", "portable"), ("arm-sha2", "arm-sha2")] {
        if let Ok(cpu) = Cpu::named(tier) {
            assert_eq!(Sha256::with_cpu(cpu).arm(), arm, "{tier}");
        }
    }
    assert_eq!(Sha256::new().arm(), Sha256::with_cpu(Cpu::default()).arm());
}

#[test]
fn after_a_reset_it_starts_afresh_on_the_same_arm() {
    for cpu in tiers() {
        let mut hash = Sha256::with_cpu(cpu);
        hash.update(message(100));
        Digest::reset(&mut hash);
        assert_eq!(hash.arm(), Sha256::with_cpu(cpu).arm());
        hash.update(b"abc");
        let first = hash.finalize_reset();
        hash.update(b"abc");
        assert_eq!(hash.finalize(), first);
        assert_eq!(first, sha2::Sha256::digest(b"abc"));
    }
}

#[test]
fn a_clone_goes_its_own_way() {
    let mut hash = Sha256::new();
    hash.update(b"a");
    let mut other = hash.clone();
    hash.update(b"b");
    other.update(b"c");
    assert_eq!(hash.finalize(), Sha256::digest(b"ab"));
    assert_eq!(other.finalize(), Sha256::digest(b"ac"));
}

#[test]
fn it_prints_nothing_of_what_it_has_read() {
    let mut hash = Sha256::new();
    hash.update(b"secret");
    assert_eq!(format!("{hash:?}"), "Sha256 { ... }");
}

proptest! {
    #[test]
    fn pieces_do_not_matter(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..12)) {
        let expected: [u8; 32] = sha2::Sha256::digest(pieces.concat()).into();
        for cpu in tiers() {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(hash(cpu, &pieces), expected);
        }
    }
}
