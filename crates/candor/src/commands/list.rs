//! `candor list`: tasks, peers, topologies and tiers.

use crate::cli::{ListFormat, Listed};
use crate::output::{columns, print};
use crate::{Failure, choose};
use candor_cpu::{Cpu, TIERS};
use candor_lab::SelectedBy;
use candor_lab::table::{Align, Table};
use candor_links::topology::{BUILT_IN, Topology};
use candor_subjects::PeerState;
use serde_json::{Value, json};

/// Stands beside the tasks that `candor run all` leaves out.
const BY_NAME: &str = "by name";

pub(crate) fn execute(what: Listed, words: &[String], format: ListFormat) -> Result<(), Failure> {
    let (value, table) = match what {
        Listed::Topologies => return topologies(words, format),
        Listed::Tasks => tasks(words)?,
        Listed::Peers => peers(words)?,
        Listed::Tiers => tiers(words)?,
    };
    print(&match format {
        ListFormat::Json => format!("{value:#}\n"),
        ListFormat::Text => table.text(columns()),
    })
}

/// Those whose name contains one of the words; all without words. A word that no name contains is an error.
fn only<T>(
    kind: &str,
    kinds: &str,
    all: Vec<T>,
    words: &[String],
    name: impl Fn(&T) -> &str,
) -> Result<Vec<T>, Failure> {
    if let Some(word) = words.iter().find(|word| !all.iter().any(|one| name(one).contains(word.as_str()))) {
        return Err(Failure::Error(choose::unknown(kind, word, all.iter().map(name), &format!("candor list {kinds}"))));
    }
    let wanted = |one: &T| words.is_empty() || words.iter().any(|word| name(one).contains(word.as_str()));
    Ok(all.into_iter().filter(wanted).collect())
}

fn tasks(words: &[String]) -> Result<(Value, Table), Failure> {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    let mut tasks = candor_subjects::tasks();
    if !words.is_empty() {
        tasks = choose::tasks(tasks, words)?;
    }
    let tasks = tasks.iter().map(|task| {
        let subjects: Vec<&str> = task.entries.iter().map(|entry| entry.subject.as_str()).collect();
        let in_all = task.selected_by == SelectedBy::All;
        table.row([task.name.as_str(), if in_all { "" } else { BY_NAME }, &subjects.join(" ")]);
        json!({ "task": task.name, "what": task.what, "in_all": in_all, "subjects": subjects })
    });
    Ok((tasks.collect(), table))
}

fn peers(words: &[String]) -> Result<(Value, Table), Failure> {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let peers = only("peer", "peers", candor_subjects::peers(), words, |peer| &peer.name)?;
    for peer in &peers {
        table.row([peer.name.as_str(), peer.what]);
        table.row([String::new(), state(&peer.state)]);
    }
    Ok((json!(peers), table))
}

/// Pictures are lines that belong together, so they are no table.
fn topologies(words: &[String], format: ListFormat) -> Result<(), Failure> {
    let mut text = String::new();
    let mut values = Vec::new();
    for built_in in only("topology", "topologies", BUILT_IN.iter().collect(), words, |built_in| built_in.name)? {
        let Some(topology) = Topology::built_in(built_in.name).transpose()? else { continue };
        let sets = topology.sets();
        let picture = topology.picture(None);
        let others: String = sets.iter().map(|set| format!(" (--set {set})")).collect();
        text.push_str(&format!("{}: {}{others}\n{picture}\n", topology.name, topology.title));
        values.push(json!({
            "topology": topology.name, "title": topology.title, "source": topology.source, "sets": sets, "picture": picture,
        }));
    }
    print(&match format {
        ListFormat::Json => format!("{:#}\n", Value::from(values)),
        ListFormat::Text => text,
    })
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

fn tiers(words: &[String]) -> Result<(Value, Table), Failure> {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    let here: Vec<&str> = Cpu::tiers().map(|tier| tier.name).collect();
    let default = Cpu::default().tier();
    let here = |name: &str| match here.contains(&name) {
        true if name == default => "default",
        true => "yes",
        false => "no",
    };
    let tiers = only("tier", "tiers", TIERS.iter().collect(), words, |tier| tier.name)?;
    let tiers = tiers.into_iter().map(|tier| {
        table.row([tier.name, here(tier.name), tier.what]);
        json!({ "tier": tier.name, "what": tier.what, "here": here(tier.name) })
    });
    Ok((tiers.collect(), table))
}
