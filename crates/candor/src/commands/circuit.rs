//! `candor circuit`: circuits over modelled links, in virtual time, or of real processes by `--tun`; and under faults.

pub(super) mod costs;
mod faults;
mod figures;
mod pass;
mod row;
mod tun;

use self::costs::Found;
use crate::Failure;
use crate::cli::{CircuitArguments, CircuitCommand, ListFormat};
use crate::output::{Talk, columns, print};
use candor_lab::table::{Align, Table, paragraph};
use candor_links::crossover::{Crossing, Crossover, crossover, rates};
use candor_links::orbit;
use candor_links::simulator::{Cryptography, Plan, Start};
use candor_links::survey::{HANDSHAKES, Sensitivity, Summary, Times, sensitivity, survey};
use candor_links::topology::{self, BUILT_IN, FlightError, Topology};
use candor_network::HandshakeType;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

pub(crate) fn execute(arguments: &CircuitArguments, talk: Talk) -> Result<(), Failure> {
    if let Some(CircuitCommand::Faults(faults)) = &arguments.command {
        return faults::execute(faults, talk);
    }
    let topology = topology(arguments, arguments.topology())?;
    let handshakes = match arguments.handshake.is_empty() {
        true => HANDSHAKES.to_vec(),
        false => arguments.handshake.clone(),
    };
    let topology = if arguments.lossless { topology.lossless() } else { topology };
    let costs = costs::of(arguments.costs.as_deref(), &handshakes)?;
    let plan = Plan {
        set: arguments.set.clone(),
        start: if arguments.cold { Start::Cold } else { Start::Warm },
        cryptography: if arguments.real { Cryptography::Real } else { Cryptography::Scripted },
        costs: costs.costs.clone(),
        seed: arguments.seed,
        fetch: (arguments.page > 0).then_some(arguments.page),
        ..Plan::new(topology, handshakes[0])
    };
    if arguments.pass {
        return pass::execute(arguments, &plan, &handshakes, &costs, talk);
    }
    if arguments.tun || arguments.both {
        return tun::execute(arguments, &plan, &handshakes, &costs, talk);
    }
    let mut rows = Vec::new();
    for handshake in handshakes {
        let plan = Plan { handshake, ..plan.clone() };
        rows.push((handshake, survey(&plan, arguments.circuits as usize)?));
    }
    for (handshake, summary) in rows.iter().filter(|(_, summary)| !summary.failures.is_empty()) {
        let (failed, of) = (summary.failures.len(), summary.circuits);
        let no_link = match summary.dropped[0] {
            0 => String::new(),
            packets => format!(" ({packets} packets found no link)"),
        };
        talk.say(&format!(
            "{handshake}: {failed} of {of} circuits were not built; the first: {}{no_link}",
            summary.failures[0]
        ));
    }
    let found = sensitivity(&plan)?;
    let crossovers = crossovers(&plan, &rows)?;
    match arguments.format {
        ListFormat::Json => print(&format!("{:#}\n", json(&plan, &costs, &rows, found, &crossovers)?))?,
        ListFormat::Text => print(&text(&plan, &costs, &rows, found, &crossovers)?)?,
    }
    figures::write(arguments, &plan, &costs.says, &rows, &crossovers, talk)
}

/// Each handshake against the first one, where the costs of both are known and the first computes less.
pub(super) fn crossovers(
    plan: &Plan,
    rows: &[(HandshakeType, Summary)],
) -> Result<Vec<(HandshakeType, Crossover)>, Failure> {
    let Some(&(first, _)) = rows.first() else { return Ok(Vec::new()) };
    let least = plan.costs.hop(first);
    // Of one that computes less there is nothing to weigh.
    let computes_more = |handshake: &HandshakeType| least.is_some() && plan.costs.hop(*handshake) >= least;
    let others = rows.iter().skip(1).map(|(handshake, _)| *handshake).filter(computes_more);
    let compare = |handshake| {
        let plan = Plan { handshake, ..plan.clone() };
        Ok((handshake, crossover(&plan, first, &rates())?))
    };
    others.map(compare).collect()
}

