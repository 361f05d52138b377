//! `candor circuit --pass`: circuits one after another while satellites pass.

use super::costs::Found;
use super::{figures, ms};
use crate::Failure;
use crate::cli::{CircuitArguments, ListFormat};
use crate::output::{Talk, columns, print};
use candor_lab::table::{Align, Table, paragraph};
use candor_links::orbit::HandOver;
use candor_links::simulator::{Outcome, Plan, Start};
use candor_links::survey::series;
use candor_links::topology::Flight;
use candor_network::HandshakeType;
use serde_json::{Value, json};
use std::time::Duration;

/// Circuits that were not built, of which the text tells one by one.
const MOST_TOLD: usize = 10;

/// The circuits of a handshake, each with its beginning; `None` where there was no link to begin over.
pub(super) type Circuits = Vec<(Duration, Option<Outcome>)>;

pub(super) fn execute(
    arguments: &CircuitArguments,
    plan: &Plan,
    handshakes: &[HandshakeType],
    costs: &Found,
    talk: Talk,
) -> Result<(), Failure> {
    let name = &plan.topology.name;
    let flight = plan.topology.flight().ok_or_else(|| {
        let what = "follows no satellites, so nothing passes; try leo-pass or leo-shell, or give yours an [orbit]";
        Failure::Error(format!("topology {name} {what}"))
    })?;
    let interval = Duration::from_secs(arguments.every.into());
    let count = flight.ends().as_secs() / interval.as_secs() + 1;
    let plan = Plan { begin: Duration::ZERO, fetch: None, ..plan.clone() };
    let mut all = Vec::new();
    for &handshake in handshakes {
        all.push((handshake, series(&Plan { handshake, ..plan.clone() }, interval, count as u32)?));
    }
    let carrier = arguments.carrier * 1e9;
    match arguments.format {
        ListFormat::Json => print(&format!("{:#}\n", json(&plan, flight, carrier, costs, &all)))?,
        ListFormat::Text => print(&text(&plan, flight, carrier, costs, &all, arguments.every))?,
    }
    figures::write_flight(arguments, &plan, flight, &costs.says, &all, talk)
}

fn text(
    plan: &Plan,
    flight: &Flight,
    carrier: f64,
    costs: &Found,
    all: &[(HandshakeType, Circuits)],
    every: u32,
) -> String {
    let wide = columns();
    let start = match plan.start {
        Start::Warm => "over links that are there",
        Start::Cold => "with links that are made",
    };
    let mut text = format!("{}: {}\n\n", plan.topology.name, plan.topology.title);
    text += &paragraph(
        "",
        &format!(
            "SIMULATED in virtual time: a circuit per handshake every {every} s from {:.0} on, {start}, seed {}. Elevation and Doppler shift at {} GHz are those \
             of the serving satellite for the user, the delay is one way from user to gateway, and below each handshake stands its time to circuit. Times in ms. \
             Computation: {}.",
            flight.start,
            plan.seed,
            carrier / 1e9,
            costs.says,
        ),
        wide,
    );
    text += &costs.warning(wide);
    text.push('\n');
    // The last column is always to the left: nothing stands there.
    let mut aligns = vec![Align::Right; 6 + all.len()];
    aligns[1] = Align::Left;
    let mut table = Table::new(&aligns);
    let titles = ["UTC", "satellite", "elevation", "delay", "Doppler kHz"].map(str::to_owned).into_iter();
    let names = all.iter().map(|(handshake, _)| handshake.to_string());
    table.row(titles.chain(names));
    let times = all.first().map_or(&[][..], |(_, series)| series);
    for (index, (at, _)) in times.iter().enumerate() {
        let link = flight.link(*at);
        let seen = match &link {
            Some(link) => [
                flight.name(link.satellite).to_owned(),
                format!("{:.1}°", link.user.elevation),
                ms(Some(link.delay)),
                format!("{:+.1}", link.user.doppler(carrier) / 1e3),
            ],
            None => ["no link", "-", "-", "-"].map(str::to_owned),
        };
        let circuits = all.iter().map(|(_, series)| match &series[index].1 {
            Some(Outcome { built: Some(built), .. }) => ms(Some(*built)),
            Some(_) => "not built".to_owned(),
            None => "-".to_owned(),
        });
        table.row([clock(flight, *at)].into_iter().chain(seen).chain(circuits));
    }
    text += &table.text(wide);
    let failures = failures(flight, all);
    if !failures.is_empty() {
        text.push('\n');
    }
    for failure in failures.iter().take(MOST_TOLD) {
        text += &paragraph("", failure, wide);
    }
    if let Some(more @ 1..) = failures.len().checked_sub(MOST_TOLD) {
        text += &format!("{more} more were not built\n");
    }
    text + &hand_overs(flight, wide)
}

