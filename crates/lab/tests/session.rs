//! Whole runs with artificial subjects: every failure is reported, and an incomplete run never looks like a complete one.

mod quick;

use base64ct::{Base64, Encoding};
use candor_lab::analysis::Report;
use candor_lab::claims::{Claims, Found};
use candor_lab::report::{Form, render};
use candor_lab::runfile::Run;
use candor_lab::session::{self, InProcess, Progress, Settings, Spawn, WorkerDeath, Workers};
use candor_lab::verdict::Verdict;
use candor_lab::worker::{Reply, Request};
use candor_lab::{Entry, Habit, LabError, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use quick::{measure, settings};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Mixes integers for a number of steps, and gives a wrong answer if told to.
struct Mixer {
    steps: u64,
    wrong: bool,
    seed: u64,
}

impl Mixer {
    fn answer(&self) -> u64 {
        (0..100).fold(self.seed, |x, i| x.rotate_left(5).wrapping_mul(0x9e3779b97f4a7c15) ^ i) ^ u64::from(self.wrong)
    }
}

impl Subject for Mixer {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        Ok(Witness::bytes(self.answer().to_le_bytes()))
    }
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        Witness::bytes(self.answer().to_le_bytes()).same_as(other)
    }
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box((0..black_box(self.steps)).fold(self.seed, |x, i| x.rotate_left(5).wrapping_mul(3) ^ i));
        }
    }
    fn phases(&self) -> &'static [&'static str] {
        &["first", "second"]
    }
    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        for _ in 0..2 {
            black_box((0..black_box(self.steps / 2)).fold(self.seed, |x, i| x.rotate_left(5).wrapping_mul(3) ^ i));
            lap();
        }
    }
    fn provenance(&self) -> Provenance {
        Provenance::of("mixer", "1", "mixes integers")
    }
}

fn mixer(name: &str, steps: u64, wrong: bool) -> Entry {
    Entry::new(name, move || Ok(Mixer { steps, wrong, seed: 0 }))
}

fn task(entries: Vec<Entry>) -> Vec<Task> {
    vec![entries.into_iter().fold(Task::new("mix/1k", "mixes a thousand integers"), Task::entry)]
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).map(|dir| dir.map(|entry| entry.unwrap().path()).collect());
    entries.unwrap_or_default()
}

#[test]
fn every_form_shows_every_subject() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 4000, false), mixer("half", 2000, false), mixer("broken", 10, true)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    for form in [Form::Text, Form::Markdown, Form::Csv, Form::Json, Form::Html, Form::Tex] {
        // In LaTeX, `#` is a command.
        let text = render(std::slice::from_ref(&report), &[], form).replace("\\#", "#");
        for needle in ["mix/1k", "ours", "half", "ours#2", "broken", "wrong answer"] {
            assert!(text.contains(needle), "{form:?} lacks {needle}:\n{text}");
        }
    }
}

/// A mixer that does something besides mixing.
struct Habitual(Mixer, Habit);

impl Subject for Habitual {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.0.prepare(seed)
    }
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.0.check(other)
    }
    fn run(&mut self, iterations: u64) {
        self.0.run(iterations);
    }
    fn provenance(&self) -> Provenance {
        Provenance::of("mixer", "1", "mixes").with([self.1])
    }
}

#[test]
fn what_is_done_besides_the_work_is_told_where_the_baseline_does_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let mixer =
        |name: &str, habit| Entry::new(name, move || Ok(Habitual(Mixer { steps: 2000, wrong: false, seed: 0 }, habit)));
    let (draws, wipes) = (Habit::DrawsBySystemCall, Habit::WipesNothing);
    let tasks = task(vec![mixer("ours", draws), mixer("alike", draws), mixer("other", wipes)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    let told: Vec<_> = report.lints.iter().filter(|lint| lint.name == "unlike-conditions").collect();
    let [told] = &told[..] else { panic!("one row is unlike: {told:?}") };
    assert_eq!(
        (told.subject.as_str(), told.text.as_str()),
        ("other", "only this one wipes nothing; only the baseline draws randomness by a system call")
    );
    let row = report.tasks[0].rows.iter().find(|row| row.subject == "other").unwrap();
    assert_ne!(row.verdict, Verdict::None, "the work is the same");
}

/// A mixer that says that it does other work, and which library it is.
struct Other(Mixer);

impl Subject for Other {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.0.prepare(seed)
    }
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.0.check(other)
    }
    fn run(&mut self, iterations: u64) {
        self.0.run(iterations);
    }
    fn provenance(&self) -> Provenance {
        let different_operation = Some("mixes half as many".into());
        Provenance { different_operation, ..Provenance::of("libgcrypt", "1.10.1", "mixes integers") }
    }
}

