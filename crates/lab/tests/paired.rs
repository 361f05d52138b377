//! Two builds in the same rounds. The builds are this test program itself, told by an argument what to be.

use candor_lab::analysis::{Report, Row};
use candor_lab::compare::{Change, Comparison, Grounds};
use candor_lab::paired::{Builds, Program, named};
use candor_lab::remote::{Answer, Answered, Deaths, Hello, Order, PROTOCOL, Parts, Remote, Script, host};
use candor_lab::report::{Form, render};
use candor_lab::runfile::{Run, Tool};
use candor_lab::session::{self, Settings, WorkerDeath, Workers};
use candor_lab::verdict::Verdict;
use candor_lab::worker::{Reply, Request};
use candor_lab::{Entry, LabError, Mismatch, Provenance, Refusal, Subject, Task, Timed, Turn, Witness};
use proptest::prelude::*;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Answers with a number that follows from the seed, and says how long it took by a clock of its own: one that is made up, so that the truth is known.
struct Clockwork {
    /// What a build is told to be.
    mode: String,
    seed: u64,
    turns: u64,
}

impl Subject for Clockwork {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        match self.mode.as_str() {
            "dies-preparing" => std::process::exit(7),
            "refuses" => Err(Refusal::new("has no such thing")),
            "wrong" => Ok(Witness::bytes((!seed).to_le_bytes())),
            _ => Ok(Witness::bytes(seed.to_le_bytes())),
        }
    }
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        if self.mode == "dies-checking" {
            std::process::exit(7);
        }
        Witness::bytes(self.seed.to_le_bytes()).same_as(other)
    }
    fn run(&mut self, _: u64) {
        panic!("its turns are timed by itself");
    }
    fn timed_elsewhere(&mut self, turn: &Turn) -> Option<Result<Timed, String>> {
        self.turns += 1;
        match self.mode.as_str() {
            "dies" => std::process::exit(7),
            "hangs" => std::thread::sleep(Duration::from_secs(1000)),
            "panics" => panic!("on purpose"),
            _ => {}
        }
        // Shorter than a message takes, since nobody believes a time that is longer.
        let base = 2000 + (self.seed ^ self.turns.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % 7;
        let ns = if self.mode == "slower" { base * 103 / 100 } else { base };
        let ns = if self.mode == "lies" { 3_600_000_000_000 } else { ns };
        let phases = if turn.phases.is_some() { vec![ns / 4, ns - ns / 4] } else { Vec::new() };
        Some(Ok(Timed { ns, phases, ..Timed::default() }))
    }
    fn phases(&self) -> &'static [&'static str] {
        &["out", "back"]
    }
    fn provenance(&self) -> Provenance {
        let provenance = Provenance::of("candor", "0.1.0", "works by the clock");
        match self.mode.as_str() {
            "contract" => provenance.by_contract(2),
            "before" => Provenance { contract: None, ..provenance },
            _ => provenance,
        }
    }
}

/// A mode with `two-` before it is that of the second task alone.
fn tasks(mode: &str) -> Vec<Task> {
    let task = |name: &'static str| {
        let mode = match mode.strip_prefix("two-") {
            Some(_) if name == "t/one" => "same",
            of_two => of_two.unwrap_or(mode),
        };
        let mode = mode.to_owned();
        let words = if matches!(mode.as_str(), "words" | "before") { "works twice" } else { "works" };
        let subject = if mode == "other-arm" { "candor@sundial" } else { "candor@clock" };
        let is_bytes = mode == "bytes";
        let make = move || Ok(Clockwork { mode: mode.clone(), seed: 0, turns: 0 });
        let task = if is_bytes { Task::new(name, words).bytes(64) } else { Task::new(name, words) };
        task.entry(Entry::new(subject, make))
    };
    let tasks = vec![task("t/one"), task("t/two")];
    if mode == "lacks" { tasks.into_iter().take(1).collect() } else { tasks }
}

fn tool(mode: &str) -> Tool {
    Tool { version: "0.1.0".into(), commit: Some(format!("c0ffee{}", mode.replace('-', ""))), ..Tool::default() }
}

