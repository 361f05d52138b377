//! Builds of one program in the same rounds, so that two commits are paired.
//!
//! Each subject is in a process of its own, also the baseline's second entry: whatever the change of process costs, the control shows it. The rest is as for
//! subjects that share a process: the same plan, orders, checks of answers, statistics and verdicts. What is measured is the baseline of each task, once by
//! each build.

use crate::pipe::{Pipe, WorkerDeath};
use crate::remote::{Deaths, Remote};
use crate::runfile::{Build, Paired, Tool};
use crate::session::Workers;
use crate::worker::{Reply, Request, serve};
use crate::{Entry, LabError, Mismatch, Outcomes, Provenance, Quantity, Refusal, Subject, Task, Timed, Turn, Witness};
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What a build is refused with that has a task less than the one that measures.
pub(crate) const NO_TASK: &str = "that build has no such task";

/// How long a build may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(60);

/// A program whose workers speak [`remote`](crate::remote)'s protocol.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// The arguments that make it a worker.
    pub arguments: Vec<String>,
}

/// Workers of several builds. The first is the one that measures.
#[derive(Clone, Debug)]
pub struct Builds {
    builds: Arc<Vec<Met>>,
    tasks: Vec<Outline>,
}

/// A build that has introduced itself.
#[derive(Debug)]
struct Met {
    program: Program,
    name: String,
    tool: Tool,
    /// The size of its file and when it was changed, by which one that was replaced meanwhile is noticed.
    file: (u64, Option<SystemTime>),
}

/// What is measured of a task.
#[derive(Clone, Debug)]
struct Outline {
    name: String,
    what: String,
    bytes: Option<u64>,
    subject: String,
}

impl Builds {
    /// Meets the builds: `own` is this one, whose tasks they are. A task's first entry is what is measured of it.
    ///
    /// # Errors
    ///
    /// [`LabError::Build`] names the file that can't be read, doesn't start, or speaks another protocol.
    pub fn meet(own: (Program, Tool), others: Vec<Program>, tasks: &[Task]) -> Result<Self, LabError> {
        let outline = |task: &Task| {
            let subject = task.entries.first()?.subject.clone();
            Some(Outline { name: task.name.clone(), what: task.what.clone(), bytes: task.bytes, subject })
        };
        let tasks: Vec<Outline> = tasks.iter().filter_map(outline).collect();
        let greeted = tasks.first().map_or(("", ""), |task| (task.name.as_str(), task.subject.as_str()));
        let mut met = Vec::new();
        for (at, program) in std::iter::once(own.0).chain(others).enumerate() {
            let file = file_of(&program.path)?;
            let tool = if at == 0 { own.1.clone() } else { introduced(&program, greeted)? };
            met.push(Met { program, name: String::new(), tool, file });
        }
        let tools: Vec<&Tool> = met.iter().map(|met| &met.tool).collect();
        let names = names(&tools);
        met.iter_mut().zip(names).for_each(|(met, name)| met.name = name);
        Ok(Self { builds: Arc::new(met), tasks })
    }

    /// The tasks as a run of these builds has them: a subject for each build.
    pub fn tasks(&self) -> Vec<Task> {
        let tasks = self.tasks.iter();
        tasks.map(|outline| self.task(outline, 0, Duration::ZERO, &Deaths::default())).collect()
    }

    /// What the run file says of the builds.
    pub fn record(&self) -> Paired {
        let build = |met: &Met| Build { name: met.name.clone(), tool: met.tool.clone() };
        let (own, others) = self.builds.split_first().expect("a build of one's own is among them");
        Paired { own: own.name.clone(), others: others.iter().map(build).collect() }
    }

    fn task(&self, outline: &Outline, padding: usize, patience: Duration, deaths: &Deaths) -> Task {
        let task = Task { on_trial: true, ..Task::new(&outline.name, &outline.what) };
        let task = outline.bytes.into_iter().fold(task, Task::bytes);
        (0..self.builds.len()).fold(task, |task, at| {
            let (builds, outline, deaths) = (Arc::clone(&self.builds), outline.clone(), deaths.clone());
            task.entry(Entry::new(named(&outline.subject, &self.builds[at].name), move || {
                OfBuild::start(&builds[at], &outline, padding, patience, &deaths)
            }))
        })
    }
}

