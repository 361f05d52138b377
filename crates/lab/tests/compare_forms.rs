//! A comparison in every form, and its slope chart.

mod made_up;

use candor_lab::claims::Claims;
use candor_lab::compare::{Comparison, Quoted};
use candor_lab::figure::slopes;
use candor_lab::report::{Form, render_comparison};
use candor_lab::runfile::{Build, Paired, Run, SubjectRecord};
use candor_lab::{Evidence, Provenance, Quantity};
use made_up::{MadeUp, machine, made_up, tool};
use serde_json::Value;
use std::path::{Path, PathBuf};

const FORMS: [Form; 6] = [Form::Text, Form::Markdown, Form::Csv, Form::Json, Form::Html, Form::Tex];

fn compared(runs: &[Run]) -> Comparison {
    let runs: Vec<(PathBuf, Run)> = runs.iter().map(|run| (PathBuf::from(&run.name), run.clone())).collect();
    Comparison::of(&runs).unwrap()
}

fn two_machines() -> Comparison {
    let there = made_up(MadeUp { ratio: 1.1, peer: "<peer>", ..MadeUp::named("there") });
    let here = made_up(MadeUp { ratio: 0.9, peer: "<peer>", machine: machine("B"), ..MadeUp::named("here") });
    compared(&[there, here])
}

fn two_builds() -> Comparison {
    let builds = Paired { own: "2222".into(), others: vec![Build { name: "1111".into(), tool: tool("1111") }] };
    let run = MadeUp {
        baseline: "candor-2222@avx2",
        peer: "candor-1111@avx2",
        ratio: 0.9,
        tool: tool("2222"),
        ..MadeUp::named("change")
    };
    compared(&[made_up(MadeUp { paired: Some(builds), ..run })])
}

#[test]
fn every_form_shows_both_machines_and_what_flips() {
    let comparison = two_machines();
    for form in FORMS {
        let text = render_comparison(&comparison, &[], form);
        for needle in ["there", "here", "flips", "faster", "slower"] {
            assert!(text.contains(needle), "{form:?} lacks {needle}:\n{text}");
        }
        let is_markup = matches!(form, Form::Html | Form::Tex);
        assert_eq!(text.contains("<peer>"), !is_markup, "{form:?}: markup of others is none of the page's");
    }
    assert!(
        render_comparison(&comparison, &[], Form::Text)
            .contains("different-machine: ratios are compared, times are not")
    );
}

#[test]
fn every_form_says_that_a_build_is_slower() {
    let comparison = two_builds();
    for form in FORMS {
        let text = render_comparison(&comparison, &[], form);
        for needle in ["1111", "2222", "slower"] {
            assert!(text.contains(needle), "{form:?} lacks {needle}:\n{text}");
        }
    }
    assert!(render_comparison(&comparison, &[], Form::Markdown).contains("**slower**"));
    assert_eq!(comparison.slower(), ["t (2222 after 1111)"]);
    assert!(slopes(&comparison).is_none(), "one column has no slope");
}

/// A ratio of other work would be read as one of the same.
#[test]
fn what_does_other_work_has_a_reason_and_no_ratio() {
    let other_work: fn(Provenance) -> Provenance =
        |peer| Provenance { different_operation: Some("half of it".into()), ..peer };
    let builds = Paired { own: "2222".into(), others: vec![Build { name: "1111".into(), tool: tool("1111") }] };
    let run = |provenance: fn(Provenance) -> Provenance| {
        let run = MadeUp {
            baseline: "candor-2222@avx2",
            peer: "candor-1111@avx2",
            ratio: 0.913,
            tool: tool("2222"),
            paired: Some(builds.clone()),
            provenance,
            ..MadeUp::named("change")
        };
        compared(&[made_up(run)])
    };
    let (same, other) = (run(|same| same), run(other_work));
    let change = &other.changes[0];
    assert_eq!((change.ratio, change.interval, change.floor.is_finite()), (None, None, false));
    assert_eq!(change.advice.as_deref(), Some("does other work: half of it"));
    for form in [Form::Text, Form::Markdown, Form::Html, Form::Tex] {
        assert!(render_comparison(&same, &[], form).contains("0.91"), "{form:?}");
        let text = render_comparison(&other, &[], form);
        assert!(!text.contains("0.91"), "{form:?}: {text}");
        for needle in ["no verdict for t: does other work: half of it", "1 without a verdict"] {
            assert!(text.contains(needle), "{form:?} lacks {needle}: {text}");
        }
        assert!(text.contains("1111@avx2 in A: does other work: half of it"), "{form:?}: {text}");
    }
}