/// The topology that is asked for; if it follows satellites, it does so.
fn topology(arguments: &CircuitArguments, name: &str) -> Result<Topology, Failure> {
    let topology = read(name)?;
    let CircuitArguments { elements, from, .. } = arguments;
    if topology.orbit.is_none() && elements.is_none() && from.is_none() {
        return Ok(topology);
    }
    let elements = elements.as_ref().map(|path| {
        let bytes = read_at_most(path, orbit::MOST_BYTES)?;
        orbit::read(&bytes).map_err(|error| Failure::Error(format!("{}: {error}", path.display())))
    });
    topology.fly(elements.transpose()?.as_deref(), *from).map_err(|error| match error {
        FlightError::NoSatellites { .. } => Failure::Error(format!("{error} by --elements")),
        error => error.into(),
    })
}

/// A built-in topology, or one from a file.
fn read(name: &str) -> Result<Topology, Failure> {
    let (name, text) = named(name, Path::new(""))?;
    Ok(Topology::parse(&name, &text)?)
}

/// Name and text of a built-in topology, or of one from a file; its path begins in `folder`.
pub(super) fn named(name: &str, folder: &Path) -> Result<(String, String), Failure> {
    if let Some(built_in) = BUILT_IN.iter().find(|topology| topology.name == name) {
        return Ok((built_in.name.to_owned(), built_in.text.to_owned()));
    }
    let path = &folder.join(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        let names = BUILT_IN.iter().map(|topology| topology.name);
        return Err(Failure::Error(crate::choose::unknown("topology", name, names, "candor list topologies")));
    }
    let text = String::from_utf8(read_at_most(path, topology::MOST_BYTES)?)
        .map_err(|error| Failure::Error(format!("can't read {}: {error}", path.display())))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok((stem.into_owned(), text))
}

/// The bytes of a file. Of one that is larger than anybody reads there is one more than that: whoever reads it says so.
pub(super) fn read_at_most(path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| Failure::Error(format!("can't read {}: {error}", path.display())))?;
    Ok(bytes)
}

pub(super) fn text(
    plan: &Plan,
    costs: &Found,
    rows: &[(HandshakeType, Summary)],
    found: Option<Sensitivity>,
    crossovers: &[(HandshakeType, Crossover)],
) -> Result<String, Failure> {
    let wide = columns();
    let set = plan.set.as_ref().map(|set| format!(", set {set}")).unwrap_or_default();
    let start = match plan.start {
        Start::Warm => "links are there",
        Start::Cold => "links are made",
    };
    let circuits = rows.first().map_or(0, |(_, summary)| summary.circuits);
    let over = plan.topology.flight().map(|flight| {
        let (from, until) = (flight.time(plan.begin), flight.time(flight.ends()));
        format!(" that begin one after another from {from:.0} until {until:.0}")
    });
    let over = over.unwrap_or_default();
    let mut text = format!(
        "{}{set}: {}\n{}\n",
        plan.topology.name,
        plan.topology.title,
        plan.topology.picture(plan.set.as_deref())
    );
    text += &paragraph(
        "",
        &format!(
            "SIMULATED in virtual time: {circuits} circuits per handshake{over}, {start}, seed {}. Times in ms: medians, and percentiles where at least ten \
             circuits lie beyond. Delays alone{}: {}. Computation: {}.",
            plan.seed,
            if plan.topology.flight().is_some() { " at the beginning" } else { "" },
            ms(Some(plan.delays_alone()?)),
            costs.says,
        ),
        wide,
    );
    text += &costs.warning(wide);
    text.push('\n');
    let right = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
    let mut table = Table::new(&[&right[..], &[Align::Right; 6], &[Align::Left]].concat());
    table.row([&["handshake"][..], &row::TIMES, &["cells", "bytes"], &row::PAGE].concat());
    for (handshake, summary) in rows {
        let [out, back] = summary.cells[0];
        let sent = [format!("{out}+{back}"), summary.bytes[0].iter().sum::<u64>().to_string()];
        table.row([&[handshake.to_string()][..], &row::times(summary), &sent, &row::page(summary)].concat());
    }
    text += &table.text(wide);
    text += &paragraph(
        "",
        &format!(
            "\nCells and bytes are those over the client's link until the circuit is built, out+in and both together. The first byte counts from asking for a page of {} bytes, \
             Mbit/s from there to the last.",
            plan.fetch.unwrap_or_default()
        ),
        wide,
    );
    text += "\nWhat one more costs, without losses and without what handshakes compute:\n";
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    let hosts = |has| if has { "with the median of what hosts do besides" } else { "without what hosts do besides" };
    let of_exchange = hosts(found.is_some_and(|found| found.round_trip_has_hosts));
    table.row(["  round trip to the exit", &micros(found.map(|found| found.round_trip)), of_exchange]);
    table.row([
        "  cell each way in one creation",
        &micros(found.map(|found| found.cell)),
        &format!(
            "514 bytes, from hybrid-512 and hybrid-1024, {}",
            hosts(found.is_some_and(|found| found.cell_has_hosts))
        ),
    ]);
    table.row(["  microsecond of each relay's answer", &micros(found.map(|found| found.microsecond)), ""]);
    text += &table.text(wide);
    if let (Some((first, _)), false) = (rows.first(), crossovers.is_empty()) {
        text += &format!(
            "\nWhere every link is slower than this, messages cost more over {first} than computation does:\n"
        );
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        for (handshake, found) in crossovers {
            let rate = match found.crossing() {
                Crossing::Below(rate) => format!("{:.1} Mbit/s", rate / 1e6),
                Crossing::AtAnyRate => "any rate".to_owned(),
                Crossing::AtNoRate => "no rate".to_owned(),
                Crossing::Unknown => "can't tell".to_owned(),
            };
            let computes = format!("computation of three hops {:+.1} µs", found.computation * 1e6);
            table.row([format!("  {handshake}"), rate, computes]);
        }
        text += &table.text(wide);
    }
    Ok(text)
}

