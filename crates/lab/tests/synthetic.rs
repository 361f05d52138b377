//! The statistics on synthetic noise: how often do they claim a difference that does not exist, and how often do they find
//! one of 1.5 %?
//!
//! Whole runs are generated, epoch by epoch, and analysed like real ones.

use candor_lab::analysis::Report;
use candor_lab::plan::{TaskPlan, control_of};
use candor_lab::runfile::{Block, End, Lost, Manifest, Run, SCHEMA, TaskRecord};
use candor_lab::stats::Interval;
use candor_lab::verdict::Verdict;
use candor_lab::{Orders, Outcomes, Random};
use std::collections::BTreeMap;

const PROCESSES: usize = 9;
const ROUNDS: usize = 201;

/// What disturbs the epochs. Each field is a share of an epoch's time.
#[derive(Clone, Copy, Default)]
struct Noise {
    /// Independent Gaussian noise of each epoch.
    white: f64,
    /// How much slower the machine gets from the first to the last epoch.
    drift: f64,
    /// One epoch in ten takes up to this much longer.
    spikes: f64,
    /// An AR(1) process with coefficient 0.95, which the subjects of a round share only in part.
    weather: f64,
    /// A constant factor for each subject in each process, as code layout causes it.
    process: f64,
    /// The clock steps by this many nanoseconds, of epochs of a million.
    quantum: u64,
}

const QUIET: Noise = Noise { white: 0.002, drift: 0.0, spikes: 0.0, weather: 0.0, process: 0.001, quantum: 30 };

fn gauss(random: &mut Random) -> f64 {
    // The sum of twelve uniform numbers is close enough to a Gaussian for a test.
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// A run of a baseline, its control, and a peer that takes `ratio` times as long.
fn run(noise: Noise, ratio: f64, seed: u64) -> Run {
    let mut random = Random::new(seed);
    let names = ["ours".to_owned(), control_of("ours"), "peer".to_owned()];
    let plan = TaskPlan { subjects: names.to_vec(), iterations: 1000, rounds: ROUNDS, ..TaskPlan::default() };
    let mut blocks = Vec::new();
    let mut elapsed = 0.0;
    for process in 0..PROCESSES {
        let luck: Vec<f64> = names.iter().map(|_| 1.0 + noise.process * gauss(&mut random)).collect();
        let mut weather = 0.0;
        let mut ns = vec![Vec::new(); names.len()];
        for order in Orders::new(names.len(), random.bits()).take(ROUNDS) {
            for subject in order {
                elapsed += 1.0;
                weather = 0.95 * weather + noise.weather * gauss(&mut random);
                let progress = elapsed / (PROCESSES * ROUNDS * names.len()) as f64;
                let spike = if random.below(10) == 0 { noise.spikes * random.unit() } else { 0.0 };
                let time = 1e6
                    * if subject == 2 { ratio } else { 1.0 }
                    * luck[subject]
                    * (1.0 + noise.drift * progress + spike + weather + noise.white * gauss(&mut random)).max(0.1);
                ns[subject].push((time as u64 / noise.quantum.max(1) * noise.quantum.max(1)).max(1));
            }
        }
        blocks.push(Block {
            task: "task".into(),
            process,
            iterations: plan.iterations,
            ns: names.iter().cloned().zip(ns).collect(),
            orders: vec![vec![0, 1, 2]; ROUNDS],
            ..Block::default()
        });
    }
    let manifest = Manifest {
        schema: SCHEMA,
        comparisons: 1,
        processes: PROCESSES,
        clock_quantum_ns: noise.quantum,
        ..Manifest::default()
    };
    Run {
        tasks: vec![TaskRecord { task: "task".into(), what: String::new(), bytes: None, plan: Some(plan) }],
        blocks,
        end: End { during: Default::default(), seconds: 1.0, interrupted: false },
        ..Run::empty("synthetic", manifest)
    }
}

fn verdicts(noise: Noise, ratio: f64, trials: u64) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for seed in 0..trials {
        let report = Report::of(&run(noise, ratio, seed));
        let row = report.tasks[0].rows.iter().find(|row| row.subject == "peer").expect("the peer was measured");
        *counts.entry(row.verdict.word()).or_default() += 1;
    }
    counts
}

