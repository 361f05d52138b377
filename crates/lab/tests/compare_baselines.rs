//! Runs whose baselines are not one and the same: by `--baseline`, by the CPU, or by a build's own choice.

mod made_up;

use candor_lab::compare::{Column, Comparison, Fate};
use candor_lab::runfile::Run;
use candor_lab::verdict::Verdict;
use made_up::{MadeUp, machine, made_up, tool};
use std::path::{Path, PathBuf};

fn compared(runs: &[Run]) -> Comparison {
    let runs: Vec<(PathBuf, Run)> = runs.iter().map(|run| (PathBuf::from(&run.name), run.clone())).collect();
    Comparison::of(&runs).unwrap()
}

fn sealed(names: &[&str]) -> Comparison {
    let open = |name: &&str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../runs/2026-11-{name}.jsonl"));
        let run = Run::open(&path).unwrap();
        (path, run)
    };
    Comparison::of(&names.iter().map(open).collect::<Vec<_>>()).unwrap()
}

/// Pairs of committed runs on one Zen 4, which differ in `--baseline` alone as far as their commands say: candor@avx512 and AWS-LC behind our traits, the default
/// arm and candor@aes-ni, candor@avx512 and candor@avx2 of one commit.
#[test]
fn another_baseline_by_name_is_no_other_build() {
    for pair in [
        ["24-zen4-a9070a", "24-zen4-fe760f"],
        ["23-zen4-da11fc", "23-zen4-152f17"],
        ["24-zen4-a9070a", "24-zen4-4e8ef0"],
    ] {
        let comparison = sealed(&pair);
        assert_eq!(comparison.slower(), [""; 0], "{pair:?}");
        assert_eq!(comparison.flips(), [""; 0], "{pair:?}");
        assert_eq!(comparison.changed(Verdict::Faster), 0, "{pair:?}");
        let fates = comparison.count(|fate| matches!(fate, Fate::Reproduces | Fate::Differs));
        assert_eq!(fates, 0, "{pair:?}");
        let of_rows = comparison.tasks.iter().flat_map(|task| &task.rows);
        let reasons: Vec<&String> = of_rows
            .filter_map(|row| match &row.fate {
                Fate::NotCompared(why) => Some(why),
                _ => None,
            })
            .collect();
        assert!(
            !reasons.is_empty() && reasons.iter().all(|why| why.contains("the baseline was candor@")),
            "{pair:?}: {reasons:?}"
        );
    }
    let comparison = sealed(&["24-zen4-a9070a", "24-zen4-fe760f"]);
    assert!(!comparison.changes.is_empty());
    for change in &comparison.changes {
        let why = "the baseline was candor@avx512 in 2026-11-24-zen4-a9070a (by --baseline) and candor@auto (on aws-lc-rs) in 2026-11-24-zen4-fe760f (by --baseline)";
        assert_eq!((change.verdict, change.ratio, change.advice.as_deref()), (Verdict::CantTell, None, Some(why)));
    }
}

/// A run of a build and a CPU with that baseline, which was asked for by name or not.
fn run(name: &str, baseline: &'static str, asked: bool, cpu: &str) -> Run {
    let ratio = if name == "a" { 1.2 } else { 1.1 };
    let seed = name.bytes().map(u64::from).sum();
    let mut run =
        made_up(MadeUp { ratio, baseline, seed, machine: machine(cpu), tool: tool(name), ..MadeUp::named(name) });
    if asked {
        run.manifest.settings.insert("baseline".into(), baseline.into());
    }
    run
}

/// The fate of the peer; where it has none, why; and what is to be known of it.
fn fate(runs: &[Run]) -> (String, Vec<String>) {
    let row = compared(runs).tasks.remove(0).rows.remove(0);
    let fate = match row.fate {
        Fate::NotCompared(why) => why,
        fate => fate.word().to_owned(),
    };
    (fate, row.remarks)
}

#[test]
fn an_arm_that_a_build_chose_is_told_on_the_row_and_at_the_change() {
    let runs = [run("a", "ours@avx2", false, "A"), run("b", "ours@avx512", false, "A")];
    let why = "each build chose its own arm: the baseline was ours@avx2 in a and ours@avx512 in b".to_owned();
    assert_eq!(fate(&runs), ("reproduces".into(), vec![why.clone()]));
    let change = compared(&runs).changes.remove(0);
    assert_eq!((change.verdict, change.advice), (Verdict::Slower, Some(why)));
    // By name it was nobody's choice.
    let runs = [run("a", "ours@avx2", true, "A"), run("b", "ours@avx512", false, "A")];
    let why = "the baseline was ours@avx2 in a (by --baseline) and ours@avx512 in b".to_owned();
    assert_eq!(fate(&runs), (why.clone(), vec![]));
    let change = compared(&runs).changes.remove(0);
    assert_eq!((change.verdict, change.advice), (Verdict::CantTell, Some(why)));
    // The same one is the same, whoever was asked.
    assert_eq!(
        fate(&[run("a", "ours@avx2", true, "A"), run("b", "ours@avx2", false, "A")]),
        ("reproduces".into(), vec![])
    );
}

