//! The work of one fresh process.
//!
//! The parent sends a [`Request`] and the worker answers with [`Reply`]s, each a line of JSON. A *probe* finds the subjects
//! that can do the task and whose answers agree, and at its end which instructions each uses. *Measure* times rounds according to a plan.

mod messages;

pub use messages::{Reply, Request};

use crate::objects::{self, Object};
use crate::plan::{self, TaskPlan, control_of};
use crate::runfile::{Block, Phases};
use crate::schedule::Draws;
use crate::turn::{Place, Turn};
use crate::{Evidence, Mismatch, Quantity, Refusal, Subject, Task, Used, Witness, clock, machine, used};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Serves one request.
pub fn serve(tasks: &[Task], request: &Request, say: &mut dyn FnMut(Reply)) {
    let Some(task) = tasks.iter().find(|task| task.name == request.task()) else {
        say(Reply::Failed(format!("no task is named {}", request.task())));
        return;
    };
    match request {
        Request::Probe { seed, without, watched, .. } => {
            let mut able = probe(task, *seed, without, say);
            say(Reply::Met(objects::met()));
            if *watched && used::WATCHES {
                watch(&mut able, say);
            }
        }
        Request::Measure { plan, process, seed, padding, objects, .. } => {
            let objects = objects.as_deref().unwrap_or_default();
            let block = guarded(|| measure(task, plan, [*process, *padding], *seed, objects, say));
            match block.and_then(|block| block) {
                Ok(block) => say(Reply::Measured(Box::new(block))),
                Err(why) => say(Reply::Failed(why)),
            }
        }
        Request::Host { .. } => {
            say(Reply::Failed("a subject in a process of its own is served by `remote::host`".into()))
        }
    }
    say(Reply::Done);
}

/// A subject that has answered.
pub(crate) struct Ready {
    pub(crate) name: String,
    pub(crate) subject: Box<dyn Subject>,
    witness: Witness,
    /// Whether its time is virtual. Asked once: what a subject tells of itself may be read from files.
    simulated: bool,
}

/// Names the subjects that can do the task, and returns each with its nanoseconds per operation.
fn probe(task: &Task, seed: u64, without: &[String], say: &mut dyn FnMut(Reply)) -> Vec<(Ready, f64)> {
    let mut ready = Vec::new();
    for entry in task.entries.iter().filter(|entry| !without.contains(&entry.subject)) {
        say(Reply::Trying(entry.subject.clone()));
        match make(&entry.subject, || entry.make(), seed) {
            Ok(subject) => ready.push(subject),
            Err(refusal) => say(Reply::Out { subject: entry.subject.clone(), refusal }),
        }
    }
    for (subject, refusal) in expel_the_wrong(&mut ready, task.on_trial, say) {
        say(Reply::Out { subject, refusal });
    }
    let mut able = Vec::new();
    for mut ready in ready {
        let Ready { name, subject, simulated, .. } = &mut ready;
        say(Reply::Trying(name.clone()));
        let tried = guarded(|| (rough_ns(subject.as_mut()), subject.quantities()));
        let (cpu, lasts) = (subject.cpu_ns().is_some(), subject.lasts().is_some());
        match tried.and_then(|(ns, quantities)| Ok((ns, finite(quantities)?))) {
            Ok((ns, quantities)) => {
                say(Reply::Able {
                    subject: name.clone(),
                    ns,
                    phased: !subject.phases().is_empty() && !*simulated,
                    cpu,
                    lasts,
                    quantities,
                    provenance: Box::new(subject.provenance()),
                });
                able.push((ready, ns));
            }
            Err(reason) => say(Reply::Out { subject: name.clone(), refusal: Refusal::failed(reason) }),
        }
    }
    able
}

