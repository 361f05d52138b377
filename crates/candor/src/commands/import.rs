//! `candor import`: what another benchmark tool printed, sealed.

use crate::cli::{ImportArguments, ImportTool};
use crate::config::Config;
use crate::measure::{all_tasks, command, tool};
use crate::output::{Talk, on_stdout, print};
use crate::{Failure, choose};
use candor_lab::analysis::Report;
use candor_lab::import::{self, Folder, Format, LARGEST, Origin, Sheet};
use candor_lab::machine::Machine;
use candor_lab::report::render;
use candor_lab::runfile::Run;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

/// Standard input.
const STDIN: &str = "-";

/// Figures that do the work of a task here: the tool, its name for them, and ours. Others need `--task`.
const KNOWN: &[(&str, &str, &str)] = &[
    ("openssl", "sha256/1024", "hash/sha256/1k"),
    ("openssl", "sha512/1024", "hash/sha512/1k"),
    ("openssl", "SHA256/1024", "hash/sha256/1k"),
    ("openssl", "SHA512/1024", "hash/sha512/1k"),
    ("openssl", "SHA3-256/1024", "hash/sha3-256/1k"),
    ("openssl", "SHA3-512/1024", "hash/sha3-512/1k"),
    ("openssl", "SM3/1024", "hash/sm3/1k"),
    ("openssl", "253-bits-ecdh-(X25519)/op", "ec/x25519/ecdh"),
    ("bssl", "Curve25519-arbitrary-point-multiplication", "ec/x25519/ecdh"),
    ("tor", "cell_ops_tor1/Outbound-cells-per-cell", "relay/cells/tor1"),
    ("tor", "cell_ops_cgo/CGO-outbound-at-relay-cell", "relay/cells/cgo"),
    ("liboqs", "ML-KEM-512/keygen", "kem/ml-kem-512/keygen"),
    ("liboqs", "ML-KEM-512/encaps", "kem/ml-kem-512/encaps"),
    ("liboqs", "ML-KEM-512/decaps", "kem/ml-kem-512/decaps"),
    ("liboqs", "ML-KEM-768/keygen", "kem/ml-kem-768/keygen"),
    ("liboqs", "ML-KEM-768/encaps", "kem/ml-kem-768/encaps"),
    ("liboqs", "ML-KEM-768/decaps", "kem/ml-kem-768/decaps"),
    ("liboqs", "ML-KEM-1024/keygen", "kem/ml-kem-1024/keygen"),
    ("liboqs", "ML-KEM-1024/encaps", "kem/ml-kem-1024/encaps"),
    ("liboqs", "ML-KEM-1024/decaps", "kem/ml-kem-1024/decaps"),
];

impl From<ImportTool> for Format {
    fn from(tool: ImportTool) -> Self {
        match tool {
            ImportTool::OpensslMr => Self::OpensslMr,
            ImportTool::Openssl => Self::Openssl,
            ImportTool::Bssl => Self::Bssl,
            ImportTool::Liboqs => Self::Liboqs,
            ImportTool::Criterion => Self::Criterion,
            ImportTool::Hyperfine => Self::Hyperfine,
            ImportTool::GoogleBenchmark => Self::Google,
            ImportTool::TorBench => Self::Tor,
            ImportTool::Supercop => Self::Supercop,
            ImportTool::Csv => Self::Csv,
        }
    }
}

pub(super) fn execute(arguments: &ImportArguments, talk: Talk) -> Result<(), Failure> {
    let (sheet, bytes) = read(arguments)?;
    let file = match arguments.file.file_name() {
        Some(name) if arguments.file.as_os_str() != STDIN => name.display().to_string(),
        _ => "standard input".to_owned(),
    };
    let machine = match arguments.cpu.as_deref() {
        Some("here") => Machine::here(),
        told => Machine::told(told.unwrap_or_default()),
    };
    let (tasks, task_bytes) = tasks(&sheet, &arguments.task)?;
    let origin = Origin { machine, file, bytes, subject: arguments.subject.clone(), tasks, task_bytes };
    let directory = Config::load()?.runs(arguments.runs.clone());
    let path = import::save(&sheet, &origin, tool(), command(), &directory)?;
    let report = Report::of(&Run::open(&path)?);
    print(&render(&[report], &[], on_stdout(arguments.format.into())))?;
    talk.say(&format!("import saved   {}", path.display()));
    Ok(())
}

