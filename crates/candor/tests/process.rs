//! The program as a process: what a terminal, a kill and a full disk do to it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

fn candor(arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(CANDOR);
    command.args(arguments).current_dir(directory).env_remove("CANDOR_CPU");
    command
}

fn output(arguments: &[&str], directory: &Path) -> Output {
    candor(arguments, directory).output().expect("candor starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn runs(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).map(|entries| entries.map(|entry| entry.unwrap().path()).collect());
    entries.unwrap_or_default()
}

fn signal(target: &str, signal: &str) {
    let status = Command::new("kill").args([signal, "--", target]).status().expect("kill is everywhere");
    assert!(status.success());
}

#[test]
fn a_run_prints_json_that_satisfies_the_schema_and_saves_a_run_that_reports_alike() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["run", "self-test/same", "--budget", "0.2", "--format", "json", "--quiet"];
    let output = output(&arguments, dir.path());
    assert!(output.status.success(), "{}", stderr(&output));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout is one JSON object");
    assert_eq!(value["schema"], 1);
    assert!(value["rows"].as_array().is_some_and(|rows| rows.len() >= 3), "{value:#}");
    assert!(output.stderr.is_empty(), "--quiet says nothing: {}", stderr(&output));
    let saved = runs(&dir.path().join("candor-runs"));
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0].file_stem().unwrap().to_str(), value["run"].as_str());
    let again = super_report(&saved[0], dir.path());
    assert_eq!(again, output.stdout, "the report of the file is the report of the run");
}

fn super_report(run: &Path, directory: &Path) -> Vec<u8> {
    let output = output(&["report", run.to_str().unwrap(), "--format", "json"], directory);
    assert!(output.status.success(), "{}", stderr(&output));
    output.stdout
}