/// The other process. Without an argument that says what to be, it is a test that has nothing to do.
#[test]
fn a_worker() {
    let Some(mode) = std::env::args().find_map(|argument| argument.strip_prefix("mode:").map(str::to_owned)) else {
        return;
    };
    // The harness has begun a line.
    println!();
    let say = |answer: Answered| println!("{}", serde_json::to_string(&answer).unwrap());
    let first = |answer| Answered { number: 0, answer };
    std::panic::set_hook(Box::new(|_| {}));
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    input.read_line(&mut line).unwrap();
    match mode.as_str() {
        "old" => std::process::exit(2),
        "later" => say(first(Answer::Hello(Box::new(Hello { protocol: PROTOCOL + 1, ..Hello::default() })))),
        "rude" => say(first(Answer::Agrees)),
        "floods" => loop {
            println!("chatter");
        },
        _ => {}
    }
    let Ok(Request::Host { protocol, task, subject }) = serde_json::from_str(&line) else { return };
    let twice = mode == "unasked";
    host(&tasks(&mode), (protocol, &task, &subject), tool(&mode), input, &mut |answer| {
        if twice && matches!(answer.answer, Answer::Timed(_)) {
            say(answer.clone());
        }
        say(answer);
    });
    // The harness has nothing to add that anybody reads.
    std::process::exit(0);
}

fn program(mode: &str) -> Program {
    let arguments = ["a_worker", "--exact", "--nocapture", "--test-threads=1", &format!("mode:{mode}")];
    Program { path: std::env::current_exe().unwrap(), arguments: arguments.map(str::to_owned).to_vec() }
}

fn builds(others: &[&str]) -> Result<Builds, LabError> {
    builds_of("same", others)
}

fn builds_of(own: &str, others: &[&str]) -> Result<Builds, LabError> {
    let tool = Tool { sha256: Some("00".into()), ..tool(own) };
    Builds::meet((program(own), tool), others.iter().map(|mode| program(mode)).collect(), &tasks(own))
}

fn paired(other: &str) -> Run {
    paired_by(other, 9)
}

fn paired_by(other: &str, processes: usize) -> Run {
    run("same", &[other], processes).unwrap()
}

/// Measures both tasks by these builds, the first of which is the one that measures.
fn run(own: &str, others: &[&str], processes: usize) -> Result<Run, LabError> {
    let dir = tempfile::tempdir().unwrap();
    let builds = builds_of(own, others)?;
    let settings = Settings {
        budget: Duration::from_millis(1),
        processes: processes.into(),
        seed: Some(1),
        subjects: Vec::new(),
        baseline: None,
        directory: dir.path().into(),
        layout: None,
        repeats: None,
        paired: Some(builds.record()),
        tool: tool(own),
        command: vec!["test".into()],
    };
    let finished = session::run(&builds.tasks(), &settings, &builds, &AtomicBool::new(false), &mut |_| {})?;
    Ok(Run::open(&finished.path).unwrap())
}

fn row<'a>(report: &'a Report, task: &str, subject: &str) -> &'a Row {
    let task = report.tasks.iter().find(|known| known.task == task).unwrap();
    task.rows.iter().find(|row| row.subject == subject).unwrap_or_else(|| panic!("{:?}", task.refusals))
}

#[test]
fn what_another_build_does_more_is_found_and_nothing_else() {
    let run = paired("two-slower");
    let record = run.manifest.paired.clone().unwrap();
    assert_eq!((record.own.as_str(), record.others[0].name.as_str()), ("c0ffeesame", "c0ffeetwoslower"));
    let digest = record.others[0].tool.sha256.clone().unwrap();
    assert_eq!(Some(digest.clone()), Tool::digest(), "the file that was started");
    let report = Report::of(&run);
    let other = |task| row(&report, task, "candor-c0ffeetwoslower@clock");
    assert_eq!((other("t/one").verdict, other("t/two").verdict), (Verdict::Same, Verdict::Faster));
    assert!((other("t/two").ratio - 1.03).abs() < 0.002, "{}", other("t/two").ratio);
    assert_eq!(row(&report, "t/two", "candor-c0ffeesame@clock#2").verdict, Verdict::Control);
    assert_eq!(other("t/two").provenance.object_sha256, Some(digest));
    assert_eq!(other("t/two").phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["out", "back"]);
    // The comparison says it of this build: it is faster than the other.
    let comparison = Comparison::of(&[(PathBuf::from("run"), run)]).unwrap();
    let changes: Vec<_> = comparison.changes.iter().map(|change| (change.task.as_str(), change.verdict)).collect();
    assert_eq!(changes, [("t/one", Verdict::Same), ("t/two", Verdict::Faster)]);
    assert!(matches!(comparison.changes[0].grounds, Grounds::Paired));
    assert!(comparison.slower().is_empty() && comparison.tells_of_changes());
}

