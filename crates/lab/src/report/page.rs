//! What all web pages of candor have: one file each, without requests, light and dark, fit for printing; a form that finds and sorts; and a run's epochs to
//! take along.
//!
//! The only script is ours and allowed by its digest. Without it the form stays hidden, and the rest of the page is the same.

use crate::analysis::Report;
use crate::figure::{self, Figure, escape};
use base64ct::{Base64, Encoding};
use flate2::{Compression, write::GzEncoder};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/find.js");

/// Figures that are higher, in units of which a line of text takes about 19, are closed until somebody opens them.
const HIGH: f64 = 2000.0;

/// A page up to its content, without the text.
pub(super) fn begin(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; \
         style-src 'unsafe-inline'; script-src 'sha256-{}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<main>\n",
        Base64::encode_string(&Sha256::digest(SCRIPT)),
        escape(title),
        figure::style()
    )
}

/// What comes behind it.
pub(super) fn end() -> String {
    format!("</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// The form that finds tasks by these names, and rows in them; and, where rows say their ratio, puts tasks into another order.
pub(super) fn finder<'a>(tasks: impl Iterator<Item = &'a str>, has_ratios: bool) -> String {
    let mut families: Vec<&str> = tasks.filter_map(|task| Some(task.split_once('/')?.0)).collect();
    families.sort_unstable();
    families.dedup();
    let options = |options: &[(&str, &str)]| -> String {
        options.iter().map(|(value, text)| format!("<option value=\"{value}\">{text}</option>")).collect()
    };
    let families: String =
        families.into_iter().map(|family| format!("<option value=\"{0}/\">{0}</option>", escape(family))).collect();
    let verdicts = options(&[
        ("", "anything"),
        ("faster", "faster"),
        ("slower", "slower"),
        ("same", "same"),
        ("open", "can't tell"),
        ("refused", "not measured"),
    ]);
    let orders = options(&[
        ("", "as measured"),
        ("name", "by name"),
        ("least", "smallest ratio first"),
        ("most", "largest ratio first"),
    ]);
    let order = match has_ratios {
        true => format!("<label>Order of tasks <select name=\"order\">{orders}</select></label>\n"),
        false => String::new(),
    };
    format!(
        "<form id=\"find\" role=\"search\" hidden>\n\
         <label>Words of task and subject <input type=\"search\" name=\"words\" autocomplete=\"off\" spellcheck=\"false\"></label>\n\
         <label>Family <select name=\"family\"><option value=\"\">all</option>{families}</select></label>\n\
         <label>Baseline is <select name=\"verdict\">{verdicts}</select></label>\n{order}<output></output>\n</form>\n"
    )
}

/// A figure, closed if it is high.
pub(super) fn figure(out: &mut String, figure: &Figure) {
    let open = if figure.height <= HIGH { " open" } else { "" };
    let _ = writeln!(
        out,
        "<details class=\"figure\"{open}><summary>Figure: {}</summary>\n<figure>\n<div class=\"scroll\" tabindex=\"0\">{}</div><figcaption>{}</figcaption>\n</figure>\n</details>",
        escape(&figure.title),
        figure.svg_inline(),
        escape(&figure.caption)
    );
}

/// A link with all epochs of a run, which works without the script; nothing if it has none.
///
/// What it holds is JSON, compressed by gzip: for each task the operations of an epoch, and by subject a list for each process of the wall nanoseconds of
/// each epoch, in the order of rounds, without those in which the work failed.
pub(super) fn epochs(report: &Report) -> String {
    let tasks: Vec<_> = report
        .tasks
        .iter()
        .filter(|task| !task.epochs.ns.is_empty())
        .map(|task| json!({ "task": task.task, "iterations": task.epochs.iterations, "ns": task.epochs.ns }))
        .collect();
    if tasks.is_empty() {
        return String::new();
    }
    let all = json!({ "run": report.run, "sha256": report.sha256, "tasks": tasks }).to_string();
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let packed = packed.write_all(all.as_bytes()).and_then(|()| packed.finish()).expect("a Vec takes all bytes");
    let name = escape(&report.run);
    format!(
        "<p class=\"muted\"><a download=\"{name}.epochs.json.gz\" href=\"data:application/gzip;base64,{}\">All epochs of this run</a> (JSON, gzip, {:.0} kB): \
         for each task, the operations of an epoch, and for each subject and process the wall nanoseconds of its epochs. They are in this page. The sealed run \
         file <code>{name}.jsonl</code> has the orders, seeds and phases besides; its seal is <code>{}</code>.</p>\n",
        Base64::encode_string(&packed),
        (packed.len() as f64 / 1e3).max(1.0),
        escape(&report.sha256)
    )
}
