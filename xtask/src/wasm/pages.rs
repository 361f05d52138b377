//! The pages of the login server: those of `web/pages` and the package, put together in `target/web/login` for `candor login serve --pages`.

use super::package::{Installed, install, node};
use crate::stage::stream;
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::path::Path;

/// Puts them together with the package in that folder, and installs what judges them in the tests (axe-core).
pub(super) fn build(workspace: &Workspace, package: &Path, tally: &mut Tally) {
    const WHAT: &str = "the pages of the login";
    let pages = workspace.root.join("web/pages");
    let mut build = node(&pages);
    build.arg("build.mjs").arg(package).arg(workspace.target.join("web/login"));
    tally.check(WHAT, stream(build, |_| ()));
    match install(&pages) {
        Ok(Installed::Well) => {}
        Ok(Installed::Not) => tally.fail("what judges the pages"),
        Ok(Installed::Unreachable(why)) => {
            println!("what judges the pages: skipped: {why}");
            tally.skip("what judges the pages", &why);
        }
        Err(why) => tally.check("what judges the pages", Err(why)),
    }
}
