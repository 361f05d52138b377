//! `candor list`.

use crate::Failure;
use crate::cli::{ListFormat, Listed};
use crate::output::print;
use candor_cpu::{Cpu, TIERS};
use candor_subjects::PeerState;
use serde_json::{Value, json};

pub(crate) fn execute(what: Listed, format: ListFormat) -> Result<(), Failure> {
    let (value, text) = match what {
        Listed::Tasks => tasks(),
        Listed::Peers => peers(),
        Listed::Tiers => tiers(),
    };
    print(&match format {
        ListFormat::Json => format!("{value:#}\n"),
        ListFormat::Text => text,
    })
}

fn tasks() -> (Value, String) {
    let tasks = candor_subjects::tasks();
    let value = tasks.iter().map(|task| {
        let subjects: Vec<&str> = task.entries.iter().map(|entry| entry.subject.as_str()).collect();
        json!({ "task": task.name, "what": task.what, "subjects": subjects })
    });
    let width = tasks.iter().map(|task| task.name.len()).max().unwrap_or(0);
    let text = tasks.iter().map(|task| {
        let subjects: Vec<&str> = task.entries.iter().map(|entry| entry.subject.as_str()).collect();
        format!("{:<width$}  {}\n", task.name, subjects.join(" "))
    });
    (value.collect(), text.collect())
}

fn peers() -> (Value, String) {
    let peers = candor_subjects::peers();
    let text = peers.iter().map(|peer| format!("{:<26}{}\n{:<26}{}\n", peer.name, peer.what, "", state(&peer.state)));
    (json!(peers), text.collect())
}

fn state(state: &PeerState) -> String {
    match state {
        PeerState::Linked { version } => format!("linked, version {version}"),
        PeerState::Found { version, path } => format!("found, version {version}, {}", path.display()),
        PeerState::Refused { reason } => format!("refused: {reason}"),
        PeerState::Missing { how } => format!("not here: {how}"),
        PeerState::Off { feature } => format!("left out of this build: cargo feature {feature}"),
        _ => String::new(),
    }
}

fn tiers() -> (Value, String) {
    let here: Vec<&str> = Cpu::tiers().map(|tier| tier.name).collect();
    let default = Cpu::default().tier();
    let here = |name: &str| match here.contains(&name) {
        true if name == default => "default",
        true => "yes",
        false => "no",
    };
    let value = TIERS.iter().map(|tier| json!({ "tier": tier.name, "what": tier.what, "here": here(tier.name) }));
    let text = TIERS.iter().map(|tier| format!("{:<12}{:<9}{}\n", tier.name, here(tier.name), tier.what));
    (value.collect(), text.collect())
}
