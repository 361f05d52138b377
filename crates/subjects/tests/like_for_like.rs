//! Who is compared with whom: what each subject declares that its timed call does besides the work, side by side.

use candor_lab::analysis::Report;
use candor_lab::plan::{TaskPlan, control_of};
use candor_lab::runfile::{Block, End, Manifest, Run, SubjectRecord, TaskRecord};
use candor_lab::{Habit, Provenance, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Subjects by name, and what each says of itself.
type Subjects = Vec<(String, Provenance)>;

/// All tasks with the subjects that can be made here, and what each says of itself.
static MADE: LazyLock<Vec<(String, Subjects)>> =
    LazyLock::new(|| candor_subjects::tasks().iter().map(|task| (task.name.clone(), made(task))).collect());

fn made(task: &Task) -> Vec<(String, Provenance)> {
    let made = task.entries.iter().filter_map(|entry| Some((entry.subject.clone(), entry.make().ok()?.provenance())));
    made.collect()
}

/// The subjects of one task.
fn of(task: &str) -> &'static [(String, Provenance)] {
    &MADE.iter().find(|(name, _)| name == task).unwrap().1
}

/// A habit that is declared is told in its words, and words are there for what is declared: the lab goes by the one, a reader by the other.
#[test]
fn every_habit_is_declared_and_told() {
    let (mut wrong, mut found) = (Vec::new(), BTreeSet::<Habit>::new());
    for (task, subjects) in MADE.iter() {
        for (subject, provenance) in subjects {
            let timed = &provenance.timed;
            let Some(declared) = &provenance.habits else {
                wrong.push(format!("{task}: {subject} declares nothing"));
                continue;
            };
            found.extend(declared);
            for habit in Habit::ALL {
                match (declared.contains(&habit), habit.is_told_in(timed)) {
                    (true, false) => wrong.push(format!("{task}: {subject} {habit} and does not tell it: {timed}")),
                    (false, true) => wrong.push(format!("{task}: {subject} does not declare that it {habit}: {timed}")),
                    _ => {}
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(found, BTreeSet::from(Habit::ALL), "somebody has each of them");
}

/// A run of all tasks in which nothing was measured: every epoch takes as long.
fn unmeasured() -> Run {
    let end = End { during: Default::default(), seconds: 1.0, interrupted: false };
    let mut run = Run::empty("unmeasured", Manifest { processes: 1, ..Manifest::default() });
    run.end = end;
    for (task, made) in MADE.iter().filter(|(_, made)| !made.is_empty()) {
        let mut subjects: Vec<String> = made.iter().map(|(subject, _)| subject.clone()).collect();
        subjects.insert(1, control_of(&subjects[0]));
        let ns = subjects.iter().map(|subject| (subject.clone(), vec![1_000_000])).collect();
        run.blocks.push(Block { task: task.clone(), iterations: 1, ns, orders: vec![Vec::new()], ..Block::default() });
        let plan = Some(TaskPlan { subjects, iterations: 1, rounds: 1, ..TaskPlan::default() });
        run.tasks.push(TaskRecord { task: task.clone(), what: String::new(), bytes: None, plan });
        run.subjects.extend(made.iter().map(|(subject, provenance)| SubjectRecord {
            task: task.clone(),
            subject: subject.clone(),
            provenance: provenance.clone(),
            quantities: Vec::new(),
            used: None,
        }));
    }
    run
}

/// No row compares unlike work without the lint, and the lint names what the two differ in.
#[test]
fn rows_that_differ_in_a_habit_carry_the_lint() {
    let report = Report::of(&unmeasured());
    let lints = report.lints.iter().filter(|lint| lint.name == "unlike-conditions");
    let carried: BTreeMap<_, _> = lints.map(|lint| ((&*lint.task, &*lint.subject), &*lint.text)).collect();
    let mut unlike = BTreeMap::new();
    for (task, made) in MADE.iter() {
        let Some((_, baseline)) = made.first() else { continue };
        let baseline = baseline.habits.clone().unwrap_or_default();
        for (subject, provenance) in &made[1..] {
            let own = provenance.habits.clone().unwrap_or_default();
            let differing: Vec<Habit> = own.symmetric_difference(&baseline).copied().collect();
            if !differing.is_empty() {
                unlike.insert((task.as_str(), subject.as_str()), differing);
            }
        }
    }
    assert!(carried.keys().eq(unlike.keys()), "{carried:#?} {unlike:#?}");
    for (row, differing) in &unlike {
        let text = carried[row];
        for habit in Habit::ALL {
            assert_eq!(text.contains(habit.describe()), differing.contains(&habit), "{row:?}: {habit}: {text}");
        }
    }
    assert!(unlike.len() > 50, "{} rows", unlike.len());
}

/// Randomness that is not needed is not drawn: a sentence that says otherwise was copied.
#[test]
fn only_work_that_needs_randomness_draws_it() {
    let mut drawing = BTreeMap::new();
    for (task, subjects) in MADE.iter() {
        // What draws: fresh keys, encapsulation, signatures with a nonce, public-key encryption, blindings, and whatever consists of them.
        let needs = [
            "keygen",
            "encaps",
            "exchange",
            "sign",
            "encrypt",
            "oaep-decrypt",
            "handshake",
            "opaque/",
            "ntor/",
            "create2/",
        ];
        if needs.iter().any(|word| task.contains(word)) {
            continue;
        }
        let draws = |provenance: &Provenance| provenance.habits().contains(&Habit::DrawsBySystemCall);
        for (subject, _) in subjects.iter().filter(|(_, provenance)| draws(provenance)) {
            drawing.entry(task).or_insert_with(Vec::new).push(subject);
        }
    }
    assert!(drawing.is_empty(), "{drawing:#?}");
}

/// In a table of Argon2id either all allocate or none does.
#[test]
fn who_keeps_memory_is_not_compared_with_who_allocates_it() {
    let mut tables = 0;
    for (task, subjects) in MADE.iter().filter(|(task, _)| task.starts_with("ksf/")) {
        let allocating = task.ends_with("/allocating");
        for (subject, provenance) in subjects {
            let habits = provenance.habits();
            assert_eq!(habits.contains(&Habit::Allocates), allocating, "{task}: {subject}: {habits:?}");
        }
        tables += 1;
    }
    assert!(tables >= 4, "two costs, twice");
}

/// A row that works one after another where the baseline works at once says that this is other work, and so gets no verdict. Of our own protocols there is
/// one more kind: our own code, which shows what a batch brings, and whose name says that it works so.
#[test]
fn who_works_one_after_another_is_not_judged_by_who_batches() {
    let (mut told, mut shown) = (0, 0);
    let shows_a_batch = |task: &str, subject: &str| {
        let ours = subject.starts_with("candor@") || subject.starts_with("candor+");
        let task = task.starts_with("relay/create2/") || task == "opaque/hybrid/server-ke2-many";
        task && ours && subject.ends_with("+one-by-one")
    };
    for (task, subjects) in MADE.iter() {
        let Some((_, baseline)) = subjects.first() else { continue };
        if !baseline.habits().contains(&Habit::Batches) {
            continue;
        }
        for (subject, provenance) in &subjects[1..] {
            let (habits, other) = (provenance.habits(), provenance.different_operation.is_some());
            if shows_a_batch(task, subject) {
                assert!(!other && habits.contains(&Habit::OneAfterAnother), "{task}: {subject}: {habits:?}");
                shown += 1;
                continue;
            }
            assert_eq!(other, habits.contains(&Habit::OneAfterAnother), "{task}: {subject}: {habits:?}");
            assert_eq!(other, !habits.contains(&Habit::Batches), "{task}: {subject}: {habits:?}");
            told += usize::from(other);
        }
    }
    assert!(told > 20, "{told} rows");
    assert!(shown > 5, "{shown} rows");
}

/// No library that we know of hashes several messages by SHA-3 at once (liboqs has SHAKE128): beside our batches no peer gets a verdict.
#[test]
fn no_peer_is_judged_by_a_batch_of_sha3() {
    let mut peers = 0;
    for (task, subjects) in MADE.iter().filter(|(task, _)| task.starts_with("hash/sha3-")) {
        let Some((_, baseline)) = subjects.first() else { continue };
        if baseline.habits().contains(&Habit::Batches) {
            for (subject, provenance) in subjects.iter().filter(|(subject, _)| !subject.starts_with("candor@")) {
                assert!(provenance.different_operation.is_some(), "{task}: {subject}");
                peers += 1;
            }
        }
    }
    assert!(peers > 3 || candor_cpu::Cpu::default().tier() == "portable", "{peers} rows");
}

/// opaque-ke has no suite that hides the credential response, as our `hybrid` does: beside it stands another protocol.
#[test]
fn who_speaks_another_protocol_is_not_judged_beside_our_hybrid() {
    let mut peers = 0;
    for (task, subjects) in
        MADE.iter().filter(|(task, _)| task.starts_with("opaque/") && !task.starts_with("opaque/parts/"))
    {
        let is_hybrid = task.starts_with("opaque/hybrid/");
        for (subject, provenance) in subjects.iter().filter(|(subject, _)| subject.starts_with("opaque-ke-")) {
            assert_eq!(provenance.different_operation.is_some(), is_hybrid, "{task}: {subject}");
            peers += usize::from(is_hybrid);
        }
    }
    assert!(peers > 0 || !cfg!(feature = "peers"), "{peers} rows");
}

/// Whose call reads a key, or hashes what the others are given hashed, does more than signing, verifying or agreeing, and says so.
#[test]
fn who_reads_keys_or_hashes_in_the_timed_call_says_so() {
    let tells = |task: &str, who: &str, habit: Habit| {
        let (_, provenance) = of(task).iter().find(|(subject, _)| subject.starts_with(who)).unwrap();
        provenance.habits().contains(&habit)
    };
    let (hashes, reads) = (Habit::Hashes, Habit::ReadsKey);
    for curve in ["p256", "p384"] {
        for op in ["sign", "verify"] {
            assert!(
                tells(&format!("ec/{curve}/{op}"), "ring-", hashes)
                    && tells(&format!("ec/{curve}/{op}"), "graviola-", hashes)
            );
        }
        assert!(tells(&format!("ec/{curve}/verify"), "ring-", reads));
        assert!(tells(&format!("ec/{curve}/ecdh"), "aws-lc-", reads));
        assert!(
            !tells(&format!("ec/{curve}/verify"), "candor@", reads)
                && !tells(&format!("ec/{curve}/sign"), "candor@", hashes)
        );
    }
}

/// Of the libraries that make key pairs, some ask the system each time and some have a generator of their own.
#[test]
fn key_pairs_say_who_draws_by_a_system_call() {
    for task in ["kem/ml-kem-768/keygen", "ec/x25519/keygen"] {
        // AWS-LC has a generator of its own, which asks the system rarely; our own implementation and most others ask it each time.
        for (subject, provenance) in of(task) {
            let own_generator = ["candor@auto", "aws-lc-rs-", "openssl-"].iter().any(|name| subject.starts_with(name));
            let draws = provenance.habits().contains(&Habit::DrawsBySystemCall);
            assert_eq!(draws, !own_generator, "{task}: {subject}");
        }
    }
}