fn kinds() -> Vec<(&'static str, Noise)> {
    vec![
        ("quiet", QUIET),
        ("white", Noise { white: 0.02, ..QUIET }),
        ("drift", Noise { drift: 0.5, ..QUIET }),
        ("spikes", Noise { spikes: 20.0, ..QUIET }),
        ("weather", Noise { weather: 0.01, ..QUIET }),
        ("processes that differ", Noise { process: 0.003, ..QUIET }),
        ("a clock of whole microseconds", Noise { quantum: 1000, ..QUIET }),
        ("everything", Noise { white: 0.02, drift: 0.3, spikes: 5.0, weather: 0.005, process: 0.002, quantum: 100 }),
    ]
}

#[test]
fn noise_does_not_produce_false_claims() {
    for (kind, noise) in kinds() {
        let counts = verdicts(noise, 1.0, 300);
        let claims = counts.get("faster").unwrap_or(&0) + counts.get("slower").unwrap_or(&0);
        assert!(claims <= 8, "{kind}: {claims} false claims in 300 trials: {counts:?}");
    }
}

#[test]
fn a_difference_of_one_and_a_half_percent_is_found_in_nine_of_ten_trials() {
    for (kind, noise) in kinds() {
        let counts = verdicts(noise, 1.015, 200);
        let found = counts.get("faster").copied().unwrap_or(0);
        assert!(found >= 180, "{kind}: found in {found} of 200: {counts:?}");
        assert_eq!(counts.get("slower"), None, "{kind}");
    }
}

#[test]
fn the_opposite_difference_reads_slower() {
    let counts = verdicts(QUIET, 1.0 / 1.015, 100);
    assert!(counts.get("slower").copied().unwrap_or(0) >= 90, "{counts:?}");
}

#[test]
fn a_difference_smaller_than_that_between_processes_stays_open() {
    let counts = verdicts(Noise { process: 0.05, ..QUIET }, 1.015, 100);
    let open = counts.get("can't tell").copied().unwrap_or(0);
    assert!(open >= 80, "{counts:?}");
}

#[test]
fn a_difference_as_large_as_that_of_the_control_is_never_claimed() {
    // A bias of the control as large as that of the peer raises the floor above it.
    for seed in 0..50 {
        let mut run = run(QUIET, 1.01, seed);
        for block in &mut run.blocks {
            for ns in block.ns.get_mut("ours#2").expect("the control is there") {
                *ns = *ns * 101 / 100;
            }
        }
        let report = Report::of(&run);
        let row = report.tasks[0].rows.iter().find(|row| row.subject == "peer").expect("the peer was measured");
        assert!(!matches!(row.verdict, Verdict::Faster | Verdict::Slower), "seed {seed}: {:?}", row.verdict);
    }
}

/// The peer's work fails in these rounds, and then it is done in no time.
fn with_failures(marked: bool, fails: fn(usize) -> bool) -> Report {
    let mut run = run(QUIET, 1.5, 1);
    for block in &mut run.blocks {
        let rounds: Vec<usize> = (0..ROUNDS).filter(|&round| fails(round)).collect();
        for &round in &rounds {
            block.ns.get_mut("peer").expect("the peer was measured")[round] = 1000;
        }
        let (attempts, failures) = (ROUNDS as u64, rounds.len() as u64);
        block.outcomes.insert("peer".into(), Outcomes { attempts, successes: attempts - failures });
        if marked {
            block.failed.insert("peer".into(), rounds);
        }
    }
    Report::of(&run)
}

