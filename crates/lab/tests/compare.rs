//! Runs side by side: made-up runs whose truth is known, and sealed runs of several CPUs.

mod made_up;

use candor_lab::compare::{Change, Column, Comparison, Fate, Grounds};
use candor_lab::machine::Machine;
use candor_lab::runfile::{Build, Lost, Paired, RefusalRecord, Run, Tool};
use candor_lab::verdict::Verdict;
use candor_lab::{Habit, LabError, Provenance, Tuning};
use made_up::{MadeUp, machine, made_up, tool};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn compared(runs: &[Run]) -> Result<Comparison, LabError> {
    let runs: Vec<(PathBuf, Run)> = runs.iter().map(|run| (PathBuf::from(&run.name), run.clone())).collect();
    Comparison::of(&runs)
}

fn sealed(name: &str) -> (PathBuf, Run) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../runs/{name}.jsonl"));
    let run = Run::open(&path).unwrap();
    (path, run)
}

fn fates(comparison: &Comparison) -> Vec<(&str, &'static str)> {
    let rows = comparison.tasks.iter().flat_map(|task| &task.rows);
    rows.map(|row| (row.subject.as_str(), row.fate.word())).collect()
}

#[test]
fn on_two_machines_a_verdict_reproduces_flips_differs_or_cant_be_told() {
    let fate = |there: f64, here: f64| {
        let runs = [
            made_up(MadeUp { ratio: there, ..MadeUp::named("a") }),
            made_up(MadeUp { ratio: here, machine: machine("B"), ..MadeUp::named("b") }),
        ];
        let comparison = compared(&runs).unwrap();
        assert!(comparison.changes.is_empty(), "no build is compared across machines");
        let [row] = &comparison.tasks[0].rows[..] else { panic!("one peer") };
        row.fate.clone()
    };
    assert_eq!(fate(1.30, 1.04), Fate::Reproduces);
    assert_eq!(fate(0.80, 0.90), Fate::Reproduces);
    assert_eq!(fate(1.00, 1.00), Fate::Reproduces, "both are the same within 2 %");
    assert_eq!(fate(1.10, 0.90), Fate::Flips);
    assert_eq!(fate(1.10, 1.00), Fate::Differs);
    // 2 % is more than a margin of `same` lets through, and less than a noisy run resolves.
    let noisy = MadeUp { ratio: 1.02, noise: 0.05, machine: machine("B"), ..MadeUp::named("b") };
    let comparison = compared(&[made_up(MadeUp { ratio: 1.10, ..MadeUp::named("a") }), made_up(noisy)]).unwrap();
    assert_eq!(comparison.tasks[0].rows[0].fate, Fate::CantTell);
}

#[test]
fn of_three_machines_one_that_cant_tell_leaves_it_open_and_one_that_contradicts_flips_it() {
    let run = |name: &str, ratio: f64, noise: f64| {
        made_up(MadeUp { ratio, noise, machine: machine(name), ..MadeUp::named(name) })
    };
    let fate = |third: Run| {
        compared(&[run("a", 1.1, 0.001), run("b", 1.2, 0.001), third]).unwrap().tasks[0].rows[0].fate.clone()
    };
    assert_eq!(fate(run("c", 1.05, 0.001)), Fate::Reproduces);
    assert_eq!(fate(run("c", 1.02, 0.05)), Fate::CantTell);
    assert_eq!(fate(run("c", 0.9, 0.001)), Fate::Flips);
}

#[test]
fn a_run_compared_with_itself_claims_nothing() {
    let run = made_up(MadeUp { ratio: 1.1, ..MadeUp::named("a") });
    let copy = Run { name: "renamed".into(), ..run.clone() };
    for other in [run.clone(), copy] {
        let comparison = compared(&[run.clone(), other]).unwrap();
        assert_eq!(fates(&comparison), [("peer", "one run")]);
        assert!(comparison.changes.is_empty() && !comparison.tells_of_changes() && !comparison.tells_of_fates());
    }
    // Its twin, another run of the same, is compared.
    let twin = made_up(MadeUp { ratio: 1.1, seed: 2, ..MadeUp::named("b") });
    assert_eq!(fates(&compared(&[run, twin]).unwrap()), [("peer", "reproduces")]);
}

