//! `candor doctor`: the machine, and by `--self-test` the lab itself.

use super::{STOP, Talk, print, run, stop_in_good_order, workers};
use crate::Failure;
use crate::cli::{DoctorArguments, ListFormat};
use crate::config::Config;
use candor_cpu::Cpu;
use candor_lab::Task;
use candor_lab::analysis::Report;
use candor_lab::machine::{Counters, Machine};
use candor_lab::report::{Form, render};
use candor_lab::runfile::{End, Layout, Manifest, Record, Run, RunWriter};
use candor_lab::session::{self, Settings};
use candor_lab::trial::{LAYOUT, Trial, layout_floor};
use candor_subjects::self_test::{self, Truth};
use indicatif::ProgressBar;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Beside the run files: the name of the newest self-test.
const POINTER: &str = "self-test.txt";

pub(crate) fn execute(arguments: DoctorArguments, talk: Talk) -> Result<(), Failure> {
    let directory = Config::load()?.runs(arguments.runs.clone());
    match arguments.self_test {
        true => self_test(&arguments, directory, talk),
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
    let layout = known_layout(directory);
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

/// What the newest self-test in that directory found about code layout, if it is whole and from this machine.
pub(crate) fn known_layout(directory: &Path) -> Option<Layout> {
    let name = fs::read_to_string(directory.join(POINTER)).ok()?;
    let run = Run::open(&directory.join(name.trim())).ok()?;
    let here = run.manifest.machine.same_as(&Machine::here());
    Some(Layout { floor: layout_floor(&run.trials).filter(|_| here)?, run: run.name })
}

/// A task of the self-test with what is true of it.
struct Try {
    name: String,
    task: Task,
    subject: String,
    truth: Option<f64>,
}

fn self_test(arguments: &DoctorArguments, directory: PathBuf, talk: Talk) -> Result<(), Failure> {
    stop_in_good_order()?;
    let scratch = directory.join(format!(".self-test-{}", std::process::id()));
    let settings = Settings { layout: None, ..run::settings(None, None, None, Vec::new(), scratch.clone()) };
    let began = Instant::now();
    let counters = Counters::now();
    let outcome = trials(arguments.trials, &settings, talk);
    // Each trial's own run has served its purpose; its medians are in the record.
    let _ = fs::remove_dir_all(&scratch);
    let Some((manifest, trials)) = outcome? else {
        return Err(Failure::Error("stopped before the first trial was done; nothing was written".into()));
    };
    let mut file = RunWriter::begin(&directory, &manifest)?;
    for trial in trials {
        file.append(&Record::Trial(trial))?;
    }
    file.append(&Record::End(End {
        during: Counters::now().since(counters),
        seconds: began.elapsed().as_secs_f64().round(),
        interrupted: STOP.load(Ordering::Relaxed),
    }))?;
    let path = file.seal()?;
    let run = Run::open(&path)?;
    if layout_floor(&run.trials).is_some() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pointer = directory.join(POINTER);
        fs::write(&pointer, format!("{name}\n"))
            .map_err(|error| Failure::Error(format!("can't write {}: {error}", pointer.display())))?;
    }
    talk.say(&format!("run saved   {}", path.display()));
    let form = if arguments.format == ListFormat::Json { Form::Json } else { Form::Text };
    print(&render(&[Report::of(&run)], &[], form))
}

/// All trials, kind by kind within each turn, so that a noisy hour is shared by all. `None` if stopped before the first.
fn trials(turns: u32, settings: &Settings, talk: Talk) -> Result<Option<(Manifest, Vec<Trial>)>, Failure> {
    let workers = workers()?;
    let bar = if talk.quiet { ProgressBar::hidden() } else { ProgressBar::new(u64::from(turns)) };
    let mut manifest = None;
    let mut trials = Vec::new();
    for turn in 0..turns {
        for Try { name, task, subject, truth } in tries() {
            // Layout belongs to the build, not to chance: few turns show it.
            if name.starts_with(LAYOUT) && turn >= 3 {
                continue;
            }
            bar.set_message(name.clone());
            let settings = Settings { subjects: vec![subject.clone()], ..settings.clone() };
            let finished = match session::run(&[task], &settings, &workers, &STOP, &mut |_| {}) {
                Ok(finished) if !finished.interrupted => finished,
                Ok(_) => break,
                Err(_) if STOP.load(Ordering::Relaxed) => break,
                Err(error) => return Err(error.into()),
            };
            let run = Run::open(&finished.path)?;
            let _ = fs::remove_file(&finished.path);
            trials.extend(Trial::of(&run, &name, &subject, truth));
            manifest.get_or_insert(run.manifest);
        }
        bar.inc(1);
        if STOP.load(Ordering::Relaxed) {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(manifest.map(|manifest| (manifest, trials)))
}

/// What is tried, and what is true of it.
fn tries() -> Vec<Try> {
    let mut tries = Vec::new();
    for test in self_test::all() {
        for (subject, truth) in test.truths {
            let more = |permille: u32| (f64::from(permille) / 1000.0).ln_1p();
            let (name, truth) = match truth {
                Truth::Same => ("same".to_owned(), Some(0.0)),
                Truth::PeerDoesMore { permille } => ("peer does more".to_owned(), Some(more(permille))),
                Truth::BaselineDoesMore { permille } => ("peer does less".to_owned(), Some(-more(permille))),
                Truth::LayoutOnly => (format!("{LAYOUT}/{}", subject.trim_start_matches("c-kernel-")), None),
                _ => continue,
            };
            tries.extend(self_test::task(&test.task.name).map(|task| Try { name, task, subject, truth }));
        }
    }
    tries
}
