//! Run files that were cut, edited, forged or made by a later version.

mod forgeries;

use candor_lab::machine::Machine;
use candor_lab::plan::TaskPlan;
use candor_lab::runfile::*;
use candor_lab::schedule::{Draws, Due, Schedule, Tried, turns};
use candor_lab::{Habit, Kind, Provenance, Used};
use candor_test_support::runs::reseal;
use forgeries::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A small run, written as candor writes it.
fn sealed(directory: &Path) -> (String, Vec<u8>) {
    sealed_on(directory, Machine { cpu: "Test CPU".into(), ..Machine::default() })
}

fn sealed_on(directory: &Path, machine: Machine) -> (String, Vec<u8>) {
    let manifest = Manifest {
        schema: SCHEMA,
        date: "2026-11-21T10:00:00Z".into(),
        seed: 7,
        comparisons: 1,
        processes: 2,
        settings: BTreeMap::from([("processes".to_owned(), "2".to_owned())]),
        machine,
        clock_quantum_ns: 30,
        ..Manifest::default()
    };
    let mut file = RunWriter::begin(directory, &manifest).unwrap();
    let subjects = vec!["ours".to_owned(), "ours#2".into(), "peer".into()];
    let plan = TaskPlan { subjects: subjects.clone(), iterations: 10, rounds: 5, ..TaskPlan::default() };
    let task = TaskRecord { task: "t".into(), what: "w".into(), bytes: Some(64), plan: Some(plan) };
    file.append(&Record::Task(task)).unwrap();
    for subject in ["ours", "peer"] {
        let (task, subject) = ("t".into(), subject.into());
        let record =
            SubjectRecord { task, subject, provenance: Provenance::default(), quantities: Vec::new(), used: None };
        file.append(&Record::Subject(Box::new(record))).unwrap();
    }
    for Due { process, padding, seed, .. } in Schedule::new(manifest.seed, 1, 1, 2) {
        let epochs = |first: u64| (first + 10 * process as u64..).take(5).collect::<Vec<_>>();
        let ns: BTreeMap<String, Vec<u64>> = subjects.iter().map(|s| (s.clone(), epochs(1000))).collect();
        let orders = Draws::new(seed, 3).orders.take(5).collect();
        let phases = Phases { names: vec!["all".into()], ns: vec![epochs(900)] };
        let phases = BTreeMap::from([("peer".to_owned(), phases)]);
        let block =
            Block { task: "t".into(), process, padding, seed, iterations: 10, ns, phases, orders, ..Block::default() };
        file.append(&Record::Block(block)).unwrap();
    }
    file.append(&Record::End(End { during: Default::default(), seconds: 1.5, interrupted: false })).unwrap();
    let path = file.seal().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(Run::parse("whole", &bytes).is_ok(), "undamaged, it is a run");
    (path.file_stem().unwrap().to_string_lossy().into_owned(), bytes)
}

fn flaw(bytes: &[u8]) -> Flaw {
    Run::parse("test", bytes).expect_err("this is not a run")
}

#[test]
fn a_run_is_read_back_as_written_and_named_after_its_digest() {
    let dir = tempfile::tempdir().unwrap();
    let (name, bytes) = sealed(dir.path());
    let run = Run::parse(&name, &bytes).unwrap();
    assert_eq!((run.tasks.len(), run.blocks.len()), (1, 2));
    assert!(name.starts_with("2026-11-21-test-") && name.ends_with(&run.sha256[..6]), "{name}");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = sealed(dir.path());
    for length in 0..bytes.len() {
        let flaw = flaw(&bytes[..length]);
        assert!(flaw.line >= 1 && flaw.line <= 8, "{length}: {flaw:?}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let without_seal = text.lines().take(7).map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(flaw(without_seal.as_bytes()).line, 7);
    assert!(flaw(without_seal.as_bytes()).why.contains("cut short"));
}

#[test]
fn an_edit_anywhere_breaks_the_seal() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = sealed(dir.path());
    for at in 0..bytes.len() {
        for flip in [1u8, 0x10] {
            let mut edited = bytes.clone();
            edited[at] ^= flip;
            let _ = flaw(&edited);
        }
    }
    let text = String::from_utf8(bytes).unwrap();
    let edited = text.replacen("1001", "0901", 1);
    assert!(flaw(edited.replacen("0901", "901", 1).as_bytes()).why.contains("edited"), "a number was changed");
    let rewritten = flaw(text.replace('\n', "\r\n").as_bytes());
    assert!(rewritten.line == 1 && rewritten.why.contains("ends in CR LF"), "{rewritten:?}");
}

#[test]
fn a_later_schema_is_refused_by_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = sealed(dir.path());
    let later = String::from_utf8(bytes).unwrap().replacen("\"schema\":1", "\"schema\":2", 1);
    let flaw = flaw(later.as_bytes());
    assert!(flaw.line == 1 && flaw.why.contains("schema 2"), "{flaw:?}");
}

