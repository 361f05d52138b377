//! What subjects used, from the watched call to the lint.

mod quick;

use candor_lab::analysis::Report;
use candor_lab::plan::{TaskPlan, control_of};
use candor_lab::report::{Form, render};
use candor_lab::runfile::{Block, End, Manifest, Run, SubjectRecord, TaskRecord};
use candor_lab::session::{self, InProcess, WorkerDeath, Workers};
use candor_lab::worker::{Reply, Request};
use candor_lab::{
    Entry, Evidence, Kind, Mismatch, Outcomes, Provenance, Refusal, Samples, Subject, Task, Used, Witness,
};
use quick::{measure, settings};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What there is to do.
#[derive(Clone, Copy)]
enum Work {
    /// Mixes integers.
    Mix,
    /// Hashes with crate sha2, which takes the SHA instructions where there are any.
    Hash,
    /// Mixes, and might fail.
    Fallible,
    /// Mixes in virtual time.
    Virtual,
    /// Says that another process mixes.
    Elsewhere,
}

struct Worker(Work);

impl Subject for Worker {
    fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
        Ok(Witness::default())
    }
    fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
        Ok(())
    }
    fn run(&mut self, iterations: u64) {
        let message = [7; 4096];
        for _ in 0..iterations {
            if let Work::Hash = self.0 {
                black_box(Sha256::digest(black_box(&message)));
            } else {
                black_box((0..black_box(4000_u64)).fold(1, |x: u64, i| x.rotate_left(5).wrapping_mul(3) ^ i));
            }
        }
    }
    fn simulate(&mut self) -> Vec<u64> {
        vec![1000]
    }
    fn works_elsewhere(&self) -> bool {
        matches!(self.0, Work::Elsewhere)
    }
    fn outcomes(&self) -> Option<Outcomes> {
        matches!(self.0, Work::Fallible).then_some(Outcomes { attempts: 1, successes: 1 })
    }
    fn provenance(&self) -> Provenance {
        let evidence = if let Work::Virtual = self.0 { Evidence::Simulated } else { Evidence::MeasuredPaired };
        Provenance { evidence, ..Provenance::of("worker", "1", "works") }
    }
}

fn task(subjects: &[(&str, Work)]) -> Vec<Task> {
    let entries = subjects.iter().map(|&(name, work)| Entry::new(name, move || Ok(Worker(work))));
    vec![entries.fold(Task::new("work", "works"), Task::entry)]
}

/// A run of the task, in this process unless there are other workers, and what each subject used.
fn used(tasks: &[Task], workers: Option<&dyn Workers>) -> (Run, Vec<Option<Used>>) {
    let dir = tempfile::tempdir().unwrap();
    let run = match workers {
        None => measure(tasks, dir.path()).unwrap(),
        Some(workers) => {
            let stop = AtomicBool::new(false);
            let finished = session::run(tasks, &settings(dir.path()), workers, &stop, &mut |_| {}).unwrap();
            Run::open(&finished.path).unwrap()
        }
    };
    let used = run.subjects.iter().map(|subject| subject.used.clone()).collect();
    (run, used)
}

/// Whether subjects are watched on this system.
fn watches() -> bool {
    let watches = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));
    if !watches {
        eprintln!("skipped: subjects are watched on x86-64 Linux only");
    }
    watches
}

fn share(used: &Option<Used>, kind: Kind) -> f64 {
    let samples = used.as_ref().and_then(Used::samples).unwrap_or_else(|| panic!("{used:?}"));
    samples.kinds.get(&kind).map_or(0.0, |&count| count as f64) / samples.samples as f64
}

#[test]
fn the_sha_instructions_are_seen_and_portable_code_is_seen_without_any() {
    if !watches() {
        return;
    }
    let tasks = task(&[("mixes", Work::Mix), ("hashes", Work::Hash)]);
    let (run, used) = used(&tasks, None);
    assert!(share(&used[0], Kind::Scalar) + share(&used[0], Kind::Sse) > 0.9, "{used:?}");
    let report = Report::of(&run);
    for form in [Form::Markdown, Form::Html, Form::Json] {
        assert!(render(std::slice::from_ref(&report), &[], form).contains("scalar"), "{form:?}");
    }
    if run.manifest.machine.features.iter().any(|feature| feature == "sha_ni") {
        assert!(share(&used[1], Kind::Sha) > 0.5, "{used:?}");
    } else {
        eprintln!("skipped: this CPU has no SHA instructions");
    }
}

