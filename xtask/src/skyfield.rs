//! The committed vectors of orbits against a fresh Skyfield, where it can be installed.
//!
//! `crates/links/data` holds what Skyfield and Vallado's SGP4 answered once; the tests of `links` compare with that and need no Python. Here the script that
//! wrote them computes everything anew, in an environment of its own below `target/skyfield`, and says whether the files still say so.

use crate::install;
use crate::peers::quiet_step;
use crate::stage::{program, stream};
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::path::PathBuf;

/// The versions that the script names.
const PACKAGES: [&str; 2] = ["skyfield==1.55", "sgp4==2.27"];

const SCRIPT: &str = "crates/links/oracles/orbits.py";

/// A skip where there is no Python or no package.
pub(crate) fn in_the_gate(workspace: &Workspace, tally: &mut Tally) {
    match python(workspace) {
        Err(why) => {
            println!("Skyfield: skipped: {why}");
            tally.skip("vectors of orbits by Skyfield", why.lines().next().unwrap_or_default());
        }
        Ok(python) => {
            let mut command = program(&python);
            command.arg(workspace.root.join(SCRIPT)).arg("--check");
            tally.check("vectors of orbits by Skyfield", stream(command, |_| ()));
        }
    }
}

/// A Python that has the packages.
fn python(workspace: &Workspace) -> Result<PathBuf, crate::Failure> {
    let at = workspace.target.join("skyfield");
    let python = at.join("bin/python");
    let mut asked = program(&python);
    asked.args(["-c", "import skyfield, sgp4; assert (skyfield.__version__, sgp4.__version__) == ('1.55', '2.27')"]);
    if asked.output().is_ok_and(|output| output.status.success()) {
        return Ok(python);
    }
    install::packages(&["python3-venv"])?;
    let mut make = program("python3");
    make.args(["-m", "venv"]).arg(&at);
    quiet_step("making an environment for Skyfield", make)?;
    let mut fetch = program(&python);
    fetch.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
    quiet_step("installing Skyfield", fetch)?;
    Ok(python)
}
