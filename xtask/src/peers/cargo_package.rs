//! C source inside a Rust package. cargo fetches the package and checks its digest against the registry's index.

use super::{make_directory, quiet_step, step, write};
use crate::Failure;
use crate::stage::program;
use crate::workspace::cargo;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// A package as cargo has it in its cache.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    name: String,
    /// With the part after `+`, in which such packages have the version of the C library.
    version: String,
    /// Where cargo has unpacked it.
    pub(super) folder: PathBuf,
    /// SHA-256 of the packed file, from the registry's index.
    checksum: String,
}

impl Package {
    /// Has cargo fetch the package, and says where it is.
    pub(super) fn fetch(project: &Path, name: &str, version: &str) -> Result<Self, Failure> {
        make_directory(&project.join("src"))?;
        let manifest = project.join("Cargo.toml");
        write(&project.join("src/lib.rs"), "")?;
        // A workspace of its own, so that ours does not claim it. Nothing of it is built.
        let text = format!(
            "[package]\nname = \"fetch-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             {name} = {{ version = \"={version}\", default-features = false }}\n"
        );
        write(&manifest, &text)?;
        let mut fetch = cargo();
        fetch.args(["fetch", "--manifest-path"]).arg(&manifest);
        step(&format!("fetching the package {name}"), fetch)?;
        let mut metadata = cargo();
        metadata.args(["metadata", "--format-version", "1", "--offline", "--manifest-path"]).arg(&manifest);
        let metadata = quiet_step("looking where cargo has put it", metadata)?;
        let lock = project.join("Cargo.lock");
        let lock = std::fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
        Self::locate(name, &metadata, &lock)
    }

    /// From `cargo metadata` and Cargo.lock.
    fn locate(name: &str, metadata: &str, lock: &str) -> Result<Self, Failure> {
        let metadata: Value = serde_json::from_str(metadata).map_err(|error| format!("cargo metadata: {error}"))?;
        let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
        let package = packages.iter().find(|package| package["name"] == name);
        let package = package.ok_or_else(|| format!("cargo has no {name}"))?;
        let manifest = package["manifest_path"].as_str().ok_or_else(|| format!("{name} has no manifest"))?;
        let version = package["version"].as_str().ok_or_else(|| format!("{name} has no version"))?;
        let folder = Path::new(manifest).parent().ok_or_else(|| format!("{name} has no folder"))?;
        let lock: toml::Table = lock.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
        let locked = lock.get("package").and_then(|packages| packages.as_array()).into_iter().flatten();
        let field = |package: &toml::Value, field: &str| package.get(field).and_then(|v| v.as_str()).map(str::to_owned);
        let checksum = locked
            .filter(|package| field(package, "name").as_deref() == Some(name))
            .find_map(|package| field(package, "checksum"));
        Ok(Self {
            name: name.to_owned(),
            version: version.to_owned(),
            folder: folder.to_owned(),
            checksum: checksum.ok_or_else(|| format!("Cargo.lock has no checksum of {name}"))?,
        })
    }

    /// The version of the C library: what follows `+` and `prefix`.
    pub(super) fn library_version(&self, prefix: &str) -> Result<&str, Failure> {
        let (_, library) = self.version.split_once('+').unwrap_or_default();
        let version = library.strip_prefix(prefix).filter(|version| !version.is_empty());
        version.ok_or_else(|| format!("{} {} does not say which library it holds", self.name, self.version))
    }

    /// The package's id, enough to get the same source again.
    pub(super) fn id(&self) -> String {
        format!("package {} {}, sha256 {}", self.name, self.version, self.checksum)
    }

    /// Unpacks the packed file once more, after looking at its digest: cargo looks only when it fetches, and its unpacked
    /// copy can have been edited since. Says where.
    pub(super) fn unpack(&self, into: &Path) -> Result<PathBuf, Failure> {
        let archive = self.archive()?;
        let bytes = std::fs::read(&archive).map_err(|error| format!("{}: {error}", archive.display()))?;
        let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        if digest != self.checksum {
            return Err(format!("{} has SHA-256 {digest}, the index says {}", archive.display(), self.checksum));
        }
        make_directory(into)?;
        let mut unpack = program("tar");
        unpack.arg("xzf").arg(&archive).arg("-C").arg(into);
        quiet_step(&format!("unpacking {} (its digest is that of the index)", self.name), unpack)?;
        Ok(into.join(format!("{}-{}", self.name, self.version)))
    }

    /// `registry/cache/INDEX/NAME.crate` belongs to `registry/src/INDEX/NAME/`.
    fn archive(&self) -> Result<PathBuf, Failure> {
        let index = self.folder.parent();
        let registry = index.and_then(Path::parent).and_then(Path::parent);
        let (Some(index), Some(registry)) = (index.and_then(Path::file_name), registry) else {
            return Err(format!("{} is not in cargo's registry", self.folder.display()));
        };
        Ok(registry.join("cache").join(index).join(format!("{}-{}.crate", self.name, self.version)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages": [{"name": "cc", "version": "1.0.0", "manifest_path": "/r/src/i/cc-1.0.0/Cargo.toml"},
        {"name": "oqs-sys", "version": "0.11.0+liboqs-0.13.0", "manifest_path": "/r/src/i/oqs/Cargo.toml"}]}"#;
    const LOCK: &str = "[[package]]\nname = \"cc\"\nversion = \"1.0.0\"\nchecksum = \"11\"\n\n\
        [[package]]\nname = \"oqs-sys\"\nversion = \"0.11.0+liboqs-0.13.0\"\nchecksum = \"22\"\n";

    #[test]
    fn the_version_is_that_of_the_c_library() {
        let package = Package::locate("oqs-sys", METADATA, LOCK).unwrap();
        assert_eq!(package.library_version("liboqs-"), Ok("0.13.0"));
        assert_eq!(package.folder, Path::new("/r/src/i/oqs"));
        assert_eq!(package.id(), "package oqs-sys 0.11.0+liboqs-0.13.0, sha256 22");
        assert!(package.library_version("openssl-").is_err());
    }

    #[test]
    fn the_packed_file_stands_beside_the_unpacked_one() {
        let archive = Package::locate("oqs-sys", METADATA, LOCK).unwrap().archive().unwrap();
        assert_eq!(archive, Path::new("/r/cache/i/oqs-sys-0.11.0+liboqs-0.13.0.crate"));
    }

    #[test]
    fn a_package_that_cargo_lacks_is_named() {
        assert!(Package::locate("oqs-sys", r#"{"packages": []}"#, LOCK).unwrap_err().contains("oqs-sys"));
        assert!(Package::locate("oqs-sys", METADATA, "").unwrap_err().contains("checksum of oqs-sys"));
    }

    #[test]
    fn an_archive_with_another_digest_is_not_unpacked() {
        let root = std::env::temp_dir().join(format!("candor-cargo-package-{}", std::process::id()));
        std::fs::create_dir_all(root.join("cache/i")).unwrap();
        std::fs::write(root.join("cache/i/x-1.0.0.crate"), b"not it").unwrap();
        let (name, version, checksum) = ("x".to_owned(), "1.0.0".to_owned(), "00".repeat(32));
        let package = Package { name, version, folder: root.join("src/i/x-1.0.0"), checksum };
        let why = package.unpack(&root.join("out")).unwrap_err();
        assert!(why.contains("the index says 0000") && !root.join("out").exists(), "{why}");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