#[test]
fn other_work_gets_no_verdict_and_no_place_in_the_plot_of_ratios() {
    let dir = tempfile::tempdir().unwrap();
    let other = Entry::new("other", || Ok(Other(Mixer { steps: 2000, wrong: false, seed: 0 })));
    let tasks = task(vec![mixer("ours", 4000, false), mixer("half", 2000, false), other]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    let row = |name: &str| report.tasks[0].rows.iter().find(|row| row.subject == name).unwrap();
    assert_eq!(row("other").verdict, Verdict::None);
    assert_ne!(row("half").verdict, Verdict::None);
    let plot = candor_lab::figure::figures(&report).remove(0);
    assert_eq!(plot.name, "ratios");
    let drawn = plot.svg();
    assert!(drawn.contains(">half<") && !drawn.contains(">other<"), "{drawn}");
    // A task may say so of a subject that does not know.
    let told = mixer("told", 2000, false).doing_other_work("one after another");
    let tasks_told = task(vec![mixer("ours", 4000, false), told]);
    let report_told = Report::of(&measure(&tasks_told, dir.path()).unwrap());
    let [_, row_told, _] = &report_told.tasks[0].rows[..] else { panic!("three rows") };
    assert_eq!((row_told.verdict, row_told.other_work.as_deref()), (Verdict::None, Some("one after another")));
    assert_eq!(row_told.phases.len(), 2, "in all else it is what it was");
    // Two that do the same other work are alike, and what does more than both is another.
    let other = |name: &str| Entry::new(name, || Ok(Other(Mixer { steps: 2000, wrong: false, seed: 0 })));
    let tasks = task(vec![other("ours"), other("alike"), mixer("more", 4000, false)]);
    let turned = Report::of(&measure(&tasks, dir.path()).unwrap());
    let [_, alike, more, _] = &turned.tasks[0].rows[..] else { panic!("four rows") };
    assert_eq!((alike.other_work.as_deref(), more.verdict), (None, Verdict::None));
    assert_eq!(more.other_work.as_deref(), Some("the baseline: mixes half as many"));
    assert_ne!(alike.verdict, Verdict::None);
    let text = render(&[turned], &[], Form::Text);
    assert!(text.contains("does other work: the baseline: mixes half as many"), "{text}");
    // The same row is of an old library, and its twin of an unknown one is not.
    let old: Vec<_> = report.lints.iter().filter(|lint| lint.name == "old-peer").map(|lint| &lint.subject).collect();
    assert_eq!(old, ["other"]);
}

#[test]
fn phases_and_spreads_stand_in_csv() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 4000, false), mixer("peer", 4000, false)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    let csv = render(std::slice::from_ref(&report), &[], Form::Csv);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let rows: Vec<_> = lines.filter(|line| line[column("subject")] == "peer").collect();
    let phases: Vec<_> = rows.iter().map(|line| line[column("phase")]).collect();
    assert_eq!(phases, ["", "first", "second"]);
    for row in rows {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        let [min, p25, p75, max] = ["min_ns", "p25_ns", "p75_ns", "max_ns"].map(number);
        assert!(min <= p25 && p25 <= p75 && p75 <= max, "{row:?}");
        assert!((min..=max).contains(&number("mean_ns")) && number("sd_ns") <= max - min, "{row:?}");
        assert_eq!(row[column("p99_ns")], "", "there are too few epochs");
    }
}

#[test]
fn a_claim_about_a_phase_stands_beside_that_phase() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 4000, false), mixer("peer", 4000, false)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    let beside = |phase: &str| {
        let text = format!(
            "key = \"k\"\nsource = \"s\"\n[[claim]]\nwhat = \"w\"\nplace = \"p\"\nvalue = 1\nunit = \"us\"\nhow = \"whole\"\n\
             task = \"mix/1k\"\nphase = \"{phase}\"\n"
        );
        Claims::parse(&text).unwrap().beside(&report)
    };
    let second = report.tasks[0].rows[0].phases[1].median_ns;
    let found = beside("second");
    let here = found[0].here.as_ref().expect("the row has it");
    assert!(matches!(here.found, Found::Time { median_ns } if median_ns == second));
    for form in [Form::Text, Form::Markdown, Form::Html] {
        assert!(
            render(std::slice::from_ref(&report), &found, form).contains("ours of mix/1k, phase second"),
            "{form:?}"
        );
    }
    let unknown = beside("third");
    assert!(unknown[0].here.is_none());
    assert!(unknown[0].lints.iter().any(|(name, text)| *name == "unknown-phase" && text.contains("first, second")));
}

