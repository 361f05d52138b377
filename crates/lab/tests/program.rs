//! Programs of their own as subjects: those that do the work, and those that hang, die, lie or flood.
#![cfg(unix)]

mod quick;

use candor_lab::analysis::Report;
use candor_lab::plan::{ASKING, MOST_ASKING};
use candor_lab::program::{Program, Start, subject};
use candor_lab::runfile::RefusalRecord;
use candor_lab::session::{self, Progress, WorkerDeath, Workers};
use candor_lab::worker::{Reply, Request};
use candor_lab::{Entry, Evidence, Inputs, Mismatch, Provenance, Quantity, Refusal, Subject, Task, Witness};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A program that repeats its message, and counts for work.
const ECHO: &str = r#"#!/bin/sh
while read -r line; do
    case $line in
    '{"protocol"'*) HELLO ;;
    '{"inputs"'*) message=${line#*message\":\"}; ANSWER ;;
    '{"run"'*) n=${line#*:}; n=${n%\}}; WORK; RAN ;;
    esac
done
"#;
/// A patience that a test waits for to end, and that a busy machine does not exceed.
const HANGS: Duration = Duration::from_secs(2);
const HELLO: &str = r#"echo '{"protocol":1,"name":"echo","version":"1.2","timed":"repeats a message"}'"#;
const ANSWER: &str = r#"echo "{\"answers\":{\"answer\":\"${message%%\"*}\"}}""#;
const WORK: &str = "i=0; while [ $i -lt $n ]; do i=$((i+1)); done";
/// As much work as some tens of milliseconds, beside which asking is nothing even on a busy machine.
const SLOW: &str = "i=0; n2=$((n*60000)); while [ $i -lt $n2 ]; do i=$((i+1)); done";
const RAN: &str = r#"echo "{\"ran\":$n}""#;

/// The program with some of its lines replaced.
fn script(directory: &Path, name: &str, parts: &[(&str, &str)]) -> PathBuf {
    let mut text = ECHO.to_owned();
    for (part, own) in [("HELLO", HELLO), ("ANSWER", ANSWER), ("WORK", WORK), ("RAN", RAN)] {
        let by = parts.iter().find(|(known, _)| *known == part).map_or(own, |(_, by)| by);
        text = text.replacen(part, by, 1);
    }
    write(directory, name, &text)
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn message(seed: u64) -> Inputs {
    vec![("message".to_owned(), seed.to_le_bytes().to_vec())]
}

fn start(path: &Path, patience: Duration) -> Result<Program, Refusal> {
    Program::start(&Start { patience, ..Start::new(path, "letters/echo") }, message)
}

/// Starts and prepares it; a second is a long time.
fn prepared(path: &Path) -> Result<Program, Refusal> {
    let mut program = start(path, Duration::from_secs(20))?;
    program.prepare(7)?;
    Ok(program)
}

#[test]
fn a_program_answers_and_works() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = start(&script(directory.path(), "echo", &[]), Duration::from_secs(20)).unwrap();
    let witness = program.prepare(0x1234).unwrap();
    assert_eq!(witness, Witness::bytes(0x1234u64.to_le_bytes()));
    assert!(program.check(&witness).is_ok() && program.check(&Witness::bytes([1])).is_err());
    program.run(10);
    let provenance = program.provenance();
    assert_eq!((provenance.library.as_str(), provenance.version.as_str()), ("echo", "1.2"));
    assert_eq!(provenance.timed, "repeats a message; in a process of its own, asked over pipes");
    assert!(provenance.object_sha256.is_some_and(|digest| digest.len() == 64));
    let [asking] = &program.quantities()[..] else { panic!("what asking costs") };
    assert!(asking.name == ASKING && asking.unit == "ns" && asking.value > 0.0);
    assert!(program.works_elsewhere(), "samples of this process would be of its waiting");
}

#[test]
fn a_question_goes_before_each_epoch_outside_the_clock() {
    let directory = tempfile::tempdir().unwrap();
    let told = directory.path().join("told");
    let tells = format!("echo $n >> {}; {WORK}", told.display());
    let mut program = prepared(&script(directory.path(), "tells", &[("WORK", &tells)])).unwrap();
    fs::write(&told, "").unwrap();
    // As before every clock.
    program.restock(5);
    assert_eq!(fs::read_to_string(&told).unwrap(), "0\n");
    program.run(5);
    assert_eq!(fs::read_to_string(&told).unwrap(), "0\n5\n");
}

#[test]
fn what_a_program_writes_to_standard_error_does_not_matter() {
    let directory = tempfile::tempdir().unwrap();
    // More than a pipe holds.
    let noisy = format!("head -c 300000 /dev/zero >&2; {HELLO}");
    assert!(prepared(&script(directory.path(), "noisy", &[("HELLO", &noisy)])).is_ok());
}

/// A part of the program, what stands there in its place, and the reason of the refusal.
const WRONG: [(&str, &str, &str); 15] = [
    ("HELLO", "exit 3", "ended with exit status: 3 before line 1 of its output"),
    ("HELLO", "echo no licence found >&2; exit 3", "before line 1 of its output: no licence found"),
    ("HELLO", "kill -SEGV $$", "killed by signal 11 (invalid memory access) before line 1"),
    ("HELLO", "echo hello", "line 1 of its output: \"hello\"; expected {\"protocol\":"),
    (
        "HELLO",
        r#"echo '{"protocol":2,"name":"a","version":"1","timed":"b"}'"#,
        "line 1 of its output: protocol 2; this candor speaks 1",
    ),
    ("HELLO", r#"echo '{"protocol":1,"name":" ","version":"1","timed":"b"}'"#, "line 1 of its output: an empty name"),
    (
        "HELLO",
        r#"echo '{"protocol":1,"name":" Candor ","version":"1","timed":"b"}'"#,
        "line 1 of its output: the name candor, which is that of our own library",
    ),
    ("HELLO", r#"echo '{"refused":"has no echo (needs 2.0)"}'"#, "has no echo (needs 2.0)"),
    (
        "ANSWER",
        r#"echo '{"answers":{"answer":"0g"}}'"#,
        "line 2 of its output: answer is not written in pairs of hexadecimal digits",
    ),
    (
        "ANSWER",
        r#"echo '{"answer":"00"}'"#,
        "line 2 of its output: \"{\\\"answer\\\":\\\"00\\\"}\"; expected {\"answers\":",
    ),
    ("ANSWER", "exec cat /dev/zero", "line 2 of its output: more than 4194304 bytes without an end"),
    ("RAN", "echo '{\"ran\":5}'", "line 3 of its output: ran 5 operations; it was told 0"),
    ("RAN", "exit 0", "ended with exit status: 0 before line 3"),
    ("RAN", "echo done", "line 3 of its output: \"done\"; expected {\"ran\":…}"),
    ("WORK", ":", "does not do the work: "),
];

#[test]
fn a_program_that_fails_is_refused_with_the_line_and_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    assert!(prepared(&script(directory.path(), "right", &[])).is_ok(), "the undamaged one");
    for (i, (part, by, reason)) in WRONG.into_iter().enumerate() {
        let refusal = prepared(&script(directory.path(), &format!("wrong-{i}"), &[(part, by)]));
        let said = refusal.err().unwrap_or_else(|| panic!("{by} was accepted")).to_string();
        assert!(said.contains(reason), "{by}: {said}");
    }
}

#[test]
fn a_line_that_nobody_asked_for_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let twice = format!("{HELLO}; echo and now to something else");
    let refusal = prepared(&script(directory.path(), "twice", &[("HELLO", &twice)])).err().unwrap().to_string();
    // It is read before the next question, or as the answer to it.
    let noticed = "line 2 of its output: \"and now to something else\"";
    assert!(refusal.starts_with(noticed), "{refusal}");
}

#[test]
fn a_program_that_hangs_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    for (part, line) in [("HELLO", 1), ("ANSWER", 2), ("WORK", 3)] {
        let hangs = script(directory.path(), &format!("hangs-{line}"), &[(part, "exec sleep 1000")]);
        let mut program = start(&hangs, HANGS);
        let refusal = match &mut program {
            Ok(program) => program.prepare(1).err(),
            Err(refusal) => Some(refusal.clone()),
        };
        let said = refusal.expect("it hangs").to_string();
        assert_eq!(said, format!("said nothing for 2s (line {line} of its output was due)"));
    }
}

