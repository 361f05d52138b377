//! `candor sweep plan`: a recipe becomes a plan.

use super::circuits::Simulation;
use super::{about, counted, ranges};
use crate::commands::circuit::{costs, named, read_at_most};
use crate::measure::{BUDGET, all_tasks};
use crate::output::{Talk, print};
use crate::{Failure, choose};
use candor_cpu::{Cpu, TierError};
use candor_lab::runfile::Run;
use candor_lab::sweep::{Block, Circuits, CircuitsWanted, CostsOf, Plan, Recipe, Runs, RunsWanted, Sweep};
use candor_links::survey::HANDSHAKES;
use candor_network::HandshakeType;
use std::path::{Path, PathBuf};

/// Tasks of an array that Slurm takes unless it is told otherwise.
const MOST_TASKS: u64 = 1000;

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
        blocks.push(Block::Run(measured(runs, wanted.seed)?));
    }
    let plan = Plan::new(blocks).map_err(of)?;
    files.push((PathBuf::from("slurm.sh"), slurm(&plan).into_bytes()));
    let sweep = Sweep::create(output, plan, &files)?;
    print(&told(sweep.plan()))?;
    let (directory, last) = (output.display(), sweep.plan().shards() - 1);
    talk.say(&format!("next        candor sweep run {directory}"));
    talk.say(&format!("or          seq 0 {last} | parallel candor sweep run {directory} --shard {{}}"));
    talk.say(&format!("or          cd {directory} && sbatch slurm.sh"));
    Ok(())
}

fn simulated(wanted: &CircuitsWanted, seed: u64, folder: &Path, files: &mut Files) -> Result<Circuits, Failure> {
    let (name, topology) = named(&wanted.topology, folder)?;
    let handshakes = match wanted.handshakes.is_empty() {
        true => HANDSHAKES.to_vec(),
        false => wanted.handshakes.iter().map(|name| name.parse::<HandshakeType>()).collect::<Result<Vec<_>, _>>()?,
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
    // Whether there can be such circuits does not depend on what they cost.
    Simulation::of(&circuits, folder)?.check()?;
    Ok(Circuits { costs: costs.transpose()?, ..circuits })
}

fn measured(wanted: &RunsWanted, seed: u64) -> Result<Runs, Failure> {
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
    Ok(Runs {
        tasks: tasks.into_iter().map(|task| task.name).collect(),
        per_shard: wanted.per_shard,
        tiers: wanted.tiers.clone(),
        cpu: wanted.cpu.clone(),
        budget_ms: (wanted.budget.unwrap_or(BUDGET) * 1e3).round() as u64,
        processes: wanted.processes,
        peers: wanted.peers.clone(),
        seed,
    })
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
    let (shards, measures) = (plan.shards(), plan.blocks().iter().any(|block| matches!(block, Block::Run(_))));
    let tasks = shards.min(MOST_TASKS);
    // What is measured wants its node for itself.
    let alone = if measures { "#SBATCH --exclusive\n" } else { "" };
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
