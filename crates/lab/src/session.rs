//! A run from beginning to end: probe every task, fix the plan, measure in fresh processes, seal the file.

mod spawn;

pub use crate::pipe::WorkerDeath;
pub use spawn::{InProcess, Spawn};

use crate::machine::{Counters, Machine};
use crate::objects::{self, Object};
use crate::plan::{self, MOST_ASKING, Probed, Processes, TaskPlan};
use crate::runfile::*;
use crate::schedule::{self, Due, Schedule};
use crate::units::time;
use crate::worker::{Reply, Request};
use crate::{Imported, LabError, Random, Task, Used, clock};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the user can choose. It is fixed before the first sample and recorded in the manifest.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time for each task, all its processes together.
    pub budget: Duration,
    /// Processes for each task.
    pub processes: Processes,
    /// The seed of the run. By default the operating system gives one.
    pub seed: Option<u64>,
    /// Measure only these subjects beside the baseline: those whose names begin with one of these. All subjects if empty.
    pub subjects: Vec<String>,
    /// Whom the user asked to be the baseline, which stands first in each task. `None` if nobody did.
    pub baseline: Option<String>,
    /// The directory for the run file.
    pub directory: PathBuf,
    /// The effect of code layout, from a self-test of this build.
    pub layout: Option<Layout>,
    /// The run that this one repeats.
    pub repeats: Option<String>,
    /// The builds that are paired, if the workers are those of several builds.
    pub paired: Option<Paired>,
    /// The program that measures.
    pub tool: Tool,
    /// The command line as typed.
    pub command: Vec<String>,
}

/// How long a worker may be silent while it tries a subject.
pub const PROBE_PATIENCE: Duration = Duration::from_secs(300);

/// What a block may take beyond a multiple of what its plan expects.
const BLOCK_PATIENCE: Duration = Duration::from_secs(60);

/// That multiple: a machine on which others work takes longer than when it was probed, but not for ever.
const TIMES_EXPECTED: u32 = 10;

