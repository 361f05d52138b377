//! What can be derived is derived again: the seed decides who measures what, when, with which inputs and in which orders. A run from which
//! somebody dropped a process, or whose rounds were put in another order, no longer fits its seed. The trials of a self-test must be those of its plan.
//!
//! The seed itself can't be derived, nor what it does not decide: times, what failed or died, how many rounds and processes were planned, and who the subjects
//! are. Whoever makes that up and seals the file again is stopped by a signature only (METHOD.md).

use super::copies::are_telling;
use super::read::Run;
use super::record::*;
use crate::Evidence;
use crate::plan::{Processes, TaskPlan, control_of};
use crate::schedule::{self, Draws, Due, Schedule};
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// More operations of work that can fail no process has tried.
const MOST_ATTEMPTS: u64 = 1_000_000_000;

/// How far the seconds of a run are rounded.
const ROUNDED: Duration = Duration::from_millis(50);

/// Follows the blocks of a run by its seed.
pub(super) struct Replay {
    schedule: Schedule,
    /// The indices of the tasks that have a plan.
    planned: Vec<usize>,
    /// The sum of all epochs so far.
    measured: Duration,
    /// Tasks and subjects whose times are virtual.
    simulated: BTreeSet<(String, String)>,
    /// Digests of the times of every block, each with its task, and of each subject in it where they are telling.
    times: BTreeSet<u64>,
    /// The step of the clock.
    quantum: u64,
}

