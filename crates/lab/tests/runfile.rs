//! Run files that were cut, edited, forged or made by a later version.

use candor_lab::machine::Machine;
use candor_lab::plan::TaskPlan;
use candor_lab::runfile::*;
use candor_test_support::runs::reseal;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// A small run, written as candor writes it.
fn sealed(directory: &Path) -> (String, Vec<u8>) {
    let manifest = Manifest {
        schema: SCHEMA,
        date: "2026-11-21T10:00:00Z".into(),
        seed: 7,
        comparisons: 1,
        processes: 2,
        machine: Machine { cpu: "Test CPU".into(), ..Machine::default() },
        clock_quantum_ns: 30,
        ..Manifest::default()
    };
    let mut file = RunWriter::begin(directory, &manifest).unwrap();
    let subjects = vec!["ours".to_owned(), "ours#2".into(), "peer".into()];
    let plan = TaskPlan { subjects: subjects.clone(), iterations: 10, rounds: 3 };
    let task = TaskRecord { task: "t".into(), what: "w".into(), bytes: Some(64), plan: Some(plan) };
    file.append(&Record::Task(task)).unwrap();
    for process in 0..2 {
        let ns: BTreeMap<String, Vec<u64>> = subjects.iter().map(|s| (s.clone(), vec![1000, 1001, 1002])).collect();
        let orders = vec![vec![0, 1, 2]; 3];
        let phases = Phases { names: vec!["all".into()], ns: vec![vec![990, 991, 992]] };
        let phases = BTreeMap::from([("peer".to_owned(), phases)]);
        let block = Block { task: "t".into(), process, iterations: 10, ns, phases, orders, ..Block::default() };
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
        assert!(flaw.line >= 1 && flaw.line <= 7, "{length}: {flaw:?}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let without_seal = text.lines().take(5).map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(flaw(without_seal.as_bytes()).line, 5);
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
    let later = [&lines[..5], &lines[1..2], &lines[5..]].concat().join("\n") + "\n";
    let flaw_of_later = flaw(&reseal(later.as_bytes()));
    assert!(flaw_of_later.line == 6 && flaw_of_later.why.contains("after the end"), "{flaw_of_later:?}");
    let twice = [&lines[..3], &lines[2..]].concat().join("\n") + "\n";
    assert_eq!(flaw(twice.as_bytes()).line, 4);
}

#[test]
fn a_forger_who_seals_again_is_stopped_by_each_line() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = sealed(dir.path());
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert_eq!(reseal(&bytes), bytes, "a new seal of the same lines is the same seal");
    for (from, to, line, why) in [
        ("\"iterations\":10,\"rounds\"", "\"iterations\":0,\"rounds\"", 2, "has no subjects, iterations or rounds"),
        (
            "\"subjects\":[\"ours\",\"ours#2\",\"peer\"]",
            "\"subjects\":[\"ours\"]",
            2,
            "has no subjects, iterations or rounds",
        ),
        ("\"kind\":\"block\"", "\"kind\":\"blob\"", 3, "not a record"),
        ("\"process\":1", "\"process\":0", 4, "a second block"),
        ("\"process\":1", "\"process\":2", 4, "not in the plan"),
        ("\"iterations\":10,\"kind\"", "\"iterations\":11,\"kind\"", 3, "differ from the plan"),
        ("\"peer\":[1000,1001,1002]", "\"stranger\":[1000,1001,1002]", 3, "not in the plan"),
        ("\"peer\":[1000,1001,1002]", "\"peer\":[1000,1001]", 3, "an epoch is missing"),
        ("\"peer\":[1000,1001,1002]", "\"peer\":[1000,0,1002]", 3, "a time of zero"),
        ("\"orders\":[[0,1,2],[0,1,2],[0,1,2]]", "\"orders\":[[0,1,2]]", 3, "differ from the plan"),
        ("[[990,991,992]]", "[[990,991]]", 3, "phases of the block"),
        ("[[990,991,992]]", "[[990,991,992],[1,2,3]]", 3, "phases of the block"),
        ("{\"peer\":{\"names\"", "{\"stranger\":{\"names\"", 3, "phases of the block"),
    ] {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text, "{from} stands in the file");
        let flaw = flaw(&reseal(forged.as_bytes()));
        assert!(flaw.line == line && flaw.why.contains(why), "{to}: {flaw:?}");
    }
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