/// `ssh-keygen` itself makes the keys and is the outside judge of the signature.
#[test]
fn a_signed_run_is_verified_and_one_that_was_changed_or_signed_by_another_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let ssh_keygen = |arguments: &[&str]| {
        let mut command = Command::new("ssh-keygen");
        command.args(arguments).current_dir(dir.path()).stdin(Stdio::null()).output()
    };
    for name in ["key", "other"] {
        match ssh_keygen(&["-q", "-t", "ed25519", "-N", "", "-f", name]) {
            Ok(made) => assert!(made.status.success(), "{}", stderr(&made)),
            Err(error) => return println!("skipped: no ssh-keygen: {error}"),
        }
    }
    let run = |key: &str| {
        output(&["run", "self-test/same", "--budget", "0.2", "--processes", "2", "--sign", key, "--quiet"], dir.path())
    };
    let missing = run("no-such-key");
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("can't sign with no-such-key"), "{}", stderr(&missing));
    // A public key whose private one nobody has can't sign either.
    std::fs::copy(dir.path().join("other.pub"), dir.path().join("lone.pub")).unwrap();
    assert_eq!(run("lone.pub").status.code(), Some(2));
    assert!(runs(&dir.path().join("candor-runs")).is_empty(), "nothing is measured in vain");

    assert!(run("key").status.success());
    let mut saved = runs(&dir.path().join("candor-runs"));
    saved.sort();
    let [path, signature] = &saved[..] else { panic!("a run and its signature: {saved:?}") };
    assert_eq!(signature.as_os_str().to_str(), Some(&*format!("{}.sig", path.display())));
    let verify = |path: &Path, key: &str| output(&["verify", path.to_str().unwrap(), "--key", key], dir.path());
    let good = verify(path, "key.pub");
    let text = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(good.status.success() && text.contains("signature  by SHA256:"), "{text}{}", stderr(&good));
    let judged = Command::new("ssh-keygen")
        .args(["-Y", "check-novalidate", "-n", "candor-run", "-s"])
        .arg(signature)
        .stdin(std::fs::File::open(path).unwrap())
        .output()
        .unwrap();
    assert!(judged.status.success(), "anyone can verify it without candor: {}", stderr(&judged));

    let other = verify(path, "other.pub");
    assert_eq!(other.status.code(), Some(1), "signed, and by a key that was not given");
    std::fs::write(
        dir.path().join("keys"),
        [&read(dir.path(), "other.pub")[..], &read(dir.path(), "key.pub")].concat(),
    )
    .unwrap();
    assert!(verify(path, "keys").status.success(), "one of several keys");

    // Another run by the same plan under this signature, and a run without any.
    let again = ["run", "self-test/same", "--budget", "0.2", "--processes", "2", "--quiet", "--runs", "again"];
    assert!(output(&again, dir.path()).status.success());
    let unsigned = runs(&dir.path().join("again")).remove(0);
    let without = verify(&unsigned, "key.pub");
    assert_eq!(without.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&without.stdout).contains("signature  none"), "{}", stderr(&without));
    std::fs::copy(signature, format!("{}.sig", unsigned.display())).unwrap();
    let stolen = verify(&unsigned, "key.pub");
    assert_eq!(stolen.status.code(), Some(2));
    assert!(stderr(&stolen).contains("is no signature of"), "{}", stderr(&stolen));
    // Reports and comparisons say it too, and nothing of a right one.
    let (right, wrong) = (path.to_str().unwrap(), unsigned.to_str().unwrap());
    let lint = format!("! bad-signature: {wrong}.sig is no signature of {wrong}");
    let reported = |run: &str| String::from_utf8(output(&["report", run], dir.path()).stdout).unwrap();
    assert!(reported(wrong).contains(&lint) && !reported(right).contains("bad-signature"), "{}", reported(wrong));
    let compared = String::from_utf8(output(&["compare", right, wrong], dir.path()).stdout).unwrap();
    assert_eq!(compared.matches("bad-signature").count(), 1, "{compared}");
    // Where nothing can check a signature, nobody says that it is wrong.
    let without = |command: &str| {
        let mut process = Command::new(env!("CARGO_BIN_EXE_candor"));
        process
            .args([command, right])
            .current_dir(dir.path())
            .env("PATH", dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let why = format!("can't check {right}.sig: ssh-keygen, a part of OpenSSH, is not installed");
    let verified = without("verify");
    assert_eq!((verified.status.code(), stderr(&verified).contains(&why)), (Some(2), true), "{}", stderr(&verified));
    let reported = without("report");
    assert!(reported.status.success() && stderr(&reported).contains(&why), "{}", stderr(&reported));
}

/// Two runs that would be one file.
#[test]
fn two_runs_of_one_file_name_are_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let committed = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../runs/2026-11-{name}.jsonl"));
    for (folder, name) in [("1", "24-zen4-f107e2"), ("2", "24-zen4-0c7577"), ("3", "24-zen4-f107e2")] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
        std::fs::copy(committed(name), dir.path().join(folder).join("r.jsonl")).unwrap();
    }
    let why = "2/r.jsonl, line 1: another run than 1/r.jsonl under the same file name, by which reports tell runs apart: rename one of them";
    for command in [
        &["report", "1/r.jsonl", "2/r.jsonl", "--format", "tex", "-o", "os"][..],
        &["compare", "1/r.jsonl", "2/r.jsonl"],
    ] {
        let refused = output(command, dir.path());
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
    }
    assert!(!dir.path().join("os").exists());
    let one = output(&["compare", "1/r.jsonl", "3/r.jsonl"], dir.path());
    assert!(one.status.success(), "one run in two places is one run: {}", stderr(&one));
}

fn read(directory: &Path, name: &str) -> Vec<u8> {
    std::fs::read(directory.join(name)).unwrap()
}

#[test]
fn a_peer_that_answers_wrongly_or_crashes_is_in_the_table_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let output =
        output(&["run", "self-test/wrong-answer", "self-test/crash", "--budget", "0.2", "--quiet"], dir.path());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    for reason in ["wrong answer: ", "panicked", "crashed its process: killed by signal 6"] {
        assert!(text.contains(reason), "{reason} is missing in\n{text}");
    }
}