#[test]
fn work_that_failed_is_not_timed_as_fast_work() {
    let of_peer = |report: &Report| report.tasks[0].rows.iter().find(|row| row.subject == "peer").unwrap().clone();
    let peer = of_peer(&with_failures(true, |round| round.is_multiple_of(20)));
    assert!((peer.ratio - 1.5).abs() < 0.01 && peer.verdict == Verdict::Faster, "{peer:?}");
    assert_eq!(peer.spread.epochs, PROCESSES * (ROUNDS - ROUNDS.div_ceil(20)));
    assert!(peer.spread.min > 1000.0, "nanoseconds of an operation, of which an epoch has a thousand");
    // Where most work fails there is a time, and no verdict: those rounds might have taken any time.
    let peer = of_peer(&with_failures(true, |round| !round.is_multiple_of(3)));
    assert!((peer.ratio - 1.5).abs() < 0.01 && peer.verdict == Verdict::CantTell, "{peer:?}");
    assert!(peer.interval.is_none() && peer.advice.unwrap().contains("what died or failed"));
    // Runs from before the marks have the failures among their times, and say so.
    let unmarked = with_failures(false, |round| !round.is_multiple_of(3));
    assert!(of_peer(&unmarked).ratio < 0.01);
    assert!(unmarked.lints.iter().any(|lint| lint.name == "failed-work" && lint.text.contains("0 rounds")));
    assert!(!Report::of(&run(QUIET, 1.5, 1)).lints.iter().any(|lint| lint.name == "failed-work"));
}

#[test]
fn a_subject_that_always_failed_has_its_reason_and_no_time() {
    let mut run = run(QUIET, 1.5, 1);
    for block in &mut run.blocks {
        block.failed.insert("peer".into(), (0..ROUNDS).collect());
    }
    let report = Report::of(&run);
    assert!(report.rows().all(|(_, row)| row.subject != "peer"));
    let [refusal] = &report.tasks[0].refusals[..] else { panic!("one refusal") };
    assert!(refusal.subject == "peer" && refusal.reason.contains("failed in every round"), "{refusal:?}");
}

/// The log-ratio of a subject to the baseline in each round.
fn log_ratios(block: &Block, subject: &str) -> Vec<f64> {
    let both = block.ns[subject].iter().zip(&block.ns["ours"]);
    both.map(|(&one, &other)| (one as f64 / other as f64).ln()).collect()
}

/// Marks rounds as failed, as somebody does who may make failures up.
fn mark(block: &mut Block, subject: &str, rounds: Vec<usize>) {
    let (attempts, failures) = (ROUNDS as u64, rounds.len() as u64);
    block.outcomes.insert(subject.into(), Outcomes { attempts, successes: attempts - failures });
    block.failed.insert(subject.into(), rounds);
}

fn of_peer(run: &Run) -> candor_lab::analysis::Row {
    Report::of(run).tasks[0].rows.iter().find(|row| row.subject == "peer").expect("the peer was measured").clone()
}

/// The floor is the control's, so failures of the control, or of the baseline, must not make it smaller.
#[test]
fn a_control_that_failed_leaves_no_floor_and_is_named() {
    let noise = Noise { process: 0.004, ..QUIET };
    let honest = run(noise, 1.004, 3);
    let floor = of_peer(&honest).floor;
    assert!(floor > 0.005 && of_peer(&honest).verdict != Verdict::Faster, "{:?}", of_peer(&honest));
    for failing in ["ours#2", "ours"] {
        let mut run = honest.clone();
        for block in &mut run.blocks {
            // All but the round in which the control is closest to the baseline.
            let ratios = log_ratios(block, "ours#2");
            let closest = (0..ROUNDS).min_by(|&a, &b| ratios[a].abs().total_cmp(&ratios[b].abs())).unwrap();
            mark(block, failing, (0..ROUNDS).filter(|&round| round != closest).collect());
        }
        let row = of_peer(&run);
        assert!(row.floor.is_infinite() && row.verdict == Verdict::CantTell, "{failing}: {row:?}");
        assert!(row.advice.unwrap().contains("what died or failed"));
        let lints = Report::of(&run).lints;
        assert!(lints.iter().any(|lint| (lint.name, lint.subject.as_str()) == ("failed-work", failing)), "{lints:?}");
    }
    // A few failures of the control make the floor larger and never smaller.
    let mut run = honest;
    for block in &mut run.blocks {
        let ratios = log_ratios(block, "ours#2");
        let middle = ratios.iter().sum::<f64>() / ROUNDS as f64;
        let beyond = (0..ROUNDS).filter(|&round| ratios[round].abs() > middle.abs());
        mark(block, "ours#2", beyond.take(ROUNDS / 11).collect());
    }
    assert!(of_peer(&run).floor >= floor);
}

