//! `cargo xtask portable`: the libraries compile for processors and systems that are not here, without a warning.
//!
//! rustup brings the target's library; a target that can't be had is skipped with the reason. Nothing is linked, so no cross compiler is
//! needed. AWS-LC, which is written in C and assembly, is left out.

use crate::Failure;
use crate::stage::{cargo_with, program, stream};
use crate::tally::Tally;

/// One target.
struct Target {
    triple: &'static str,
    /// The crates that are compiled with their feature `std`.
    std: &'static [&'static str],
}

/// The first one, which has the least, is compiled in the gate.
const TARGETS: [Target; 3] = [
    Target { triple: "thumbv7em-none-eabi", std: &[] },
    // onion's circuits draw their padding from an operating system, which is not there.
    Target {
        triple: "wasm32-unknown-unknown",
        std: &["candor-cpu", "candor-primitives", "candor-gf2", "candor-opaque"],
    },
    Target { triple: "aarch64-unknown-linux-gnu", std: &CRATES },
];

const CRATES: [&str; 6] =
    ["candor-cpu", "candor-primitives", "candor-gf2", "candor-codes", "candor-onion", "candor-opaque"];

/// Everything that runs without an operating system and without C.
pub(crate) const BARE_FEATURES: [&str; 14] = [
    "candor-opaque/unicode",
    "candor-primitives/aead",
    "candor-primitives/cmac",
    "candor-primitives/dalek",
    "candor-primitives/ed25519",
    "candor-primitives/hash",
    "candor-primitives/kdf",
    "candor-primitives/ksf",
    "candor-primitives/libcrux",
    "candor-primitives/ml-kem",
    "candor-primitives/rsa",
    "candor-primitives/rustcrypto",
    "candor-primitives/sm2",
    "candor-primitives/x25519",
];

/// All targets, or the one that is named.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let chosen: Vec<&Target> = match words {
        [] => TARGETS.iter().collect(),
        [word] => TARGETS.iter().filter(|target| target.triple.contains(word.as_str())).collect(),
        [_, more, ..] => return Err(format!("`portable` takes one target, but `{more}` was given as well")),
    };
    if chosen.is_empty() {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
        return Err(format!("`portable` has no such target; it has {}", known.join(", ")));
    }
    let mut tally = Tally::default();
    chosen.iter().for_each(|target| target.check(&mut tally));
    println!("portable: {}", tally.line());
    Ok(tally.failed == 0)
}

/// The gate's part.
pub(crate) fn in_the_gate(tally: &mut Tally) {
    TARGETS[0].check(tally);
}

impl Target {
    fn check(&self, tally: &mut Tally) {
        let name = format!("portable {}", self.triple);
        if let Err(why) = fetch(self.triple) {
            println!("{name}: skipped: {why}");
            return tally.skip(&name, why.lines().next().unwrap_or_default());
        }
        let mut features: Vec<String> = BARE_FEATURES.iter().map(|feature| (*feature).to_owned()).collect();
        features.extend(self.std.iter().map(|name| format!("{name}/std")));
        let mut command = cargo_with(["clippy", "--quiet", "--lib", "--no-default-features", "--target", self.triple]);
        command.args(["--features", &features.join(",")]);
        for name in CRATES {
            command.args(["--package", name]);
        }
        command.args(["--", "-D", "warnings"]);
        tally.check(&name, stream(command, |_| ()));
    }
}

/// Has rustup fetch a target's library, if it isn't there.
pub(crate) fn fetch(triple: &str) -> Result<(), Failure> {
    let mut command = program("rustup");
    command.args(["target", "add", triple]);
    let output = command.output().map_err(|error| format!("rustup cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("rustup can't fetch {triple}: {}", said.lines().last().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_not_on_the_list_is_refused() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(run(&words("sparc")).unwrap_err().contains("thumbv7em-none-eabi"));
        assert!(run(&words("wasm32 aarch64")).unwrap_err().contains("`aarch64`"));
    }

    #[test]
    fn the_gate_takes_the_target_with_the_least() {
        assert!(TARGETS[0].std.is_empty());
    }
}
