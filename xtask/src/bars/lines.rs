//! The lines of a bar: what the runs found of it, on each kind of CPU.

use super::judge::{Outcome, Wanted, judge, judge_figure};
use super::report::{OTHER_WORK, Row, is_twice};
use super::table::{Asks, BEST_PEER, Bar, matches};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// How the name of a task's second table ends, which has CPU times.
const CPU: &str = "/cpu";

/// One printed line of a bar.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) outcome: Outcome,
    pub(super) wanted: String,
    pub(super) found: String,
    pub(super) about: String,
    pub(super) source: String,
}

/// Of every row that matches, and for a task without one a line that says so.
pub(super) fn lines(bar: &Bar, rows: &[Row], known: &[String]) -> Vec<Line> {
    match &bar.asks {
        Asks::Ratio { tasks, .. } => tasks.iter().flat_map(|task| ratio_lines(bar, task, rows, known)).collect(),
        Asks::Figure { command, unit, at_least, at_most, measured, evidence } => {
            let limit = |sign: &str, number: &Option<f64>| number.map(|number| format!("{sign} {number} {unit}"));
            let limits: Vec<String> = [limit("≥", at_least), limit("≤", at_most)].into_iter().flatten().collect();
            Vec::from([Line {
                outcome: judge_figure(*measured, *at_least, *at_most),
                wanted: if limits.is_empty() { "a figure".to_owned() } else { limits.join(", ") },
                found: measured.map_or("–".to_owned(), |number| format!("{number} {unit}")),
                about: command.clone(),
                source: evidence.clone().unwrap_or_default(),
            }])
        }
    }
}

/// The lines of one task name or pattern: one for each task and subject that matches, or one that says there is none.
fn ratio_lines(bar: &Bar, pattern: &str, rows: &[Row], known: &[String]) -> Vec<Line> {
    let Asks::Ratio { subject, baseline, wanted, stretch, rule, peers, without, transfer, .. } = &bar.asks else {
        return Vec::new();
    };
    // A task may have a second table of CPU times, which only a run can show: whoever asks for it by name knows.
    let second = known.iter().filter(|_| pattern.ends_with(CPU)).map(|task| format!("{task}{CPU}"));
    let named = rows.iter().map(|row| row.task.clone()).chain(known.iter().cloned()).chain(second);
    let mut tasks: Vec<String> = named.filter(|task| matches(pattern, task)).collect();
    tasks.sort();
    tasks.dedup();
    let empty = |outcome, task: &str| Line {
        outcome,
        wanted: wanted.show(*rule),
        found: "–".to_owned(),
        about: format!("{task}  {subject}"),
        source: String::new(),
    };
    if tasks.is_empty() {
        return Vec::from([empty(Outcome::NotYet, pattern)]);
    }
    let mut lines = Vec::new();
    for task in tasks {
        let of_task = rows
            .iter()
            .filter(|row| {
                row.task == task && matches(baseline, &row.baseline) && !is_twice(&row.baseline, &row.subject)
            })
            .filter(|row| if subject == BEST_PEER { !row.is_ours } else { matches(subject, &row.subject) })
            .filter(|row| without.as_ref().is_none_or(|feature| !row.features.contains(feature)));
        let is_long = |row: &&Row| transfer.is_none_or(|least| row.transfer.is_some_and(|seconds| seconds >= least));
        let (of_task, short): (Vec<&Row>, Vec<&Row>) = of_task.partition(is_long);
        if of_task.is_empty() {
            let source = short.iter().max_by_key(|row| &row.date).map_or(String::new(), |row| too_short(row));
            lines.push(Line { source, ..empty(Outcome::NotMeasured, &task) });
        }
        for row in newest_of_each_cpu(of_task, subject == BEST_PEER) {
            let absent = absent(peers, row, rows);
            let outcome = match judge(wanted, *rule, &row.found) {
                Outcome::Met | Outcome::Missed if !absent.is_empty() => Outcome::CantTell,
                outcome => outcome,
            };
            let beyond = stretch.map(|stretch| match judge(&Wanted::AtLeast(stretch), *rule, &row.found) {
                Outcome::Met => format!(", stretch {stretch} too"),
                _ => format!(", stretch {stretch}"),
            });
            lines.push(Line {
                outcome,
                wanted: format!("{}{}", wanted.show(*rule), beyond.unwrap_or_default()),
                found: wanted.show_found(&row.found),
                about: format!("{}  {} over {}", row.task, row.baseline, row.subject),
                source: format!("{}{}{}{absent}", row.run, if row.is_other() { OTHER_WORK } else { "" }, row.marks),
            });
        }
    }
    lines
}

