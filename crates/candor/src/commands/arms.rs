//! `candor doctor --arms`: whether the arm that runs by default is the fastest here, by a glance or by sealed runs.
//!
//! A task counts against the table only if the whole interval says that the default is behind. Sealed runs have intervals. A glance has none, so
//! the tasks in which the default seems to lose are looked at again, as often as an interval needs; those looks know nothing of the first.

use crate::Failure;
use crate::cli::ListFormat;
use crate::output::{Talk, columns, print};
use candor_cpu::{Cpu, Microarchitecture};
use candor_lab::analysis::Report;
use candor_lab::glance::{Glance, glance};
use candor_lab::machine::{Counters, Machine, Noise};
use candor_lab::runfile::Run;
use candor_lab::stats::{Interval, fewest_processes, median, sign_interval};
use candor_lab::table::{Align, Table};
use candor_subjects::arms::{Choice, Standing, Times, choices, routine_of, tasks, written};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What all glances together may take, without making the subjects ready.
const BUDGET: Duration = Duration::from_secs(8);
/// A glance at work that takes longer than that would be one at a handful of rounds: messages from a megabyte on, Argon2id in 256 MiB.
const TOO_LONG: [&str; 4] = ["/1m", "/10m", "/256m/kept", "/256m/allocating"];
/// Where the default takes so much longer than the best, the table is wrong.
const WRONG: f64 = 0.03;
/// What the intervals may miss, all of them together.
const LEVEL: f64 = 0.05;

/// What was found, and where it comes from.
struct Found {
    cpu: Microarchitecture,
    /// `a glance`, or the runs' names.
    source: String,
    /// For each task that a run measured: `run NAME, DATE, CPU`.
    sources: BTreeMap<String, String>,
    /// What other processes did meanwhile, if the measurement was now.
    noise: Option<Noise>,
    times: Vec<Times>,
}

pub(super) fn execute(runs: &[PathBuf], format: ListFormat, talk: Talk) -> Result<(), Failure> {
    let found = if runs.is_empty() { now(talk) } else { sealed(runs)? };
    let choices = choices(&found.times);
    match format {
        ListFormat::Json => print(&format!("{:#}\n", json(&found, &choices))),
        ListFormat::Text => print(&text(&found, &choices)),
    }
}

/// A line about the table for `candor doctor`.
pub(super) fn state() -> String {
    let Some(here) = Cpu::default().microarchitecture() else {
        return "those of the tier that was asked for; the table is not asked".to_owned();
    };
    let rows: Vec<_> = candor_cpu::arms::rows().filter(|row| row.cpu == here).collect();
    let measured = rows.iter().filter(|row| !["not run", "rule"].contains(&row.source)).count();
    format!(
        "by the table for {here}, {measured} of {} routines measured; `--arms` looks whether it is right here",
        rows.len()
    )
}

/// Glances at every task that compares arms.
fn now(talk: Talk) -> Found {
    let mut tasks = tasks();
    tasks.retain(|task| !TOO_LONG.iter().any(|long| task.name.ends_with(long)));
    let each = BUDGET / u32::try_from(tasks.len().max(1)).unwrap_or(u32::MAX);
    let (began, counters) = (Instant::now(), Counters::now());
    let mut seeds = 1..;
    let mut look = |task: &candor_lab::Task| glance(task, seeds.next().expect("there is no last number"), each);
    let mut times: Vec<Times> = tasks
        .iter()
        .map(|task| {
            let seen = look(task);
            Times::new(&task.name, seen.iter().map(|seen| (seen.subject.as_str(), seen.ratio, None)))
        })
        .collect();
    let suspects: Vec<usize> = (0..tasks.len()).filter(|&at| times[at].loss() > WRONG).collect();
    // Each arm beside the default is a comparison.
    let comparisons = suspects.iter().map(|&at| times[at].arms.len() - 1).sum();
    let looks = fewest_processes(comparisons);
    for &at in &suspects {
        let seen: Vec<Vec<Glance>> = (0..looks).map(|_| look(&tasks[at])).collect();
        let again = joined(&seen, LEVEL / comparisons as f64);
        let again = Times::new(&tasks[at].name, again.iter().map(|(name, time, interval)| (*name, *time, *interval)));
        if again.arms.len() > 1 {
            times[at] = again;
        }
    }
    talk.say(&format!(
        "looked at {} tasks, and {looks} times more at {} of them, for {:.0} s",
        tasks.len(),
        suspects.len(),
        began.elapsed().as_secs_f64()
    ));
    let noise = Some(Counters::now().since(counters));
    Found { cpu: Microarchitecture::here(), source: "a glance".to_owned(), sources: BTreeMap::new(), noise, times }
}

/// Several looks at one task as one: for each subject that all of them have the median, and its interval at this level.
fn joined(looks: &[Vec<Glance>], level: f64) -> Vec<(&str, f64, Option<Interval>)> {
    let of = |subject: &str| -> Option<Vec<f64>> {
        looks.iter().map(|seen| Some(seen.iter().find(|seen| seen.subject == subject)?.ratio)).collect()
    };
    let subjects = looks.iter().flatten().take(looks.first().map_or(0, Vec::len));
    let join = |seen: &'_ Glance| {
        let ratios = of(&seen.subject)?;
        Some((median(&ratios)?, sign_interval(&ratios, level)))
    };
    subjects.filter_map(|seen| join(seen).map(|(time, interval)| (seen.subject.as_str(), time, interval))).collect()
}

