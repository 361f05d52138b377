//! SHAKE, every arm of this machine: NIST's examples, and crate `shake` as the oracle for lengths and splits of input and output.

use candor_cpu::Cpu;
use candor_primitives::hash::{ExtendableOutput, Shake128, Shake256, Update, XofReader};
use candor_test_support::vectors;
use digest::{ExtendableOutputReset, Reset};

const TIERS: [&str; 3] = ["portable", "avx2", "avx512"];

fn tiers() -> impl Iterator<Item = Cpu> {
    TIERS.iter().filter_map(|name| Cpu::named(name).ok())
}

fn message(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 11 + i / 256) as u8).collect()
}

fn output(hash: impl ExtendableOutput, length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    hash.finalize_xof().read(&mut out);
    out
}

fn on_128(cpu: Cpu, message: &[u8]) -> Shake128 {
    let mut hash = Shake128::with_cpu(cpu);
    hash.update(message);
    hash
}

fn on_256(cpu: Cpu, message: &[u8]) -> Shake256 {
    let mut hash = Shake256::with_cpu(cpu);
    hash.update(message);
    hash
}

fn oracle_128(message: &[u8], length: usize) -> Vec<u8> {
    let mut hash = shake::Shake128::default();
    Update::update(&mut hash, message);
    output(hash, length)
}

fn oracle_256(message: &[u8], length: usize) -> Vec<u8> {
    let mut hash = shake::Shake256::default();
    Update::update(&mut hash, message);
    output(hash, length)
}

#[test]
fn the_examples_of_nist() {
    let mut seen = 0;
    for vector in vectors::list(&vectors::load("hashes.json"), "vectors") {
        let message = vectors::bytes(vector, "message").repeat(vector["repeat"].as_u64().unwrap_or(1) as usize);
        let expected = vectors::bytes(vector, "digest");
        for cpu in tiers() {
            match vector["hash"].as_str().unwrap() {
                "SHAKE128" => assert_eq!(output(on_128(cpu, &message), expected.len()), expected, "{cpu:?}: {vector}"),
                "SHAKE256" => assert_eq!(output(on_256(cpu, &message), expected.len()), expected, "{cpu:?}: {vector}"),
                _ => continue,
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 4 * tiers().count());
}

#[test]
fn every_length_of_input_to_1024() {
    let message = message(1024);
    for length in 0..=1024 {
        let [short, long] = [oracle_128(&message[..length], 40), oracle_256(&message[..length], 40)];
        for cpu in tiers() {
            assert_eq!(output(on_128(cpu, &message[..length]), 40), short, "{cpu:?}, {length} bytes");
            assert_eq!(output(on_256(cpu, &message[..length]), 40), long, "{cpu:?}, {length} bytes");
        }
    }
}

#[test]
fn every_split_of_the_output() {
    let expected = oracle_128(b"seed", 3 * 168 + 1);
    for cpu in tiers() {
        for at in 0..=expected.len() {
            let mut reader = on_128(cpu, b"seed").finalize_xof();
            let mut out = vec![0; expected.len()];
            let (head, tail) = out.split_at_mut(at);
            reader.read(head);
            reader.read(tail);
            assert_eq!(out, expected, "{cpu:?}, split at {at}");
        }
    }
}

#[test]
fn output_in_pieces_of_any_length() {
    let expected = oracle_256(b"seed", 20000);
    for cpu in tiers() {
        let mut reader = on_256(cpu, b"seed").finalize_xof();
        let mut out = Vec::new();
        for length in (0..).take_while(|n| n * (n + 1) / 2 <= 20000) {
            let mut piece = vec![0; length];
            reader.read(&mut piece);
            out.extend(piece);
        }
        assert_eq!(out, expected[..out.len()], "{cpu:?}");
    }
}

#[test]
fn after_a_reset_it_starts_afresh_on_the_same_arm() {
    for cpu in tiers() {
        let mut hash = on_256(cpu, &message(500));
        hash.reset();
        hash.update(b"abc");
        let mut first = [0; 32];
        hash.finalize_xof_reset().read(&mut first);
        assert_eq!(hash.arm(), Shake256::with_cpu(cpu).arm());
        hash.update(b"abc");
        assert_eq!(output(hash, 32), first);
        assert_eq!(first[..], oracle_256(b"abc", 32));
    }
}
