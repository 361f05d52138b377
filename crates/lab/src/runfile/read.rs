//! Strict reading: a file that was cut short, edited, or made by a later version is not a run, and the error names the line.

use super::printable::{is_unprintable, printable};
use super::record::*;
use super::replay::{self, Replay};
use crate::plan::{FEWEST_ROUNDS, MOST_PROCESSES, MOST_ROUNDS, TaskPlan, control_of};
use crate::{Evidence, LabError};
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A complete run, read from its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The file's name without its extension.
    pub name: String,
    /// Program, machine and settings.
    pub manifest: Manifest,
    /// The tasks in the order of the plan.
    pub tasks: Vec<TaskRecord>,
    /// The subjects of the tasks.
    pub subjects: Vec<SubjectRecord>,
    /// Subjects without a time.
    pub refusals: Vec<RefusalRecord>,
    /// The raw epochs.
    pub blocks: Vec<Block>,
    /// Processes that died.
    pub lost: Vec<Lost>,
    /// Trials of the lab itself.
    pub trials: Vec<Trial>,
    /// How the measurement ended.
    pub end: End,
    /// The seal's digest.
    pub sha256: String,
}

/// Why a file is not a valid run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Line number, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// Digits of the digest that stand in a run's name.
pub(super) const DIGITS: usize = 6;

/// Larger files are not read.
const LARGEST: u64 = 1 << 30;