/// Why a row is none of a bar that asks for longer transfers.
fn too_short(row: &Row) -> String {
    let lasts = row.transfer.map_or("of no stated length".to_owned(), |seconds| format!("of {seconds} s"));
    format!("{}, only transfers {lasts}", row.run)
}

/// The rows of the newest run on each kind of CPU: what is met on one may be missed on another, and neither stands for both. Of the peers only the
/// best, if that is asked for.
fn newest_of_each_cpu(rows: Vec<&Row>, best_peer: bool) -> Vec<&Row> {
    let mut kinds: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        kinds.entry(&row.cpu).or_default().push(row);
    }
    kinds
        .into_values()
        .flat_map(|rows| {
            let run = rows.iter().max_by_key(|row| &row.date).map(|row| row.run.as_str());
            let mut newest: Vec<&Row> = rows.iter().copied().filter(|row| Some(row.run.as_str()) == run).collect();
            if best_peer {
                // The peer with the smallest ratio is the fastest, before all that do other work.
                newest.sort_by(|a, b| {
                    (a.is_other(), a.found.ratio).partial_cmp(&(b.is_other(), b.found.ratio)).unwrap_or(Ordering::Equal)
                });
                newest.truncate(1);
            }
            newest
        })
        .collect()
}

/// Which of the peers that a bar names a row's run does not have in that table, each in words for a source: the best of the others is not the best.
fn absent(peers: &[String], row: &Row, rows: &[Row]) -> String {
    let has = |peer: &str| {
        let of_table =
            |other: &&Row| (&other.run, &other.task, &other.baseline) == (&row.run, &row.task, &row.baseline);
        rows.iter().filter(of_table).any(|other| matches(peer, &other.subject))
    };
    peers.iter().filter(|peer| !has(peer)).map(|peer| format!(", without {peer}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::report::{BUSY, INTERRUPTED, LAYOUT, parse_report, under};
    use super::super::table;
    use super::*;

    const REPORT: &str = r#"{"schema": 1, "run": "2026-11-21-zen3-3f9c1a", "date": "2026-11-21T10:00:00Z", "commit": "0123456789ab", "cpu": "zen3", "machine": {}, "rows": [
        {"task": "hash/sm3/10m", "subject": "candor@avx2#2", "baseline": "candor@avx2", "ratio": 1.0, "low": 0.99, "high": 1.01, "floor": 0.005, "verdict": "same"},
        {"task": "hash/sm3/10m", "subject": "candor@portable", "baseline": "candor@avx2", "ratio": 0.5, "low": 0.4, "high": 0.6, "floor": 0.005, "verdict": "slower"},
        {"task": "hash/sm3/10m", "subject": "openssl-4.0.3", "baseline": "candor@avx2", "ratio": 1.8, "low": 1.7, "high": 1.9, "floor": 0.005, "verdict": "faster"},
        {"task": "hash/sm3/10m", "subject": "libgcrypt-1.10", "baseline": "candor@avx2", "ratio": 0.97, "low": 0.96, "high": 0.98, "floor": 0.005, "verdict": "slower"},
        {"task": "hash/sm3/10m", "subject": "size", "value": 3, "unit": "bytes"}],
        "refusals": [], "lints": []}"#;

    fn bar(task: &str, subject: &str, extra: &str) -> Bar {
        let text = format!(
            "[[bar]]\nissue = 7\nwhat = \"w\"\nkind = \"ratio\"\ntask = \"{task}\"\nsubject = \"{subject}\"\n{extra}\n"
        );
        table::parse(&text).unwrap().remove(0)
    }

    fn outcomes(bar: &Bar, known: &[&str]) -> Vec<(Outcome, String)> {
        let rows = parse_report(REPORT).unwrap().rows;
        let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        lines(bar, &rows, &known).into_iter().map(|line| (line.outcome, line.about)).collect()
    }

    #[test]
    fn a_named_peer_is_judged_by_its_row() {
        let found = outcomes(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &[]);
        assert_eq!(found, [(Outcome::Met, "hash/sm3/10m  candor@avx2 over openssl-4.0.3".to_owned())]);
    }

    #[test]
    fn the_best_peer_is_the_fastest_that_is_not_ours() {
        let found = outcomes(&bar("hash/*/10m", "best-peer", "at-least = 1.0\nrule = \"near\""), &[]);
        assert_eq!(found, [(Outcome::Missed, "hash/sm3/10m  candor@avx2 over libgcrypt-1.10".to_owned())]);
    }

    #[test]
    fn what_is_ours_is_no_peer_under_any_name() {
        for name in ["candor+aws-lc@auto", "parts@auto", "insecure-seed-768@auto", "candor@avx512+one-by-one"] {
            let ours = REPORT.replace("libgcrypt-1.10", name);
            let lines =
                lines(&bar("hash/sm3/10m", "best-peer", "at-least = 1.0"), &parse_report(&ours).unwrap().rows, &[]);
            assert_eq!(lines[0].about, "hash/sm3/10m  candor@avx2 over openssl-4.0.3", "{name}");
        }
        // By what a row says of its library, too.
        let ours = REPORT.replace("\"libgcrypt-1.10\",", "\"aside\", \"provenance\": {\"library\": \"candor\"},");
        let lines = lines(&bar("hash/sm3/10m", "best-peer", "at-least = 1.0"), &parse_report(&ours).unwrap().rows, &[]);
        assert_eq!(lines[0].about, "hash/sm3/10m  candor@avx2 over openssl-4.0.3");
    }

    /// The best of those who are there is met easily where the fastest is absent.
    #[test]
    fn a_run_without_a_peer_that_the_bar_names_tells_nothing() {
        let found = |peers: &str| {
            let bar = bar("hash/sm3/10m", "best-peer", &format!("at-least = 1.0\npeers = {peers}"));
            let line = lines(&bar, &parse_report(REPORT).unwrap().rows, &[]).remove(0);
            (line.outcome, line.source)
        };
        let run = "2026-11-21-zen3-3f9c1a";
        assert_eq!(found(r#"["libgcrypt-*", "openssl-4*"]"#), (Outcome::Missed, run.to_owned()));
        assert_eq!(found(r#"["openssl-4*", "gmsm-*"]"#), (Outcome::CantTell, format!("{run}, without gmsm-*")));
    }

    #[test]
    fn a_bar_about_cpus_without_an_instruction_is_judged_on_no_other() {
        let of = |features: &str| {
            let report = REPORT.replace(r#""machine": {}"#, &format!(r#""machine": {{"features": {features}}}"#));
            let bar = bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5\nwithout = \"avx512ifma\"");
            lines(&bar, &parse_report(&report).unwrap().rows, &[]).remove(0).outcome
        };
        assert_eq!(of(r#"["adx", "avx2"]"#), Outcome::Met);
        assert_eq!(of(r#"["adx", "avx2", "avx512ifma"]"#), Outcome::NotMeasured);
    }

    #[test]
    fn a_task_that_exists_without_a_row_is_not_measured_and_others_are_not_yet() {
        let one = bar("hash/sha256/10m", "openssl-4.*", "at-least = 0.99");
        assert_eq!(outcomes(&one, &["hash/sha256/10m"])[0].0, Outcome::NotMeasured);
        assert_eq!(outcomes(&one, &[])[0].0, Outcome::NotYet);
        assert_eq!(outcomes(&bar("hash/sm3/10m", "ring-*", "at-least = 1"), &[])[0].0, Outcome::NotMeasured);
    }

    /// The tasks that `candor list` knows have names; their second tables don't.
    #[test]
    fn a_second_table_of_a_task_that_exists_is_not_measured() {
        let cpu = |task: &str| outcomes(&bar(task, "tor-*", "at-least = 1.5"), &["relay/bulk/one-stream"]);
        let (outcome, about) = cpu("relay/bulk/one-stream/cpu").remove(0);
        assert_eq!((outcome, about.as_str()), (Outcome::NotMeasured, "relay/bulk/one-stream/cpu  tor-*"));
        assert_eq!(cpu("relay/bulk/no-stream/cpu")[0].0, Outcome::NotYet);
        let names: Vec<String> = cpu("relay/*").into_iter().map(|(_, about)| about).collect();
        assert_eq!(names, ["relay/bulk/one-stream  tor-*"], "nobody asked for CPU times");
    }

    /// Rates of a second are slow start.
    #[test]
    fn a_bar_about_long_transfers_is_judged_by_no_shorter_one() {
        let with = |what: &str, day: &str| {
            let tasks = format!(r#""tasks": [{{"task": "hash/sm3/10m", "what": "{what}"}}], "rows""#);
            REPORT.replace("\"rows\"", &tasks).replace("2026-11-21", day)
        };
        let judged = |reports: &[String]| {
            let rows: Vec<Row> = reports.iter().flat_map(|report| parse_report(report).unwrap().rows).collect();
            let line = lines(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5\ntransfer-at-least = 60"), &rows, &[]);
            (line[0].outcome, line[0].source.clone())
        };
        let long = with("bytes at the rate of a transfer of 60 s, over one stream", "2026-11-21");
        let short = with("bytes at the rate of a transfer of 59.9 s, too short for a claim (X sets it)", "2026-11-22");
        let met = (Outcome::Met, "2026-11-21-zen3-3f9c1a".to_owned());
        assert_eq!(judged(std::slice::from_ref(&long)), met);
        assert_eq!(judged(&[long.replace("of 60 s", "of 90.5 s")]), met);
        let none =
            |words: &str, day: &str| (Outcome::NotMeasured, format!("{day}-zen3-3f9c1a, only transfers {words}"));
        assert_eq!(judged(std::slice::from_ref(&short)), none("of 59.9 s", "2026-11-22"));
        assert_eq!(judged(&[REPORT.to_owned()]), none("of no stated length", "2026-11-21"));
        assert_eq!(judged(&[short.clone(), long]), met, "a glance that is newer hides no measurement");
        let marks = &parse_report(&short).unwrap().rows[2].marks;
        assert_eq!(marks, ", short transfers", "whoever cites it says so");
    }

    /// One scheduler is not each of them.
    #[test]
    fn a_bar_about_each_of_several_subjects_tells_nothing_where_one_is_absent() {
        let found = |peers: &str| {
            let bar = bar("hash/sm3/10m", "openssl-*", &format!("at-least = 1.5\npeers = {peers}"));
            lines(&bar, &parse_report(REPORT).unwrap().rows, &[]).remove(0).outcome
        };
        assert_eq!(found(r#"["openssl-4*"]"#), Outcome::Met);
        assert_eq!(found(r#"["openssl-4*", "openssl-3*"]"#), Outcome::CantTell);
    }

    #[test]
    fn the_newest_run_counts_and_not_the_best() {
        let mut rows = parse_report(REPORT).unwrap().rows;
        // An hour later, with a name that comes before.
        let later = REPORT.replace("T10:", "T11:").replace("3f9c1a", "000000").replace("1.7", "1.2");
        rows.splice(0..0, parse_report(&later).unwrap().rows);
        let lines = lines(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &rows, &[]);
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].outcome, lines[0].source.as_str()), (Outcome::CantTell, "2026-11-21-zen3-000000"));
    }

    #[test]
    fn each_kind_of_cpu_has_the_line_of_its_newest_run() {
        let mut rows = parse_report(REPORT).unwrap().rows;
        // Slower on another kind of CPU, an hour before, and there again, two hours before.
        let other = |hour: &str, digest: &str, low: &str| {
            REPORT
                .replace("T10:", hour)
                .replace("zen3-3f9c1a", &format!("zen5-256-{digest}"))
                .replace("\"zen3\"", "\"zen5-256\"")
                .replace("1.7", low)
        };
        rows.extend(parse_report(&other("T09:", "aaaaaa", "1.2")).unwrap().rows);
        rows.extend(parse_report(&other("T08:", "bbbbbb", "1.6")).unwrap().rows);
        let found = |subject: &str| -> Vec<_> {
            let lines = lines(&bar("hash/sm3/10m", subject, "at-least = 1.5"), &rows, &[]);
            lines.into_iter().map(|line| (line.outcome, line.source)).collect()
        };
        let (zen3, zen5) = ("2026-11-21-zen3-3f9c1a".to_owned(), "2026-11-21-zen5-256-aaaaaa".to_owned());
        assert_eq!(found("openssl-4.*"), [(Outcome::Met, zen3.clone()), (Outcome::CantTell, zen5.clone())]);
        assert_eq!(found("best-peer"), [(Outcome::Missed, zen3), (Outcome::Missed, zen5)]);
    }

    #[test]
    fn a_row_without_an_interval_tells_nothing() {
        let open = REPORT.replace("\"low\": 1.7, \"high\": 1.9", "\"low\": null, \"high\": null");
        let rows = parse_report(&open).unwrap().rows;
        let lines = lines(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &rows, &[]);
        assert_eq!((lines[0].outcome, lines[0].found.as_str()), (Outcome::CantTell, "1.800 [no interval]"));
    }

    #[test]
    fn an_interrupted_run_decides_nothing_and_sources_say_under_what_they_were_made() {
        let with = |lint: &str| REPORT.replace("\"lints\": []", &format!("\"lints\": [{{\"lint\": \"{lint}\"}}]"));
        let read = |lint: &str| parse_report(&with(lint)).unwrap();
        assert_eq!((read("interrupted").rows.len(), read("interrupted").condition.as_str()), (0, INTERRUPTED));
        assert_eq!((read("busy-machine").rows.len(), read("busy-machine").condition.as_str()), (5 - 1, BUSY));
        assert_eq!(read("different-operation").condition, "");
        let changed = with("busy-machine").replace("0123456789ab", "0123456789ab+dirty");
        assert_eq!(parse_report(&changed).unwrap().condition, ", busy, changed tree");
        assert_eq!(read("layout-unknown").condition, LAYOUT);
        let conditions = ["2026-11-21-zen3-3f9c1a", "2026-11-21-zen3-000000"].map(str::to_owned);
        let conditions = BTreeMap::from_iter(conditions.into_iter().zip([BUSY.to_owned(), String::new()]));
        let source = |source: &str| under(source, &conditions);
        assert_eq!(source("2026-11-21-zen3-3f9c1a"), "2026-11-21-zen3-3f9c1a, busy");
        assert_eq!(source("runs/2026-11-21-zen3-3f9c1a.jsonl"), "runs/2026-11-21-zen3-3f9c1a.jsonl, busy");
        assert_eq!(source("2026-11-21-zen3-3f9c1a, other work"), "2026-11-21-zen3-3f9c1a, other work, busy");
        assert_eq!(source("runs/2026-11-21-zen3-000000.jsonl"), "runs/2026-11-21-zen3-000000.jsonl");
        assert_eq!(source("by hand"), "by hand");
    }

    #[test]
    fn a_source_says_whom_its_row_compares_with() {
        let of_peer = |subject: &str| {
            format!("{{\"lint\": \"old-peer\", \"task\": \"hash/sm3/10m\", \"subject\": \"{subject}\"}}")
        };
        let sources = |lint: &str| {
            let report = REPORT.replace("\"lints\": []", &format!("\"lints\": [{lint}]"));
            let rows = parse_report(&report).unwrap().rows;
            let lines = lines(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &rows, &[]);
            lines.into_iter().map(|line| line.source).collect::<Vec<_>>()
        };
        let subject = parse_report(REPORT)
            .unwrap()
            .rows
            .iter()
            .find(|row| row.subject.starts_with("openssl-4."))
            .unwrap()
            .subject
            .clone();
        let run = "2026-11-21-zen3-3f9c1a";
        assert_eq!(sources(&of_peer(&subject)), [format!("{run}, old peer")]);
        assert_eq!(sources(&of_peer("another")), [run]);
        assert_eq!(
            sources("{\"lint\": \"process-lost\", \"task\": \"hash/sm3/10m\", \"subject\": \"\"}"),
            [format!("{run}, a process was lost")]
        );
        assert_eq!(sources("{\"lint\": \"process-lost\", \"task\": \"another\", \"subject\": \"\"}"), [run]);
        // What failed of the baseline failed of all that are compared with it.
        for (failed, marked) in
            [(subject.as_str(), true), ("candor@avx2", true), ("candor@avx2#2", true), ("another", false)]
        {
            let lint = of_peer(failed).replace("old-peer", "failed-work");
            let words = if marked { ", work failed" } else { "" };
            assert_eq!(sources(&lint), [format!("{run}{words}")], "{failed}");
        }
    }

    #[test]
    fn a_peer_that_does_other_work_is_the_best_only_where_all_do() {
        let verdict = |word: &str| format!("\"high\": 0.98, \"floor\": 0.005, \"verdict\": \"{word}\"");
        let other = REPORT.replace(&verdict("slower"), &verdict("none"));
        let judged = |report: &str, subject| {
            let line = lines(&bar("hash/sm3/10m", subject, "at-least = 1.0"), &parse_report(report).unwrap().rows, &[])
                .remove(0);
            (line.about, line.source)
        };
        let run = "2026-11-21-zen3-3f9c1a";
        let (openssl, libgcrypt) =
            ("hash/sm3/10m  candor@avx2 over openssl-4.0.3", "hash/sm3/10m  candor@avx2 over libgcrypt-1.10");
        assert_eq!(judged(&other, "best-peer"), (openssl.to_owned(), run.to_owned()));
        assert_eq!(judged(&other, "libgcrypt-*"), (libgcrypt.to_owned(), format!("{run}, other work")));
        let all = other.replace("\"faster\"", "\"none\"");
        assert_eq!(judged(&all, "best-peer"), (libgcrypt.to_owned(), format!("{run}, other work")));
    }

    #[test]
    fn a_report_that_is_none_is_an_error() {
        for odd in ["", "[]", "{}", r#"{"schema": 2, "rows": []}"#, r#"{"schema": 1}"#] {
            assert!(parse_report(odd).is_err(), "{odd}");
        }
    }
}
