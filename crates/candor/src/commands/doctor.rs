//! `candor doctor`: the machine, and by `--self-test` the lab itself.

use super::self_test;
use crate::cli::{DoctorArguments, ListFormat};
use crate::config::Config;
use crate::output::{Talk, print};
use crate::{Failure, layout};
use candor_cpu::Cpu;
use candor_lab::machine::{Counters, Machine};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

pub(crate) fn execute(arguments: DoctorArguments, talk: Talk) -> Result<(), Failure> {
    let directory = Config::load()?.runs(arguments.runs.clone());
    match arguments.self_test {
        true => self_test::execute(&arguments, directory, talk),
        false => look(&arguments, &directory),
    }
}

/// What can be said without measuring anything but the noise.
fn look(arguments: &DoctorArguments, directory: &Path) -> Result<(), Failure> {
    let machine = Machine::here();
    let before = Counters::now();
    std::thread::sleep(Duration::from_secs(1));
    let noise = Counters::now().since(before);
    let quantum = candor_lab::quantum();
    let tiers: Vec<&str> = Cpu::tiers().map(|tier| tier.name).collect();
    let layout = layout::known(directory);
    if arguments.format == ListFormat::Json {
        let layout = layout.map(|layout| json!({ "floor": layout.floor, "run": layout.run }));
        let value = json!({
            "machine": machine, "noise": noise, "clock_quantum_ns": quantum, "tiers": tiers, "layout": layout,
        });
        return print(&format!("{value:#}\n"));
    }
    let advice = |bad: bool, text: &str| if bad { format!("  ! {text}") } else { String::new() };
    let mut text = format!("machine      {}\n", machine.line());
    text += &format!("tiers        {} (default {})\n", tiers.join(", "), Cpu::default().tier());
    text += &format!(
        "noise        others use {:.2} CPUs, steal {:.1} %, load {:.2}{}\n",
        noise.others_cpus,
        noise.steal * 100.0,
        noise.load,
        advice(noise.is_loud(), "small differences will read \"can't tell\"")
    );
    text += &format!("clock        steps {quantum} ns{}\n", advice(quantum > 1000, "epochs must last 1000 steps"));
    if let Some(governor) = &machine.governor {
        let slow = governor != "performance";
        text += &format!("governor     {governor}{}\n", advice(slow, "the frequency may change within a run"));
    }
    if let Some(boost) = machine.boost {
        text += &format!("boost        {}\n", if boost { "on" } else { "off" });
    }
    text += &match layout {
        Some(layout) => format!("layout       up to {:.2} %, by {}\n", layout.floor.exp_m1() * 100.0, layout.run),
        None => "layout       not known: candor doctor --self-test\n".to_owned(),
    };
    print(&text)
}