#[test]
fn the_file_of_a_paired_run_names_no_folder_and_is_read_back() {
    let run = paired("same");
    let text = serde_json::to_string(&run.manifest).unwrap();
    let folder = std::env::current_exe().unwrap().parent().unwrap().display().to_string();
    assert!(!text.contains(&folder), "{text}");
    // Both builds are one program of one commit, and still two subjects.
    let record = run.manifest.paired.unwrap();
    assert_ne!(record.own, record.others[0].name);
    assert!(record.own.starts_with("c0ffeesame") && record.others[0].name.starts_with("c0ffeesame"));
}

/// Why the subject of the other build has no time. The task is measured all the same.
fn refused(mode: &str) -> String {
    let run = paired_by(mode, 1);
    let refused =
        run.refusals.iter().find(|refusal| refusal.task == "t/one" && refusal.subject != "candor-c0ffeesame@clock");
    assert!(Report::of(&run).tasks[0].rows.iter().any(|row| row.verdict == Verdict::Control), "{mode}");
    refused.unwrap_or_else(|| panic!("{mode}: {:?}", run.refusals)).reason.clone()
}

#[test]
fn a_build_that_refuses_panics_dies_or_lies_is_taken_out_with_the_reason() {
    for (mode, reason) in [
        ("refuses", "has no such thing"),
        ("panics", "panicked: on purpose"),
        ("dies", "crashed its process: candor-c0ffeedies@clock: ended with exit status: 7"),
        ("dies-preparing", "crashed its process: candor-c0ffeediespreparing@clock: ended with exit status: 7"),
        ("dies-checking", "crashed its process: candor-c0ffeedieschecking@clock: ended with exit status: 7"),
        ("lies", "says that an epoch took 3600000000000 ns; its answer came after "),
        ("unasked", "answered order 3 when it was given order 4"),
    ] {
        let found = refused(mode);
        assert!(found.contains(reason), "{mode}: {found}");
    }
}

#[test]
fn a_task_that_the_other_build_lacks_or_does_otherwise_gets_no_verdict() {
    let run = paired("lacks");
    let reason = &run.refusals.iter().find(|refusal| refusal.task == "t/two").unwrap().reason;
    assert_eq!(reason, "that build has no such task");
    let report = Report::of(&run);
    assert_eq!(row(&report, "t/one", "candor-c0ffeelacks@clock").verdict, Verdict::Same);
    for (mode, why) in [
        ("contract", "its call is by version 2 of its contract, and the baseline's by version 1"),
        ("before", "of that build the task is: works twice"),
        ("bytes", "64 bytes for each operation; expected no"),
    ] {
        let report = Report::of(&paired(mode));
        let other = row(&report, "t/one", &format!("candor-c0ffee{mode}@clock"));
        assert_eq!((other.verdict, other.other_work.as_deref()), (Verdict::None, Some(why)), "{mode}");
    }
}

/// A rewording is for readers: the contract says whether the work is the same.
#[test]
fn a_task_that_the_other_build_has_other_words_for_is_judged_and_the_row_says_so() {
    let run = paired("words");
    let report = Report::of(&run);
    let other = row(&report, "t/one", "candor-c0ffeewords@clock");
    assert_eq!((other.verdict, &other.other_work), (Verdict::Same, &None));
    let told = "by one contract, that build describes the task as: works twice";
    assert_eq!(other.reworded().as_deref(), Some(told));
    let text = render(&[report], &[], Form::Text);
    assert!(text.contains(&format!("candor-c0ffeewords@clock  {told}")), "{text}");
    let comparison = Comparison::of(&[(PathBuf::from("run"), run)]).unwrap();
    for change in &comparison.changes {
        assert_eq!((change.verdict, change.broken, change.advice.as_deref()), (Verdict::Same, false, Some(told)));
    }
}