#[test]
fn who_would_be_spoiled_is_not_watched_and_says_so() {
    if !watches() {
        return;
    }
    let why = |work| {
        let tasks = task(&[("a", work), ("b", work)]);
        match used(&tasks, None).1.remove(1) {
            Some(Used::Skipped(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    assert!(why(Work::Fallible).contains("can fail"));
    assert!(why(Work::Virtual).contains("virtual"));
    assert_eq!(why(Work::Elsewhere), "works in a process of its own");
}

/// Workers whose process dies while the second subject is watched.
struct Dying<'a>(&'a [Task]);

impl Workers for Dying<'_> {
    fn serve(
        &self,
        request: &Request,
        padding: usize,
        patience: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerDeath> {
        let mut dead = false;
        InProcess(self.0).serve(request, padding, patience, &mut |said| {
            let dies = matches!(&said, Reply::Watching(subject) if subject == "b");
            if !dead {
                reply(said);
            }
            dead |= dies;
        })?;
        if dead { Err(WorkerDeath::Crashed("killed by signal 11".into())) } else { Ok(()) }
    }
}

#[test]
fn a_subject_that_dies_of_being_watched_is_measured_all_the_same() {
    if !watches() {
        return;
    }
    let tasks = task(&[("a", Work::Mix), ("b", Work::Mix), ("c", Work::Mix)]);
    let (run, used) = used(&tasks, Some(&Dying(&tasks)));
    assert!(used[0].as_ref().is_some_and(|used| used.samples().is_some()), "{used:?}");
    let [_, Some(Used::Skipped(died)), Some(Used::Skipped(after))] = &used[..] else { panic!("{used:?}") };
    assert_eq!(died, "its process died meanwhile: killed by signal 11");
    assert_eq!(after, "the process that should have watched it died before");
    assert!(run.refusals.is_empty() && run.blocks[0].ns.len() == 4, "all three are measured, the first one twice");
}

fn by(library: &str) -> Provenance {
    Provenance::of(library, "1", "works")
}

/// A made-up run: names, origins, nanoseconds of an epoch, and what was used.
fn made_up(subjects: &[(&str, Provenance, u64, Used)]) -> Report {
    let mut run = Run::empty("made-up", Manifest { processes: 1, ..Manifest::default() });
    run.end = End { during: Default::default(), seconds: 1.0, interrupted: false };
    let mut names: Vec<String> = subjects.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let mut ns: Vec<_> = subjects.iter().map(|(name, _, ns, _)| ((*name).to_owned(), vec![*ns])).collect();
    ns.push((control_of(&names[0]), vec![subjects[0].2]));
    names.insert(1, control_of(&names[0]));
    let plan = Some(TaskPlan { subjects: names, iterations: 1, rounds: 1, ..TaskPlan::default() });
    run.tasks.push(TaskRecord { task: "t".into(), what: String::new(), bytes: None, plan });
    let ns = ns.into_iter().collect();
    run.blocks.push(Block { task: "t".into(), iterations: 1, ns, orders: vec![Vec::new()], ..Block::default() });
    run.subjects.extend(subjects.iter().map(|(name, provenance, _, used)| SubjectRecord {
        task: "t".into(),
        subject: (*name).into(),
        provenance: provenance.clone(),
        quantities: Vec::new(),
        used: Some(used.clone()),
    }));
    Report::of(&run)
}

fn sampled(kinds: &[(Kind, u64)]) -> Used {
    Used::Sampled(Samples { samples: 200, kinds: kinds.iter().copied().collect() })
}

/// Who carries the lint, and what it says.
fn accused(report: &Report) -> Vec<(&str, &str)> {
    let lints = report.lints.iter().filter(|lint| lint.name == "peer-not-at-its-best");
    lints.map(|lint| (lint.subject.as_str(), lint.text.as_str())).collect()
}

#[test]
fn portable_code_beside_faster_vector_code_carries_the_lint_and_its_twin_does_not() {
    let (scalar, sha) = (sampled(&[(Kind::Scalar, 200)]), sampled(&[(Kind::Sha, 190), (Kind::Scalar, 10)]));
    let beside = |library, ns, used: &Used| {
        made_up(&[("ours", by("candor"), 1000, sha.clone()), ("peer", by(library), ns, used.clone())])
    };
    let report = beside("peer", 3000, &scalar);
    let text = "0 of 200 samples are beyond scalar code and SSE; sha is in 95 % of ours, which is faster";
    assert_eq!(accused(&report), [("peer", text)]);
    assert_eq!(accused(&beside("peer", 3000, &sha)), [], "it uses the same");
    assert_eq!(accused(&beside("peer", 900, &scalar)), [], "it is faster as it is");
    assert_eq!(accused(&beside("candor", 3000, &scalar)), [], "our portable arm is called so");
    assert_eq!(accused(&beside("peer", 3000, &Used::Skipped("its work can fail".into()))), []);
}

#[test]
fn any_faster_row_shows_what_was_missed_and_the_fastest_is_named() {
    let (scalar, avx2) = (sampled(&[(Kind::Scalar, 200)]), sampled(&[(Kind::Avx2, 200)]));
    let avx512 = sampled(&[(Kind::Avx512, 200)]);
    let report = made_up(&[
        ("ours", by("candor"), 1000, scalar.clone()),
        ("middle", by("middle"), 800, avx2),
        ("fast", by("fast"), 500, avx512),
        ("slow", by("slow"), 2000, scalar),
    ]);
    let text = "0 of 200 samples are beyond scalar code and SSE; avx512 is in 100 % of fast, which is faster";
    assert_eq!(accused(&report), [("slow", text)], "AVX2 beside AVX-512 is no portable code");

    // What works on several at once, or does other work for another reason, shows nothing about one at a time.
    let other = Provenance { different_operation: Some("several at once".into()), ..by("batch") };
    let (scalar, avx2) = (sampled(&[(Kind::Scalar, 200)]), sampled(&[(Kind::Avx2, 200)]));
    let report = made_up(&[
        ("ours", by("candor"), 1000, scalar.clone()),
        ("batch", other.clone(), 500, avx2.clone()),
        ("peer", by("peer"), 1500, scalar.clone()),
    ]);
    assert_eq!(accused(&report), []);
    let report = made_up(&[("ours", by("candor"), 1000, avx2), ("batch", other, 2000, scalar)]);
    assert_eq!(accused(&report), []);
}