impl Replay {
    /// Begins where all tasks and subjects of the run have been read.
    pub(super) fn of(run: &Run) -> Result<Self, String> {
        let planned: Vec<usize> = (0..run.tasks.len()).filter(|&i| run.tasks[i].plan.is_some()).collect();
        let tasks: BTreeSet<&str> = run.tasks.iter().map(|task| task.task.as_str()).collect();
        let mut known = BTreeSet::new();
        for SubjectRecord { task, subject, .. } in &run.subjects {
            if !tasks.contains(task.as_str()) || !known.insert((task.as_str(), subject.as_str())) {
                return Err(format!("{subject} of task {task} has two lines, or there is no such task"));
            }
        }
        if let Some(RefusalRecord { task, subject, .. }) =
            run.refusals.iter().find(|refusal| !tasks.contains(refusal.task.as_str()))
        {
            return Err(format!("{subject} was refused for task {task}, and there is no such task"));
        }
        let mut comparisons = 0;
        for task in &run.tasks {
            let Some(plan) = &task.plan else { continue };
            comparisons += plan.comparisons();
            // The second subject is the baseline again.
            let mut subjects = plan.subjects.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, subject)| subject);
            if let Some(unknown) = subjects.find(|subject| !known.contains(&(task.task.as_str(), subject.as_str()))) {
                return Err(format!("no line says where {unknown} of task {} comes from", task.task));
            }
        }
        let Manifest { seed, processes, clock_quantum_ns: quantum, .. } = run.manifest;
        // A self-test has no tasks: it consists of trials.
        if !run.tasks.is_empty() && comparisons != run.manifest.comparisons {
            return Err(format!(
                "the manifest counts {} comparisons, and the plans have {comparisons}",
                run.manifest.comparisons
            ));
        }
        let set = run.manifest.settings.get(PROCESSES).map_or(Processes::default(), |set| Processes::by(set));
        let expected = set.of(run.manifest.comparisons);
        if processes != expected {
            return Err(format!("the manifest has {processes} processes, and by its settings there are {expected}"));
        }
        let schedule = Schedule::new(seed, run.tasks.len(), planned.len(), processes);
        let virtual_times = run.subjects.iter().filter(|subject| subject.provenance.evidence == Evidence::Simulated);
        let names = |SubjectRecord { task, subject, .. }: &SubjectRecord| {
            [subject.clone(), control_of(subject)].map(|subject| (task.clone(), subject))
        };
        let simulated = virtual_times.flat_map(names).collect();
        Ok(Self { schedule, planned, measured: Duration::ZERO, simulated, times: BTreeSet::new(), quantum })
    }

    /// Accepts a block only if it is due, and every number that the analysis indexes or divides by is present and makes sense.
    pub(super) fn block(&mut self, block: &Block, tasks: &[TaskRecord]) -> Result<(), String> {
        // An import has no clock and no blocks.
        if self.quantum == 0 {
            return Err("the manifest's clock has steps of 0 ns; expected 1 or more".into());
        }
        let due = self.due(&block.task, block.process, tasks)?;
        let plan = tasks[self.planned[due.plan]].plan.as_ref().expect("those are planned");
        if block.iterations != plan.iterations || block.orders.len() != plan.rounds {
            return Err("the iterations or rounds of the block differ from the plan".into());
        }
        let (mut planned, mut found): (Vec<_>, Vec<_>) = (plan.subjects.iter().collect(), block.ns.keys().collect());
        planned.sort_unstable();
        found.sort_unstable();
        if planned != found {
            return Err("the subjects of the block are not those of the plan".into());
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
        let cpu_fits = |(subject, ns): (&String, &Vec<u64>)| block.ns.contains_key(subject) && ns.len() == plan.rounds;
        if !block.cpu_ns.iter().all(cpu_fits) || block.cpu_ns.is_empty() == plan.cpu {
            return Err("the CPU times of the block don't match its plan and rounds".into());
        }
        if block.outcomes.values().any(|outcomes| outcomes.successes > outcomes.attempts) {
            return Err("a subject succeeded more often than it tried".into());
        }
        if let Some(outcomes) = block.outcomes.values().find(|outcomes| outcomes.attempts > MOST_ATTEMPTS) {
            return Err(format!(
                "a process tried {} times; no more than {MOST_ATTEMPTS} make sense",
                outcomes.attempts
            ));
        }
        let marks_fit = |(subject, rounds): (&String, &Vec<usize>)| {
            block.ns.contains_key(subject)
                && rounds.iter().all(|&round| round < plan.rounds)
                && rounds.is_sorted_by(|one, next| one < next)
        };
        if !block.disturbed.iter().all(marks_fit) {
            return Err("a disturbed round is not one of the plan".into());
        }
        // In each of its failed rounds a subject failed at least once.
        let did_fail = |(subject, rounds): (&String, &Vec<usize>)| {
            let failures = block.outcomes.get(subject).map_or(0, |outcomes| outcomes.attempts - outcomes.successes);
            rounds.len() as u64 <= failures
        };
        if !block.failed.iter().all(|marks| marks_fit(marks) && did_fail(marks)) {
            return Err("a failed round is not one of the plan, or of a subject that failed less often".into());
        }
        if block.padding != due.padding || block.seed != due.seed {
            return Err(format!(
                "by the run's seed, this process has seed {} and {} bytes of padding; found {} and {}",
                due.seed, due.padding, block.seed, block.padding
            ));
        }
        let orders = Draws::new(block.seed, plan.subjects.len()).orders;
        if let Some(round) = orders.zip(&block.orders).position(|(due, found)| due != *found) {
            return Err(format!("the order of round {round} does not follow from the block's seed"));
        }
        self.clocked(block, plan)
    }

    /// Adds up the times that a clock gave, and refuses those of an earlier process. Virtual times can be longer than the run, and may be the same; times of an
    /// amount of work at the rate of an epoch that lasts so long and no longer can be too.
    fn clocked(&mut self, block: &Block, plan: &TaskPlan) -> Result<(), String> {
        let clocked = |subject: &String| !self.simulated.contains(&(block.task.clone(), subject.clone()));
        let epochs: Vec<&Vec<u64>> = block.ns.iter().filter(|(name, _)| clocked(name)).map(|(_, ns)| ns).collect();
        let phases = block.phases.iter().filter(|(name, _)| clocked(name)).flat_map(|(_, phases)| &phases.ns);
        let took = |ns: &u64| if plan.lasts_ns > 0 { plan.lasts_ns } else { *ns };
        for ns in epochs.iter().copied().flatten().map(took).chain(phases.flatten().copied()) {
            self.measured = self.measured.saturating_add(Duration::from_nanos(ns));
        }
        if !epochs.is_empty() && !self.times.insert(digest(&(&block.task, &epochs))) {
            return Err(format!("process {} of task {} has the very times of another", block.process, block.task));
        }
        // One subject's are enough, under whatever name.
        for (name, ns) in block.ns.iter().filter(|(name, ns)| clocked(name) && are_telling(ns, self.quantum)) {
            if !self.times.insert(digest(&(&block.task, ns))) {
                let Block { process, task, .. } = block;
                return Err(format!(
                    "{name} has in process {process} of task {task} the very times of another process or subject"
                ));
            }
        }
        Ok(())
    }

    /// Accepts a process that died only if it was due.
    pub(super) fn lost(&mut self, lost: &Lost, tasks: &[TaskRecord]) -> Result<(), String> {
        self.due(&lost.task, lost.process, tasks).map(drop)
    }

    /// At the end nothing may be missing, and epochs can't have taken longer than the run.
    pub(super) fn finish(mut self, end: &End, tasks: &[TaskRecord]) -> Result<(), String> {
        if let (Some(due), false) = (self.schedule.next(), end.interrupted) {
            let task = &tasks[self.planned[due.plan]].task;
            return Err(format!("process {} of task {task} is missing, and the run was not interrupted", due.process));
        }
        let took = Duration::try_from_secs_f64(end.seconds).map_err(|_| "the run took no time that makes sense")?;
        if self.measured > took.saturating_add(ROUNDED) {
            let measured = self.measured.as_secs_f64();
            return Err(format!("the epochs took {measured:.1} s in all, and the run {} s", end.seconds));
        }
        Ok(())
    }

    fn due(&mut self, task: &str, process: usize, tasks: &[TaskRecord]) -> Result<Due, String> {
        let due = self.schedule.next().ok_or_else(|| {
            format!("process {process} of task {task} is beyond the plan, all of which has been measured")
        })?;
        let expected = &tasks[self.planned[due.plan]].task;
        if expected != task || due.process != process {
            return Err(format!(
                "by the run's seed, process {} of task {expected} is next; found process {process} of task {task}",
                due.process
            ));
        }
        Ok(due)
    }
}