/// What a comparison says of the second task.
fn change(own: &str, other: &str) -> (Comparison, Change) {
    let run = run(own, &[other], 9).unwrap();
    let comparison = Comparison::of(&[(PathBuf::from("run"), run)]).unwrap();
    let [one, two] = &comparison.changes[..] else { panic!("a change for each task: {:?}", comparison.changes) };
    assert_eq!((one.task.as_str(), one.verdict, one.broken), ("t/one", Verdict::Same, false), "{own} {other}: {one:?}");
    let two = two.clone();
    (comparison, two)
}

/// Whichever of the two it is: the build on trial is most often the one that measures.
#[test]
fn a_task_at_which_either_build_fails_is_broken_and_says_why() {
    for (mode, why) in [
        ("two-refuses", "has no such thing"),
        ("two-wrong", "answers that differ: "),
        ("two-panics", "panicked: on purpose"),
        ("two-dies", "crashed its process: "),
        ("two-contract", "does other work: its call is by version "),
        ("two-before", "does other work: of that build the task is: works"),
    ] {
        for (own, other) in [(mode, "same"), ("same", mode)] {
            let (comparison, change) = change(own, other);
            let advice = change.advice.clone().unwrap_or_default();
            assert!(change.broken && advice.contains(why), "{own} {other}: {change:?}");
            assert!(!change.is_told() && change.ratio.is_none(), "{own} {other}: {change:?}");
            assert_eq!(comparison.broken(), [format!("t/two ({advice})")]);
            assert!(!comparison.tells_of_changes() && comparison.slower().is_empty(), "{own} {other}");
            assert_eq!(comparison.untold(), ["t/two"]);
        }
    }
    // A build that measures the same is not broken, and neither is one that is slower.
    for (own, slower) in [("same", &[][..]), ("two-slower", &["t/two (c0ffeetwoslower after c0ffeesame)"][..])] {
        let (comparison, change) = change(own, "same");
        assert!(change.is_told() && !change.broken && comparison.broken().is_empty(), "{change:?}");
        assert!(comparison.tells_of_changes() && comparison.slower() == slower, "{change:?}");
    }
}

/// What is new has nothing to be compared with, and nothing of it broke.
#[test]
fn a_task_or_an_arm_that_the_other_build_does_not_have_is_untold_and_not_broken() {
    for (own, other, why) in [
        ("same", "lacks", "that build has no such task"),
        ("two-other-arm", "same", "that build has no such subject in this task"),
    ] {
        let (comparison, change) = change(own, other);
        assert!(change.advice.as_deref().is_some_and(|advice| advice.contains(why)), "{change:?}");
        assert!(!change.broken && !change.is_told() && comparison.broken().is_empty());
        assert!(!comparison.tells_of_changes());
    }
}

/// Two that disagree: nobody knows which is wrong, and the baseline is the one on trial.
#[test]
fn of_two_builds_whose_answers_differ_neither_is_believed() {
    for (own, other) in [("wrong", "same"), ("same", "wrong")] {
        let refused = run(own, &[other], 9).unwrap_err().to_string();
        for build in [own, other] {
            let out = format!("candor-c0ffee{build}@clock: answers that differ: ");
            assert!(refused.contains(&out), "{refused}");
        }
        assert!(!refused.contains("wrong answer"), "{refused}");
    }
    // A third build decides, also against the one that measures.
    let refused = run("wrong", &["same", "slower"], 1).unwrap_err().to_string();
    assert!(refused.contains("candor-c0ffeewrong@clock: wrong answer: "), "{refused}");
    let run = run("same", &["wrong", "slower"], 1).unwrap();
    let out: Vec<&str> = run.refusals.iter().map(|refusal| refusal.subject.as_str()).collect();
    assert_eq!(out, ["candor-c0ffeewrong@clock"; 2]);
}