#[test]
fn a_claim_stands_beside_the_same_number_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 4000, false), mixer("peer", 4000, false)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    let beside = |statistic: &str, phase: &str| {
        let text = format!(
            "key = \"k\"\nsource = \"s\"\n[[claim]]\nwhat = \"w\"\nplace = \"p\"\nvalue = 1.5\nunit = \"us\"\nhow = \"whole\"\n\
             task = \"mix/1k\"\nphase = \"{phase}\"\nstatistic = \"{statistic}\"\n"
        );
        Claims::parse(&text).unwrap().beside(&report).remove(0)
    };
    let row = &report.tasks[0].rows[0];
    for (phase, median, spread) in
        [("", row.median_ns, row.spread), ("first", row.phases[0].median_ns, row.phases[0].spread)]
    {
        let ns = |statistic: &str| match beside(statistic, phase).here.unwrap().found {
            Found::Time { median_ns } | Found::Rate { median_ns, .. } => median_ns,
            Found::OfEpochs { ns, .. } => ns,
            Found::Counted(quantity) => panic!("{quantity:?}"),
        };
        assert_eq!([ns("median"), ns("mean"), ns("min"), ns("max")], [median, spread.mean, spread.min, spread.max]);
        assert_eq!(Some(ns("sd")), spread.deviation);
    }
    let text = render(std::slice::from_ref(&report), &[beside("mean", "")], Form::Text);
    assert!(text.contains("here: mean ") && text.contains("(ours of mix/1k)"), "{text}");
    // A run of so few epochs has no such percentile, and says so rather than show another number.
    let p99 = beside("p99", "");
    assert!(p99.here.is_none());
    assert!(p99.lints.iter().any(|(name, text)| *name == "too-few-for-percentile" && text.contains("too few for p99")));
}

#[test]
fn json_has_the_fields_of_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 4000, false), mixer("peer", 4000, false)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    let value: serde_json::Value = serde_json::from_str(&render(&[report], &[], Form::Json)).unwrap();
    assert_eq!(value["schema"], 1);
    for field in ["run", "machine", "rows", "refusals", "lints"] {
        assert!(!value[field].is_null(), "{field}");
    }
    let row = &value["rows"][1];
    for field in [
        "task",
        "subject",
        "baseline_task",
        "baseline",
        "evidence",
        "median_ns",
        "ratio",
        "low",
        "high",
        "floor",
        "verdict",
    ] {
        assert!(!row[field].is_null(), "{field} in {row}");
    }
    assert_eq!((row["evidence"].as_str(), row["phases"].as_array().map(Vec::len)), (Some("measured-paired"), Some(2)));
}

#[test]
fn a_wrong_answer_gets_no_time_but_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("right", 2000, false), mixer("broken", 10, true)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    assert!(report.rows().all(|(_, row)| row.subject != "broken"));
    let refusal = report.tasks[0].refusals.iter().find(|refusal| refusal.subject == "broken").unwrap();
    assert!(refusal.reason.contains("wrong answer"), "{}", refusal.reason);
}

#[test]
fn of_two_that_disagree_the_baseline_stays() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("broken", 10, true)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    assert_eq!(report.tasks[0].refusals[0].subject, "broken");
}

#[test]
fn a_process_in_which_an_answer_is_wrong_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    // The first is the probe's; each process then makes its own.
    let fickle = |wrong_at: usize| {
        let made = AtomicUsize::new(0);
        let make = move || Ok(Mixer { steps: 2000, wrong: made.fetch_add(1, Ordering::Relaxed) == wrong_at, seed: 0 });
        measure(&task(vec![mixer("ours", 2000, false), Entry::new("fickle", make)]), dir.path()).unwrap()
    };
    let run = fickle(3);
    assert_eq!((run.blocks.len(), run.lost.len()), (5, 1));
    assert!(run.lost[0].reason.contains("fickle gave a wrong answer"), "{:?}", run.lost[0]);
    assert_eq!(fickle(1000).lost.len(), 0);
}

#[test]
fn a_wrong_baseline_is_refused_and_nothing_is_compared_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, true), mixer("a", 2000, false), mixer("b", 2000, false)]);
    let error = measure(&tasks, dir.path()).unwrap_err().to_string();
    assert!(error.contains("wrong answer") && error.contains("baseline ours was refused"), "{error}");
    assert!(files(dir.path()).is_empty(), "nothing was measured, so nothing is written");
    let tasks = task(vec![mixer("ours", 2000, false), mixer("a", 2000, false), mixer("b", 2000, false)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    assert_eq!(
        (report.tasks[0].refusals.len(), report.rows().count()),
        (0, 4),
        "right, it stands there with its control"
    );
}

#[test]
fn a_panic_of_a_peer_becomes_its_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let panics = Entry::new("panics", || -> Result<Mixer, Refusal> { panic!("no such instruction") });
    let report = Report::of(&measure(&task(vec![mixer("ours", 2000, false), panics]), dir.path()).unwrap());
    assert_eq!(report.tasks[0].refusals[0].reason, "panicked: no such instruction");
}

