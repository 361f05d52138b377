//! What stands beside the tables and figures of a paper: where they come from, and how to get them again.

use super::markdown::{code, escape};
use crate::analysis::Report;
use crate::latex::is_file_name;
use crate::owner::{PROGRAM, is_program, program_row};
use crate::runfile::{Run, SubjectRecord, Tool};
use std::collections::{BTreeMap, BTreeSet};
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

/// Who writes the document.
#[derive(Clone, Copy, Debug)]
pub struct Maker<'a> {
    /// This build.
    pub tool: &'a Tool,
    /// Where its source is. Empty if its package does not say.
    pub repository: &'a str,
}

/// The document, in Markdown. `again` is the command line that makes everything beside it.
pub fn artifact(runs: &[Run], again: &str, maker: Maker<'_>) -> String {
    let Tool { version, commit, .. } = maker.tool;
    let commit = commit.as_ref().map_or("of an unknown commit".to_owned(), |commit| format!("commit {}", code(commit)));
    let changed = changed(maker.tool);
    let mut out = format!(
        "{ARTIFACT_MARK}\n\n# How to reproduce these tables and figures\n\nEverything beside this file was derived from sealed run files. Nothing was typed in.\n\n\
         Made by candor {}, {commit}{changed}.\n",
        escape(version)
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
         is one, says who made it.\n\n## Derive them again\n\nA minute, on any machine with candor, in the folder that has the run files:\n\n```sh\ncandor verify {files}\n{again}\n```\n\n\
         The build that made this file writes the same bytes. Another one derives the same numbers from the same runs, and may put them into other words.\n\n## Measure again\n\n"
    );
    out += &measure_again(runs, maker.repository);
    out += "The runs were made with:\n\n";
    for (commit, builds) in builds(runs) {
        for build in builds {
            let _ = writeln!(out, "- candor {}: {build}", escape(&commit));
        }
    }

    out += "\n### The other libraries\n\nThose that are linked in come with candor's `Cargo.lock`. `candor list peers` says which of the others it finds, and how to get the rest.\n\n\
            A program that was measured as `program-NAME` says itself how its library is called and which version it is; its digest is that of its file.\n\n\
            | library | version | commit or package | build | shared object or program (SHA-256) | rows |\n|---|---|---|---|---|---|\n";
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
fn measure_again(runs: &[Run], repository: &str) -> String {
    let mut out = String::new();
    let repeated: Vec<&Run> = runs.iter().filter(|run| not_repeated(run).is_none()).collect();
    if !repeated.is_empty() {
        out += "On a quiet machine, with the build that measured. Begin in the folder that has the run files:\n\n```sh\nRUNS=$PWD\n";
        let with_programs = repeated.iter().any(|run| programs(run).next().is_some());
        if with_programs {
            out += "PROGRAMS=$PWD    # the folder that has the programs that were measured\n";
        }
        out += &match repository {
            "" => "cd ../candor    # your clone of candor's repository\n".to_owned(),
            address => format!("git clone {} candor && cd candor\n", shell_path(address)),
        };
        for (commit, _) in builds(repeated.iter().copied()) {
            let _ = writeln!(out, "git checkout {commit} && cargo build --release --locked");
            for run in repeated.iter().filter(|run| commit_of(run) == commit) {
                let given = programs(run).map(|name| format!(" --peer-program \"$PROGRAMS\"/{}", shell_path(&name)));
                let _ =
                    writeln!(out, "target/release/candor rerun \"$RUNS\"/{}{}", file(run), given.collect::<String>());
            }
        }
        out += "```\n\n";
        if repository.is_empty() {
            out += "The clone must have the commits above. This file does not say where to get one, since the package of candor that made it names no repository: before you publish the \
                    file, add the address.\n\n";
        }
        if with_programs {
            out += "A program is named by its file, as the run's command has it; the table below has its digest. Builds from before 2026-11-28 know no `rerun --peer-program` and leave its rows out.\n\n";
        }
        out += "`rerun` measures the same plan and says which verdicts hold. Expect the ratios to come out alike on the same kind of CPU, within the intervals and the floor \
                that each table states. Times differ from machine to machine, and ratios may differ between kinds of CPU.\n\n";
    }
    let reasons = runs.iter().filter_map(|run| Some((run, not_repeated(run)?)));
    let reasons: Vec<String> = reasons.map(|(run, why)| format!("- {}: {why}\n", escape(&run.name))).collect();
    if !reasons.is_empty() {
        let _ = write!(out, "These can't be repeated by `rerun`:\n\n{}\n", reasons.concat());
    }
    out
}

/// The files of the programs that the run measured, by the names in its command; where that does not tell, by the names of their rows.
fn programs(run: &Run) -> impl Iterator<Item = String> {
    let rows: BTreeSet<&str> =
        run.subjects.iter().map(|subject| subject.subject.as_str()).filter(|subject| is_program(subject)).collect();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let command = &run.manifest.command;
    let behind = command.windows(2).filter(|words| words[0] == "--peer-program").map(|words| words[1].as_str());
    for word in command.iter().filter_map(|word| word.strip_prefix("--peer-program=")).chain(behind) {
        let file = word.rsplit('/').next().unwrap_or(word);
        files.insert(program_row(file), file.to_owned());
    }
    let file = |row: &str| files.get(row).cloned().unwrap_or_else(|| row.trim_start_matches(PROGRAM).to_owned());
    rows.into_iter().map(file).collect::<Vec<_>>().into_iter()
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
    } else if run.manifest.tool.dirty {
        Some("built from a tree with changes that no commit has: nobody can build it again")
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
        let build = escape(&format!("version {}, {}, {}{}", tool.version, tool.rustc, tool.build, changed(tool)));
        match found.iter_mut().find(|(known, _)| *known == commit) {
            Some((_, builds)) => {
                builds.insert(build);
            }
            None => found.push((commit, BTreeSet::from([build]))),
        }
    }
    found
}

/// What is added to a build that its commit does not make.
fn changed(tool: &Tool) -> &'static str {
    if tool.dirty { ", with changes that no commit has: nobody can build it again" } else { "" }
}

/// Every library that is not ours, once for each way in which it was built, and its rows.
fn peers(runs: &[Run]) -> Vec<[String; 6]> {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let mut found: BTreeMap<[String; 5], BTreeSet<&str>> = BTreeMap::new();
    let is_peer = |subject: &&SubjectRecord| !subject.provenance.is_ours(&subject.subject);
    for SubjectRecord { subject, provenance: of, .. } in runs.iter().flat_map(|run| &run.subjects).filter(is_peer) {
        let cells =
            [of.library.clone(), of.version.clone(), known(&of.commit), known(&of.build), known(&of.object_sha256)];
        found.entry(cells).or_default().insert(subject);
    }
    let row = |([library, version, commit, build, object], rows): ([String; 5], BTreeSet<&str>)| {
        [library, version, commit, build, object, rows.into_iter().collect::<Vec<_>>().join(", ")]
    };
    found.into_iter().map(row).collect()
}
