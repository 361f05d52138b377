//! liboqs, from the source that crates.io has in the package `oqs-sys`: cargo fetches it and checks its digest.

use super::{compiler, make_directory, quiet_step, step, write};
use crate::Failure;
use crate::stage::program;
use crate::workspace::cargo;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The package that holds liboqs 0.13.0, the newest there.
const PACKAGE: &str = "0.11.0";
/// What is built of it: the KEM that we measure, and the one that pq-ntor-experiment has.
const KEMS: &str = "KEM_ml_kem_512;KEM_ml_kem_768;KEM_ml_kem_1024;KEM_kyber_512;KEM_kyber_768;KEM_kyber_1024";
/// As distributions build it: all arms, one chosen at run time.
const OPTIONS: [&str; 5] = [
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=ON",
    "-DOQS_DIST_BUILD=ON",
    "-DOQS_USE_OPENSSL=OFF",
    "-DOQS_BUILD_ONLY_LIB=ON",
];

pub(super) fn build(peers: &Path) -> Result<(), Failure> {
    let (source, version) = fetch(&peers.join("liboqs-source"))?;
    let build = peers.join(format!("liboqs-{version}"));
    make_directory(&build)?;
    let mut configure = program("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&build).args(OPTIONS).arg(format!("-DOQS_MINIMAL_BUILD={KEMS}"));
    quiet_step("configuring liboqs", configure)?;
    let mut make = program("cmake");
    make.arg("--build").arg(&build).args(["--parallel", "2"]);
    quiet_step("compiling liboqs (a minute)", make)?;
    let told = format!("{}, cmake {} (source: crates.io oqs-sys {PACKAGE})\n", compiler(), OPTIONS.join(" "));
    write(&build.join("BUILD"), &told)?;
    println!("liboqs {version} is in {}", build.join("lib").display());
    Ok(())
}

/// Has cargo fetch the package, and says where the C source is and of which version.
fn fetch(project: &Path) -> Result<(PathBuf, String), Failure> {
    make_directory(&project.join("src"))?;
    let manifest = project.join("Cargo.toml");
    write(&project.join("src/lib.rs"), "")?;
    // A workspace of its own, so that ours does not claim it. Nothing of it is built.
    let text = format!(
        "[package]\nname = \"fetch-liboqs\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         oqs-sys = {{ version = \"={PACKAGE}\", default-features = false }}\n"
    );
    write(&manifest, &text)?;
    let mut fetch = cargo();
    fetch.args(["fetch", "--manifest-path"]).arg(&manifest);
    step("fetching liboqs from crates.io", fetch)?;
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--offline", "--manifest-path"]).arg(&manifest);
    locate(&quiet_step("looking where cargo has put it", metadata)?)
}

/// From `cargo metadata` to the folder of the C source and its version.
fn locate(metadata: &str) -> Result<(PathBuf, String), Failure> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let package = packages.iter().find(|package| package["name"] == "oqs-sys").ok_or("cargo has no oqs-sys")?;
    let manifest = package["manifest_path"].as_str().ok_or("oqs-sys has no manifest")?;
    let version = package["version"].as_str().and_then(|version| version.split_once("+liboqs-")).map(|(_, v)| v);
    let folder = Path::new(manifest).parent().ok_or("oqs-sys has no folder")?.join("liboqs");
    Ok((folder, version.ok_or("oqs-sys does not say which liboqs it holds")?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_c_library() {
        let metadata = r#"{"packages": [{"name": "cc", "version": "1.0.0", "manifest_path": "/r/cc/Cargo.toml"},
            {"name": "oqs-sys", "version": "0.11.0+liboqs-0.13.0", "manifest_path": "/r/oqs-sys/Cargo.toml"}]}"#;
        assert_eq!(locate(metadata).unwrap(), (PathBuf::from("/r/oqs-sys/liboqs"), "0.13.0".to_owned()));
        assert!(locate(r#"{"packages": []}"#).unwrap_err().contains("oqs-sys"));
    }
}