/// Workers, some of which die.
struct Dying<'a> {
    tasks: &'a [Task],
    served: AtomicUsize,
    dies: fn(usize, &Request) -> Option<WorkerDeath>,
}

impl Workers for Dying<'_> {
    fn serve(
        &self,
        request: &Request,
        padding: usize,
        patience: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerDeath> {
        let turn = self.served.fetch_add(1, Ordering::Relaxed);
        match (self.dies)(turn, request) {
            Some(death) => {
                if let Request::Probe { .. } = request {
                    reply(Reply::Trying("crashes".into()));
                }
                Err(death)
            }
            None => InProcess(self.tasks).serve(request, padding, patience, reply),
        }
    }
}

fn with_deaths(dies: fn(usize, &Request) -> Option<WorkerDeath>, dir: &Path) -> Result<Run, LabError> {
    let tasks = task(vec![mixer("ours", 2000, false), mixer("crashes", 2000, false), mixer("peer", 2000, false)]);
    let workers = Dying { tasks: &tasks, served: AtomicUsize::new(0), dies };
    let finished = session::run(&tasks, &settings(dir), &workers, &AtomicBool::new(false), &mut |_| {})?;
    Run::open(&finished.path)
}

fn crash() -> Option<WorkerDeath> {
    Some(WorkerDeath::Crashed("killed by signal 4".into()))
}

#[test]
fn a_peer_that_kills_the_probe_is_left_out_and_the_others_are_measured() {
    let dir = tempfile::tempdir().unwrap();
    let run = with_deaths(|turn, _| if turn == 0 { crash() } else { None }, dir.path()).unwrap();
    assert_eq!(run.refusals[0].subject, "crashes");
    assert!(run.refusals[0].reason.contains("signal 4"));
    assert!(Report::of(&run).rows().any(|(_, row)| row.subject == "peer"));
}

#[test]
fn a_killed_process_is_reported_and_too_few_processes_support_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let run = with_deaths(|turn, _| if turn == 3 { crash() } else { None }, dir.path()).unwrap();
    assert_eq!((run.blocks.len(), run.lost.len()), (5, 1));
    let report = Report::of(&run);
    assert!(report.lints.iter().any(|lint| lint.name == "process-lost"));
    let peer = report.tasks[0].rows.iter().find(|row| row.subject == "peer").unwrap();
    assert_eq!((peer.verdict, peer.interval), (Verdict::CantTell, None));
}

/// A worker made of a shell script.
#[cfg(unix)]
fn script(text: &str, patience: Duration) -> Result<(), WorkerDeath> {
    let worker = Spawn { program: "/bin/sh".into(), arguments: vec!["-c".into(), text.into()] };
    let request =
        Request::Probe { task: "t".into(), seed: 1, without: Vec::new(), watched: false, objects: Vec::new() };
    worker.serve(&request, 0, patience, &mut |_| {})
}

#[test]
#[cfg(unix)]
fn a_worker_that_hangs_is_killed_and_one_that_answers_is_not() {
    let short = Duration::from_millis(300);
    let Err(WorkerDeath::Crashed(how)) = script("read request; exec sleep 1000", short) else { panic!("it hangs") };
    assert_eq!(how, "ended because it said nothing for 300ms");
    // What it has said before does not save it, nor what a library prints, but one that is done may hang as it likes.
    assert!(script("read request; echo chatter; exec sleep 1000", short).is_err());
    assert!(script("read request; while echo chatter; do sleep 0.05; done", short).is_err());
    let trying = serde_json::to_string(&Reply::Trying("a".into())).unwrap();
    let alive = format!("read request; for i in 1 2 3 4 5 6; do echo '{trying}'; sleep 0.1; done; echo '\"Done\"'");
    assert_eq!(script(&alive, Duration::from_secs(20)), Ok(()));
    let done = serde_json::to_string(&Reply::Done).unwrap();
    assert_eq!(script(&format!("read request; echo '{done}'; exec sleep 1000"), short), Ok(()));
    assert_eq!(script(&format!("read request; echo '{done}'"), Duration::from_secs(300)), Ok(()));
}

