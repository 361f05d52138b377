//! Reports in terminals of different widths.

use candor_lab::analysis::Report;
use candor_lab::report::{Form, render};
use candor_lab::runfile::Run;
use std::path::Path;

fn sample() -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../candor/tests/runs/sample.jsonl");
    Report::of(&Run::open(&path).unwrap())
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    words.sort();
    words
}

#[test]
fn every_width_shows_every_word_of_the_report() {
    let whole = render(&[sample()], &[], Form::Text);
    for columns in [20, 40, 60, 80, 100, 200] {
        let narrow = render(&[sample()], &[], Form::Terminal { columns });
        assert_eq!(words(&narrow), words(&whole), "{columns}:\n{narrow}");
    }
}

#[test]
fn no_line_is_longer_than_the_terminal_and_no_number_is_broken() {
    for columns in [60, 80, 100] {
        let text = render(&[sample()], &[], Form::Terminal { columns });
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{columns}:\n{text}");
        for number in ["1.31 µs", "0.93 – 1.01"] {
            assert!(text.contains(number), "{columns}: {number} is missing in\n{text}");
        }
    }
}

/// Only the words about the control go on in a second line; with less room than a verdict needs, the numbers go below.
#[test]
fn numbers_stand_beside_the_names_as_long_as_a_verdict_fits() {
    let text = render(&[sample()], &[], Form::Terminal { columns: 70 });
    assert!(text.contains("\n  kernel-again  1.31 µs   1.00  0.93 – 1.01  can't tell\n"), "{text}");
    assert!(text.contains("(control: this run\n"), "{text}");
    let narrow = render(&[sample()], &[], Form::Terminal { columns: 60 });
    assert!(narrow.contains("\n  kernel-again  can't tell\n"), "{narrow}");
}

#[test]
fn a_wide_terminal_shows_what_a_file_has() {
    assert_eq!(render(&[sample()], &[], Form::Terminal { columns: 500 }), render(&[sample()], &[], Form::Text));
}
