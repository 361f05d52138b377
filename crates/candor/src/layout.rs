//! What the newest self-test found out about code layout; later runs of the same build count it into their floor.

use crate::Failure;
use candor_lab::machine::Machine;
use candor_lab::runfile::{Layout, Run, Tool};
use candor_lab::trial::layout_floor;
use std::fs;
use std::path::Path;

/// Stands beside the run files and holds the name of the newest self-test.
const POINTER: &str = "self-test.txt";

/// The layout part of the floor, if the newest self-test in `directory` is whole and was made by this very build on this kind of CPU: layout belongs
/// to the build, and what it costs to the CPU.
pub(crate) fn known(directory: &Path, build: &Tool) -> Option<Layout> {
    let name = fs::read_to_string(directory.join(POINTER)).ok()?;
    let test = Run::open(&directory.join(name.trim())).ok()?;
    Some(Layout { floor: floor(&test, build, &Machine::here())?, run: test.name })
}

/// What a self-test says of this build on this kind of CPU.
fn floor(test: &Run, build: &Tool, machine: &Machine) -> Option<f64> {
    let holds = test.manifest.tool.is_build_of(build) && test.manifest.machine.short_name() == machine.short_name();
    layout_floor(&test.trials).filter(|_| holds)
}

/// Whether the self-test that the run at `path` names for its layout says the same. `None` if it does not stand beside the run.
pub(crate) fn confirmed(layout: &Layout, run: &Run, path: &Path) -> Option<bool> {
    let name = format!("{}.jsonl", layout.run);
    let beside = path.with_file_name(&name);
    // The name is anybody's: no path leads out of the directory.
    if beside.file_name() != Some(name.as_ref()) || !beside.is_file() {
        return None;
    }
    let says = |test: Run| floor(&test, &run.manifest.tool, &run.manifest.machine) == Some(layout.floor);
    Some(Run::open(&beside).is_ok_and(says))
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

#[cfg(test)]
mod tests {
    use super::*;
    use candor_lab::runfile::{End, Manifest, Record, RunWriter, SCHEMA, Trial};

    #[test]
    fn layout_is_known_of_the_same_build_on_the_same_kind_of_cpu() {
        let build = |sha256: &str| Tool { sha256: Some(sha256.to_owned()), ..Tool::default() };
        let found = |tool: Tool, machine: Machine, asked: &Tool| {
            let directory = tempfile::tempdir().unwrap();
            let manifest = Manifest { schema: SCHEMA, tool, machine, processes: 9, ..Manifest::default() };
            let mut file = RunWriter::begin(directory.path(), &manifest).unwrap();
            let (control, subject) = (vec![0.0; 9], vec![0.004; 9]);
            let name = "layout/twin".into();
            let trial = Trial { name, truth: None, control, subject, lost: 0, follows_itself: None };
            file.append(&Record::Trial(trial)).unwrap();
            file.append(&Record::End(End { during: Default::default(), seconds: 1.0, interrupted: false })).unwrap();
            let path = file.seal().unwrap();
            assert!(known(directory.path(), asked).is_none(), "nothing points at it yet");
            remember(&Run::open(&path).unwrap(), &path).unwrap_or_else(|_| panic!("it can be written"));
            known(directory.path(), asked).map(|layout| layout.floor)
        };
        assert_eq!(found(build("aa"), Machine::here(), &build("aa")), Some(0.004));
        assert_eq!(found(build("aa"), Machine::here(), &build("bb")), None, "another build");
        assert_eq!(found(Tool::default(), Machine::here(), &Tool::default()), None, "nobody knows which build");
        let other = Machine { cpu: "Another CPU".into(), cpu_id: String::new(), ..Machine::here() };
        assert_eq!(found(build("aa"), other, &build("aa")), None, "another kind of CPU");
        // The same kind of CPU with other microcode or more memory: it was never in force when all of the machine had to be the same.
        let sibling = Machine { memory_mib: 1, kernel: "other".into(), ..Machine::here() };
        assert_eq!(found(build("aa"), sibling, &build("aa")), Some(0.004));
    }

    #[test]
    fn a_run_that_names_its_self_test_is_confirmed_by_it_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let tool = Tool { sha256: Some("aa".to_owned()), ..Tool::default() };
        let manifest = Manifest { schema: SCHEMA, tool, machine: Machine::here(), processes: 9, ..Manifest::default() };
        let sealed = |manifest: &Manifest, trials: &[f64]| {
            let mut file = RunWriter::begin(directory.path(), manifest).unwrap();
            for median in trials {
                let (name, control, subject) = ("layout/twin".into(), vec![0.0; 9], vec![*median; 9]);
                let trial = Trial { name, truth: None, control, subject, lost: 0, follows_itself: None };
                file.append(&Record::Trial(trial)).unwrap();
            }
            file.append(&Record::End(End { during: Default::default(), seconds: 1.0, interrupted: false })).unwrap();
            let path = file.seal().unwrap();
            (Run::open(&path).unwrap(), path)
        };
        let (test, _) = sealed(&manifest, &[0.004]);
        let found = |floor: f64, name: &str, tool: &Tool| {
            let layout = Layout { floor, run: name.to_owned() };
            let manifest = Manifest { layout: Some(layout.clone()), tool: tool.clone(), ..manifest.clone() };
            let (run, path) = sealed(&manifest, &[]);
            confirmed(&layout, &run, &path)
        };
        assert_eq!(found(0.004, &test.name, &manifest.tool), Some(true));
        assert_eq!(found(0.001, &test.name, &manifest.tool), Some(false), "it found more");
        assert_eq!(found(0.004, &test.name, &Tool::default()), Some(false), "another build");
        assert_eq!(found(0.004, "2026-11-21-zen5-000000", &manifest.tool), None);
        let outside = format!("../{}/{}", directory.path().file_name().unwrap().display(), test.name);
        assert_eq!(found(0.004, &outside, &manifest.tool), None, "a path is no name");
    }
}
