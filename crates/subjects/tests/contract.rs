//! Every task keeps the lab's contract: its subjects answer, agree with each other, run, and say where they come from.

use candor_lab::{Entry, Refusal, RefusalKind, Subject, Task, Witness};
use candor_peers::contract::kem::SPECIFICATION;
use candor_subjects::PeerState;
use candor_subjects::self_test;
use std::collections::BTreeSet;

const SEED: u64 = 20261121;

/// A subject that is prepared, with its name and its answer.
type Ready = (String, Box<dyn Subject>, Witness);
/// The name of a subject that refuses, and why.
type Refused = (String, Refusal);

/// The tasks whose subjects are run here: all except the long messages, the largest memory, all but the smallest sets of Classic McEliece and RSA, and RSA's keys, several of which are one operation, whose
/// subjects are the same with more to do; and those whose relays are processes of the program candor, which a test is not. The smoke run has those too.
fn short_tasks() -> impl Iterator<Item = Task> {
    let short = |task: &Task| {
        let long = task.name.contains("/256m/")
            || (task.name.starts_with("kem/mceliece") && !task.name.starts_with("kem/mceliece348864f/"))
            || (task.name.starts_with("rsa/") && !task.name.starts_with("rsa/2048/"))
            || task.name == "rsa/2048/keygen"
            || task.name.starts_with("circuit/processes/")
            || task.name.starts_with("relay/flood/");
        task.bytes.is_none_or(|bytes| bytes <= 64 << 10) && !long
    };
    candor_subjects::tasks().into_iter().filter(short)
}

/// Prepares every subject of a task.
fn prepared(task: &Task) -> (Vec<Ready>, Vec<Refused>) {
    let (mut ready, mut refused) = (Vec::new(), Vec::new());
    for entry in &task.entries {
        let prepared = entry.make().and_then(|mut subject| subject.prepare(SEED).map(|witness| (subject, witness)));
        match prepared {
            Ok((subject, witness)) => ready.push((entry.subject.clone(), subject, witness)),
            Err(refusal) => refused.push((entry.subject.clone(), refusal)),
        }
    }
    (ready, refused)
}

#[test]
fn the_baseline_is_ours_and_never_refuses() {
    for task in short_tasks() {
        let baseline = &task.entries[0];
        // A scheme that is kept for comparison has a task of its own, where it is measured against its original.
        let expected = if task.name.contains("/insecure-seed-") { "insecure-seed-" } else { "candor@" };
        assert!(baseline.subject.starts_with(expected), "{}: {}", task.name, baseline.subject);
        assert!(baseline.make().unwrap().prepare(SEED).is_ok(), "{}", task.name);
    }
}

/// Why a subject that must be ready in a task is not, if so. Our own subjects and the libraries that are linked in (`linked` has their names)
/// don't depend on the machine: they do the work, or say that they never do. Only a database server is none of theirs.
fn lost(task: &str, linked: &[String], (subject, refusal): &Refused) -> Option<String> {
    let variant_of =
        |name: &String| subject.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'));
    let is_here = (subject.contains('@') && !subject.ends_with("+postgres")) || linked.iter().any(variant_of);
    let excused = match refusal.kind() {
        RefusalKind::Never => true,
        RefusalKind::NotHere => !is_here,
        _ => false,
    };
    (!excused).then(|| format!("{task}: {subject} refuses, and not for good ({:?}): {refusal}", refusal.kind()))
}

/// The names of the peers that are linked in.
fn linked() -> Vec<String> {
    let peers = candor_subjects::peers().into_iter();
    peers.filter(|peer| matches!(peer.state, PeerState::Linked { .. })).map(|peer| peer.name).collect()
}

#[test]
fn linked_libraries_are_ready_or_never_do_the_work() {
    let linked = linked();
    let mut ready_somewhere = BTreeSet::new();
    let mut losses = Vec::new();
    for task in short_tasks() {
        let (ready, refused) = prepared(&task);
        losses.extend(refused.iter().filter_map(|refused| lost(&task.name, &linked, refused)));
        ready_somewhere.extend(ready.into_iter().map(|(name, ..)| name));
    }
    assert!(losses.is_empty(), "\n{}", losses.join("\n"));
    for peer in linked {
        let does_something = ready_somewhere.iter().any(|name| name.starts_with(&peer));
        assert!(does_something, "{peer} is linked in and ready in no task");
    }
}