#[test]
fn a_build_that_speaks_no_protocol_or_another_is_refused_before_anything_is_measured() {
    let why = |mode: &str| builds(&[mode]).unwrap_err().to_string();
    assert!(builds(&["same"]).is_ok());
    let found = why("later");
    assert!(found.contains("speaks version 2 of the protocol of paired builds; expected 1"), "{found}");
    let found = why("old");
    assert!(
        found.contains("does not speak the protocol of paired builds, as builds from before 2026-11-26 don't"),
        "{found}"
    );
    let found = why("rude");
    assert!(found.contains("did not introduce itself, but said that it agrees"), "{found}");
    let meet = |path: &str| {
        let other = Program { path: path.into(), arguments: Vec::new() };
        Builds::meet((program("same"), tool("same")), vec![other], &tasks("same")).unwrap_err().to_string()
    };
    assert!(
        meet("/no/such/candor").starts_with("can't pair with /no/such/candor: No such file"),
        "{}",
        meet("/no/such/candor")
    );
    assert!(meet("/").contains("is no file"), "{}", meet("/"));
}

/// What the session is told of a request to such a build, and with how little patience.
fn served(mode: &str, patience: Duration) -> (Result<(), WorkerDeath>, Vec<Reply>) {
    // It behaves while it introduces itself.
    let builds = builds(&[mode]).unwrap();
    let request =
        Request::Probe { task: "t/one".into(), seed: 1, without: Vec::new(), watched: false, objects: Vec::new() };
    let mut replies = Vec::new();
    let served = builds.serve(&request, 0, patience, &mut |reply| replies.push(reply));
    (served, replies)
}

#[test]
fn a_build_that_hangs_is_ended_and_named() {
    let (died, replies) = served("hangs", Duration::from_secs(2));
    assert_eq!(
        died,
        Err(WorkerDeath::Crashed("candor-c0ffeehangs@clock: ended because it said nothing for 2s".into()))
    );
    // Whoever was tried last is to blame.
    let last =
        replies.iter().rev().find_map(|reply| if let Reply::Trying(name) = reply { Some(name.as_str()) } else { None });
    assert_eq!(last, Some("candor-c0ffeehangs@clock"));
    assert!(!replies.iter().any(|reply| matches!(reply, Reply::Done)), "what is said after a death does not count");
    assert_eq!(served("same", Duration::from_secs(60)).0, Ok(()));
}

#[test]
fn chatter_without_end_is_no_sign_of_life() {
    let other = program("floods");
    let own = (program("same"), tool("same"));
    // A minute of patience would be long for a test; the pipe itself is tried with less.
    let spawn = session::Spawn { program: other.path, arguments: other.arguments };
    let request =
        Request::Probe { task: "t/one".into(), seed: 1, without: Vec::new(), watched: false, objects: Vec::new() };
    let died = spawn.serve(&request, 0, Duration::from_millis(500), &mut |_| ());
    assert_eq!(died, Err(WorkerDeath::Crashed("ended because it said nothing for 500ms".into())));
    assert!(Builds::meet(own, Vec::new(), &tasks("same")).is_ok());
}

#[test]
fn a_program_that_is_replaced_during_the_run_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("candor");
    std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    let other = Program { path: path.clone(), ..program("slower") };
    let builds = Builds::meet((program("same"), tool("same")), vec![other], &tasks("same")).unwrap();
    let request =
        Request::Probe { task: "t/one".into(), seed: 1, without: Vec::new(), watched: false, objects: Vec::new() };
    let serve = || builds.serve(&request, 0, Duration::from_secs(60), &mut |_| ());
    assert_eq!(serve(), Ok(()));
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "another").unwrap();
    let Err(WorkerDeath::NotStarted(why)) = serve() else { panic!("it is another program") };
    assert_eq!(why, "the program of c0ffeeslower was replaced during the run");
}

