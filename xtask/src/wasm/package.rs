//! The npm package `@candor/opaque` of `web/`: two WebAssembly modules, the compiled TypeScript, the size budget, the tests.
//!
//! It is put together in `target/web/opaque`, so that nothing is written beside the sources. TypeScript comes from npm, by `package-lock.json`.

use super::{TARGET, answers};
use crate::Failure;
use crate::portable;
use crate::stage::{cargo_with, program, stream};
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders and files of `web/` that the package is made of.
const PARTS: [&str; 8] =
    ["src", "test", "tools", "bench", "README.md", "package.json", "package-lock.json", "tsconfig.json"];
/// What a folder wants of npm.
const LOCK: &str = "package-lock.json";
/// A copy of the lock file in what was installed by it.
const INSTALLED: &str = "node_modules/.candor-lock.json";

/// The package, as a stage of the gate. What is missing on this machine is a skip with its reason.
pub(crate) fn in_the_gate(workspace: &Workspace, tally: &mut Tally) {
    if let Err(why) = tools() {
        println!("web package: skipped: {why}");
        return tally.skip("web package", why.lines().next().unwrap_or_default());
    }
    match assemble(workspace) {
        Ok(Assembled::At(folder)) => {
            tally.pass();
            super::pages::build(workspace, &folder, tally);
            let mut skips = Vec::new();
            let outcome = test(workspace, &folder, |line| {
                skips.extend(line.strip_prefix("skipped: ").map(str::to_owned));
            });
            tally.check("tests of the web package", outcome);
            skips.iter().for_each(|why| tally.skip("web package", why));
        }
        Ok(Assembled::Not) => tally.fail("web package"),
        Ok(Assembled::Unreachable(why)) => {
            println!("web package: skipped: {why}");
            tally.skip("web package", &why);
        }
        Err(why) => tally.check("web package", Err(why)),
    }
}

/// Measures Argon2id and a login in Chromium.
pub(super) fn bench(workspace: &Workspace) -> Result<bool, Failure> {
    tools()?;
    let folder = match assemble(workspace)? {
        Assembled::At(folder) => folder,
        Assembled::Not => return Ok(false),
        Assembled::Unreachable(why) => return Err(why),
    };
    let mut command = node(&folder);
    command.arg("bench/run.mjs");
    stream(command, |_| ())
}

/// The oldest node that the package runs in, as its `package.json` says.
const NODE: (u32, u32) = (20, 16);

/// Whether node's version, such as `v20.16.0`, is one that the package runs in.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= NODE
}

fn tools() -> Result<(), Failure> {
    let version = answers("node")?;
    if !is_new_enough(&version) {
        return Err(format!("the web package needs node {}.{} or newer; this is {version}", NODE.0, NODE.1));
    }
    answers("npm")?;
    portable::fetch(TARGET)
}

/// What became of the package.
enum Assembled {
    At(PathBuf),
    /// One of the steps has failed, and said why.
    Not,
    /// npm's registry did not answer.
    Unreachable(String),
}

/// What npm's errors have in them if its registry can't be reached.
const UNREACHABLE: [&str; 8] =
    ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH", "ENOTCACHED"];

/// What became of an installation.
pub(super) enum Installed {
    Well,
    Not,
    Unreachable(String),
}

/// Installs what the folder's lock file wants, unless it is there. No package runs a script of its own.
pub(super) fn install(folder: &Path) -> Result<Installed, Failure> {
    let lock = folder.join(LOCK);
    let wanted = fs::read(&lock).map_err(|error| cannot("read", &lock, &error))?;
    if fs::read(folder.join(INSTALLED)).is_ok_and(|installed| installed == wanted) {
        return Ok(Installed::Well);
    }
    let mut install = program("npm");
    let words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
    install.current_dir(folder).args(words);
    let mut reason = None;
    let well = stream(install, |line| {
        reason = reason.or_else(|| UNREACHABLE.into_iter().find(|code| line.contains(code)));
    })?;
    if well {
        copy(&lock, &folder.join(INSTALLED))?;
    }
    Ok(match reason {
        _ if well => Installed::Well,
        Some(code) => Installed::Unreachable(format!("npm can't reach its registry ({code})")),
        None => Installed::Not,
    })
}

