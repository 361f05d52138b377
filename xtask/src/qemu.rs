//! `cargo xtask qemu`: checks that gf2's accelerated arms for other processors agree with the portable one, on emulated processors.
//!
//! The example `arms` of candor-gf2 runs under qemu's user mode. Each run names the arm that must have been chosen, and the
//! program fails if it was another. qemu 7.2 does not tell a RISC-V program about Zbc, so that arm is forced. The control is the
//! same run on an emulated processor without Zbc: it must die of SIGILL, which proves that the instructions were there.
//!
//! The standard libraries for the other processors come from Debian, in the version of Debian's own newer rustc, since rustup may be out
//! of reach. They are unpacked and not installed. Emulators, linkers and that rustc are installed if we are root. Nothing is timed.

pub(crate) mod product_tests;

use crate::Failure;
use crate::install;
use crate::peers::debian::{Apt, Release};
use crate::peers::{make_directory, quiet_step};
use crate::stage::program;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

const PACKAGES: [&str; 6] = [
    "qemu-user",
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "gcc-riscv64-linux-gnu",
    "libc6-dev-riscv64-cross",
    "rustc-web",
];
/// Debian's newer rustc. rustup's stands before it in PATH, so it is called by its full name.
const RUSTC: &str = "/usr/bin/rustc";
/// The standard library.
const LIBRARY: &str = "libstd-rust-web-dev";
/// The first release of Debian that has it for RISC-V.
const RISCV_RELEASE: Release<'_> = Release { suite: "trixie", architecture: "riscv64", with_sources: false };

/// A processor to emulate.
struct Machine {
    /// As rustc calls it, without the system.
    rust: &'static str,
    /// As gcc and qemu call it.
    gnu: &'static str,
    /// As Debian calls it.
    debian: &'static str,
}

const AARCH64: Machine = Machine { rust: "aarch64", gnu: "aarch64", debian: "arm64" };
const RISCV64: Machine = Machine { rust: "riscv64gc", gnu: "riscv64", debian: "riscv64" };

/// One run of the program.
struct Run {
    machine: &'static Machine,
    /// Options of qemu.
    qemu: &'static [&'static str],
    /// Words for the program; the last is the arm.
    words: &'static [&'static str],
    expect: Expect,
}

#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Agrees,
    /// Dies at an instruction that the processor lacks: a control.
    IllegalInstruction,
}

const RUNS: [Run; 5] = [
    Run { machine: &AARCH64, qemu: &[], words: &["host", "pmull"], expect: Expect::Agrees },
    Run { machine: &AARCH64, qemu: &[], words: &["force", "portable", "portable"], expect: Expect::Agrees },
    Run {
        machine: &RISCV64,
        qemu: &["-cpu", "rv64,zbc=true"],
        words: &["force", "zbc", "zbc"],
        expect: Expect::Agrees,
    },
    Run { machine: &RISCV64, qemu: &["-cpu", "rv64,zbc=false"], words: &["host", "portable"], expect: Expect::Agrees },
    Run {
        machine: &RISCV64,
        qemu: &["-cpu", "rv64,zbc=false"],
        words: &["force", "zbc", "zbc"],
        expect: Expect::IllegalInstruction,
    },
];

/// Builds the program for each processor and runs it. Whatever is missing on this machine is a skip with its reason.
pub(crate) fn run(workspace: &Workspace) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    let at = workspace.target.join("qemu");
    make_directory(&at)?;
    let at = at.canonicalize().map_err(|error| format!("{}: {error}", at.display()))?;
    let sysroot = match install::packages(&PACKAGES).and_then(|()| sysroot(&at)) {
        Ok(sysroot) => sysroot,
        Err(why) => {
            println!("qemu: skipped: {why}");
            tally.skip("qemu", why.lines().next().unwrap_or_default());
            return Ok(tally);
        }
    };
    for machine in [&AARCH64, &RISCV64] {
        let built = build(workspace, machine, &sysroot, &at);
        for run in RUNS.iter().filter(|run| run.machine.rust == machine.rust) {
            let name = run.name();
            let outcome = built.clone().and_then(|program| run.carry_out(&program));
            match &outcome {
                Ok(said) => println!("{name}: ok ({said})"),
                Err(why) => println!("{name}: FAILED: {why}"),
            }
            match outcome {
                Ok(_) => tally.pass(),
                Err(why) => tally.fail(format!("{name}: {}", why.lines().next().unwrap_or_default())),
            }
        }
    }
    println!("qemu: {}", tally.line());
    Ok(tally)
}