#[test]
fn names_say_the_build_and_are_all_different() {
    assert_eq!(named("candor@avx2", "1c91adb78a9d"), "candor-1c91adb78a9d@avx2");
    assert_eq!(named("kernel", "1c91adb78a9d"), "kernel-1c91adb78a9d");
    let builds = builds(&["same", "same", "slower"]).unwrap();
    let record = builds.record();
    let mut names: Vec<&str> =
        record.others.iter().map(|build| build.name.as_str()).chain([record.own.as_str()]).collect();
    assert!(names.iter().all(|name| name.starts_with("c0ffee")));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 4, "{names:?}");
    let task = &builds.tasks()[0];
    assert_eq!(
        task.entries.iter().map(|entry| entry.subject.as_str()).collect::<Vec<_>>()[3],
        "candor-c0ffeeslower@clock"
    );
}

#[test]
fn a_witness_survives_the_pipe_and_one_that_is_none_is_refused() {
    let witness = Witness::default().with("ciphertext", [0, 255, 16]).with("empty", []);
    let sent = serde_json::to_string(&Order::Check { witness: Parts::from(&witness) }).unwrap();
    let Ok(Order::Check { witness: parts }) = serde_json::from_str(&sent) else { panic!("{sent}") };
    assert_eq!(Witness::try_from(parts).unwrap(), witness);
    let odd = sent.replace("00ff10", "00ff1");
    let Ok(Order::Check { witness: parts }) = serde_json::from_str(&odd) else { panic!("{odd}") };
    assert_eq!(Witness::try_from(parts).unwrap_err(), "ciphertext is not in hexadecimal digits");
}

/// The child's side, without a process: every line gets exactly one answer, whatever it says.
#[test]
fn every_order_is_answered_once_and_nonsense_with_what_was_expected() {
    let turn = |phases: &str| format!("{{\"Turn\":{{\"unclocked\":0,\"iterations\":1,\"phases\":{phases}}}}}");
    let ask = |number: u64, order: &str| format!("{{\"number\":{number},\"order\":{order}}}\n");
    let orders = [
        "nonsense\n".to_owned(),
        ask(1, &turn("null")),
        ask(2, "{\"Prepare\":{\"seed\":7}}"),
        ask(3, &turn("\"last\"")),
    ]
    .concat();
    let answers = |protocol: u32| {
        let mut answers = Vec::new();
        let host_of = (protocol, "t/one", "candor@clock");
        host(&tasks("same"), host_of, tool("same"), orders.as_bytes(), &mut |answered| answers.push(answered));
        answers
    };
    let answered = answers(PROTOCOL);
    assert_eq!(answered.iter().map(|answered| answered.number).collect::<Vec<_>>(), [0, 0, 1, 2, 3]);
    let answered: Vec<Answer> = answered.into_iter().map(|answered| answered.answer).collect();
    let [Answer::Hello(hello), Answer::Failed(why), Answer::Failed(early), Answer::Ready { .. }, Answer::Timed(timed)] =
        &answered[..]
    else {
        panic!("{answered:?}")
    };
    assert_eq!((hello.protocol, hello.task.as_ref().map(|task| task.what.as_str())), (PROTOCOL, Some("works")));
    assert!(why.starts_with("expected an order: ") && early == "expected an order to prepare first");
    assert_eq!(timed.phases.len(), 2);
    assert_eq!(answers(PROTOCOL + 1).len(), 1, "it says which protocol it speaks, and nothing else");
}

#[test]
fn a_relative_path_has_no_place_in_a_run_either() {
    let builds = builds(&["slower"]).unwrap();
    let text = serde_json::to_string(&builds.record()).unwrap();
    let exe = std::env::current_exe().unwrap();
    assert!(!text.contains(&*Path::new(exe.file_name().unwrap()).to_string_lossy()), "{text}");
}

#[test]
fn the_waiting_for_a_build_is_not_sampled_as_instructions_that_it_used() {
    let run = paired("same");
    let used: Vec<String> =
        run.subjects.iter().filter_map(|subject| Some(subject.used.as_ref()?.to_string())).collect();
    assert!(used.iter().all(|used| used == "not watched: works in a process of its own"), "{used:?}");
}

/// How far the parent gets with a child.
type Went = (Result<Witness, Refusal>, Option<Result<Timed, String>>, Option<WorkerDeath>);

