//! What one fresh process does.
//!
//! The parent sends a [`Request`], the worker answers with [`Reply`]s, a line of JSON each. A *probe* finds out who can do
//! the task and whose answers agree; *measure* times rounds under a plan that was fixed before.

use crate::plan::{Probed, TaskPlan, control_of};
use crate::runfile::{Block, Phases};
use crate::{Mismatch, Orders, Provenance, Quantity, Random, Refusal, Subject, Task, Witness, clock, machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the parent asks of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Find out who can do the task.
    Probe {
        /// The task's name.
        task: String,
        /// The seed that all subjects answer.
        seed: u64,
        /// Subjects that are out already (one of them has crashed an earlier probe).
        without: Vec<String>,
    },
    /// Time rounds.
    Measure {
        /// The task's name.
        task: String,
        /// What was fixed.
        plan: TaskPlan,
        /// Which process this is.
        process: usize,
        /// Seed of inputs and orders.
        seed: u64,
        /// Bytes of padding that the parent put into the environment.
        padding: usize,
    },
}

impl Request {
    /// The task's name.
    pub fn task(&self) -> &str {
        match self {
            Self::Probe { task, .. } | Self::Measure { task, .. } => task,
        }
    }
}

/// What a worker says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// About to touch this subject: if the worker dies now, the parent knows whom to blame.
    Trying(String),
    /// The subject can do the task and its answers agree.
    Able {
        /// The subject's name.
        subject: String,
        /// Nanoseconds per operation, roughly.
        ns: f64,
        /// Whether it has phases.
        phased: bool,
        /// What it counts.
        quantities: Vec<Quantity>,
        /// Where it comes from.
        provenance: Box<Provenance>,
    },
    /// The subject is out.
    Out {
        /// The subject's name.
        subject: String,
        /// Why.
        refusal: Refusal,
    },
    /// The raw epochs.
    Measured(Box<Block>),
    /// The request can't be served at all.
    Failed(String),
    /// The worker is done.
    Done,
}

/// Serves one request.
pub fn serve(tasks: &[Task], request: &Request, say: &mut dyn FnMut(Reply)) {
    let Some(task) = tasks.iter().find(|task| task.name == request.task()) else {
        say(Reply::Failed(format!("no task is named {}", request.task())));
        return;
    };
    match request {
        Request::Probe { seed, without, .. } => probe(task, *seed, without, say),
        Request::Measure { plan, process, seed, padding, .. } => {
            let block = guarded(|| measure(task, plan, *process, *seed, *padding, say));
            match block.and_then(|block| block) {
                Ok(block) => say(Reply::Measured(Box::new(block))),
                Err(why) => say(Reply::Failed(why)),
            }
        }
    }
    say(Reply::Done);
}

/// A subject that has answered.
struct Ready {
    name: String,
    subject: Box<dyn Subject>,
    witness: Witness,
}

fn probe(task: &Task, seed: u64, without: &[String], say: &mut dyn FnMut(Reply)) {
    let mut ready = Vec::new();
    for entry in task.entries.iter().filter(|entry| !without.contains(&entry.subject)) {
        say(Reply::Trying(entry.subject.clone()));
        match make(&entry.subject, || entry.make(), seed) {
            Ok(subject) => ready.push(subject),
            Err(refusal) => say(Reply::Out { subject: entry.subject.clone(), refusal }),
        }
    }
    for (subject, refusal) in expel_the_wrong(&mut ready, say) {
        say(Reply::Out { subject, refusal });
    }
    for Ready { name, subject, .. } in &mut ready {
        say(Reply::Trying(name.clone()));
        let tried = guarded(|| (rough_ns(subject.as_mut()), subject.quantities()));
        match tried.and_then(|(ns, quantities)| Ok((ns, finite(quantities)?))) {
            Ok((ns, quantities)) => say(Reply::Able {
                subject: name.clone(),
                ns,
                phased: !subject.phases().is_empty(),
                quantities,
                provenance: Box::new(subject.provenance()),
            }),
            Err(reason) => say(Reply::Out { subject: name.clone(), refusal: Refusal::failed(reason) }),
        }
    }
}