#[test]
fn sealed_runs_compared_with_themselves_claim_nothing() {
    for name in [
        "2026-11-22-zen5-0f40ac",
        "2026-11-23-zen4-696399",
        "2026-11-25-zen3-d71248",
        "2026-11-26-emerald-rapids-96498b",
    ] {
        let run = sealed(name);
        let comparison = Comparison::of(&[run.clone(), run]).unwrap();
        let claims = comparison.count(|fate| !matches!(fate, Fate::OneRun | Fate::NotCompared(_)));
        assert_eq!((claims, comparison.changes.len()), (0, 0), "{name}");
        assert!(comparison.count(|fate| *fate == Fate::OneRun) > 0, "{name}");
    }
}

#[test]
fn sealed_runs_of_several_cpus_stand_side_by_side() {
    let runs = [sealed("2026-11-23-zen4-696399"), sealed("2026-11-26-emerald-rapids-96498b")];
    let comparison = Comparison::of(&runs).unwrap();
    let cpus: Vec<String> = comparison.columns.iter().map(|column| column.machine().short_name()).collect();
    assert_eq!(cpus, ["zen4", "emerald-rapids"]);
    assert!(comparison.spans_machines() && comparison.changes.is_empty());
    for task in &comparison.tasks {
        for (run, cell) in runs.iter().zip(&task.cells) {
            let cell = cell.as_ref().unwrap();
            let report = candor_lab::analysis::Report::of(&run.1);
            let alone = report.tasks.iter().find(|alone| alone.task == task.task).unwrap();
            for (here, there) in cell.report.rows.iter().zip(&alone.rows) {
                assert_eq!((here.ratio, here.verdict, here.median_ns), (there.ratio, there.verdict, there.median_ns));
            }
        }
    }
}

#[test]
fn runs_of_one_machine_share_a_column_until_a_task_repeats() {
    let run = |name: &str, task: &'static str, commit: &str| {
        made_up(MadeUp { task, tool: tool(commit), ..MadeUp::named(name) })
    };
    let columns = |runs: &[Run]| {
        let comparison = compared(runs).unwrap();
        comparison.columns.iter().map(|column| (column.label.clone(), column.runs())).collect::<Vec<_>>()
    };
    let other = |name: &str, task: &'static str| made_up(MadeUp { task, machine: machine("B"), ..MadeUp::named(name) });
    // Of two computers, each in two runs by whatever builds.
    let runs = [run("a", "t", "1"), run("b", "u", "2"), other("c", "u"), other("d", "t")];
    assert_eq!(columns(&runs), [("A".to_owned(), "a, b".to_owned()), ("B".into(), "c, d".into())]);
    // Of two builds on one, in any order.
    let runs = [run("a", "t", "1"), run("c", "t", "2"), run("d", "u", "2"), run("b", "u", "1")];
    assert_eq!(columns(&runs), [("A".to_owned(), "a, b".to_owned()), ("B".into(), "c, d".into())]);
    // Twice by the same build.
    let runs = [run("a", "t", "1"), made_up(MadeUp { seed: 2, tool: tool("1"), ..MadeUp::named("b") })];
    assert_eq!(columns(&runs).len(), 2);
}