#[test]
fn a_linked_peer_that_starts_refusing_is_noticed() {
    let linked = ["ring-0.17.14".to_owned()];
    let lost = |subject: &str, refusal: Refusal| lost("t", &linked, &(subject.to_owned(), refusal)).is_some();
    for subject in ["ring-0.17.14", "ring-0.17.14+variant", "candor@avx2"] {
        assert!(lost(subject, Refusal::new("is not here")), "{subject}");
        assert!(lost(subject, Refusal::failed("is broken")), "{subject}");
        assert!(!lost(subject, Refusal::never("has no SM3")), "{subject}");
    }
    // A library that is found at run time, or a database server, may be missing; broken it may not be.
    assert!(!lost("candor@auto+postgres", Refusal::new("needs a server")));
    assert!(lost("candor@auto+postgres", Refusal::failed("is broken")));
    assert!(!lost("openssl", Refusal::new("is not on this machine")));
    assert!(!lost("ring-0.17.140", Refusal::new("is not on this machine")));
    assert!(lost("openssl-3.5.4", Refusal::failed("is broken")));
}

/// What no check of an answer can see, and why.
fn unseen(part: &str, end: End) -> Option<&'static str> {
    match (part, end) {
        ("secret key", End::Last) => Some("z of an expanded ML-KEM key shows only when a ciphertext is rejected"),
        ("unsigned onionskin", End::Last) => Some("it ends in X, and any 32 bytes are an X for the relay"),
        _ => None,
    }
}

/// Where a part is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// A witness with one bit of one part wrong, its other parts as they are.
fn damaged(witness: &Witness, part: &str, end: End) -> Witness {
    witness.names().fold(Witness::default(), |copy, name| {
        let mut bytes = witness.part(name).unwrap().to_vec();
        if name == part {
            let at = if end == End::First { 0 } else { bytes.len() - 1 };
            bytes[at] ^= 1;
        }
        copy.with(name, bytes)
    })
}

#[test]
fn every_subject_accepts_honest_answers_and_refuses_each_damaged_part() {
    for task in short_tasks() {
        let (mut ready, _) = prepared(&task);
        let honest: Vec<_> = ready.iter().map(|(name, _, witness)| (name.clone(), witness.clone())).collect();
        let (mut pairs, mut blind, mut refused, mut left) = (0, 0, 0, 0);
        for (judge, subject, own) in &mut ready {
            for (name, witness) in &honest {
                let checked = subject.check(witness);
                assert!(checked.is_ok(), "{}: {judge} checks {name}: {}", task.name, checked.unwrap_err());
                if own.part(SPECIFICATION).ok() != witness.part(SPECIFICATION).ok() {
                    println!("{}: {judge} judges no answer of {name}, which follows another specification", task.name);
                    continue;
                }
                pairs += 1;
                blind += ["secret key", "unsigned onionskin"].iter().filter(|part| witness.part(part).is_ok()).count();
                // A damaged name of a specification is another specification.
                let parts = witness.names().filter(|part| *part != SPECIFICATION);
                for (part, end) in parts.flat_map(|part| [(part, End::First), (part, End::Last)]) {
                    if let Some(why) = unseen(part, end) {
                        println!("{}: {part} of {name} keeps its {end:?} byte: {why}", task.name);
                        left += 1;
                        continue;
                    }
                    let accepted = subject.check(&damaged(witness, part, end)).is_ok();
                    assert!(!accepted, "{}: {judge} accepts a damaged {part} ({end:?} byte) of {name}", task.name);
                    refused += 1;
                }
            }
        }
        assert!(refused + left >= 2 * pairs, "{}: {refused} damages for {pairs} pairs of judge and answer", task.name);
        // One byte of each expanded key that is given away and of each onionskin that proves nothing, and nothing else.
        assert_eq!(left, blind, "{}: damages that are not tried", task.name);
    }
}