#[test]
fn other_files_are_not_runs() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"hello\n", "not JSON"),
        (b"{}\n", "manifest"),
        (b"{\"kind\":\"manifest\"}\n", "schema"),
        (b"\xff\xfe\n", "binary data"),
        (b"\x00\x00\x00\x00", "cut short"),
    ] {
        let flaw = flaw(bytes);
        assert!(flaw.line == 1 && flaw.why.contains(word), "{word}: {flaw:?}");
    }
}

#[test]
fn a_line_after_the_seal_or_the_end_and_a_repeated_block_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = sealed(dir.path());
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let more = format!("{text}{}\n", lines[1]);
    assert!(flaw(more.as_bytes()).why.contains("after the seal"));
    let later = [&lines[..7], &lines[1..2], &lines[7..]].concat().join("\n") + "\n";
    let flaw_of_later = flaw(&reseal(later.as_bytes()));
    assert!(flaw_of_later.line == 8 && flaw_of_later.why.contains("after the end"), "{flaw_of_later:?}");
    let twice = [&lines[..5], &lines[4..]].concat().join("\n") + "\n";
    assert_eq!(flaw(twice.as_bytes()).line, 6);
}

/// A small self-test, of two turns.
fn self_test(directory: &Path) -> Vec<u8> {
    let tried = |name: &str, turns| Tried { name: name.into(), turns };
    let tried = vec![tried("same", 2), tried("more", 2), tried("layout/twin", 1)];
    let manifest =
        Manifest { schema: SCHEMA, comparisons: 1, processes: 9, tried: tried.clone(), ..Manifest::default() };
    let mut file = RunWriter::begin(directory, &manifest).unwrap();
    for name in turns(&tried) {
        let (control, subject) = (vec![0.0; 9], vec![0.01; 9]);
        let trial = Trial { name: name.into(), truth: None, control, subject, lost: 0, follows_itself: None };
        file.append(&Record::Trial(trial)).unwrap();
    }
    file.append(&Record::End(End { during: Default::default(), seconds: 1.0, interrupted: false })).unwrap();
    std::fs::read(file.seal().unwrap()).unwrap()
}

/// The small run after an edit, sealed again.
fn forged(forgery: Forgery) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    edited(&sealed(dir.path()).1, forgery)
}

/// The small self-test after an edit, sealed again.
fn forged_trials(forgery: Forgery) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    edited(&self_test(dir.path()), forgery)
}

fn edited(bytes: &[u8], forgery: impl FnOnce(&mut Vec<Value>)) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seal = lines.pop().unwrap();
    forgery(&mut lines);
    lines.push(seal);
    reseal(lines.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes())
}

#[test]
fn an_epoch_that_lasts_so_long_may_tell_of_work_that_takes_longer() {
    let run = |ns| {
        let dir = tempfile::tempdir().unwrap();
        Run::parse("test", &edited(&sealed(dir.path()).1, |lines| lasting(lines, ns)))
    };
    // Thirty epochs in 1.5 s.
    assert!(run(50_000_000).is_ok(), "{:?}", run(50_000_000).err());
    assert!(run(60_000_000).unwrap_err().why.contains("the epochs took 1.8 s"));
    assert!(run(0).unwrap_err().why.contains("the epochs took 9.0 s"), "where it is the work that is fixed");
}

