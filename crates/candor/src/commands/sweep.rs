//! `candor sweep`: work in shards. What the folder looks like, and why a kill leaves nothing half done, says `candor_lab::sweep`.

mod circuits;
mod collect;
mod measured;
mod plan;
mod status;

use crate::Failure;
use crate::cli::{Shards, SweepCommand};
use crate::measure::described;
use crate::output::Talk;
use candor_lab::LabError;
use candor_lab::machine::Machine;
use candor_lab::sweep::{Block, Claim, Claimed, Host, Sweep, Use, Work};
use circuits::Simulation;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

/// Where Slurm says which task of its array this is.
const ENV: &str = "SLURM_ARRAY_TASK_ID";

pub(crate) fn execute(command: &SweepCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        SweepCommand::Plan { recipe, output } => plan::execute(recipe, output, talk),
        SweepCommand::Run { directory, shard } => run(directory, shard.as_ref(), talk),
        SweepCommand::Status { directory, format } => status::execute(directory, *format),
        SweepCommand::Collect { directory, partial, format } => collect::execute(directory, *partial, *format, talk),
    }
}

fn run(directory: &Path, asked: Option<&Shards>, talk: Talk) -> Result<(), Failure> {
    let sweep = Sweep::open(directory)?;
    let mut runner = Runner { sweep: &sweep, talk, cpu: Machine::here().short_name(), simulations: BTreeMap::new() };
    let mut others = Vec::new();
    let mut failed = Vec::new();
    let indices = indices(asked, sweep.plan().shards())?;
    let mut elsewhere = 0;
    for &index in &indices {
        match runner.done(index, false) {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Busy(why)) => others.push((index, why)),
            Ok(Outcome::Elsewhere(cpu)) if asked.is_some() => {
                return Err(Failure::Error(format!("shard {index} is for {cpu}; this machine is {}", runner.cpu)));
            }
            Ok(Outcome::Elsewhere(_)) => elsewhere += 1,
            Err(why) => failed.push((index, why)),
        }
    }
    for (index, why) in others {
        talk.say(&format!("shard {index}: waiting {why}"));
        if let Err(why) = runner.done(index, true) {
            failed.push((index, why));
        }
    }
    if elsewhere > 0 {
        talk.say(&format!("! left to machines of another kind than {}: {}", runner.cpu, counted(elsewhere)));
    }
    match &failed[..] {
        [] => Ok(()),
        [(index, why), ..] => {
            let (failed, of) = (failed.len(), indices.len());
            Err(Failure::Condition(format!("{failed} of {of} shards failed; shard {index}: {why}")))
        }
    }
}

/// The shards that are asked for.
fn indices(asked: Option<&Shards>, shards: u64) -> Result<Vec<u64>, Failure> {
    let ranges = match asked {
        None => return Ok((0..shards).collect()),
        Some(Shards::Ranges(ranges)) => ranges.clone(),
        Some(Shards::Env) => {
            let number = std::env::var(ENV).ok().and_then(|text| text.parse().ok());
            let expected = || {
                Failure::Error(format!(
                    "expected the number of a shard in {ENV}, which Slurm sets for each task of an array"
                ))
            };
            let number = number.ok_or_else(expected)?;
            vec![(number, number)]
        }
    };
    // Before any work, and before a range of any length is written out.
    if let Some(&(_, index)) = ranges.iter().find(|(_, last)| *last >= shards) {
        return Err(LabError::NoShard { index, shards }.into());
    }
    Ok(ranges.into_iter().flat_map(|(first, last)| first..=last).collect())
}

/// What became of a shard.
enum Outcome {
    Done,
    /// Another process stands in its way, and for what one would wait.
    Busy(&'static str),
    /// It is for this kind of CPU.
    Elsewhere(String),
}

struct Runner<'a> {
    sweep: &'a Sweep,
    talk: Talk,
    cpu: String,
    /// What has been read for a block of circuits, by its number.
    simulations: BTreeMap<usize, Simulation>,
}