#[test]
fn another_cpu_may_run_another_arm_and_not_another_library() {
    let there = || run("a", "ours@avx2", false, "A");
    assert_eq!(fate(&[there(), run("b", "ours@neon", false, "B")]), ("reproduces".into(), vec![]));
    let asked = fate(&[there(), run("b", "ours@portable", true, "B")]).0;
    assert_eq!(asked, "the baseline was ours@avx2 in a and ours@portable in b (by --baseline)");
    let mut behind = run("b", "ours@auto", false, "B");
    behind.subjects[0].provenance.timed = "does it (back end aws-lc-rs 1.19.0 on aws-lc-sys 0.47.0)".into();
    let of_others = fate(&[there(), behind.clone()]).0;
    assert_eq!(of_others, "the baseline was ours@avx2 in a and ours@auto (on aws-lc-rs) in b");
    // A newer version of that library came with the build.
    let mut newer = run("c", "ours@auto", false, "B");
    newer.subjects[0].provenance.timed = "does it (back end aws-lc-rs 1.20.0 on aws-lc-sys 0.48.0)".into();
    assert_eq!(fate(&[behind, newer]), ("reproduces".into(), vec![]));
}

/// A repetition has the baseline of its run, whatever this build would choose.
#[test]
fn an_arm_that_a_repetition_took_over_was_not_chosen_by_its_build() {
    let repeated = |name: &str, baseline: &'static str, cpu: &str| {
        let mut run = run(name, baseline, false, cpu);
        run.manifest.repeats = Some("earlier".into());
        run
    };
    let other = || run("a", "ours@avx512", false, "A");
    let told = fate(&[other(), repeated("b", "ours@avx2", "A")]).0;
    assert_eq!(told, "the baseline was ours@avx512 in a and ours@avx2 in b (as in the run that it repeats)");
    assert_eq!(fate(&[other(), repeated("b", "ours@avx2", "B")]).0, "reproduces", "the other CPU has no AVX-512");
}

/// Another default tier is another arm of the baseline, as on another CPU, and no other build.
#[test]
fn what_ran_with_another_default_tier_stands_in_a_column_of_its_own_and_is_no_other_build() {
    let run = |name: &str, seed: u64, tier: Option<&str>| {
        let baseline = if tier == Some("portable") { "ours@portable" } else { "ours@avx2" };
        let ratio = 1.2 - 0.1 * seed as f64;
        let mut run = made_up(MadeUp { ratio, seed, baseline, tool: tool(name), ..MadeUp::named(name) });
        run.manifest.settings.extend(tier.map(|tier| ("CANDOR_CPU".to_owned(), tier.to_owned())));
        run
    };
    let of = |there: Option<&str>, here: Option<&str>| compared(&[run("a", 0, there), run("b", 1, here)]);
    let fate = |comparison: &Comparison| comparison.tasks[0].rows[0].fate.clone();
    for tier in [None, Some("avx2")] {
        let comparison = of(tier, tier);
        assert_eq!((comparison.changes[0].verdict, fate(&comparison)), (Verdict::Slower, Fate::Reproduces), "{tier:?}");
        assert!(comparison.doubts().is_empty());
    }
    let comparison = of(Some("portable"), None);
    let why = "CANDOR_CPU was portable in a and CANDOR_CPU was not set in b".to_owned();
    let change = &comparison.changes[0];
    assert_eq!((change.verdict, change.advice.as_ref()), (Verdict::CantTell, Some(&why)));
    assert_eq!(fate(&comparison), Fate::Reproduces);
    assert!(comparison.tasks[0].rows[0].remarks.is_empty(), "no build chose an arm");
    let told = "one kind of machine, set in two ways in a and b: CANDOR_CPU portable and not set";
    assert_eq!(comparison.doubts(), [told]);
    assert!(comparison.columns[0].line().ends_with(", CANDOR_CPU=portable"));
}

/// The runs of a sweep over two tiers: no build changed, tasks of a tier share a column, and verdicts are judged across the tiers.
#[test]
fn tiers_of_a_sweep_are_two_columns_whose_verdicts_are_judged() {
    let run = |name: &str, task, tier: &str, ratio| {
        let mut run = made_up(MadeUp { ratio, task, ..MadeUp::named(name) });
        run.manifest.settings.insert("CANDOR_CPU".into(), tier.into());
        run
    };
    let runs = [
        run("a", "t", "portable", 0.8),
        run("b", "u", "portable", 1.1),
        run("c", "t", "avx2", 1.2),
        run("d", "u", "avx2", 1.3),
    ];
    let comparison = compared(&runs);
    let columns: Vec<String> = comparison.columns.iter().map(Column::runs).collect();
    assert_eq!(columns, ["a, b", "c, d"]);
    let fates: Vec<&Fate> = comparison.tasks.iter().flat_map(|task| &task.rows).map(|row| &row.fate).collect();
    assert_eq!(fates, [&Fate::Flips, &Fate::Reproduces]);
    assert!(comparison.changes.is_empty(), "one program");
}

/// Two builds with a tier and without: each change is from one build to the other under the same tier.
#[test]
fn a_change_is_looked_for_under_the_same_tier_first() {
    let run = |name: &str, seed: u64, build: &str, tier: Option<&str>| {
        let mut run = made_up(MadeUp { ratio: 1.2, seed, tool: tool(build), ..MadeUp::named(name) });
        run.manifest.settings.extend(tier.map(|tier| ("CANDOR_CPU".to_owned(), tier.to_owned())));
        run
    };
    let tier = Some("portable");
    let runs = [run("a", 1, "1", None), run("b", 2, "1", tier), run("c", 3, "2", None), run("d", 4, "2", tier)];
    let verdicts: Vec<Verdict> = compared(&runs).changes.iter().map(|change| change.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::Same]);
}