/// A child that says these lines.
fn scripted(lines: &[&str]) -> Went {
    let hello = r#"{"number":0,"answer":{"Hello":{"protocol":1,"tool":{"version":"1","commit":null,"dirty":false,"rustc":"","build":""},"task":null}}}"#;
    let deaths = Deaths::default();
    let script = Script::of(&[&[hello], lines].concat().join("\n"));
    let mut remote = Remote::over(Box::new(script), ("t", "s"), "it", Duration::from_secs(1), &deaths).unwrap();
    let witness = remote.prepare(1);
    let timed = remote.timed_elsewhere(&Turn { unclocked: 1, iterations: 1, phases: None });
    (witness, timed, deaths.first())
}

const READY: &str = r#"{"number":1,"answer":{"Ready":{"witness":[["answer","00"]],"about":{"provenance":{"library":"candor"},"phases":[],"quantities":[]}}}}"#;

#[test]
fn an_answer_that_makes_no_sense_is_a_death_and_one_that_does_is_none() {
    let timed = |fields: &str| {
        let line =
            r#"{"number":2,"answer":{"Timed":{"ns":1,"phases":[],"disturbed":false,"failed":false,"outcomes":null}}}"#;
        line.replace(r#""ns":1,"phases":[]"#, fields)
    };
    let (witness, found, died) = scripted(&[READY, &timed(r#""ns":1,"phases":[]"#)]);
    assert!(witness.is_ok() && died.is_none());
    assert_eq!(found.unwrap().unwrap().ns, 1);
    for (line, why) in [
        (timed(r#""ns":0,"phases":[]"#), "says that an epoch took 0 ns"),
        (timed(r#""ns":9000000000,"phases":[]"#), "says that an epoch took 9000000000 ns"),
        (timed(r#""ns":18446744073709551615,"phases":[]"#), "says that an epoch took 18446744073709551615 ns"),
        (timed(r#""ns":1,"phases":[1]"#), "timed 1 phases; expected 0"),
        (
            timed(r#""ns":1,"phases":[]"#).replace("null", r#"{"attempts":1,"successes":2}"#),
            "succeeded more often than it tried",
        ),
        (
            timed(r#""ns":1,"phases":[]"#).replace(r#""number":2"#, r#""number":1"#),
            "answered order 1 when it was given order 2",
        ),
        (r#"{"number":2,"answer":"Agrees"}"#.into(), "answered that it agrees to an order to work"),
        (String::new(), "the script is at its end"),
    ] {
        let (witness, found, died) = scripted(&[READY, &line]);
        assert!(witness.is_ok());
        assert!(found.unwrap().is_err(), "{line}");
        let Some(WorkerDeath::Crashed(how)) = died else { panic!("{line}") };
        assert!(how.starts_with("it: ") && how.contains(why), "{how}");
    }
}

#[test]
fn what_is_not_timed_by_a_clock_is_not_paired() {
    let simulated = READY.replace(r#""library":"candor""#, r#""library":"candor","evidence":"simulated""#);
    let (witness, _, died) = scripted(&[&simulated]);
    assert!(witness.unwrap_err().to_string().contains("is not timed by a clock"));
    assert!(scripted(&[READY]).0.is_ok() && died.is_some(), "the script has no more");
    let many = READY.replace(r#""phases":[]"#, &format!(r#""phases":[{}]"#, vec![r#""p""#; 101].join(",")));
    assert_eq!(scripted(&[&many]).0.unwrap_err().to_string(), "has 101 phases; no more than 100 make sense");
}

proptest! {
    /// Whatever a child says: no panic, and no time that is longer than the parent waited for it.
    #[test]
    fn no_lines_make_the_parent_panic(lines in prop::collection::vec(any::<String>(), 0..4), ns in any::<u64>(), phases in prop::collection::vec(any::<u64>(), 0..3)) {
        let timed = Timed { ns, phases: phases.clone(), ..Timed::default() };
        let timed = serde_json::to_string(&Answered { number: 2, answer: Answer::Timed(timed) }).unwrap();
        let lines: Vec<&str> = lines.iter().map(String::as_str).chain([READY, &timed]).collect();
        let (witness, found, _) = scripted(&lines);
        prop_assert!(witness.is_ok());
        if let Some(Ok(found)) = found {
            prop_assert!(phases.is_empty() && found.ns < 1_000_000_000);
        }
    }
}
