//! `candor sweep plan`: a recipe becomes a plan.

use super::circuits::Simulation;
use super::{about, counted, ranges, told as told_of};
use crate::commands::circuit::{costs, named, read_at_most};
use crate::measure::{BUDGET, all_tasks};
use crate::output::{Talk, print};
use crate::{Failure, choose};
use candor_cpu::{Cpu, TierError};
use candor_lab::Task;
use candor_lab::machine::{MICROARCHITECTURES, Machine};
use candor_lab::runfile::Run;
use candor_lab::sweep::{Block, Circuits, CircuitsWanted, CostsOf, Plan, Recipe, Runs, RunsWanted, Sweep};
use candor_links::survey::HANDSHAKES;
use candor_network::HandshakeType;
use candor_subjects::{Peer, PeerState};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Tasks of an array that Slurm takes unless it is told otherwise.
const MOST_TASKS: u64 = 1000;

/// Seconds for a task. A plan counts milliseconds.
const BUDGETS: RangeInclusive<f64> = 0.01..=86_400.0;

/// What stands between a library's name and the rest of its subjects' names.
const VERSION: [char; 3] = ['-', '+', '@'];

/// Files of the folder besides the plan.
type Files = Vec<(PathBuf, Vec<u8>)>;

pub(super) fn execute(recipe: &Path, output: &Path, talk: Talk) -> Result<(), Failure> {
    let of = |error: String| Failure::Error(format!("{}: {error}", recipe.display()));
    let text = String::from_utf8(read_at_most(recipe, Recipe::LARGEST)?).map_err(|error| of(error.to_string()))?;
    let wanted = Recipe::parse(&text).map_err(|error| of(error.to_string()))?;
    let folder = recipe.parent().unwrap_or(Path::new(""));
    let mut files = Files::new();
    let mut blocks = Vec::new();
    for circuits in &wanted.circuits {
        blocks.push(Block::Circuits(simulated(circuits, wanted.seed, folder, &mut files)?));
    }
    for runs in &wanted.run {
        blocks.push(Block::Run(measured(runs, wanted.seed, talk).map_err(|failure| of(told_of(failure)))?));
    }
    let plan = Plan::new(blocks).map_err(of)?;
    files.push((PathBuf::from("slurm.sh"), slurm(&plan).into_bytes()));
    let sweep = Sweep::create(output, plan, &files)?;
    print(&told(sweep.plan()))?;
    let (directory, last) = (output.display(), sweep.plan().shards() - 1);
    // GNU parallel starts a job for each core; what is measured wants its machine for itself.
    let jobs = if sweep.plan().measures() { " -j1" } else { "" };
    talk.say(&format!("next        candor sweep run {directory}"));
    talk.say(&format!("or          seq 0 {last} | parallel{jobs} candor sweep run {directory} --shard {{}}"));
    talk.say(&format!("or          cd {directory} && sbatch slurm.sh"));
    Ok(())
}

fn simulated(wanted: &CircuitsWanted, seed: u64, folder: &Path, files: &mut Files) -> Result<Circuits, Failure> {
    let (name, topology) = named(&wanted.topology, folder)?;
    let handshakes = match &wanted.handshakes {
        None => HANDSHAKES.to_vec(),
        Some(names) => names.iter().map(|name| name.parse::<HandshakeType>()).collect::<Result<Vec<_>, _>>()?,
    };
    let costs = wanted.costs.as_ref().map(|path| {
        let path = folder.join(path);
        let bytes = Run::bytes(&path)?;
        let run = Run::of(&path, &bytes)?;
        costs::of_run(&run, &path, &handshakes)?;
        files.push((Sweep::costs(&run.name), bytes));
        Ok::<_, Failure>(CostsOf { run: run.name, sha256: run.sha256 })
    });
    let circuits = Circuits {
        name,
        topology,
        set: wanted.set.clone(),
        handshakes: handshakes.iter().map(|handshake| handshake.name().to_owned()).collect(),
        circuits: wanted.circuits,
        per_shard: wanted.per_shard,
        seed,
        cold: wanted.cold,
        lossless: wanted.lossless,
        page: wanted.page,
        costs: None,
    };
    circuits.check().map_err(Failure::Error)?;
    // Whether there can be such circuits does not depend on what they cost.
    Simulation::of(&circuits, folder)?.check()?;
    Ok(Circuits { costs: costs.transpose()?, ..circuits })
}