/// JSON has no other numbers.
fn finite(quantities: Vec<Quantity>) -> Result<Vec<Quantity>, String> {
    match quantities.iter().find(|quantity| !quantity.value.is_finite()) {
        Some(odd) => Err(format!("counts {} as {}, which is no number", odd.name, odd.value)),
        None => Ok(quantities),
    }
}

/// Makes a subject and lets it answer; a panic is a refusal like any other.
fn make(name: &str, make: impl Fn() -> Result<Box<dyn Subject>, Refusal>, seed: u64) -> Result<Ready, Refusal> {
    guarded(|| {
        let mut subject = make()?;
        let witness = subject.prepare(seed)?;
        Ok(Ready { name: name.to_owned(), subject, witness })
    })
    .unwrap_or_else(|panic| Err(Refusal::failed(panic)))
}

/// Runs `work`; a panic becomes the sentence that a table can show.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("panicked: {text}")
    })
}

/// Lets everyone check everyone, and takes out, one by one, whoever disagrees with most others; the baseline last among
/// equals, since the others are measured against it. Answers who went and why.
fn expel_the_wrong(ready: &mut Vec<Ready>, say: &mut dyn FnMut(Reply)) -> Vec<(String, Refusal)> {
    let n = ready.len();
    let mut complaints: BTreeMap<(usize, usize), Mismatch> = BTreeMap::new();
    for judge in 0..n {
        say(Reply::Trying(ready[judge].name.clone()));
        for judged in (0..n).filter(|&judged| judged != judge) {
            let witness = ready[judged].witness.clone();
            let subject = &mut ready[judge].subject;
            let verdict = guarded(|| subject.check(&witness)).unwrap_or_else(|panic| Err(Mismatch::new(panic)));
            if let Err(mismatch) = verdict {
                complaints.insert((judge, judged), mismatch);
            }
        }
    }
    let mut gone = Vec::new();
    loop {
        let quarrels = |i: usize| complaints.keys().filter(|(a, b)| *a == i || *b == i).count();
        // Stable maximum: a later subject wins a tie, so the baseline (0) goes last.
        let Some(worst) = (0..n).max_by_key(|&i| quarrels(i)).filter(|&i| quarrels(i) > 0) else { break };
        let ((judge, judged), mismatch) =
            complaints.iter().find(|((a, b), _)| *a == worst || *b == worst).expect("it has a quarrel");
        let (of, by) = (&ready[*judged].name, &ready[*judge].name);
        let reason = format!("wrong answer, so no time: {by} found in the answer of {of}: {mismatch}");
        gone.push((worst, Refusal::failed(reason)));
        complaints.retain(|(a, b), _| *a != worst && *b != worst);
    }
    gone.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
    gone.into_iter().map(|(i, refusal)| (ready.remove(i).name, refusal)).collect()
}

/// Nanoseconds per operation: doubles the iterations until an epoch lasts, then takes the best of three.
fn rough_ns(subject: &mut dyn Subject) -> f64 {
    let mut iterations = 1;
    let mut best = clock::epoch(subject, iterations) as f64;
    while best < 300_000.0 && iterations < 1 << 40 {
        iterations *= if best < 20_000.0 { 8 } else { 2 };
        best = clock::epoch(subject, iterations) as f64;
    }
    let again = if best > 50_000_000.0 { 0 } else { 2 };
    for _ in 0..again {
        best = best.min(clock::epoch(subject, iterations) as f64);
    }
    best / iterations as f64
}

