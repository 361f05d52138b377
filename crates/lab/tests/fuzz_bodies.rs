//! The fuzz bodies on stable: over the committed corpora, and over mutations of them that are the same in every run.

use candor_lab::{Random, fuzz};
use std::path::Path;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 1500;

fn over_the_corpus(name: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    let mut random = Random::new(20261121);
    for file in files {
        let seed = std::fs::read(&file).unwrap();
        body(&seed);
        for _ in 0..MUTATIONS {
            let mut data = seed.clone();
            for _ in 0..=random.below(4) {
                mutate(&mut data, &mut random);
            }
            body(&data);
        }
    }
}

/// Text files break in other places than random bytes do: digits change size, fields vanish, lines swap.
fn mutate(data: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(data.len().max(1));
    match random.below(6) {
        0 => data.truncate(at),
        1 => data.insert(at.min(data.len()), random.bits() as u8),
        2 if !data.is_empty() => data[at] ^= 1 << random.below(8),
        3 if !data.is_empty() => {
            let digits: Vec<usize> = (0..data.len()).filter(|&i| data[i].is_ascii_digit()).collect();
            if let Some(&digit) = digits.get(random.below(digits.len().max(1))) {
                data[digit] = b'0' + random.below(10) as u8;
            }
        }
        4 => {
            let mut lines: Vec<Vec<u8>> = data.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            let (a, b) = (random.below(lines.len().max(1)), random.below(lines.len().max(1)));
            if a < lines.len() && b < lines.len() {
                lines.swap(a, b);
            }
            *data = lines.concat();
        }
        _ => {
            let end = (at + random.below(40)).min(data.len());
            data.drain(at.min(end)..end);
        }
    }
}

#[test]
fn no_run_file_makes_reader_or_report_panic() {
    over_the_corpus("lab_run_file", fuzz::run_file);
}

#[test]
fn no_claims_file_makes_the_reader_panic() {
    over_the_corpus("lab_claims", fuzz::claims);
}
