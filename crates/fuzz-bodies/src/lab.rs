//! Run files and claims files.

use candor_lab::analysis::Report;
use candor_lab::claims::Claims;
use candor_lab::figure::figures;
use candor_lab::report::{Form, render};
use candor_lab::runfile::Run;
use candor_test_support::runs::reseal;

/// Bytes from anywhere, as they are and with a seal that fits: whatever is taken for a run can be reported in every form.
pub fn run_file(data: &[u8]) {
    for bytes in [data.to_vec(), reseal(data)] {
        let Ok(run) = Run::parse("fuzz", &bytes) else { continue };
        let reports = [Report::of(&run)];
        for form in [Form::Text, Form::Markdown, Form::Csv, Form::Json, Form::Html] {
            assert!(!render(&reports, &[], form).is_empty());
        }
        for figure in figures(&reports[0]) {
            assert!(!figure.svg().contains("NaN"), "a figure with a coordinate that is no number");
        }
    }
}

/// A claims file from anywhere: an error or claims, never a panic.
pub fn claims(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Claims::parse(text);
    }
}