#[test]
fn every_subject_runs() {
    for task in short_tasks() {
        for (_, mut subject, _) in prepared(&task).0 {
            for iterations in [2, 0] {
                subject.restock(iterations);
                subject.run(iterations);
            }
        }
    }
}

#[test]
fn laps_are_as_many_as_phases() {
    let mut phased = 0;
    for task in short_tasks() {
        for (name, mut subject, _) in prepared(&task).0 {
            if subject.phases().is_empty() {
                continue;
            }
            phased += 1;
            let mut laps = 0;
            subject.run_phased(&mut || laps += 1);
            assert_eq!(laps, subject.phases().len(), "{}: {name}", task.name);
        }
    }
    assert!(phased >= 3, "the exchanges have phases");
}

const HASH: [&str; 11] = [
    "hash/sha256/10m",
    "hash/sha384/1k",
    "hash/sha3-512/64k",
    "hash/shake256/1m",
    "hash/blake2b-512/10m",
    "hash/sm3/1k",
    "hash/sm3/batch8",
    "hash/shake128/batch4",
    "mac/hmac-sha256/64k",
    "mac/hmac-sm3/1k",
    "kdf/hkdf-sha256",
];

const NTOR: [&str; 8] = [
    "ntor/ntor/handshake",
    "ntor/ntor-v3/handshake",
    "ntor/hybrid-512/handshake",
    "ntor/hybrid-768-auth/handshake",
    "ntor/insecure-seed-1024/handshake",
    "ntor/parts/ntor",
    "ntor/parts/hybrid-768-auth",
    "ntor/parts/ml-kem-512",
];

/// Otherwise a worker would not find its task.
#[test]
fn every_task_is_near_its_own_name() {
    for task in candor_subjects::tasks() {
        let near = candor_subjects::tasks_near(&task.name);
        assert!(near.iter().any(|other| other.name == task.name), "{}", task.name);
    }
    assert!(candor_subjects::tasks_near("self-test/").is_empty());
}

#[test]
fn names_are_unique_and_as_the_design_has_them() {
    let tasks = candor_subjects::tasks();
    let names: BTreeSet<_> = tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names.len(), tasks.len());
    let kem_and_dh =
        ["kem/ml-kem-512/keygen", "kem/ml-kem-1024/decaps", "ec/x25519/ecdh", "ec/p256/sign", "ec/secp256k1/verify"];
    for expected in kem_and_dh.into_iter().chain(HASH).chain(NTOR) {
        assert!(names.contains(expected), "{expected}");
    }
    for task in &tasks {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c);
        assert!(task.name.chars().all(plain), "{}", task.name);
        let families =
            ["hash/", "file/", "ffi/", "mac/", "aead/", "cipher/", "relay/cells/", "relay/bulk/", "http/circuit/bulk"];
        let has_bytes = families.iter().any(|family| task.name.starts_with(family)) && !task.name.ends_with("/new");
        assert_eq!(task.bytes.is_some(), has_bytes, "{}", task.name);
        let subjects: BTreeSet<_> = task.entries.iter().map(|entry| entry.subject.as_str()).collect();
        assert_eq!(subjects.len(), task.entries.len(), "{}: two subjects of one name", task.name);
    }
}

#[test]
fn a_peers_name_ends_in_the_version_that_its_provenance_has() {
    for task in short_tasks() {
        for entry in &task.entries {
            let Ok(subject) = entry.make() else { continue };
            let provenance = subject.provenance();
            assert!(!provenance.timed.is_empty() && provenance.build.is_some(), "{}", entry.subject);
            // What candor has built has an arm in its name; a peer has a version.
            if !entry.subject.contains('@') {
                let name = format!("{}-{}", provenance.library, provenance.version);
                assert!(entry.subject == name || entry.subject.starts_with(&format!("{name}+")), "{}", entry.subject);
                assert!(provenance.commit.is_some() || provenance.object_sha256.is_some(), "{}", entry.subject);
            }
        }
    }
}