/// Two builds of a day: a shell sorts their files by a digest.
#[test]
fn the_later_build_is_the_one_that_was_measured_later_however_the_runs_are_given() {
    let run = |name: &str, seed: u64, task: &'static str, date: &'static str| {
        made_up(MadeUp { ratio: 1.3 - 0.1 * seed as f64, seed, task, date, tool: tool(name), ..MadeUp::named(name) })
    };
    let before = run("before", 1, "t", "2026-11-26T10:00:00Z");
    let after = run("after", 2, "t", "2026-11-26T10:00:01Z");
    for runs in [[before.clone(), after.clone()], [after.clone(), before.clone()]] {
        let comparison = compared(&runs).unwrap();
        let dates: Vec<String> = comparison.columns.iter().map(Column::dates).collect();
        assert_eq!(dates, ["2026-11-26T10:00:00Z", "2026-11-26T10:00:01Z"]);
        let [change] = &comparison.changes[..] else { panic!("one task") };
        assert_eq!((change.from.as_str(), change.to.as_str(), change.columns), ("before", "after", (0, 1)));
        assert_eq!((change.verdict, &change.dates.1), (Verdict::Slower, &dates[1]));
    }
    // Another machine keeps its place.
    let there = made_up(MadeUp { machine: machine("B"), date: "2026-11-01T10:00:00Z", ..MadeUp::named("there") });
    let comparison = compared(&[after, there, before]).unwrap();
    let runs: Vec<String> = comparison.columns.iter().map(Column::runs).collect();
    assert_eq!(runs, ["before", "after", "there"]);
    // The build of the second column measured another task before that of the first did.
    let build = |name: &str, build: &str, seed: u64, task: &'static str, date: &'static str| {
        let ratio = 1.3 - 0.1 * seed as f64;
        made_up(MadeUp { ratio, seed, task, date, tool: tool(build), ..MadeUp::named(name) })
    };
    let runs = [
        build("a", "1", 1, "t", "2026-11-26T10:00:00Z"),
        build("b", "2", 2, "t", "2026-11-26T11:00:00Z"),
        build("c", "2", 3, "u", "2026-11-26T12:00:00Z"),
        build("d", "1", 4, "u", "2026-11-26T13:00:00Z"),
    ];
    let comparison = compared(&runs).unwrap();
    let said = |change: &Change| format!("{} {} {} {:?}", change.task, change.from, change.to, change.columns);
    let said: Vec<String> = comparison.changes.iter().map(said).collect();
    assert_eq!(said, ["t 1 2 (0, 1)", "u 2 1 (1, 0)"]);
    assert!(comparison.changes.iter().all(|change| change.verdict == Verdict::Slower));
}

#[test]
fn two_runs_of_one_name_are_refused_unless_they_are_one() {
    let run = |seed| made_up(MadeUp { seed, ..MadeUp::named("r") });
    let of = |second: Run| Comparison::of(&[("1/r.jsonl".into(), run(1)), ("2/r.jsonl".into(), second)]);
    assert!(of(run(1)).is_ok());
    let why = of(run(2)).unwrap_err().to_string();
    assert!(why.starts_with("2/r.jsonl, line 1: another run than 1/r.jsonl under the same file name"), "{why}");
}

#[test]
fn what_has_nothing_in_common_is_refused_and_says_why() {
    let why = |runs: &[Run]| compared(runs).unwrap_err().to_string();
    let run = |name: &str, task: &'static str, cpu: &str| {
        made_up(MadeUp { task, machine: machine(cpu), ..MadeUp::named(name) })
    };
    assert_eq!(why(&[run("a", "t", "A"), run("b", "u", "B")]), "nothing to compare: the runs have no task in common");
    assert!(why(&[run("a", "t", "A"), run("b", "u", "A")]).contains("no two of them measured the same task"));
    assert!(why(&[run("a", "t", "A")]).contains("candor run --against"));
    assert!(compared(&[run("a", "t", "A"), run("b", "t", "B")]).is_ok());
    let empty = Run { tasks: Vec::new(), ..run("a", "t", "A") };
    assert!(why(&[empty, run("b", "t", "B")]).starts_with("a, line 1: a self-test has trials"));
}

#[test]
fn a_process_copied_from_another_run_is_refused_with_its_line() {
    let (one, other) =
        (made_up(MadeUp::named("a")), made_up(MadeUp { seed: 2, machine: machine("B"), ..MadeUp::named("b") }));
    assert!(compared(&[one.clone(), other.clone()]).is_ok());
    let mut copied = other.clone();
    copied.blocks[3].ns = one.blocks[1].ns.clone();
    let LabError::RunFile { path, line, why } = compared(&[one, copied]).unwrap_err() else {
        panic!("a line is named")
    };
    assert_eq!(path, Path::new("b"));
    assert!(why.starts_with("process 3 of task t has the very times of a process in a"), "{why}");
    // After the manifest, a task and two subjects: processes 0, 1, 2 and this one.
    assert_eq!(line, 1 + 1 + 2 + 4);
}