impl Run {
    /// Reads a run file.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        Self::of(path, &Self::bytes(path)?)
    }

    /// The bytes of a run file.
    pub fn bytes(path: &Path) -> Result<Vec<u8>, LabError> {
        let io = |source| LabError::Io { doing: "can't read", path: path.to_path_buf(), source };
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(io)?;
        if bytes.len() as u64 > LARGEST {
            let why = format!("not a run file: over {LARGEST} bytes long");
            return Err(LabError::RunFile { path: path.to_path_buf(), line: 1, why });
        }
        Ok(bytes)
    }

    /// Reads a run from the bytes of the file at that path, whose name must not be another run's.
    pub fn of(path: &Path, bytes: &[u8]) -> Result<Self, LabError> {
        let flawed = |Flaw { line, why }| LabError::RunFile { path: path.to_path_buf(), line, why };
        let name = PathBuf::from(path.file_stem().unwrap_or_default()).display().to_string();
        let run = Self::parse(&name, bytes).map_err(flawed)?;
        match run.named_digest() {
            Some(named) if !run.sha256.starts_with(named) => Err(flawed(Flaw {
                line: bytes.iter().filter(|&&byte| byte == b'\n').count(),
                why: format!(
                    "the file's name says {named}, and its digest begins with {:.6}: it is another run",
                    run.sha256
                ),
            })),
            _ if run.begins_with_day() && run.name != run.given_name() && run.name != run.formerly_given() => {
                Err(flawed(Flaw {
                    line: 1,
                    why: format!(
                        "the file's name begins with a day as candor's do and is not what candor named it, {}: give it that name, or one without a day",
                        run.given_name()
                    ),
                }))
            }
            _ => Ok(run),
        }
    }

    /// The name that candor gave the file: day, CPU and the beginning of the digest.
    pub fn given_name(&self) -> String {
        format!("{}-{:.DIGITS$}", self.manifest.name(), self.sha256)
    }

    /// What an earlier candor would have named it: runs of early days keep their names.
    fn formerly_given(&self) -> String {
        format!("{}-{:.DIGITS$}", self.manifest.former_name(), self.sha256)
    }

    fn begins_with_day(&self) -> bool {
        let day = self.name.bytes().take(DAY).map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        day.eq(*b"0000-00-00")
    }

    /// The beginning of a digest that the file's name ends with, as candor names runs. `None` if it was renamed to something else.
    pub fn named_digest(&self) -> Option<&str> {
        let last = self.name.rsplit_once('-')?.1;
        let is_digest = last.len() == DIGITS && last.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_digest.then_some(last)
    }

    /// Reads a run from the bytes of its file. Never panics.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Flaw> {
        let at = |line: usize| move |why: String| Flaw { line, why };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
            Flaw { line, why: "not a run file: expected JSON, found binary data".into() }
        })?;

        let mut run: Option<Self> = None;
        let mut end = None;
        let mut replay = None;
        let mut offset = 0;
        let mut lines = text.split_inclusive('\n').enumerate();
        for (index, line) in &mut lines {
            let at = at(index + 1);
            let before = offset;
            offset += line.len();
            if !line.ends_with('\n') {
                return Err(at("the line is incomplete; the file was cut short".into()));
            }
            if line.ends_with("\r\n") {
                return Err(at("the line ends in CR LF, and candor writes LF: something rewrote the file, as git does with core.autocrlf".into()));
            }
            let record = if index == 0 { first(line).map_err(at)? } else { parse_line(line).map_err(at)? };
            let Some(run) = run.as_mut() else {
                let Record::Manifest(manifest) = record else {
                    return Err(at("not a run file: the first line is not a manifest".into()));
                };
                if let Some(Layout { floor, .. }) = &manifest.layout
                    && !(*floor > 0.0 && floor.is_finite())
                {
                    return Err(at(format!("the effect of layout is {floor}; expected a number above 0")));
                }
                if manifest.paired.as_ref().is_some_and(|paired| !paired.is_sound()) {
                    return Err(at("a paired run of fewer than two builds, or of two with one name".into()));
                }
                if manifest.processes > MOST_PROCESSES {
                    let processes = manifest.processes;
                    return Err(at(format!("{processes} processes; no more than {MOST_PROCESSES} are measured")));
                }
                if let Some(why) = manifest.before.impossible(manifest.machine.cpus) {
                    return Err(at(format!("{why}, before the run")));
                }
                run = Some(Self::empty(name, *manifest));
                continue;
            };
            match record {
                Record::Manifest(_) => return Err(at("a second manifest".into())),
                Record::Seal(seal) => {
                    let found = lower::encode_string(&Sha256::digest(&bytes[..before]));
                    if found != seal.sha256 {
                        return Err(at(format!(
                            "the seal does not match: the file was edited after it was sealed (expected {:.12}…, found \
                             {found:.12}…)",
                            seal.sha256
                        )));
                    }
                    run.sha256 = seal.sha256;
                    break;
                }
                _ if end.is_some() => return Err(at("a line after the end of the measurement".into())),
                Record::End(record) => {
                    if let Some(why) = record.during.impossible(run.manifest.machine.cpus) {
                        return Err(at(format!("{why}, during the run")));
                    }
                    let replay = replay.take().map_or_else(|| Replay::of(run), Ok).map_err(at)?;
                    replay.finish(&record, &run.tasks).map_err(at)?;
                    replay::trials(&record, run).map_err(at)?;
                    end = Some(record);
                }
                Record::Task(_) | Record::Subject(_) | Record::Refusal(_) if replay.is_some() => {
                    return Err(
                        at("a task, subject or refusal after the first block: the plan is fixed before".into()),
                    );
                }
                Record::Task(task) => run.add_task(task).map_err(at)?,
                Record::Subject(subject) => {
                    watched(&subject, &run.manifest).map_err(at)?;
                    run.subjects.push(*subject);
                }
                Record::Refusal(refusal) => run.refusals.push(refusal),
                Record::Block(block) => {
                    let replay = begun(&mut replay, run).map_err(at)?;
                    replay.block(&block, &run.tasks).map_err(at)?;
                    run.blocks.push(block);
                }
                Record::Lost(lost) => {
                    begun(&mut replay, run).and_then(|replay| replay.lost(&lost, &run.tasks)).map_err(at)?;
                    run.lost.push(lost);
                }
                Record::Trial(_) if !run.tasks.is_empty() => {
                    return Err(at("a trial in a run of tasks: a self-test has nothing else".into()));
                }
                Record::Trial(trial) => {
                    replay::trial(&trial, run.manifest.processes).map_err(at)?;
                    run.trials.push(trial);
                }
            }
        }
        let count = text.lines().count();
        let Some(mut run) = run else { return Err(at(1)("not a run file: the file is empty".into())) };
        if run.sha256.is_empty() {
            return Err(at(count)("the file ends without a seal; the run was cut short".into()));
        }
        if let Some((index, _)) = lines.next() {
            return Err(at(index + 1)("a line after the seal".into()));
        }
        run.end = end.ok_or_else(|| at(count)("the line that ends the measurement is missing".into()))?;
        Ok(run)
    }

    /// A run of which nothing but its beginning is known: no tasks, no end, no seal.
    #[must_use]
    pub fn empty(name: &str, manifest: Manifest) -> Self {
        Self {
            name: name.replace(is_unprintable, "\u{fffd}"),
            manifest,
            tasks: Vec::new(),
            subjects: Vec::new(),
            refusals: Vec::new(),
            blocks: Vec::new(),
            lost: Vec::new(),
            trials: Vec::new(),
            end: End { during: Default::default(), seconds: 0.0, interrupted: true },
            sha256: String::new(),
        }
    }

    fn add_task(&mut self, task: TaskRecord) -> Result<(), String> {
        if !self.trials.is_empty() {
            return Err("a task in a self-test, which has nothing but trials".into());
        }
        if self.tasks.iter().any(|known| known.task == task.task) {
            return Err(format!("a second entry for task {}", task.task));
        }
        if let Some(plan) = &task.plan {
            planned(plan).map_err(|why| format!("the plan of task {} {why}", task.task))?;
        }
        self.tasks.push(task);
        Ok(())
    }
}

