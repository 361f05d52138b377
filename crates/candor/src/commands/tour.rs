//! `candor` alone: what this machine can measure, the tour, and what to type next.

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
        "{} tasks can be measured; now a tour over {} of them\n",
        tasks.len(),
        candor_subjects::tour().len()
    ));
    run::execute(RunArguments::default(), talk)?;
    talk.say(
        "\nnext        candor list tasks                 everything that can be measured\n            \
         candor run kem/ml-kem-1024        one of them, or a prefix of many\n            \
         candor report candor-runs/*.jsonl --format md\n            \
         candor doctor --self-test         what the lab can and can't see on this machine",
    );
    Ok(())
}
