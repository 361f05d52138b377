//! A whole run of a few made-up tasks within this process.

use candor_lab::runfile::{Run, Tool};
use candor_lab::session::{self, InProcess, Settings};
use candor_lab::{LabError, Task};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) fn settings(directory: &Path) -> Settings {
    Settings {
        budget: Duration::from_millis(300),
        processes: 6.into(),
        seed: Some(1),
        subjects: Vec::new(),
        baseline: None,
        directory: directory.into(),
        layout: None,
        repeats: None,
        paired: None,
        tool: Tool::default(),
        command: vec!["test".into()],
    }
}

#[allow(dead_code)] // a file of tests may want the settings alone
pub(crate) fn measure(tasks: &[Task], directory: &Path) -> Result<Run, LabError> {
    let stop = AtomicBool::new(false);
    let finished = session::run(tasks, &settings(directory), &InProcess(tasks), &stop, &mut |_| {})?;
    Run::open(&finished.path)
}