#[test]
fn json_has_the_fields_of_the_schema() {
    let value: Value = serde_json::from_str(&render_comparison(&two_machines(), &[], Form::Json)).unwrap();
    assert_eq!((value["schema"].as_u64(), value["kind"].as_str()), (Some(1), Some("comparison")));
    assert_eq!(value["different_machines"], true);
    let cells = value["rows"][0]["cells"].as_array().unwrap();
    assert_eq!((cells.len(), value["rows"][0]["together"].as_str()), (2, Some("flips")));
    for cell in cells {
        assert!(cell["low"].as_f64() < cell["ratio"].as_f64() && cell["ratio"].as_f64() < cell["high"].as_f64());
        for field in ["column", "run", "baseline", "evidence", "median_ns", "floor", "verdict"] {
            assert!(!cell[field].is_null(), "{field}: {cell}");
        }
    }
    let value: Value = serde_json::from_str(&render_comparison(&two_builds(), &[], Form::Json)).unwrap();
    let change = &value["changes"][0];
    assert_eq!((change["evidence"].as_str(), change["verdict"].as_str()), (Some("measured-paired"), Some("slower")));
    assert_eq!((change["from"].as_str(), change["to"].as_str()), (Some("1111"), Some("2222")));
}

/// Another tool's figure beside one that was counted here.
#[test]
fn imported_figures_are_marked_in_every_form_and_no_word_is_said_of_them() {
    let of = |evidence: Evidence| {
        let run = |name: &str, bytes: f64, on: &str| {
            let mut run = made_up(MadeUp { machine: machine(on), ..MadeUp::named(name) });
            let provenance = Provenance { evidence, ..Provenance::of("tool", "1", "does it its own way") };
            let quantities = vec![Quantity::new("size", bytes, "bytes")];
            let (task, subject) = ("t".to_owned(), "tool-1".to_owned());
            run.subjects.push(SubjectRecord { task, subject, provenance, quantities, used: None });
            run
        };
        let same = compared(&[run("there", 7.0, "A"), run("here", 7.0, "B")]);
        (same, compared(&[run("there", 7.0, "A"), run("here", 8.0, "B")]))
    };
    let line = |comparison: &Comparison| {
        let text = render_comparison(comparison, &[], Form::Text);
        let line = text.lines().find(|line| line.contains("tool-1")).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (same, other) = of(Evidence::Imported);
    assert_eq!(line(&same), "tool-1 IMPORTED, size 7 bytes 7 bytes");
    assert_eq!(line(&other), "tool-1 IMPORTED, size 7 bytes 8 bytes");
    for form in [Form::Markdown, Form::Html, Form::Tex] {
        assert!(render_comparison(&same, &[], form).contains("tool-1 IMPORTED, size"), "{form:?}");
    }
    let csv = render_comparison(&same, &[], Form::Csv);
    let imported = csv.lines().filter(|line| line.starts_with("quantity,")).all(|line| line.contains(",imported,"));
    assert!(imported && csv.contains("quantity,t,tool-1,A,"), "{csv}");
    assert!(csv.lines().filter(|line| line.starts_with("row,")).all(|line| line.contains(",measured-paired,")));
    let (same, other) = of(Evidence::MeasuredPaired);
    assert_eq!(line(&same), "tool-1, size 7 bytes 7 bytes same");
    assert_eq!(line(&other), "tool-1, size 7 bytes 8 bytes differs");
}

#[test]
fn csv_has_as_many_fields_in_every_line() {
    for comparison in [two_machines(), two_builds()] {
        let csv = render_comparison(&comparison, &[], Form::Csv);
        let fields: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.len() > 4 && fields.iter().all(|count| *count == fields[0]), "{csv}");
    }
}

#[test]
fn a_terminal_gets_lines_of_its_width_that_lose_nothing() {
    // Heads of columns may stand at each of their fields, with a colon.
    let words = |text: &str| -> Vec<String> {
        text.split_ascii_whitespace().map(|word| word.trim_end_matches(':').to_owned()).collect()
    };
    for comparison in [two_machines(), two_builds(), committed()] {
        let whole = render_comparison(&comparison, &[], Form::Text);
        for columns in [40, 60, 70, 80, 120] {
            let narrow = render_comparison(&comparison, &[], Form::Terminal { columns });
            let widest = narrow.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns), "{columns}:\n{narrow}");
            // Nothing is lost but the head of a first column.
            let mut kept = words(&narrow);
            let heads = ["column", "task", "subject", "what"];
            for word in words(&whole).into_iter().filter(|word| !heads.contains(&word.as_str())) {
                let at = kept.iter().position(|other| *other == word);
                kept.swap_remove(at.unwrap_or_else(|| panic!("{columns}: {word} is missing in\n{narrow}")));
            }
        }
        let wide = render_comparison(&comparison, &[], Form::Terminal { columns: 10_000 });
        assert_eq!(wide, whole);
    }
}