/// Finds out which instructions each subject uses. Nothing is timed in this process any more.
fn watch(able: &mut [(Ready, f64)], say: &mut dyn FnMut(Reply)) {
    for (Ready { name, subject, .. }, ns) in able {
        say(Reply::Watching(name.clone()));
        let used = guarded(|| used::watch(subject.as_mut(), *ns)).unwrap_or_else(Used::Skipped);
        say(Reply::Used { subject: name.clone(), used });
    }
}

/// Refuses infinities and NaN, which JSON can't represent.
fn finite(quantities: Vec<Quantity>) -> Result<Vec<Quantity>, String> {
    match quantities.iter().find(|quantity| !quantity.value.is_finite()) {
        Some(odd) => Err(format!("reports {} for {}; expected a finite number", odd.value, odd.name)),
        None => Ok(quantities),
    }
}

/// Makes a subject and lets it answer. A panic becomes a refusal.
pub(crate) fn make(
    name: &str,
    make: impl Fn() -> Result<Box<dyn Subject>, Refusal>,
    seed: u64,
) -> Result<Ready, Refusal> {
    guarded(|| {
        let mut subject = make()?;
        let witness = subject.prepare(seed)?;
        let simulated = subject.provenance().evidence == Evidence::Simulated;
        Ok(Ready { name: name.to_owned(), subject, witness, simulated })
    })
    .unwrap_or_else(|panic| Err(Refusal::failed(panic)))
}

/// Runs `work`. A panic becomes a reason that tables can show; one with a [`Refusal`], that refusal's.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        if let Some(refusal) = panic.downcast_ref::<Refusal>() {
            return refusal.to_string();
        }
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("panicked: {text}")
    })
}

/// Lets every subject check every other and removes, one by one, the subject that disagrees with the most others. Among
/// equals the baseline goes last, because the others are compared with it; where it is itself `on_trial`, all equals go, since nobody knows which of them is
/// wrong. Returns the removed subjects with the reasons.
pub(crate) fn expel_the_wrong(
    ready: &mut Vec<Ready>,
    on_trial: bool,
    say: &mut dyn FnMut(Reply),
) -> Vec<(String, Refusal)> {
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
        if judge == 0 {
            say(Reply::Checked);
        }
    }
    let mut gone = Vec::new();
    loop {
        let quarrels = |i: usize| complaints.keys().filter(|(a, b)| *a == i || *b == i).count();
        // `max_by_key` returns the last of several maxima, so the baseline (0) goes last.
        let Some(worst) = (0..n).max_by_key(|&i| quarrels(i)).filter(|&i| quarrels(i) > 0) else { break };
        let equals: Vec<usize> = (0..n).filter(|&i| quarrels(i) == quarrels(worst)).collect();
        let out = if on_trial { equals } else { vec![worst] };
        for &one in &out {
            let ((judge, judged), mismatch) =
                complaints.iter().find(|((a, b), _)| *a == one || *b == one).expect("it has a quarrel");
            let (of, by) = (&ready[*judged].name, &ready[*judge].name);
            let what = if out.len() > 1 { "answers that differ" } else { "wrong answer" };
            gone.push((one, Refusal::failed(format!("{what}: {by} checked the answer of {of}: {mismatch}"))));
        }
        complaints.retain(|(a, b), _| !out.contains(a) && !out.contains(b));
    }
    gone.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
    gone.into_iter().map(|(i, refusal)| (ready.remove(i).name, refusal)).collect()
}

