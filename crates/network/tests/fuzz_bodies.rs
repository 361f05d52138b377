//! The fuzz bodies on stable: over their corpora, and over mutations of those.

use candor_network::{RelayKeys, Suite, fuzz};
use proptest::prelude::*;
use std::path::PathBuf;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Runs a body over a corpus and over changed, cut and doubled copies of it.
fn campaign(body: fn(&[u8]), seeds: &[Vec<u8>]) {
    seeds.iter().for_each(|seed| body(seed));
    let edits = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), 0..4u8);
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) }, |((which, place, byte, kind) in edits)| {
        let mut bytes = which.get(seeds).clone();
        if !bytes.is_empty() {
            let at = place.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => bytes.insert(at, byte),
                _ => bytes.extend_from_within(at..),
            }
        }
        body(&bytes);
    });
}

#[test]
fn relay_lists() {
    let line =
        RelayKeys::generate().unwrap().listed(None, "127.0.0.1:1".parse().unwrap(), &Suite::ALL).unwrap().to_line();
    let mut seeds = corpus("network_relay_list");
    seeds.push(line.into_bytes());
    campaign(fuzz::relay_list, &seeds);
}

#[test]
fn policies() {
    campaign(fuzz::policy, &corpus("network_policy"));
}

#[test]
fn key_files() {
    campaign(fuzz::key_file, &corpus("network_key_file"));
}

#[test]
fn http_answers() {
    campaign(fuzz::http_answer, &corpus("network_http_answer"));
}
