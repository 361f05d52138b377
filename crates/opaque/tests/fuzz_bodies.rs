//! The fuzz bodies on stable: over the committed corpora, and over mutations of them that are the same in every run.

use candor_opaque::fuzz;
use std::path::{Path, PathBuf};

type Body = fn(&[u8]);

const BODIES: [(&str, Body); 5] = [
    ("opaque_ke1", fuzz::ke1),
    ("opaque_ke2", fuzz::ke2),
    ("opaque_stored", fuzz::stored),
    ("opaque_registration_response", fuzz::registration_response),
    ("opaque_password_text", fuzz::password_text),
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
fn corpora_pass() {
    for (name, body) in BODIES {
        corpus(name).iter().for_each(|data| body(data));
    }
}

#[test]
fn mutations_of_the_corpora_pass() {
    for (number, (name, body)) in BODIES.into_iter().enumerate() {
        let (seeds, mut dice) = (corpus(name), Dice(number as u64));
        for _ in 0..150 {
            let mut data = seeds[dice.below(seeds.len())].clone();
            for _ in 0..=dice.below(4) {
                dice.mutate(&mut data);
            }
            body(&data);
        }
    }
}

/// A corpus of nothing but refusals would test nothing.
#[test]
fn the_corpus_has_messages_that_are_answered() {
    use candor_opaque::{Parties, Rfc9807, Server, Suite};
    let mut key = [0; 32];
    key[0] = 3;
    let server = Server::from_keys(Rfc9807, &[5; 64], &key).unwrap();
    let mut rng = rand_core::UnwrapErr(getrandom::SysRng);
    let answered = corpus("opaque_ke1")
        .iter()
        .filter(|ke1| ke1.len() == Rfc9807::KE1)
        .filter(|ke1| server.respond(&mut rng, ke1, None, b"account 17", &Parties::default()).is_ok())
        .count();
    assert_eq!(answered, 1);
}

#[test]
#[ignore = "writes the corpora; run it by name after a change of the message formats"]
fn write_corpora() {
    for (number, (name, data)) in fuzz::honest().into_iter().enumerate() {
        let folder = folder(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("honest-{number}")), &data).unwrap();
        std::fs::write(folder.join(format!("cut-{number}")), &data[..data.len() - 1]).unwrap();
    }
}
