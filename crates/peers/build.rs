//! Two things that are written down elsewhere and must not be written twice: the list of peers (the features of Cargo.toml), and the exact
//! versions of the libraries linked in (Cargo.lock, so that a subject's name can't lie).

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    write_offers(&read(&here.join("Cargo.toml")), &out);
    write_versions(&read(&here.join("../../Cargo.lock")), &out);
    println!("cargo:rerun-if-changed=build.rs");
}

fn read(path: &Path) -> String {
    println!("cargo:rerun-if-changed={}", path.display());
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes `offers.rs`: each feature in the list `peers`, in its order, with what its module offers if it is on.
fn write_offers(manifest: &str, out: &Path) {
    let list = manifest.split_once("\npeers = [").and_then(|(_, rest)| rest.split_once(']'));
    let (list, _) = list.expect("Cargo.toml has a feature `peers = [...]`");
    let mut source = String::from("const OFFERS: &[(&str, Option<&dyn Offers>)] = &[\n");
    for feature in list.split(',').map(|word| word.trim().trim_matches('"')).filter(|word| !word.is_empty()) {
        let module = feature.strip_prefix("peer-").expect("the features in `peers` begin with peer-").replace('-', "_");
        let on = env::var_os(format!("CARGO_FEATURE_PEER_{}", module.to_uppercase())).is_some();
        let offer = if on { format!("Some(&crate::{module}::Offer)") } else { "None".to_owned() };
        writeln!(source, "    ({feature:?}, {offer}),").expect("a String takes all");
    }
    source.push_str("];\n");
    fs::write(out.join("offers.rs"), source).expect("OUT_DIR is writable");
}

/// Libraries that do the work of a wrapper that we depend on.
const BELOW: [&str; 4] = ["aes", "aws-lc-sys", "curve25519-dalek", "secp256k1-sys"];

/// Writes `versions.rs`: name, version and checksum of this crate's libraries, and of those below wrappers.
fn write_versions(lock: &str, out: &Path) {
    let packages = parse_lock(lock);
    let mut source = String::from("pub(super) const PACKAGES: &[(&str, &str, &str)] = &[\n");
    let find = |dependency: &str| {
        // Cargo.lock adds the version where a name alone would be ambiguous.
        let (name, version) = dependency.split_once(' ').unwrap_or((dependency, ""));
        let found = packages.iter().find(|p| p.name == name && (version.is_empty() || p.version == version));
        found.unwrap_or_else(|| panic!("Cargo.lock has no package {dependency}; build the workspace once"))
    };
    let mut dependencies: Vec<_> = find("candor-peers").dependencies.iter().map(|name| find(name)).collect();
    // Of two versions the newer is the one that goes by the package's own name here; the older has a name that we gave it.
    let numbers = |package: &Package| -> Vec<u64> {
        package.version.split(['.', '-', '+']).map_while(|number| number.parse().ok()).collect()
    };
    dependencies.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| numbers(b).cmp(&numbers(a))));
    for package in dependencies {
        writeln!(source, "    {},", entry(package)).expect("a String takes all");
        // Wrappers: what runs is the library below.
        for below in package.dependencies.iter().filter(|name| BELOW.contains(&name.as_str())) {
            writeln!(source, "    {},", entry(find(below))).expect("a String takes all");
        }
    }
    source.push_str("];\n");
    writeln!(source, "pub(super) const BUILD: &str = {:?};", rust_build()).expect("a String takes all");
    fs::write(out.join("versions.rs"), source).expect("OUT_DIR is writable");
}

struct Package {
    name: String,
    version: String,
    checksum: String,
    dependencies: Vec<String>,
}

fn entry(package: &Package) -> String {
    format!("({:?}, {:?}, {:?})", package.name, package.version, package.checksum)
}

/// The few fields needed of Cargo.lock.
fn parse_lock(text: &str) -> Vec<Package> {
    let lock: toml::Table = text.parse().unwrap_or_else(|error| panic!("Cargo.lock: {error}"));
    let list = |value: Option<&toml::Value>| value.and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let text = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    let package = |package: &toml::Value| Package {
        name: text(package.get("name")),
        version: text(package.get("version")),
        // Our own packages have none.
        checksum: text(package.get("checksum")),
        dependencies: list(package.get("dependencies")).iter().map(|dependency| text(Some(dependency))).collect(),
    };
    list(lock.get("package")).iter().map(package).collect()
}

/// Compiler and flags of the Rust code, in one line.
fn rust_build() -> String {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("-V").output().ok();
    let version = version.and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_else(|| "rustc".into());
    let level = env::var("OPT_LEVEL").unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " ");
    let flags = if flags.is_empty() { "no RUSTFLAGS".to_owned() } else { format!("RUSTFLAGS {flags}") };
    format!("{}, opt-level {level}, {flags}", version.trim())
}