/// Every row of the insecure scheme says what is insecure. In the table of another handshake, it and the parts also say that they are a
/// different operation.
#[test]
fn handshakes_that_do_not_authenticate_say_so() {
    for task in candor_subjects::tasks().iter().filter(|task| task.name.ends_with("/handshake")) {
        for entry in &task.entries {
            let Ok(subject) = entry.make() else { continue };
            let provenance = subject.provenance();
            let insecure = entry.subject.starts_with("insecure-seed") || task.name.contains("/insecure-seed");
            assert_eq!(provenance.insecure.is_some(), insecure, "{}: {}", task.name, entry.subject);
            let other = entry.subject.starts_with("parts") || (insecure && !task.name.contains("/insecure-seed"));
            assert_eq!(provenance.different_operation.is_some(), other, "{}: {}", task.name, entry.subject);
        }
    }
}

/// What each subject of a task counts under a name.
fn counted(task: &str, quantity: &str) -> Vec<(String, f64)> {
    let tasks = candor_subjects::tasks_near(task);
    let task = tasks.iter().find(|known| known.name == task).unwrap();
    let subjects = prepared(task).0.into_iter();
    let counts = subjects.filter_map(|(name, subject, _)| {
        let found = subject.quantities().into_iter().find(|found| found.name == quantity)?;
        Some((name, found.value))
    });
    counts.collect()
}

/// RFC 9807 §4 to §6, opaque-ke's TripleDhKem, FIPS 203 §8, tor-spec and prop 359 say so, whoever makes the message.
#[test]
fn counts_agree_with_the_standards() {
    for (task, quantity, expected) in [
        ("opaque/rfc9807/register", "messages", 32 + 64 + 192),
        ("opaque/rfc9807/login", "KE1", 96),
        ("opaque/rfc9807/login", "messages", 96 + 320 + 64),
        ("opaque/hybrid/login", "messages", 1280 + 1408 + 64),
        ("opaque/hybrid-compat/server-ke2", "KE2", 1408),
        ("opaque/hybrid/client-finish", "KE3", 64),
        ("kem/ml-kem-512/keygen", "public key", 800),
        ("kem/ml-kem-768/encaps", "ciphertext", 1088),
        ("kem/ml-kem-1024/exchange", "ciphertext", 1568),
        ("ntor/ntor/handshake", "onionskin", 84),
        ("ntor/hybrid-768/handshake", "EXTEND2", 3),
    ] {
        let counts = counted(task, quantity);
        assert!(!counts.is_empty(), "{task}: no subject counts {quantity}");
        for (subject, count) in counts.into_iter().filter(|(subject, _)| !subject.starts_with("insecure-seed")) {
            assert_eq!(count, f64::from(expected), "{task}: {quantity} of {subject}");
        }
    }
}

/// The bar of issue 6: at most 200 bytes, in every suite.
#[test]
fn a_server_keeps_little_between_ke2_and_ke3() {
    for suite in ["rfc9807", "hybrid-compat", "hybrid"] {
        let counts = counted(&format!("opaque/{suite}/login"), "server's state until KE3");
        assert!(counts[0].0.starts_with("candor@") && counts[0].1 <= 200.0, "{suite}: {counts:?}");
    }
}

#[test]
fn messages_have_their_sizes_in_the_tasks_sentence() {
    for task in candor_subjects::tasks().iter().filter(|task| task.name.ends_with("/handshake")) {
        let witness = task.entries[0].make().unwrap().prepare(SEED).unwrap();
        let [onionskin, reply] = ["onionskin", "reply"].map(|part| witness.part(part).unwrap().len());
        for said in [format!("onionskin {onionskin} bytes ("), format!("reply {reply} bytes (")] {
            assert!(task.what.contains(&said), "{}: {}", task.name, task.what);
        }
    }
}

#[test]
fn the_tour_is_made_of_tasks() {
    let tasks = candor_subjects::tasks();
    for name in candor_subjects::tour() {
        assert!(tasks.iter().any(|task| task.name == name), "{name}");
    }
}