/// Refuses two runs whose files have one name: reports and their files tell runs apart by it. The very same run may be given twice.
///
/// # Errors
///
/// The second of the two, with the path of the first.
pub fn refuse_namesakes<'a>(runs: impl Iterator<Item = (&'a Path, &'a Run)>) -> Result<(), LabError> {
    let mut seen: BTreeMap<&str, (&Path, &Run)> = BTreeMap::new();
    for (path, run) in runs {
        let (first, other) = seen.entry(&run.name).or_insert((path, run));
        if other.sha256 != run.sha256 {
            let why = format!(
                "another run than {} under the same file name, by which reports tell runs apart: rename one of them",
                first.display()
            );
            return Err(LabError::RunFile { path: path.to_path_buf(), line: 1, why });
        }
    }
    Ok(())
}

/// Whether a subject says what it used where the run says that all do, and nothing that its machine has not.
fn watched(subject: &SubjectRecord, manifest: &Manifest) -> Result<(), String> {
    let SubjectRecord { task, subject, provenance, used, .. } = subject;
    let expected = manifest.settings.contains_key(WATCHED) && provenance.evidence != Evidence::Imported;
    match used {
        None if expected => Err(format!(
            "{subject} of task {task} does not say what instructions it used, and the run says that they were sampled"
        )),
        Some(_) if !expected => {
            Err(format!("{subject} of task {task} says what instructions it used, and nothing sampled them"))
        }
        Some(used) => used.check(&manifest.machine.features).map_err(|why| format!("{subject} of task {task}: {why}")),
        None => Ok(()),
    }
}

/// The replay, which begins with the first block or lost process.
fn begun<'a>(replay: &'a mut Option<Replay>, run: &Run) -> Result<&'a mut Replay, String> {
    match replay {
        Some(replay) => Ok(replay),
        None => Ok(replay.insert(Replay::of(run)?)),
    }
}

/// Whether a plan has what every plan of [`TaskPlan::new`] has.
fn planned(plan: &TaskPlan) -> Result<(), &'static str> {
    let TaskPlan { subjects, iterations, rounds, cpu: _, lasts_ns } = plan;
    if subjects.len() < 2 || *iterations == 0 {
        return Err("has no subjects or no iterations");
    }
    if *lasts_ns > 0 && *iterations != 1 {
        return Err("has epochs of a fixed length and several operations in each");
    }
    // Rounds are rounded up to a whole square of up to five subjects. Of long operations one is enough, and an epoch is one of them.
    let fewest = if *iterations == 1 { 1 } else { FEWEST_ROUNDS };
    if !(fewest..MOST_ROUNDS + FEWEST_ROUNDS).contains(rounds) {
        return Err("has fewer or more rounds than any plan");
    }
    if subjects[1] != control_of(&subjects[0]) {
        return Err("does not have its baseline twice");
    }
    match subjects.iter().enumerate().any(|(i, subject)| subjects[..i].contains(subject)) {
        true => Err("has a subject twice"),
        false => Ok(()),
    }
}

/// The first line tells whether this is a run file, and its schema.
fn first(line: &str) -> Result<Record, String> {
    let value: serde_json::Value =
        serde_json::from_str(line).map_err(|_| "not a run file: the first line is not JSON".to_owned())?;
    if value.get("kind").and_then(|kind| kind.as_str()) != Some("manifest") {
        return Err("not a run file: the first line is not a manifest".into());
    }
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA) => parse_line(line),
        Some(schema) if schema > u64::from(SCHEMA) => Err(format!(
            "the run has schema {schema}, and this version of candor reads schema {SCHEMA}; use a newer candor"
        )),
        _ => Err("the manifest does not name a schema".into()),
    }
}

fn parse_line(line: &str) -> Result<Record, String> {
    serde_json::from_str(&printable(line)).map_err(|error| format!("not a record of a run: {error}"))
}
