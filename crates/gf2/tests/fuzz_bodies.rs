//! The fuzz body on stable: over the committed corpus, and over mutations of it that are the same in every run.

use candor_gf2::fuzz::plan_text;
use std::path::Path;

/// Mutations of each file of the corpus.
const MUTATIONS: u64 = 300;

/// SplitMix64.
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e3779b97f4a7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    (z ^ (z >> 31)) as usize
}

#[test]
fn no_text_makes_a_table_that_multiplies_wrongly_or_panics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/gf2_plan_text");
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let seed = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(candor_gf2::plan::Plans::parse(String::from_utf8(seed.clone()).unwrap().leak()).is_ok());
        seeds += 1;
        let mut state = 1;
        for _ in 0..MUTATIONS {
            let mut data = seed.clone();
            for _ in 0..=random(&mut state) % 3 {
                let at = random(&mut state) % data.len().max(1);
                match random(&mut state) % 4 {
                    0 => data.truncate(at),
                    1 => data.insert(at, random(&mut state) as u8),
                    2 if !data.is_empty() => data[at] = b'0' + (random(&mut state) % 10) as u8,
                    _ => drop(data.drain(at..(at + 7).min(data.len()))),
                }
            }
            plan_text(&data);
        }
    }
    assert!(seeds > 0, "{} is empty", folder.display());
}
