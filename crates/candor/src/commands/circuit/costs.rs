//! What handshakes cost, from a sealed run.

use crate::Failure;
use crate::config::{Config, RUNS};
use candor_lab::machine::Machine;
use candor_lab::runfile::{Block, Run};
use candor_lab::table::paragraph;
use candor_links::costs::{Costs, Steps};
use candor_network::HandshakeType;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Runs that documents cite, where candor is run in its own repository.
const CITED: &str = "runs";
/// The phases of `ntor/<handshake>/handshake`.
const PHASES: [&str; 3] = ["client-start", "server", "client-finish"];
/// Of the phases of `circuit/loopback/<handshake>/warm`, those in which cells go to a hop and back, and how often they cross from host to host.
const CROSSINGS: [(&str, u32); 3] = [("crossing1", 2), ("crossing2", 4), ("crossing3", 6)];

pub(in crate::commands) struct Found {
    pub(in crate::commands) costs: Costs,
    /// Where they come from, or why there are none.
    pub(in crate::commands) says: String,
    /// Whose they are, if there are any.
    machine: Option<Machine>,
    /// How many handshakes have a cost, and of how many it is known what hosts do besides.
    known: (usize, usize),
    /// When the run began.
    began: Option<SystemTime>,
}

impl Found {
    pub(in crate::commands) fn none(says: String) -> Self {
        Self { costs: Costs::none(), says, machine: None, known: (0, 0), began: None }
    }

    /// Of two runs, the one whose costs are taken has the larger of these: it knows more of the handshakes, or as many and began later. (Names have the day only.)
    fn rank(&self) -> ((usize, usize), Option<SystemTime>) {
        (self.known, self.began)
    }

    /// A warning if they are those of another machine than this one.
    pub(super) fn elsewhere(&self) -> Option<String> {
        elsewhere(self.machine.as_ref()?, &Machine::here())
    }

    /// The same as a paragraph, or nothing.
    pub(super) fn warning(&self, wide: Option<usize>) -> String {
        self.elsewhere().map_or_else(String::new, |warning| paragraph("", &warning, wide))
    }
}

/// The costs of these handshakes from the run that the user names, or from the newest of those that know most of them.
pub(super) fn of(asked: Option<&Path>, handshakes: &[HandshakeType]) -> Result<Found, Failure> {
    if asked == Some(Path::new("none")) {
        return Ok(Found::none("none, as asked for".to_owned()));
    }
    if let Some(path) = asked {
        return of_run(&Run::open(path)?, path, handshakes);
    }
    for directory in [Config::load()?.runs(None), CITED.into()] {
        let mut best: Option<Found> = None;
        for path in run_files(&directory) {
            // Files that are no runs, or have other tasks, are passed over; reading them whole would take seconds.
            let mentions = std::fs::read(&path)
                .is_ok_and(|bytes| bytes.windows(PHASES[0].len()).any(|at| at == PHASES[0].as_bytes()));
            if mentions
                && let Ok(run) = Run::open(&path)
                && let Some(found) = from(&run, handshakes)
                && best.as_ref().is_none_or(|best| found.rank() > best.rank())
            {
                best = Some(found);
            }
        }
        if let Some(best) = best {
            return Ok(best);
        }
    }
    Ok(Found::none(format!(
        "none: no run in {RUNS} or {CITED} has handshakes; measure them by `candor run handshake circuit/loopback`"
    )))
}

/// The costs of these handshakes from this run.
pub(in crate::commands) fn of_run(run: &Run, path: &Path, handshakes: &[HandshakeType]) -> Result<Found, Failure> {
    from(run, handshakes).ok_or_else(|| {
        let why =
            "has none of these handshakes with its phases; measure them by `candor run handshake circuit/loopback`";
        Failure::Error(format!("{}: the run {why}", path.display()))
    })
}

/// Run files by name.
fn run_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort_unstable();
    paths
}

