//! The sealed file of an import: a run file of which nothing was measured. Its tasks have no plan, its subjects are imported.

use super::value::LONGEST_NAME;
use super::{Sheet, flawed};
use crate::machine::Machine;
use crate::owner::{is_our_subject, is_program};
use crate::runfile::*;
use crate::{Evidence, LabError, Provenance};
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The setting that names the tool.
const IMPORTED: &str = "imported";

/// Where figures come from, as far as the tool itself does not say.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The machine on which the tool ran.
    pub machine: Machine,
    /// The file's name without its folder.
    pub file: String,
    /// Its bytes; of a folder, those of the files in it that were read, one after another.
    pub bytes: Vec<u8>,
    /// Another name for the subject than [`Sheet::subject`].
    pub subject: Option<String>,
    /// The tasks that do the same work, by the figures' names.
    pub tasks: BTreeMap<String, String>,
    /// The bytes that an operation of these tasks works through, by the tasks' names, where they are known. A figure of another number of bytes is refused.
    pub task_bytes: BTreeMap<String, u64>,
}

/// Seals the figures of a sheet in `directory` and returns the path.
///
/// # Errors
///
/// [`LabError::Import`] if two figures are said to be of one task, or a task is given to a figure that is not there or of other bytes; [`LabError::Io`] if the file can't be written.
pub fn save(
    sheet: &Sheet,
    origin: &Origin,
    tool: Tool,
    command: Vec<String>,
    directory: &Path,
) -> Result<PathBuf, LabError> {
    check(sheet, origin)?;
    let subject = origin.subject.clone().unwrap_or_else(|| sheet.subject());
    let digest = (!origin.bytes.is_empty()).then(|| lower::encode_string(&Sha256::digest(&origin.bytes)));
    let mut settings = BTreeMap::from([
        (IMPORTED.to_owned(), sheet.format.name().to_owned()),
        ("file".to_owned(), origin.file.clone()),
        (PROCESSES.to_owned(), "0".to_owned()),
    ]);
    settings.extend(digest.map(|digest| ("file_sha256".to_owned(), digest)));
    let manifest = Manifest {
        schema: SCHEMA,
        date: jiff::Timestamp::now().strftime(DATE).to_string(),
        tool,
        command,
        settings,
        machine: origin.machine.clone(),
        ..Manifest::default()
    };
    let task_of = |name: &str| {
        origin.tasks.get(name).cloned().unwrap_or_else(|| format!("imported/{}/{name}", sheet.format.tool()))
    };
    let method = sheet.format.method();
    let mut file = RunWriter::begin(directory, &manifest)?;
    for figure in &sheet.figures {
        let task = task_of(&figure.name);
        let what = format!("what {} calls {}; {method}", sheet.format.tool(), figure.name);
        file.append(&Record::Task(TaskRecord { task: task.clone(), what, bytes: figure.bytes, plan: None }))?;
        let provenance = Provenance {
            commit: Some(format!("line {} of {}", figure.line, origin.file)),
            build: sheet.build.clone(),
            evidence: Evidence::Imported,
            ..Provenance::of(&sheet.library, &sheet.version, method)
        };
        let quantities = figure.quantities.clone();
        let record = SubjectRecord { task, subject: subject.clone(), provenance, quantities, used: None };
        file.append(&Record::Subject(Box::new(record)))?;
    }
    for out in &sheet.left_out {
        let task = task_of(&out.name);
        let what = format!("what {} calls {}; {method}", sheet.format.tool(), out.name);
        file.append(&Record::Task(TaskRecord { task: task.clone(), what, bytes: None, plan: None }))?;
        let (subject, reason) = (subject.clone(), out.reason.clone());
        file.append(&Record::Refusal(RefusalRecord { task, subject, reason }))?;
    }
    file.append(&Record::End(End { during: Default::default(), seconds: 0.0, interrupted: false }))?;
    file.seal()
}

/// Whether every task that the user gave belongs to a figure, to only one, and to one that works through as many bytes.
fn check(sheet: &Sheet, origin: &Origin) -> Result<(), LabError> {
    let at = |line, why| Err(flawed(Path::new(&origin.file), Flaw { line, why }));
    if let Some(name) = &origin.subject {
        let length = name.chars().count();
        if !(1..=LONGEST_NAME).contains(&length) || name.trim().is_empty() {
            return at(1, format!("a subject's name of {length} characters; expected 1 to {LONGEST_NAME}"));
        }
        if is_our_subject(name) || is_program(name) {
            let whose = if is_program(name) { "a measured program's" } else { "candor's own" };
            return at(1, format!("{name} is the name of {whose} row, and an import is none: choose another subject"));
        }
    }
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, task) in &origin.tasks {
        let Some(figure) = sheet.figures.iter().find(|figure| figure.name == *name) else {
            let names: Vec<&str> = sheet.figures.iter().take(8).map(|figure| figure.name.as_str()).collect();
            let more = if sheet.figures.len() > names.len() { " and others" } else { "" };
            return at(1, format!("no figure is named {name}; there are {}{more}", names.join(", ")));
        };
        if let Some(first) = given.insert(task, name) {
            return at(figure.line, format!("{first} and {name} can't both be of task {task}"));
        }
        if let (Some(bytes), Some(expected)) = (figure.bytes, origin.task_bytes.get(task))
            && bytes != *expected
        {
            return at(
                figure.line,
                format!("{name} is of {bytes} bytes; an operation of {task} works through {expected}"),
            );
        }
    }
    Ok(())
}

impl Run {
    /// Whether nothing of it was measured: an import.
    #[must_use]
    pub fn is_import(&self) -> bool {
        let imported = |subject: &SubjectRecord| subject.provenance.evidence == Evidence::Imported;
        !self.tasks.is_empty()
            && self.tasks.iter().all(|task| task.plan.is_none())
            && self.subjects.iter().all(imported)
    }

    /// Where an import comes from: the tool, and the file's name.
    #[must_use]
    pub fn imported_from(&self) -> Option<String> {
        let setting = |name: &str| self.manifest.settings.get(name);
        Some(format!("imported from {}, output of {}; nothing was measured", setting("file")?, setting(IMPORTED)?))
            .filter(|_| self.is_import())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// candor's own rows are judged otherwise than those of others.
    #[test]
    fn an_import_does_not_pass_for_a_row_of_ours() {
        let directory = tempfile::tempdir().unwrap();
        let sheet = super::super::read(b"name,value,unit\na,1.5,ns\n", None).unwrap();
        let named = |name: &str| {
            let origin = Origin { subject: Some(name.into()), file: "a.csv".into(), ..Origin::default() };
            save(&sheet, &origin, Tool::default(), Vec::new(), directory.path()).map(|path| Run::open(&path).unwrap())
        };
        for name in ["candor", "candor@avx512", " Candor-0.1", "program-sha256", "", " ", &"x".repeat(201)] {
            let why = named(name).expect_err(name).to_string();
            assert!(why.contains("row, and an import is none") || why.contains("expected 1 to 200"), "{why}");
        }
        for name in ["candorous", "openssl-3.5@candor", &"x".repeat(200)] {
            assert_eq!(named(name).unwrap().subjects[0].subject, name);
        }
        // Whatever a file says of its library.
        let ours = Provenance::of("candor", "0.1.0", "hashes");
        assert!(ours.is_ours("candor@avx512"));
        assert!(!ours.is_ours("program-candor"));
        assert!(!Provenance { evidence: Evidence::Imported, ..ours }.is_ours("candor@avx512"));
    }
}
