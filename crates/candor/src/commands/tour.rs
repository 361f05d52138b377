//! `candor` without a command: what this machine can measure, the tour, and what to try next.

use super::run;
use crate::Failure;
use crate::cli::RunArguments;
use crate::output::Talk;
use candor_cpu::Cpu;
use candor_lab::machine::Machine;

pub(crate) fn execute(talk: Talk) -> Result<(), Failure> {
    let tasks = candor_subjects::tasks();
    let tiers: Vec<&str> = Cpu::tiers().map(|tier| tier.name).collect();
    talk.say(&format!("{}\ntiers here: {}", Machine::here().line(), tiers.join(", ")));
    talk.say(&format!(
        "{} tasks can be measured here; this tour measures {} of them\n",
        tasks.len(),
        candor_subjects::tour().len()
    ));
    run::execute(RunArguments::default(), talk)?;
    talk.say(
        "\nnext        candor list tasks                 list everything that can be measured\n            \
         candor run kem/ml-kem-1024        measure one family of tasks\n            \
         candor report candor-runs/*.jsonl --format md\n            \
         candor doctor --self-test         how reliable the lab is on this machine",
    );
    Ok(())
}