#[test]
fn what_is_not_the_same_work_is_not_compared() {
    let fate = |there: MadeUp, here: MadeUp| {
        let runs = [made_up(there), made_up(MadeUp { seed: 2, machine: machine("B"), name: "b".into(), ..here })];
        match compared(&runs).unwrap().tasks[0].rows[0].fate.clone() {
            Fate::NotCompared(why) => why,
            other => other.word().to_owned(),
        }
    };
    let plain = || MadeUp { ratio: 1.1, ..MadeUp::named("a") };
    assert_eq!(fate(plain(), plain()), "reproduces");
    assert!(
        fate(plain(), MadeUp { baseline: "theirs", ..plain() }).contains("the baseline was ours in a and theirs in b")
    );
    let other_work =
        |provenance: Provenance| Provenance { different_operation: Some("half of it".into()), ..provenance };
    assert_eq!(fate(plain(), MadeUp { provenance: other_work, ..plain() }), "does other work: half of it");
    // Another CPU's baseline is another arm of the same library.
    assert_eq!(
        fate(MadeUp { baseline: "ours@avx2", ..plain() }, MadeUp { baseline: "ours@neon", ..plain() }),
        "reproduces"
    );
}

/// One name, and another subject.
#[test]
fn a_subject_that_is_another_in_each_run_is_not_compared() {
    let fate = |peer: &'static str, there: fn(Provenance) -> Provenance, here: fn(Provenance) -> Provenance| {
        let run = |name: &str, provenance, on| {
            made_up(MadeUp { ratio: 1.1, peer, provenance, machine: machine(on), ..MadeUp::named(name) })
        };
        match compared(&[run("a", there, "A"), run("b", here, "B")]).unwrap().tasks[0].rows[0].fate.clone() {
            Fate::NotCompared(why) => why,
            other => other.word().to_owned(),
        }
    };
    let same: fn(Provenance) -> Provenance = |peer| peer;
    let another_file: fn(Provenance) -> Provenance =
        |peer| Provenance { object_sha256: Some("0123456789abcdef".into()), ..peer };
    // A program's name says nothing of what is in the file. A library's name has its version, and each machine has a build of its own.
    assert_eq!(fate("program-mine", same, another_file), "the program has the digest 00 in a and 0123456789ab in b");
    assert_eq!(fate("program-mine", same, same), "reproduces");
    assert_eq!(fate("peer", same, another_file), "reproduces");
    let stock: fn(Provenance) -> Provenance = |peer| Provenance { tuning: Tuning::Stock, ..peer };
    let tuned: fn(Provenance) -> Provenance = |peer| Provenance { tuning: Tuning::Tuned("here".into()), ..peer };
    let there: fn(Provenance) -> Provenance = |peer| Provenance { tuning: Tuning::Tuned("there".into()), ..peer };
    assert_eq!(fate("peer", stock, tuned), "the library is as shipped in a and tuned in b");
    assert_eq!(fate("peer", there, tuned), "reproduces");
    let before: fn(Provenance) -> Provenance =
        |peer| Provenance { timed: "does half of it".into(), contract: None, ..peer };
    assert_eq!(fate("peer", same, before), "what is timed reads “does it” in a and “does half of it” in b");
    let less: fn(Provenance) -> Provenance = |peer| peer.by_contract(2);
    assert_eq!(fate("peer", same, less), "the timed call is by version 1 of its contract in a and by version 2 in b");
    let batches: fn(Provenance) -> Provenance = |peer| peer.with([Habit::Batches]);
    assert_eq!(fate("peer", same, batches), "the timed calls differ: only in b it works on several at once");
}