#[test]
fn a_forger_who_seals_again_is_stopped_by_each_line() {
    assert!(Run::parse("whole", &forged(|_| {})).is_ok(), "without an edit it is a run");
    for (i, (forgery, line, why)) in FORGERIES.iter().enumerate() {
        let flaw = flaw(&forged(*forgery));
        assert!(flaw.line == *line && flaw.why.contains(why), "{i}: {why}: {flaw:?}");
    }
    assert!(Run::parse("whole", &forged_trials(|_| {})).is_ok(), "without an edit it is a self-test");
    for (i, (forgery, line, why)) in FORGED_TRIALS.iter().enumerate() {
        let flaw = flaw(&forged_trials(*forgery));
        assert!(flaw.line == *line && flaw.why.contains(why), "trials, {i}: {why}: {flaw:?}");
    }
    for forgery in FORGED_PHASES {
        let flaw = flaw(&forged(forgery));
        assert!(flaw.line == 5 && flaw.why.contains("phases of the block"), "{flaw:?}");
    }
}

#[test]
fn habits_are_read_as_declared_and_runs_from_before_have_none() {
    let habits = |forgery: Forgery| Run::parse("whole", &forged(forgery)).unwrap().subjects.remove(1).provenance.habits;
    assert_eq!(habits(|_| {}), None);
    assert_eq!(habits(|lines| declare(lines, json!([]))), Some(BTreeSet::new()));
    let both = BTreeSet::from([Habit::Allocates, Habit::Batches]);
    assert_eq!(habits(|lines| declare(lines, json!(["batches", "allocates"]))), Some(both));
    assert_eq!(habits(|lines| declare(lines, json!(Habit::ALL))), Some(Habit::ALL.into()));
}

/// Runs from before subjects were watched, and from systems where none is, say nothing of it: the small run is one.
#[test]
fn what_was_used_is_read_as_written_where_the_run_says_that_it_was_sampled() {
    let of_peer = |forgery: Forgery| Run::parse("whole", &forged(forgery)).unwrap().subjects.remove(1).used;
    assert_eq!(of_peer(|_| {}), None);
    let samples = of_peer(|lines| _ = watched(lines)).unwrap();
    assert_eq!(samples.samples().unwrap().kinds, BTreeMap::from([(Kind::Scalar, 100)]));
    let skipped = of_peer(|lines| watched(lines)[PEER]["used"] = json!({"skipped": "its work can fail"}));
    assert_eq!(skipped, Some(Used::Skipped("its work can fail".into())));
    // What another tool measured was not here to be watched.
    let imported: Forgery = |lines| {
        let mut other = lines[PEER].clone();
        other["subject"] = json!("other");
        other["provenance"]["evidence"] = json!("imported");
        watched(lines).insert(FIRST, other);
    };
    assert!(Run::parse("whole", &forged(imported)).is_ok());
}

/// A process that died has a line, a run that was stopped ends early, and work may fail: none is a forgery.
#[test]
fn a_lost_process_an_interruption_and_a_failure_are_no_forgeries() {
    let lost: Forgery = |lines| lines[FIRST] = json!({"kind": "lost", "task": "t", "process": 0, "reason": "crashed"});
    assert_eq!(Run::parse("lost", &forged(lost)).unwrap().lost.len(), 1);
    let stopped: Forgery = |lines| {
        lines.remove(SECOND);
        lines[SECOND]["interrupted"] = json!(true);
    };
    assert_eq!(Run::parse("stopped", &forged(stopped)).unwrap().blocks.len(), 1);
    let once: Forgery = |lines| failed(lines, json!([2]), 1);
    assert_eq!(Run::parse("failed", &forged(once)).unwrap().blocks[0].failed["peer"], [2]);
    let twice: Forgery = |lines| failed(lines, json!([0, 2]), 2);
    assert_eq!(Run::parse("failed", &forged(twice)).unwrap().blocks[0].failed["peer"], [0, 2]);
    let layout: Forgery = |lines| lines[MANIFEST]["layout"] = json!({"floor": 0.01, "run": "a"});
    assert!(Run::parse("layout", &forged(layout)).is_ok());
    // What a simulation draws may come out the same twice, and takes longer in its own time than here.
    let simulated: Forgery = |lines| {
        for subject in [PEER - 1, PEER] {
            lines[subject]["provenance"]["evidence"] = json!("simulated");
        }
        lines[FIRST]["ns"]["peer"][0] = json!(9_000_000_000_u64);
        lines[SECOND]["ns"] = lines[FIRST]["ns"].clone();
    };
    assert!(Run::parse("simulated", &forged(simulated)).is_ok());
    let one: Forgery = |lines| {
        lines[PEER]["provenance"]["evidence"] = json!("simulated");
        lines[SECOND]["ns"] = lines[FIRST]["ns"].clone();
    };
    assert!(flaw(&forged(one)).why.contains("the very times"), "the other subject is timed by a clock");
}

