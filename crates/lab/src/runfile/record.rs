//! The lines of a run file. Each is a JSON object with a `kind`; keys are sorted, times are whole nanoseconds.

use crate::machine::{Machine, Noise};
use crate::plan::TaskPlan;
use crate::schedule::Tried;
use crate::verdict::Shown;
use crate::{Outcomes, Provenance, Quantity, Used};
use base16ct::lower;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// The schema that this version writes, and the only one it reads.
pub const SCHEMA: u32 = 1;

/// The setting of processes per task: a number, or words for the default.
pub(crate) const PROCESSES: &str = "processes";

/// The setting of a run that says which instructions its subjects used.
pub(crate) const WATCHED: &str = "instructions";

/// The setting of a run whose default tier was asked for by name, in an environment variable of this name.
pub(crate) const TIER: &str = "CANDOR_CPU";

/// The setting of a run whose baseline was asked for by name.
pub(crate) const BASELINE: &str = "baseline";

/// How a date is written.
pub(crate) const DATE: &str = "%Y-%m-%dT%H:%M:%SZ";

/// Characters of the day in a date, and in the name of a run.
pub(super) const DAY: usize = "2026-11-21".len();

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Record {
    /// The first line: program, machine and settings.
    Manifest(Box<Manifest>),
    /// A task and its plan.
    Task(TaskRecord),
    /// A subject, its origin and its quantities.
    Subject(Box<SubjectRecord>),
    /// A subject without a time, and the reason.
    Refusal(RefusalRecord),
    /// The raw epochs of one process.
    Block(Block),
    /// A process that died.
    Lost(Lost),
    /// A trial of the lab itself.
    Trial(Trial),
    /// The end of the measurement.
    End(End),
    /// The last line.
    Seal(Seal),
}

/// The program, the machine and the settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When the run began, UTC, RFC 3339.
    pub date: String,
    /// The program that wrote the file.
    pub tool: Tool,
    /// The command line as typed.
    pub command: Vec<String>,
    /// The seed that all other seeds and orders are derived from.
    pub seed: u64,
    /// The number of comparisons, which share the error level of 5 %.
    pub comparisons: usize,
    /// Processes for each task.
    pub processes: usize,
    /// The settings, resolved.
    pub settings: BTreeMap<String, String>,
    /// The machine.
    pub machine: Machine,
    /// The noise before the first sample.
    pub before: Noise,
    /// The smallest step of the clock, in nanoseconds.
    pub clock_quantum_ns: u64,
    /// The effect of code layout that a self-test of this build found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// The run that this one repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// The builds that a run pairs. Others have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// The plan of a self-test. Runs of tasks have none, and neither have early self-tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
}

impl Manifest {
    /// When the run began. `None` if its date is not written as candor writes it.
    pub fn began(&self) -> Option<SystemTime> {
        let began: Timestamp = self.date.parse().ok()?;
        (began.strftime(DATE).to_string() == self.date).then(|| began.into())
    }

    /// The subject that the run was told to take for the baseline, as the settings say, or in runs from before 2026-11-29 the command line.
    pub fn asked_baseline(&self) -> Option<&str> {
        const FLAG: &str = "--baseline";
        let words = self.command.iter().take_while(|word| *word != "--");
        let mut values = words.zip(self.command.iter().skip(1).map(Some).chain([None])).filter_map(|(word, next)| {
            match word.strip_prefix(FLAG)? {
                "" => next.map(String::as_str),
                value => value.strip_prefix('='),
            }
        });
        self.settings.get(BASELINE).map(String::as_str).or_else(|| values.next())
    }

    /// Day and CPU: how the name of the run's file begins.
    pub(crate) fn name(&self) -> String {
        self.name_with(&self.machine.short_name())
    }

    /// How it began before candor knew the designs of Intel.
    pub(super) fn former_name(&self) -> String {
        self.name_with(&self.machine.former_short_name())
    }

    fn name_with(&self, cpu: &str) -> String {
        format!("{}-{cpu}", self.date.get(..DAY).unwrap_or("undated"))
    }
}

