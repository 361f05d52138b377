//! `candor sweep` as processes: kills, several at once, a full disk, and results that are put together.

use candor_test_support::{Random, small_disk};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");
/// How often a sweep is killed.
const KILLS: u64 = 10;

fn candor(arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(CANDOR);
    command.args(arguments).current_dir(directory).env_remove("CANDOR_CPU").env_remove("SLURM_ARRAY_TASK_ID");
    // Other tests, and other people's sweeps, measure on this machine too.
    command.env("TMPDIR", directory);
    command
}

fn output(arguments: &[&str], directory: &Path) -> Output {
    candor(arguments, directory).output().expect("candor starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the command printed; it succeeds.
fn done(arguments: &[&str], directory: &Path) -> String {
    let output = output(arguments, directory);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// What the command said when it ended with this status.
fn refused(arguments: &[&str], directory: &Path, status: i32) -> String {
    let output = output(arguments, directory);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    stderr(&output)
}

/// A recipe for that many shards of three circuits, each with two handshakes.
fn recipe(shards: u64) -> String {
    let circuits = shards * 3 - 1;
    format!(
        "[[circuits]]\ntopology = \"sagin-01\"\nhandshakes = [\"ntor\", \"hybrid-768\"]\ncircuits = {circuits}\nper_shard = 3\npage = 0\n"
    )
}

/// Makes a plan of a recipe in this folder.
fn plan(recipe: &str, name: &str, directory: &Path) -> PathBuf {
    fs::write(directory.join("recipe.toml"), recipe).unwrap();
    done(&["sweep", "plan", "recipe.toml", "-o", name], directory);
    directory.join(name)
}

/// Every file and folder below this one, files with their bytes.
fn tree(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>, root: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_path_buf();
            if path.is_dir() {
                found.insert(name, None);
                walk(&path, found, root);
            } else {
                found.insert(name, Some(fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, &mut found, root);
    found
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

fn start(arguments: &[&str], directory: &Path) -> Child {
    candor(arguments, directory).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("candor starts")
}

/// Waits until something holds; the process must not end before.
fn until(child: &mut Child, holds: impl Fn() -> bool) {
    while !holds() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_sweep_killed_at_random_ten_times_ends_with_the_same_bytes_as_one_left_alone() {
    const SHARDS: u64 = 150;
    let dir = tempfile::tempdir().unwrap();
    let [alone, killed] = ["alone", "killed"].map(|name| plan(&recipe(SHARDS), name, dir.path()));
    done(&["sweep", "run", "alone", "--quiet"], dir.path());
    let mut random = Random::new(25);
    let mut in_the_middle = 0;
    for kill in 0..KILLS {
        // How far it has come when it is killed, and a moment more, which may end anywhere in a shard.
        let shards = kill * 10 + random.below(10) as u64;
        let moment = Duration::from_micros(random.below(3000) as u64);
        let mut child = start(&["sweep", "run", "killed", "--quiet"], dir.path());
        until(&mut child, || entries(&killed.join("shards")) as u64 >= shards);
        std::thread::sleep(moment);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it was killed while it ran: {status}");
        in_the_middle += entries(&killed.join(".work"));
        assert!((entries(&killed.join("shards")) as u64) < SHARDS, "there was more to do");
    }
    assert!(in_the_middle > 0, "some kills were in the middle of a shard");
    let status = output(&["sweep", "status", "killed"], dir.path());
    assert_eq!(status.status.code(), Some(1));
    assert!(!stdout(&status).contains("damaged"), "{}", stdout(&status));
    done(&["sweep", "run", "killed", "--quiet"], dir.path());
    assert!(tree(&alone) == tree(&killed), "the two differ");
    assert_eq!(entries(&alone.join("shards")) as u64, SHARDS);
    assert_eq!(entries(&alone.join(".work")), 0);
    for format in ["text", "json", "csv"] {
        let collect = |name| done(&["sweep", "collect", name, "--format", format], dir.path());
        assert_eq!(collect("alone"), collect("killed"));
    }
}

#[test]
fn several_at_once_do_each_shard_once() {
    let dir = tempfile::tempdir().unwrap();
    let [alone, together] = ["alone", "together"].map(|name| plan(&recipe(40), name, dir.path()));
    done(&["sweep", "run", "alone"], dir.path());
    let children: Vec<Child> = (0..3).map(|_| start(&["sweep", "run", "together"], dir.path())).collect();
    let outputs: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let said: String = outputs.iter().map(stderr).collect();
    assert!(outputs.iter().all(|output| output.status.success()), "{said}");
    for index in 0..40 {
        assert_eq!(said.matches(&format!("shard {index} of 40: done")).count(), 1, "{said}");
    }
    assert!(tree(&alone) == tree(&together), "the two differ");
}

#[test]
fn a_shard_that_others_do_is_waited_for_and_taken_over_when_they_die() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = plan(&recipe(3), "sweep", dir.path());
    let lock = fs::File::create(sweep.join(".work/000001.lock")).unwrap();
    lock.lock().unwrap();
    let mut child = start(&["sweep", "run", "sweep"], dir.path());
    until(&mut child, || entries(&sweep.join("shards")) == 2);
    let status = output(&["sweep", "status", "sweep"], dir.path());
    assert_eq!(status.status.code(), Some(1));
    assert_eq!(stdout(&status), "3 shards: 2 done, 1 running\n  running  1\n");
    // Whoever holds it ends without a result.
    drop(lock);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("shard 1: waiting"), "{}", stderr(&output));
    assert_eq!(done(&["sweep", "status", "sweep"], dir.path()), "3 shards: 3 done\n");
}

#[test]
fn shards_by_number_are_those_of_the_plan_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = plan(&recipe(5), "sweep", dir.path());
    let run = |shards: &str| ["sweep", "run", "sweep", "--shard", shards].map(str::to_owned);
    let refuse = |shards: &str| refused(&run(shards).each_ref().map(String::as_str), dir.path(), 2);
    for beyond in ["5", "0-5", "0-18446744073709551615"] {
        assert!(refuse(beyond).contains("the plan has 5, from 0 to 4"), "{}", refuse(beyond));
    }
    assert!(refuse("env").contains("SLURM_ARRAY_TASK_ID"), "{}", refuse("env"));
    assert!(refuse("4-1").contains("0-9,20"));
    assert_eq!(entries(&sweep.join("shards")), 0, "nothing was done");
    done(&run("0-1,4").each_ref().map(String::as_str), dir.path());
    let by_slurm = |number: &str| {
        let run = run("env");
        candor(&run.each_ref().map(String::as_str), dir.path()).env("SLURM_ARRAY_TASK_ID", number).output().unwrap()
    };
    assert!(by_slurm("2").status.success());
    assert_eq!(by_slurm("7").status.code(), Some(2));
    let status = output(&["sweep", "status", "sweep"], dir.path());
    assert_eq!(stdout(&status), "5 shards: 4 done, 1 missing\n  missing  3\n");
    // A part is not taken for the whole.
    assert!(refused(&["sweep", "collect", "sweep"], dir.path(), 1).contains("4 done, 1 missing"));
    let part = output(&["sweep", "collect", "sweep", "--partial", "--format", "csv"], dir.path());
    assert!(part.status.success() && stderr(&part).contains("a part only"), "{}", stderr(&part));
    // Of the four, the last has two circuits per handshake.
    assert_eq!(stdout(&part).lines().count(), 1 + 2 * (3 * 3 + 2));
}

#[test]
fn what_is_collected_is_what_candor_circuit_says() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = "seed = 5\n[[circuits]]\ntopology = \"sagin-01\"\nhandshakes = [\"ntor\", \"hybrid-768\"]\ncircuits = 200\nper_shard = 100\npage = 20000\n";
    plan(recipe, "sweep", dir.path());
    done(&["sweep", "run", "sweep"], dir.path());
    let json = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let collected = json(done(&["sweep", "collect", "sweep", "--format", "json"], dir.path()));
    assert_eq!(collected["shards"], 2);
    assert_eq!(collected["done"], 2);
    let whole = &collected["circuits"][0];
    assert_eq!(whole["evidence"], "simulated");
    assert_eq!(whole["rows"][0]["circuits"], 200);
    // One shard is one call of the command, with its seed.
    plan(&recipe.replace("circuits = 200", "circuits = 100"), "first", dir.path());
    done(&["sweep", "run", "first"], dir.path());
    let first = json(done(&["sweep", "collect", "first", "--format", "json"], dir.path()));
    let command = "circuit sagin-01 --handshake ntor --handshake hybrid-768 --circuits 100 --page 20000 --costs none --seed 5 --format json";
    let alone = json(done(&command.split(' ').collect::<Vec<_>>(), dir.path()));
    for part in ["rows", "one_more", "delays_alone_ns", "seed", "topology"] {
        assert_eq!(first["circuits"][0][part], alone[part], "{part}");
    }
    assert_ne!(whole["rows"], alone["rows"]);
}

#[test]
fn damage_is_done_again_and_what_is_not_of_the_plan_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = plan(&recipe(3), "sweep", dir.path());
    done(&["sweep", "run", "sweep"], dir.path());
    let whole = tree(&sweep);
    let data = sweep.join("shards/000001/circuits.jsonl");
    let bytes = fs::read(&data).unwrap();
    fs::write(&data, &bytes[..bytes.len() / 2]).unwrap();
    let status = output(&["sweep", "status", "sweep"], dir.path());
    assert!(stdout(&status).contains("damaged  1: circuits.jsonl was changed or cut short"), "{}", stdout(&status));
    assert!(refused(&["sweep", "collect", "sweep"], dir.path(), 1).contains("1 damaged"));
    let again = output(&["sweep", "run", "sweep"], dir.path());
    assert!(again.status.success() && stderr(&again).contains("! shard 1 is done again: "), "{}", stderr(&again));
    assert!(tree(&sweep) == whole, "it is as it was");
    // A shard of another sweep.
    let other = plan(&recipe(4), "other", dir.path());
    fs::rename(sweep.join("shards/000002"), other.join("shards/000002")).unwrap();
    let said = refused(&["sweep", "run", "other"], dir.path(), 1);
    assert!(said.contains("1 of 4 shards failed; shard 2: ") && said.contains("result of another plan"), "{said}");
    let status = output(&["sweep", "status", "other"], dir.path());
    assert!(stdout(&status).contains("3 done, 1 foreign"), "{}", stdout(&status));
    fs::remove_dir_all(other.join("shards/000002")).unwrap();
    done(&["sweep", "run", "other"], dir.path());
    // A plan that was cut short, edited, or is not there.
    let text = fs::read_to_string(sweep.join("plan.jsonl")).unwrap();
    for (damaged, why) in [
        (text[..20].to_owned(), "fewer than two lines"),
        (text[..text.len() - 20].to_owned(), "cut short"),
        (text.replace("\"page\":0", "\"page\":1"), "the file was edited"),
    ] {
        fs::write(sweep.join("plan.jsonl"), damaged).unwrap();
        for command in ["run", "status", "collect"] {
            let said = refused(&["sweep", command, "sweep"], dir.path(), 2);
            assert!(said.contains("plan.jsonl") && said.contains(why), "{said}");
        }
    }
    fs::write(sweep.join("plan.jsonl"), text).unwrap();
    done(&["sweep", "run", "sweep"], dir.path());
    assert!(refused(&["sweep", "status", "none"], dir.path(), 2).contains("can't read none/plan.jsonl"));
    assert!(refused(&["sweep", "plan", "recipe.toml", "-o", "sweep"], dir.path(), 2).contains("another plan already"));
}

#[test]
fn the_examples_are_plans_and_the_same_recipe_makes_the_same_plan() {
    let dir = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sweep").canonicalize().unwrap();
    for (example, first, work) in [
        ("circuits.toml", "20 shards", "10000 circuits over leo-bent-pipe for each of ntor, hybrid-512, hybrid-768"),
        ("two-machines.toml", "", "tasks under each of portable, avx2"),
    ] {
        let recipe = examples.join(example).display().to_string();
        let make = |name: &str| done(&["sweep", "plan", &recipe, "-o", name], dir.path());
        let said = make(&format!("{example}-1"));
        assert!(said.starts_with(first) && said.contains(work), "{said}");
        assert_eq!(make(&format!("{example}-2")), said);
        let [one, other] = ["1", "2"].map(|name| tree(&dir.path().join(format!("{example}-{name}"))));
        assert!(one == other && one.contains_key(Path::new("slurm.sh")));
        // Each shard is in the array.
        let script = String::from_utf8(one[Path::new("slurm.sh")].clone().unwrap()).unwrap();
        let shards: u64 = said.split(' ').next().unwrap().parse().unwrap();
        assert!(script.contains(&format!("--array=0-{}\n", shards - 1)), "{script}");
        assert_eq!(script.contains("--exclusive"), example == "two-machines.toml");
    }
}

#[test]
fn a_recipe_that_can_not_be_done_makes_no_plan() {
    let dir = tempfile::tempdir().unwrap();
    let good = format!("{}[[run]]\ntasks = [\"hash/sha256/1k\"]\ntiers = [\"portable\"]\n", recipe(2));
    fs::write(dir.path().join("no-run.jsonl"), "{}\n").unwrap();
    let costs = "page = 0\ncosts = \"no-run.jsonl\"";
    for (what, with, why) in [
        ("sagin-01", "sagin-1", "no topology is named"),
        ("sagin-01", "not-there.toml", "can't read not-there.toml"),
        ("page = 0", "page = 0\nset = \"none\"", "has no set `none`"),
        ("page = 0", costs, "not a run file"),
        ("hybrid-768", "hybrid-769", "unknown handshake"),
        ("circuits = 5", "circuits = 0", "circuits is 0"),
        ("hash/sha256/1k", "hash/sha265/1k", "did you mean hash/sha256"),
        ("portable", "portabel", "tier portabel"),
        // Simulating a circuit of that page would take days.
        ("page = 0", "page = 100000000000", "page is 100000000000; expected 0 to 1000000000"),
        ("[\"ntor\", \"hybrid-768\"]", "[]", "no handshake is named"),
        ("[\"portable\"]", "[\"portable\"]\npeers = [\"opnessl\"]", "did you mean openssl"),
        ("[\"portable\"]", "[\"portable\"]\nbudget = -1", "recipe.toml: budget is -1; expected 0.01 to 86400 seconds"),
        ("[\"portable\"]", "[\"portable\"]\nbudget = nan", "budget is NaN; expected"),
        ("[\"portable\"]", "[\"portable\"]\nbudget = 0.001", "budget is 0.001; expected"),
        ("[\"portable\"]", "[\"portable\"]\nbudget = 90000", "budget is 90000; expected"),
    ] {
        let recipe = good.replace(what, with);
        assert_ne!(recipe, good, "{what}");
        fs::write(dir.path().join("recipe.toml"), recipe).unwrap();
        let said = refused(&["sweep", "plan", "recipe.toml", "-o", "sweep"], dir.path(), 2);
        assert!(said.contains(why), "{said}");
        assert!(!dir.path().join("sweep").exists(), "{with}: no folder is left");
    }
    plan(&good, "sweep", dir.path());
    // A library may be on the machines that measure and not here; a page may be as long as candor circuit fetches.
    let elsewhere = good.replace("[\"portable\"]", "[\"portable\"]\npeers = [\"candor\", \"openssl-3.9\"]");
    plan(&elsewhere.replace("page = 0", "page = 1000000000"), "elsewhere", dir.path());
}

/// Other kinds have a name from that of their model, so one that is not known may be one of them.
#[test]
fn a_kind_of_cpu_that_nobody_knows_is_remarked_on() {
    let dir = tempfile::tempdir().unwrap();
    for (cpu, is_known) in [("zen4", true), ("pentium", false)] {
        let recipe = format!("[[run]]\ntasks = [\"self-test/same\"]\ncpu = \"{cpu}\"\n");
        fs::write(dir.path().join("recipe.toml"), recipe).unwrap();
        let said = stderr(&output(&["sweep", "plan", "recipe.toml", "-o", cpu], dir.path()));
        assert_eq!(!said.contains("! cpu pentium: candor knows no such kind (zen1, "), is_known, "{said}");
    }
}

/// Measured shards: two tiers as two machines, each a sealed run of its own.
#[test]
fn tasks_are_measured_under_each_tier_and_reported_together() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = "[[run]]\ntasks = [\"self-test/same\"]\ntiers = [\"portable\"]\nbudget = 0.1\n[[run]]\ntasks = [\"self-test/same\"]\nbudget = 0.1\n";
    let sweep = plan(recipe, "sweep", dir.path());
    let all = output(&["sweep", "run", "sweep"], dir.path());
    assert!(all.status.success(), "{}", stderr(&all));
    let paths = done(&["sweep", "collect", "sweep", "--format", "paths"], dir.path());
    let paths: Vec<&str> = paths.lines().collect();
    assert_eq!(paths.len(), 2);
    let verify = [&["verify"][..], &paths[..]].concat();
    done(&verify, dir.path());
    let report = done(&[&["compare"][..], &paths[..]].concat(), dir.path());
    assert!(report.contains("self-test/same"), "{report}");
    let text = done(&["sweep", "collect", "sweep"], dir.path());
    assert!(text.contains(&format!("  0  {}  portable\n", paths[0])), "{text}");
    // What is done is not measured again.
    let before = tree(&sweep);
    done(&["sweep", "run", "sweep"], dir.path());
    assert!(tree(&sweep) == before);
}

#[test]
fn shards_for_another_kind_of_cpu_are_left_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = format!("{}[[run]]\ntasks = [\"self-test/same\"]\ncpu = \"abacus\"\n", recipe(1));
    plan(&recipe, "sweep", dir.path());
    let all = output(&["sweep", "run", "sweep"], dir.path());
    assert!(all.status.success() && stderr(&all).contains("left to machines of another kind"), "{}", stderr(&all));
    assert!(refused(&["sweep", "run", "sweep", "--shard", "1"], dir.path(), 2).contains("shard 1 is for abacus"));
    let status = output(&["sweep", "status", "sweep"], dir.path());
    assert_eq!(stdout(&status), "2 shards: 1 done, 1 missing\n  missing  1\n");
}

