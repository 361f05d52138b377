//! gmsm, SM2 and its relatives in Go with assembly, as a shared library: a small program in Go around the module, whose functions C can call.
//! `go` fetches the module and compares it, and what it needs, with the digests that stand here.

use super::{Extent, cpu, make_directory, quiet_step, today, write, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::path::Path;
use std::process::Command;

const VERSION: &str = "0.43.0";
const MODULE: &str = "module candor-gmsm\n\ngo 1.24.0\n\nrequire github.com/emmansun/gmsm v0.43.0\n\n\
    require golang.org/x/crypto v0.48.0 // indirect\n";
const SUMS: &str = "\
github.com/emmansun/gmsm v0.43.0 h1:uiT92B9Ge99oxK1qT+LEls2OqX7WinGGNzUGF1hIZ4A=
github.com/emmansun/gmsm v0.43.0/go.mod h1:FD1EQk4XcSMkahZFzNwFoI/uXzAlODB9JVsJ9G5N7Do=
golang.org/x/crypto v0.48.0 h1:/VRzVqiRSggnhY7gNRxPauEQ5Drw9haKdM0jqfcCFts=
golang.org/x/crypto v0.48.0/go.mod h1:r0kV5h3qnFPlQnBSrULhlsRfryS2pmewsg+XfMgkVos=
golang.org/x/sys v0.41.0 h1:Ivj+2Cp/ylzLiEU89QhWblYnOE9zerudt9Ftecq2C6k=
golang.org/x/sys v0.41.0/go.mod h1:OgkHotnGiDImocRcuBABYBEXf8A9a87e/uXjp9XT3ks=
";
const SHIM: &str = include_str!("shims/gmsm.go");

/// The oldest Go 1 that the module takes, as `MODULE` says.
const OLDEST_GO: u32 = 24;

/// Why this machine's Go can't build it: Debian 12's is 1.19.
pub(super) fn go_is_too_old() -> Option<String> {
    let told = program("go").arg("version").output().ok()?;
    too_old(&String::from_utf8_lossy(&told.stdout))
}

fn too_old(told: &str) -> Option<String> {
    let version = told.split_whitespace().find_map(|word| word.strip_prefix("go1."))?;
    let minor: u32 = version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    (minor < OLDEST_GO).then(|| format!("Go 1.{version} is here, and gmsm needs 1.{OLDEST_GO}"))
}

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let source = peers.join("gmsm-source");
    make_directory(&source)?;
    for (name, text) in [("go.mod", MODULE), ("go.sum", SUMS), ("main.go", SHIM)] {
        write(&source.join(name), text)?;
    }
    let go = |words: &[&str]| -> Command {
        let mut go = program("go");
        // No toolchain is fetched, and neither file above is changed.
        go.args(words).env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly").env("CGO_ENABLED", "1");
        go.current_dir(&source);
        go
    };
    let told = quiet_step("asking for the version of Go", go(&["version"]))?;
    quiet_step("fetching the module gmsm", go(&["list", "-deps", "."]))?;
    if extent == Extent::Check {
        return Ok(());
    }
    let at = peers.join(format!("gmsm-{VERSION}"));
    make_directory(&at)?;
    let mut build = go(&["build", "-buildmode=c-shared", "-trimpath", "-o"]);
    build.arg(at.join("libcandor-gmsm.so.1")).arg(".");
    quiet_step("compiling gmsm", build)?;
    let commit = format!("Go module github.com/emmansun/gmsm v{VERSION}, {}", SUMS.lines().next().unwrap_or_default());
    let flags = format!("{}, c-shared, on {}, {}", told.trim(), cpu(), today());
    write_provenance(&at, &[("version", VERSION), ("commit", &commit), ("build", &flags)])?;
    println!("gmsm {VERSION} is in {}", at.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_module() {
        assert!(MODULE.contains(&format!("gmsm v{VERSION}\n")), "{MODULE}");
        assert!(MODULE.contains(&format!("\ngo 1.{OLDEST_GO}.0\n")), "{MODULE}");
        assert_eq!(too_old("go version go1.24.4 linux/amd64"), None);
        assert_eq!(
            too_old("go version go1.19.8 linux/amd64").as_deref(),
            Some("Go 1.19.8 is here, and gmsm needs 1.24")
        );
        assert_eq!(too_old("no version"), None);
        assert!(SUMS.starts_with(&format!("github.com/emmansun/gmsm v{VERSION} h1:")), "{SUMS}");
    }
}
