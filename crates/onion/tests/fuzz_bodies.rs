//! The fuzz bodies on stable: over the committed corpora, and over mutations of them that are the same in every run.

use candor_onion::fuzz;
use std::path::{Path, PathBuf};

type Body = fn(&[u8]);

const BODIES: [(&str, Body); 10] = [
    ("onion_onionskin", fuzz::onionskin),
    ("onion_reply", fuzz::reply),
    ("onion_edits", fuzz::edits),
    ("onion_cells", fuzz::cells),
    ("onion_relay_messages", fuzz::relay_messages),
    ("onion_certificates", fuzz::certificates),
    ("onion_extensions", fuzz::extensions),
    ("onion_link", fuzz::link),
    ("onion_relay_circuit", fuzz::relay_circuit),
    ("onion_client_circuit", fuzz::client_circuit),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name)
}

/// The files of a corpus by name; never none.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = folder(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014): enough to choose mutations.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn mutate(&mut self, data: &mut Vec<u8>) {
        match self.below(5) {
            0 => data.truncate(self.below(data.len() + 1)),
            1 => data.extend((0..self.below(64)).map(|at| at as u8)),
            2 if !data.is_empty() => {
                let at = self.below(data.len());
                data[at] ^= 1 << self.below(8);
            }
            3 if !data.is_empty() => {
                let at = self.below(data.len());
                data.remove(at);
            }
            _ => {
                let at = self.below(data.len() + 1);
                data.insert(at, self.next() as u8);
            }
        }
    }
}

#[test]
fn bodies_hold_over_their_corpora() {
    for (name, body) in BODIES {
        corpus(name).iter().for_each(|data| body(data));
        body(b"");
    }
}

#[test]
fn bodies_hold_over_mutations() {
    for (name, body) in BODIES {
        let mut dice = Dice(1);
        for seed in corpus(name) {
            for _ in 0..60 {
                let mut data = seed.clone();
                (0..=dice.below(4)).for_each(|_| dice.mutate(&mut data));
                body(&data);
            }
        }
    }
}

/// Honest onionskins in the corpus are accepted, so the corpus reaches what lies behind the checks.
#[test]
fn the_corpus_gets_past_the_first_check() {
    use candor_onion::handshake::{Handshake, NtorV3Default};
    use candor_primitives::dh::{DiffieHellman, aws_lc::X25519};
    let handshake = NtorV3Default::default();
    let relay = handshake.relay([1; 32], X25519.secret_from_bytes(&[0x42; 32]).unwrap()).unwrap();
    let accepted = corpus("onion_onionskin")
        .iter()
        .filter(|data| handshake.accept(std::slice::from_ref(&relay), data).is_ok())
        .count();
    assert_eq!(accepted, 1);
}

#[test]
#[ignore = "writes the corpora; run it by name after a change of the message formats"]
fn write_corpora() {
    let write = |name: &str, file: &str, data: &[u8]| {
        let folder = folder(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(file), data).unwrap();
    };
    for (target, file, data) in fuzz::honest_wire() {
        write(target, &file, &data);
    }
    for (number, onionskin) in fuzz::honest_onionskins().iter().enumerate() {
        write("onion_onionskin", &format!("honest-{number}"), onionskin);
        write("onion_onionskin", &format!("cut-{number}"), &onionskin[..onionskin.len() - 33]);
    }
    for (choice, length) in [64, 74, 832, 1152, 1642, 1152].into_iter().enumerate() {
        let data: Vec<u8> = std::iter::once(choice as u8).chain((0..length).map(|at| at as u8)).collect();
        write("onion_reply", &format!("length-{choice}"), &data);
    }
    for choice in 0..6 {
        write("onion_edits", &format!("nothing-{choice}"), &[choice, 0, 0]);
        write("onion_edits", &format!("onionskin-{choice}"), &[choice, 0, 0, 0, 40, 1]);
        write("onion_edits", &format!("reply-{choice}"), &[choice, 1, 0, 0, 40, 1]);
        write("onion_edits", &format!("shorter-{choice}"), &[choice, 1, 0xff]);
    }
}