#[test]
fn smoke_tells_what_is_broken_from_what_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let smoke = |task: &str| {
        let output = output(&["run", "--smoke", task, "--format", "json"], dir.path());
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one task, one JSON object");
        (output.status.code(), value)
    };
    let kinds = |outs: &serde_json::Value| -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        outs.as_array().unwrap().iter().map(|out| (text(&out["subject"]), text(&out["kind"]))).collect()
    };
    let named = |subject: &str, kind: &str| (subject.to_owned(), kind.to_owned());

    let (status, outcome) = smoke("self-test/wrong-answer");
    assert_eq!(status, Some(1));
    assert_eq!(kinds(&outcome["refused"]), [named("kernel-refuses", "never")]);
    let failed = kinds(&outcome["failed"]);
    assert!(failed.contains(&named("kernel-wrong", "failed")), "{outcome}");
    assert!(failed.contains(&named("kernel-panics", "failed")), "{outcome}");

    let (status, outcome) = smoke("self-test/same");
    assert_eq!((status, kinds(&outcome["failed"])), (Some(0), Vec::new()), "{outcome}");
    assert_eq!(outcome["passed"].as_array().map(Vec::len), Some(2), "{outcome}");
}

/// A run in a process group of its own, past its planning: the first remark on stderr says so.
fn started(directory: &Path) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = candor(&["run", "self-test/same", "--budget", "20"], directory)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("candor starts");
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("measuring for") {
        line.clear();
        assert!(talk.read_line(&mut line).unwrap() > 0, "candor ended before it measured");
    }
    (child, talk)
}

/// Waits until the run has written a block.
///
/// # Panics
/// After two minutes: the run has a budget of 20 seconds.
fn until_a_block_is_done(directory: &Path) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while Instant::now() < deadline {
        for path in runs(&directory.join("candor-runs")) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.contains("\"kind\":\"block\"") {
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the run has written no block in two minutes");
}

#[test]
fn ctrl_c_seals_what_was_measured_and_the_report_says_that_it_is_not_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, _talk) = started(dir.path());
    until_a_block_is_done(dir.path());
    signal(&format!("-{}", child.id()), "-INT"); // the whole group, as a terminal does
    assert_eq!(child.wait().unwrap().code(), Some(1), "a script must not take a part for the whole");
    let saved = runs(&dir.path().join("candor-runs"));
    assert_eq!(saved.len(), 1, "{saved:?}");
    let report = output(&["report", saved[0].to_str().unwrap()], dir.path());
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("! interrupted") && text.contains("can't tell"), "{text}");
}

#[test]
fn an_interrupted_self_test_seals_its_trials_and_says_that_they_are_not_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = candor(&["doctor", "--self-test", "--trials", "2", "--quiet"], dir.path())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("candor starts");
    // The run of a trial stands in a directory of its own until all are done.
    let scratch = dir.path().join(format!("candor-runs/.self-test-{}", child.id()));
    let deadline = Instant::now() + Duration::from_secs(180);
    while !runs(&scratch).iter().any(|path| path.extension().is_some_and(|ending| ending == "jsonl")) {
        assert!(Instant::now() < deadline, "no trial was done in three minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&format!("-{}", child.id()), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(1), "a script must not take a part for the whole");
    let saved = runs(&dir.path().join("candor-runs"));
    let [saved] = &saved.iter().filter(|path| path.is_file()).collect::<Vec<_>>()[..] else { panic!("{saved:?}") };
    let report = output(&["report", saved.to_str().unwrap()], dir.path());
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("! interrupted") && text.contains("a kernel: same"), "{text}");
}

