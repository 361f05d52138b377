//! Circuits of real processes over the kernel's TCP: measured, and printed.

use super::network::{Measured, Network};
use super::sky;
use crate::Failure;
use crate::cli::{CircuitArguments, ListFormat};
use crate::commands::circuit::{ms, row};
use crate::output::{Talk, columns, print};
use candor_lab::table::{Align, Table, paragraph};
use candor_links::simulator::{Outcome, Plan, Start, World};
use candor_network::HandshakeType;
use candor_testbed::{Counts, Lateness};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Packets that are handed over later than this, more than one of a hundred, make times longer than the topology's.
const LATE: Duration = Duration::from_millis(1);

pub(super) fn execute(
    arguments: &CircuitArguments,
    plan: &Plan,
    handshakes: &[HandshakeType],
    talk: Talk,
) -> Result<(), Failure> {
    let (rows, counts) = measure(plan, handshakes, arguments.circuits, talk)?;
    match arguments.format {
        ListFormat::Json => print(&format!("{:#}\n", json(plan, &rows, &counts)?)),
        ListFormat::Text => print(&text(plan, &rows, &counts)?),
    }
}

/// Measures circuits by each handshake, in one network, and what became of their packets.
pub(super) fn measure(
    plan: &Plan,
    handshakes: &[HandshakeType],
    circuits: u32,
    talk: Talk,
) -> Result<(Vec<(HandshakeType, Measured)>, Counts), Failure> {
    // It says what is wrong with a plan.
    World::new(plan)?;
    let mut network = Network::start(plan, talk)?;
    let (mut rows, mut counts) = (Vec::new(), Counts::default());
    let bar = |what: &str, circuits: u64| {
        let bar = if talk.quiet { ProgressBar::hidden() } else { ProgressBar::new(circuits) };
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len} {eta:>4} left  {wide_msg}");
        bar.set_style(style.expect("the template is a constant"));
        bar.set_message(what.to_owned());
        bar
    };
    if let Some(flight) = plan.topology.flight() {
        rows = handshakes.iter().map(|handshake| (*handshake, Measured::default())).collect();
        let bar = bar(&plan.topology.name, u64::from(circuits) * rows.len() as u64);
        // Handshakes take turns, so that all of them see the same sky.
        let mut turns = 0;
        while turns < circuits && network.now() < flight.ends() {
            turns += 1;
            for (handshake, measured) in &mut rows {
                network.measure(plan, *handshake, 1, measured, || bar.inc(1))?;
                counts = network.counts()?;
            }
        }
        bar.finish_and_clear();
        if turns < circuits {
            let (name, ends) = (&plan.topology.name, flight.time(flight.ends()));
            talk.say(&format!("{name} ends at {ends:.0}, after {turns} of {circuits} circuits per handshake"));
        }
        rows.iter().for_each(|(handshake, measured)| measured.say_failures(plan, *handshake, talk));
    } else {
        for &handshake in handshakes {
            let began = Instant::now();
            let what = format!("{}, {handshake}", plan.topology.name);
            let bar = bar(&what, circuits.into());
            let mut measured = Measured::default();
            network.measure(plan, handshake, circuits, &mut measured, || bar.inc(1))?;
            bar.finish_and_clear();
            talk.say(&format!("measured {what}: {circuits} circuits in {:.0} s", began.elapsed().as_secs_f64()));
            measured.say_failures(plan, handshake, talk);
            // Without an emulator every circuit times out; the reason is worth more than the rest of them.
            counts = network.counts()?;
            rows.push((handshake, measured));
        }
    }
    for (late, how) in [(&counts.late, "was handed over at least"), (&counts.waited, "may have been read up to")] {
        if let Some(late) = late.percentile(99).filter(|late| *late > LATE) {
            talk.say(&format!(
                "{}: one packet in a hundred {how} {} ms late; the machine is too busy for times to be those of the topology",
                plan.topology.name,
                ms(Some(late))
            ));
        }
    }
    Ok((rows, counts))
}

