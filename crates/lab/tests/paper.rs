//! Reports as LaTeX: whatever a run says, what comes out is a document that TeX can read.

use candor_lab::Provenance;
use candor_lab::analysis::{Report, beside};
use candor_lab::compare::Comparison;
use candor_lab::import::{self, Origin};
use candor_lab::machine::Machine;
use candor_lab::report::{ARTIFACT_MARK, Form, Maker, artifact, preview, render, render_comparison};
use candor_lab::runfile::{Run, Tool};
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn sample() -> Run {
    Run::open(&from_root("crates/candor/tests/runs/sample.jsonl")).unwrap()
}

/// The sample, and some of the committed runs: with rates, phases, quantities, simulated rows and other work among them.
fn runs() -> Vec<Run> {
    let entries = std::fs::read_dir(from_root("runs")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.sort();
    paths.iter().step_by(9).map(|path| Run::open(path).unwrap()).chain([sample()]).collect()
}

/// What is wrong with a text of LaTeX, as far as braces, environments, cells of tables and bare characters go.
fn fault(tex: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let (mut braces, mut cells) = (0usize, 0);
    for line in tex.lines().filter(|line| !line.starts_with('%')) {
        // A degree is written with `^`, and names of files as they are.
        let plain = line.replace("\\ensuremath{^", "\\ensuremath{");
        let plain = if line.contains("\\includegraphics") { plain.replace('_', "-") } else { plain };
        let mut escaped = false;
        for c in plain.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '{' => braces += 1,
                '}' if braces == 0 => return Some(format!("a brace too many: {line}")),
                '}' => braces -= 1,
                '$' | '#' | '~' | '^' | '_' | '%' => return Some(format!("{c} stands bare: {line}")),
                _ if c == ' ' || c.is_ascii_graphic() => {}
                _ => return Some(format!("{c:?} is not in ASCII: {line}")),
            }
        }
        let line = line.trim();
        if let Some((name, rest)) = line.strip_prefix("\\begin{").and_then(|rest| rest.split_once('}')) {
            open.push(name);
            cells = if name == "tabular" { columns(rest) } else { cells };
        }
        if let Some((name, _)) = line.strip_prefix("\\end{").and_then(|rest| rest.split_once('}')) {
            match open.pop() {
                Some(begun) if begun == name => {}
                other => return Some(format!("{name} ends and {other:?} has begun")),
            }
        }
        if let Some(row) = line.strip_suffix(" \\\\").filter(|row| !row.contains("\\multicolumn")) {
            let found = row.replace("\\&", "").matches('&').count() + 1;
            if found != cells {
                return Some(format!("{found} cells in a table of {cells}: {line}"));
            }
        }
    }
    (braces != 0 || !open.is_empty()).then(|| format!("{braces} braces and {open:?} are left open"))
}

/// How many columns `{@{}lp{.3\linewidth}r@{}}` has.
fn columns(spec: &str) -> usize {
    let mut depth = 0;
    let mut count = 0;
    for c in spec.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            'l' | 'r' | 'c' | 'p' if depth == 1 => count += 1,
            _ => {}
        }
    }
    count
}

fn tex(run: &Run) -> String {
    render(&[Report::of(run)], &[], Form::Tex)
}

#[test]
fn braces_environments_and_cells_are_right_in_every_table() {
    for run in runs() {
        let tex = tex(&run);
        assert_eq!(fault(&tex), None, "{}", run.name);
        assert_eq!(tex.contains("\\begin{tabular}"), !run.blocks.is_empty(), "{}", run.name);
        // What finds no fault would find one.
        if let Some((before, after)) = tex.split_once(" & ") {
            assert!(fault(&format!("{before} {after}")).is_some(), "{}: a cell less", run.name);
            assert!(fault(&tex.replacen("\\end{tabular}", "", 1)).is_some(), "{}: an end less", run.name);
            assert!(fault(&tex.replacen("}\n", "\n", 1)).is_some(), "{}: a brace less", run.name);
        }
    }
}

#[test]
fn braces_environments_and_cells_are_right_in_the_tables_of_a_comparison() {
    let runs = runs().into_iter().filter(|run| run.trials.is_empty());
    let runs: Vec<(PathBuf, Run)> = runs.map(|run| (PathBuf::from(&run.name), run)).collect();
    let tex = render_comparison(&Comparison::of(&runs).unwrap(), &[], Form::Tex);
    assert_eq!(fault(&tex), None);
    assert!(tex.contains("\\begin{tabular}") && tex.contains(" & "), "{tex}");
}