impl Runner<'_> {
    /// Does a shard unless it is done.
    fn done(&mut self, index: u64, wait: bool) -> Result<Outcome, String> {
        let shards = self.sweep.plan().shards();
        let work = self.sweep.plan().work(index).ok_or_else(|| LabError::NoShard { index, shards }.to_string())?;
        if let Work::Run { of, .. } = work
            && let Some(cpu) = of.cpu.as_ref().filter(|cpu| **cpu != self.cpu)
        {
            return Ok(Outcome::Elsewhere(cpu.clone()));
        }
        let (claimed, _host) = loop {
            let claimed = match self.sweep.claim(index, wait).map_err(|error| error.to_string())? {
                Claim::Done => return Ok(Outcome::Done),
                Claim::Busy => return Ok(Outcome::Busy("for the process that does it")),
                Claim::Yours(claimed) => claimed,
            };
            let told = |error: LabError| error.to_string();
            match Host::taken(work.uses()).map_err(told)? {
                Some(host) => break (claimed, host),
                None if wait => {}
                None => return Ok(Outcome::Busy(in_the_way(work.uses()))),
            }
            // Whoever waits for its machine leaves the shard to others.
            drop(claimed);
            Host::wait(work.uses()).map_err(told)?;
        };
        if let Some(why) = &claimed.damaged {
            self.talk.say(&format!("! shard {index} is done again: {why}"));
        }
        let put = |file: String| claimed.finish(&file, &tool()).map_err(Failure::from);
        match self.data(&claimed, work).and_then(put) {
            Ok(()) => {
                self.talk.say(&format!("shard {index} of {shards}: done"));
                Ok(Outcome::Done)
            }
            Err(failure) => {
                let why = told(failure);
                self.talk.say(&format!("! shard {index} of {shards}: {why}"));
                claimed.fail(&why);
                Err(why)
            }
        }
    }

    /// Does the work. The name of the file that has the data.
    fn data(&mut self, claimed: &Claimed, work: Work<'_>) -> Result<String, Failure> {
        match work {
            Work::Run { of, tier, tasks, seed } => measured::measure(claimed.folder(), of, tier, tasks, seed),
            Work::Circuits { block, of, seed, count } => {
                if let Entry::Vacant(free) = self.simulations.entry(block) {
                    free.insert(Simulation::of(of, self.sweep.directory())?);
                }
                self.simulations[&block].shard(claimed.folder(), seed, count)
            }
        }
    }
}

/// What a shard waits for that uses its machine so.
fn in_the_way(uses: Use) -> &'static str {
    match uses {
        Use::Shared => "until nothing is measured on this machine: what is measured has it for itself",
        Use::Alone => "until no other shard is done on this machine: what is measured has it for itself",
    }
}

/// This build, as records of shards name it.
fn tool() -> String {
    let tool = described();
    let commit = tool.commit.as_deref().map_or("unknown", |commit| commit.get(..12).unwrap_or(commit));
    format!("candor {} ({commit}{})", tool.version, if tool.dirty { ", changed" } else { "" })
}

fn told(failure: Failure) -> String {
    match failure {
        Failure::Condition(why) | Failure::Error(why) | Failure::CantTell(why) => why,
    }
}

/// So many shards.
fn counted(shards: u64) -> String {
    format!("{shards} shard{}", if shards == 1 { "" } else { "s" })
}

/// Numbers as ranges: 0-3,7.
fn ranges(numbers: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let shown = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(shown).collect::<Vec<_>>().join(",")
}

/// What a block is, in a line.
fn about(block: &Block) -> String {
    match block {
        Block::Circuits(of) => {
            let set = of.set.as_ref().map(|set| format!(", set {set}")).unwrap_or_default();
            let costs = of.costs.as_ref().map_or("nothing".to_owned(), |costs| format!("what run {} says", costs.run));
            let (circuits, handshakes) = (of.circuits, of.handshakes.join(", "));
            format!(
                "{circuits} circuits over {}{set} for each of {handshakes}, {} a shard; handshakes cost {costs}",
                of.name, of.per_shard
            )
        }
        Block::Run(of) => {
            let tiers =
                if of.tiers.is_empty() { String::new() } else { format!(" under each of {}", of.tiers.join(", ")) };
            let cpu = of.cpu.as_ref().map(|cpu| format!(" on {cpu}")).unwrap_or_default();
            let seconds = of.budget_ms as f64 / 1e3;
            format!("{} tasks{tiers}{cpu}, {} a shard, {seconds} s a task", of.tasks.len(), of.per_shard)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3,7,9-10");
        assert_eq!((ranges(&[]), ranges(&[5])), (String::new(), "5".to_owned()));
    }

    #[test]
    fn a_shard_that_is_not_there_is_an_error_before_any_work() {
        let asked = |ranges: &[(u64, u64)]| indices(Some(&Shards::Ranges(ranges.to_vec())), 20);
        assert_eq!(asked(&[(0, 2), (19, 19)]).ok(), Some(vec![0, 1, 2, 19]));
        for bad in [(20, 20), (0, 20), (0, u64::MAX)] {
            let Err(Failure::Error(why)) = asked(&[bad]) else { panic!("{bad:?} is no shard") };
            assert!(why.contains("from 0 to 19"), "{why}");
        }
    }
}
