//! What stands beside the tables and figures of a paper: where they come from, and how to get them again.

use super::markdown::{code, escape};
use crate::analysis::Report;
use crate::latex::is_file_name;
use crate::runfile::Run;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How the document begins, by which a later report knows that it may replace it.
pub const ARTIFACT_MARK: &str = "<!-- Made by `candor report` from the runs below; a new report replaces it. -->";

/// How a document begins that shows tables and figures as they are.
pub const PREVIEW_MARK: &str =
    "% Made by `candor report`: shows the tables and figures beside it. Make it with `pdflatex preview.tex`, twice.";

/// A document in LaTeX that includes these reports, which stand beside it as `<name>.tex`.
pub fn preview<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let input = |name: &str| match is_file_name(name) {
        true => format!("\\input{{{name}.tex}}\n\\clearpage\n"),
        false => "% A report is left out, since TeX can't read the name of its file: rename the run.\n".to_owned(),
    };
    let inputs: String = names.into_iter().map(input).collect();
    format!(
        "{PREVIEW_MARK}\n\\documentclass{{article}}\n\\usepackage[margin=2cm]{{geometry}}\n\\usepackage{{booktabs,graphicx}}\n\\extrafloats{{500}}\\maxdeadcycles=1000\n\
         \\begin{{document}}\n{inputs}\\end{{document}}\n"
    )
}

/// The document, in Markdown. `again` is the command line that makes everything beside it.
pub fn artifact(runs: &[Run], again: &str) -> String {
    let mut out = format!(
        "{ARTIFACT_MARK}\n\n# How to reproduce these tables and figures\n\nEverything beside this file was derived from sealed run files. Nothing was typed in.\n"
    );
    let files = runs.iter().map(file).collect::<Vec<_>>().join(" ");

    out += "\n## The runs\n\n| run | seal | began (UTC) | took | plan | machine | command |\n|---|---|---|--:|---|---|---|\n";
    for run in runs {
        let manifest = &run.manifest;
        let plan = format!(
            "{} tasks, {} comparisons, {} processes each",
            run.tasks.len(),
            manifest.comparisons,
            manifest.processes
        );
        let cells = [
            escape(&run.name),
            code(&run.sha256),
            escape(&manifest.date),
            format!("{:.0} s", run.end.seconds),
            plan,
            escape(&manifest.machine.line()),
            code(&manifest.command.join(" ")),
        ];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }

    let _ = write!(
        out,
        "\nThe seal is the SHA-256 of everything above the last line of the file. It shows that a run was not changed by accident. A signature beside a run, if there \
         is one, says who made it.\n\n## Derive them again\n\nA minute, on any machine with candor:\n\n```sh\ncandor verify {files}\n{again}\n```\n\nThe same version \
         of candor writes the same bytes.\n\n## Measure again\n\n"
    );
    out += &measure_again(runs);
    out += "The runs were made with:\n\n";
    for (commit, builds) in builds(runs) {
        for build in builds {
            let _ = writeln!(out, "- candor {}: {build}", escape(&commit));
        }
    }

    out += "\n### The other libraries\n\nThose that are linked in come with candor's `Cargo.lock`. `candor list peers` says which of the others it finds, and how to get the rest.\n\n\
            | library | version | commit or package | build | shared object (SHA-256) |\n|---|---|---|---|---|\n";
    for cells in peers(runs) {
        let _ = writeln!(out, "| {} |", cells.map(|cell| escape(&cell)).join(" | "));
    }

    out += "\n## What speaks against them\n\nWhat candor's lints found in these runs; `candor explain NAME` says why each matters.\n\n";
    for run in runs {
        let report = Report::of(run);
        if report.lints.is_empty() {
            let _ = writeln!(out, "- {}: nothing", escape(&run.name));
        }
        for lint in report.lints {
            let of = [lint.task.as_str(), lint.subject.as_str()].into_iter().filter(|text| !text.is_empty());
            let of: String = of.map(|text| format!(" {text}")).collect();
            let _ = writeln!(out, "- {}: `{}`{}: {}", escape(&run.name), lint.name, escape(&of), escape(&lint.text));
        }
    }
    out
}