#[test]
fn a_caption_says_what_a_reader_must_know() {
    let run = sample();
    let tex = tex(&run);
    let captions: Vec<&str> = tex.lines().filter(|line| line.contains("\\caption")).collect();
    assert_eq!(captions.len(), 1, "the two tasks differ in the last part of their names only");
    for expected in [
        "self-test. Medians over 8 processes with 6 rounds each (n)",
        "exact sign-test interval over the processes at level 0.05/",
        "No difference below 2.6 to 3.8 \\%, by the control of each task, is claimed",
        "AMD EPYC (zen5), 2 CPUs, virtual machine",
        "candor 1c91adb78a9d+dirty, run sample of 2026-11-21",
    ] {
        assert!(captions[0].contains(expected), "{expected} in {}", captions[0]);
    }
    assert!(tex.contains("kernel-panics: panicked: this subject of the self-test panics on purpose."), "{tex}");
    assert!(tex.contains("busy-machine: others used"), "{tex}");
}

#[test]
fn a_row_that_does_other_work_has_no_ratio() {
    let shown = |verdict| {
        let mut report = Report::of(&sample());
        report.tasks[0].rows[1].ratio = 7.77;
        report.tasks[0].rows[1].verdict = verdict;
        render(&[report], &[], Form::Tex).contains("7.77")
    };
    assert!(!shown(candor_lab::verdict::Verdict::None));
    assert!(shown(candor_lab::verdict::Verdict::CantTell));
}

/// An import with a figure of SHA-256.
fn import() -> Run {
    let dir = tempfile::tempdir().unwrap();
    let file = "openssl-mr-1s.txt";
    let bytes = std::fs::read(from_root("crates/lab/tests/imports").join(file)).unwrap();
    let tasks = [("sha256/1024".to_owned(), "hash/sha256/1k".to_owned())].into();
    let sheet = import::read(&bytes, None).unwrap();
    let origin = Origin { machine: Machine::told("A & B"), file: file.into(), bytes, tasks, ..Origin::default() };
    let path = import::save(&sheet, &origin, Tool::default(), Vec::new(), dir.path()).unwrap();
    Run::open(&path).unwrap()
}