pub(super) fn json(
    plan: &Plan,
    costs: &Found,
    rows: &[(HandshakeType, Summary)],
    found: Option<Sensitivity>,
    crossovers: &[(HandshakeType, Crossover)],
) -> Result<Value, Failure> {
    let crossovers: Vec<Value> = crossovers
        .iter()
        .map(|(handshake, found)| {
            let crossing = found.crossing();
            let cost_more = match crossing {
                Crossing::Below(_) => "below the rate",
                Crossing::AtAnyRate => "at any rate",
                Crossing::AtNoRate => "at no rate",
                Crossing::Unknown => "can't tell",
            };
            json!({
                "handshake": handshake.name(), "messages_cost_more": cost_more, "rate_bits_per_second": crossing.rate(),
                "computation_ns": found.computation * 1e9,
            })
        })
        .collect();
    let ns = |time: Option<Duration>| time.map(|time| time.as_nanos() as u64);
    let times = |times: &Times| {
        json!({
            "count": times.count(), "median_ns": ns(times.median()), "p5_ns": ns(times.percentile(5)), "p25_ns": ns(times.percentile(25)),
            "p75_ns": ns(times.percentile(75)), "p95_ns": ns(times.percentile(95)), "p99_ns": ns(times.percentile(99)),
        })
    };
    let rows: Vec<Value> = rows
        .iter()
        .map(|(handshake, summary)| {
            json!({
                "handshake": handshake.name(), "circuits": summary.circuits, "built": times(&summary.built),
                "failures": summary.failures,
                "link": times(&summary.link), "hops": summary.hops.iter().map(times).collect::<Vec<_>>(),
                "cells": summary.cells, "bytes": summary.bytes, "first_byte": times(&summary.first_byte), "goodput_bits_per_second": summary.goodput,
                "resent": summary.resent,
                "dropped": { "no_link": summary.dropped[0], "queue": summary.dropped[1], "loss": summary.dropped[2] },
            })
        })
        .collect();
    Ok(json!({
        "schema": 1, "evidence": "simulated", "topology": plan.topology.name, "set": plan.set, "source": plan.topology.source,
        "cold": plan.start == Start::Cold, "seed": plan.seed, "page": plan.fetch, "costs": costs.says, "warning": costs.elsewhere(),
        "delays_alone_ns": ns(Some(plan.delays_alone()?)), "rows": rows,
        "one_more": {
            "round_trip_ns": ns(found.map(|found| found.round_trip)), "cell_ns": ns(found.map(|found| found.cell)), "microsecond_ns": ns(found.map(|found| found.microsecond)),
            "left_out": ["losses", "what handshakes compute"],
            "round_trip_has_hosts": found.map(|found| found.round_trip_has_hosts), "cell_has_hosts": found.map(|found| found.cell_has_hosts),
        },
        "crossovers": crossovers,
    }))
}

fn ms(time: Option<Duration>) -> String {
    time.map_or("-".to_owned(), |time| format!("{:.2}", time.as_secs_f64() * 1e3))
}

fn micros(time: Option<Duration>) -> String {
    time.map_or("-".to_owned(), |time| format!("{:.1} µs", time.as_secs_f64() * 1e6))
}