/// `None` if the run has none of the handshakes.
fn from(run: &Run, handshakes: &[HandshakeType]) -> Option<Found> {
    let mut costs = Costs::none();
    let mut missing = Vec::new();
    let mut subjects = Vec::new();
    for &handshake in handshakes {
        match steps(run, handshake) {
            Some((steps, subject)) => {
                costs = costs.with(handshake, steps);
                subjects.push(subject);
            }
            None => missing.push(handshake.name()),
        }
    }
    let first = subjects.first()?.clone();
    let without = match missing.is_empty() {
        true => String::new(),
        false => format!("; NONE for {}, which the run lacks", missing.join(", ")),
    };
    let crossed: Vec<_> = handshakes.iter().map(|&handshake| (handshake, crossings(run, handshake))).collect();
    let unknown = crossed.iter().filter(|(_, samples)| samples.is_empty()).count();
    let hosts = match unknown {
        0 => ", and for what hosts do besides of parts@auto there",
        _ if unknown == crossed.len() => {
            "; NONE for what hosts do besides, since the run has no `circuit/loopback/…/warm`"
        }
        _ => {
            ", and for what hosts do besides of parts@auto there, NONE where the run has no `circuit/loopback/…/warm` of the handshake"
        }
    };
    let known = (subjects.len(), crossed.len() - unknown);
    let costs = crossed.into_iter().fold(costs, |costs, (handshake, samples)| costs.with_crossings(handshake, samples));
    // Of single cells, such as those of a page, whatever handshake built the circuit.
    let costs = match handshakes.contains(&HandshakeType::Ntor) {
        true => costs,
        false => costs.with_crossings(HandshakeType::Ntor, crossings(run, HandshakeType::Ntor)),
    };
    let says = format!(
        "drawn from the samples of {first} in run {}{hosts}, every host as fast as its machine{without}",
        run.name
    );
    Some(Found { costs, says, machine: Some(run.manifest.machine.clone()), known, began: run.manifest.began() })
}

/// What the cells of a handshake's message take from one host to the next over loopback.
fn crossings(run: &Run, handshake: HandshakeType) -> Vec<Duration> {
    let task = format!("circuit/loopback/{handshake}/warm");
    let samples = run.blocks.iter().filter(|block| block.task == task).filter_map(|block| {
        let subject = block.phases.keys().find(|subject| subject.starts_with("parts@"))?;
        let of =
            |(name, times): (&str, u32)| Some(phase(block, subject, name)?.into_iter().map(move |time| time / times));
        Some(CROSSINGS.into_iter().filter_map(of).flatten().collect::<Vec<_>>())
    });
    samples.flatten().collect()
}

/// How long a phase took in each round whose work did not fail.
fn phase(block: &Block, subject: &str, name: &str) -> Option<Vec<Duration>> {
    let phases = block.phases.get(subject)?;
    let at = phases.names.iter().position(|phase| phase == name)?;
    let worked = block.of_rounds_that_worked(subject, phases.ns.get(at)?);
    let iterations = block.iterations.max(1) as f64;
    Some(worked.into_iter().map(|ns| Duration::from_nanos((ns / iterations) as u64)).collect())
}

/// Whose costs these are, and whose the measured side's, if the two machines have different processors.
fn elsewhere(theirs: &Machine, here: &Machine) -> Option<String> {
    let same = (&theirs.cpu, theirs.short_name()) == (&here.cpu, here.short_name());
    (!same).then(|| {
        format!(
            "WARNING: what handshakes and hosts cost in the simulation is what they cost on another machine: {}. What is measured, if anything is, is measured on this machine: {}.",
            theirs.line(),
            here.line()
        )
    })
}

/// Samples of candor's own subject: the one that the plan names first.
fn steps(run: &Run, handshake: HandshakeType) -> Option<(Steps, String)> {
    let task = format!("ntor/{handshake}/handshake");
    let plan = run.tasks.iter().find(|record| record.task == task)?.plan.as_ref()?;
    let subject = plan.subjects.iter().find(|subject| subject.starts_with("candor@"))?;
    let blocks: Vec<&Block> = run.blocks.iter().filter(|block| block.task == task).collect();
    let [start, answer, finish] =
        PHASES.map(|name| blocks.iter().filter_map(|block| phase(block, subject, name)).flatten().collect::<Vec<_>>());
    let whole = !start.is_empty() && !answer.is_empty() && !finish.is_empty();
    whole.then(|| (Steps { start, answer, finish }, subject.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_runs_of_a_day_the_later_is_taken_and_of_any_two_the_one_that_knows_more() {
        let found = |known, seconds| {
            let began = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            Found { known, began, ..Found::none(String::new()) }
        };
        assert!(found((2, 2), 60).rank() > found((2, 2), 59).rank());
        assert!(found((2, 2), 0).rank() > found((2, 1), 9).rank());
        assert!(found((3, 0), 0).rank() > found((2, 2), 9).rank());
    }

    #[test]
    fn costs_of_another_processor_come_with_a_warning_that_names_both() {
        let here = Machine { cpu: "Xeon".into(), ..Machine::here() };
        let theirs = Machine {
            cpu: "EPYC".into(),
            cpu_id: "vendor_id AuthenticAMD, cpu family 25, model 1".into(),
            ..here.clone()
        };
        let warning = elsewhere(&theirs, &here).unwrap();
        assert!(
            warning.contains("another machine: EPYC (zen3)") && warning.contains("this machine: Xeon"),
            "{warning}"
        );
        assert_eq!(elsewhere(&here, &here), None);
        let sibling = Machine { memory_mib: 1, kernel: "other".into(), ..here.clone() };
        assert_eq!(elsewhere(&sibling, &here), None, "the same processor");
    }
}
