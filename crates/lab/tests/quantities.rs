//! Sizes, counts and rates, from the subject through the run file into every form of a report.

mod quick;

use candor_lab::analysis::Report;
use candor_lab::claims::Claims;
use candor_lab::report::{Form, render};
use candor_lab::runfile::Run;
use candor_lab::{
    Entry, Evidence, Imported, LabError, Mismatch, Outcomes, Provenance, Quantity, Refusal, Subject, Task, Witness,
};
use std::hint::black_box;
use std::path::Path;

/// Writes letters, which have a size. Of the three that it writes at first one is lost; if told to, it loses all the others.
#[derive(Clone)]
struct Letters {
    letter: Vec<u8>,
    tried: u64,
    lost: u64,
    loses_all: bool,
    counts: fn(&[u8]) -> Vec<Quantity>,
}

impl Subject for Letters {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        (self.tried, self.lost) = (3, 1);
        Ok(Witness::bytes(seed.to_le_bytes()))
    }
    fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
        Ok(())
    }
    fn run(&mut self, iterations: u64) {
        if self.loses_all {
            (self.tried, self.lost) = (self.tried + iterations, self.lost + iterations);
        }
        for _ in 0..iterations {
            black_box((0..2000u64).fold(1, |x: u64, i| x.rotate_left(5).wrapping_mul(3) ^ i));
        }
    }
    fn outcomes(&self) -> Option<Outcomes> {
        Some(Outcomes { attempts: self.tried, successes: self.tried - self.lost })
    }
    fn quantities(&self) -> Vec<Quantity> {
        (self.counts)(&self.letter)
    }
    fn provenance(&self) -> Provenance {
        Provenance::of("letters", "1", "writes letters")
    }
}

fn sizes(letter: &[u8]) -> Vec<Quantity> {
    vec![Quantity::bytes("letter | envelope", letter), Quantity::new("weight", 0.125, "ounces")]
}

fn letters(name: &str, length: usize, counts: fn(&[u8]) -> Vec<Quantity>) -> Entry {
    let made = Letters { letter: vec![b'a'; length], tried: 0, lost: 0, loses_all: name == "loses all", counts };
    Entry::new(name, move || Ok(made.clone()))
}

fn measured(entries: Vec<Entry>, directory: &Path) -> Result<Run, LabError> {
    let tasks = [entries.into_iter().fold(Task::new("letters/write", "writes a letter"), Task::entry)];
    quick::measure(&tasks, directory)
}

fn two_letters() -> Report {
    let dir = tempfile::tempdir().unwrap();
    let entries = vec![letters("ours", 1408, sizes), letters("peer", 96, sizes)];
    Report::of(&measured(entries, dir.path()).unwrap())
}

#[test]
fn the_file_contains_the_sizes_of_every_subject() {
    let report = two_letters();
    let [ours, peer] = &report.tasks[0].counted[..] else { panic!("two subjects counted") };
    assert_eq!((ours.subject.as_str(), peer.subject.as_str()), ("ours", "peer"));
    assert_eq!(ours.quantities[..2], sizes(&[0; 1408]));
    assert_eq!(peer.quantities[..2], sizes(&[0; 96]));
    assert_eq!(ours.evidence, Evidence::MeasuredAlone, "a size has no rounds");
}

#[test]
fn every_form_shows_what_was_counted() {
    let report = two_letters();
    let shown = |form| render(std::slice::from_ref(&report), &[], form);
    let text = shown(Form::Text);
    assert!(text.contains("letter | envelope 1408 bytes") && text.contains("letter | envelope 96 bytes"), "{text}");
    assert!(text.contains("all subjects  weight 0.12 ounces, success rate 66.7 %"), "said once for all: {text}");
    assert!(shown(Form::Markdown).contains("| counted | letter \\| envelope | weight | success rate |"));
    assert!(shown(Form::Markdown).contains("| peer | 96 bytes | 0.12 ounces | 66.7 % |"));
    assert!(shown(Form::Html).contains("<tr><td>ours</td><td>1408 bytes</td>"));
    let csv = shown(Form::Csv);
    let line = csv.lines().find(|line| line.contains("ours") && line.contains("envelope")).unwrap();
    assert!(line.contains("measured-alone") && line.ends_with(",letter | envelope,1408,bytes"), "{line}");
    // Outside of quotes a comma begins a column.
    let columns = |line: &str| line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>();
    assert!(csv.lines().all(|line| columns(line) == columns(csv.lines().next().unwrap())), "{csv}");
}

/// What another tool found stands in the sealed file and in every form, marked, and nothing is divided by it.
#[test]
fn an_imported_figure_is_sealed_and_shown_and_gets_no_ratio() {
    let dir = tempfile::tempdir().unwrap();
    let mut task = Task::new("letters/write", "writes a letter").entry(letters("ours", 1408, sizes));
    task.entries.push(letters("peer", 96, sizes));
    let told = Provenance::of("typewriter", "3", "writes letters, by its own clock");
    let figures = vec![Quantity::new("time by its own bench", 112.69, "ns")];
    task.imported.push(Imported::new("typewriter-3+bench", told, figures.clone()));
    let report = Report::of(&quick::measure(&[task], dir.path()).unwrap());
    let [task] = &report.tasks[..] else { panic!("one task") };
    assert!(task.rows.iter().all(|row| row.subject != "typewriter-3+bench"), "it has no row among the paired");
    assert_eq!(task.rows.len(), 3);
    let found = task.counted.iter().find(|counted| counted.subject == "typewriter-3+bench").unwrap();
    assert_eq!((found.evidence, &found.quantities), (Evidence::Imported, &figures));
    let shown = |form| render(std::slice::from_ref(&report), &[], form);
    for form in [Form::Text, Form::Markdown, Form::Html] {
        let text = shown(form);
        assert!(text.contains("typewriter-3+bench IMPORTED"), "{text}");
    }
    let csv = shown(Form::Csv);
    let line = csv.lines().find(|line| line.contains("typewriter-3+bench")).unwrap();
    assert!(line.contains(",imported,") && line.contains("112.69"), "{line}");
    let json: serde_json::Value = serde_json::from_str(&shown(Form::Json)).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["subject"] == "typewriter-3+bench").unwrap();
    assert_eq!((row["evidence"].as_str(), row["value"].as_f64()), (Some("imported"), Some(112.69)));
    assert!(row.get("verdict").is_none() && row.get("ratio").is_none(), "{row}");
}