/// The program that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its version.
    pub version: String,
    /// Its commit, if it was built from a repository.
    pub commit: Option<String>,
    /// Whether that tree had uncommitted changes.
    pub dirty: bool,
    /// The compiler.
    pub rustc: String,
    /// Profile and flags.
    pub build: String,
    /// SHA-256 of the program's file, in hexadecimal: which build it was, whatever commit and tree say. Early runs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The list of the libraries that it was built from. Runs from before 2026-11-26 have none, nor has a program built from an archive without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
}

/// Builds of one program in the same rounds. Each subject's name contains that of its build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paired {
    /// The name of the build that measured; [`Manifest::tool`] says which it is.
    pub own: String,
    /// The others.
    pub others: Vec<Build>,
}

impl Paired {
    /// Whether there are at least two builds, and each has a name of its own.
    pub(super) fn is_sound(&self) -> bool {
        let names: Vec<&str> = self.others.iter().map(|build| build.name.as_str()).chain([self.own.as_str()]).collect();
        let unlike = |(at, name): (usize, &&str)| !name.is_empty() && !names[..at].contains(name);
        names.len() > 1 && names.iter().enumerate().all(unlike)
    }
}

/// Another build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Its name: the commit, and more where that is not enough to tell it from the others.
    pub name: String,
    /// What it says of itself, and the digest of its file.
    pub tool: Tool,
}

/// The Cargo.lock of a build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Whether it is another file than that of the program's commit.
    pub differs: bool,
}

impl Lock {
    /// What a build script tells of it: the digest, and `differs` behind a space where it does.
    pub fn told(words: &str) -> Option<Self> {
        let (sha256, rest) = words.split_once(' ').unwrap_or((words, ""));
        let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Self { sha256: sha256.to_owned(), differs: rest == "differs" })
    }
}

impl Tool {
    /// SHA-256 of the file of this program. `None` if it can't be read, or there is another in its place by now.
    pub fn digest() -> Option<String> {
        let program = std::fs::read(std::env::current_exe().ok()?).ok()?;
        Some(lower::encode_string(&Sha256::digest(program)))
    }

    /// Whether it is the very same program: code layout belongs to a build.
    pub fn is_build_of(&self, other: &Self) -> bool {
        self.sha256.is_some() && self == other
    }
}

/// The effect of code layout, as a self-test of the same build found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// As a log-ratio, above 0.
    pub floor: f64,
    /// The run file of the self-test.
    pub run: String,
}

/// A task and its plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRecord {
    /// `kem/ml-kem-768/encaps`.
    pub task: String,
    /// Exactly what is done.
    pub what: String,
    /// Bytes worked through per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The plan, fixed before the first sample. Absent if nothing of the task could be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<TaskPlan>,
}

/// A subject of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectRecord {
    /// The task.
    pub task: String,
    /// The subject's name.
    pub subject: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Sizes, counts and rates of its work. Early runs have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantities: Vec<Quantity>,
    /// What instructions it used. Early runs don't say, nor do those on other systems than x86-64 Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
}

/// A subject without a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalRecord {
    /// The task.
    pub task: String,
    /// The subject's name.
    pub subject: String,
    /// The reason.
    pub reason: String,
}

/// Everything that one process measured of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The task.
    pub task: String,
    /// The number of the process, counted from 0.
    pub process: usize,
    /// The seed of its inputs and orders.
    pub seed: u64,
    /// Bytes of padding in the environment of the process.
    pub padding: usize,
    /// Operations per epoch.
    pub iterations: u64,
    /// Wall nanoseconds of each epoch, by subject, in the order of rounds.
    pub ns: BTreeMap<String, Vec<u64>>,
    /// Wall nanoseconds of each phase (over an epoch's operations), by subject: a row per phase.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, Phases>,
    /// CPU nanoseconds of the processes that did the work, in each epoch, by subject. Where some can tell and others can't, the latter are missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_ns: BTreeMap<String, Vec<u64>>,
    /// The order of subjects in each round, as indices into the sorted names of `ns`.
    pub orders: Vec<Vec<usize>>,
    /// Rounds in which the kernel took the CPU away from the subject. They are marked, not deleted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disturbed: BTreeMap<String, Vec<usize>>,
    /// Rounds in which work that can fail did. What failed may have ended early, so these rounds have no times for reports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, Vec<usize>>,
    /// Attempts and successes by subject, for work that can fail.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, Outcomes>,
    /// Hundredths of a second that the hypervisor took during the block.
    pub steal: u64,
}

