//! What the newest self-test found out about code layout on this machine; later runs count it into their floor.

use crate::Failure;
use candor_lab::machine::Machine;
use candor_lab::runfile::{Layout, Run};
use candor_lab::trial::layout_floor;
use std::fs;
use std::path::Path;

/// Stands beside the run files and holds the name of the newest self-test.
const POINTER: &str = "self-test.txt";

/// The layout part of the floor, if the newest self-test in `directory` is whole and was made on this machine.
pub(crate) fn known(directory: &Path) -> Option<Layout> {
    let name = fs::read_to_string(directory.join(POINTER)).ok()?;
    let run = Run::open(&directory.join(name.trim())).ok()?;
    let here = run.manifest.machine.same_as(&Machine::here());
    Some(Layout { floor: layout_floor(&run.trials).filter(|_| here)?, run: run.name })
}

/// Makes `run`, saved at `path`, the newest self-test of its directory, if it measured code layout at all.
pub(crate) fn remember(run: &Run, path: &Path) -> Result<(), Failure> {
    if layout_floor(&run.trials).is_none() {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let pointer = path.with_file_name(POINTER);
    fs::write(&pointer, format!("{name}\n"))
        .map_err(|error| Failure::Error(format!("can't write {}: {error}", pointer.display())))
}
