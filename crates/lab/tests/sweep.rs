//! Plans and folders of sweeps: what is refused, what is done again, and who may do a shard.

use candor_lab::sweep::{Block, Circuits, Claim, CostsOf, MOST_SHARDS, Plan, Recipe, Runs, State, Sweep, Work};
use candor_test_support::runs::reseal;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn circuits() -> Circuits {
    Circuits {
        name: "row".into(),
        topology: "title = \"row\"\n".into(),
        set: Some("paper".into()),
        handshakes: vec!["ntor".into(), "hybrid-768".into()],
        circuits: 25,
        per_shard: 10,
        seed: 7,
        cold: false,
        lossless: true,
        page: 0,
        costs: Some(CostsOf { run: "2026-11-24-zen4-f107e2".into(), sha256: "ab".repeat(32) }),
    }
}

fn runs() -> Runs {
    Runs {
        tasks: ["hash/a", "hash/b", "hash/c"].map(str::to_owned).to_vec(),
        per_shard: 2,
        tiers: vec!["portable".into(), "avx2".into()],
        cpu: Some("zen4".into()),
        budget_ms: 2000,
        processes: Some(9),
        peers: vec!["openssl".into()],
        seed: u64::MAX,
    }
}

fn plan() -> Plan {
    Plan::new(vec![Block::Circuits(circuits()), Block::Run(runs())]).expect("it is sound")
}