/// Puts the package together.
fn assemble(workspace: &Workspace) -> Result<Assembled, Failure> {
    let folder = workspace.target.join("web/opaque");
    fs::create_dir_all(&folder).map_err(|error| cannot("make", &folder, &error))?;
    for old in ["dist", "src", "test", "tools", "bench"] {
        let _ = fs::remove_dir_all(folder.join(old));
    }
    for part in PARTS {
        copy(&workspace.root.join("web").join(part), &folder.join(part))?;
    }
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&workspace.root.join(licence), &folder.join(licence))?;
    }
    let transcript = "crates/opaque-wasm/tests/transcript.json";
    copy(&workspace.root.join(transcript), &folder.join("test/transcript.json"))?;

    let (Some(simd), Some(scalar)) = (module(workspace, true)?, module(workspace, false)?) else {
        return Ok(Assembled::Not);
    };
    match install(&folder)? {
        Installed::Well => {}
        Installed::Not => return Ok(Assembled::Not),
        Installed::Unreachable(why) => return Ok(Assembled::Unreachable(why)),
    }
    // Types with their descriptions, scripts without: a page would load a third more of them.
    let compile = |flags: &[&str]| {
        let mut command = node(&folder);
        command.arg("node_modules/typescript/bin/tsc").args(flags);
        stream(command, |_| ())
    };
    let mut write = node(&folder);
    write.arg("tools/modules.mjs").args([simd, scalar]);
    let well = compile(&["--emitDeclarationOnly"])?
        && compile(&["--declaration", "false", "--removeComments"])?
        && stream(write, |_| ())?;
    Ok(if well { Assembled::At(folder) } else { Assembled::Not })
}

/// Compiles the module, with 128-bit vectors or without.
fn module(workspace: &Workspace, vectors: bool) -> Result<Option<PathBuf>, Failure> {
    // Different flags in one folder would compile everything anew each time.
    let target = if vectors { workspace.target.join("web/simd") } else { workspace.target.clone() };
    let words = ["rustc", "--quiet", "--package", "candor-opaque-wasm", "--lib", "--crate-type", "cdylib"];
    let mut command = cargo_with(words);
    command.args(["--profile", "web", "--target", TARGET, "--target-dir"]).arg(&target);
    if vectors {
        command.env("RUSTFLAGS", "-C target-feature=+simd128");
    }
    let built = stream(command, |_| ())?;
    Ok(built.then(|| target.join(TARGET).join("web/candor_opaque_wasm.wasm")))
}

fn test(workspace: &Workspace, folder: &Path, read_along: impl FnMut(&str)) -> Result<bool, Failure> {
    let mut command = node(folder);
    command.args(["--test", "--test-reporter=spec"]);
    let tests = folder.join("test");
    let mut files: Vec<_> = fs::read_dir(&tests)
        .map_err(|error| cannot("read", &tests, &error))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".test.js"))
        .map(|name| format!("test/{name}"))
        .collect();
    files.sort();
    command.args(files);
    // The server that they talk to. The gate has built it.
    let candor = workspace.target.join("release").join(format!("candor{}", std::env::consts::EXE_SUFFIX));
    if candor.exists() {
        command.env("CANDOR", candor);
    }
    stream(command, read_along)
}

pub(super) fn node(folder: &Path) -> Command {
    let mut command = program("node");
    command.current_dir(folder);
    command
}

/// Copies a file, or a folder with what is in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if from.is_dir() {
        fs::create_dir_all(to).map_err(|error| cannot("make", to, &error))?;
        for entry in fs::read_dir(from).map_err(|error| cannot("read", from, &error))? {
            let entry = entry.map_err(|error| cannot("read", from, &error))?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).map(drop).map_err(|error| cannot("copy", from, &error))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    format!("cannot {what} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_package_is_there() {
        let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
        for part in PARTS {
            assert!(web.join(part).exists(), "web/{part}");
        }
    }

    #[test]
    fn a_node_that_is_too_old_is_a_skip() {
        let package = include_str!("../../../web/package.json");
        assert!(package.contains(&format!("\"node\": \">={}.{}\"", NODE.0, NODE.1)));
        assert!(["v20.16.0", "v20.20.2", "v22.0.0"].into_iter().all(is_new_enough));
        assert!(!["v18.20.4", "v20.15.1", "v9.99.0", "", "node"].into_iter().any(is_new_enough));
    }
}