#[test]
fn an_early_or_interrupted_self_test_and_a_lost_process_are_no_forgeries() {
    let early: Forgery = |lines| {
        drop(lines[MANIFEST].as_object_mut().unwrap().remove("tried"));
        lines[1..6].iter_mut().for_each(|trial| drop(trial.as_object_mut().unwrap().remove("lost")));
    };
    assert_eq!(Run::parse("early", &forged_trials(early)).unwrap().trials.len(), 5);
    let stopped: Forgery = |lines| {
        drop(lines.drain(4..6));
        lines[4]["interrupted"] = json!(true);
    };
    assert_eq!(Run::parse("stopped", &forged_trials(stopped)).unwrap().trials.len(), 3);
    let lost: Forgery = |lines| {
        for medians in ["control", "subject"] {
            lines[1][medians].as_array_mut().unwrap().pop();
        }
        lines[1]["lost"] = json!(1);
    };
    assert_eq!(Run::parse("lost", &forged_trials(lost)).unwrap().trials[0].lost, 1);
    let refused: Forgery = |lines| lines[3]["subject"] = json!([]);
    assert!(Run::parse("refused", &forged_trials(refused)).is_ok());
}

/// Whoever writes a run writes to the terminal of its reader, but no more than what is shown there.
#[test]
fn no_string_of_a_run_moves_the_cursor() {
    let hostile: Forgery = |lines| {
        lines[TASK]["what"] = json!("\u{1b}[2K\nrun faked");
        lines[PEER]["provenance"]["different_operation"] = json!("\u{1b}[8m\r");
        lines[PEER]["provenance"]["insecure"] = json!("\u{9b}8m");
        lines.insert(
            FIRST,
            json!({"kind": "refusal", "task": "t", "subject": "\u{202e}other", "reason": "\u{1b}]0;x\u{7}"}),
        );
    };
    let run = Run::parse("\u{1b}[2J", &forged(hostile)).unwrap();
    assert_eq!(run.tasks[0].what, "\\u001b[2K\\nrun faked");
    let report = candor_lab::analysis::Report::of(&run);
    use candor_lab::report::Form;
    for form in
        [Form::Text, Form::Terminal { columns: 80 }, Form::Markdown, Form::Csv, Form::Json, Form::Html, Form::Tex]
    {
        let text = candor_lab::report::render(std::slice::from_ref(&report), &[], form);
        let moves = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(moves) && !text.contains("\nrun faked"), "{form:?}:\n{text:?}");
    }
    let hostile: Forgery = |lines| lines[FIRST]["\u{1b}[2J"] = json!(1);
    assert!(!flaw(&forged(hostile)).why.contains('\u{1b}'));
}