/// Inputs larger than a pipe would block a lab that writes and waits.
#[test]
fn a_program_that_does_not_read_is_ended_too() {
    let directory = tempfile::tempdir().unwrap();
    let deaf = write(directory.path(), "deaf", &format!("#!/bin/sh\nread -r line\n{HELLO}\nexec sleep 1000\n"));
    let large = |_| vec![("message".to_owned(), vec![0; 4 << 20])];
    let start = Start { patience: HANGS, ..Start::new(deaf, "letters/echo") };
    let refusal = Program::start(&start, large).unwrap().prepare(1).unwrap_err();
    assert!(refusal.to_string().starts_with("said nothing for 2s"), "{refusal}");
}

#[test]
fn a_program_that_answers_what_it_has_not_read_is_ended_too() {
    let directory = tempfile::tempdir().unwrap();
    let blind = r#"echo '{"answers":{"answer":"00"}}'"#;
    let blind = write(
        directory.path(),
        "blind",
        &format!("#!/bin/sh\nread -r line\n{HELLO}\nsleep 0.5\n{blind}\nexec sleep 1000\n"),
    );
    let large = |_| vec![("message".to_owned(), vec![0; 4 << 20])];
    let start = Start { patience: HANGS, ..Start::new(blind, "letters/echo") };
    let refusal = Program::start(&start, large).unwrap().prepare(1).unwrap_err();
    assert_eq!(refusal.to_string(), "line 2 of its output: an answer to a question that it did not read");
}

