//! Run files, comparisons, claims files, output of other tools, sweeps' plans and recipes, and what programs and other builds' workers say.

use candor_lab::analysis::Report;
use candor_lab::claims::Claims;
use candor_lab::compare::{Comparison, Fate};
use candor_lab::figure::{figures, slopes};
use candor_lab::import::{self, FORMATS};
use candor_lab::program;
use candor_lab::remote::{Deaths, Remote, Script};
use candor_lab::report::{Form, render, render_comparison};
use candor_lab::runfile::Run;
use candor_lab::sweep::{Plan, Recipe, Work};
use candor_lab::{Place, Subject, Turn, Witness};
use candor_test_support::runs::reseal;
use std::time::Duration;

/// Bytes from anywhere, as they are and with a seal that fits: whatever is taken for a run can be reported in every form.
pub fn run_file(data: &[u8]) {
    for bytes in [data.to_vec(), reseal(data)] {
        let Ok(run) = Run::parse("fuzz", &bytes) else { continue };
        let reports = [Report::of(&run)];
        for form in [Form::Text, Form::Markdown, Form::Csv, Form::Json, Form::Html, Form::Tex] {
            assert!(!render(&reports, &[], form).is_empty());
        }
        for figure in figures(&reports[0]) {
            assert!(!figure.svg().contains("NaN"), "a figure with a coordinate that is no number");
        }
        with_itself(&run);
    }
}

/// A run beside itself claims nothing, and beside a twin of another seal it is compared without a panic.
fn with_itself(run: &Run) {
    let compared = |other: Run| Comparison::of(&[("one".into(), run.clone()), ("other".into(), other)]);
    if let Ok(comparison) = compared(run.clone()) {
        assert_eq!(comparison.count(|fate| matches!(fate, Fate::Reproduces | Fate::Flips | Fate::Differs)), 0);
    }
    let mut twin = Run { sha256: "another".into(), name: "twin".into(), ..run.clone() };
    // The very times of another run are refused.
    for ns in twin.blocks.iter_mut().flat_map(|block| block.ns.values_mut()).flatten() {
        *ns = ns.saturating_add(1);
    }
    let Ok(comparison) = compared(twin) else { return };
    for form in [Form::Text, Form::Markdown, Form::Csv, Form::Json, Form::Html, Form::Tex] {
        assert!(!render_comparison(&comparison, &[], form).is_empty());
    }
    if let Some(figure) = slopes(&comparison) {
        assert!(!figure.svg().contains("NaN"), "a figure with a coordinate that is no number");
    }
}

/// What a worker of another build may say, line by line: whatever it is, the subject answers or has died, and no time is taken that is longer than the wait.
pub fn remote(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let deaths = Deaths::default();
    let Ok(mut remote) = Remote::over(Box::new(Script::of(&text)), ("t", "s"), "it", Duration::from_secs(1), &deaths)
    else {
        return;
    };
    if let Ok(witness) = remote.prepare(1) {
        let _ = remote.check(&witness);
    }
    let _ = remote.check(&Witness::bytes([1]));
    for phases in [None, Some(Place::First), Some(Place::Last)] {
        let expected = if phases.is_some() { remote.phases().len() } else { 0 };
        let timed = remote.timed_elsewhere(&Turn { unclocked: 1, iterations: 1, phases });
        match timed.expect("it has a clock of its own") {
            Ok(timed) => assert!(timed.ns > 0 && timed.phases.len() == expected),
            Err(why) => assert!(!why.is_empty()),
        }
    }
    let _ = (remote.quantities(), remote.provenance(), remote.outcomes());
}

/// A claims file from anywhere: an error or claims, never a panic.
pub fn claims(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Claims::parse(text);
    }
}

/// Output of a tool from anywhere: an error with a line of it, or figures that can be, each under a name of its own.
pub fn import(data: &[u8]) {
    for format in FORMATS.into_iter().map(Some).chain([None]) {
        match import::read(data, format) {
            Ok(sheet) => {
                let mut names: Vec<&str> = sheet.figures.iter().map(|figure| figure.name.as_str()).collect();
                names.sort_unstable();
                assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two figures of one name");
                for figure in &sheet.figures {
                    assert!(!figure.name.is_empty() && !figure.quantities.is_empty(), "{figure:?}");
                    let possible = figure.quantities.iter().all(|one| one.value > 0.0 && one.value.is_finite());
                    assert!(possible, "a value that can't be: {figure:?}");
                }
            }
            Err(flaw) => assert!(flaw.line > 0 && !flaw.why.is_empty(), "{flaw:?}"),
        }
    }
}

/// A plan of a sweep from anywhere, as it is and with a seal that fits: an error with a line of it, or shards that are each something to do and together the whole.
pub fn sweep_plan(data: &[u8]) {
    for bytes in [data.to_vec(), reseal(data)] {
        let plan = match Plan::parse(&bytes) {
            Ok(plan) => plan,
            Err(flaw) => {
                assert!(flaw.line > 0 && !flaw.why.is_empty(), "{flaw:?}");
                continue;
            }
        };
        assert_eq!(plan.text().as_bytes(), bytes);
        for index in (0..plan.shards()).take(1000).chain([plan.shards() - 1]) {
            match plan.work(index).expect("the plan has it") {
                Work::Circuits { of, count, .. } => assert!((1..=of.per_shard).contains(&count)),
                Work::Run { of, tasks, .. } => assert!((1..=of.per_shard).contains(&(tasks.len() as u64))),
            }
        }
        assert_eq!(plan.work(plan.shards()), None);
    }
}

/// A recipe from anywhere: an error, or something to do.
pub fn sweep_recipe(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(recipe) = Recipe::parse(text) {
        assert!(recipe.circuits.len() + recipe.run.len() > 0);
    }
}

/// A line of a program: an error, or answers that are written again as the same.
pub fn program_answers(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let Ok(witness) = program::answers(line) else { return };
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    // An escape in a string stands for a digit, too.
    for name in witness.names().filter(|_| !line.contains('\\')) {
        let bytes = witness.part(name).expect("it has that name");
        assert!(line.to_ascii_lowercase().contains(&digits(bytes)), "{name} is not in the line");
    }
}