fn hand_overs(flight: &Flight, wide: Option<usize>) -> String {
    if flight.plan.hand_overs.is_empty() {
        return String::new();
    }
    let ends = |ends: Option<(usize, usize)>| match ends {
        None => "no link".to_owned(),
        Some((user, gateway)) if user == gateway => flight.name(user).to_owned(),
        Some((user, gateway)) => format!("{} … {}", flight.name(user), flight.name(gateway)),
    };
    let mut table = Table::new(&[Align::Right, Align::Left, Align::Left, Align::Right, Align::Right, Align::Left]);
    table.row(["UTC", "from", "to", "delay", "and then"]);
    for HandOver { at, from, to, before, behind } in &flight.plan.hand_overs {
        table.row([clock(flight, *at), ends(*from), ends(*to), ms(*before), ms(*behind)]);
    }
    format!("\nHand-overs:\n{}", table.text(wide))
}

/// A line about each circuit that was begun and not built.
fn failures(flight: &Flight, all: &[(HandshakeType, Circuits)]) -> Vec<String> {
    let circuits =
        all.iter().flat_map(|(handshake, series)| series.iter().map(move |(at, outcome)| (handshake, at, outcome)));
    let lines = circuits.filter_map(|(handshake, at, outcome)| {
        let outcome = outcome.as_ref().filter(|outcome| outcome.built.is_none())?;
        let why = outcome.failure.map_or("nothing answered".to_owned(), |failure| failure.to_string());
        let lost = outcome.failed_at.and_then(|failed| flight.lost(*at, failed)).filter(|_| outcome.dropped[0] > 0);
        let lost = lost.map(|lost| {
            format!("; the link was lost at {}, and {} packets found none", clock(flight, lost), outcome.dropped[0])
        });
        let lost = lost.unwrap_or_default();
        Some(format!("{} {handshake}: not built: {why}{lost}", clock(flight, *at)))
    });
    lines.collect()
}

fn json(plan: &Plan, flight: &Flight, carrier: f64, costs: &Found, all: &[(HandshakeType, Circuits)]) -> Value {
    let ns = |time: Option<Duration>| time.map(|time| time.as_nanos() as u64);
    let times = all.first().map_or(&[][..], |(_, series)| series);
    let points: Vec<Value> = times
        .iter()
        .enumerate()
        .map(|(index, (at, _))| {
            let circuits: serde_json::Map<String, Value> = all
                .iter()
                .map(|(handshake, series)| {
                    let circuit = series[index].1.as_ref().map(|outcome| {
                        json!({
                            "built_ns": ns(outcome.built), "failure": outcome.failure.map(|failure| failure.to_string()),
                            "hops_ns": outcome.hops.iter().map(|hop| hop.as_nanos() as u64).collect::<Vec<_>>(), "no_link": outcome.dropped[0],
                        })
                    });
                    (handshake.to_string(), json!(circuit))
                })
                .collect();
            let link = flight.link(*at).map(|link| {
                json!({
                    "satellite": flight.name(link.satellite), "elevation_deg": link.user.elevation, "azimuth_deg": link.user.azimuth,
                    "range_km": link.user.range, "range_rate_km_s": link.user.range_rate, "doppler_hz": link.user.doppler(carrier),
                    "delay_ns": link.delay.as_nanos() as u64,
                })
            });
            json!({ "time": flight.time(*at).to_string(), "seconds": at.as_secs_f64(), "link": link, "circuits": circuits })
        })
        .collect();
    let ends = |ends: Option<(usize, usize)>| ends.map(|(user, gateway)| [flight.name(user), flight.name(gateway)]);
    let hand_overs: Vec<Value> = flight
        .plan
        .hand_overs
        .iter()
        .map(|HandOver { at, from, to, before, behind }| {
            json!({
                "time": flight.time(*at).to_string(), "seconds": at.as_secs_f64(), "from": ends(*from), "to": ends(*to),
                "before_ns": ns(*before), "behind_ns": ns(*behind),
            })
        })
        .collect();
    json!({
        "schema": 1, "evidence": "simulated", "topology": plan.topology.name, "set": plan.set, "source": plan.topology.source,
        "cold": plan.start == Start::Cold, "seed": plan.seed, "costs": costs.says, "warning": costs.elsewhere(), "start": flight.start.to_string(), "carrier_hz": carrier,
        "points": points, "hand_overs": hand_overs,
    })
}

/// A time of the flight by the clock of UTC.
pub(super) fn clock(flight: &Flight, at: Duration) -> String {
    flight.time(at).strftime("%H:%M:%S").to_string()
}
