//! Strict reading: a file that was cut short, edited, or made by a later version is not a run, and the error names the line.

use super::record::*;
use crate::LabError;
use crate::plan::TaskPlan;
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
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

/// Larger files are not read.
const LARGEST: u64 = 1 << 30;

impl Run {
    /// Reads a run file.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let io = |source| LabError::Io { doing: "can't read", path: path.to_path_buf(), source };
        let size = std::fs::metadata(path).map_err(io)?.len();
        let flawed = |Flaw { line, why }| LabError::RunFile { path: path.to_path_buf(), line, why };
        if size > LARGEST {
            return Err(flawed(Flaw {
                line: 1,
                why: format!("not a run file: {size} bytes long; expected at most {LARGEST}"),
            }));
        }
        let bytes = std::fs::read(path).map_err(io)?;
        let name = PathBuf::from(path.file_stem().unwrap_or_default()).display().to_string();
        Self::parse(&name, &bytes).map_err(flawed)
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
        let mut offset = 0;
        let mut lines = text.split_inclusive('\n').enumerate();
        for (index, line) in &mut lines {
            let at = at(index + 1);
            let before = offset;
            offset += line.len();
            if !line.ends_with('\n') {
                return Err(at("the line is incomplete; the file was cut short".into()));
            }
            let record = if index == 0 { first(line).map_err(at)? } else { parse_line(line).map_err(at)? };
            let Some(run) = run.as_mut() else {
                let Record::Manifest(manifest) = record else {
                    return Err(at("not a run file: the first line is not a manifest".into()));
                };
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
                Record::End(record) => end = Some(record),
                Record::Task(task) => run.add_task(task).map_err(at)?,
                Record::Subject(subject) => run.subjects.push(subject),
                Record::Refusal(refusal) => run.refusals.push(refusal),
                Record::Block(block) => run.add_block(block).map_err(at)?,
                Record::Lost(lost) => run.lost.push(lost),
                Record::Trial(trial) => run.trials.push(trial),
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

    fn empty(name: &str, manifest: Manifest) -> Self {
        Self {
            name: name.to_owned(),
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
        if self.tasks.iter().any(|known| known.task == task.task) {
            return Err(format!("a second entry for task {}", task.task));
        }
        let idle = |plan: &TaskPlan| plan.subjects.len() < 2 || plan.iterations == 0 || plan.rounds == 0;
        if task.plan.as_ref().is_some_and(idle) {
            return Err(format!("the plan of task {} has no subjects, iterations or rounds", task.task));
        }
        self.tasks.push(task);
        Ok(())
    }

    /// Accepts a block only if every number that the analysis indexes or divides by is present and makes sense.
    fn add_block(&mut self, block: Block) -> Result<(), String> {
        let task = self.tasks.iter().find(|task| task.task == block.task);
        let plan = task.and_then(|task| task.plan.as_ref());
        let plan = plan.ok_or_else(|| format!("a block of task {}, which has no plan", block.task))?;
        if self.blocks.iter().any(|known| known.task == block.task && known.process == block.process) {
            return Err(format!("a second block for process {} of task {}", block.process, block.task));
        }
        if block.process >= self.manifest.processes {
            return Err(format!("process {} of task {} is not in the plan", block.process, block.task));
        }
        if block.iterations != plan.iterations || block.orders.len() != plan.rounds {
            return Err("the iterations or rounds of the block differ from the plan".into());
        }
        let planned: BTreeSet<&String> = plan.subjects.iter().collect();
        if !block.ns.keys().all(|subject| planned.contains(subject)) {
            return Err("a subject of the block is not in the plan".into());
        }
        if block.ns.values().any(|epochs| epochs.len() != plan.rounds || epochs.contains(&0)) {
            return Err("an epoch is missing or has a time of zero".into());
        }
        let phases_fit = |phases: &Phases| {
            phases.names.len() == phases.ns.len() && phases.ns.iter().all(|row| row.len() == plan.rounds)
        };
        if !block.phases.iter().all(|(subject, phases)| block.ns.contains_key(subject) && phases_fit(phases)) {
            return Err("the phases of the block don't match its rounds".into());
        }
        self.blocks.push(block);
        Ok(())
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
    serde_json::from_str(line).map_err(|error| format!("not a record of a run: {error}"))
}
