//! Reports as Markdown: every mark is there, and nothing of a run is markup.

use candor_lab::analysis::Report;
use candor_lab::compare::Comparison;
use candor_lab::report::{Form, Maker, artifact, render, render_comparison};
use candor_lab::runfile::{Run, Tool};
use std::path::{Path, PathBuf};

fn open(path: &str) -> Run {
    Run::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn sample() -> Run {
    open("crates/candor/tests/runs/sample.jsonl")
}

#[test]
fn rows_that_are_simulated_or_insecure_are_marked() {
    let mut report = Report::of(&sample());
    report.tasks[0].rows[0].provenance.evidence = candor_lab::Evidence::Simulated;
    report.tasks[0].rows[1].provenance.insecure = Some("no secret".into());
    let text = render(std::slice::from_ref(&report), &[], Form::Markdown);
    for (row, mark) in report.tasks[0].rows.iter().zip(["SIMULATED", "INSECURE"]) {
        let cell = format!("\n| {} {mark} | ", row.subject);
        assert!(text.contains(&cell), "{cell} in {text}");
    }
}

/// What somebody may have written into a run.
const TAG: &str = "<img src=x> [a](b)";

/// Whether a tag or a link of it is one.
fn is_markup(text: &str) -> bool {
    let text = text.replace("\\<", "").replace("\\]", "");
    text.contains("<img") || text.contains("](")
}

/// The run with tags for its words.
fn tagged(run: Run) -> Run {
    let mut run = Run { name: format!("run {TAG}"), ..run };
    run.manifest.machine.cpu = TAG.into();
    run.manifest.machine.os = TAG.into();
    run.manifest.tool.commit = Some(TAG.into());
    run.manifest.tool.rustc = TAG.into();
    run.tasks.iter_mut().for_each(|task| task.what = TAG.into());
    run.refusals.iter_mut().for_each(|refusal| refusal.reason = TAG.into());
    run.subjects.iter_mut().for_each(|subject| subject.provenance.version = TAG.into());
    run
}

#[test]
fn nothing_of_a_run_is_a_tag_or_a_link() {
    assert!(is_markup(TAG) && !is_markup("\\<img src=x> [a\\](b)"));
    let run = tagged(sample());
    let mut report = Report::of(&run);
    report.lints.iter_mut().for_each(|lint| lint.text = TAG.into());
    let text = render(&[report], &[], Form::Markdown);
    assert!(text.contains("\\<img") && !is_markup(&text), "{text}");
    let text = artifact(&[run], "", Maker { tool: &Tool::default(), repository: "" });
    assert!(text.contains("\\<img") && !is_markup(&outside_of_code(&text)), "{text}");
}

/// A text without its blocks of code, in which nothing is markup.
fn outside_of_code(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

#[test]
fn nothing_of_a_run_is_a_tag_or_a_link_in_a_comparison() {
    let paired = tagged(open("crates/candor/tests/runs/paired-slower.jsonl"));
    for runs in [
        vec![
            tagged(open("crates/candor/tests/runs/flips-here.jsonl")),
            open("crates/candor/tests/runs/flips-there.jsonl"),
        ],
        vec![paired],
    ] {
        let runs: Vec<(PathBuf, Run)> = runs.into_iter().map(|run| (PathBuf::from(&run.name), run)).collect();
        let text = render_comparison(&Comparison::of(&runs).unwrap(), &[], Form::Markdown);
        assert!(text.contains("\\<img") && !is_markup(&text), "{text}");
    }
}