#[test]
fn a_killed_program_leaves_nothing_that_passes_for_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, _talk) = started(dir.path());
    until_a_block_is_done(dir.path());
    signal(&format!("-{}", child.id()), "-KILL");
    child.wait().unwrap();
    for left in runs(&dir.path().join("candor-runs")) {
        assert_ne!(left.extension().and_then(|ending| ending.to_str()), Some("jsonl"));
        let report = output(&["report", left.to_str().unwrap()], dir.path());
        assert_eq!(report.status.code(), Some(2), "{left:?} was taken for a run");
    }
    // Nor for long: the next run tidies up.
    assert_eq!(runs(&dir.path().join("candor-runs")).len(), 1);
    let next = output(&["run", "self-test/same", "--budget", "0.1"], dir.path());
    assert!(next.status.success(), "{}", stderr(&next));
    let [saved] = &runs(&dir.path().join("candor-runs"))[..] else { panic!("a partial file is left") };
    assert_eq!(saved.extension().and_then(|ending| ending.to_str()), Some("jsonl"));
}

/// A program that nobody measures any more, and whoever it has started, would disturb what is measured next.
#[test]
#[cfg(target_os = "linux")]
fn programs_end_with_the_candor_that_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("pids");
    let script = "#!/bin/sh\nsleep 1000 < /dev/null > /dev/null 2>&1 &\necho $! $$ > pids.new\nmv pids.new pids\nexec sleep 1000\n";
    let program = dir.path().join("sleeper");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for kill in ["-KILL", "-INT"] {
        let mut child = candor(&["run", "hash/sha256/1k", "--peer-program", "./sleeper", "--quick"], dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("candor starts");
        while !told.exists() {
            assert!(child.try_wait().unwrap().is_none(), "candor ended before it started the program");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Ctrl-C reaches candor's whole group, a kill candor alone.
        signal(&format!("{}{}", if kill == "-INT" { "-" } else { "" }, child.id()), kill);
        child.wait().unwrap();
        for pid in std::fs::read_to_string(&told).unwrap().split_whitespace() {
            let began = Instant::now();
            // Who is dead and not yet buried has no command line.
            while std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty()) {
                assert!(began.elapsed() < Duration::from_secs(60), "{pid} outlives the candor that {kill} ended");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        std::fs::remove_file(&told).unwrap();
    }
}

/// The program in Python says that it is missing where there is none.
#[test]
fn a_run_with_a_program_is_repeated_with_its_program() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: a_run_with_a_program_is_repeated_with_its_program: no python3");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/programs/sha256.py");
    let program = dir.path().join("sha256.py");
    std::fs::copy(&example, &program).unwrap();
    let first =
        ["run", "hash/sha256/1k", "--peer-program", "./sha256.py", "--peer", "candor", "--quick", "--runs", "first"];
    let first = output(&first, dir.path());
    assert!(first.status.success(), "{}", stderr(&first));
    let run = runs(&dir.path().join("first")).remove(0).display().to_string();
    let again = |more: &[&str], folder: &str| {
        let output = output(&[&["rerun", run.as_str(), "--runs", folder][..], more].concat(), dir.path());
        (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output))
    };
    let row = |table: &str| table.lines().find(|line| line.contains("program-sha256")).unwrap_or_default().to_owned();
    let (table, said) = again(&[], "without");
    assert!(said.contains("! program-sha256 is not measured: give its program (hashlib "), "{said}");
    assert!(said.contains(") with --peer-program"), "{said}");
    let (whole, said) = again(&["--peer-program", "./sha256.py"], "with");
    assert!(!said.contains("is not measured") && !row(&whole).is_empty(), "{said}{whole}");
    assert_ne!(row(&whole), row(&table));
}