/// A sysroot for rustc with the standard libraries of both processors.
fn sysroot(at: &Path) -> Result<PathBuf, Failure> {
    let mut asked = program("dpkg-query");
    asked.args(["-W", "-f", "${Version}", "rustc-web"]);
    let version = quiet_step("asking for the version of rustc", asked)?;
    let root = at.join(format!("rust-{}", version.trim()));
    let library = |machine: &Machine| root.join(format!("usr/lib/rustlib/{}-unknown-linux-gnu", machine.rust));
    if ![&AARCH64, &RISCV64].iter().all(|machine| library(machine).is_dir()) {
        let apt = Apt::with(at, Some(RISCV_RELEASE), &["amd64", AARCH64.debian, RISCV64.debian])?;
        for machine in [&AARCH64, &RISCV64] {
            let package = format!("{LIBRARY}:{}", machine.debian);
            let mut madison = apt.command("apt-cache");
            madison.args(["madison", &package]);
            let listed = quiet_step(&format!("looking for {package}"), madison)?;
            let fitting = fitting(&listed, version.trim()).ok_or_else(|| {
                format!("Debian has no {package} that fits rustc-web {}; it lists:\n{listed}", version.trim())
            })?;
            apt.unpack(&format!("{package}={fitting}"), &root)?;
        }
    }
    Ok(root.join("usr"))
}

/// From the output of `apt-cache madison`: the same version or, if there is none, the same source built for another release
/// (1.96.0+dfsg1-1~deb13u1).
fn fitting(listed: &str, version: &str) -> Option<String> {
    let source = version.split('~').next().unwrap_or(version);
    let versions: Vec<&str> = listed.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    let same = versions.iter().find(|listed| **listed == version);
    same.or_else(|| versions.iter().find(|listed| listed.split('~').next() == Some(source))).map(|v| (*v).to_owned())
}

/// Builds the program and says where it is.
fn build(workspace: &Workspace, machine: &Machine, sysroot: &Path, at: &Path) -> Result<PathBuf, Failure> {
    let target = format!("{}-unknown-linux-gnu", machine.rust);
    let variable = |what: &str| format!("CARGO_TARGET_{}_{what}", target.to_uppercase().replace('-', "_"));
    let mut command = cargo();
    command
        .current_dir(&workspace.root)
        .args(["build", "--quiet", "--release", "--package", "candor-gf2", "--example", "arms", "--features", "ct"])
        .args(["--target", &target])
        .env("RUSTC", RUSTC)
        .env("CARGO_TARGET_DIR", at.join("build"))
        .env(variable("LINKER"), format!("{}-linux-gnu-gcc", machine.gnu))
        .env(variable("RUSTFLAGS"), format!("--sysroot {}", sysroot.display()));
    quiet_step(&format!("compiling for {target}"), command)?;
    Ok(at.join("build").join(target).join("release/examples/arms"))
}

impl Run {
    fn name(&self) -> String {
        format!("qemu {} {} {}", self.machine.gnu, self.qemu.last().unwrap_or(&"default"), self.words.join(" "))
    }

    /// Runs the program and returns what it printed.
    fn carry_out(&self, arms: &Path) -> Result<String, Failure> {
        let mut command = program(format!("qemu-{}", self.machine.gnu));
        command
            .args(self.qemu)
            .arg("-L")
            .arg(format!("/usr/{}-linux-gnu", self.machine.gnu))
            .arg(arms)
            .args(self.words);
        let output = command.output().map_err(|error| format!("cannot start qemu: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let illegal = output.status.signal() == Some(4);
        match (self.expect, output.status.success()) {
            (Expect::Agrees, true) => Ok(said),
            (Expect::IllegalInstruction, false) if illegal => Ok("died of SIGILL, as it must".to_owned()),
            (Expect::IllegalInstruction, true) => {
                Err("ran to its end on a processor that lacks its instructions".to_owned())
            }
            _ => Err(format!("{}: {said} {}", output.status, String::from_utf8_lossy(&output.stderr).trim())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_must_be_of_the_compilers_source() {
        let listed = "libstd-rust-web-dev | 1.96.0+dfsg1-1~deb13u1+b1 | http://mirror.example/debian trixie/main riscv64\n\
                      libstd-rust-web-dev | 1.85.0+dfsg3-1~deb12u3 | http://mirror.example/debian bookworm/main riscv64\n";
        let fit = |version| fitting(listed, version);
        assert_eq!(fit("1.96.0+dfsg1-1~deb12u2").as_deref(), Some("1.96.0+dfsg1-1~deb13u1+b1"));
        assert_eq!(fit("1.85.0+dfsg3-1~deb12u3").as_deref(), Some("1.85.0+dfsg3-1~deb12u3"));
        assert_eq!(fit("1.97.0+dfsg1-1"), None);
    }

    #[test]
    fn every_accelerated_run_has_its_control() {
        let controls = RUNS.iter().filter(|run| run.expect == Expect::IllegalInstruction);
        for control in controls {
            assert!(RUNS.iter().any(|run| run.words == control.words && run.expect == Expect::Agrees));
        }
    }
}
