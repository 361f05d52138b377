//! Which rows of which runs stand in the document, and in what order.

use crate::Failure;
use crate::bars::report::{Report, Row, is_ours};
use std::collections::BTreeMap;

/// Families in the order of the document: how the names of their tasks begin, and their title. The first that fits counts.
const FAMILIES: [(&str, &str); 17] = [
    ("hash/", "Hashes"),
    ("mac/", "Message authentication"),
    ("kdf/", "Key derivation"),
    ("ksf/", "Password hashing"),
    ("aead/", "Authenticated encryption"),
    ("cipher/", "Ciphers"),
    ("ec/", "Elliptic curves"),
    ("sm2/", "SM2"),
    ("rsa/", "RSA"),
    ("kem/ml-kem", "ML-KEM"),
    ("kem/hqc", "HQC"),
    ("kem/mceliece", "Classic McEliece"),
    ("gf2", "Binary polynomials and fields"),
    ("ntor/", "Circuit handshakes"),
    ("relay/", "Relays"),
    ("opaque/", "OPAQUE"),
    ("", "Everything else"),
];

/// The rows of a family.
pub(super) struct Family<'a> {
    pub(super) title: &'static str,
    pub(super) lines: Vec<Line<'a>>,
}

/// A task and a peer, with a row for each kind of CPU on which they were measured.
pub(super) struct Line<'a> {
    pub(super) task: &'a str,
    pub(super) peer: &'a str,
    pub(super) cells: BTreeMap<&'a str, &'a Row>,
}

/// Every peer of every task, from the newest run on each kind of CPU. `tiers` are candor's, from least to most.
pub(super) fn families<'a>(reports: &'a [Report], tiers: &[String]) -> Result<Vec<Family<'a>>, Failure> {
    let mut found: BTreeMap<(usize, Vec<Part>, &str), Line> = BTreeMap::new();
    let of_peers = |report: &'a Report| report.rows.iter().filter(|row| !row.is_ours && is_ours(&row.baseline));
    for row in reports.iter().flat_map(|report| of_peers(report).chain(&report.turned)) {
        if row.differs && !row.is_other() {
            let Row { run, task, subject, found, .. } = row;
            return Err(format!(
                "{run}: {subject} does other work in {task}, and the report has the verdict `{}`",
                found.verdict
            ));
        }
        let family = FAMILIES.iter().position(|(start, _)| row.task.starts_with(start)).unwrap_or(FAMILIES.len() - 1);
        let line = found.entry((family, parts(&row.task), row.subject.as_str())).or_insert_with(|| Line {
            task: &row.task,
            peer: &row.subject,
            cells: BTreeMap::new(),
        });
        let rank = |row: &'a Row| (day(&row.date), width(&row.baseline, tiers), &row.date);
        let chosen = line.cells.entry(&row.cpu).or_insert(row);
        if rank(chosen) < rank(row) {
            *chosen = row;
        }
    }
    let mut families: Vec<(usize, Family)> = Vec::new();
    for ((at, ..), line) in found {
        match families.last_mut() {
            Some((last, family)) if *last == at => family.lines.push(line),
            _ => families.push((at, Family { title: FAMILIES[at].1, lines: vec![line] })),
        }
    }
    Ok(families.into_iter().map(|(_, family)| family).collect())
}

fn day(date: &str) -> &str {
    date.get(..10).unwrap_or(date)
}

/// How wide the instructions of a subject of ours are, by its name. Arms that are no tier (`aes-ni`, `vaes`) are wider than portable code and narrower than any
/// tier; what another library or the whole program chooses is not known.
fn width(subject: &str, tiers: &[String]) -> usize {
    let arm = subject.split_once('@').map_or("auto", |(_, arm)| arm.split('+').next().unwrap_or(arm));
    match tiers.iter().position(|tier| tier == arm) {
        _ if arm == "auto" => 0,
        Some(0) => 1,
        None => 2,
        Some(at) => at + 2,
    }
}

