//! Two things that only the build knows: the exact versions of the libraries linked in (from Cargo.lock, so that a
//! subject's name can't lie), and three copies of one C kernel for the self-test of code layout.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    write_versions(&out);
    compile_layout_kernels(&out);
    println!("cargo:rerun-if-changed=build.rs");
}

/// Libraries that do the work of a wrapper that we depend on.
const BELOW: [&str; 2] = ["aws-lc-sys", "curve25519-dalek"];

/// Writes `versions.rs`: name, version and checksum of this crate's libraries, and of those below wrappers.
fn write_versions(out: &Path) {
    // Asked for at run time: a target directory outlives the place where the script was compiled.
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let lock = Path::new(&here).join("../../Cargo.lock");
    println!("cargo:rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock).unwrap_or_else(|error| panic!("{}: {error}", lock.display()));
    let packages = parse_lock(&text);
    let mut source = String::from("pub(super) const PACKAGES: &[(&str, &str, &str)] = &[\n");
    let find = |dependency: &str| {
        // Cargo.lock adds the version where a name alone would be ambiguous.
        let (name, version) = dependency.split_once(' ').unwrap_or((dependency, ""));
        let found = packages.iter().find(|p| p.name == name && (version.is_empty() || p.version == version));
        found.unwrap_or_else(|| panic!("{}: no package {dependency}; build the workspace once", lock.display()))
    };
    let mut dependencies: Vec<_> = find("candor-subjects").dependencies.iter().map(|name| find(name)).collect();
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

#[derive(Default)]
struct Package {
    name: String,
    version: String,
    checksum: String,
    dependencies: Vec<String>,
}

fn entry(package: &Package) -> String {
    format!("({:?}, {:?}, {:?})", package.name, package.version, package.checksum)
}

/// The few fields needed of Cargo.lock, whose lines cargo itself writes in one fixed form.
fn parse_lock(text: &str) -> Vec<Package> {
    let mut packages = Vec::new();
    for block in text.split("[[package]]").skip(1) {
        let mut package = Package::default();
        for line in block.lines().map(str::trim) {
            if let Some((key, value)) = line.split_once(" = ") {
                let value = value.trim_matches('"').to_owned();
                match key {
                    "name" => package.name = value,
                    "version" => package.version = value,
                    "checksum" => package.checksum = value,
                    _ => {}
                }
            } else if line.starts_with('"') {
                package.dependencies.push(line.trim_matches(|c| c == '"' || c == ',').to_owned());
            }
        }
        packages.push(package);
    }
    packages
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

/// The same C file three times: two static copies under different names and a shared object, all with the same flags.
fn compile_layout_kernels(out: &Path) {
    let source = "src/peers/layout.c";
    println!("cargo:rerun-if-changed={source}");
    let build = || {
        let mut build = cc::Build::new();
        // The level is fixed: what is compared is layout, in debug builds as well.
        build.opt_level(2).pic(true).debug(false).warnings(true);
        build
    };
    for copy in ["candor_layout_a", "candor_layout_b"] {
        build().file(source).define("CANDOR_KERNEL", copy).compile(copy);
    }
    let object = out.join("candor_layout.so");
    let compiler = build().define("CANDOR_KERNEL", "candor_layout_shared").get_compiler();
    let made = compiler.to_command().arg("-shared").arg("-o").arg(&object).arg(source).status();
    if !made.is_ok_and(|status| status.success()) {
        // Not every target can: an empty file makes the self-test refuse that one subject.
        println!("cargo:warning=no shared object for the layout self-test: the C compiler refused -shared");
        fs::write(&object, []).expect("OUT_DIR is writable");
    }
    let flags: Vec<_> = compiler.args().iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let flags = flags.into_iter().filter(|flag| !flag.contains("CANDOR_KERNEL")).collect::<Vec<_>>().join(" ");
    let facts = BTreeMap::from([("CC", compiler.path().display().to_string()), ("FLAGS", flags)]);
    for (name, value) in facts {
        println!("cargo:rustc-env=CANDOR_LAYOUT_{name}={value}");
    }
}