#[test]
fn if_every_process_dies_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let error = with_deaths(|turn, _| if turn > 0 { crash() } else { None }, dir.path()).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("every worker process died (process 0 of mix/1k: "), "{error}");
    assert!(error.ends_with("); no run file was written"), "{error}");
    assert!(files(dir.path()).is_empty());
}

#[test]
fn an_interrupted_run_seals_what_was_measured() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("peer", 4000, false)]);
    let stop = AtomicBool::new(false);
    let mut watch = |progress: Progress<'_>| {
        if matches!(progress, Progress::Measured) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let finished = session::run(&tasks, &settings(dir.path()), &InProcess(&tasks), &stop, &mut watch).unwrap();
    assert!(finished.interrupted);
    let run = Run::open(&finished.path).unwrap();
    assert_eq!((run.blocks.len(), run.end.interrupted), (1, true));
    assert!(Report::of(&run).rows().all(|(_, row)| !matches!(row.verdict, Verdict::Faster | Verdict::Slower)));
}

#[test]
fn a_run_stopped_before_its_first_block_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("peer", 4000, false)]);
    let stop = AtomicBool::new(true);
    assert!(session::run(&tasks, &settings(dir.path()), &InProcess(&tasks), &stop, &mut |_| {}).is_err());
    assert!(files(dir.path()).is_empty());
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_with_its_name() {
    let tasks = task(vec![mixer("ours", 2000, false), mixer("peer", 2000, false)]);
    let error = measure(&tasks, Path::new("/dev/null/runs")).unwrap_err().to_string();
    assert!(error.contains("/dev/null/runs"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    assert!(measure(&tasks, &dir.path().join("new")).is_ok(), "one that is only missing is made");
}

#[test]
fn only_the_wanted_subjects_are_measured() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("openssl-3", 2000, false), mixer("ring-0", 2000, false)]);
    let settings = Settings { subjects: vec!["ring".into()], ..settings(dir.path()) };
    let finished = session::run(&tasks, &settings, &InProcess(&tasks), &AtomicBool::new(false), &mut |_| {}).unwrap();
    let report = Report::of(&Run::open(&finished.path).unwrap());
    let names: Vec<&str> = report.rows().map(|(_, row)| row.subject.as_str()).collect();
    assert_eq!(names, ["ours", "ring-0", "ours#2"]);
}

#[test]
fn a_baseline_that_was_asked_for_is_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("peer", 2000, false)]);
    for asked in [None, Some("ours".to_owned())] {
        let settings = Settings { baseline: asked.clone(), ..settings(dir.path()) };
        let finished =
            session::run(&tasks, &settings, &InProcess(&tasks), &AtomicBool::new(false), &mut |_| {}).unwrap();
        assert_eq!(Run::open(&finished.path).unwrap().manifest.asked_baseline(), asked.as_deref());
    }
}

#[test]
fn a_finished_run_leaves_exactly_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("peer", 2000, false)]);
    measure(&tasks, dir.path()).unwrap();
    let names: Vec<PathBuf> = files(dir.path());
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(names[0].extension().and_then(|e| e.to_str()), Some("jsonl"));
}

#[test]
fn the_page_loads_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = task(vec![mixer("ours", 2000, false), mixer("peer <b>&", 2000, false)]);
    let report = Report::of(&measure(&tasks, dir.path()).unwrap());
    let page = render(&[report], &[], Form::Html);
    assert!(page.len() < 2_000_000);
    for tag in ["src=", "@import", "url(", "<link rel=\"stylesheet", " onclick"] {
        assert!(!page.contains(tag), "{tag}");
    }
    // Its one script is allowed by its digest, and may ask nobody for anything.
    let (_, script) = page.split_once("<script>").unwrap();
    let (script, rest) = script.split_once("</script>").unwrap();
    assert!(!rest.contains("<script"), "a second one");
    let digest = Base64::encode_string(&Sha256::digest(script));
    assert!(page.contains(&format!("content=\"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'\"")));
    let addresses: Vec<&str> = page.match_indices("://").map(|(at, _)| &page[at - 4..at + 22]).collect();
    assert!(addresses.iter().all(|&address| address == "http://www.w3.org/2000/svg"), "only SVG's name: {addresses:?}");
    // On a narrow screen a figure is scrolled, not shrunk until nobody can read it: 54rem are its 860 units, so that 12 units stay 12 pixels.
    assert!(
        page.contains("figure svg { width: 100%; min-width: 54rem;")
            && page.contains("<div class=\"scroll\" tabindex=\"0\"><svg")
    );
    assert!(page.contains("peer &lt;b&gt;&amp;") && !page.contains("peer <b>"), "names are text, not markup");
}
