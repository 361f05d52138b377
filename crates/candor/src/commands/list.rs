//! `candor list`: tasks, peers and tiers.

use crate::Failure;
use crate::cli::{ListFormat, Listed};
use crate::output::{columns, print};
use candor_cpu::{Cpu, TIERS};
use candor_lab::table::{Align, Table};
use candor_subjects::PeerState;
use serde_json::{Value, json};

pub(crate) fn execute(what: Listed, format: ListFormat) -> Result<(), Failure> {
    let (value, table) = match what {
        Listed::Tasks => tasks(),
        Listed::Peers => peers(),
        Listed::Tiers => tiers(),
    };
    print(&match format {
        ListFormat::Json => format!("{value:#}\n"),
        ListFormat::Text => table.text(columns()),
    })
}

fn tasks() -> (Value, Table) {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let tasks = candor_subjects::tasks();
    let tasks = tasks.iter().map(|task| {
        let subjects: Vec<&str> = task.entries.iter().map(|entry| entry.subject.as_str()).collect();
        table.row([task.name.clone(), subjects.join(" ")]);
        json!({ "task": task.name, "what": task.what, "subjects": subjects })
    });
    (tasks.collect(), table)
}

fn peers() -> (Value, Table) {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let peers = candor_subjects::peers();
    for peer in &peers {
        table.row([peer.name.as_str(), peer.what]);
        table.row([String::new(), state(&peer.state)]);
    }
    (json!(peers), table)
}

fn state(state: &PeerState) -> String {
    match state {
        PeerState::Linked { version } => format!("linked, version {version}"),
        PeerState::Found { version, path } => format!("found, version {version}, {}", path.display()),
        PeerState::Refused { reason } => format!("refused: {reason}"),
        PeerState::Missing { how } => format!("not installed: {how}"),
        PeerState::Off { feature } => format!("not in this build: enable cargo feature {feature}"),
        _ => String::new(),
    }
}

fn tiers() -> (Value, Table) {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    let here: Vec<&str> = Cpu::tiers().map(|tier| tier.name).collect();
    let default = Cpu::default().tier();
    let here = |name: &str| match here.contains(&name) {
        true if name == default => "default",
        true => "yes",
        false => "no",
    };
    let tiers = TIERS.iter().map(|tier| {
        table.row([tier.name, here(tier.name), tier.what]);
        json!({ "tier": tier.name, "what": tier.what, "here": here(tier.name) })
    });
    (tiers.collect(), table)
}