/// One work in other words, as a later build may have them.
#[test]
fn what_was_put_into_other_words_is_compared_and_the_row_says_so() {
    let reworded = |peer| Provenance { timed: "does all of it".into(), ..peer };
    let runs = |what| {
        let ratio = 1.1;
        let there = made_up(MadeUp { ratio, ..MadeUp::named("a") });
        [there, made_up(MadeUp { ratio, what, provenance: reworded, seed: 2, tool: tool("2"), ..MadeUp::named("b") })]
    };
    let comparison = compared(&runs("does it all")).unwrap();
    let row = &comparison.tasks[0].rows[0];
    let told = [
        "by one contract, the task reads “does it” in a and “does it all” in b",
        "by one contract, what is timed reads “does it” in a and “does all of it” in b",
    ];
    assert_eq!((&row.fate, &row.remarks[..]), (&Fate::Reproduces, &told.map(str::to_owned)[..]));
    assert_eq!(comparison.changes[0].verdict, Verdict::Same, "the peer is a bridge");
    // Without a contract nobody knows, and by another one it is other work.
    let mut silent = runs("does it all");
    silent[1].subjects.iter_mut().for_each(|subject| subject.provenance.contract = None);
    let why = "the task is described in other words in b than in a".to_owned();
    assert_eq!(compared(&silent).unwrap().tasks[0].rows[0].fate, Fate::NotCompared(why));
    let mut other = runs("does it");
    other[1].subjects[0].provenance.contract = Some(2);
    let why = "the baseline's call is by version 1 of its contract in a and by version 2 in b".to_owned();
    assert_eq!(compared(&other).unwrap().tasks[0].rows[0].fate, Fate::NotCompared(why));
}

#[test]
fn a_task_that_was_renamed_stands_beside_itself() {
    let what = "Argon2id with 64 MiB: stretches a password into 64 bytes";
    let kept = "Argon2id with 64 MiB: stretches a password into 64 bytes in memory that is kept from call to call";
    let run = |name: &str, task, what| {
        made_up(MadeUp { ratio: 1.1, task, what, machine: machine(name), ..MadeUp::named(name) })
    };
    let comparison = compared(&[run("a", "ksf/argon2id/64m", what), run("b", "ksf/argon2id/64m/kept", kept)]).unwrap();
    assert_eq!(
        (comparison.tasks[0].task.as_str(), fates(&comparison)),
        ("ksf/argon2id/64m/kept", vec![("peer", "reproduces")])
    );
}

/// The baseline of the second build takes `more` times as long; the peer is the same.
fn two_builds(more: f64, seed: u64) -> Comparison {
    let before = made_up(MadeUp { ratio: 1.2, seed, ..MadeUp::named("a") });
    let after = made_up(MadeUp { ratio: 1.2 / more, seed: seed + 1000, tool: tool("2"), ..MadeUp::named("b") });
    compared(&[before, after]).unwrap()
}

#[test]
fn a_build_that_is_slower_than_the_one_before_is_found_by_what_is_the_same_in_both() {
    for seed in 0..20 {
        let comparison = two_builds(1.05, seed);
        let [change] = &comparison.changes[..] else { panic!("one task") };
        assert_eq!(
            (change.verdict, change.from.as_str(), change.to.as_str()),
            (Verdict::Slower, "1", "2"),
            "{change:?}"
        );
        let Grounds::Bridges(bridges) = &change.grounds else { panic!("nothing was paired") };
        assert_eq!(bridges.iter().map(|bridge| bridge.subject.as_str()).collect::<Vec<_>>(), ["peer"]);
        assert_eq!(comparison.slower(), ["t (2 after 1)"]);
        assert_eq!(two_builds(0.95, seed).changes[0].verdict, Verdict::Faster);
    }
}

#[test]
fn no_change_is_claimed_where_there_is_none() {
    let verdicts: Vec<Verdict> = (0..200).map(|seed| two_builds(1.0, seed).changes[0].verdict).collect();
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Same | Verdict::CantTell)), "{verdicts:?}");
    assert!(verdicts.contains(&Verdict::Same));
}

