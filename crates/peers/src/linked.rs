//! What Cargo.lock says about the libraries linked in: names and provenance come from here, never from a literal.

use candor_lab::Provenance;

include!(concat!(env!("OUT_DIR"), "/versions.rs"));

/// Version and checksum of a package.
///
/// # Panics
/// Where this crate does not depend on it; a test asks for all that are used.
pub fn package(name: &str) -> (&'static str, &'static str) {
    let found = PACKAGES.iter().find(|(known, ..)| *known == name);
    let (_, version, checksum) = found.unwrap_or_else(|| panic!("Cargo.lock does not know {name}"));
    (version, checksum)
}

/// `ring-0.17.14`: the subject's name of a package.
pub fn subject(name: &str) -> String {
    format!("{name}-{}", package(name).0)
}

/// The provenance of a package: version, package id and the build that this program went through.
pub fn provenance(name: &str, timed: impl Into<String>) -> Provenance {
    let (version, checksum) = package(name);
    Provenance {
        commit: Some(package_id(name, version, checksum)),
        build: Some(BUILD.to_owned()),
        ..Provenance::of(name, version, &timed.into())
    }
}

/// The package's name, version and digest: enough to get the same source again from any registry.
pub fn package_id(name: &str, version: &str, checksum: &str) -> String {
    format!("package {name} {version}, sha256 {checksum}")
}

/// Compiler and flags of this program's Rust code.
pub fn build() -> &'static str {
    BUILD
}

/// The arm that AWS-LC takes for ML-KEM, by its own rule (`ml_kem/mlkem_native_config.h`, `mlkem_native_backend.h`): it
/// does not tell at run time.
pub fn aws_lc_ml_kem_arm() -> &'static str {
    let assembled = cfg!(any(target_os = "linux", target_os = "macos"));
    #[cfg(target_arch = "x86_64")]
    if assembled && std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi2") {
        return "arithmetic avx2, by AWS-LC's own rule";
    }
    match assembled && cfg!(target_arch = "aarch64") {
        true => "arithmetic neon, by AWS-LC's own rule",
        false => "arithmetic in C, by AWS-LC's own rule",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_libraries_have_a_version_and_a_checksum() {
        let linked = [
            "aws-lc-rs",
            "aws-lc-sys",
            "graviola",
            "k256",
            "libcrux-ml-kem",
            "ml-kem",
            "p256",
            "p384",
            "ring",
            "secp256k1",
            "secp256k1-sys",
            "sha2",
            "x25519-dalek",
        ];
        for name in linked {
            let (version, checksum) = package(name);
            assert!(version.split('.').count() >= 3, "{name} {version}");
            assert_eq!(checksum.len(), 64, "{name}");
        }
    }

    /// The names and versions of all packages that a text in the form of a manifest requires exactly.
    fn exact(manifest: &str) -> Vec<(String, String)> {
        let lines = manifest.lines().filter_map(|line| {
            let (name, requirement) = line.split_once(" = {")?;
            let version = requirement.split_once("version = \"=")?.1.split('"').next()?;
            let package = requirement.split_once("package = \"").and_then(|(_, rest)| rest.split('"').next());
            Some((package.unwrap_or(name).to_owned(), version.to_owned()))
        });
        lines.collect()
    }

    /// `cargo install` without `--locked` takes the newest versions that the manifests allow, and the lock's would stand in the run files.
    #[test]
    fn what_stands_in_run_files_can_be_no_other_version() {
        let pinned = exact(include_str!("../Cargo.toml"));
        let measured = [
            "aes-gcm",
            "argon2",
            "argon2-rust",
            "aws-lc-rs",
            "aws-lc-sys",
            "blake2",
            "blake2b_simd",
            "ccm",
            "chacha20poly1305",
            "curve25519-dalek",
            "graviola",
            "hkdf",
            "hmac",
            "hqc-kem",
            "libcrux-ml-kem",
            "libsm",
            "ml-kem",
            "opaque-ke",
            "pq-mceliece",
            "ring",
            "rsa",
            "sha2",
            "sha3",
            "shake",
            "sm2",
            "sm3",
            "sm4",
            "voprf",
            "x25519-dalek",
        ];
        for name in measured {
            let (version, _) = package(name);
            assert!(
                pinned.contains(&(name.to_owned(), version.to_owned())),
                "{name} {version} is not required exactly"
            );
        }
        assert!(exact("a = { version = \"1.2\" }\nb = \"=1\"\nc.workspace = true").is_empty());
    }

    #[test]
    fn of_two_versions_the_newer_has_the_name() {
        assert!(package("sha2").0.starts_with("0.11."), "{}", package("sha2").0);
    }

    #[test]
    fn a_name_holds_the_version_of_cargo_lock() {
        let lock = include_str!("../../../Cargo.lock");
        for name in ["ml-kem", "ring"] {
            let version = package(name).0;
            assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")));
            assert_eq!(subject(name), format!("{name}-{version}"));
        }
    }
}
