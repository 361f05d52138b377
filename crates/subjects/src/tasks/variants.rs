//! What `candor run all` leaves out: variants of what it measures, and what takes minutes. A part of their names selects them.

/// The handshakes that stand for all, where each is measured over many links or paths.
const HANDSHAKES: [&str; 2] = ["ntor", "hybrid-768"];

/// Sizes of products from schoolbook to the largest of document 004.
const WORDS: [&str; 10] = ["1w", "2w", "4w", "8w", "16w", "32w", "64w", "128w", "277w", "901w"];

pub(super) fn is_variant(name: &str) -> bool {
    let segments: Vec<&str> = name.split('/').collect();
    match segments[..] {
        // Seconds to minutes for a key.
        ["rsa", _, "keygen"] | ["rsa", "3072", _] => true,
        ["kem", set, operation] if set.starts_with("mceliece") => operation == "keygen" || set != "mceliece348864",
        ["ksf", "argon2id", "256m", _] => true,
        ["kem", "ml-kem-768", operation] => operation.ends_with("prepared-batch8"),
        ["kem", "ml-kem-512" | "ml-kem-1024", operation] => !["keygen", "encaps", "decaps"].contains(&operation),
        ["kem", "hqc-3" | "hqc-5", operation] => !["keygen", "encaps", "decaps"].contains(&operation),
        // The code of SHA-512, and of SHAKE256.
        ["hash", "sha384" | "shake128", _] | ["hash", _, "64k" | "10m"] => true,
        ["aead", _, _, "64" | "256" | "64k" | "10m"]
        | ["cipher", .., "64" | "256" | "64k" | "10m"]
        | ["mac", _, "64k"] => true,
        ["ntor", handshake, _] => {
            !HANDSHAKES.contains(&handshake)
                && !["ntor-v3", "hybrid-768-auth", "insecure-seed-768"].contains(&handshake)
        }
        ["opaque", "parts" | "hybrid-compat" | "oprf", _] => true,
        ["gf2", "mul", words] => !WORDS.contains(&words),
        ["gf2", "mul", _, _] | ["gf2m", _, _, _] | ["gf2m", _, "reduce"] | ["gf2m", "128" | "283" | "409", _] => true,
        ["gf2poly", _, "96" | "119"] => true,
        ["relay", "create2", handshake, _] | ["circuit", "loopback", handshake, _] => !HANDSHAKES.contains(&handshake),
        ["circuit", "terrestrial-world" | "leo-isl", _] => true,
        ["circuit", topology, handshake] => topology.starts_with("sagin-") || !HANDSHAKES.contains(&handshake),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::tasks::{FAMILIES, tasks};
    use candor_lab::SelectedBy;

    /// So many take a quarter of an hour with `--quick`.
    const MOST: usize = 200;

    #[test]
    fn all_has_something_of_every_family_and_is_no_work_for_a_night() {
        let all: Vec<String> =
            tasks().into_iter().filter(|t| t.selected_by == SelectedBy::All).map(|t| t.name).collect();
        assert!(all.len() <= MOST, "{} tasks", all.len());
        for (family, _) in FAMILIES.iter().filter(|(family, _)| !["file/", "opaque/oprf/"].contains(family)) {
            assert!(all.iter().any(|name| name.starts_with(family)), "{family}");
        }
    }

    #[test]
    fn what_a_variant_varies_is_there() {
        let all: Vec<(String, SelectedBy)> = tasks().into_iter().map(|t| (t.name, t.selected_by)).collect();
        let by = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, by)| *by);
        for (kept, left_out) in [
            ("hash/sha256/1m", "hash/sha256/10m"),
            ("kem/mceliece348864/decaps", "kem/mceliece348864f/decaps"),
            ("rsa/2048/pss-sign", "rsa/2048/keygen"),
            ("gf2/mul/16w", "gf2/mul/20w"),
            ("circuit/loopback/hybrid-768/warm", "circuit/loopback/hybrid-512/warm"),
        ] {
            assert_eq!((by(kept), by(left_out)), (Some(SelectedBy::All), Some(SelectedBy::Part)));
        }
    }
}
