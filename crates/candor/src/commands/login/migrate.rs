//! `candor login migrate`: accounts of another system.

use super::{open, operator};
use crate::Failure;
use crate::cli::{FileLayout, ListFormat, MigrateArguments};
use crate::output::{Talk, print};
use candor_login::KeyRing;
use candor_login::migrate::{Input, Layout, Report, import};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often to say how far it is.
const EVERY: Duration = Duration::from_secs(5);

pub(super) async fn execute(arguments: MigrateArguments, talk: Talk) -> Result<(), Failure> {
    let store = open(&arguments.store).await?;
    let ring = KeyRing::load(&store).await?;
    let ring = ring.ok_or_else(|| Failure::Condition("the key ring is empty; start the server once".into()))?;
    let input = Input::new(reader(&arguments.file)?, layout(&arguments), &arguments.name, &arguments.hash)?;
    let mut said = Instant::now();
    let progress = |report: &Report| {
        if said.elapsed() >= EVERY {
            said = Instant::now();
            talk.say(&format!("entries: {}, imported: {}", report.entries, report.imported));
        }
    };
    let report = import(&store, Arc::new(ring), input, arguments.dry_run, operator(), progress).await?;
    print(&match arguments.format {
        ListFormat::Json => format!("{}\n", as_json(&report)),
        ListFormat::Text => as_text(&report, arguments.dry_run),
    })?;
    if !report.uneven_salts.is_empty() {
        talk.say("whoever asks the server for a name can tell by such a salt whether it has an account, until its owner has logged in once");
    }
    if report.imported > 0 && !arguments.dry_run {
        talk.say("until a user has logged in once, anyone who has the old hash can log in as that user: delete the old hashes");
    }
    match report.refused {
        0 => Ok(()),
        refused => Err(Failure::Condition(format!("entries that can't be imported: {refused}"))),
    }
}

fn reader(file: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let opened = File::open(file).map_err(|error| Failure::Error(format!("{}: {error}", file.display())))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn layout(arguments: &MigrateArguments) -> Layout {
    let by_name = arguments.file.extension().and_then(|end| end.to_str());
    match (arguments.layout, by_name) {
        (Some(FileLayout::Jsonl), _) | (None, Some("json" | "jsonl" | "ndjson")) => Layout::JsonLines,
        _ => Layout::Csv,
    }
}

fn as_text(report: &Report, dry_run: bool) -> String {
    let imported = if dry_run { "would be imported" } else { "imported" };
    let mut text = format!(
        "entries: {}\n{imported}: {}\nthere already: {}\nrefused: {}\n",
        report.entries, report.imported, report.there, report.refused
    );
    for (scheme, accounts) in &report.schemes {
        text += &format!("  {scheme}: {accounts}\n");
    }
    for (line, refusal) in &report.refusals {
        text += &format!("line {line}: {refusal}\n");
    }
    let more = report.refused - report.refusals.len() as u64;
    if more > 0 {
        text += &format!("and {more} more\n");
    }
    for uneven in &report.uneven_salts {
        text += &format!("{uneven}\n");
    }
    text
}

fn as_json(report: &Report) -> Value {
    let refusals = report.refusals.iter();
    let refusals: Value = refusals.map(|(line, why)| json!({ "line": line, "reason": why.to_string() })).collect();
    json!({
        "entries": report.entries,
        "imported": report.imported,
        "there": report.there,
        "refused": report.refused,
        "schemes": report.schemes,
        "refusals": refusals,
        "uneven_salts": report.uneven_salts.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