/// Two measurements at once disturb each other, and so does what is simulated beside one.
#[test]
#[cfg(target_os = "linux")]
fn what_is_measured_has_its_machine_for_itself() {
    let dir = tempfile::tempdir().unwrap();
    let run = "[[run]]\ntasks = [\"self-test/same\"]\nbudget = ";
    let long = plan(&format!("{run}600\n"), "long", dir.path());
    let [short, circuits] = [format!("{run}0.1\n"), recipe(1)].map(|recipe| {
        let name = if recipe.contains("circuits") { "circuits" } else { "short" };
        plan(&recipe, name, dir.path())
    });
    let mut first = start(&["sweep", "run", "long"], dir.path());
    until(&mut first, || entries(&long.join(".work/000000")) > 0);
    let others = ["short", "circuits"].map(|name| {
        let mut child = start(&["sweep", "run", name], dir.path());
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("shard 0: waiting until no") && line.contains("on this machine"), "{name}: {line}");
        (child, said)
    });
    assert_eq!([&short, &circuits].map(|sweep| entries(&sweep.join("shards"))), [0, 0], "nothing was done meanwhile");
    // Whoever waits holds no shard that another machine could do.
    assert_eq!(stdout(&output(&["sweep", "status", "short"], dir.path())), "1 shard: 1 missing\n  missing  0\n");
    first.kill().unwrap();
    first.wait().unwrap();
    for (child, mut said) in others {
        let output = child.wait_with_output().unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert!(output.status.success() && rest.contains("shard 0 of 1: done"), "{rest}");
    }
}