#[test]
fn json_has_value_and_unit_instead_of_a_time() {
    let value: serde_json::Value = serde_json::from_str(&render(&[two_letters()], &[], Form::Json)).unwrap();
    let rows = value["rows"].as_array().unwrap();
    let of = |subject: &str, quantity: &str| {
        rows.iter().find(|row| row["subject"] == subject && row["quantity"] == quantity).unwrap()
    };
    let letter = of("peer", "letter | envelope");
    assert_eq!(letter["value"].to_string(), "96", "a size is a whole number");
    assert_eq!((letter["unit"].as_str(), letter["baseline"].as_str()), (Some("bytes"), Some("ours")));
    assert_eq!((letter["task"].as_str(), letter["evidence"].as_str()), (Some("letters/write"), Some("measured-alone")));
    assert_eq!(of("ours", "weight")["value"], 0.125, "nothing is rounded");
    for row in rows {
        assert_ne!(row.get("median_ns").is_some(), row.get("value").is_some(), "either a time or a value: {row}");
    }
}

#[test]
fn work_that_can_fail_has_a_success_rate() {
    let report = two_letters();
    let rate =
        |name: &str| report.tasks[0].counted[0].quantities.iter().find(|quantity| quantity.name == name).unwrap();
    assert!((rate("success rate").value - 200.0 / 3.0).abs() < 1e-9);
    assert!(rate("success rate at least (95 %)").value < 200.0 / 3.0);
    assert_eq!(rate("attempts").value, 18.0, "three in each of six processes");
}

#[test]
fn who_fails_in_every_round_has_a_success_rate_and_a_reason_in_place_of_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let entries = ["ours", "peer", "loses all"].map(|name| letters(name, 96, sizes));
    let run = measured(entries.into(), dir.path()).unwrap();
    let report = Report::of(&run);
    let timed: Vec<&str> = report.tasks[0].rows.iter().map(|row| row.subject.as_str()).collect();
    assert_eq!(timed, ["ours", "peer", "ours#2"]);
    assert_eq!(report.tasks[0].refusals[0].subject, "loses all");
    let counted = report.tasks[0].counted.iter().find(|counted| counted.subject == "loses all").unwrap();
    let rate = counted.quantities.iter().find(|quantity| quantity.name == "success rate").unwrap();
    assert!(rate.value < 10.0, "{rate:?}");
}

#[test]
fn a_quantity_that_is_not_a_number_excludes_the_subject() {
    let dir = tempfile::tempdir().unwrap();
    let odd = letters("odd", 1, |_| vec![Quantity::new("ratio of nothing", f64::NAN, "%")]);
    let run = measured(vec![letters("ours", 1, sizes), letters("peer", 1, sizes), odd], dir.path()).unwrap();
    assert_eq!(run.refusals[0].subject, "odd");
    assert!(run.refusals[0].reason.contains("ratio of nothing"), "{}", run.refusals[0].reason);
    let able: Vec<&str> = run.subjects.iter().map(|subject| subject.subject.as_str()).collect();
    assert_eq!((run.refusals.len(), able), (1, vec!["ours", "peer"]), "those that count with numbers stay");
}

#[test]
fn a_published_size_stands_beside_the_counted_one() {
    let claims = Claims::parse(
        r#"
        key = "somebody-2025"
        source = "Somebody et al., 2025"
        [[claim]]
        what = "a letter"
        place = "Table 1"
        value = 1300
        unit = "bytes"
        how = "whole"
        task = "letters/write"
        quantity = "letter | envelope"
        "#,
    );
    let report = two_letters();
    let beside = claims.unwrap().beside(&report);
    assert!(beside[0].lints.is_empty(), "a size is the same on every machine: {:?}", beside[0].lints);
    assert!(
        render(std::slice::from_ref(&report), &beside, Form::Text).contains("here: 1408 bytes (ours of letters/write)")
    );
    let value: serde_json::Value = serde_json::from_str(&render(&[report], &beside, Form::Json)).unwrap();
    assert_eq!(value["claims"][0]["here"]["value"], 1408.0);
}

/// The short ones of the sealed runs that documents cite. Most of them are older than quantities.
#[test]
fn older_runs_can_still_be_read() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs");
    let mut before = 0;
    for entry in std::fs::read_dir(runs).unwrap() {
        let path = entry.unwrap().path();
        let size = std::fs::metadata(&path).unwrap().len();
        if path.extension().is_none_or(|ending| ending != "jsonl") || size > 100_000 {
            continue;
        }
        let run = Run::open(&path).unwrap_or_else(|error| panic!("{error}"));
        let counts = run.subjects.iter().any(|subject| !subject.quantities.is_empty());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(counts, text.contains("\"quantities\":"), "{}", path.display());
        let _ = render(&[Report::of(&run)], &[], Form::Html);
        before += usize::from(!counts);
    }
    assert!(before > 0, "there is no older run to test this with");
}
