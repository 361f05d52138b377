//! `candor doctor`: the state of this machine; with `--arms` whether the fastest code runs on it, with `--self-test` the state of the lab.

use super::{arms, self_test};
use crate::cli::{DoctorArguments, ListFormat};
use crate::config::Config;
use crate::measure::tool;
use crate::output::{Talk, columns, print};
use crate::{Failure, layout};
use candor_cpu::Cpu;
use candor_lab::machine::{Counters, Machine};
use candor_lab::table::{Align, Table};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

pub(crate) fn execute(arguments: DoctorArguments, talk: Talk) -> Result<(), Failure> {
    let directory = Config::load()?.runs(arguments.runs.clone());
    match &arguments.arms {
        Some(runs) => arms::execute(runs, arguments.format, talk),
        None if arguments.self_test => self_test::execute(&arguments, directory, talk),
        None => look(&arguments, &directory),
    }
}

/// Reports on the machine without measuring anything but the noise.
fn look(arguments: &DoctorArguments, directory: &Path) -> Result<(), Failure> {
    let machine = Machine::here();
    let before = Counters::now();
    std::thread::sleep(Duration::from_secs(1));
    let noise = Counters::now().since(before);
    let quantum = candor_lab::quantum();
    let tiers: Vec<&str> = Cpu::tiers().map(|tier| tier.name).collect();
    let layout = layout::known(directory, &tool());
    if arguments.format == ListFormat::Json {
        let layout = layout.map(|layout| json!({ "floor": layout.floor, "run": layout.run }));
        let value = json!({
            "machine": machine, "noise": noise, "clock_quantum_ns": quantum, "tiers": tiers, "layout": layout,
        });
        return print(&format!("{value:#}\n"));
    }
    let advice = |bad: bool, text: &str| if bad { format!(" ! {text}") } else { String::new() };
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut line = |name: &str, found: String| table.row([name.to_owned(), found]);
    line("machine", machine.line());
    line("tiers", format!("{} (default {})", tiers.join(", "), Cpu::default().tier()));
    line("arms", arms::state());
    let (others, steal, load) = (noise.others_cpus, noise.steal * 100.0, noise.load);
    let loud = advice(noise.is_loud(), "small differences will read \"can't tell\"");
    line("noise", format!("others use {others:.2} CPUs, steal {steal:.1} %, load {load:.2}{loud}"));
    line("clock", format!("steps {quantum} ns{}", advice(quantum > 1000, "epochs must take at least 1000 steps")));
    if let Some(governor) = &machine.governor {
        let slow = advice(governor != "performance", "the frequency may change within a run");
        line("governor", format!("{governor}{slow}"));
    }
    if let Some(boost) = machine.boost {
        line("boost", if boost { "on" } else { "off" }.to_owned());
    }
    line(
        "layout",
        match layout {
            Some(layout) => format!("up to {:.2} %, by {}", layout.floor.exp_m1() * 100.0, layout.run),
            None => "not known of this build; measure it with `candor doctor --self-test`".to_owned(),
        },
    );
    print(&table.text(columns()))
}