#[test]
fn every_circuit_and_every_task_is_in_one_shard() {
    let plan = plan();
    assert_eq!((plan.shards(), plan.work(7)), (7, None));
    let found: Vec<String> = (0..7)
        .map(|index| match plan.work(index).unwrap() {
            Work::Circuits { block, seed, count, .. } => format!("{block}: {count} from {seed}"),
            Work::Run { tier, tasks, seed, .. } => format!("{} {} {seed}", tier.unwrap(), tasks.join(",")),
        })
        .collect();
    let expected = [
        "0: 10 from 7",
        "0: 10 from 17",
        "0: 5 from 27",
        "portable hash/a,hash/b 18446744073709551615",
        "portable hash/c 1",
        "avx2 hash/a,hash/b 18446744073709551615",
        "avx2 hash/c 1",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_plan_is_read_as_it_was_written_and_damage_is_named_with_its_line() {
    let plan = plan();
    let bytes = plan.text().as_bytes();
    assert_eq!(Plan::parse(bytes).as_ref(), Ok(&plan));
    let refused = |bytes: &[u8]| Plan::parse(bytes).map(|_| ()).unwrap_err();
    // Every shorter file, and every file with another byte.
    for end in 0..bytes.len() {
        refused(&bytes[..end]);
    }
    for at in 0..bytes.len() {
        let mut other = bytes.to_vec();
        other[at] ^= 1;
        refused(&other);
    }
    let flaw = refused(&bytes[..bytes.len() - 1]);
    assert!(flaw.line == 4 && flaw.why.contains("cut short"), "{flaw:?}");
    let edited = plan.text().replace("\"per_shard\":10", "\"per_shard\":11");
    assert!(refused(edited.as_bytes()).why.contains("edited"));
    // A seal that fits does not make everything a plan.
    for (what, with, line, why) in [
        ("\"schema\":1", "\"schema\":2", 1, "schema 2"),
        ("\"kind\":\"sweep\"", "\"kind\":\"manifest\"", 1, "not a plan"),
        ("\"circuits\":25", "\"circuits\":0", 2, "circuits is 0"),
        ("\"per_shard\":10", "\"per_shard\":0", 2, "per_shard is 0"),
        ("\"circuits\":25", "\"circuits\":1000001", 2, "make per_shard larger"),
        ("\"circuits\":25", "\"circuits\":25,\"more\":1", 2, "unknown field"),
        ("\"ntor\"", "\"hybrid-768\"", 2, "named twice"),
        ("[\"ntor\",\"hybrid-768\"]", "[]", 2, "no handshake"),
        ("2026-11-24-zen4-f107e2", "../../secret", 2, "no name"),
        ("abab", "ABAB", 2, "digest"),
        ("\"hash/a\"", "\"--quick\"", 3, "no name of a task"),
        ("\"hash/a\"", "\"hash/../a\"", 3, "no name of a task"),
        ("\"budget_ms\":2000", "\"budget_ms\":9", 3, "budget_ms is 9"),
        ("\"processes\":9", "\"processes\":0", 3, "processes is 0"),
        // The same work written in another way would have another digest.
        ("\"budget_ms\":2000", "\"budget_ms\": 2000", 1, "as candor writes it"),
    ] {
        let edited = plan.text().replace(what, with);
        assert_ne!(edited, plan.text(), "{what}");
        let flaw = refused(&reseal(edited.as_bytes()));
        assert!(flaw.line == line && flaw.why.contains(why), "{with}: {flaw:?}");
    }
}

#[test]
fn a_plan_has_a_hundred_thousand_shards_at_most_and_one_at_least() {
    let of = |circuits: u64| Plan::new(vec![Block::Circuits(Circuits { circuits, per_shard: 1, ..self::circuits() })]);
    assert_eq!(of(MOST_SHARDS).unwrap().shards(), MOST_SHARDS);
    assert!(of(MOST_SHARDS + 1).unwrap_err().contains("per_shard"));
    let half = || Block::Circuits(Circuits { circuits: MOST_SHARDS, per_shard: 1, ..circuits() });
    assert!(Plan::new(vec![half(), half()]).unwrap_err().contains("200000 shards"));
    assert!(Plan::new(vec![]).unwrap_err().contains("0 shards"));
}

#[test]
fn a_recipe_says_what_is_wanted_and_nothing_else() {
    let good =
        "seed = 3\n[[circuits]]\ntopology = \"sagin-01\"\ncircuits = 10\n[[run]]\ntasks = [\"hash\"]\nbudget = 2.0\n";
    let recipe = Recipe::parse(good).unwrap();
    assert_eq!((recipe.seed, recipe.circuits[0].per_shard, recipe.run[0].per_shard), (3, 500, 10));
    let refused = |text: &str| Recipe::parse(text).unwrap_err().to_string();
    assert!(refused("seed = 3\n").contains("nothing to do"));
    assert!(refused(&good.replace("circuits = 10", "circuits = -1")).contains("line 4"));
    assert!(refused(&good.replace("seed", "sed")).contains("unknown field `sed`"));
    assert!(refused(&good.replace("tasks", "task")).contains("unknown field `task`"));
    assert!(refused(&good.replace("circuits = 10\n", "")).contains("missing field `circuits`"));
    assert!(refused(&" ".repeat(2 << 20)).contains("bytes long"));
}

fn small() -> Plan {
    Plan::new(vec![Block::Circuits(Circuits { circuits: 3, per_shard: 1, ..circuits() })]).unwrap()
}

fn create(directory: &Path) -> Sweep {
    Sweep::create(directory, small(), &[("costs/a.jsonl".into(), b"costs".to_vec())]).unwrap()
}

fn do_it(sweep: &Sweep, index: u64) -> Option<String> {
    let Claim::Yours(claimed) = sweep.claim(index, false).unwrap() else { panic!("shard {index} is free") };
    fs::write(claimed.folder().join("data"), format!("data of {index}")).unwrap();
    claimed.finish("data", "candor 0").unwrap();
    claimed.damaged.clone()
}

fn files(directory: &Path) -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<String>, root: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found, root);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(directory, &mut found, directory);
    found.sort();
    found
}

#[test]
fn a_shard_is_in_its_place_as_a_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = create(dir.path());
    assert_eq!(sweep.state(0).unwrap(), State::Missing);
    // One that is given up leaves nothing in its place.
    let Claim::Yours(claimed) = sweep.claim(0, false).unwrap() else { panic!("it is free") };
    fs::write(claimed.folder().join("data"), "half").unwrap();
    assert_eq!(sweep.state(0).unwrap(), State::Running);
    drop(claimed);
    assert_eq!(sweep.state(0).unwrap(), State::Missing);
    // One whose data is missing is not put there.
    let Claim::Yours(claimed) = sweep.claim(0, false).unwrap() else { panic!("it is free") };
    assert!(claimed.finish("data", "candor 0").unwrap_err().to_string().contains("000000"));
    claimed.fail("no data");
    assert_eq!(sweep.state(0).unwrap(), State::Failed("no data".into()));
    assert_eq!(do_it(&sweep, 0), None);
    let State::Done(done) = sweep.state(0).unwrap() else { panic!("it is done") };
    assert_eq!((fs::read_to_string(done.data).unwrap(), done.tool), ("data of 0".into(), "candor 0".into()));
    assert!(matches!(sweep.claim(0, false).unwrap(), Claim::Done));
    assert_eq!(files(dir.path()), ["costs/a.jsonl", "plan.jsonl", "shards/000000/data", "shards/000000/shard.jsonl"]);
    let error = sweep.claim(3, false).unwrap_err().to_string();
    assert!(error.contains("no shard 3: the plan has 3, from 0 to 2"), "{error}");
}