/// Two runs with long names of machines and subjects.
fn committed() -> Comparison {
    let open = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../runs/2026-11-{name}.jsonl"));
        let run = Run::open(&path).unwrap();
        (path, run)
    };
    Comparison::of(&["24-zen4-a9070a", "24-zen4-fe760f"].map(open)).unwrap()
}

#[test]
fn the_slope_chart_has_a_line_from_column_to_column_and_a_strong_one_where_it_flips() {
    let figure = slopes(&two_machines()).unwrap();
    let svg = figure.svg();
    let lines = |class: &str, width: &str| {
        let is = |line: &&str| {
            line.starts_with("<line")
                && line.contains(&format!("class=\"{class}\""))
                && line.contains(&format!("stroke-width=\"{width}\""))
        };
        svg.lines().filter(is).count()
    };
    assert_eq!((lines("slower", "2.4"), lines("open", "1.2")), (1, 0));
    assert!(svg.contains("&lt;peer&gt;  flips") && !svg.contains("NaN"));
    assert!(
        figure.caption.contains("Times of two columns are not divided by each other")
            && figure.caption.contains("there")
    );
    let same = [
        MadeUp { ratio: 1.1, ..MadeUp::named("a") },
        MadeUp { ratio: 1.2, machine: machine("B"), ..MadeUp::named("b") },
    ];
    let svg = slopes(&compared(&same.map(made_up))).unwrap().svg();
    assert!(svg.contains("stroke-width=\"1.2\"") && !svg.contains("stroke-width=\"2.4\""));
}

#[test]
fn a_run_beside_itself_has_no_slope() {
    let run = made_up(MadeUp::named("a"));
    assert!(slopes(&compared(&[run.clone(), run])).is_none());
}

fn sealed(name: &str) -> (PathBuf, Run) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../runs/{name}.jsonl"));
    let run = Run::open(&path).unwrap();
    (path, run)
}

/// Document 003 has two computers, microprimitives, phases of the protocol, throughput and sizes.
#[test]
fn document_003_stands_beside_two_computers() {
    let runs = [sealed("2026-11-27-zen5-ea430d")];
    let others = ["zen4-ceffc0", "zen4-f0e7bb"].map(|name| sealed(&format!("2026-11-24-{name}")));
    let comparison = Comparison::of(&[&runs[..], &others[..]].concat()).unwrap();
    assert_eq!(comparison.columns.len(), 2, "a column for each computer");
    let claims = Claims::parse(include_str!("../../../claims/ecliptix-003.toml")).unwrap();
    let quoted = comparison.quoted(&claims);
    let of = |place: &str| quoted.iter().filter(|quoted| quoted.claim.place.contains(place)).collect::<Vec<&Quoted>>();
    for place in ["Microprimitives", "Protocol phases", "Throughput", "closing note"] {
        assert!(of(place).iter().any(|quoted| quoted.is_measured()), "{place}");
    }
    let decapsulation = quoted.iter().find(|quoted| quoted.claim.what.contains("decapsulation")).unwrap();
    assert!(decapsulation.here.iter().all(Option::is_some), "both columns have it");
    for form in [Form::Text, Form::Markdown, Form::Html] {
        let text = render_comparison(&comparison, &quoted, form);
        for needle in [
            "Quoted: ecliptix-003",
            "ops/s",
            "phase",
            "messages",
            "2712 bytes",
            "different-machine",
            "times of two machines divided",
        ] {
            assert!(text.contains(needle), "{form:?} lacks {needle}");
        }
    }
    let json: Value = serde_json::from_str(&render_comparison(&comparison, &quoted, Form::Json)).unwrap();
    let rate = json["claims"].as_array().unwrap().iter().find(|claim| claim["claim"]["unit"] == "ops/s").unwrap();
    let here = rate["here"].as_array().unwrap().iter().find(|here| !here.is_null()).unwrap();
    let (per_second, ns) = (here["per_second"].as_f64().unwrap(), here["median_ns"].as_f64().unwrap());
    assert!((per_second * ns / 1e9 - 1.0).abs() < 1e-9);
}
