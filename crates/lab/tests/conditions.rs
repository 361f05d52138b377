//! Under what a run was made: the lints that say so, each with a twin that doesn't fire.

use candor_lab::analysis::Report;
use candor_lab::machine::{Machine, Noise};
use candor_lab::runfile::{End, Lock, Manifest, Run};

fn lints(manifest: Manifest, during: Noise) -> Vec<(&'static str, String)> {
    let mut run = Run::empty("conditions", manifest);
    run.end = End { during, seconds: 1.0, interrupted: false };
    Report::of(&run).lints.into_iter().map(|lint| (lint.name, lint.text)).collect()
}

/// A run that was made while a build went on said that others used 0.000 CPUs, and its load was 2.29 on two.
#[test]
fn a_load_above_the_number_of_cpus_is_a_busy_machine_whatever_others_seem_to_use() {
    let of = |load, cpus| {
        let manifest = Manifest { machine: Machine { cpus, ..Machine::default() }, ..Manifest::default() };
        lints(manifest, Noise { load, ..Noise::default() })
    };
    let text = "others used 0.0 CPUs, steal 0.0 %, load 2.3 on 2 CPUs at its end".to_owned();
    assert_eq!(of(2.29, 2), [("busy-machine", text)]);
    assert_eq!((of(1.04, 2).len(), of(2.29, 4).len()), (0, 0));
}

#[test]
fn a_report_says_the_load() {
    let mut run = Run::empty("conditions", Manifest::default());
    run.end = End { during: Noise { load: 1.04, ..Noise::default() }, seconds: 1.0, interrupted: false };
    assert!(Report::of(&run).conditions.ends_with(", load 1.0"), "{}", Report::of(&run).conditions);
}

#[test]
fn a_build_with_another_cargo_lock_than_its_commits_says_so() {
    let digest = "0123456789abcdef".repeat(4);
    let of = |told: &str| {
        let mut manifest = Manifest::default();
        manifest.tool.lock = Lock::told(told);
        lints(manifest, Noise::default())
    };
    let text = "sha256 0123456789ab is not that of Cargo.lock in the program's commit".to_owned();
    assert_eq!(of(&format!("{digest} differs")), [("lock-differs", text)]);
    assert!(of(&digest).is_empty() && of("").is_empty());
    assert_eq!(Lock::told(&digest), Some(Lock { sha256: digest.clone(), differs: false }));
    assert_eq!((Lock::told("differs"), Lock::told(&digest[1..])), (None, None));
}