/// Nanoseconds per operation: increases the iterations until an epoch is long enough, then takes the best of three.
pub(crate) fn rough_ns(subject: &mut dyn Subject) -> f64 {
    if let Some(lasts) = subject.lasts() {
        clock::epoch(subject, 1);
        return lasts.as_nanos() as f64;
    }
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
    [process, padding]: [usize; 2],
    seed: u64,
    objects: &[Object],
    say: &mut dyn FnMut(Reply),
) -> Result<Block, String> {
    let Draws { inputs, made, orders } = Draws::new(seed, plan.subjects.len());
    let mut ready = Vec::new();
    for name in made.into_iter().map(|i| &plan.subjects[i]) {
        say(Reply::Trying(name.clone()));
        let entry = task.entries.iter().find(|entry| entry.subject == *name || control_of(&entry.subject) == *name);
        let entry = entry.ok_or_else(|| {
            let unknown = || format!("the plan contains {name}, which the task does not have");
            objects::changed(objects, &plan.subjects).unwrap_or_else(unknown)
        })?;
        ready.push(make(name, || entry.make(), inputs).map_err(|refusal| format!("{name}: {refusal}"))?);
    }
    // Everything is loaded now.
    if let Some(why) = objects::changed(objects, &plan.subjects) {
        return Err(why);
    }
    // Orders in the run file count subjects by sorted name.
    ready.sort_by(|a, b| a.name.cmp(&b.name));

    // The inputs are new, so the baseline checks every answer again.
    let baseline = ready.iter().position(|ready| ready.name == plan.baseline()).ok_or("the plan has no baseline")?;
    for i in 0..ready.len() {
        let witness = ready[i].witness.clone();
        let judge = &mut ready[baseline].subject;
        let verdict = guarded(|| judge.check(&witness))?;
        verdict.map_err(|mismatch| match task.on_trial {
            true => format!("{} and {} gave answers that differ: {mismatch}", ready[baseline].name, ready[i].name),
            false => format!("{} gave a wrong answer: {mismatch}", ready[i].name),
        })?;
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
    for _ in 0..plan::untimed_epochs(plan.iterations) {
        for Ready { name, subject, .. } in &mut ready {
            let worked = guarded(|| clock::epoch(subject.as_mut(), plan.iterations));
            worked.map_err(|panic| format!("{name}: {panic}"))?;
        }
    }
    rounds(&mut ready, orders.take(plan.rounds), &mut block, machine::involuntary_switches)?;
    for Ready { name, subject, .. } in &ready {
        if let Some(outcomes) = subject.outcomes() {
            block.outcomes.insert(name.clone(), outcomes);
        }
    }
    block.steal = machine::Counters::now().steal_since(before);
    Ok(block)
}

/// Times every subject once in each round. `switches` counts how often the processor was taken away; an epoch that sees it change is
/// marked as disturbed. One in which work failed is marked as well: it may have been fast because it was not done.
fn rounds(
    ready: &mut [Ready],
    orders: impl Iterator<Item = Vec<usize>>,
    block: &mut Block,
    switches: impl Fn() -> i64,
) -> Result<(), String> {
    for (round, order) in orders.enumerate() {
        for &i in &order {
            let Ready { name, subject, simulated: is_simulated, .. } = &mut ready[i];
            if *is_simulated {
                let worked = guarded(|| simulated(round, name, subject.as_mut(), block));
                worked.map_err(|panic| format!("{name}: {panic}"))??;
                continue;
            }
            // The whole and the phases take turns at going first, so that neither always profits from warm caches.
            let place = if round % 2 == 1 { Place::First } else { Place::Last };
            let phases = block.phases.contains_key(name).then_some(place);
            let turn = Turn { unclocked: plan::warm_up(block.iterations), iterations: block.iterations, phases };
            let taken = guarded(|| clock::take(subject.as_mut(), &turn, &switches));
            let taken = taken.map_err(|panic| format!("{name}: {panic}"))?;
            let timed = taken.map_err(|why| format!("{name} {why}"))?;
            if let Some(epochs) = block.ns.get_mut(name) {
                epochs.push(timed.ns);
            }
            if let Some(cpu_ns) = timed.cpu_ns {
                block.cpu_ns.entry(name.clone()).or_default().push(cpu_ns);
            }
            if let Some(phases) = block.phases.get_mut(name) {
                phases.ns.iter_mut().zip(timed.phases).for_each(|(row, sum)| row.push(sum));
            }
            if timed.disturbed {
                block.disturbed.entry(name.clone()).or_default().push(round);
            }
            if timed.failed {
                block.failed.entry(name.clone()).or_default().push(round);
            }
        }
        block.orders.push(order);
    }
    Ok(())
}

/// Whether the subject's time is virtual.
/// An operation in virtual time. Who had the processor meanwhile does not matter.
fn simulated(round: usize, name: &str, subject: &mut dyn Subject, block: &mut Block) -> Result<(), String> {
    let failures = clock::failures_of(subject);
    let times = subject.simulate();
    if times.len() != subject.phases().len().max(1) {
        return Err(format!("{name} did not give the virtual time of each of its phases"));
    }
    if let Some(epochs) = block.ns.get_mut(name) {
        epochs.push(times.iter().sum::<u64>().max(1));
    }
    if let Some(phases) = block.phases.get_mut(name) {
        phases.ns.iter_mut().zip(&times).for_each(|(row, &time)| row.push(time));
    }
    if clock::failures_of(subject) != failures {
        block.failed.entry(name.to_owned()).or_default().push(round);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mismatch, Outcomes, Provenance};
    use std::cell::Cell;
    use std::rc::Rc;

    /// Loses the processor once in the runs of those numbers, as its counter says, and fails in others.
    struct Unlucky {
        runs: Vec<usize>,
        fails: Vec<usize>,
        done: usize,
        switches: Rc<Cell<i64>>,
    }

    impl Subject for Unlucky {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(Witness::default())
        }
        fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
            Ok(())
        }
        fn run(&mut self, _: u64) {
            self.switches.set(self.switches.get() + i64::from(self.runs.contains(&self.done)));
            self.done += 1;
        }
        fn outcomes(&self) -> Option<Outcomes> {
            let failed = self.fails.iter().filter(|&&run| run < self.done).count();
            Some(Outcomes { attempts: self.done as u64, successes: (self.done - failed) as u64 })
        }
        fn provenance(&self) -> Provenance {
            Provenance::default()
        }
    }

    #[test]
    fn epochs_in_which_the_processor_was_taken_away_or_work_failed_are_marked_and_no_others() {
        let switches = Rc::new(Cell::new(7));
        let mut ready: Vec<_> = [("a", vec![0, 3], vec![]), ("b", vec![], vec![2]), ("c", vec![1], vec![1, 3])]
            .into_iter()
            .map(|(name, runs, fails)| Ready {
                name: name.to_owned(),
                subject: Box::new(Unlucky { runs, fails, done: 0, switches: Rc::clone(&switches) }),
                witness: Witness::default(),
                simulated: false,
            })
            .collect();
        let mut block = Block { iterations: 1, ..Block::default() };
        block.ns.extend(ready.iter().map(|ready| (ready.name.clone(), Vec::new())));
        let orders = [vec![0, 1, 2], vec![2, 1, 0], vec![1, 2, 0], vec![0, 2, 1]];
        rounds(&mut ready, orders.into_iter(), &mut block, || switches.get()).unwrap();
        let marked = |marks: &BTreeMap<String, Vec<usize>>| {
            marks.iter().map(|(name, rounds)| format!("{name} {rounds:?}")).collect::<Vec<_>>()
        };
        assert_eq!(marked(&block.disturbed), ["a [0, 3]", "c [1]"]);
        assert_eq!(marked(&block.failed), ["b [2]", "c [1, 3]"]);
        assert!(block.ns.values().all(|epochs| epochs.len() == 4));
    }

    /// Takes 10 and 20 ns of virtual time, then 11 and 21, and fails at the third.
    struct Virtual(u64);

    impl Subject for Virtual {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(Witness::default())
        }
        fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
            Ok(())
        }
        fn run(&mut self, _: u64) {
            panic!("the clock is not read around a simulation");
        }
        fn simulate(&mut self) -> Vec<u64> {
            self.0 += 1;
            vec![9 + self.0, 19 + self.0]
        }
        fn phases(&self) -> &'static [&'static str] {
            &["out", "back"]
        }
        fn outcomes(&self) -> Option<Outcomes> {
            Some(Outcomes { attempts: self.0, successes: self.0 - u64::from(self.0 >= 3) })
        }
        fn provenance(&self) -> Provenance {
            Provenance { evidence: Evidence::Simulated, ..Provenance::default() }
        }
    }

    #[test]
    fn virtual_time_is_taken_as_the_subject_gives_it_and_phases_with_it() {
        let ready =
            Ready { name: "a".into(), subject: Box::new(Virtual(0)), witness: Witness::default(), simulated: true };
        let mut block = Block { iterations: 1, ..Block::default() };
        block.ns.insert("a".into(), Vec::new());
        block.phases.insert("a".into(), Phases { names: vec!["out".into(), "back".into()], ns: vec![Vec::new(); 2] });
        // That the processor is taken away all the time is nothing to it.
        let switches = Cell::new(0);
        let often = || switches.replace(switches.get() + 1);
        rounds(&mut [ready], std::iter::repeat_n(vec![0], 4), &mut block, often).unwrap();
        assert_eq!(block.ns["a"], [30, 32, 34, 36]);
        assert_eq!(block.phases["a"].ns, [[10, 11, 12, 13], [20, 21, 22, 23]]);
        assert_eq!((block.failed["a"].as_slice(), block.disturbed.len()), (&[2][..], 0));
    }

    /// Panics in its work.
    struct Hasty;

    impl Subject for Hasty {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(Witness::default())
        }
        fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
            Ok(())
        }
        fn run(&mut self, _: u64) {
            panic!("not now");
        }
        fn provenance(&self) -> Provenance {
            Provenance::default()
        }
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    fn a_subject_that_panics_while_it_is_watched_says_so_and_the_next_one_is_watched() {
        let ready = |name: &str| {
            (Ready { name: name.into(), subject: Box::new(Hasty), witness: Witness::default(), simulated: false }, 1.0)
        };
        let mut said = Vec::new();
        watch(&mut [ready("a"), ready("b")], &mut |reply| said.push(reply));
        let skipped = |i: usize, name: &str| {
            let expected = Used::Skipped("panicked: not now".into());
            matches!(&said[i], Reply::Watching(subject) if subject == name)
                && matches!(&said[i + 1], Reply::Used { subject, used } if subject == name && *used == expected)
        };
        assert!(said.len() == 4 && skipped(0, "a") && skipped(2, "b"), "{said:?}");
    }

    /// Writes down what it is asked to do.
    struct Diary(Rc<Cell<Vec<u64>>>);

    impl Subject for Diary {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(Witness::default())
        }
        fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
            Ok(())
        }
        fn run(&mut self, iterations: u64) {
            let mut runs = self.0.take();
            runs.push(iterations);
            self.0.set(runs);
        }
        fn provenance(&self) -> Provenance {
            Provenance::default()
        }
    }

    #[test]
    fn every_epoch_follows_operations_of_its_own_subject() {
        let runs_of = |iterations: u64| {
            let runs = [(); 2].map(|()| Rc::new(Cell::new(Vec::new())));
            let ready = |(name, runs): (&str, &Rc<Cell<Vec<u64>>>)| Ready {
                name: name.to_owned(),
                subject: Box::new(Diary(Rc::clone(runs))),
                witness: Witness::default(),
                simulated: false,
            };
            let mut subjects: Vec<Ready> = ["a", "b"].into_iter().zip(&runs).map(ready).collect();
            let mut block = Block { iterations, ..Block::default() };
            rounds(&mut subjects, [vec![0, 1], vec![1, 0]].into_iter(), &mut block, || 0).unwrap();
            runs.map(|runs| runs.take())
        };
        assert_eq!(runs_of(100), [[7, 100, 7, 100], [7, 100, 7, 100]]);
        assert_eq!(runs_of(1), [[1, 1], [1, 1]], "a long operation follows what it follows");
    }
}