#[test]
fn an_imported_figure_names_its_import_its_machine_and_what_speaks_against_it() {
    let import = import();
    let run = Run::open(&from_root("runs/2026-11-21-zen5-1d3043.jsonl")).unwrap();
    let both = beside(vec![Report::of(&run), Report::of(&import)]);
    let tex = render(&both[..1], &[], Form::Tex);
    assert_eq!(fault(&tex), None);
    assert!(tex.contains("openssl+speed IMPORTED\\textsuperscript{a,b,c} & "), "{tex}");
    for note in [
        format!("import {}, of A \\& B (as told)", import.name.replace("--", "-{}-")).as_str(),
        "different-machine: figures of A \\& B (as told)",
        "clock-too-coarse: one step of its clock",
    ] {
        assert!(tex.contains(note), "{note} in {tex}");
    }
    let alone = render(&[Report::of(&import)], &[], Form::Tex);
    assert_eq!(fault(&alone), None);
    assert!(alone.contains("imported from openssl-mr-1s.txt, output of openssl-mr; nothing was measured."), "{alone}");
    assert!(alone.contains("IMPORTED\\textsuperscript{a} & ") && alone.contains("clock-too-coarse"), "{alone}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Names and reasons come from files that anybody may have written.
    #[test]
    fn no_text_of_a_run_is_a_command(text in "[ -~µ–\\n]{0,30}|\\PC{0,12}") {
        let run = sample();
        let mut report = Report::of(&run);
        report.commit.clone_from(&text);
        report.conditions.clone_from(&text);
        for task in &mut report.tasks {
            task.task.clone_from(&text);
            task.rows.iter_mut().for_each(|row| row.subject.clone_from(&text));
            task.refusals.iter_mut().for_each(|refusal| refusal.reason.clone_from(&text));
        }
        for lint in &mut report.lints {
            lint.task.clone_from(&text);
            lint.subject.clone_from(&text);
            lint.text.clone_from(&text);
        }
        prop_assert_eq!(fault(&render(&[report], &[], Form::Tex)), None);
    }
}

#[test]
fn the_preview_includes_reports_with_names_that_tex_can_read() {
    let text = preview(["2026-11-21-zen5-1d3043", "my_run", "a%b", "a}\\input{b"]);
    let included: Vec<&str> = text.lines().filter(|line| line.starts_with("\\input")).collect();
    assert_eq!(included, ["\\input{2026-11-21-zen5-1d3043.tex}", "\\input{my_run.tex}"]);
    assert_eq!(text.lines().filter(|line| line.starts_with("% A report is left out")).count(), 2);
}

#[test]
fn the_tables_can_be_typeset() {
    let Some(engine) =
        ["pdflatex", "tectonic"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
    else {
        // Past the test harness, which swallows what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: neither pdflatex nor tectonic here (Debian packages texlive-latex-recommended)"
        );
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    // Each third is enough: TeX takes its time over hundreds of figures.
    let all = runs();
    let mut shown: Vec<&Run> = all.iter().rev().step_by(3).collect();
    let named = Run { name: "under_score".into(), ..sample() };
    shown.push(&named);
    for run in &shown {
        write(&format!("{}.tex", run.name), &(tex(run) + &figures(run, dir.path())));
    }
    write("paper.tex", &preview(shown.iter().map(|run| run.name.as_str())));
    let stop = if engine == "pdflatex" { &["-interaction=nonstopmode", "-halt-on-error"][..] } else { &[] };
    let output = Command::new(engine).args(stop).arg("paper.tex").current_dir(dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let error = said.lines().skip_while(|line| !line.starts_with('!')).take(12).collect::<Vec<_>>().join("\n");
    assert!(output.status.success(), "{error}\n{}", said.lines().last().unwrap_or_default());
    assert!(dir.path().join("paper.pdf").is_file());
}

/// The environments of the run's figures, whose files go into the directory.
#[cfg(feature = "figures")]
fn figures(run: &Run, directory: &Path) -> String {
    use candor_lab::figure;
    let one = |drawn: &figure::Figure| {
        let file = format!("{}-{}.pdf", run.name, drawn.name);
        std::fs::write(directory.join(&file), figure::pdf(drawn).unwrap()).unwrap();
        let tex = figure::tex(drawn, &file);
        assert_eq!(fault(&tex), None, "{file}");
        tex
    };
    figure::figures(&Report::of(run)).iter().map(one).collect()
}

#[cfg(not(feature = "figures"))]
fn figures(_: &Run, _: &Path) -> String {
    String::new()
}

/// The artifact by a build of which nothing is known.
fn made(runs: &[Run], again: &str) -> String {
    artifact(runs, again, Maker { tool: &Tool::default(), repository: "" })
}

/// The sample, as if its tree had been clean.
fn clean() -> Run {
    let mut run = sample();
    run.manifest.tool.dirty = false;
    run
}

#[test]
fn the_artifact_names_its_maker_and_where_the_source_is() {
    let tool = |dirty| Tool { version: "0.9".into(), commit: Some("577aaf60c0de".into()), dirty, ..Tool::default() };
    let of = |tool: &Tool, repository| artifact(&[clean()], "", Maker { tool, repository });
    let text = of(&tool(false), "https://example.org/candor; rm");
    assert!(text.contains("\nMade by candor 0.9, commit `577aaf60c0de`.\n"), "{text}");
    assert!(
        text.contains("\nRUNS=$PWD\ngit clone 'https://example.org/candor; rm' candor && cd candor\ngit checkout"),
        "{text}"
    );
    assert!(!text.contains("names no repository"));
    let text = of(&tool(true), "");
    assert!(
        text.contains("commit `577aaf60c0de`, with changes that no commit has: nobody can build it again.\n"),
        "{text}"
    );
    assert!(text.contains("names no repository") && !text.contains("git clone"), "{text}");
    assert!(made(&[clean()], "").contains("of an unknown commit"));
}

/// A program says itself how its library is called, and its rows need it again.
#[test]
fn the_artifact_lists_programs_by_their_rows_and_says_how_to_repeat_them() {
    let mut run = clean();
    run.manifest.command =
        ["candor", "run", "--peer-program", "bin/sha 256.py", "--peer-program=…/other"].map(str::to_owned).to_vec();
    let mut add = |name: &str, library: &str| {
        let mut subject = run.subjects[0].clone();
        subject.subject = name.into();
        subject.provenance =
            Provenance { object_sha256: Some("ab".repeat(32)), ..Provenance::of(library, "1", "hashes") };
        run.subjects.push(subject);
    };
    add("program-sha-256", "candor");
    add("program-other", "hashlib");
    add("program-third", "hashlib");
    let text = made(&[run], "");
    let digest = "ab".repeat(32);
    assert!(text.contains(&format!("| candor | 1 | – | – | {digest} | program-sha-256 |\n")), "{text}");
    assert!(text.contains(&format!("| hashlib | 1 | – | – | {digest} | program-other, program-third |\n")), "{text}");
    let given = "--peer-program \"$PROGRAMS\"/other --peer-program \"$PROGRAMS\"/'sha 256.py' --peer-program \"$PROGRAMS\"/third\n";
    assert!(
        text.contains(&format!("rerun \"$RUNS\"/sample.jsonl {given}")) && text.contains("\nPROGRAMS=$PWD"),
        "{text}"
    );
    assert!(!made(&[clean()], "").contains("PROGRAMS"));
}

#[test]
fn the_artifact_names_runs_builds_peers_and_doubts() {
    let runs = runs();
    let text = made(&runs, "candor report a.jsonl --format tex -o again");
    assert!(text.starts_with(ARTIFACT_MARK));
    for run in &runs {
        assert!(text.contains(&format!("| {} | `{}` |", run.name, run.sha256)), "{}", run.name);
        if run.tasks.is_empty() {
            assert!(text.contains(&format!("\n- {}: a self-test: ", run.name)), "{}", run.name);
            continue;
        }
        if run.manifest.tool.dirty {
            let why = "built from a tree with changes that no commit has: nobody can build it again";
            assert!(text.contains(&format!("\n- {}: {why}\n", run.name)), "{}", run.name);
            assert!(!text.contains(&format!("/{}.jsonl\n", run.name)), "{}: no command repeats it", run.name);
            continue;
        }
        assert!(
            text.contains(&format!("\ntarget/release/candor rerun \"$RUNS\"/{}.jsonl\n", run.name)),
            "{}",
            run.name
        );
        let Some(commit) = &run.manifest.tool.commit else { continue };
        // The run is repeated by the build that made it.
        let (_, after) =
            text.split_once(&format!("\ngit checkout {commit} && cargo build --release --locked\n")).unwrap();
        let (own, _) = after.split_once("git checkout").or(after.split_once("```")).unwrap();
        assert!(own.contains(&format!("rerun \"$RUNS\"/{}.jsonl\n", run.name)), "{}", run.name);
        let peers = run.subjects.iter().map(|subject| &subject.provenance).filter(|of| of.library != "candor");
        for of in peers {
            assert!(text.contains(&format!("| {} | {} |", of.library, of.version)), "{} {}", of.library, of.version);
        }
    }
    assert!(text.contains("\ncandor report a.jsonl --format tex -o again\n"));
    assert!(
        text.contains("with changes that no commit has: nobody can build it again"),
        "the sample's tree was changed"
    );
    assert!(text.contains("- sample: `busy-machine`: others used"), "{text}");
    assert!(!made(&[clean()], "").contains("changes that no commit has"));
}

#[test]
fn what_rerun_refuses_is_named_with_the_reason_and_nothing_of_a_run_is_a_command() {
    let named = Run { name: "-a b; $(rm)'\n".into(), ..clean() };
    let mut strange = Run { name: "strange".into(), ..clean() };
    strange.manifest.tool.commit = Some("main; rm -rf ~".into());
    let paired = Run::open(&from_root("crates/candor/tests/runs/paired-same.jsonl")).unwrap();
    let import = import();
    let text = made(&[named, strange, paired, import.clone()], "");
    let (_, after) = text.split_once("## Measure again\n").unwrap();
    let (commands, after) = after.split_once("```sh\n").unwrap().1.split_once("```\n").unwrap();
    let rerun = "target/release/candor rerun \"$RUNS\"/'./-a b; $(rm)'\\''?.jsonl'";
    let before = "RUNS=$PWD\ncd ../candor    # your clone of candor's repository\n";
    assert_eq!(commands, format!("{before}git checkout 1c91adb78a9d && cargo build --release --locked\n{rerun}\n"));
    for why in [
        "- strange: does not name the commit of its build\n",
        "- paired-same: pairs two builds: `candor run --against` measures both again\n",
        format!("- {}: an import: only its own tool can measure that again\n", import.name).as_str(),
    ] {
        assert!(after.contains(why), "{why} in {after}");
    }
    assert!(!made(&[import], "").contains("git checkout"));
}
