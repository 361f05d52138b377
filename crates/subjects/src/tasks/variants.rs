//! What `candor run all` leaves out: variants of what it measures, and what takes long. A part of their names selects them, as it does all others, and
//! `candor list tasks` marks them.

/// The handshakes that stand for all, where each is measured over many links or paths.
const HANDSHAKES: [&str; 2] = ["ntor", "hybrid-768"];

/// Sizes of products from schoolbook to the largest of document 004.
const WORDS: [&str; 10] = ["1w", "2w", "4w", "8w", "16w", "32w", "64w", "128w", "277w", "901w"];

/// Why `all` leaves a task out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// It is like one that `all` has, with another size, parameter set, topology or way of calling.
    Variant,
    /// It takes long: a call of one of its subjects takes about a second or more, or a process that measures it over two, measured on a Zen 3 with all peers
    /// of `cargo xtask peers`. Most of that is single operations, which no smaller --budget makes fewer: five rounds and the preparations need them.
    Long,
}

/// The rule, and the only place that has it: by its name, whether and why `all` leaves a task out.
pub(super) fn left_out(name: &str) -> Option<LeftOut> {
    let segments: Vec<&str> = name.split('/').collect();
    if is_long(&segments) {
        Some(LeftOut::Long)
    } else if is_variant(&segments) {
        Some(LeftOut::Variant)
    } else {
        None
    }
}

fn is_long(segments: &[&str]) -> bool {
    match segments {
        // Seconds to minutes for a key.
        ["rsa", _, "keygen"] => true,
        ["kem", set, "keygen"] => set.starts_with("mceliece"),
        ["ksf", "argon2id", "64m" | "256m", _] | ["login", "http", "login-argon2id"] => true,
        // Tables and signatures of ten peers, a few of them schoolbook.
        ["rsa", "4096", _] | ["kem", "hqc-3" | "hqc-5", _] => true,
        // Libraries that work a block at a time.
        ["aead", "sm4-ccm", _, "1m" | "10m"] | ["cipher", "sm4-cbc", _, "1m" | "10m"] => true,
        // Relays, directory and target start in each process.
        ["http", "circuit", "bulk"] | ["circuit", "processes", _] | ["relay", "bulk" | "flood", _] => true,
        ["circuit", "loopback", _, start] => start.starts_with("directory-"),
        _ => false,
    }
}

fn is_variant(segments: &[&str]) -> bool {
    match *segments {
        ["rsa", "3072", _] => true,
        ["kem", set, _] if set.starts_with("mceliece") => set != "mceliece348864",
        // Of the two ways to hold its memory, `all` has the one that keeps it.
        ["ksf", "argon2id", _, "allocating"] => true,
        ["kem", "ml-kem-768", operation] => operation.ends_with("prepared-batch8"),
        ["kem", "ml-kem-512" | "ml-kem-1024", operation] => !["keygen", "encaps", "decaps"].contains(&operation),
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
    use super::{LeftOut, left_out};
    use crate::tasks::{FAMILIES, tasks};
    use candor_lab::SelectedBy;

    /// So many, with so many processes each, take a quarter of an hour with `--quick`.
    const MOST: usize = 180;

    #[test]
    fn all_has_something_of_every_family_and_is_no_work_for_a_night() {
        let all: Vec<String> =
            tasks().into_iter().filter(|t| t.selected_by == SelectedBy::All).map(|t| t.name).collect();
        assert!(all.len() <= MOST, "{} tasks", all.len());
        for (family, _) in FAMILIES
            .iter()
            .filter(|(family, _)| !["file/", "opaque/oprf/", "relay/bulk/", "relay/flood/"].contains(family))
        {
            assert!(all.iter().any(|name| name.starts_with(family)), "{family}");
        }
    }

    #[test]
    fn what_is_left_out_is_there_and_has_its_reason_and_a_task_like_it_stays() {
        use LeftOut::{Long, Variant};
        let all: Vec<(String, SelectedBy)> = tasks().into_iter().map(|t| (t.name, t.selected_by)).collect();
        let by = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, by)| *by);
        for (kept, without, why) in [
            ("hash/sha256/1m", "hash/sha256/10m", Variant),
            ("kem/mceliece348864/decaps", "kem/mceliece348864f/decaps", Variant),
            ("kem/mceliece348864/encaps", "kem/mceliece348864/keygen", Long),
            ("kem/hqc-1/decaps", "kem/hqc-5/decaps", Long),
            ("rsa/2048/pss-sign", "rsa/2048/keygen", Long),
            ("rsa/2048/pss-sign", "rsa/4096/pss-sign", Long),
            ("rsa/2048/pss-sign", "rsa/3072/pss-sign", Variant),
            ("aead/sm4-gcm/seal/1m", "aead/sm4-ccm/seal/1m", Long),
            ("aead/sm4-ccm/seal/1k", "aead/sm4-ccm/seal/64", Variant),
            ("ksf/argon2id/19m/kept", "ksf/argon2id/19m/allocating", Variant),
            ("ksf/argon2id/19m/kept", "ksf/argon2id/64m/kept", Long),
            ("ksf/argon2id/19m/kept", "ksf/argon2id/256m/kept", Long),
            ("gf2/mul/16w", "gf2/mul/20w", Variant),
            ("circuit/loopback/hybrid-768/warm", "circuit/loopback/hybrid-512/warm", Variant),
            ("circuit/loopback/hybrid-768/cold", "circuit/loopback/hybrid-768/directory-cold", Long),
            ("http/circuit/ttfb", "http/circuit/bulk", Long),
            ("http/circuit/ttfb", "relay/bulk/one-stream", Long),
            ("relay/create2/hybrid-768/single", "relay/flood/create2", Long),
            ("circuit/loopback/hybrid-768/warm", "circuit/processes/warm", Long),
            ("circuit/loopback/hybrid-768/warm", "circuit/processes/rested", Long),
            ("login/http/login", "login/http/login-argon2id", Long),
        ] {
            assert_eq!((by(kept), left_out(kept)), (Some(SelectedBy::All), None), "{kept}");
            assert_eq!((by(without), left_out(without)), (Some(SelectedBy::Part), Some(why)), "{without}");
        }
    }

    #[test]
    fn whole_programs_are_left_out_by_their_kind_and_not_by_this_rule() {
        for task in tasks().iter().filter(|task| task.name.starts_with("file/")) {
            assert_eq!((task.selected_by, left_out(&task.name)), (SelectedBy::Beginning, None));
        }
    }
}
