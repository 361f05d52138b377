//! What the page shows, as JSON.

use super::roles::{Event, Role, Roles};
use crate::proxy::CircuitReading;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Serialize)]
pub(super) struct View<'a> {
    /// Seconds since 1970.
    time: f64,
    /// Seconds from one turn to the next.
    every: f64,
    monitor: &'a str,
    roles: Vec<RoleView<'a>>,
    circuits: Vec<CircuitView<'a>>,
    stages: Vec<StageView<'a>>,
    /// Cells a second of all relays: seconds since 1970, and how many.
    history: Vec<(f64, f64)>,
    /// The latest first.
    events: Vec<&'a Event>,
}

#[derive(Serialize)]
struct RoleView<'a> {
    name: &'a str,
    role: Option<&'a str>,
    /// Why it does not answer.
    silent: Option<&'a str>,
    exit: bool,
    started: Option<f64>,
    memory: Option<f64>,
    cells: Option<f64>,
    links: Option<f64>,
    circuits: Option<f64>,
    streams: Option<f64>,
    /// How often something went wrong.
    troubles: f64,
}

#[derive(Serialize)]
struct CircuitView<'a> {
    proxy: &'a str,
    #[serde(flatten)]
    circuit: &'a CircuitReading,
}

/// A stage of all circuits of a proxy: how many, the mean, the longest and the latest, in seconds.
#[derive(Serialize)]
struct StageView<'a> {
    proxy: &'a str,
    stage: &'a str,
    count: f64,
    mean: Option<f64>,
    longest: f64,
    last: f64,
}

impl Roles {
    pub(super) fn view(&self) -> View<'_> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        View {
            time: time.as_secs_f64(),
            every: self.every.as_secs_f64(),
            monitor: &self.monitor,
            roles: self.roles.iter().map(role).collect(),
            circuits: self.roles.iter().flat_map(circuits).collect(),
            stages: self.roles.iter().flat_map(stages).collect(),
            history: self.history.iter().copied().collect(),
            events: self.events.iter().rev().collect(),
        }
    }
}

fn role(role: &Role) -> RoleView<'_> {
    let of_relay_or_proxy = |what: &str| {
        let [relay, proxy] = ["relay", "proxy"].map(|kind| role.value(&format!("candor_{kind}_{what}")));
        relay.or(proxy)
    };
    RoleView {
        name: &role.name,
        role: role.kind(),
        silent: role.silent.as_deref(),
        exit: role.value("candor_relay_exit") == Some(1.0),
        started: role.value("process_start_time_seconds"),
        memory: role.value("process_resident_memory_bytes"),
        cells: role.rate,
        links: role.value("candor_relay_links"),
        circuits: of_relay_or_proxy("circuits"),
        streams: of_relay_or_proxy("streams"),
        troubles: role.troubles(),
    }
}

fn circuits(role: &Role) -> impl Iterator<Item = CircuitView<'_>> {
    role.circuits.iter().map(|circuit| CircuitView { proxy: &role.name, circuit })
}

fn stages(role: &Role) -> impl Iterator<Item = StageView<'_>> {
    let counts = role.samples.iter().filter(|sample| sample.name == "candor_proxy_stage_seconds_count");
    counts.filter_map(|sample| {
        let stage = sample.label("stage")?;
        let of = |name: &str| {
            let mut same =
                role.samples.iter().filter(|other| other.name == name && other.label("stage") == Some(stage));
            same.next().map_or(0.0, |sample| sample.value)
        };
        let count = sample.value;
        let mean = (count > 0.0).then(|| of("candor_proxy_stage_seconds_sum") / count);
        let (longest, last) = (of("candor_proxy_stage_longest_seconds"), of("candor_proxy_stage_last_seconds"));
        Some(StageView { proxy: &role.name, stage, count, mean, longest, last })
    })
}