impl Workers for Builds {
    /// The rounds are driven from here, and each subject is started anew for every request.
    fn serve(
        &self,
        request: &Request,
        padding: usize,
        patience: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerDeath> {
        let deaths = Deaths::default();
        let outline = self.tasks.iter().find(|outline| outline.name == request.task());
        let tasks: Vec<Task> =
            outline.map(|outline| self.task(outline, padding, patience, &deaths)).into_iter().collect();
        // The last one that was tried is to blame for a death, so nothing counts that is said after it.
        serve(&tasks, request, &mut |said| {
            if deaths.first().is_none() {
                reply(said);
            }
        });
        deaths.first().map_or(Ok(()), Err)
    }
}

/// The subject of a build.
struct OfBuild {
    remote: Remote,
    /// How the build describes the task, if it does so in other words.
    described: Option<String>,
    /// What its operation works through, if it is another number of bytes.
    other_bytes: Option<String>,
    commit: String,
    sha256: Option<String>,
    build: String,
}

impl OfBuild {
    fn start(
        met: &Met,
        outline: &Outline,
        padding: usize,
        patience: Duration,
        deaths: &Deaths,
    ) -> Result<Self, Refusal> {
        let name = named(&outline.subject, &met.name);
        let started = || {
            if file_of(&met.program.path).ok() != Some(met.file) {
                return Err(WorkerDeath::NotStarted(format!(
                    "the program of {} was replaced during the run",
                    met.name
                )));
            }
            let pipe = Pipe::open(&met.program.path, &met.program.arguments, padding)?;
            Remote::over(Box::new(pipe), (&outline.name, &outline.subject), &name, patience, deaths)
        };
        let remote = started().map_err(|death| {
            deaths.add(death);
            Refusal::failed("could not be started")
        })?;
        let Some(described) = &remote.hello().task else {
            return Err(Refusal::new(NO_TASK));
        };
        let bytes = |bytes: Option<u64>| bytes.map_or("no".to_owned(), |bytes| bytes.to_string());
        let other_bytes = (described.bytes != outline.bytes)
            .then(|| format!("{} bytes for each operation; expected {}", bytes(described.bytes), bytes(outline.bytes)));
        let described = (described.what != outline.what).then(|| described.what.clone());
        Ok(Self {
            described,
            other_bytes,
            remote,
            commit: format!("build {}", met.name),
            sha256: met.tool.sha256.clone(),
            build: format!("{}; {}", met.tool.rustc, met.tool.build.trim()),
        })
    }
}

impl Subject for OfBuild {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.remote.prepare(seed)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.remote.check(other)
    }

    fn run(&mut self, iterations: u64) {
        self.remote.run(iterations);
    }

    fn timed_elsewhere(&mut self, turn: &Turn) -> Option<Result<Timed, String>> {
        self.remote.timed_elsewhere(turn)
    }

    fn works_elsewhere(&self) -> bool {
        self.remote.works_elsewhere()
    }

    fn lasts(&self) -> Option<Duration> {
        self.remote.lasts()
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.remote.cpu_ns()
    }

    fn phases(&self) -> &'static [&'static str] {
        self.remote.phases()
    }

    fn outcomes(&self) -> Option<Outcomes> {
        self.remote.outcomes()
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.remote.quantities()
    }

    fn provenance(&self) -> Provenance {
        let provenance = self.remote.provenance();
        let different_operation = self.other_bytes.clone().or(provenance.different_operation.clone());
        Provenance {
            commit: Some(self.commit.clone()),
            build: Some(self.build.clone()),
            object_sha256: self.sha256.clone(),
            different_operation,
            described: self.described.clone(),
            ..provenance
        }
    }
}

/// Whether a subject has such a name of that build.
pub(crate) fn is_of(subject: &str, build: &str) -> bool {
    let library = subject.split_once('@').map_or(subject, |(library, _)| library);
    library.strip_suffix(build).is_some_and(|rest| rest.ends_with('-'))
}

/// The name of a subject of a build: `candor@avx2` of the build 1c91adb78a9d is `candor-1c91adb78a9d@avx2`.
pub fn named(subject: &str, build: &str) -> String {
    match subject.split_once('@') {
        Some((library, tier)) => format!("{library}-{build}@{tier}"),
        None => format!("{subject}-{build}"),
    }
}

/// The names of builds: their commits, and where two are the same the beginning of the file's digest behind it.
fn names(tools: &[&Tool]) -> Vec<String> {
    let commit = |tool: &Tool| {
        let is_plain =
            |name: &&String| name.len() <= 40 && !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
        let commit = tool.commit.as_ref().filter(is_plain).map_or("unknown", |commit| commit.as_str());
        format!("{commit}{}", if tool.dirty { "+dirty" } else { "" })
    };
    let commits: Vec<String> = tools.iter().map(|tool| commit(tool)).collect();
    let mut names: Vec<String> = Vec::new();
    for (tool, commit) in tools.iter().zip(&commits) {
        let mut name = commit.clone();
        if commits.iter().filter(|other| *other == commit).count() > 1 {
            name += &tool.sha256.as_ref().map_or_else(String::new, |sha256| format!("+{sha256:.6}"));
        }
        // The same program once more, to see what two builds differ by that don't differ.
        while names.contains(&name) {
            name += "+again";
        }
        names.push(name);
    }
    names
}

/// What another build says of itself, with the digest of its file.
fn introduced(program: &Program, greeted: (&str, &str)) -> Result<Tool, LabError> {
    let refused = |why: String| LabError::Build { path: program.path.clone(), why };
    let bytes = std::fs::read(&program.path).map_err(|error| refused(error.to_string()))?;
    let sha256 = lower::encode_string(&Sha256::digest(bytes));
    let started = Pipe::open(&program.path, &program.arguments, 0)
        .and_then(|pipe| Remote::over(Box::new(pipe), greeted, "it", INTRODUCTION, &Deaths::default()));
    match started {
        Ok(remote) => Ok(Tool { sha256: Some(sha256), ..remote.hello().tool.clone() }),
        Err(WorkerDeath::NotStarted(why) | WorkerDeath::Crashed(why)) => Err(refused(why)),
        Err(WorkerDeath::Stopped) => Err(LabError::Stopped),
    }
}

fn file_of(path: &Path) -> Result<(u64, Option<SystemTime>), LabError> {
    let refused = |error: std::io::Error| LabError::Build { path: path.to_owned(), why: error.to_string() };
    let file = std::fs::metadata(path).map_err(refused)?;
    if !file.is_file() {
        return Err(LabError::Build {
            path: path.to_owned(),
            why: "is no file; expected a program like candor".into(),
        });
    }
    Ok((file.len(), file.modified().ok()))
}
