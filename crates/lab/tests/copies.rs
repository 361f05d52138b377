//! Times that somebody copied, in a committed run that was edited and sealed again.

use candor_lab::analysis::Report;
use candor_lab::compare::Comparison;
use candor_lab::runfile::{Flaw, Run};
use candor_test_support::runs::reseal;
use serde_json::{Value, json};
use std::path::Path;

const RUN: &str = "2026-11-24-zen4-f107e2";

fn lines() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../runs/{RUN}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn blocks<'a>(lines: &'a mut [Value], task: &str) -> Vec<&'a mut Value> {
    lines.iter_mut().filter(|line| line["kind"] == "block" && line["task"] == task).collect()
}

fn parsed(name: &str, lines: &[Value]) -> Result<Run, Flaw> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Run::parse(name, &reseal(text.as_bytes()))
}

/// Changes every epoch of the subjects that `of` picks.
fn changed(block: &mut Value, of: fn(&str) -> bool, by: impl Fn(u64) -> u64) {
    for (_, ns) in block["ns"].as_object_mut().unwrap().iter_mut().filter(|(name, _)| of(name)) {
        for epoch in ns.as_array_mut().unwrap() {
            *epoch = json!(by(epoch.as_u64().unwrap()));
        }
    }
}

/// A later build that is a quarter faster, beside peers that nobody measured again.
#[test]
fn peers_whose_times_are_another_runs_are_refused() {
    let mut lines = lines();
    let one = parsed("one", &lines).unwrap();
    lines[0]["date"] = json!("2026-11-25T17:24:16Z");
    lines[0]["tool"]["commit"] = json!("ffffffffffff");
    let faster = |lines: &mut [Value], of: fn(&str) -> bool| {
        for block in lines.iter_mut().filter(|line| line["kind"] == "block") {
            changed(block, of, |ns| ns * 4 / 5);
        }
    };
    faster(&mut lines, |name| name.starts_with("candor"));
    let other = parsed("other", &lines).unwrap();
    let compared = |other: Run| Comparison::of(&[("one".into(), one.clone()), ("other".into(), other)]);
    let error = compared(other).unwrap_err().to_string();
    assert!(error.starts_with("other, line ") && error.contains(" the very times of "), "{error}");
    assert!(error.ends_with(" in one: one is a copy of the other"), "{error}");
    // The undamaged twin has peers of its own. So does, to us, who changes each time a little: only the very times are found.
    faster(&mut lines, |name| !name.starts_with("candor"));
    assert!(compared(parsed("other", &lines).unwrap()).is_ok());
}

#[test]
fn a_subject_whose_times_are_another_process_s_or_another_subject_s_is_refused() {
    let copied = |from: &str, to: &str| {
        let mut lines = lines();
        let mut blocks = blocks(&mut lines, "ec/x25519/keygen");
        blocks[1]["ns"][to] = blocks[0]["ns"][from].clone();
        parsed("copied", &lines)
    };
    let why = copied("ring-0.17.14", "ring-0.17.14").unwrap_err().why;
    assert!(why.starts_with("ring-0.17.14 has in process ") && why.contains(" the very times of another"), "{why}");
    assert!(copied("graviola-0.4.4", "ring-0.17.14").is_err());
    assert!(parsed("whole", &lines()).is_ok());
}

#[test]
fn processes_that_are_one_and_a_few_nanoseconds_get_a_lint() {
    let lints = |lines: &[Value]| {
        let lints = Report::of(&parsed("run", lines).unwrap()).lints.into_iter();
        lints
            .filter(|lint| lint.name == "identical-processes")
            .map(|lint| format!("{}: {}", lint.subject, lint.text))
            .collect::<Vec<_>>()
    };
    let mut lines = lines();
    assert_eq!(lints(&lines), [""; 0]);
    let mut blocks = blocks(&mut lines, "ec/x25519/keygen");
    let first = blocks[0]["ns"].clone();
    for (more, block) in blocks.iter_mut().enumerate() {
        block["ns"] = first.clone();
        changed(block, |_| true, |ns| ns + more as u64);
    }
    let found = lints(&lines);
    assert_eq!(found.len(), 12, "each subject, and the baseline twice: {found:?}");
    assert_eq!(found[0], "candor@adx: the medians of 15 processes lie within 14 ns; the clock has steps of 20 ns");
}
