//! The document as Markdown.

use super::choice::{Family, Line};
use crate::bars::report::{BUSY, CHANGED, Report, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const HEAD: &str = "\
# Results

<!-- Generated from runs/ by `cargo xtask results --write`, whole. The gate checks that it is current. -->

What the sealed runs in [`runs/`](../runs/README.md) say of candor beside other libraries, on each kind of CPU measured so far.
[METHOD.md](../METHOD.md) explains how the numbers come about; `candor report runs/NAME.jsonl` prints all of a run.

A cell says how many times faster candor is than the peer in that row, with the interval in brackets, the verdict about candor, the code path that
candor took, and the run. Above 1 candor is faster, below 1 it is slower. Each ratio was measured within one machine, in the same rounds. Ratios
of several CPUs may be compared with each other; times may not, so there are none here.

- **`not run`**: no run on that kind of CPU has measured candor beside this peer.
- **`can't tell`**: the evidence supports no verdict.
- **`other work`**: the peer's timed call does not do the same work, so there is neither a ratio nor a verdict. Where a newer run has found that of a peer, cells from older runs say so as well.
- **†**: the machine was busy, or candor was built from a tree with changes that no commit has. [Runs](#runs) says which.

Runs that were stopped before their plan was complete are left out. Where a peer was the baseline of a run, its comparison with candor is turned round.
Of several runs on one kind of CPU the newest counts, not the best. A peer that the newest run does not have keeps the number of the last run
that has it. Where several code paths of candor were measured beside a peer on the same day, the one with the widest instructions counts, which candor takes unless its
[table of arms](../crates/cpu/arms.table) knows a faster one.

`auto` marks a row whose code is not all ours. In `kem/ml-kem-*/{keygen,encaps,decaps,exchange}`, `ntor/parts/ml-kem-*` and `ec/x25519/*` it is **AWS-LC behind candor's trait**,
so the cell compares AWS-LC with the peer; our own ML-KEM and X25519 stand in rows that name a tier. Elsewhere it is a whole program that chooses its own code.
";

/// The verdicts, as they are counted.
const COUNTED: [&str; 6] = ["faster", "same", "can't tell", "slower", OTHER, INSECURE];

/// What rows of schemes are counted as that give up security: to be faster than a peer is no merit of theirs.
const INSECURE: &str = "of insecure schemes";

/// What stands in place of a ratio where the lint `different-operation` fires.
const OTHER: &str = "other work";

pub(super) fn text(families: &[Family], reports: &[Report]) -> String {
    let lines = || families.iter().flat_map(|family| &family.lines);
    // A kind of CPU of which there was any run has a column in every table.
    let cpus: BTreeSet<&str> = reports.iter().map(|report| report.cpu.as_str()).collect();
    let conditions: BTreeMap<&str, &str> =
        reports.iter().map(|report| (report.run.as_str(), report.condition.as_str())).collect();
    let cell = |row: &Row| cell(row, conditions.get(row.run.as_str()).copied().unwrap_or_default());

    let mut text = HEAD.to_owned();
    text += "\n## In short\n\nHow many rows of a family have which verdict about candor. Schemes that give up security, kept to show what that gains, count for none.\n\n";
    text += &head(&["family"], &cpus, &[]);
    for family in families {
        for (is_aws_lc, whose) in [(false, ""), (true, ", AWS-LC behind candor's trait")] {
            let rows = |cpu: &&str| -> Vec<&Row> {
                let rows = family.lines.iter().filter_map(|line| line.cells.get(cpu).copied());
                rows.filter(|row| self::is_aws_lc(row) == is_aws_lc).collect()
            };
            let rows: Vec<Vec<&Row>> = cpus.iter().map(rows).collect();
            if rows.iter().any(|rows| !rows.is_empty()) {
                let counts = rows.iter().map(|rows| counts(rows));
                text += &table_row([format!("{}{whose}", link(family.title))].into_iter().chain(counts));
            }
        }
    }

    let alone = alone(families, reports);
    if !alone.is_empty() {
        let _ = writeln!(
            text,
            "\nMeasured without a peer beside it (no other library here does this work): {}. Their runs are in [`runs/`](../runs/README.md).",
            alone.join(", ")
        );
    }

    text += "\n## Where candor is slower\n\n";
    let slower: Vec<&Row> =
        lines().flat_map(|line| line.cells.values()).filter(|row| verdict(row) == "slower").copied().collect();
    match slower.is_empty() {
        true => text += "Nowhere, in these runs.\n",
        false => text += "| task | peer | CPU | |\n|---|---|---|---|\n",
    }
    for row in slower {
        text += &table_row([code(&row.task), code(&row.subject), row.cpu.clone(), cell(row)]);
    }

    for family in families {
        let _ = write!(text, "\n## {}\n", family.title);
        let (mut last_group, mut last_task) = ("", "");
        for line in &family.lines {
            let group = group(line.task);
            if group != last_group {
                let titles = head(&["task", "peer"], &cpus, &["remarks"]);
                let _ = write!(text, "\n### {}\n\n{titles}", code(group));
                last_group = group;
            }
            let within = line.task.strip_prefix(group).unwrap_or(line.task).trim_start_matches('/');
            let task = if line.task == last_task { String::new() } else { code(within) };
            last_task = line.task;
            let cells = cpus.iter().map(|cpu| line.cells.get(cpu).map_or("not run".to_owned(), |row| cell(row)));
            text += &table_row([task, code(line.peer)].into_iter().chain(cells).chain([remarks(line)]));
        }
    }

    let cited: BTreeSet<&str> = lines().flat_map(|line| line.cells.values()).map(|row| row.run.as_str()).collect();
    let mut cited: Vec<&Report> = reports.iter().filter(|report| cited.contains(report.run.as_str())).collect();
    cited.sort_by_key(|report| (&report.cpu, &report.date, &report.run));
    text += "\n## Runs\n\nThe runs that are cited above.\n\n";
    text += "| run | kind of CPU | machine | date | commit | conditions |\n|---|---|---|---|---|---|\n";
    for report in &cited {
        let Report { run, cpu, machine, date, commit, condition, .. } = report;
        let date = date.get(..10).unwrap_or(date).to_owned();
        let condition = if condition.is_empty() { "–" } else { condition.trim_start_matches(", ") };
        text += &table_row([reference(run), cpu.clone(), machine.clone(), date, code(commit), condition.to_owned()]);
    }
    text.push('\n');
    for report in &cited {
        let _ = writeln!(text, "{}: ../runs/{}.jsonl", reference(&report.run), report.run);
    }
    text
}

/// The first parts of the names of tasks that were measured and have no peer.
fn alone(families: &[Family], reports: &[Report]) -> Vec<String> {
    fn first(task: &str) -> &str {
        task.split('/').next().unwrap_or(task)
    }
    let beside: BTreeSet<&str> =
        families.iter().flat_map(|family| &family.lines).map(|line| first(line.task)).collect();
    let measured: BTreeSet<&str> = reports.iter().flat_map(|report| &report.rows).map(|row| first(&row.task)).collect();
    measured.difference(&beside).map(|name| code(name)).collect()
}

/// What tasks of one table have in common: the first two parts of their names, or the first of two.
fn group(task: &str) -> &str {
    let parts: Vec<usize> = task.match_indices('/').map(|(at, _)| at).collect();
    let end = if parts.len() > 1 { parts[1] } else { parts.first().copied().unwrap_or(task.len()) };
    &task[..end]
}

/// A table's first two lines.
fn head(before: &[&str], cpus: &BTreeSet<&str>, after: &[&str]) -> String {
    let titles: Vec<&str> = before.iter().chain(cpus).chain(after).copied().collect();
    format!("| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()))
}

fn table_row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// A link to a heading of this document.
fn link(title: &str) -> String {
    format!("[{title}](#{})", title.to_lowercase().replace(' ', "-"))
}

/// A run by the digits of its digest; the links stand below the last table.
fn reference(run: &str) -> String {
    format!("[{}]", run.rsplit('-').next().unwrap_or(run))
}

fn verdict(row: &Row) -> &str {
    match row.found.verdict.as_str() {
        _ if row.differs => OTHER,
        "none" => "no verdict",
        word => word,
    }
}

/// As what a row is counted.
fn counts_as(row: &Row) -> &str {
    if is_insecure(row) { INSECURE } else { verdict(row) }
}

/// Whether what stands for candor is a scheme that gives up security.
fn is_insecure(row: &Row) -> bool {
    row.baseline.starts_with("insecure-")
}

fn cell(row: &Row, condition: &str) -> String {
    let dagger = if condition.contains(BUSY) || condition.contains(CHANGED) { "†" } else { "" };
    let source = format!("{}{dagger}", reference(&row.run));
    let arm = row.baseline.strip_prefix("candor").map_or(row.baseline.as_str(), |rest| rest.trim_start_matches('@'));
    match verdict(row) {
        // What two other pieces of work take, divided by each other, says nothing.
        OTHER => format!("{OTHER}<br>{source}"),
        "slower" => format!("{} **slower**<br>{arm} {source}", ratio(row)),
        word => format!("{} {word}<br>{arm} {source}", ratio(row)),
    }
}

/// The ratio and its interval, with as many digits as the interval supports.
fn ratio(row: &Row) -> String {
    let (ratio, low, high) = (row.found.ratio, row.found.low, row.found.high);
    if !(low.is_finite() && high.is_finite()) {
        return format!("{ratio:.2} [no interval]");
    }
    let digits = match high - low {
        width if width < 0.02 && ratio < 10.0 => 3,
        _ if ratio < 100.0 => 2,
        _ => 0,
    };
    format!("{ratio:.digits$} [{low:.digits$}–{high:.digits$}]")
}

/// Whether what stands for candor is AWS-LC behind its trait, as the head of the document says.
fn is_aws_lc(row: &Row) -> bool {
    let parts: Vec<&str> = row.task.split('/').collect();
    let is_default = row.baseline.starts_with("candor@auto");
    let has_it = match parts[..] {
        ["kem", set, "keygen" | "encaps" | "decaps" | "exchange"] | ["ntor", "parts", set, ..] => {
            set.starts_with("ml-kem-")
        }
        ["ec", "x25519", ..] => true,
        _ => false,
    };
    is_default && has_it
}

fn counts(rows: &[&Row]) -> String {
    let count = |word: &str| rows.iter().filter(|row| counts_as(row) == word).count();
    let counted = COUNTED.iter().map(|word| (count(word), word)).filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(count, word)| format!("{count} {word}")).collect();
    if counted.is_empty() { "not run".to_owned() } else { counted.join(", ") }
}

/// What a reader must know of the peer or of the scheme. Where that is not the same on all CPUs, each says it for itself.
fn remarks(line: &Line) -> String {
    let of = |row: &Row| {
        let insecure = if is_insecure(row) { ", insecure scheme" } else { "" };
        format!("{}{insecure}", row.marks).trim_start_matches(", ").to_owned()
    };
    let all: Vec<(&&str, String)> = line.cells.iter().map(|(cpu, row)| (cpu, of(row))).collect();
    match &all[..] {
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => first.clone(),
        all => {
            let told = all.iter().filter(|(_, words)| !words.is_empty());
            told.map(|(cpu, words)| format!("{cpu}: {words}")).collect::<Vec<_>>().join("; ")
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::text_of as text_with;
    use super::*;
    use crate::bars::report::parse_report;
    use serde_json::json;

    /// A report whose rows have these tasks, subjects, ratios and verdicts. Its commit is clean and its machine quiet.
    pub(in super::super) fn report(run: &str, day: &str, cpu: &str, rows: &[(&str, &str, f64, &str)]) -> Report {
        let row = |&(task, subject, ratio, verdict): &(&str, &str, f64, &str)| {
            json!({ "task": task, "subject": subject, "baseline": "candor@avx2", "ratio": ratio,
                    "low": 0.9 * ratio, "high": 1.1 * ratio, "floor": 0.005, "verdict": verdict })
        };
        let json = json!({
            "schema": 1, "run": run, "date": format!("2026-11-{day}T10:00:00Z"), "commit": "0123456789ab", "cpu": cpu,
            "machine": { "cpu": "Some CPU", "cpus": 2, "virtual_machine": true, "os": "Debian" },
            "rows": rows.iter().map(row).collect::<Vec<_>>(), "lints": []
        });
        parse_report(&json.to_string()).unwrap()
    }

    fn text_of(reports: &[Report]) -> Result<String, crate::Failure> {
        text_with(reports, &[])
    }

    const RUN: &str = "2026-11-01-zen4-00000a";

    #[test]
    fn a_cell_has_ratio_interval_verdict_arm_and_run() {
        let reports = [
            report(RUN, "01", "zen4", &[("hash/sm3/1k", "openssl-4.0.3", 1.88, "faster")]),
            report("2026-11-02-zen3-00000b", "02", "zen3", &[("kdf/x", "peer-1", 0.5, "slower")]),
        ];
        let text = text_of(&reports).unwrap();
        assert!(text.contains("\n## Hashes\n\n### `hash/sm3`\n\n| task |"), "{text}");
        let row = "| `1k` | `openssl-4.0.3` | not run | 1.88 [1.69–2.07] faster<br>avx2 [00000a] |  |\n";
        assert!(text.contains("| task | peer | zen3 | zen4 | remarks |\n") && text.contains(row), "{text}");
        assert!(text.contains("\n[00000a]: ../runs/2026-11-01-zen4-00000a.jsonl\n"));
        let runs =
            "| [00000a] | zen4 | Some CPU, 2 CPUs, virtual machine, Debian | 2026-11-01 | `0123456789ab` | – |\n";
        assert!(text.contains(runs), "{text}");
    }

    #[test]
    fn tables_are_of_tasks_with_two_parts_in_common() {
        for (task, expected) in
            [("aead/x/seal/1k", "aead/x"), ("sm2/sign", "sm2"), ("kem/a/keygen", "kem/a"), ("x", "x")]
        {
            assert_eq!(group(task), expected);
        }
    }

    #[test]
    fn what_has_no_peer_is_named() {
        let peer = ("hash/sm3/1k", "openssl-4.0.3", 1.88, "faster");
        let text = text_of(&[report(RUN, "01", "zen4", &[peer, ("relay/cells/cgo", "candor@avx2", 1.0, "baseline")])]);
        assert!(text.unwrap().contains(
            "\nMeasured without a peer beside it (no other library here does this work): `relay`. Their runs are in"
        ));
        assert!(!text_of(&[report(RUN, "01", "zen4", &[peer])]).unwrap().contains("beside no peer"));
    }

    #[test]
    fn what_candor_loses_stands_above_the_tables_too() {
        let rows = [("hash/sm3/1k", "openssl-4.0.3", 1.5, "faster"), ("hash/sm3/64k", "openssl-4.0.3", 0.5, "slower")];
        let text = text_of(&[report(RUN, "01", "zen4", &rows)]).unwrap();
        let (_, after) = text.split_once("## Where candor is slower").unwrap();
        let (slower, _) = after.split_once("\n## ").unwrap();
        assert!(slower.contains("`hash/sm3/64k`") && slower.contains("0.50 [0.45–0.55] **slower**"), "{slower}");
        assert!(!slower.contains("`hash/sm3/1k`"));
        assert!(text.contains("| [Hashes](#hashes) | 1 faster, 1 slower |\n"), "{text}");
        let text = text_of(&[report(RUN, "01", "zen4", &rows[..1])]).unwrap();
        assert!(text.contains("Nowhere, in these runs.\n"));
    }

    #[test]
    fn a_scheme_that_gives_up_security_wins_nothing() {
        let rows = [
            ("ntor/a/handshake", "liboqs-0.14.0", 1.5, "faster"),
            ("ntor/b/handshake", "liboqs-0.14.0", 2.0, "faster"),
        ];
        let mut report = report(RUN, "01", "zen4", &rows);
        let counted = |report: &Report| {
            let text = text_of(std::slice::from_ref(report)).unwrap();
            text.lines().find(|line| line.starts_with("| [Circuit handshakes]")).unwrap().to_owned()
        };
        assert_eq!(counted(&report), "| [Circuit handshakes](#circuit-handshakes) | 2 faster |");
        report.rows[1].baseline = "insecure-seed-512@auto".to_owned();
        assert_eq!(counted(&report), "| [Circuit handshakes](#circuit-handshakes) | 1 faster, 1 of insecure schemes |");
    }

    #[test]
    fn what_is_aws_lcs_is_counted_apart() {
        let rows = [
            ("kem/ml-kem-768/decaps", "liboqs-0.14.0", 1.5, "faster"),
            ("kem/ml-kem-768/encaps", "liboqs-0.14.0", 2.0, "faster"),
        ];
        let mut report = report(RUN, "01", "zen4", &rows);
        let counted = |report: &Report| -> Vec<String> {
            let text = text_of(std::slice::from_ref(report)).unwrap();
            text.lines().filter(|line| line.starts_with("| [ML-KEM]")).map(str::to_owned).collect()
        };
        assert_eq!(counted(&report), ["| [ML-KEM](#ml-kem) | 2 faster |"]);
        report.rows[1].baseline = "candor@auto".to_owned();
        assert_eq!(
            counted(&report),
            ["| [ML-KEM](#ml-kem) | 1 faster |", "| [ML-KEM](#ml-kem), AWS-LC behind candor's trait | 1 faster |"]
        );
    }

    #[test]
    fn other_work_has_neither_ratio_nor_verdict() {
        let mut other = report(RUN, "01", "zen4", &[("hash/sm3/1k", "openssl-4.0.3", 7.77, "none")]);
        other.rows[0].differs = true;
        let text = text_of(&[other]).unwrap();
        assert!(text.contains("| other work<br>[00000a] |") && !text.contains("7.77"), "{text}");
        let same = report(RUN, "01", "zen4", &[("hash/sm3/1k", "openssl-4.0.3", 7.77, "faster")]);
        assert!(text_of(&[same]).unwrap().contains("7.77"));
    }

    #[test]
    fn the_conditions_of_a_run_are_marked_where_it_is_cited() {
        for (condition, mark) in [
            ("", "[00000a] |"),
            (", layout unknown", "[00000a] |"),
            (", busy", "[00000a]† |"),
            (", changed tree", "[00000a]† |"),
        ] {
            let mut run = report(RUN, "01", "zen4", &[("hash/sm3/1k", "openssl-4.0.3", 2.0, "faster")]);
            run.condition = condition.to_owned();
            let text = text_of(&[run]).unwrap();
            assert!(text.contains(&format!("faster<br>avx2 {mark}")), "{condition}: {text}");
        }
    }

    #[test]
    fn remarks_are_told_once_or_for_each_cpu() {
        let of = |marks: [&str; 2]| {
            let row = [("hash/sm3/1k", "openssl-3.0.19", 2.0, "faster")];
            let mut reports = [report(RUN, "01", "zen4", &row), report("2026-11-02-zen5-00000b", "02", "zen5", &row)];
            reports.iter_mut().zip(marks).for_each(|(report, marks)| report.rows[0].marks = marks.to_owned());
            let text = text_of(&reports).unwrap();
            let line = text.lines().find(|line| line.starts_with("| `1k` | `openssl-3.0.19` | 2.00")).unwrap();
            line.rsplit(" | ").next().unwrap().trim_end_matches(" |").to_owned()
        };
        assert_eq!(of([", old peer", ", old peer"]), "old peer");
        assert_eq!(of(["", ", old peer, unlike conditions"]), "zen5: old peer, unlike conditions");
    }
}