/// Accepts a trial of a self-test only if it has a median of each process that is not said to be lost.
pub(super) fn trial(trial: &Trial, processes: usize) -> Result<(), String> {
    let (control, subject) = (trial.control.len(), trial.subject.len());
    if control.checked_add(trial.lost) != Some(processes) || (subject != control && subject != 0) {
        return Err(format!(
            "a trial has {control} and {subject} medians, and {} processes were lost; expected {processes} in all",
            trial.lost
        ));
    }
    Ok(())
}

/// Accepts the trials of a self-test only if they are those of its plan, and none is missing. Early self-tests have no plan.
pub(super) fn trials(end: &End, run: &Run) -> Result<(), String> {
    let tried = &run.manifest.tried;
    let mut due = schedule::turns(tried);
    for (number, found) in run.trials.iter().enumerate().filter(|_| !tried.is_empty()) {
        let due = due.next();
        if due != Some(&found.name) {
            let due = due.unwrap_or("one too many");
            return Err(format!("by the plan of the self-test, trial {number} is {due}; found {}", found.name));
        }
    }
    match due.next() {
        Some(due) if !end.interrupted => {
            Err(format!("a trial of {due} is missing, and the self-test was not interrupted"))
        }
        _ => Ok(()),
    }
}

fn digest(of: &impl Hash) -> u64 {
    let mut digest = DefaultHasher::new();
    of.hash(&mut digest);
    digest.finish()
}