#[test]
fn a_killed_worker_is_named_and_the_run_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, _talk) = started(dir.path());
    until_a_block_is_done(dir.path());
    let killed = loop {
        let found = Command::new("pgrep").args(["-P", &child.id().to_string()]).output().expect("pgrep is in procps");
        let pid = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if !pid.is_empty() {
            break pid;
        }
    };
    signal(killed.lines().next().unwrap(), "-KILL");
    signal(&child.id().to_string(), "-TERM"); // the program alone: it ends after the block at hand
    assert_eq!(child.wait().unwrap().code(), Some(1), "interrupted");
    let saved = runs(&dir.path().join("candor-runs"));
    let report = output(&["report", saved[0].to_str().unwrap()], dir.path());
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("! process-lost") && text.contains("signal 9"), "{text}");
}

/// Runs candor on a file system of that size, in a mount namespace of its own: exit status and what is left on the disk.
/// `Err` says why this machine can't.
fn run_on_a_disk_of(size: &str) -> Result<(String, Vec<String>, String), String> {
    let dir = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=$2 none \"$1\" && echo mounted || exit; \
                  \"$0\" run self-test/same --budget 2 --quiet --runs \"$1\" > /dev/null; echo $?; ls -A \"$1\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, CANDOR])
        .arg(dir.path())
        .arg(size)
        .output()
        .map_err(|error| format!("no unshare (util-linux): {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines().map(str::to_owned);
    match lines.next().as_deref() {
        Some("mounted") => Ok((lines.next().unwrap_or_default(), lines.collect(), stderr(&output))),
        _ => Err(format!("no file system of our own (needs root): {}", stderr(&output).trim())),
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_no_run() {
    let (status, left, talk) = match run_on_a_disk_of("16k") {
        Ok(full) => full,
        // Past the test harness, which swallows what a passing test prints.
        Err(why) => {
            return writeln!(std::io::stderr(), "skipped: a_full_disk_is_an_error_and_leaves_no_run: {why}").unwrap();
        }
    };
    assert_eq!((status.as_str(), left), ("2", Vec::new()), "{talk}");
    assert!(talk.contains("No space left"), "{talk}");

    let (status, left, talk) = run_on_a_disk_of("16m").unwrap();
    assert_eq!((status.as_str(), left.len()), ("0", 1), "the same with room on the disk: {left:?} {talk}");
}

#[test]
fn a_tier_that_this_cpu_lacks_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = if cfg!(target_arch = "aarch64") { ("avx2", "lacks ssse3") } else { ("pmull", "lacks neon") };
    let portable = candor(&["list", "tiers"], dir.path()).env("CANDOR_CPU", "portable").output().unwrap();
    assert!(portable.status.success(), "{}", stderr(&portable));
    for (tier, word) in [foreign, ("avx9000", "unknown tier")] {
        let output = candor(&["list", "tiers"], dir.path()).env("CANDOR_CPU", tier).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
}

#[test]
fn a_verdict_that_is_required_and_missing_is_status_3() {
    let dir = tempfile::tempdir().unwrap();
    // One process carries no interval, so nothing can be told.
    let arguments = ["run", "self-test/same", "--processes", "1", "--budget", "0.1", "--quiet", "--require-verdict"];
    assert_eq!(output(&arguments, dir.path()).status.code(), Some(3));
    assert_eq!(output(&arguments[..7], dir.path()).status.code(), Some(0), "where none is required");
}

#[test]
fn a_config_file_is_read_and_a_wrong_one_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("candor.toml"), "budget = 0.1\nprocesses = 2\nruns = \"here\"\n").unwrap();
    let output_ok = output(&["run", "self-test/same", "--quiet"], dir.path());
    assert!(output_ok.status.success(), "{}", stderr(&output_ok));
    assert_eq!(runs(&dir.path().join("here")).len(), 1);
    std::fs::write(dir.path().join("candor.toml"), "bugdet = 3\n").unwrap();
    let output_bad = output(&["run", "self-test/same"], dir.path());
    assert_eq!(output_bad.status.code(), Some(2));
    assert!(stderr(&output_bad).contains("bugdet"), "{}", stderr(&output_bad));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let script = format!("{CANDOR} list tasks | head -n 1 > /dev/null; echo ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0");
}