#[test]
fn a_peer_that_changed_itself_is_no_bridge() {
    let after = |provenance: fn(Provenance) -> Provenance, tool| {
        let before = made_up(MadeUp { ratio: 1.2, ..MadeUp::named("a") });
        let after = made_up(MadeUp { ratio: 1.1, seed: 2, tool, provenance, ..MadeUp::named("b") });
        let change = compared(&[before, after]).unwrap().changes.remove(0);
        (change.verdict, change.advice.unwrap_or_default())
    };
    assert_eq!(after(|same| same, tool("2")), (Verdict::Slower, String::new()));
    let (verdict, advice) = after(|same| Provenance { object_sha256: Some("ff".into()), ..same }, tool("2"));
    assert_eq!(verdict, Verdict::CantTell);
    assert!(advice.contains("peer has another version or digest"), "{advice}");
    assert_eq!(after(|same| Provenance { arm: Some("avx2".into()), ..same }, tool("2")).0, Verdict::CantTell);
    let less = |same| Provenance { timed: "less".into(), contract: None, ..same };
    assert_eq!(after(less, tool("2")).0, Verdict::CantTell);
    assert_eq!(after(|same| same.by_contract(2), tool("2")).0, Verdict::CantTell);
    // Our own other arms change with the build, and so do wrappers of the baseline's library.
    let ours = |same| Provenance { library: "candor".into(), ..same };
    let before = made_up(MadeUp { ratio: 1.2, provenance: ours, ..MadeUp::named("a") });
    let own_arm = made_up(MadeUp { ratio: 1.1, seed: 2, tool: tool("2"), provenance: ours, ..MadeUp::named("b") });
    assert_eq!(compared(&[before, own_arm]).unwrap().changes[0].verdict, Verdict::CantTell);
    // What is linked in is another by another compiler; a shared object is not.
    let mut other = tool("2");
    other.rustc = "rustc 2".into();
    let linked = |same| Provenance { object_sha256: None, commit: Some("peer 1, checksum 00".into()), ..same };
    let before = made_up(MadeUp { ratio: 1.2, provenance: linked, ..MadeUp::named("a") });
    let with = |tool| {
        let after = made_up(MadeUp { ratio: 1.1, seed: 2, tool, provenance: linked, ..MadeUp::named("b") });
        compared(&[before.clone(), after]).unwrap().changes[0].verdict
    };
    assert_eq!((with(tool("2")), with(other.clone())), (Verdict::Slower, Verdict::CantTell));
    assert_eq!(after(|same| same, other).0, Verdict::Slower);
}

/// Two versions that are called the same may be two.
#[test]
fn a_peer_that_only_its_version_identifies_is_no_bridge() {
    let change = |provenance: fn(Provenance) -> Provenance| {
        let before = made_up(MadeUp { ratio: 1.2, provenance, ..MadeUp::named("a") });
        let after = made_up(MadeUp { ratio: 1.1, seed: 2, tool: tool("2"), provenance, ..MadeUp::named("b") });
        let change = compared(&[before, after]).unwrap().changes.remove(0);
        (change.verdict, change.advice.unwrap_or_default())
    };
    let (verdict, advice) = change(|peer| Provenance { object_sha256: None, ..peer });
    assert_eq!(verdict, Verdict::CantTell);
    assert!(advice.ends_with(": the commit, package and shared object of peer are unknown"), "{advice}");
    let by_commit = |peer| Provenance { object_sha256: None, commit: Some("c0ffee".into()), ..peer };
    assert_eq!(change(|by_digest| by_digest), (Verdict::Slower, String::new()));
    assert_eq!(change(by_commit), (Verdict::Slower, String::new()));
}

