//! Who is compared with whom: what each subject says that its timed call does besides the work, side by side.

use candor_lab::Task;
use std::collections::BTreeMap;

/// What a task's subjects do besides its work, by habit; those that can't be made here are left out.
fn side_by_side(task: &Task) -> Vec<(String, Vec<&'static str>, bool)> {
    let made = task.entries.iter().filter_map(|entry| Some((entry, entry.make().ok()?)));
    made.map(|(entry, subject)| {
        let provenance = subject.provenance();
        (entry.subject.clone(), provenance.habits().collect(), provenance.different_operation.is_some())
    })
    .collect()
}

/// The habit of asking the system for randomness in each operation.
const DRAWS: &str = "draws randomness by a system call";

/// Randomness that is not needed is not drawn: a sentence that says otherwise was copied.
#[test]
fn only_work_that_needs_randomness_draws_it() {
    let mut drawing = BTreeMap::new();
    for task in candor_subjects::tasks() {
        // What draws: fresh keys, encapsulation, signatures with a nonce, public-key encryption, blindings, and whatever consists of them.
        let needs = [
            "keygen",
            "encaps",
            "exchange",
            "sign",
            "encrypt",
            "handshake",
            "opaque/",
            "oprf/",
            "keypair",
            "ntor/",
            "oaep-decrypt",
        ];
        if needs.iter().any(|word| task.name.contains(word)) {
            continue;
        }
        for (subject, habits, _) in side_by_side(&task) {
            if habits.contains(&DRAWS) {
                drawing.entry(task.name.clone()).or_insert_with(Vec::new).push(subject);
            }
        }
    }
    assert!(drawing.is_empty(), "{drawing:#?}");
}

/// In a table of Argon2id either all allocate or none does.
#[test]
fn who_keeps_memory_is_not_compared_with_who_allocates_it() {
    let mut tables = 0;
    for task in candor_subjects::tasks().iter().filter(|task| task.name.starts_with("ksf/")) {
        let allocating = task.name.ends_with("/allocating");
        for (subject, habits, _) in side_by_side(task) {
            assert_eq!(habits.contains(&"allocates its memory"), allocating, "{}: {subject}: {habits:?}", task.name);
        }
        tables += 1;
    }
    assert!(tables >= 4, "two costs, twice");
}

/// A row that works one after another where the baseline works at once says that this is other work, and so gets no verdict.
#[test]
fn who_works_one_after_another_is_not_judged_by_who_batches() {
    let mut told = 0;
    for task in candor_subjects::tasks() {
        let subjects = side_by_side(&task);
        let Some((baseline, first, _)) = subjects.first() else { continue };
        let singly = |habits: &[&str]| habits.contains(&"works one after another");
        let batches = baseline.contains("+batch") || baseline.contains("+pair") || task.name.contains("/batch");
        if !batches || singly(first) || task.name.starts_with("relay/") {
            continue;
        }
        for (subject, habits, other) in &subjects[1..] {
            let batches = subject.contains("+batch") || subject.contains("+pair");
            assert_eq!(*other, !batches, "{}: {subject}: {habits:?}", task.name);
            told += usize::from(*other);
        }
    }
    assert!(told > 20, "{told} rows");
}

/// Whose call reads a key, or hashes what the others are given hashed, does more than signing, verifying or agreeing, and says so.
#[test]
fn who_reads_keys_or_hashes_in_the_timed_call_says_so() {
    let tasks = candor_subjects::tasks();
    let tells = |name: &str, who: &str, habit: &str| {
        let found = side_by_side(tasks.iter().find(|task| task.name == name).unwrap());
        let (_, habits, _) = found.iter().find(|(subject, ..)| subject.starts_with(who)).unwrap();
        habits.contains(&habit)
    };
    let (hashes, reads) = ("hashes what others are given hashed", "reads or checks a key");
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

/// The rest of the words that a reader of a table relies on are those of the lab, and it finds them: a row that differs from its baseline in one of
/// these has the lint `unlike-conditions`.
#[test]
fn key_pairs_say_who_draws_by_a_system_call() {
    let tasks = candor_subjects::tasks();
    let of = |name: &str| side_by_side(tasks.iter().find(|task| task.name == name).unwrap());
    for name in ["kem/ml-kem-768/keygen", "ec/x25519/keygen"] {
        let draws: BTreeMap<String, bool> =
            of(name).into_iter().map(|(subject, habits, _)| (subject, habits.contains(&DRAWS))).collect();
        // AWS-LC has a generator of its own, which asks the system rarely; our own implementation and most others ask it each time.
        for (subject, draws) in draws {
            let own_generator = ["candor@auto", "aws-lc-rs-", "openssl-"].iter().any(|name| subject.starts_with(name));
            assert_eq!(draws, !own_generator, "{name}: {subject}");
        }
    }
}