/// Whoever seals a run again gets another digest, and the name by which it was cited no longer fits.
#[test]
fn a_run_under_another_runs_name_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (name, bytes) = sealed(dir.path());
    let path = dir.path().join(format!("{name}.jsonl"));
    assert_eq!(Run::open(&path).unwrap().named_digest(), Some(&name[name.len() - 6..]));
    // Halved times: nothing else gives them away.
    let halved = forged(|lines| lines[FIRST]["ns"]["ours"] = json!([500, 500, 501, 501, 502]));
    std::fs::write(&path, &halved).unwrap();
    let error = Run::open(&path).unwrap_err().to_string();
    assert!(error.contains("the file's name says") && error.contains("line 8"), "{error}");
    // Whatever begins with a day must be its own name, however it ends.
    let (day_and_cpu, own) = name.rsplit_once('-').unwrap();
    let (upper, longer) = (own.to_uppercase(), format!("{own}7"));
    for other in [
        format!("2031-01-01-zen5-{own}"),
        format!("{}-zen5-{own}", &name[..10]),
        format!("2031-01-01-zen5-{upper}X"),
        format!("2031-01-01-zen5-{longer}"),
        "2031-01-01-zen5-256-rerun".to_owned(),
        "2031-01-01".to_owned(),
        format!("{day_and_cpu}-{longer}"),
        format!("{day_and_cpu}-rerun"),
    ] {
        let path = dir.path().join(format!("{other}.jsonl"));
        std::fs::write(&path, &bytes).unwrap();
        let error = Run::open(&path).unwrap_err().to_string();
        assert!(error.contains("not what candor named it") && error.contains(&name), "{error}");
    }
    for renamed in ["renamed", "20311-01-01", "zen5-rerun"] {
        let renamed = dir.path().join(format!("{renamed}.jsonl"));
        std::fs::write(&renamed, &bytes).unwrap();
        assert_eq!(Run::open(&renamed).unwrap().named_digest(), None);
    }
}

/// Before candor knew the designs of Intel, a cloud's "Xeon Processor" was called by its instruction set.
#[test]
fn a_run_keeps_the_name_that_an_earlier_candor_gave_it() {
    let dir = tempfile::tempdir().unwrap();
    let cpu_id = "vendor_id GenuineIntel, cpu family 6, model 207, stepping 2, microcode 0x1".into();
    let machine =
        Machine { cpu: "Intel(R) Xeon(R) Processor".into(), cpu_id, arch: "x86_64".into(), ..Machine::default() };
    let (name, bytes) = sealed_on(dir.path(), machine);
    assert!(name.starts_with("2026-11-21-emerald-rapids-"), "{name}");
    let early = dir.path().join(format!("{}.jsonl", name.replace("emerald-rapids", "x86_64")));
    std::fs::write(&early, &bytes).unwrap();
    assert_eq!(Run::open(&early).unwrap().manifest.machine.short_name(), "emerald-rapids");
    let other = dir.path().join(format!("{}.jsonl", name.replace("emerald-rapids", "granite-rapids")));
    std::fs::write(&other, &bytes).unwrap();
    assert!(Run::open(&other).unwrap_err().to_string().contains("not what candor named it"));
}

#[test]
fn an_unsealed_run_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    drop(RunWriter::begin(dir.path(), &Manifest { schema: SCHEMA, ..Manifest::default() }).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

proptest! {
    #[test]
    fn the_reader_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Run::parse("fuzz", &bytes);
    }

    #[test]
    fn neither_reader_nor_report_panics_on_a_mutated_run(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), seal in any::<bool>()
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (_, mut bytes) = sealed(dir.path());
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // A forger can seal again; then only the checks of each line are left.
        if seal {
            bytes = reseal(&bytes);
        }
        if let Ok(run) = Run::parse("fuzz", &bytes) {
            let report = candor_lab::analysis::Report::of(&run);
            let _ = candor_lab::report::render(&[report], &[], candor_lab::report::Form::Html);
        }
    }
}

#[test]
fn builds_that_are_paired_have_names_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = sealed(dir.path());
    let with = |own: &str, others: &[&str]| {
        let builds: Vec<Value> = others.iter().map(|name| json!({ "name": name, "tool": Tool::default() })).collect();
        let paired = json!({ "own": own, "others": builds });
        let text = String::from_utf8(bytes.clone()).unwrap();
        let text = text.replacen("\"processes\":", &format!("\"paired\":{paired},\"processes\":"), 1);
        Run::parse("test", &reseal(text.as_bytes()))
    };
    let run = with("c0ffee", &["decade", "facade"]).unwrap();
    assert_eq!(run.manifest.paired.map(|paired| paired.others.len()), Some(2));
    for (own, others) in
        [("c0ffee", &["c0ffee"][..]), ("c0ffee", &["decade", "decade"]), ("", &["decade"]), ("c0ffee", &[])]
    {
        let Flaw { line, why } = with(own, others).unwrap_err();
        assert_eq!((line, why.as_str()), (1, "a paired run of fewer than two builds, or of two with one name"));
    }
}
