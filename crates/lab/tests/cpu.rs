//! CPU times beside the times: a second table, judged like the first.

use candor_lab::analysis::Report;
use candor_lab::plan::{Probed, TaskPlan};
use candor_lab::runfile::{Block, End, Manifest, Run, SubjectRecord, TaskRecord};
use candor_lab::verdict::Verdict;
use candor_lab::{Habit, Provenance};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SUBJECTS: [&str; 3] = ["ours", "ours#2", "peer"];

/// Eight processes of five rounds, in which the peer takes as long and computes twice as much.
fn run() -> Run {
    let mut run = Run::empty("cpu", Manifest { processes: 8, comparisons: 2, ..Manifest::default() });
    run.end = End { during: Default::default(), seconds: 1.0, interrupted: false };
    let subjects = SUBJECTS.map(str::to_owned).to_vec();
    let plan = TaskPlan { subjects, iterations: 1, rounds: 5, cpu: true, ..TaskPlan::default() };
    assert_eq!(plan.comparisons(), 2, "one by the times, one by the CPU times");
    run.tasks.push(TaskRecord { task: "t".into(), what: "work".into(), bytes: Some(10), plan: Some(plan) });
    for subject in ["ours", "peer"] {
        let provenance = Provenance { habits: Some(BTreeSet::<Habit>::new()), ..Provenance::of(subject, "1", "work") };
        let (task, subject) = ("t".into(), subject.into());
        run.subjects.push(SubjectRecord { task, subject, provenance, quantities: Vec::new(), used: None });
    }
    for process in 0..8_u64 {
        let epochs =
            |base: u64, subject: u64| (0..5).map(|round| base + 7 * process + subject + 3 * round).collect::<Vec<_>>();
        let of = |bases: [u64; 3]| -> BTreeMap<String, Vec<u64>> {
            SUBJECTS
                .iter()
                .zip(bases)
                .zip(0..)
                .map(|((name, base), at)| ((*name).to_owned(), epochs(base, at)))
                .collect()
        };
        let (ns, cpu_ns) = (of([1_000_000; 3]), of([400_000, 400_000, 800_000]));
        let block =
            Block { task: "t".into(), process: process as usize, iterations: 1, ns, cpu_ns, ..Block::default() };
        run.blocks.push(block);
    }
    run
}

#[test]
fn a_task_with_cpu_times_is_two_tables_and_each_has_its_verdict() {
    let report = Report::of(&run());
    let names: Vec<(&str, Option<u64>)> = report.tasks.iter().map(|task| (task.task.as_str(), task.bytes)).collect();
    assert_eq!(names, [("t", Some(10)), ("t/cpu", None)]);
    assert!(report.tasks[1].what.starts_with("CPU time") && report.tasks[1].what.ends_with(": work"));
    let row = |task: usize| report.tasks[task].rows.iter().find(|row| row.subject == "peer").unwrap();
    assert_eq!((row(0).verdict, row(1).verdict), (Verdict::Same, Verdict::Faster));
    assert!((row(1).ratio - 2.0).abs() < 0.01, "{}", row(1).ratio);
    assert_eq!(row(1).median_ns, 800_032.5);
}

#[test]
fn a_row_that_waits_most_of_its_time_says_so_and_one_that_computes_does_not() {
    let waiting = |cpu_of_peer: u64| {
        let mut run = run();
        for block in &mut run.blocks {
            block.cpu_ns.get_mut("peer").unwrap().iter_mut().for_each(|ns| *ns = cpu_of_peer);
        }
        let lints = Report::of(&run).lints.into_iter().filter(|lint| lint.name == "mostly-waiting");
        lints.map(|lint| (lint.task, lint.subject, lint.text)).collect::<Vec<_>>()
    };
    let [(task, subject, text)] = &waiting(34_000)[..] else { panic!("one row waits") };
    assert_eq!((task.as_str(), subject.as_str()), ("t", "peer"), "the table of times, and not that of CPU times");
    assert!(text.contains(" 3.4 % of the time"), "{text}");
    assert_eq!((waiting(190_000).len(), waiting(210_000).len()), (1, 0));
}

#[test]
fn a_task_of_which_nobody_tells_cpu_times_is_one_table() {
    let mut run = run();
    run.tasks[0].plan.as_mut().unwrap().cpu = false;
    run.blocks.iter_mut().for_each(|block| block.cpu_ns.clear());
    assert_eq!(Report::of(&run).tasks.len(), 1);
}

#[test]
fn an_operation_of_ten_seconds_is_a_round_and_a_shorter_one_has_five() {
    let plan = |seconds: f64| {
        let probed = ["a", "b", "c"].map(|name| Probed {
            subject: name.into(),
            ns: seconds * 1e9,
            phased: false,
            asking_ns: 0.0,
            cpu: true,
            lasts: false,
            simulated: false,
        });
        TaskPlan::new(&probed, 8, Duration::from_secs(6), 30).unwrap()
    };
    assert_eq!((plan(60.0).rounds, plan(10.0).rounds, plan(9.0).rounds > 4), (1, 1, true));
    assert!(plan(60.0).cpu && plan(60.0).iterations == 1);
}
