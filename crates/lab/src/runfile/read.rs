//! Reading: strict, with the line of what is wrong. A file that was cut short, edited or made by a later version is not a
//! run.

use super::record::*;
use crate::LabError;
use crate::plan::TaskPlan;
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A run, read back and found whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The file's name without its ending, or what stands for it.
    pub name: String,
    /// The first line.
    pub manifest: Manifest,
    /// The tasks in the order of the plan.
    pub tasks: Vec<TaskRecord>,
    /// Their subjects.
    pub subjects: Vec<SubjectRecord>,
    /// Those that got no time.
    pub refusals: Vec<RefusalRecord>,
    /// The samples.
    pub blocks: Vec<Block>,
    /// Processes that died.
    pub lost: Vec<Lost>,
    /// Trials of the lab itself.
    pub trials: Vec<Trial>,
    /// How it ended.
    pub end: End,
    /// The seal's digest.
    pub sha256: String,
}

/// Where a run file stops being one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// A run file larger than this is not read.
const LARGEST: u64 = 1 << 30;

impl Run {
    /// Reads a run file.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let io = |source| LabError::Io { doing: "can't read", path: path.to_path_buf(), source };
        let size = std::fs::metadata(path).map_err(io)?.len();
        let flawed = |Flaw { line, why }| LabError::RunFile { path: path.to_path_buf(), line, why };
        if size > LARGEST {
            return Err(flawed(Flaw { line: 1, why: format!("is no run file: {size} bytes, at most {LARGEST}") }));
        }
        let bytes = std::fs::read(path).map_err(io)?;
        let name = PathBuf::from(path.file_stem().unwrap_or_default()).display().to_string();
        Self::parse(&name, &bytes).map_err(flawed)
    }

    /// Reads the bytes of a run file. No input makes it panic.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Flaw> {
        let at = |line: usize| move |why: String| Flaw { line, why };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
            Flaw { line, why: "is not text, so this is no run file".into() }
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
                return Err(at("the line has no end: the file was cut short".into()));
            }
            let record = if index == 0 { first(line).map_err(at)? } else { parse_line(line).map_err(at)? };
            let Some(run) = run.as_mut() else {
                let Record::Manifest(manifest) = record else {
                    return Err(at("a run file begins with its manifest, and this does not".into()));
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
                            "the seal does not fit: the file was edited after it was sealed (it says {:.12}…, the lines \
                             before it give {found:.12}…)",
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
        let Some(mut run) = run else { return Err(at(1)("is empty, so this is no run file".into())) };
        if run.sha256.is_empty() {
            return Err(at(count)(
                "the file ends without a seal: the run was cut short, and half a run is none".into(),
            ));
        }
        if let Some((index, _)) = lines.next() {
            return Err(at(index + 1)("a line after the seal".into()));
        }
        run.end = end.ok_or_else(|| at(count)("no line says how the measurement ended".into()))?;
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
            return Err(format!("task {} stands here twice", task.task));
        }
        let idle = |plan: &TaskPlan| plan.subjects.len() < 2 || plan.iterations == 0 || plan.rounds == 0;
        if task.plan.as_ref().is_some_and(idle) {
            return Err(format!("the plan of {} has no work in it", task.task));
        }
        self.tasks.push(task);
        Ok(())
    }

    /// Takes a block only if every number that the analysis will index or divide by is there and makes sense.
    fn add_block(&mut self, block: Block) -> Result<(), String> {
        let task = self.tasks.iter().find(|task| task.task == block.task);
        let plan = task.and_then(|task| task.plan.as_ref());
        let plan = plan.ok_or_else(|| format!("a block of {}, which has no plan", block.task))?;
        if self.blocks.iter().any(|known| known.task == block.task && known.process == block.process) {
            return Err(format!("process {} of {} stands here twice", block.process, block.task));
        }
        if block.process >= self.manifest.processes {
            return Err(format!("process {} of {} is not in the plan", block.process, block.task));
        }
        if block.iterations != plan.iterations || block.orders.len() != plan.rounds {
            return Err("the block's iterations or rounds are not those of the plan".into());
        }
        let planned: BTreeSet<&String> = plan.subjects.iter().collect();
        if !block.ns.keys().all(|subject| planned.contains(subject)) {
            return Err("a subject in the block is not in the plan".into());
        }
        if block.ns.values().any(|epochs| epochs.len() != plan.rounds || epochs.contains(&0)) {
            return Err("an epoch is missing, or took no time at all".into());
        }
        let phases_fit = |phases: &Phases| {
            phases.names.len() == phases.ns.len() && phases.ns.iter().all(|row| row.len() == plan.rounds)
        };
        if !block.phases.iter().all(|(subject, phases)| block.ns.contains_key(subject) && phases_fit(phases)) {
            return Err("the block's phases don't fit its rounds".into());
        }
        self.blocks.push(block);
        Ok(())
    }
}

/// The first line decides whether this is a run file at all, and of which schema.
fn first(line: &str) -> Result<Record, String> {
    let value: serde_json::Value =
        serde_json::from_str(line).map_err(|_| "is not JSON, so this is no run file".to_owned())?;
    if value.get("kind").and_then(|kind| kind.as_str()) != Some("manifest") {
        return Err("a run file begins with its manifest, and this does not".into());
    }
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA) => parse_line(line),
        Some(schema) if schema > u64::from(SCHEMA) => Err(format!(
            "has schema {schema}; this version reads {SCHEMA}: a later candor made it, use that or a newer one"
        )),
        _ => Err("the manifest says no schema that was ever used".into()),
    }
}

fn parse_line(line: &str) -> Result<Record, String> {
    serde_json::from_str(line).map_err(|error| format!("can't be understood: {error}"))
}