/// However far two runs of one program lie apart, its change is zero.
#[test]
fn between_two_runs_of_one_program_no_change_is_claimed() {
    let changes = |tool: Tool, later: Tool| {
        let before = made_up(MadeUp { ratio: 1.2, tool, ..MadeUp::named("a") });
        let after = made_up(MadeUp { ratio: 1.1, seed: 2, tool: later, ..MadeUp::named("b") });
        compared(&[before, after]).unwrap().changes.iter().map(|change| change.verdict).collect::<Vec<_>>()
    };
    let file = |sha256: &str| Tool { sha256: Some(sha256.into()), dirty: true, ..tool("1") };
    assert!(changes(file("00"), file("00")).is_empty());
    assert_eq!(changes(file("00"), file("01")), [Verdict::Slower]);
    // Without a digest the commit says it, if the tree was clean.
    let dirty = || Tool { dirty: true, ..tool("1") };
    let unknown = || Tool { commit: None, ..tool("1") };
    assert!(changes(tool("1"), tool("1")).is_empty());
    assert_eq!(changes(dirty(), dirty()), [Verdict::Slower]);
    assert_eq!(changes(unknown(), unknown()), [Verdict::Slower]);
}

/// A run of two builds, of which `ratio` says how many times as long the earlier takes.
fn paired(ratio: f64) -> Run {
    let builds = Paired { own: "2222".into(), others: vec![Build { name: "1111".into(), tool: tool("1111") }] };
    made_up(MadeUp {
        baseline: "candor-2222@avx2",
        peer: "candor-1111@avx2",
        ratio,
        tool: tool("2222"),
        paired: Some(builds),
        ..MadeUp::named("change")
    })
}

#[test]
fn a_process_that_was_lost_breaks_a_task_whatever_the_others_say() {
    let whole = paired(0.9);
    let mut holed = whole.clone();
    holed.blocks.remove(3);
    for process in [3, 5] {
        let reason = "candor-2222@avx2: ended with signal 11".to_owned();
        holed.lost.push(Lost { task: "t".into(), process, reason });
    }
    let of = |run: Run| compared(&[run]).unwrap();
    let (whole, holed) = (of(whole), of(holed));
    assert_eq!((whole.changes[0].verdict, whole.changes[0].broken), (Verdict::Slower, false));
    assert!(holed.changes[0].broken && whole.broken().is_empty());
    let advice = holed.changes[0].advice.as_deref().unwrap();
    assert!(advice.ends_with("lost process 3: candor-2222@avx2: ended with signal 11; and 1 more"), "{advice}");
}

#[test]
fn nothing_passes_that_was_not_measured() {
    let mut refused = paired(1.0);
    refused.blocks.clear();
    refused.tasks[0].plan = None;
    let of = |run: &Run| compared(std::slice::from_ref(run)).unwrap();
    // An early end left no time for it.
    let comparison = of(&refused);
    let change = &comparison.changes[0];
    assert_eq!(
        (change.is_told(), change.broken, change.advice.as_deref()),
        (false, false, Some("nothing of it was measured"))
    );
    assert!(!comparison.tells_of_changes());
    for (subject, why) in [("candor-1111@avx2", "panicked: no"), ("candor-2222@avx2", "not measured, because")] {
        let (task, subject, reason) = ("t".to_owned(), subject.to_owned(), why.to_owned());
        refused.refusals.push(RefusalRecord { task, subject, reason });
    }
    let comparison = of(&refused);
    assert_eq!(
        comparison.broken(),
        ["t (candor-2222@avx2: not measured, because)"],
        "the one that measures comes first"
    );
    // The same of two runs: the later build refuses what the earlier did.
    let before = made_up(MadeUp { ratio: 1.2, ..MadeUp::named("a") });
    let mut after = made_up(MadeUp { ratio: 1.2, seed: 2, tool: tool("2"), ..MadeUp::named("b") });
    assert!(compared(&[before.clone(), after.clone()]).unwrap().tells_of_changes());
    after.blocks.clear();
    for (subject, why) in [("peer", "is not here"), ("ours", "panicked: no")] {
        let (task, subject, reason) = ("t".to_owned(), subject.to_owned(), why.to_owned());
        after.refusals.push(RefusalRecord { task, subject, reason });
    }
    assert_eq!(compared(&[before, after]).unwrap().broken(), ["t (ours in b: panicked: no)"]);
}

