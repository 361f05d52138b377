//! `candor sweep collect`: the shards put together.

use super::circuits::{Simulation, read};
use super::status::Survey;
use crate::Failure;
use crate::cli::Collected;
use crate::commands::circuit;
use crate::output::{Talk, print};
use candor_lab::sweep::{Block, State, Sweep, Work};
use candor_links::Record;
use candor_links::survey::{Summary, sensitivity};
use candor_network::HandshakeType;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The head of the table of circuits.
const CSV: &str = "topology,set,handshake,shard,built_ns,failure,link_ns,hop1_ns,hop2_ns,hop3_ns,cells_out,cells_in,bytes_out,bytes_in,first_byte_ns,last_byte_ns,fetched,\
                   resent,no_link,queue,loss\n";

/// What was found in the folder.
#[derive(Default)]
struct Found {
    /// Circuits by the number of their block, each with its shard.
    circuits: BTreeMap<usize, Vec<(u64, HandshakeType, Record)>>,
    /// Runs with their shards and tiers.
    runs: Vec<(u64, Option<String>, PathBuf)>,
    /// The builds that did the shards.
    tools: BTreeSet<String>,
}

pub(super) fn execute(directory: &Path, partial: bool, format: Collected, talk: Talk) -> Result<(), Failure> {
    let sweep = Sweep::open(directory)?;
    let survey = Survey::of(&sweep)?;
    if let (Err(failure), false) = (survey.whole(), partial) {
        return Err(failure);
    }
    let found = found(&sweep, &survey.done)?;
    if survey.whole().is_err() {
        talk.say(&format!("! a part only: {}", survey.line()));
    }
    if found.tools.len() > 1 {
        let tools = found.tools.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        talk.say(&format!("! the shards were done by different builds: {tools}"));
    }
    match format {
        Collected::Text => print(&text(&sweep, &found)?),
        Collected::Json => print(&format!("{:#}\n", json(&sweep, &found, &survey)?)),
        Collected::Csv => print(&csv(&sweep, &found)),
        Collected::Paths => {
            print(&found.runs.iter().map(|(_, _, path)| format!("{}\n", path.display())).collect::<String>())
        }
    }
}

fn found(sweep: &Sweep, done: &[u64]) -> Result<Found, Failure> {
    let mut found = Found::default();
    for &index in done {
        let (Some(work), State::Done(done)) = (sweep.plan().work(index), sweep.state(index)?) else { continue };
        found.tools.insert(done.tool);
        match work {
            Work::Circuits { block, .. } => {
                let circuits = read(&done.data)?.into_iter().map(|(handshake, record)| (index, handshake, record));
                found.circuits.entry(block).or_default().extend(circuits);
            }
            Work::Run { tier, .. } => found.runs.push((index, tier.map(str::to_owned), done.data)),
        }
    }
    Ok(found)
}

/// A simulation, and what became of each handshake's circuits.
type Summarised = (Simulation, Vec<(HandshakeType, Summary)>);

/// Each block of circuits of which there are any, with the numbers of its handshakes.
fn summaries(sweep: &Sweep, found: &Found) -> Result<Vec<Summarised>, Failure> {
    let mut all = Vec::new();
    for (&block, circuits) in &found.circuits {
        let Some(Block::Circuits(of)) = sweep.plan().blocks().get(block) else { continue };
        let simulation = Simulation::of(of, sweep.directory())?;
        let of_handshake = |handshake: &HandshakeType| {
            let records: Vec<Record> =
                circuits.iter().filter(|(_, of, _)| of == handshake).map(|(_, _, record)| record.clone()).collect();
            (*handshake, Summary::of_records(&records))
        };
        let rows = simulation.handshakes.iter().map(of_handshake).collect();
        all.push((simulation, rows));
    }
    Ok(all)
}

fn text(sweep: &Sweep, found: &Found) -> Result<String, Failure> {
    let mut parts = Vec::new();
    for (Simulation { plan, costs, .. }, rows) in summaries(sweep, found)? {
        parts.push(circuit::text(&plan, &costs, &rows, sensitivity(&plan)?, &circuit::crossovers(&plan, &rows)?)?);
    }
    if !found.runs.is_empty() {
        let line = |(index, tier, path): &(u64, Option<String>, PathBuf)| {
            let tier = tier.as_ref().map(|tier| format!("  {tier}")).unwrap_or_default();
            format!("  {index}  {}{tier}\n", path.display())
        };
        parts.push(format!("Runs, by shard\n{}", found.runs.iter().map(line).collect::<String>()));
    }
    Ok(parts.join("\n"))
}

fn json(sweep: &Sweep, found: &Found, survey: &Survey) -> Result<Value, Failure> {
    let mut circuits = Vec::new();
    for (Simulation { plan, costs, .. }, rows) in summaries(sweep, found)? {
        circuits.push(circuit::json(&plan, &costs, &rows, sensitivity(&plan)?, &circuit::crossovers(&plan, &rows)?)?);
    }
    let run =
        |(index, tier, path): &(u64, Option<String>, PathBuf)| json!({ "shard": index, "tier": tier, "path": path });
    Ok(json!({
        "schema": 1, "plan": sweep.plan().sha256(), "shards": sweep.plan().shards(), "done": survey.done.len(), "tools": found.tools,
        "circuits": circuits, "runs": found.runs.iter().map(run).collect::<Vec<_>>(),
    }))
}

fn csv(sweep: &Sweep, found: &Found) -> String {
    let number = |number: Option<u128>| number.map(|number| number.to_string()).unwrap_or_default();
    let mut text = CSV.to_owned();
    for (&block, circuits) in &found.circuits {
        let Some(Block::Circuits(of)) = sweep.plan().blocks().get(block) else { continue };
        for (index, handshake, record) in circuits {
            let ns = |time: Option<std::time::Duration>| number(time.map(|time| time.as_nanos()));
            let hop = |at: usize| ns(record.hops.get(at).copied());
            let sent = |sent: [[u64; 2]; 3]| format!("{},{}", sent[0][0], sent[0][1]);
            let [no_link, queue, loss] = record.dropped;
            let cells = [
                quoted(&of.name),
                quoted(of.set.as_deref().unwrap_or_default()),
                handshake.name().to_owned(),
                index.to_string(),
                ns(record.built),
                quoted(record.failure.as_deref().unwrap_or_default()),
                ns(Some(record.link)),
                hop(0),
                hop(1),
                hop(2),
                sent(record.cells),
                sent(record.bytes),
                ns(record.first_byte),
                ns(record.last_byte),
                record.fetched.to_string(),
                record.resent.to_string(),
                format!("{no_link},{queue},{loss}"),
            ];
            text += &cells.join(",");
            text.push('\n');
        }
    }
    text
}

/// A cell of CSV.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