#[test]
fn a_shard_belongs_to_one_process_and_is_free_when_that_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (create(dir.path()), Sweep::open(dir.path()).unwrap());
    let Claim::Yours(claimed) = one.claim(1, false).unwrap() else { panic!("it is free") };
    assert!(matches!(other.claim(1, false).unwrap(), Claim::Busy));
    assert!(matches!(other.claim(2, false).unwrap(), Claim::Yours(_)), "the others are free");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.claim(1, true).unwrap());
        fs::write(claimed.folder().join("data"), "its data").unwrap();
        claimed.finish("data", "candor 0").unwrap();
        drop(claimed);
        assert!(matches!(waiting.join().unwrap(), Claim::Done), "whoever waits finds it done");
    });
    // What a killed process leaves: a lock that nobody holds, and half of a shard.
    fs::create_dir(dir.path().join(".work/000002")).unwrap();
    fs::write(dir.path().join(".work/000002/data"), "half").unwrap();
    fs::write(dir.path().join(".work/000002.lock"), "").unwrap();
    assert_eq!(one.state(2).unwrap(), State::Missing);
    assert_eq!(do_it(&one, 2), None);
    // Killed when the shard was in its place, before it had tidied up.
    fs::write(dir.path().join(".work/000002.lock"), "").unwrap();
    assert!(matches!(one.claim(2, false).unwrap(), Claim::Done));
    assert!(!files(dir.path()).iter().any(|file| file.starts_with(".work")));
}

/// How a file in a shard's place is damaged, with a word of the reason.
type Damage = (&'static str, fn(&Path), &'static str);

#[test]
fn a_damaged_shard_is_done_again_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = create(dir.path());
    do_it(&sweep, 0);
    let whole = files(dir.path());
    let damages: [Damage; 8] = [
        ("data", |path| fs::write(path, "other data").unwrap(), "changed or cut short"),
        ("data", |path| fs::write(path, "data of").unwrap(), "changed or cut short"),
        ("data", |path| fs::remove_file(path).unwrap(), "data: "),
        ("shard.jsonl", |path| fs::remove_file(path).unwrap(), "shard.jsonl: "),
        ("shard.jsonl", |path| fs::write(path, "").unwrap(), "fewer than two lines"),
        ("shard.jsonl", |path| fs::write(path, "x".repeat(5000)).unwrap(), "bytes long"),
        ("shard.jsonl", |path| edit(path, "\"shard\":0", "\"shard\":1"), "shard 1 of the plan"),
        ("shard.jsonl", |path| edit(path, "\"file\":\"data\"", "\"file\":\"../data\""), "no name of its data"),
    ];
    for (file, damage, why) in damages {
        damage(&dir.path().join("shards/000000").join(file));
        let State::Damaged(found) = sweep.state(0).unwrap() else { panic!("{file} is damaged: {why}") };
        assert!(found.contains(why), "{found}");
        assert_eq!(do_it(&sweep, 0), Some(found));
        assert!(matches!(sweep.state(0).unwrap(), State::Done(_)));
        assert_eq!(files(dir.path()), whole);
    }
    fs::remove_dir_all(dir.path().join("shards/000000")).unwrap();
    fs::write(dir.path().join("shards/000000"), "no folder").unwrap();
    assert_eq!(do_it(&sweep, 0), Some("it is no folder".into()));
}

fn edit(path: &Path, what: &str, with: &str) {
    let text = fs::read_to_string(path).unwrap();
    let edited = text.replace(what, with);
    assert_ne!(edited, text);
    fs::write(path, reseal(edited.as_bytes())).unwrap();
}