#[test]
fn what_was_interrupted_shows_no_change() {
    let before = made_up(MadeUp { ratio: 1.2, ..MadeUp::named("a") });
    let mut after = made_up(MadeUp { ratio: 1.1, seed: 2, tool: tool("2"), ..MadeUp::named("b") });
    after.end.interrupted = true;
    assert_eq!(
        compared(&[before.clone(), after.clone()]).unwrap().changes[0].verdict,
        Verdict::Slower,
        "all of it was done"
    );
    after.blocks.pop();
    assert_eq!(compared(&[before, after]).unwrap().changes[0].verdict, Verdict::CantTell);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A machine that is so many times slower in everything: nothing that a comparison says depends on it.
    #[test]
    fn no_time_is_divided_by_one_of_another_run(factor in 2u64..1000, there in 0.8f64..1.25, here in 0.8f64..1.25, seed in 0u64..1000) {
        let one = made_up(MadeUp { ratio: there, seed, ..MadeUp::named("a") });
        let other = made_up(MadeUp { ratio: here, seed: seed + 1, tool: tool("2"), ..MadeUp::named("b") });
        let mut slower = other.clone();
        for ns in slower.blocks.iter_mut().flat_map(|block| block.ns.values_mut()).flatten() {
            *ns *= factor;
        }
        let said = |other: Run| {
            let comparison = compared(&[one.clone(), other]).unwrap();
            let change = &comparison.changes[0];
            (comparison.tasks[0].rows[0].fate.clone(), change.verdict, change.ratio.map(f64::to_bits), change.floor.to_bits())
        };
        prop_assert_eq!(said(other), said(slower));
    }

    /// What got faster one way got slower the other way.
    #[test]
    fn the_other_way_round_a_change_is_mirrored(there in 0.8f64..1.25, here in 0.8f64..1.25, seed in 0u64..1000) {
        let one = made_up(MadeUp { ratio: there, seed, ..MadeUp::named("a") });
        let other = made_up(MadeUp { ratio: here, seed: seed + 1, tool: tool("2"), ..MadeUp::named("b") });
        let there = compared(&[one.clone(), other.clone()]).unwrap();
        let back = compared(&[other, one]).unwrap();
        prop_assert_eq!(&there.tasks[0].rows[0].fate, &back.tasks[0].rows[0].fate);
        let (there, back) = (&there.changes[0], &back.changes[0]);
        prop_assert_eq!(there.verdict.mirrored(), back.verdict);
        prop_assert!((there.ratio.unwrap() * back.ratio.unwrap() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn machines_of_one_kind_are_one_machine_whatever_their_memory() {
    let sibling = Machine { memory_mib: 1, ..machine("A") };
    let runs = [
        made_up(MadeUp { ratio: 1.2, ..MadeUp::named("a") }),
        made_up(MadeUp { seed: 2, ratio: 1.1, machine: sibling, tool: tool("2"), ..MadeUp::named("b") }),
    ];
    let comparison = compared(&runs).unwrap();
    assert!(!comparison.spans_machines());
    assert_eq!(comparison.changes.len(), 1);
    assert!(comparison.doubts().is_empty());
}

#[test]
fn a_machine_that_was_set_otherwise_is_a_doubt() {
    let runs = |set: Machine| {
        [
            made_up(MadeUp { ratio: 1.2, ..MadeUp::named("a") }),
            made_up(MadeUp { seed: 2, ratio: 1.1, machine: set, tool: tool("2"), ..MadeUp::named("b") }),
            made_up(MadeUp { seed: 3, machine: Machine { cpus: 8, ..machine("B") }, ..MadeUp::named("elsewhere") }),
        ]
    };
    let comparison = compared(&runs(Machine { boost: Some(false), cpus: 4, ..machine("A") })).unwrap();
    assert_eq!(
        comparison.doubts(),
        ["one kind of machine, set in two ways in a and b: boost unknown and off, number of CPUs 2 and 4"]
    );
    assert!(compared(&runs(machine("A"))).unwrap().doubts().is_empty(), "another kind is set as it likes");
}
