//! Markdown, for a README, a review or a pull request.

use super::{amount, interval, quantity_names, ratio, resolves};
use crate::analysis::{self, Report, TaskReport};
use crate::claims::Beside;
use crate::units::{rate, time};
use crate::verdict::Verdict;
use std::fmt::Write;

pub(super) fn render(reports: &[Report], claims: &[Beside]) -> String {
    let mut out = String::new();
    for report in reports {
        let _ = writeln!(out, "## Run {}\n", escape(&report.run));
        let about =
            format!("{}. {}. candor {}. {}.", report.machine.line(), report.date, report.commit, report.conditions);
        let _ = writeln!(out, "{}\n", begin(&about));
        for task in &report.tasks {
            let _ = writeln!(out, "### {}\n\n{}\n", escape(&task.task), begin(&task.what));
            let rates = task.bytes.is_some();
            let _ = writeln!(
                out,
                "| subject | median |{} ratio | interval | baseline is |",
                if rates { " rate |" } else { "" }
            );
            let _ = writeln!(out, "|---|--:|{}--:|:-:|---|", if rates { "--:|" } else { "" });
            for row in &task.rows {
                let verdict = match row.verdict {
                    Verdict::Baseline => "(the baseline)".into(),
                    Verdict::Control => format!("(control: {})", resolves(row)),
                    Verdict::CantTell => format!("can't tell: {}", row.advice.as_deref().unwrap_or_default()),
                    verdict => verdict.word().to_owned(),
                };
                let rate = row.throughput(task.bytes).map(|r| format!(" {} |", rate(r))).unwrap_or_default();
                let _ = writeln!(
                    out,
                    "| {} | {} |{rate} {} | {} | {} |",
                    escape(&row.label()),
                    time(row.median_ns),
                    ratio(row, row.ratio),
                    interval(row).unwrap_or_else(|| "none".into()),
                    escape(&verdict),
                );
            }
            for refusal in &task.refusals {
                let _ = writeln!(
                    out,
                    "| {} | – |{} – | – | {} |",
                    escape(&refusal.subject),
                    if rates { " – |" } else { "" },
                    escape(&refusal.reason)
                );
            }
            for row in task.rows.iter().filter(|row| !row.phases.is_empty() && row.verdict != Verdict::Control) {
                let phases = row.phases.iter().map(|phase| format!("{} {}", phase.name, time(phase.median_ns)));
                let phases = phases.collect::<Vec<_>>().join(", ");
                let _ = write!(out, "\nPhases of {}: {}.", escape(&row.label()), escape(&phases));
            }
            let used = task.rows.iter().filter_map(|row| Some(format!("{} {}", row.label(), row.used.as_ref()?)));
            let used: Vec<String> = used.collect();
            if !used.is_empty() {
                let _ = write!(out, "\nInstructions, in samples of each call: {}.", escape(&used.join("; ")));
            }
            out.push('\n');
            counted(&mut out, task);
        }
        if !report.trials.is_empty() {
            let _ = writeln!(
                out,
                "| trials of | true ratio | trials | faster | slower | same | can't tell | lost processes | false claims |"
            );
            let _ = writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|");
        }
        for count in &report.trials {
            let truth = count.truth.map_or("?".into(), |truth| format!("{truth:.3}"));
            let _ = writeln!(
                out,
                "| {} | {truth} | {} | {} | {} | {} | {} | {} | {} |",
                escape(&count.name),
                count.trials,
                count.faster,
                count.slower,
                count.same,
                count.cant_tell,
                count.lost,
                count.false_claims()
            );
        }
        for lint in &report.lints {
            let [task, subject, text] = [&lint.task, &lint.subject, &lint.text].map(|text| escape(text));
            let _ = writeln!(out, "- `{}` {task} {subject}: {text}", lint.name);
        }
        if !report.lints.is_empty() {
            out.push('\n');
        }
    }
    if let Some(lint) = analysis::across(reports) {
        let _ = writeln!(out, "- `{}`: {}", lint.name, escape(&lint.text));
    }
    if !claims.is_empty() {
        out.push_str("\n## Quoted\n\n| source | what | quoted | here | why not to compare |\n|---|---|--:|---|---|\n");
    }
    for beside in claims {
        let claim = &beside.claim;
        let here = beside.here.as_ref().map_or("not measured".to_owned(), |here| {
            format!("{} ({} of {})", here.found.shown(), here.subject, here.place())
        });
        let mut doubts: Vec<String> = beside.lints.iter().map(|(name, text)| format!("`{name}`: {text}")).collect();
        doubts.extend(claim.doubt.clone());
        let _ = writeln!(
            out,
            "| {}, {} | {} | {} {} | {} | {} |",
            escape(&beside.source),
            escape(&claim.place),
            escape(&claim.what),
            claim.value,
            escape(&claim.unit),
            escape(&here),
            escape(&doubts.join("; "))
        );
    }
    out
}