/// Part of a task's name, in the order in which people count: `64k` before `1m`, `9w` before `10w`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64, String),
    Word(String),
}

fn parts(task: &str) -> Vec<Part> {
    let part = |part: &str| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let unit = match rest {
            "k" => 1 << 10,
            "m" => 1 << 20,
            _ => 1,
        };
        match number.parse::<u64>() {
            Ok(number) => Part::Number(number.saturating_mul(unit), rest.to_owned()),
            Err(_) => Part::Word(part.to_owned()),
        }
    };
    task.split('/').map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::report;
    use super::*;
    use crate::bars::report::parse_report;
    use serde_json::json;

    fn families(reports: &[Report]) -> Result<Vec<Family<'_>>, Failure> {
        super::families(reports, &["portable", "avx2", "avx512"].map(str::to_owned))
    }

    fn cells<'a>(reports: &'a [Report], task: &str, peer: &str) -> Vec<(&'a str, &'a str)> {
        let families = families(reports).unwrap();
        let mut lines = families.into_iter().flat_map(|family| family.lines);
        let line = lines.find(|line| (line.task, line.peer) == (task, peer)).unwrap();
        line.cells.into_iter().map(|(cpu, row)| (cpu, row.run.as_str())).collect()
    }

    #[test]
    fn the_newest_run_on_each_kind_of_cpu_counts_and_not_the_best() {
        let row = [("hash/sm3/1k", "openssl-4.0.3", 2.0, "faster")];
        let worse = [("hash/sm3/1k", "openssl-4.0.3", 0.9, "slower")];
        let reports =
            [report("b", "02", "zen4", &worse), report("a", "01", "zen4", &row), report("c", "03", "zen3", &row)];
        assert_eq!(cells(&reports, "hash/sm3/1k", "openssl-4.0.3"), [("zen3", "c"), ("zen4", "b")]);
    }

    #[test]
    fn a_later_run_without_a_peer_does_not_hide_it() {
        let both = [("hash/sm3/1k", "openssl-4.0.3", 2.0, "faster"), ("hash/sm3/1k", "gmssl-3.1.1", 0.5, "slower")];
        let reports = [report("a", "01", "zen4", &both), report("b", "02", "zen4", &both[..1])];
        assert_eq!(cells(&reports, "hash/sm3/1k", "openssl-4.0.3"), [("zen4", "b")]);
        assert_eq!(cells(&reports, "hash/sm3/1k", "gmssl-3.1.1"), [("zen4", "a")]);
    }

    /// A run that sets a narrower arm against a peer, to compare arms, does not stand for candor.
    #[test]
    fn of_several_arms_on_one_day_the_widest_counts() {
        let on = |run: &str, day: &str, arm: &str| {
            let mut report = report(run, day, "zen4", &[("hash/sm3/1k", "openssl-4.0.3", 2.0, "faster")]);
            report.rows[0].baseline = format!("candor@{arm}");
            report
        };
        let chosen = |reports: &[Report]| cells(reports, "hash/sm3/1k", "openssl-4.0.3")[0].1.to_owned();
        for narrow in ["avx2", "portable", "vaes", "auto", "avx2+batch"] {
            assert_eq!(chosen(&[on("wide", "02", "avx512",), on("narrow", "02", narrow)]), "wide", "{narrow}");
        }
        assert_eq!(chosen(&[on("old", "01", "avx512"), on("new", "02", "avx2")]), "new");
        assert_eq!(chosen(&[on("own", "02", "portable"), on("other", "02", "auto")]), "own");
    }

    /// A run whose baseline is a peer, or something of ours.
    fn of_baseline(baseline: &str, library: &str) -> Report {
        let row = |subject: &str, library: &str, ratio: f64, verdict: &str| {
            json!({ "task": "hash/sm3/1k", "subject": subject, "baseline": baseline, "ratio": ratio, "low": ratio * 0.8, "high": ratio * 1.25,
                    "floor": 0.005, "verdict": verdict, "provenance": { "library": library } })
        };
        let rows = [
            row(baseline, library, 1.0, "baseline"),
            row("candor@portable", "candor", 4.0, "faster"),
            row("candor@avx2", "candor", 2.0, "faster"),
            row("gmssl-3.1.1", "gmssl", 3.0, "faster"),
        ];
        let lint = json!({ "lint": "old-peer", "task": "hash/sm3/1k", "subject": baseline, "text": "" });
        let json = json!({
            "schema": 1, "run": "other", "date": "2026-11-05T10:00:00Z", "commit": "0123456789ab", "cpu": "zen4", "machine": {}, "rows": rows, "lints": [lint]
        });
        parse_report(&json.to_string()).unwrap()
    }

    #[test]
    fn a_loss_to_a_peer_that_was_the_baseline_stands_in_the_document() {
        let reports = [of_baseline("openssl-4.0.3", "openssl")];
        let found = families(&reports).unwrap();
        let [line] = &found[0].lines[..] else { panic!("between the two peers there is no row") };
        let row = line.cells["zen4"];
        assert_eq!(
            (line.peer, row.baseline.as_str(), row.marks.as_str()),
            ("openssl-4.0.3", "candor@avx2", ", old peer")
        );
        assert_eq!((row.found.verdict.as_str(), row.found.ratio), ("slower", 0.5));
        assert!((row.found.low - 0.4).abs() < 1e-9 && (row.found.high - 0.625).abs() < 1e-9, "{:?}", row.found);
        let newer = [report("a", "06", "zen4", &[("hash/sm3/1k", "openssl-4.0.3", 2.0, "faster")])];
        let reports: Vec<Report> = reports.into_iter().chain(newer).collect();
        assert_eq!(cells(&reports, "hash/sm3/1k", "openssl-4.0.3"), [("zen4", "a")]);
        // What is ours by another name is no peer.
        assert!(of_baseline("candor-1c91adb78a9d@avx2", "candor").turned.is_empty());
    }

    #[test]
    fn our_own_rows_are_no_peers() {
        let reports = [report("a", "01", "zen4", &[("hash/sm3/1k", "candor@portable", 2.0, "faster")])];
        assert!(families(&reports).unwrap().is_empty());
    }

    #[test]
    fn a_verdict_on_other_work_is_refused() {
        let mut judged = report("a", "01", "zen4", &[("hash/sm3/1k", "openssl-4.0.3", 2.0, "faster")]);
        assert!(families(std::slice::from_ref(&judged)).is_ok());
        judged.rows[0].differs = true;
        let why = families(std::slice::from_ref(&judged)).err().unwrap();
        assert_eq!(why, "a: openssl-4.0.3 does other work in hash/sm3/1k, and the report has the verdict `faster`");
        judged.rows[0].found.verdict = "none".to_owned();
        assert!(families(std::slice::from_ref(&judged)).is_ok());
    }

    #[test]
    fn tasks_stand_in_the_order_in_which_people_count() {
        let tasks = ["hash/sm3/10m", "hash/sm3/64k", "gf2/mul/10w", "hash/sm3/1k", "x/y", "gf2/mul/9w", "hash/sm3/1m"];
        let rows = tasks.map(|task| (task, "peer-1", 1.0, "same"));
        let reports = [report("a", "01", "zen4", &rows)];
        let found = families(&reports).unwrap();
        let titles: Vec<&str> = found.iter().map(|family| family.title).collect();
        assert_eq!(titles, ["Hashes", "Binary polynomials and fields", "Everything else"]);
        let names: Vec<&str> = found.iter().flat_map(|family| &family.lines).map(|line| line.task).collect();
        let expected =
            ["hash/sm3/1k", "hash/sm3/64k", "hash/sm3/1m", "hash/sm3/10m", "gf2/mul/9w", "gf2/mul/10w", "x/y"];
        assert_eq!(names, expected);
    }
}