fn measure(
    task: &Task,
    plan: &TaskPlan,
    process: usize,
    seed: u64,
    padding: usize,
    say: &mut dyn FnMut(Reply),
) -> Result<Block, String> {
    let mut random = Random::new(seed);
    let input_seed = random.bits();

    // Allocation order is part of the layout that differs between processes.
    let mut names = plan.subjects.clone();
    random.shuffle(&mut names);
    let mut ready = Vec::new();
    for name in names {
        say(Reply::Trying(name.clone()));
        let entry = task.entries.iter().find(|entry| entry.subject == name || control_of(&entry.subject) == name);
        let entry = entry.ok_or_else(|| format!("{name} is in the plan but not in the task"))?;
        ready.push(make(&name, || entry.make(), input_seed).map_err(|refusal| format!("{name}: {refusal}"))?);
    }
    // The file numbers subjects by sorted name.
    ready.sort_by(|a, b| a.name.cmp(&b.name));

    // The inputs are new, so the answers are checked anew: everyone's by the baseline.
    let baseline = ready.iter().position(|ready| ready.name == plan.baseline()).ok_or("the plan has no baseline")?;
    for i in 0..ready.len() {
        let witness = ready[i].witness.clone();
        let judge = &mut ready[baseline].subject;
        let verdict = guarded(|| judge.check(&witness))?;
        verdict.map_err(|mismatch| format!("{} gave a wrong answer: {mismatch}", ready[i].name))?;
    }

    let before = machine::Counters::now();
    let mut block =
        Block { task: task.name.clone(), process, seed, padding, iterations: plan.iterations, ..Block::default() };
    for Ready { name, subject, .. } in &ready {
        block.ns.insert(name.clone(), Vec::with_capacity(plan.rounds));
        let names: Vec<String> = subject.phases().iter().map(|&name| name.to_owned()).collect();
        if !names.is_empty() {
            block.phases.insert(name.clone(), Phases { ns: vec![Vec::with_capacity(plan.rounds); names.len()], names });
        }
    }
    let mut epochs: Vec<Vec<u64>> = vec![Vec::with_capacity(plan.rounds); ready.len()];
    let mut disturbed: Vec<Vec<usize>> = vec![Vec::new(); ready.len()];
    warm_up(&mut ready, plan.iterations);

    for (round, order) in Orders::new(ready.len(), random.bits()).take(plan.rounds).enumerate() {
        for &i in &order {
            let Ready { name, subject, .. } = &mut ready[i];
            let switches = machine::involuntary_switches();
            // Whole and phases take turns at going first, so that neither is always the one with warm caches.
            let phased_first = round % 2 == 1;
            if phased_first {
                phased(name, subject.as_mut(), &mut block)?;
            }
            epochs[i].push(clock::epoch(subject.as_mut(), plan.iterations).max(1));
            if !phased_first {
                phased(name, subject.as_mut(), &mut block)?;
            }
            if machine::involuntary_switches() != switches {
                disturbed[i].push(round);
            }
        }
        block.orders.push(order);
    }
    for ((Ready { name, subject, .. }, epochs), disturbed) in ready.iter().zip(epochs).zip(disturbed) {
        if let Some(outcomes) = subject.outcomes() {
            block.outcomes.insert(name.clone(), outcomes);
        }
        block.ns.insert(name.clone(), epochs);
        if !disturbed.is_empty() {
            block.disturbed.insert(name.clone(), disturbed);
        }
    }
    block.steal = machine::Counters::now().steal_since(before);
    Ok(block)
}

fn phased(name: &str, subject: &mut dyn Subject, block: &mut Block) -> Result<(), String> {
    let Some(phases) = block.phases.get_mut(name) else { return Ok(()) };
    let sums = clock::phased_epoch(subject, block.iterations)
        .ok_or_else(|| format!("{name} does not lap once for each of its phases"))?;
    for (row, sum) in phases.ns.iter_mut().zip(sums) {
        row.push(sum);
    }
    Ok(())
}

/// Untimed epochs: code and tables into the caches, the clock frequency up.
fn warm_up(ready: &mut [Ready], iterations: u64) {
    for _ in 0..3 {
        for Ready { subject, .. } in ready.iter_mut() {
            clock::epoch(subject.as_mut(), iterations);
        }
    }
}

impl Reply {
    /// What the planner needs of an able subject.
    pub(crate) fn probed(&self) -> Option<Probed> {
        match self {
            Self::Able { subject, ns, phased, .. } => {
                Some(Probed { subject: subject.clone(), ns: *ns, phased: *phased })
            }
            _ => None,
        }
    }
}