impl Block {
    /// What the rounds show of the log-ratio of `subject`'s time to `baseline`'s, each in the same round.
    pub(crate) fn shown(&self, subject: &str, baseline: &str) -> Shown {
        self.log_ratios(subject, baseline).map_or(Shown::NOTHING, Shown::by)
    }

    /// The log-ratio of `subject`'s time to `baseline`'s in each round, if the work of both did not fail in it. `None` if either was not measured.
    pub(crate) fn log_ratios(&self, subject: &str, baseline: &str) -> Option<impl Iterator<Item = Option<f64>>> {
        let both = self.ns.get(subject)?.iter().zip(self.ns.get(baseline)?).enumerate();
        Some(both.map(move |(round, (&one, &other))| {
            let worked = self.worked(subject, round) && self.worked(baseline, round);
            worked.then(|| (one as f64 / other as f64).ln())
        }))
    }

    /// The nanoseconds of a subject's epochs, or of one of its phases, in the rounds in which its work did not fail.
    #[must_use]
    pub fn of_rounds_that_worked(&self, subject: &str, ns: &[u64]) -> Vec<f64> {
        let worked = ns.iter().enumerate().filter(|(round, _)| self.worked(subject, *round));
        worked.map(|(_, &ns)| ns as f64).collect()
    }

    fn worked(&self, subject: &str, round: usize) -> bool {
        self.failed.get(subject).is_none_or(|failed| !failed.contains(&round))
    }
}

/// The phases of one subject in one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Their names, in order.
    pub names: Vec<String>,
    /// Wall nanoseconds: `ns[phase][round]`.
    pub ns: Vec<Vec<u64>>,
}

/// A process that died before it had measured its block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// The task.
    pub task: String,
    /// The number of the process.
    pub process: usize,
    /// How the process ended.
    pub reason: String,
}

/// A trial of the lab itself: a whole run of one comparison whose truth is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// What was tried. Trials of the same name are counted together.
    pub name: String,
    /// The true log-ratio subject : baseline, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<f64>,
    /// Each process's median paired log-ratio of the baseline against itself.
    pub control: Vec<f64>,
    /// The same of the subject against the baseline. Empty if the subject was refused.
    pub subject: Vec<f64>,
    /// How many processes died, or had rounds in which work failed. Early self-tests don't say.
    #[serde(default)]
    pub lost: usize,
    /// What following itself brought the baseline, as a log-ratio, if it brought something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows_itself: Option<f64>,
}

/// How the measurement ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The noise during the measurement.
    pub during: Noise,
    /// Wall seconds from the manifest to the end.
    pub seconds: f64,
    /// Whether the run was stopped before its plan was complete.
    #[serde(default)]
    pub interrupted: bool,
}

/// SHA-256 of all bytes before this line, in hexadecimal. It gives integrity, not authenticity: anyone can seal a file again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// The digest.
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_settings_or_an_old_command_line_say_who_was_asked_to_be_the_baseline() {
        let run =
            |line: &str| Manifest { command: line.split(' ').map(str::to_owned).collect(), ..Manifest::default() };
        assert_eq!(run("candor run t --baseline candor@avx2 --quick").asked_baseline(), Some("candor@avx2"));
        assert_eq!(run("candor run t --baseline=candor@avx2").asked_baseline(), Some("candor@avx2"));
        for line in
            ["candor run t", "candor run t --baselines x", "candor run -- --baseline x", "candor run --baseline"]
        {
            assert_eq!(run(line).asked_baseline(), None, "{line}");
        }
        let settings = BTreeMap::from([(BASELINE.to_owned(), "candor@sha".to_owned())]);
        assert_eq!(Manifest { settings, ..run("candor rerun r.jsonl") }.asked_baseline(), Some("candor@sha"));
    }

    #[test]
    fn a_date_is_what_candor_writes_or_none() {
        let began = |date: &str| Manifest { date: date.into(), ..Manifest::default() }.began();
        let day = Duration::from_secs(86_400);
        assert_eq!(began("1970-01-02T00:00:00Z"), Some(UNIX_EPOCH + day));
        for other in
            ["", "2026-11-21", "2026-11-21T10:00:00+14:00", "2026-11-21T10:00:00.5Z", "2026-13-01T00:00:00Z", "9999~"]
        {
            assert_eq!(began(other), None, "{other}");
        }
    }
}
