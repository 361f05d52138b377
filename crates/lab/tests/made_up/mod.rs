//! Runs whose truth is known: a baseline, its second entry, and a peer that takes some times as long.

use candor_lab::machine::Machine;
use candor_lab::plan::{TaskPlan, control_of};
use candor_lab::runfile::{Block, End, Manifest, Paired, Run, SCHEMA, SubjectRecord, TaskRecord, Tool};
use candor_lab::schedule::{Draws, Due, Schedule};
use candor_lab::{Provenance, Random};
use std::collections::BTreeMap;

const PROCESSES: usize = 9;
const ROUNDS: usize = 21;

/// What a run is made of.
pub(crate) struct MadeUp {
    pub(crate) name: String,
    pub(crate) task: &'static str,
    pub(crate) what: &'static str,
    pub(crate) baseline: &'static str,
    pub(crate) peer: &'static str,
    /// The peer's time divided by the baseline's.
    pub(crate) ratio: f64,
    /// How far epochs and processes scatter, as a fraction.
    pub(crate) noise: f64,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) tool: Tool,
    pub(crate) date: &'static str,
    pub(crate) paired: Option<Paired>,
    /// Changes the peer's origin.
    pub(crate) provenance: fn(Provenance) -> Provenance,
}

impl MadeUp {
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            task: "t",
            what: "does it",
            baseline: "ours",
            peer: "peer",
            ratio: 1.0,
            noise: 0.001,
            seed: 1,
            machine: machine("A"),
            tool: tool("1"),
            date: "2026-11-26T10:00:00Z",
            paired: None,
            provenance: |peer| peer,
        }
    }
}

pub(crate) fn machine(cpu: &str) -> Machine {
    Machine { cpu: cpu.into(), cpus: 2, ..Machine::default() }
}

pub(crate) fn tool(commit: &str) -> Tool {
    let text = |text: &str| text.to_owned();
    Tool {
        version: text("0.1.0"),
        commit: Some(commit.into()),
        rustc: text("rustc 1"),
        build: text("release"),
        ..Tool::default()
    }
}

pub(crate) fn made_up(of: MadeUp) -> Run {
    let identity = of.name.bytes().fold(of.seed, |sum, byte| sum.wrapping_mul(257).wrapping_add(byte.into()));
    let mut random = Random::new(identity);
    let subjects = vec![of.baseline.to_owned(), control_of(of.baseline), of.peer.to_owned()];
    let plan = TaskPlan { subjects: subjects.clone(), iterations: 100, rounds: ROUNDS, ..TaskPlan::default() };
    let mut blocks = Vec::new();
    for Due { process, padding, seed, .. } in Schedule::new(of.seed, 1, 1, PROCESSES) {
        let mut ns: BTreeMap<String, Vec<u64>> = subjects.iter().map(|name| (name.clone(), Vec::new())).collect();
        // Sums of uniform numbers are bell-shaped enough.
        let mut scatter = || 1.0 + of.noise * ((0..6).map(|_| random.unit()).sum::<f64>() - 3.0);
        let luck: Vec<f64> = subjects.iter().map(|_| scatter()).collect();
        let orders: Vec<Vec<usize>> = Draws::new(seed, subjects.len()).orders.take(ROUNDS).collect();
        for _ in &orders {
            for (at, name) in subjects.iter().enumerate() {
                let work = if at == 2 { of.ratio } else { 1.0 };
                ns.get_mut(name).unwrap().push((1e6 * work * luck[at] * scatter()) as u64);
            }
        }
        let task = of.task.to_owned();
        blocks.push(Block { task, process, seed, padding, iterations: 100, ns, orders, ..Block::default() });
    }
    let manifest = Manifest {
        schema: SCHEMA,
        date: of.date.into(),
        seed: of.seed,
        comparisons: 1,
        processes: PROCESSES,
        settings: BTreeMap::from([("processes".to_owned(), PROCESSES.to_string())]),
        machine: of.machine,
        tool: of.tool,
        paired: of.paired,
        clock_quantum_ns: 30,
        ..Manifest::default()
    };
    let subject = |name: &str, provenance: Provenance| SubjectRecord {
        task: of.task.into(),
        subject: name.into(),
        provenance,
        quantities: Vec::new(),
        used: None,
    };
    let peer = Provenance { object_sha256: Some("00".into()), ..Provenance::of("peer", "1", "does it") };
    Run {
        tasks: vec![TaskRecord { task: of.task.into(), what: of.what.into(), bytes: None, plan: Some(plan) }],
        subjects: vec![
            subject(of.baseline, Provenance::of("candor", "1", "does it")),
            subject(of.peer, (of.provenance)(peer)),
        ],
        blocks,
        end: End { during: Default::default(), seconds: 10.0, interrupted: false },
        sha256: format!("{identity:064x}"),
        ..Run::empty(&of.name, manifest)
    }
}