#[test]
fn a_program_that_is_not_there_or_is_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let missing = start(&directory.path().join("missing"), Duration::from_secs(1)).err().unwrap().to_string();
    assert!(missing.starts_with("can't be read: "), "{missing}");
    let text = directory.path().join("text");
    fs::write(&text, "no program").unwrap();
    let none = start(&text, Duration::from_secs(1)).err().unwrap().to_string();
    assert!(none.starts_with("can't be started: "), "{none}");
}

/// Whether a process runs. One that is dead and not yet buried has no command line.
#[cfg(target_os = "linux")]
fn is_there(pid: &str) -> bool {
    fs::read(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Waits until none of the processes in this file runs any more.
#[cfg(target_os = "linux")]
fn until_gone(told: &Path) {
    let told = fs::read_to_string(told).unwrap();
    for pid in told.lines() {
        let began = std::time::Instant::now();
        while is_there(pid) {
            assert!(began.elapsed() < Duration::from_secs(60), "{pid} is still there");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_of_a_program_stays_behind() {
    let directory = tempfile::tempdir().unwrap();
    let told = directory.path().join("pid");
    let tells = format!("echo $$ > {}; {HELLO}", told.display());
    let program = prepared(&script(directory.path(), "tells", &[("HELLO", &tells)])).unwrap();
    let pid = fs::read_to_string(&told).unwrap().trim().to_owned();
    let process = Path::new("/proc").join(&pid);
    assert!(process.exists(), "it runs");
    drop(program);
    assert!(!process.exists(), "{pid} is still there");
}

#[cfg(target_os = "linux")]
#[test]
fn nor_does_whoever_it_has_started() {
    let directory = tempfile::tempdir().unwrap();
    let told = directory.path().join("pids");
    let starts =
        |then: &str| format!("sleep 1000 < /dev/null > /dev/null 2>&1 & echo $! >> {}; {then}", told.display());
    let works = script(directory.path(), "works", &[("HELLO", &starts(HELLO))]);
    let program = prepared(&works).unwrap();
    assert!(fs::read_to_string(&told).unwrap().lines().all(is_there), "it runs");
    drop(program);
    until_gone(&told);
    // Nor if the program itself is gone by then, by its own will or ours.
    for (name, then) in
        [("ends", "exit 3"), ("refuses", r#"echo '{"refused":"has none"}'"#), ("hangs", "exec sleep 1000")]
    {
        let refused = start(&script(directory.path(), name, &[("HELLO", &starts(then))]), HANGS);
        assert!(refused.is_err(), "{name}");
        until_gone(&told);
    }
    assert_eq!(fs::read_to_string(&told).unwrap().lines().count(), 4);
}

/// Repeats the message in this process.
struct Echo(Witness);

impl Subject for Echo {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.0 = Witness::bytes(seed.to_le_bytes());
        Ok(self.0.clone())
    }
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.0.same_as(other)
    }
    fn run(&mut self, iterations: u64) {
        for i in 0..iterations {
            std::hint::black_box((0..3_000_000u64).fold(i, |sum, j| sum.rotate_left(3) ^ j));
        }
    }
    fn provenance(&self) -> Provenance {
        Provenance::of("echo-in-rust", "1", "repeats a message")
    }
}

fn task(programs: &[&Path]) -> Task {
    let entry = || Entry::new("ours", || Ok(Echo(Witness::default())));
    let mut task = Task::new("letters/echo", "repeats a message").entry(entry()).inputs(message);
    programs.iter().for_each(|path| task.program(path));
    task
}

#[test]
fn a_program_is_measured_in_the_same_rounds_and_its_floor_contains_the_asking() {
    let directory = tempfile::tempdir().unwrap();
    let right = script(directory.path(), "right", &[("WORK", SLOW)]);
    let wrong = script(directory.path(), "wrong", &[("ANSWER", r#"echo '{"answers":{"answer":"00"}}'"#)]);
    let task = task(&[&right, &wrong]);
    let run = quick::measure(&[task], directory.path()).unwrap();
    let report = Report::of(&run);
    let rows = &report.tasks[0].rows;
    let names: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
    assert_eq!(names, ["ours", "program-right", "ours#2"]);
    assert_eq!(rows[1].evidence, Evidence::MeasuredPaired);
    assert!(rows[1].floor > rows[2].floor, "{} and {}", rows[1].floor, rows[2].floor);
    let lints: Vec<_> = report.lints.iter().filter(|lint| lint.name == "asked-over-pipes").collect();
    assert_eq!(lints.len(), 1);
    assert_eq!(lints[0].subject, "program-right");
    assert!(
        lints[0].text.starts_with("nothing proves that a program did the work; asking it takes "),
        "{}",
        lints[0].text
    );
    let [RefusalRecord { subject, reason, .. }] = &run.refusals[..] else { panic!("{:?}", run.refusals) };
    assert_eq!(subject, "program-wrong");
    assert!(reason.starts_with("wrong answer: ") && reason.contains("answer is 1 bytes long; expected 8"), "{reason}");
}

#[test]
fn a_process_in_which_a_program_dies_is_lost_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    fs::write(&count, "").unwrap();
    // Each start adds a letter. The probe is the first; the third process to be measured is the fourth.
    let counts = format!("printf x >> {0}; starts=$(wc -c < {0}); {HELLO}", count.display());
    let dies = format!("if [ $starts -eq 4 ] && [ $n -gt 0 ]; then echo out of paper >&2; exit 9; fi; {SLOW}");
    let dying = script(directory.path(), "dying", &[("HELLO", &counts), ("WORK", &dies)]);
    let run = quick::measure(&[task(&[&dying])], directory.path()).unwrap();
    let [lost] = &run.lost[..] else { panic!("{:?}", run.lost) };
    assert!(
        lost.reason.starts_with("program-dying: ended with exit status: 9 before line")
            && lost.reason.ends_with(": out of paper"),
        "{}",
        lost.reason
    );
    assert_eq!(run.blocks.len(), 5, "the others are measured");
}

#[test]
fn a_task_without_inputs_says_so() {
    let mut task = Task::new("letters/sign", "signs").entry(Entry::new("ours", || Ok(Echo(Witness::default()))));
    assert!(!task.takes_programs());
    task.program(Path::new("adapters/sign here.py"));
    assert_eq!(task.entries[1].subject, "program-sign-here");
    let refusal = task.entries[1].make().err().unwrap();
    assert!(refusal.to_string().starts_with("this task can't be given to a program"), "{refusal}");
    assert_eq!(subject(Path::new("/adapters/sha256.py")), "program-sha256");
}

/// Workers that tell what was never measured.
struct Told {
    asking_ns: f64,
}

impl Workers for Told {
    fn serve(&self, request: &Request, _: usize, _: Duration, reply: &mut dyn FnMut(Reply)) -> Result<(), WorkerDeath> {
        if let Request::Measure { .. } = request {
            return Err(WorkerDeath::Crashed("a test".into()));
        }
        for (subject, asking) in
            [("ours", None), ("program-program", Some(Quantity::new(ASKING, self.asking_ns, "ns")))]
        {
            reply(Reply::Able {
                cpu: false,
                lasts: false,
                subject: subject.into(),
                ns: 1000.0,
                phased: false,
                quantities: asking.into_iter().collect(),
                provenance: Box::new(Provenance::of(subject, "1", "repeats a message")),
            });
        }
        reply(Reply::Done);
        Ok(())
    }
}

#[test]
fn a_program_whose_asking_costs_too_much_is_refused_before_it_is_measured() {
    let refusals = |asking_ns: f64| {
        let directory = tempfile::tempdir().unwrap();
        let mut refused = Vec::new();
        let tasks = [task(&[Path::new("program")])];
        let watch = &mut |progress: Progress<'_>| {
            if let Progress::Refused(refusal) = progress {
                refused.push(refusal.reason.clone());
            }
        };
        let outcome = session::run(
            &tasks,
            &quick::settings(directory.path()),
            &Told { asking_ns },
            &AtomicBool::new(false),
            watch,
        );
        assert!(outcome.is_err(), "nothing is measured in this test");
        refused
    };
    // The budget allows epochs of some milliseconds.
    assert_eq!(refusals(1e3), Vec::<String>::new());
    let refused = refusals(1e9);
    assert_eq!(refused.len(), 1);
    let most = format!("a row may have {:.0} %: use a larger --budget", MOST_ASKING * 100.0);
    assert!(
        refused[0].starts_with("asking it over pipes takes 1.00 s, ") && refused[0].ends_with(&most),
        "{refused:?}"
    );
}
