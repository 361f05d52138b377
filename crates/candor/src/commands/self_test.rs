//! `candor doctor --self-test`: the lab measured by itself.

use crate::cli::{DoctorArguments, ListFormat};
use crate::measure::{STOP, settings, stop_on_signals, trial, whole, workers};
use crate::output::{Talk, on_stdout, print};
use crate::{Failure, layout};
use candor_lab::Task;
use candor_lab::analysis::Report;
use candor_lab::machine::Counters;
use candor_lab::plan::Processes;
use candor_lab::report::{Form, render};
use candor_lab::runfile::{End, Manifest, Record, Run, RunWriter, Trial};
use candor_lab::schedule::Tried;
use candor_lab::session::Settings;
use candor_lab::trial::LAYOUT;
use candor_subjects::self_test::{self, Truth};
use indicatif::ProgressBar;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Layout belongs to the build, not to chance, so few trials show it.
const LAYOUT_TRIALS: u32 = 3;

/// A subject of the self-test, and what is true of it.
struct Try {
    name: String,
    task: Task,
    subject: String,
    truth: Option<f64>,
    /// In how many turns it is tried.
    turns: u32,
}

pub(super) fn execute(arguments: &DoctorArguments, directory: PathBuf, talk: Talk) -> Result<(), Failure> {
    stop_on_signals()?;
    let scratch = directory.join(format!(".self-test-{}", std::process::id()));
    let settings = Settings { layout: None, ..settings(None, Processes::default(), None, Vec::new(), scratch.clone()) };
    let began = Instant::now();
    let counters = Counters::now();
    let outcome = trials(arguments.trials, &settings, talk);
    // The runs of the trials are no longer needed; their medians are in the records.
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
    layout::remember(&run, &path)?;
    talk.say(&format!("run saved   {}", path.display()));
    let form = if arguments.format == ListFormat::Json { Form::Json } else { Form::Text };
    print(&render(&[Report::of(&run)], &[], on_stdout(form)))?;
    whole(run.end.interrupted)
}

/// All trials, in the order of [`turns`](candor_lab::schedule::turns). `None` if stopped before the first.
fn trials(turns: u32, settings: &Settings, talk: Talk) -> Result<Option<(Manifest, Vec<Trial>)>, Failure> {
    let workers = workers()?;
    let bar = if talk.quiet { ProgressBar::hidden() } else { ProgressBar::new(u64::from(turns)) };
    let tried: Vec<Tried> = tries(turns).into_iter().map(|Try { name, turns, .. }| Tried { name, turns }).collect();
    let mut manifest = None;
    let mut trials = Vec::new();
    for turn in 0..turns {
        for Try { name, task, subject, truth, .. } in tries(turns).into_iter().filter(|tried| turn < tried.turns) {
            bar.set_message(name.clone());
            let settings = Settings { subjects: vec![subject.clone()], ..settings.clone() };
            let Some(run) = trial(task, &settings, &workers)? else { break };
            trials.extend(Trial::of(&run, &name, &subject, truth));
            manifest.get_or_insert_with(|| Manifest { tried: tried.clone(), ..run.manifest });
        }
        bar.inc(1);
        if STOP.load(Ordering::Relaxed) {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(manifest.map(|manifest| (manifest, trials)))
}

/// What is tried in so many turns, and what is true of it.
fn tries(turns: u32) -> Vec<Try> {
    let mut tries = Vec::new();
    for test in self_test::all() {
        for (subject, truth) in test.truths {
            let more = |permille: u32| (f64::from(permille) / 1000.0).ln_1p();
            let (name, truth) = match truth {
                Truth::Same => (format!("{}: same", test.work), Some(0.0)),
                Truth::PeerDoesMore { permille } => (format!("{}: peer does more", test.work), Some(more(permille))),
                Truth::BaselineDoesMore { permille } => {
                    (format!("{}: peer does less", test.work), Some(-more(permille)))
                }
                Truth::LayoutOnly => (format!("{LAYOUT}/{}", subject.trim_start_matches("c-kernel-")), None),
                _ => continue,
            };
            let turns = if name.starts_with(LAYOUT) { turns.min(LAYOUT_TRIALS) } else { turns };
            tries.extend(self_test::task(&test.task.name).map(|task| Try { name, task, subject, truth, turns }));
        }
    }
    tries
}