/// Whoever may say what failed and what died says it of the rounds and processes that stand in the way.
#[test]
fn no_choice_of_failures_or_losses_turns_a_verdict() {
    let noise = Noise { white: 0.01, process: 0.003, ..QUIET };
    let mut told = 0;
    for seed in 0..45 {
        let ratio = 0.98 + 0.005 * (seed % 9) as f64;
        let honest = run(noise, ratio, seed);
        let verdict = of_peer(&honest).verdict;
        let mut random = Random::new(seed);
        for faster in [false, true] {
            for (subject, marks, processes, lost) in [
                ("peer", 20, PROCESSES, 0),
                ("peer", 90, 1 + random.below(3), 0),
                ("ours#2", 20, PROCESSES, 0),
                ("ours", 20, PROCESSES, 0),
                ("peer", 0, 0, 1),
                ("peer", 10, PROCESSES, 1),
                ("ours#2", 0, 0, 1),
            ] {
                let mut run = honest.clone();
                let sign = if faster { 1.0 } else { -1.0 };
                let median = |block: &Block| {
                    let mut ratios = log_ratios(block, if subject == "ours" { "peer" } else { subject });
                    ratios.sort_by(f64::total_cmp);
                    sign * ratios[ROUNDS / 2]
                };
                run.blocks.sort_by(|a, b| median(a).total_cmp(&median(b)));
                for block in run.blocks.drain(..lost).collect::<Vec<_>>() {
                    run.lost.push(Lost { task: block.task, process: block.process, reason: "crashed".into() });
                }
                for block in run.blocks.iter_mut().take(processes) {
                    let ratios = log_ratios(block, if subject == "ours" { "peer" } else { subject });
                    let mut rounds: Vec<usize> = (0..ROUNDS).collect();
                    rounds.sort_by(|&a, &b| (sign * ratios[a]).total_cmp(&(sign * ratios[b])));
                    rounds.truncate(marks);
                    rounds.sort_unstable();
                    mark(block, subject, rounds);
                }
                let forged = of_peer(&run).verdict;
                assert!(
                    forged == verdict || forged == Verdict::CantTell,
                    "seed {seed}: {verdict:?} became {forged:?} by {marks} marks on {subject} and {lost} lost"
                );
                told += usize::from(forged != Verdict::CantTell);
            }
        }
    }
    assert!(told > 40, "verdicts that stand on their own stay: {told}");
}

#[test]
fn a_clock_that_is_too_coarse_is_reported() {
    let report = Report::of(&run(Noise { quantum: 5000, ..QUIET }, 1.0, 1));
    assert!(report.lints.iter().any(|lint| lint.name == "clock-too-coarse"));
}

/// Five processes that the result does not like are made lost ones.
#[test]
fn lost_processes_widen_the_interval_and_turn_no_verdict() {
    let mut run = run(QUIET, 1.5, 1);
    let whole = Report::of(&run).tasks[0].rows.iter().find(|row| row.subject == "peer").unwrap().interval.unwrap();
    let block = run.blocks.pop().unwrap();
    run.lost.push(Lost { task: block.task, process: block.process, reason: "crashed".into() });
    let row = |run: &Run| Report::of(run).tasks[0].rows.iter().find(|row| row.subject == "peer").unwrap().clone();
    let one = row(&run);
    let wider = |interval: Interval| interval.low <= whole.low && interval.high >= whole.high && interval != whole;
    assert!(one.interval.is_none_or(wider), "{one:?}");
    for _ in 0..4 {
        let block = run.blocks.pop().unwrap();
        run.lost.push(Lost { task: block.task, process: block.process, reason: "crashed".into() });
    }
    assert_eq!(row(&run).verdict, Verdict::CantTell);
}

#[test]
fn an_interrupted_run_claims_nothing() {
    let mut run = run(QUIET, 2.0, 1);
    run.blocks.pop();
    run.end.interrupted = true;
    let report = Report::of(&run);
    assert!(report.tasks[0].rows.iter().all(|row| !matches!(row.verdict, Verdict::Faster | Verdict::Slower)));
    assert!(report.lints.iter().any(|lint| lint.name == "interrupted"));
}
