//! `candor sweep status`: what is known of each shard.

use super::{counted, ranges};
use crate::Failure;
use crate::cli::ListFormat;
use crate::output::print;
use candor_lab::sweep::{State, Sweep};
use serde_json::json;
use std::path::Path;

/// Reasons that the text has one by one.
const MOST_TOLD: usize = 10;

/// Shards by what is known of them.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) done: Vec<u64>,
    running: Vec<u64>,
    missing: Vec<u64>,
    /// Failed, damaged and foreign ones, each with its word and reason.
    wrong: Vec<(u64, &'static str, String)>,
}

impl Survey {
    pub(super) fn of(sweep: &Sweep) -> Result<Self, Failure> {
        let mut survey = Self::default();
        for index in 0..sweep.plan().shards() {
            match sweep.state(index)? {
                State::Done(_) => survey.done.push(index),
                State::Running => survey.running.push(index),
                State::Missing => survey.missing.push(index),
                State::Failed(why) => survey.wrong.push((index, "failed", why)),
                State::Damaged(why) => survey.wrong.push((index, "damaged", why)),
                State::Foreign(why) => survey.wrong.push((index, "foreign", why)),
            }
        }
        Ok(survey)
    }

    fn count(&self, word: &str) -> usize {
        self.wrong.iter().filter(|(_, is, _)| *is == word).count()
    }

    /// How many of each there are, of those that there are.
    pub(super) fn line(&self) -> String {
        let counts = [
            ("done", self.done.len()),
            ("running", self.running.len()),
            ("failed", self.count("failed")),
            ("damaged", self.count("damaged")),
            ("foreign", self.count("foreign")),
            ("missing", self.missing.len()),
        ];
        let shards = counts.iter().map(|(_, count)| *count as u64).sum();
        let told = counts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{count} {word}"));
        format!("{}: {}", counted(shards), told.collect::<Vec<_>>().join(", "))
    }

    /// Whether every shard is done.
    pub(super) fn whole(&self) -> Result<(), Failure> {
        match self.running.is_empty() && self.missing.is_empty() && self.wrong.is_empty() {
            true => Ok(()),
            false => Err(Failure::Condition(self.line())),
        }
    }
}

pub(super) fn execute(directory: &Path, format: ListFormat) -> Result<(), Failure> {
    let sweep = Sweep::open(directory)?;
    let survey = Survey::of(&sweep)?;
    match format {
        ListFormat::Json => {
            let wrong =
                survey.wrong.iter().map(|(index, what, why)| json!({ "shard": index, "state": what, "why": why }));
            let value = json!({
                "schema": 1, "plan": sweep.plan().sha256(), "shards": sweep.plan().shards(), "done": survey.done, "running": survey.running,
                "missing": survey.missing, "wrong": wrong.collect::<Vec<_>>(),
            });
            print(&format!("{value:#}\n"))?;
        }
        ListFormat::Text => {
            let mut text = format!("{}\n", survey.line());
            for (word, numbers) in [("running", &survey.running), ("missing", &survey.missing)] {
                if !numbers.is_empty() {
                    text += &format!("  {word}  {}\n", ranges(numbers));
                }
            }
            for (index, what, why) in survey.wrong.iter().take(MOST_TOLD) {
                text += &format!("  {what}  {index}: {why}\n");
            }
            if let Some(more) = survey.wrong.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
                text += &format!("  and {more} more, which --format json has\n");
            }
            print(&text)?;
        }
    }
    match survey.whole() {
        // The text has said it.
        Err(_) if format == ListFormat::Text => Err(Failure::Condition("not every shard is done".into())),
        other => other,
    }
}
