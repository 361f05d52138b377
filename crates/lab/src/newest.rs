//! The newest releases of peers in C that we know of, for the lint `old-peer`.
//!
//! Peers in Rust are pinned by `Cargo.lock`. A library that a run finds on the machine, or that `cargo xtask peers` builds, may be years old: that is what this
//! table is for. A row is added or raised when somebody learns of a newer release; where we don't know when it came out, the day on which we learnt of it stands there.

/// A release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    library: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// When it came out, or since when we know of it.
    pub(crate) date: &'static str,
}

const NEWEST: &[Release] = &[
    Release { library: "gf2x", version: "1.3.0", date: "2019-12" },
    Release { library: "gmsm", version: "0.43.0", date: "2026-05-19" },
    Release { library: "gmssl", version: "3.2.0", date: "2026-06-21" },
    Release { library: "ipsec-mb", version: "3.0.0", date: "2026-11-25" },
    Release { library: "lib25519", version: "20260614", date: "2026-06-14" },
    Release { library: "libgcrypt", version: "1.12.4", date: "2026-11-25" },
    Release { library: "libmceliece", version: "20260622", date: "2026-06-22" },
    Release { library: "liboqs", version: "0.16.0", date: "2026-07" },
    Release { library: "libsodium", version: "1.0.22", date: "2026-11-25" },
    Release { library: "ntl", version: "11.6.0", date: "2026-11-23" },
    Release { library: "openssl", version: "4.0.3", date: "2026-11" },
    Release { library: "tongsuo", version: "8.5.0", date: "2026-09-30" },
    Release { library: "tor", version: "0.4.9.15", date: "2026-11-25" },
];

/// The newest release of the library that we know of, if it is newer than `version`.
pub(crate) fn newer_than(library: &str, version: &str) -> Option<Release> {
    let newest = NEWEST.iter().find(|release| release.library == library)?;
    (numbers(newest.version) > numbers(version)).then_some(*newest)
}

/// The numbers of a version in their order: 1.10 comes after 1.9.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_old_by_its_numbers_and_only_of_a_known_library() {
        let newer = |library, version| newer_than(library, version).map(|release| release.version);
        assert_eq!(newer("libgcrypt", "1.10.1"), Some("1.12.4"));
        assert_eq!(newer("libgcrypt", "1.9.4-unknown"), Some("1.12.4"), "nine comes before twelve");
        assert_eq!(newer("libgcrypt", "1.12.4"), None);
        assert_eq!(newer("libgcrypt", "1.12.5"), None, "newer than what we know");
        assert_eq!((newer("openssl", "3.0.19"), newer("openssl", "4.0.3")), (Some("4.0.3"), None));
        assert_eq!(newer("a library of tomorrow", "0.1"), None);
    }
}