fn measured(wanted: &RunsWanted, seed: u64, talk: Talk) -> Result<Runs, Failure> {
    let budget = wanted.budget.unwrap_or(BUDGET);
    if !BUDGETS.contains(&budget) {
        let (least, most) = (BUDGETS.start(), BUDGETS.end());
        return Err(Failure::Error(format!("budget is {budget}; expected {least} to {most} seconds")));
    }
    // Tasks of the self-test can be measured by name, but `all` does not include them.
    let by_name = wanted.tasks.iter().any(|word| word.starts_with("self-test"));
    let every = if by_name { all_tasks() } else { candor_subjects::tasks() };
    let tasks = choose::tasks(every, &wanted.tasks)?;
    for tier in &wanted.tiers {
        // One that is missing here may be there on the machine that measures.
        if let Err(error @ TierError::Unknown) = Cpu::named(tier) {
            return Err(Failure::Error(format!("tier {tier}: {error}")));
        }
    }
    known_peers(&tasks, &wanted.peers)?;
    if let Some(cpu) = wanted.cpu.as_ref().filter(|cpu| !is_known_cpu(cpu)) {
        let known = MICROARCHITECTURES.join(", ");
        talk.say(&format!(
            "! cpu {cpu}: candor knows no such kind ({known}); only a machine that it calls so will do these shards"
        ));
    }
    Ok(Runs {
        tasks: tasks.into_iter().map(|task| task.name).collect(),
        per_shard: wanted.per_shard,
        tiers: wanted.tiers.clone(),
        cpu: wanted.cpu.clone(),
        budget_ms: (budget * 1e3).round() as u64,
        processes: wanted.processes,
        peers: wanted.peers.clone(),
        seed,
    })
}

/// Whether a machine is called so: one of a known kind, or this one. Others have a name from that of their model.
fn is_known_cpu(cpu: &str) -> bool {
    MICROARCHITECTURES.contains(&cpu) || Machine::here().short_name() == cpu
}

/// Whether each of these begins the name of a subject of the tasks: of one that is here, of another version of it, or of a library that only other machines have.
fn known_peers(tasks: &[Task], peers: &[String]) -> Result<(), Failure> {
    let libraries = if peers.is_empty() { Vec::new() } else { candor_subjects::peers() };
    let subjects = || tasks.iter().flat_map(|task| &task.entries).map(|entry| entry.subject.as_str());
    let begins = |library: &str, name: &str| name.strip_prefix(library).is_some_and(|rest| rest.starts_with(VERSION));
    let is_possible = |library: &&Peer| match library.state {
        PeerState::Linked { .. } | PeerState::Found { .. } => subjects().any(|name| begins(&library.library, name)),
        _ => true,
    };
    let possible: Vec<&str> = libraries.iter().filter(is_possible).map(|library| library.library.as_str()).collect();
    let is_known = |peer: &str| {
        subjects().any(|name| name.starts_with(peer))
            || possible.iter().any(|library| library.starts_with(peer) || begins(library, peer))
    };
    match peers.iter().find(|peer| !is_known(peer)) {
        Some(peer) => {
            let names = subjects().chain(possible.iter().copied());
            Err(Failure::Error(choose::unknown("subject of these tasks", peer, names, "candor list peers")))
        }
        None => Ok(()),
    }
}

fn told(plan: &Plan) -> String {
    let mut text = format!("{}, plan {:.12}\n", counted(plan.shards()), plan.sha256());
    let mut first = 0;
    for block in plan.blocks() {
        let shards = block.shards();
        text += &format!("  {}  {}\n", ranges(&(first..first + shards).collect::<Vec<_>>()), about(block));
        first += shards;
    }
    text
}

/// The plan as a job array. Where there are more shards than an array may have tasks, each task does several.
fn slurm(plan: &Plan) -> String {
    let shards = plan.shards();
    let tasks = shards.min(MOST_TASKS);
    // What is measured wants its node for itself.
    let alone = if plan.measures() { "#SBATCH --exclusive\n" } else { "" };
    format!(
        "#!/bin/sh\n#SBATCH --job-name=candor-sweep\n#SBATCH --array=0-{}\n#SBATCH --requeue\n#SBATCH --output=.work/slurm-%a.out\n{alone}\
         # Submit this in its folder, and again as often as shards are missing: those that are done are skipped.\n\
         # CANDOR names the program, if it is not on the search path.\n\
         status=0\n\
         for shard in $(seq \"$SLURM_ARRAY_TASK_ID\" {tasks} {}); do\n    \
         \"${{CANDOR:-candor}}\" sweep run . --shard \"$shard\" || status=$?\n\
         done\n\
         exit $status\n",
        tasks - 1,
        shards - 1,
    )
}