/// Without a number of jobs, GNU parallel starts one for each core.
#[test]
fn measured_shards_are_not_to_be_done_in_parallel() {
    let dir = tempfile::tempdir().unwrap();
    let run = "[[run]]\ntasks = [\"self-test/same\"]\n";
    for (name, recipe, line) in [
        ("simulated", recipe(2), "seq 0 1 | parallel candor sweep run simulated --shard {}"),
        ("measured", run.to_owned(), "seq 0 0 | parallel -j1 candor sweep run measured --shard {}"),
        ("both", format!("{}{run}", recipe(2)), "seq 0 2 | parallel -j1 candor sweep run both --shard {}"),
    ] {
        fs::write(dir.path().join("recipe.toml"), recipe).unwrap();
        let said = stderr(&output(&["sweep", "plan", "recipe.toml", "-o", name], dir.path()));
        assert!(said.contains(line), "{said}");
    }
}

/// A tier that this machine lacks is an error of the shard, not a silent fall back to another.
#[test]
fn a_measurement_that_fails_leaves_its_reason_and_no_result() {
    let dir = tempfile::tempdir().unwrap();
    let other = if cfg!(target_arch = "x86_64") { "pmull" } else { "avx2" };
    let recipe = format!("[[run]]\ntasks = [\"self-test/same\"]\ntiers = [\"{other}\"]\n");
    let sweep = plan(&recipe, "sweep", dir.path());
    let said = refused(&["sweep", "run", "sweep"], dir.path(), 1);
    assert!(said.contains(&format!("CANDOR_CPU={other}")), "{said}");
    assert_eq!(entries(&sweep.join("shards")), 0);
    let status = output(&["sweep", "status", "sweep"], dir.path());
    assert!(
        stdout(&status).contains(&format!("failed  0: candor run: error: CANDOR_CPU={other}")),
        "{}",
        stdout(&status)
    );
}