#[test]
fn what_belongs_to_another_plan_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = create(dir.path());
    do_it(&sweep, 0);
    let before = fs::read(dir.path().join("plan.jsonl")).unwrap();
    let other = Plan::new(vec![Block::Circuits(Circuits { circuits: 4, per_shard: 1, ..circuits() })]).unwrap();
    let error = Sweep::create(dir.path(), other.clone(), &[]).unwrap_err().to_string();
    assert!(error.contains("another plan already"), "{error}");
    assert_eq!(fs::read(dir.path().join("plan.jsonl")).unwrap(), before);
    // The same plan again is no mistake.
    create(dir.path());
    assert!(matches!(sweep.state(0).unwrap(), State::Done(_)));
    // Shards that somebody copied from another sweep.
    fs::write(dir.path().join("plan.jsonl"), other.text()).unwrap();
    let copied = Sweep::open(dir.path()).unwrap();
    let State::Foreign(why) = copied.state(0).unwrap() else { panic!("it is of the first plan") };
    assert!(why.contains("another plan"), "{why}");
    let error = copied.claim(0, false).unwrap_err().to_string();
    assert!(error.contains("another plan") && error.contains("remove it"), "{error}");
    assert!(dir.path().join("shards/000000/data").exists());
    assert!(matches!(copied.claim(1, false).unwrap(), Claim::Yours(_)));
}

fn any_name() -> impl Strategy<Value = String> {
    "[a-z0-9][a-z0-9./@-]{0,12}".prop_filter("no way up", |name| !name.contains(".."))
}

prop_compose! {
    fn any_circuits()(
        name in "[a-z0-9-]{1,12}", topology in ".{0,60}", set in proptest::option::of(".{0,9}"), handshakes in proptest::collection::hash_set(any_name(), 1..4),
        circuits in 1u64..5000, per_shard in 1u64..700, seed in any::<u64>(), flags in any::<[bool; 2]>(), page in 0u64..1_000_000_000,
    ) -> Circuits {
        let [cold, lossless] = flags;
        let name = format!("t{name}");
        Circuits { name, topology, set, handshakes: handshakes.into_iter().collect(), circuits, per_shard, seed, cold, lossless, page, costs: None }
    }
}

prop_compose! {
    fn any_runs()(
        tasks in proptest::collection::hash_set(any_name(), 1..30), per_shard in 1u64..40, tiers in proptest::collection::hash_set(any_name(), 0..3),
        budget_ms in 10u64..86_400_000, seed in any::<u64>(),
    ) -> Runs {
        let (tasks, tiers) = (tasks.into_iter().collect(), tiers.into_iter().collect());
        Runs { tasks, per_shard, tiers, cpu: None, budget_ms, processes: None, peers: vec![], seed }
    }
}

proptest! {
    #[test]
    fn any_plan_is_read_again_and_its_shards_are_the_whole(circuits in any_circuits(), runs in any_runs()) {
        let plan = Plan::new(vec![Block::Circuits(circuits.clone()), Block::Run(runs.clone())]).unwrap();
        prop_assert_eq!(Plan::parse(plan.text().as_bytes()), Ok(plan.clone()));
        let (mut simulated, mut measured) = (0, Vec::new());
        for index in 0..plan.shards() {
            match plan.work(index).unwrap() {
                Work::Circuits { count, seed, .. } => {
                    prop_assert_eq!(seed, circuits.seed.wrapping_add(simulated));
                    simulated += count;
                }
                Work::Run { tasks, .. } => measured.extend_from_slice(tasks),
            }
        }
        prop_assert_eq!(simulated, circuits.circuits);
        prop_assert_eq!(measured, vec![runs.tasks.clone(); runs.tiers.len().max(1)].concat());
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in ".{0,200}") {
        let _ = (Plan::parse(&bytes), Plan::parse(&reseal(&bytes)), Recipe::parse(&text));
    }

    /// Bytes of a plan are replaced, repeated or removed, and the seal fits.
    #[test]
    fn a_plan_that_is_read_is_written_as_it_was(at in any::<prop::sample::Index>(), by in any::<Vec<u8>>(), removed in 0usize..40) {
        let mut bytes = plan().text().as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + removed).min(bytes.len());
        bytes.splice(at..end, by);
        let bytes = reseal(&bytes);
        if let Ok(plan) = Plan::parse(&bytes) {
            prop_assert_eq!(plan.text().as_bytes(), &bytes[..]);
        }
    }
}
