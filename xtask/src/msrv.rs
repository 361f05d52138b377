//! The oldest Rust that candor promises to compile with: `rust-version` in Cargo.toml.

use crate::Failure;
use crate::stage::{cargo_with, program, stream};
use crate::tally::Tally;
use crate::workspace::Workspace;

/// The gate's compiler must be that version or newer. If it is newer, everything is checked once more with the promised version, where
/// rustup has it.
pub(crate) fn check(workspace: &Workspace, tally: &mut Tally) {
    let judged = promised(workspace).and_then(|promised| Ok((ours()?, promised)));
    let (ours, promised) = match judged {
        Ok(versions) => versions,
        Err(why) => return tally.check("rust-version", Err(why)),
    };
    println!("rust-version {}.{}, this compiler {}.{}", promised.0, promised.1, ours.0, ours.1);
    if ours < promised {
        return tally.fail(format!("rust-version: this compiler is {}.{}, older than promised", ours.0, ours.1));
    }
    tally.pass();
    if ours == promised {
        println!("the other stages compile with the promised version itself");
        return;
    }
    match installed(promised) {
        None => {
            tally.skip("rust-version", &format!("rustup has no toolchain {}.{} to check with", promised.0, promised.1))
        }
        Some(toolchain) => {
            let mut command = cargo_with(["check", "--workspace", "--quiet"]);
            // The outer cargo's own path would win over the choice of a toolchain.
            command.env("RUSTUP_TOOLCHAIN", &toolchain).env("CARGO_TARGET_DIR", workspace.target.join("msrv"));
            tally.check(&format!("cargo check with {toolchain}"), stream(with_rustups_cargo(command), |_| ()));
        }
    }
}

/// The same command through rustup's `cargo`, which heeds RUSTUP_TOOLCHAIN.
fn with_rustups_cargo(command: std::process::Command) -> std::process::Command {
    let mut other = program("cargo");
    other.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    other
}

/// Major and minor of `1.95`, `1.95.0`, `1.95.0-nightly`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn promised(workspace: &Workspace) -> Result<(u32, u32), Failure> {
    let path = workspace.root.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let manifest: toml::Table = text.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let promised = package.and_then(|package| package.get("rust-version")).and_then(toml::Value::as_str);
    promised.and_then(version).ok_or_else(|| "Cargo.toml has no [workspace.package] rust-version".to_owned())
}

fn ours() -> Result<(u32, u32), Failure> {
    let output = program("rustc").arg("--version").output().map_err(|error| format!("cannot start rustc: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let word = said.split_whitespace().nth(1).and_then(version);
    word.ok_or_else(|| format!("`rustc --version` says no version: {said}"))
}

/// The name of an installed toolchain of that version.
fn installed(wanted: (u32, u32)) -> Option<String> {
    let output = program("rustup").args(["toolchain", "list"]).output().ok()?;
    fitting(&String::from_utf8_lossy(&output.stdout), wanted)
}

fn fitting(listed: &str, wanted: (u32, u32)) -> Option<String> {
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    names.into_iter().find(|name| version(name) == Some(wanted)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(version("1.95"), Some((1, 95)));
        assert_eq!(version("1.95.0-x86_64-unknown-linux-gnu"), Some((1, 95)));
        assert!(version("1.100.0") > version("1.95"));
        assert_eq!(version("stable-x86_64-unknown-linux-gnu"), None);
    }

    #[test]
    fn the_promised_toolchain_is_found_by_its_version() {
        let listed = "stable-x86_64-unknown-linux-gnu (active, default)\n1.95.0-x86_64-unknown-linux-gnu\n";
        assert_eq!(fitting(listed, (1, 95)).as_deref(), Some("1.95.0-x86_64-unknown-linux-gnu"));
        assert_eq!(fitting(listed, (1, 96)), None);
    }

    #[test]
    fn our_promise_is_read() {
        assert!(promised(&Workspace::here().unwrap()).unwrap() >= (1, 95));
        assert!(ours().is_ok());
    }
}
