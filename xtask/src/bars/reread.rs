//! What newer runs know of older ones: a library whose call was found to do other work than ours did it before, under the same name, as well.
//!
//! A sealed run keeps what was known when it was made. Its ratio stands as it was measured; the verdict beside it does not.

use super::report::{Report, Row};
use std::collections::BTreeMap;

/// A task, a peer, and what of ours it is compared with, whatever its arm.
type Pair = (String, String, String);

fn pair(row: &Row) -> Pair {
    (row.task.clone(), row.subject.clone(), form(&row.baseline))
}

/// `candor+batch` of `candor@avx2+batch`.
fn form(baseline: &str) -> String {
    let (name, arm) = baseline.split_once('@').unwrap_or((baseline, ""));
    let suffix = arm.split_once('+').map_or(String::new(), |(_, suffix)| format!("+{suffix}"));
    format!("{name}{suffix}")
}

/// Takes the verdict from every row of a pair that the newest run of that pair calls other work, on whatever CPU it was.
pub(super) fn reread(reports: &mut [Report]) {
    let mut newest: BTreeMap<Pair, (String, String, bool)> = BTreeMap::new();
    let rows = |report: &Report| -> Vec<Row> {
        report.rows.iter().chain(&report.turned).filter(|row| !row.is_ours).cloned().collect()
    };
    for row in reports.iter().flat_map(rows) {
        let known = newest.entry(pair(&row)).or_default();
        if known.0 < row.date {
            *known = (row.date.clone(), row.run.clone(), row.differs);
        }
    }
    for row in reports.iter_mut().flat_map(|report| report.rows.iter_mut().chain(&mut report.turned)) {
        if let Some((date, run, true)) = newest.get(&pair(row))
            && row.date < *date
            && !row.is_other()
        {
            row.found.verdict = "none".to_owned();
            row.differs = true;
            let digest = run.rsplit('-').next().unwrap_or(run);
            row.marks = format!("{}, as {digest} says", row.marks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::parse_report;
    use super::*;
    use serde_json::json;

    fn run(name: &str, day: &str, cpu: &str, baseline: &str, is_other: bool) -> Report {
        let row = |subject: &str, library: &str, verdict: &str| {
            json!({ "task": "ec/x25519/ecdh-batch8", "subject": subject, "baseline": baseline, "ratio": 4.0, "low": 3.9, "high": 4.1, "floor": 0.01,
                    "verdict": verdict, "provenance": { "library": library } })
        };
        let peer = row("ring-0.17.14", "ring", if is_other { "none" } else { "faster" });
        let rows = [row(baseline, "candor", "baseline"), peer, row("dalek-5", "dalek", "faster")];
        let lints = match is_other {
            true => vec![
                json!({ "lint": "different-operation", "task": "ec/x25519/ecdh-batch8", "subject": "ring-0.17.14", "text": "" }),
            ],
            false => Vec::new(),
        };
        let json = json!({ "schema": 1, "run": name, "date": format!("2026-11-{day}T10:00:00Z"), "commit": "c", "cpu": cpu, "machine": {}, "rows": rows, "lints": lints });
        parse_report(&json.to_string()).unwrap()
    }

    fn verdicts(mut reports: Vec<Report>) -> Vec<(String, String)> {
        reread(&mut reports);
        let of = |report: &Report| {
            let row = |subject: &str| report.rows.iter().find(|row| row.subject == subject).unwrap().clone();
            assert_eq!(row("dalek-5").found.verdict, "faster", "of others nothing was said");
            let row = row("ring-0.17.14");
            (row.found.verdict, row.marks)
        };
        reports.iter().map(of).collect()
    }

    #[test]
    fn what_a_newer_run_calls_other_work_has_no_verdict_in_older_ones_on_any_cpu() {
        let old = || run("2026-11-01-zen4-aaaaaa", "01", "zen4", "candor@avx2", false);
        let new = |is_other| run("2026-11-02-zen5-bbbbbb", "02", "zen5", "candor@avx512", is_other);
        let none = ("none".to_owned(), ", as bbbbbb says".to_owned());
        assert_eq!(verdicts(vec![old(), new(true)]), [none, ("none".into(), String::new())]);
        let faster = || ("faster".to_owned(), String::new());
        assert_eq!(verdicts(vec![old(), new(false)]), [faster(), faster()]);
        // The newest knows best: what was other work once may be the same since.
        let newest = run("2026-11-03-zen3-cccccc", "03", "zen3", "candor@avx2", false);
        assert_eq!(verdicts(vec![old(), new(true), newest])[0], faster());
        // A batch of ours is another pair.
        let batch = run("2026-11-02-zen5-bbbbbb", "02", "zen5", "candor@avx512+batch", true);
        assert_eq!(verdicts(vec![old(), batch])[0], faster());
    }
}