/// Starts worker processes: [`Spawn`] does, [`InProcess`] pretends to, for tests that need no isolation.
pub trait Workers {
    /// Serves one request in a fresh worker whose environment is `padding` bytes larger, and passes on its replies as they
    /// arrive. A worker that says nothing for longer than `patience` is ended.
    fn serve(
        &self,
        request: &Request,
        padding: usize,
        patience: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerDeath>;
}

/// What happens during a run, reported while it goes on.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// This task is being probed.
    Probing(&'a str),
    /// A subject was refused.
    Refused(&'a RefusalRecord),
    /// The plan is fixed.
    Planned {
        /// How many blocks will be measured: tasks times processes.
        blocks: usize,
        /// How long that will take, roughly.
        expected: Duration,
    },
    /// A block of this task begins, in the process of this number.
    Measuring(&'a str, usize),
    /// A block is done.
    Measured,
    /// A process died.
    Lost(&'a Lost),
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The sealed file.
    pub path: PathBuf,
    /// Whether it was stopped before its plan was done.
    pub interrupted: bool,
}

/// Runs `tasks`. When `stop` is set, the run ends after the current block and seals what it has.
pub fn run(
    tasks: &[Task],
    settings: &Settings,
    workers: &dyn Workers,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Finished, LabError> {
    let began = Instant::now();
    let date = jiff::Timestamp::now().strftime(DATE).to_string();
    let seed = match settings.seed {
        Some(seed) => seed,
        None => getrandom::u64().map_err(LabError::Seed)?,
    };
    let counters = Counters::now();
    let quantum = clock::quantum();
    let mut random = Random::new(seed);

    let mut probes = Vec::new();
    let mut objects = Vec::new();
    for (task, seed) in tasks.iter().zip(schedule::probe_seeds(&mut random)) {
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Stopped);
        }
        watch(Progress::Probing(&task.name));
        let probe = probe(task, settings, workers, (seed, &objects), watch)?;
        objects::add(&mut objects, &probe.objects);
        probes.push((task, probe));
    }
    let counted = |probes: &[(&Task, Probe)]| {
        let comparisons = probes.iter().map(|(_, probe)| plan::comparisons(&probe.able)).sum();
        (comparisons, settings.processes.of(comparisons))
    };
    let (_, processes) = counted(&probes);
    for (task, probe) in &mut probes {
        refuse_costly(task, probe, processes, settings.budget, quantum, watch);
    }
    let (comparisons, processes) = counted(&probes);
    // Probing took a while; what other processes did meanwhile is the noise before the measurement.
    let before = Counters::now().since(counters);

    let mut plans = Vec::new();
    let mut expected = Duration::ZERO;
    for (task, probe) in &probes {
        if let Some(plan) = TaskPlan::new(&probe.able, processes, settings.budget, quantum) {
            // Each process makes and checks its subjects as the probe did, and then times them.
            let block = probe.took + plan.takes(&probe.able);
            expected += block * processes as u32;
            let patience = BLOCK_PATIENCE + block * TIMES_EXPECTED;
            plans.push(Planned { task, plan, objects: &probe.objects, patience });
        }
    }
    if plans.is_empty() {
        let reasons = probes.iter().flat_map(|(_, probe)| &probe.out);
        let reasons: Vec<String> =
            reasons.map(|out| format!("  {}: {}: {}", out.task, out.subject, out.reason)).collect();
        return Err(LabError::AllRefused(reasons));
    }

    let manifest = Manifest {
        schema: SCHEMA,
        date,
        tool: settings.tool.clone(),
        command: settings.command.clone(),
        seed,
        comparisons,
        processes,
        settings: resolved(
            settings,
            probes.iter().any(|(_, probe)| probe.subjects.iter().any(|subject| subject.used.is_some())),
        ),
        machine: Machine::here(),
        before,
        clock_quantum_ns: quantum,
        layout: settings.layout.clone(),
        repeats: settings.repeats.clone(),
        paired: settings.paired.clone(),
        tried: Vec::new(),
    };
    let mut file = RunWriter::begin(&settings.directory, &manifest)?;
    for (task, probe) in &probes {
        let plan = plans.iter().find(|planned| planned.task.name == task.name).map(|planned| planned.plan.clone());
        file.append(&Record::Task(TaskRecord {
            task: task.name.clone(),
            what: task.what.clone(),
            bytes: task.bytes,
            plan,
        }))?;
        for subject in &probe.subjects {
            file.append(&Record::Subject(Box::new(subject.clone())))?;
        }
        for out in &probe.out {
            file.append(&Record::Refusal(out.clone()))?;
        }
    }

    watch(Progress::Planned { blocks: plans.len() * processes, expected });
    let during = Counters::now();
    let schedule = Schedule::new(seed, tasks.len(), plans.len(), processes);
    let measured = measure(&plans, schedule, workers, stop, &mut file, watch)?;
    if measured.blocks == 0 {
        return Err(match measured.first_lost {
            Some(why) if !measured.interrupted => LabError::AllLost(why),
            _ => LabError::Stopped,
        });
    }
    file.append(&Record::End(End {
        during: Counters::now().since(during),
        seconds: (began.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        interrupted: measured.interrupted,
    }))?;
    Ok(Finished { path: file.seal()?, interrupted: measured.interrupted })
}

/// What a task's probe found.
#[derive(Default)]
struct Probe {
    able: Vec<Probed>,
    subjects: Vec<SubjectRecord>,
    out: Vec<RefusalRecord>,
    /// The files that it has met.
    objects: Vec<Object>,
    /// How long its process took for what each that measures does, too: from its start until the baseline had checked all answers.
    took: Duration,
}

impl Probe {
    /// Notes what a subject used. What this machine is not said to have is no finding.
    fn saw(&mut self, subject: &str, used: Used) {
        let used = used.check(&Machine::here().features).map_or_else(Used::Skipped, |()| used);
        self.subjects.iter_mut().filter(|able| able.subject == subject).for_each(|able| able.used = Some(used.clone()));
    }

    /// Notes why the others were not watched.
    fn not_seen(&mut self, why: &str) {
        for able in &mut self.subjects {
            able.used.get_or_insert_with(|| Used::Skipped(why.to_owned()));
        }
    }
}

fn probe(
    task: &Task,
    settings: &Settings,
    workers: &dyn Workers,
    (seed, met): (u64, &[Object]),
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Probe, LabError> {
    let mut out: Vec<RefusalRecord> = Vec::new();
    let baseline = task.entries.first().map(|entry| entry.subject.clone()).unwrap_or_default();
    let unwanted = |subject: &str| {
        let wanted =
            settings.subjects.is_empty() || settings.subjects.iter().any(|name| subject.starts_with(name.as_str()));
        !wanted && subject != baseline
    };
    let mut without: Vec<String> =
        task.entries.iter().map(|entry| entry.subject.clone()).filter(|subject| unwanted(subject)).collect();
    // When a subject crashes the worker, the others are probed again without it.
    let mut probe = loop {
        let mut probe = Probe::default();
        let began = Instant::now();
        let mut trying = String::new();
        let (mut watches, mut watching) = (false, None);
        let (name, objects) = (task.name.clone(), met.to_vec());
        let request = Request::Probe { task: name, seed, without: without.clone(), watched: true, objects };
        let mut failed = None;
        let served = workers.serve(&request, 0, PROBE_PATIENCE, &mut |reply| {
            probe.able.extend(reply.probed());
            match reply {
                Reply::Trying(subject) => trying = subject,
                Reply::Able { subject, provenance, quantities, .. } => {
                    let task = task.name.clone();
                    let (provenance, used) = (*provenance, None);
                    probe.subjects.push(SubjectRecord { task, subject, provenance, quantities, used })
                }
                Reply::Out { subject, refusal } => {
                    let reason = refusal.to_string();
                    probe.out.push(RefusalRecord { task: task.name.clone(), subject, reason });
                }
                Reply::Checked => probe.took = began.elapsed(),
                Reply::Watching(subject) => {
                    watches = true;
                    watching = Some(subject);
                }
                Reply::Used { subject, used } => {
                    probe.saw(&subject, used);
                    watching = None;
                }
                Reply::Met(objects) => probe.objects = objects,
                Reply::Failed(why) => failed = Some(why),
                Reply::Measured(_) | Reply::Done => {}
            }
        });
        match (served, failed) {
            (Ok(()), None) => break probe,
            (Ok(()), Some(why)) => return Err(LabError::Worker(why)),
            (Err(WorkerDeath::NotStarted(why)), _) => return Err(LabError::Worker(why)),
            (Err(WorkerDeath::Stopped), _) => {
                return Err(LabError::Stopped);
            }
            (Err(WorkerDeath::Crashed(how)), _) if watches => {
                if let Some(subject) = watching {
                    probe.saw(&subject, Used::Skipped(format!("its process died meanwhile: {how}")));
                }
                probe.not_seen("the process that should have watched it died before");
                break probe;
            }
            (Err(WorkerDeath::Crashed(how)), _) if trying.is_empty() || without.contains(&trying) => {
                return Err(LabError::Worker(format!("{}: {how}", task.name)));
            }
            (Err(WorkerDeath::Crashed(how)), _) => {
                let reason = format!("crashed its process: {how}");
                out.push(RefusalRecord { task: task.name.clone(), subject: trying.clone(), reason });
                without.push(trying);
            }
        }
    };
    let imported = task.imported.iter().filter(|imported| !unwanted(&imported.subject)).cloned();
    probe.subjects.extend(imported.map(|Imported { subject, provenance, quantities }| SubjectRecord {
        task: task.name.clone(),
        subject,
        provenance,
        quantities,
        used: None,
    }));
    probe.out.splice(0..0, out);
    // A worker knows the task as it is listed, but the user may have chosen another baseline (`Task::baseline`).
    probe.able.sort_by_key(|able| able.subject != baseline);
    probe.subjects.sort_by_key(|able| able.subject != baseline);
    // Without its baseline a task has nothing to compare.
    if probe.able.first().is_none_or(|first| first.subject != baseline) {
        for able in probe.able.drain(..) {
            probe.out.push(RefusalRecord {
                task: task.name.clone(),
                subject: able.subject,
                reason: format!("not measured, because the baseline {baseline} was refused"),
            });
        }
    }
    for refusal in &probe.out {
        watch(Progress::Refused(refusal));
    }
    Ok(probe)
}

/// Takes programs out for which asking would be too much of every epoch that the budget allows.
fn refuse_costly(
    task: &Task,
    probe: &mut Probe,
    processes: usize,
    budget: Duration,
    quantum: u64,
    watch: &mut dyn FnMut(Progress<'_>),
) {
    // Without the most costly one the others may fit.
    while let Some(plan) = TaskPlan::new(&probe.able, processes, budget, quantum) {
        let shares = probe.able.iter().map(|able| plan.asking_share(able.asking_ns, able.ns));
        let worst =
            shares.enumerate().filter(|(_, share)| *share > MOST_ASKING).max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((place, share)) = worst else { return };
        let out = probe.able.remove(place);
        probe.subjects.retain(|subject| subject.subject != out.subject);
        let reason = format!(
            "asking it over pipes takes {}, {:.1} % of an epoch of {} operations; a row may have {:.0} %: use a larger --budget",
            time(out.asking_ns),
            share * 100.0,
            plan.iterations,
            MOST_ASKING * 100.0
        );
        let refusal = RefusalRecord { task: task.name.clone(), subject: out.subject, reason };
        watch(Progress::Refused(&refusal));
        probe.out.push(refusal);
        // A baseline that is a program: nothing is left to compare with.
        if place == 0 {
            probe.able.clear();
        }
    }
}

/// A task whose plan is fixed.
struct Planned<'a> {
    task: &'a Task,
    plan: TaskPlan,
    /// The files that its probe has met.
    objects: &'a [Object],
    /// How long one of its processes may take.
    patience: Duration,
}

struct Measured {
    blocks: usize,
    interrupted: bool,
    /// Which process died first, and how.
    first_lost: Option<String>,
}

/// Measures what the schedule says, until it or the run is at its end.
fn measure(
    plans: &[Planned<'_>],
    schedule: Schedule,
    workers: &dyn Workers,
    stop: &AtomicBool,
    file: &mut RunWriter,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, LabError> {
    let mut measured = Measured { blocks: 0, interrupted: false, first_lost: None };
    for Due { plan, process, padding, seed } in schedule {
        let Planned { task, plan, objects, patience } = &plans[plan];
        if stop.load(Ordering::Relaxed) {
            measured.interrupted = true;
            return Ok(measured);
        }
        watch(Progress::Measuring(&task.name, process));
        let (name, plan, objects) = (task.name.clone(), plan.clone(), Some(objects.to_vec()));
        let request = Request::Measure { task: name, plan, process, seed, padding, objects };
        let mut block = None;
        let mut reason = None;
        let served = workers.serve(&request, padding, *patience, &mut |reply| match reply {
            Reply::Measured(measured) => block = Some(*measured),
            Reply::Failed(why) => reason = Some(why),
            _ => {}
        });
        match served {
            Ok(()) => {}
            Err(WorkerDeath::Stopped) => {
                measured.interrupted = true;
                return Ok(measured);
            }
            Err(WorkerDeath::NotStarted(why) | WorkerDeath::Crashed(why)) => reason = Some(why),
        }
        match (block, reason) {
            (Some(block), None) => {
                measured.blocks += 1;
                file.append(&Record::Block(block))?;
                watch(Progress::Measured);
            }
            (_, reason) => {
                let reason = reason.unwrap_or_else(|| "the process ended without a result".into());
                let lost = Lost { task: task.name.clone(), process, reason };
                watch(Progress::Lost(&lost));
                let first = || format!("process {} of {}: {}", lost.process, lost.task, lost.reason);
                measured.first_lost.get_or_insert_with(first);
                file.append(&Record::Lost(lost))?;
            }
        }
    }
    Ok(measured)
}

fn resolved(settings: &Settings, watched: bool) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    map.insert("budget_seconds".into(), settings.budget.as_secs_f64().to_string());
    map.insert(PROCESSES.into(), settings.processes.told());
    map.insert("warm_up".into(), "a sixteenth of each epoch before it, outside the clock".into());
    if watched {
        map.insert(WATCHED.into(), "sampled at the end of each probe".into());
    }
    if !settings.subjects.is_empty() {
        map.insert("subjects".into(), settings.subjects.join(" "));
    }
    if let Some(baseline) = &settings.baseline {
        map.insert(BASELINE.into(), baseline.clone());
    }
    if let Ok(tier) = std::env::var(TIER) {
        map.insert(TIER.into(), tier);
    }
    map
}