/// The quantities: a column for each, a line for each subject.
fn counted(out: &mut String, task: &TaskReport) {
    let names = quantity_names(task);
    if names.is_empty() {
        return;
    }
    let heads: Vec<String> = names.iter().map(|name| escape(name)).collect();
    let _ = writeln!(out, "\n| counted | {} | evidence |\n|---|{}---|", heads.join(" | "), "--:|".repeat(names.len()));
    for counted in &task.counted {
        let cells: Vec<String> =
            names.iter().map(|name| amount(counted, name).map_or("–".into(), |cell| escape(&cell))).collect();
        let _ = writeln!(out, "| {} | {} | {} |", escape(&counted.label), cells.join(" | "), counted.evidence.word());
    }
    out.push('\n');
}

/// The text as Markdown shows it, in a cell or after the beginning of a line: no markup, but for code between backticks, and no tag. Signs that mean nothing where they stand
/// are left as they are.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        let is_markup = match c {
            '\\' | '|' => true,
            '*' | '~' => !(last.is_whitespace() && next.is_whitespace()),
            // Within a word it is a letter.
            '_' => !(last.is_alphanumeric() && next.is_alphanumeric()),
            '<' => next.is_ascii_alphanumeric() || "/!?".contains(next),
            '&' => next.is_ascii_alphanumeric() || next == '#',
            ']' => "([:".contains(next),
            _ => false,
        };
        if is_markup {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
        last = c;
    }
    out
}

/// The same at the beginning of a line, where other signs have a meaning: those of headings, lists, quotes, definitions and blocks of code.
pub(super) fn begin(text: &str) -> String {
    let escaped = escape(text);
    let text = escaped.trim_start();
    let (number, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let mut signs = rest.chars();
    let (sign, next) = (signs.next().unwrap_or('a'), signs.next().unwrap_or(' '));
    let means_something = match sign {
        '.' | ')' => !number.is_empty() && next == ' ',
        _ if !number.is_empty() => false,
        '-' | '+' => !next.is_ascii_digit(),
        '#' | '>' | '*' | '=' | '[' => true,
        _ => rest.starts_with("```"),
    };
    if means_something { format!("{number}\\{rest}") } else { text.to_owned() }
}

/// A name or a command, which is printed as it is.
pub(super) fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    // A table looks for its bars before anything else.
    let shown = text.replace('|', "\\|");
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{shown}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_would_be_markup_is_escaped_and_nothing_else() {
        for (text, shown) in [
            ("a|b\nc", "a\\|b c"),
            ("<img src=x>", "\\<img src=x>"),
            ("a < 2 %, b & c", "a < 2 %, b & c"),
            ("[here](//x)", "[here\\](//x)"),
            ("1.02 [1.00 \u{2013} 1.04]", "1.02 [1.00 \u{2013} 1.04]"),
            ("*bold* __bold__ snake_case", "\\*bold\\* \\_\\_bold\\_\\_ snake_case"),
            ("2 * 3, R&D, a\\b", "2 * 3, R\\&D, a\\\\b"),
            ("`candor run`", "`candor run`"),
        ] {
            assert_eq!(escape(text), shown);
        }
        for (text, shown) in [
            ("# a", "\\# a"),
            ("- a", "\\- a"),
            ("1. a", "1\\. a"),
            ("  > a", "\\> a"),
            ("```sh", "\\```sh"),
            ("[a]: //x", "\\[a\\]: //x"),
            ("1.5 ns", "1.5 ns"),
            ("-1 %", "-1 %"),
            ("* a", "\\* a"),
            ("`a` b", "`a` b"),
            ("16 bytes", "16 bytes"),
            ("", ""),
        ] {
            assert_eq!(begin(text), shown);
        }
        assert_eq!(["a`b``c", "`a|", "a"].map(code), ["```a`b``c```", "`` `a\\| ``", "`a`"]);
    }

    proptest! {
        /// What a reader sees is what was written, and no tag, link or cell begins in it.
        #[test]
        fn nothing_is_lost_and_nothing_is_markup(text in "[ a-z|*_<>&\\[\\]()`~#\\\\.:/-]{0,40}") {
            let escaped = escape(&text);
            let mut shown = String::new();
            let mut chars = escaped.chars().peekable();
            while let Some(c) = chars.next() {
                let next = chars.peek().copied().unwrap_or(' ');
                if c == '\\' {
                    shown.extend(chars.next());
                    continue;
                }
                prop_assert!(c != '|' && !(c == '<' && next.is_ascii_alphabetic()) && !(c == ']' && next == '('), "{}", escaped);
                shown.push(c);
            }
            prop_assert_eq!(shown, text);
        }
    }
}
