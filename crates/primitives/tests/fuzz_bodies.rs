//! The fuzz body on stable: over the committed corpus (a key pair of each ML-KEM level), and over mutations of it that are the
//! same in every run.

use candor_primitives::fuzz;
use std::path::Path;

#[test]
fn no_bytes_make_a_back_end_panic_or_disagree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/primitives_kem_bytes");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 6, "a public and a secret key of each level");
    for file in files {
        let key = std::fs::read(&file).unwrap();
        fuzz::kem_bytes(&key);
        // Every 16th byte: high bits push coefficients over the modulus, low bits break hashes.
        for at in (0..key.len()).step_by(16) {
            for flip in [1, 0x0f, 0xf0, 0xff] {
                let mut changed = key.clone();
                changed[at] ^= flip;
                fuzz::kem_bytes(&changed);
            }
        }
        for length in [0, 1, 31, 32, key.len() / 2, key.len() - 1] {
            fuzz::kem_bytes(&key[..length]);
        }
        fuzz::kem_bytes(&[key.as_slice(), &[0]].concat());
    }
}