/// The figures, and the bytes that they were read from.
fn read(arguments: &ImportArguments) -> Result<(Sheet, Vec<u8>), Failure> {
    let path = &arguments.file;
    if path.is_dir() {
        return Ok(Folder::read(path)?);
    }
    let mut bytes = Vec::new();
    // One byte more than is read, so that too long a file is refused and not cut.
    let most = LARGEST as u64 + 1;
    let taken = match path.as_os_str() == STDIN {
        true => stdin().lock().take(most).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    taken.map_err(|error| Failure::Error(format!("can't read {}: {error}", path.display())))?;
    let shown = if path.as_os_str() == STDIN { Path::new("standard input") } else { path };
    let sheet = import::read(&bytes, arguments.from.map(Format::from)).map_err(|flaw| import::flawed(shown, flaw))?;
    Ok((sheet, bytes))
}

/// The tasks by the names of their figures, and the bytes by the names of tasks.
type Tasks = (BTreeMap<String, String>, BTreeMap<String, u64>);

/// The tasks of the figures: those that are known to do the same work, and those that the user gives. Of these it says how many bytes they work through.
fn tasks(sheet: &Sheet, given: &[(String, String)]) -> Result<Tasks, Failure> {
    let is_there = |name: &str| sheet.figures.iter().any(|figure| figure.name == name);
    let known = KNOWN.iter().filter(|(tool, figure, _)| *tool == sheet.format.tool() && is_there(figure));
    let mut tasks: BTreeMap<String, String> = BTreeMap::new();
    for (figure, task) in known.map(|(_, figure, task)| ((*figure).to_owned(), (*task).to_owned())) {
        // What the user gives goes first, and no two figures are of one task.
        if !given.iter().any(|(_, other)| *other == task) && !tasks.values().any(|other| *other == task) {
            tasks.insert(figure, task);
        }
    }
    let mut bytes = BTreeMap::new();
    if given.is_empty() {
        return Ok((tasks, bytes));
    }
    let all = all_tasks();
    for (figure, task) in given {
        let Some(known) = all.iter().find(|known| known.name == *task) else {
            let names = all.iter().map(|task| task.name.as_str());
            return Err(Failure::Error(choose::unknown("task", task, names, "candor list tasks")));
        };
        bytes.extend(known.bytes.map(|bytes| (task.clone(), bytes)));
        tasks.insert(figure.clone(), task.clone());
    }
    Ok((tasks, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_lab::import::FORMATS;
    use clap::ValueEnum;

    #[test]
    fn every_tool_can_be_named_as_the_lab_names_it() {
        let named = ImportTool::value_variants().iter().map(|tool| {
            let value = tool.to_possible_value().expect("none is hidden");
            (value.get_name().to_owned(), Format::from(*tool))
        });
        let named: Vec<_> = named.collect();
        assert!(named.iter().all(|(name, format)| name == format.name()), "{named:?}");
        assert!(named.into_iter().map(|(_, format)| format).eq(FORMATS));
    }

    #[test]
    fn every_known_figure_is_of_a_task_that_there_is() {
        let all = all_tasks();
        for (tool, figure, task) in KNOWN {
            let known = all.iter().find(|known| known.name == *task);
            let known = known.unwrap_or_else(|| panic!("{tool} {figure}: there is no {task}"));
            if let Some(bytes) = known.bytes.filter(|_| *tool == "openssl") {
                assert!(figure.ends_with(&format!("/{bytes}")), "{figure} is not of the {bytes} bytes of {task}");
            }
            assert!(FORMATS.iter().any(|format| format.tool() == *tool), "{tool}");
        }
    }
}