/// A run that nobody waits for would disturb what is measured next.
#[test]
#[cfg(target_os = "linux")]
fn a_measurement_ends_with_the_sweep_that_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = plan("[[run]]\ntasks = [\"self-test/same\"]\nbudget = 600\n", "sweep", dir.path());
    let mut child = start(&["sweep", "run", "sweep"], dir.path());
    let partial = || entries(&sweep.join(".work/000000")) > 0;
    until(&mut child, partial);
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    let run: u32 = children.trim().parse().expect("one child");
    let is_there = || fs::read_to_string(format!("/proc/{run}/cmdline")).is_ok_and(|line| line.contains("run"));
    assert!(is_there());
    child.kill().unwrap();
    child.wait().unwrap();
    while is_there() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = output(&["sweep", "status", "sweep"], dir.path());
    assert_eq!(stdout(&status), "1 shard: 1 missing\n  missing  0\n");
}

#[test]
fn a_full_disk_leaves_nothing_half_done() {
    let test = "a_full_disk_leaves_nothing_half_done";
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = small_disk::run(test, dir.path(), "went on") else { return };
    let disk = Path::new(&disk);
    let [alone, full] = ["alone", "full"].map(|name| plan(&recipe(20), name, disk));
    done(&["sweep", "run", "alone"], disk);
    // Room for some of the shards and not for all.
    let filler = disk.join("filler");
    let mut size = 0;
    while fs::write(&filler, vec![1; size + 4096]).is_ok() {
        size += 4096;
    }
    fs::write(&filler, vec![1; size - 64 * 1024]).unwrap();
    let said = refused(&["sweep", "run", "full"], disk, 1);
    assert!(said.contains("No space left on device") && said.contains("of 20 shards failed"), "{said}");
    let status = stdout(&output(&["sweep", "status", "full"], disk));
    assert!(status.contains(" done") && !status.contains("damaged"), "{status}");
    let finished = entries(&full.join("shards"));
    assert!((1..20).contains(&finished), "{finished} shards found room");
    fs::remove_file(&filler).unwrap();
    done(&["sweep", "run", "full"], disk);
    assert!(tree(&alone) == tree(&full), "the two differ");
    println!("went on");
}