/// The commands that measure the runs again. Those that can't be repeated so are named with the reason.
fn measure_again(runs: &[Run]) -> String {
    let mut out = String::new();
    let repeated: Vec<&Run> = runs.iter().filter(|run| not_repeated(run).is_none()).collect();
    if !repeated.is_empty() {
        out += "On a quiet machine, with the build that measured:\n\n```sh\n";
        for (commit, _) in builds(repeated.iter().copied()) {
            let _ = writeln!(out, "git checkout {commit} && cargo build --release --locked");
            for run in repeated.iter().filter(|run| commit_of(run) == commit) {
                let _ = writeln!(out, "target/release/candor rerun {}", file(run));
            }
        }
        out += "```\n\n`rerun` measures the same plan and says which verdicts hold. Expect the ratios to come out alike on the same kind of CPU, within the intervals and the floor \
                that each table states. Times differ from machine to machine, and ratios may differ between kinds of CPU.\n\n";
    }
    let reasons = runs.iter().filter_map(|run| Some((run, not_repeated(run)?)));
    let reasons: Vec<String> = reasons.map(|(run, why)| format!("- {}: {why}\n", escape(&run.name))).collect();
    if !reasons.is_empty() {
        let _ = write!(out, "These can't be repeated by `rerun`:\n\n{}\n", reasons.concat());
    }
    out
}

/// Why nobody can repeat a run by checking out its commit and calling `rerun`.
fn not_repeated(run: &Run) -> Option<&'static str> {
    let commit = commit_of(run);
    // Whatever else stands there would be a command of a stranger's.
    let is_hex = (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if run.is_import() {
        Some("an import: only its own tool can measure that again")
    } else if run.manifest.paired.is_some() {
        Some("pairs two builds: `candor run --against` measures both again")
    } else if run.tasks.is_empty() {
        Some("a self-test: `candor doctor --self-test` makes another")
    } else {
        (!is_hex).then_some("does not name the commit of its build")
    }
}

/// The run's file as a word of a command.
fn file(run: &Run) -> String {
    shell_path(&format!("{}.jsonl", run.name))
}

/// A path as a shell takes it for one word, and a program for no option.
pub fn shell_path(path: &str) -> String {
    // A line break would begin another command, and could end the block that it stands in.
    let path: String = path.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let path = if path.starts_with('-') { format!("./{path}") } else { path };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+/=:@,".contains(c);
    match !path.is_empty() && path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

fn commit_of(run: &Run) -> &str {
    run.manifest.tool.commit.as_deref().unwrap_or("of an unknown commit")
}

/// The commits that measured, each with its compilers and flags. A tree with changes that no commit has says so.
fn builds<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<(String, BTreeSet<String>)> {
    let mut found: Vec<(String, BTreeSet<String>)> = Vec::new();
    for run in runs {
        let tool = &run.manifest.tool;
        let commit = commit_of(run).to_owned();
        let changed = if tool.dirty { ", with changes that no commit has: nobody can build it again" } else { "" };
        let build = escape(&format!("version {}, {}, {}{changed}", tool.version, tool.rustc, tool.build));
        match found.iter_mut().find(|(known, _)| *known == commit) {
            Some((_, builds)) => {
                builds.insert(build);
            }
            None => found.push((commit, BTreeSet::from([build]))),
        }
    }
    found
}

/// Every library that is not ours, once for each way in which it was built.
fn peers(runs: &[Run]) -> BTreeSet<[String; 5]> {
    let all = runs.iter().flat_map(|run| &run.subjects).map(|subject| &subject.provenance);
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let cells = all.filter(|of| of.library != "candor").map(|of| {
        [of.library.clone(), of.version.clone(), known(&of.commit), known(&of.build), known(&of.object_sha256)]
    });
    cells.collect()
}