#[cfg(feature = "peers")]
#[test]
fn refusals_say_why() {
    let tasks = candor_subjects::tasks();
    let reason = |task: &str, subject: &str| {
        let task = tasks.iter().find(|known| known.name == task).unwrap();
        let (_, refused) = prepared(task);
        refused.into_iter().find(|(name, _)| name.starts_with(subject)).map(|(_, refusal)| refusal.to_string())
    };
    let ring = reason("ec/x25519/ecdh", "ring").unwrap();
    assert!(ring.starts_with("makes private keys for a single use"), "{ring}");
    assert_eq!(reason("ec/p384/ecdh", "ring").unwrap(), ring);
    assert_eq!(reason("kem/ml-kem-512/encaps", "graviola").unwrap(), "has no ML-KEM-512 (only 768)");

    // OpenSSL depends on the machine: if there is none, one entry says how to get it; versions before 3.5 have no ML-KEM.
    for peer in candor_subjects::peers().iter().filter(|peer| peer.library == "openssl") {
        let told = reason("kem/ml-kem-768/encaps", &peer.name);
        match &peer.state {
            PeerState::Found { version, .. } if version.starts_with("3.0.") => {
                assert_eq!(told.unwrap(), "has no ML-KEM (needs 3.5)");
            }
            PeerState::Found { version, .. } if version.starts_with("3.5.") => assert_eq!(told, None),
            PeerState::Missing { .. } => assert!(told.unwrap().starts_with("is not on this machine: install it")),
            _ => {}
        }
    }
    for peer in candor_subjects::peers().iter().filter(|peer| peer.library == "liboqs") {
        let told = reason("ntor/insecure-seed-768/handshake", "liboqs");
        match &peer.state {
            PeerState::Found { .. } => assert_eq!(told, None),
            PeerState::Missing { .. } => assert!(told.unwrap().starts_with("is not on this machine: build it")),
            _ => {}
        }
    }
}

#[cfg(feature = "peers")]
#[test]
fn peers_that_are_linked_have_their_version_in_their_name() {
    let peers = candor_subjects::peers();
    let rustcrypto = ["sha2", "sha3", "shake", "blake2", "sm3", "hmac", "hkdf", "ml-kem", "p256", "p384", "k256"];
    let others =
        ["aws-lc-rs", "blake2b_simd", "graviola", "libcrux-ml-kem", "libsm", "ring", "secp256k1", "x25519-dalek"];
    for library in rustcrypto.into_iter().chain(others) {
        let peer = peers.iter().find(|peer| peer.library == library).unwrap();
        if let PeerState::Linked { version } = &peer.state {
            assert_eq!(peer.name, format!("{library}-{version}"));
        }
    }
}

#[test]
fn in_the_self_tests_only_the_faulty_are_taken_out() {
    for test in self_test::all().into_iter().filter(|test| test.task.name != "self-test/crash") {
        let mut baseline = test.task.entries[0].make().unwrap();
        let right = baseline.prepare(SEED).unwrap();
        assert!(baseline.check(&right).is_ok());
        for (entry, (name, truth)) in test.task.entries[1..].iter().zip(&test.truths) {
            let survives = passes(entry, &mut *baseline);
            assert_eq!(survives, *truth != self_test::Truth::TakenOut, "{}: {name}", test.task.name);
        }
    }
}

/// Whether a subject gets as far as the clock.
fn passes(entry: &Entry, baseline: &mut dyn Subject) -> bool {
    let attempt = || entry.make().and_then(|mut subject| subject.prepare(SEED));
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt));
    matches!(answer, Ok(Ok(witness)) if baseline.check(&witness).is_ok())
}

/// Runs itself a second time as the process that dies.
#[cfg(unix)]
#[test]
fn the_crash_takes_its_process_with_it() {
    use std::os::unix::process::ExitStatusExt;
    const VICTIM: &str = "CANDOR_TEST_CRASH_HERE";
    if std::env::var_os(VICTIM).is_some() {
        let _ = self_test::crash().task.entries[1].make().unwrap().prepare(SEED);
        return;
    }
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "the_crash_takes_its_process_with_it"];
    let died = std::process::Command::new(program).args(arguments).env(VICTIM, "1").output().unwrap().status;
    assert_eq!(died.signal(), Some(6), "SIGABRT");
}