/// What sealed runs of one CPU say. Of a task that several have, the last counts.
fn sealed(runs: &[PathBuf]) -> Result<Found, Failure> {
    let (mut cpus, mut names, mut sources, mut times) = (Vec::new(), Vec::new(), BTreeMap::new(), Vec::<Times>::new());
    for path in runs {
        let report = Report::of(&Run::open(path)?);
        cpus.push(candor_subjects::arms::microarchitecture(&report.machine.cpu_id));
        let (date, machine) = (report.date.split('T').next().unwrap_or_default(), &report.machine);
        let id = machine.cpu_id.split(", ").filter(|part| part.starts_with("cpu family") || part.starts_with("model"));
        let id = id.map(|part| part.trim_start_matches("cpu ")).collect::<Vec<_>>().join(", ");
        let source = format!("run {}, {date}, {}, {id}", report.run, machine.cpu);
        names.push(report.run.clone());
        for task in &report.tasks {
            let found =
                Times::new(&task.task, task.rows.iter().map(|row| (row.subject.as_str(), row.ratio, row.interval)));
            if found.arms.len() > 1 {
                sources.insert(found.task.clone(), source.clone());
                times.retain(|times| times.task != found.task);
                times.push(found);
            }
        }
    }
    match cpus.iter().find(|cpu| **cpu != cpus[0]) {
        Some(other) => Err(Failure::Error(format!(
            "these runs are from different CPUs, {} and {other}; give those of one at a time",
            cpus[0]
        ))),
        None => Ok(Found { cpu: cpus[0], source: names.join(", "), sources, noise: None, times }),
    }
}

/// The tasks in which the default stands like this.
fn standing(found: &Found, like: Standing) -> Vec<&Times> {
    found.times.iter().filter(|times| times.arms.len() > 1 && times.standing(WRONG) == like).collect()
}

fn text(found: &Found, choices: &[Choice]) -> String {
    let mut routines = Table::new(&[Align::Left; 4]);
    routines.row(["routine", "table", "found", "the table's source"]);
    for choice in choices {
        let (table, source) = written(found.cpu, choice.routine);
        routines.row([choice.routine.name(), table, &choice.arms, source]);
    }
    let mut text = format!("{}, by {}\n\n{}\n", found.cpu, found.source, routines.text(columns()));
    let compared = found.times.iter().filter(|times| times.arms.len() > 1).count();
    let (behind, unsettled) = (standing(found, Standing::Behind), standing(found, Standing::Unsettled));
    text += &match behind.len() {
        0 => format!("In none of {compared} tasks is an arm surely over 3 % faster than the default.\n"),
        lost => format!(
            "In {lost} of {compared} tasks the default (second column) takes over 3 % longer than another arm (third):\n\n{}",
            losses(&behind)
        ),
    };
    if !unsettled.is_empty() {
        text += &format!(
            "\nIn {} it seems to, but that can't be told from the noise:\n\n{}",
            unsettled.len(),
            losses(&unsettled)
        );
    }
    if let Some(noise) = found.noise.as_ref().filter(|noise| noise.is_loud()) {
        let (others, steal) = (noise.others_cpus, noise.steal * 100.0);
        text += &format!(
            "\nThis machine was not quiet (others use {others:.2} CPUs, steal {steal:.1} %): look again when it is.\n"
        );
    }
    if found.noise.is_some() {
        text += "\nA glance is no run. `cargo xtask tune arms` measures by the lab's method and writes the table.\n";
    }
    text
}

/// The tasks with the default, the other arm, and by how much it is faster.
fn losses(of: &[&Times]) -> String {
    let mut tasks = Table::new(&[Align::Left, Align::Left, Align::Left, Align::Right, Align::Left]);
    let percent = |loss: f64| format!("{:.1} %", 100.0 * loss);
    for times in of {
        let (best, _) = times.best().expect("there are several");
        let interval = times.losses().find(|(arm, _)| *arm == best);
        let interval = interval.map(|(_, Interval { low, high })| format!("{} to {}", percent(low), percent(high)));
        tasks.row([
            times.task.as_str(),
            &times.arms[0].0,
            best,
            &percent(times.loss()),
            interval.as_deref().unwrap_or_default(),
        ]);
    }
    tasks.text(columns())
}

fn json(found: &Found, choices: &[Choice]) -> Value {
    let tasks = found.times.iter().filter(|times| times.arms.len() > 1).map(|times| {
        let arms = times.arms.iter().zip(&times.intervals).map(|((arm, ratio), interval)| {
            json!({ "arm": arm, "ratio": ratio, "low": interval.map(|at| at.low), "high": interval.map(|at| at.high) })
        });
        json!({
            "task": times.task,
            "routine": routine_of(&times.task).map(|(routine, _)| routine.name()),
            "arms": arms.collect::<Vec<_>>(),
            "default": times.arms[0].0,
            "best": times.best().map(|(arm, _)| arm),
            "loss": times.loss(),
            "standing": match times.standing(WRONG) {
                Standing::Within => "within",
                Standing::Behind => "behind",
                Standing::Unsettled => "can't tell",
            },
        })
    });
    let choices = choices.iter().map(|choice| {
        let (table, source) = written(found.cpu, choice.routine);
        let of = |task: &str| routine_of(task).is_some_and(|(routine, _)| routine == choice.routine);
        let sources: BTreeSet<&String> =
            found.sources.iter().filter(|(task, _)| of(task)).map(|(_, source)| source).collect();
        json!({
            "routine": choice.routine.name(), "tasks": choice.tasks, "found": choice.arms, "sources": sources, "table": table, "source": source,
        })
    });
    json!({
        "machine": Machine::here(),
        "microarchitecture": found.cpu.name(),
        "source": found.source,
        "noise": found.noise,
        "loud": found.noise.as_ref().map(Noise::is_loud),
        "choices": choices.collect::<Vec<_>>(),
        "tasks": tasks.collect::<Vec<_>>(),
        "wrong": standing(found, Standing::Behind).len(),
        "unsettled": standing(found, Standing::Unsettled).len(),
    })
}