fn text(plan: &Plan, rows: &[(HandshakeType, Measured)], counts: &Counts) -> Result<String, Failure> {
    let wide = columns();
    let set = plan.set.as_ref().map(|set| format!(", set {set}")).unwrap_or_default();
    let start = match plan.start {
        Start::Warm => "links are there",
        Start::Cold => "links are made",
    };
    let circuits = rows.first().map_or(0, |(_, measured)| measured.outcomes.len());
    let (name, title) = (&plan.topology.name, &plan.topology.title);
    let mut text = format!("{name}{set}: {title}\n{}\n", plan.topology.picture(plan.set.as_deref()));
    text += &paragraph(
        "",
        &format!(
            "MEASURED over TUN devices: {circuits} circuits per handshake, {start}, seed {}. Times in ms: medians, and percentiles where at least ten \
             circuits lie beyond. Delays alone{}: {}. {}",
            plan.seed,
            sky::at_the_beginning(plan),
            ms(Some(plan.delays_alone()?)),
            packets(counts),
        ),
        wide,
    );
    text.push('\n');
    let mut table = Table::new(&[&[Align::Left, Align::Left][..], &[Align::Right; 9], &[Align::Left]].concat());
    table.row([&["handshake", "evidence"][..], &row::TIMES, &row::PAGE].concat());
    for (handshake, measured) in rows {
        let summary = measured.summary();
        let names = [handshake.to_string(), "measured".to_owned()];
        table.row([&names[..], &row::times(&summary), &row::page(&summary)].concat());
    }
    text += &table.text(wide);
    let page = plan.fetch.unwrap_or_default();
    let what = format!(
        "\nThe first byte counts from asking for a page of {page} bytes, Mbit/s from there to the last. Computation is this machine's, \
         which all hosts share."
    );
    text += &paragraph("", &what, wide);
    let series = rows.iter().map(|(handshake, measured)| sky::Series {
        title: handshake.to_string(),
        begins: &measured.begins,
        times: measured.outcomes.iter().map(|outcome| outcome.built).collect(),
    });
    text += &sky::text(plan, &series.collect::<Vec<_>>(), wide);
    Ok(text)
}

/// What became of packets, in a sentence.
pub(super) fn packets(counts: &Counts) -> String {
    let [no_link, queue, loss] = counts.dropped;
    let late = |percent| ms(counts.late.percentile(percent));
    let read = match (counts.waited.percentile(50), counts.waited.percentile(99)) {
        (None, _) => "how late they were read, this kernel does not tell".to_owned(),
        (half, most) => format!("read at most {} ms late in the median, {} ms at p99", ms(half), ms(most)),
    };
    format!(
        "Packets: {} arrived, {loss} lost, {queue} found the queue full, {no_link} found no link; {read}; handed over {} ms late in the median, {} ms at p99.",
        counts.arrived,
        late(50),
        late(99)
    )
}

fn json(plan: &Plan, rows: &[(HandshakeType, Measured)], counts: &Counts) -> Result<Value, Failure> {
    let rows: Vec<Value> = rows
        .iter()
        .map(|(handshake, measured)| {
            json!({
                "handshake": handshake.name(), "median_ns": ns(measured.summary().built.median()), "failures": measured.failures,
                "circuits": measured.json(plan),
            })
        })
        .collect();
    Ok(json!({
        "schema": 1, "evidence": "measured", "topology": plan.topology.name, "set": plan.set, "source": plan.topology.source,
        "cold": plan.start == Start::Cold, "seed": plan.seed, "page": plan.fetch,
        "delays_alone_ns": ns(Some(plan.delays_alone()?)), "packets": packets_json(counts), "rows": rows,
    }))
}

pub(super) fn packets_json(counts: &Counts) -> Value {
    let times = |late: &Lateness| {
        let late = |percent| ns(late.percentile(percent));
        json!({ "p50": late(50), "p95": late(95), "p99": late(99) })
    };
    json!({
        "arrived": counts.arrived,
        "dropped": { "no_link": counts.dropped[0], "queue": counts.dropped[1], "loss": counts.dropped[2] },
        "read_late_at_most_ns": times(&counts.waited), "late_ns": times(&counts.late),
    })
}

impl Measured {
    /// Says how many circuits failed, and why the first did.
    fn say_failures(&self, plan: &Plan, handshake: HandshakeType, talk: Talk) {
        let Some(first) = self.failures.first() else { return };
        let (name, failed, of) = (&plan.topology.name, self.failures.len(), self.outcomes.len());
        talk.say(&format!("{name}, {handshake}: {failed} of {of} circuits failed; the first: {first}"));
    }

    /// Its circuits; while satellites pass, with the time of each.
    pub(super) fn json(&self, plan: &Plan) -> Vec<Value> {
        let begins = self.begins.iter().map(|begin| plan.topology.flight().map(|_| *begin));
        self.outcomes.iter().zip(begins).map(|(outcome, begin)| circuit_json(outcome, begin)).collect()
    }
}

/// A circuit's times, with that of its beginning where it matters.
pub(super) fn circuit_json(outcome: &Outcome, begin: Option<Duration>) -> Value {
    let mut circuit = json!({
        "built_ns": ns(outcome.built), "link_ns": ns(Some(outcome.link)),
        "hops_ns": outcome.hops.iter().map(|hop| ns(Some(*hop))).collect::<Vec<_>>(),
        "first_byte_ns": ns(outcome.first_byte), "last_byte_ns": ns(outcome.last_byte),
    });
    if let Some(begin) = begin {
        circuit["seconds"] = begin.as_secs_f64().into();
    }
    circuit
}

pub(super) fn ns(time: Option<Duration>) -> Option<u64> {
    time.map(|time| time.as_nanos() as u64)
}
