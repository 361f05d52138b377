//! `candor circuit faults`: what becomes of circuits when something goes wrong.

use crate::Failure;
use crate::cli::{FaultsArguments, ListFormat};
use crate::output::{Talk, columns, print};
use candor_lab::table::{Align, Table, paragraph};
use candor_links::faults::{Exploration, Found, Report, Row, Scenario, explore, run};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

/// Events of a trace that are printed with a violation: the last ones.
const LAST: usize = 40;
/// Errors of a kind of fault that the table lists: the most frequent ones.
const MOST_ERRORS: usize = 4;

pub(crate) fn execute(arguments: &FaultsArguments, talk: Talk) -> Result<(), Failure> {
    let FaultsArguments { scenarios, seed, from, .. } = *arguments;
    let last = last(arguments)?;
    if arguments.trace {
        return trace(arguments, last);
    }
    let bar = match talk.quiet {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(scenarios),
    };
    let style = ProgressStyle::with_template("{bar:20} {percent:>3} % {eta:>4} left  scenario {pos} of {len}");
    bar.set_style(style.expect("the template is a constant"));
    let exploration = explore(seed, from, scenarios, &|| bar.inc(1));
    bar.finish_and_clear();
    match arguments.format {
        ListFormat::Json => print(&format!("{:#}\n", json(arguments, &exploration)))?,
        ListFormat::Text => print(&text(arguments, &exploration))?,
    }
    exploration.found.as_ref().map_or(Ok(()), |found| Err(violated(&found.scenario, &found.report)))
}

/// The number of the last scenario.
fn last(arguments: &FaultsArguments) -> Result<u64, Failure> {
    let FaultsArguments { from, scenarios, .. } = *arguments;
    from.checked_add(scenarios - 1).ok_or_else(|| {
        let most = u64::MAX - (scenarios - 1);
        Failure::Error(format!(
            "--from: {scenarios} scenarios from {from} on; expected at most {most}, since numbers end at {}",
            u64::MAX
        ))
    })
}

fn violated(scenario: &Scenario, report: &Report) -> Failure {
    let violation = report.violation.as_ref().map(ToString::to_string).unwrap_or_default();
    Failure::Condition(format!("scenario {}: {violation}", scenario.number))
}

/// The command that carries a scenario out again.
fn replay(scenario: &Scenario) -> String {
    format!("candor circuit faults --seed {} --from {} --scenarios 1 --trace", scenario.seed, scenario.number)
}

/// Prints scenarios with their events, up to the first that violates something.
fn trace(arguments: &FaultsArguments, last: u64) -> Result<(), Failure> {
    for number in arguments.from..=last {
        let scenario = Scenario::draw(arguments.seed, number);
        let report = run(&scenario, None, true);
        print(&format!("scenario {number}: {scenario}\n{}{}", report.trace, ending(&report)))?;
        if report.violation.is_some() {
            return Err(violated(&scenario, &report));
        }
    }
    Ok(())
}

fn ending(report: &Report) -> String {
    let outcome = report.outcome.as_ref().map_or("no outcome".to_owned(), ToString::to_string);
    format!("{outcome}; {} events, digest {}\n", report.events, hex(&report.digest))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(arguments: &FaultsArguments, exploration: &Exploration) -> String {
    let wide = columns();
    let Exploration { scenarios, rows, events, most_events, longest, .. } = exploration;
    let mut text = paragraph(
        "",
        &format!(
            "SIMULATED in virtual time: {scenarios} scenarios of seed {}, from number {} on, each carried out twice. {events} events, at most {most_events} in a scenario; the longest took \
             {:.0} s of virtual time.",
            arguments.seed,
            arguments.from,
            longest.as_secs_f64(),
        ),
        wide,
    );
    text.push('\n');
    let mut table = Table::new(&[&[Align::Left][..], &[Align::Right; 10]].concat());
    let head =
        ["fault", "scenarios", "missed", "recovered", "not built", "ended", "by hop 1", "hop 2", "hop 3", "no hop"];
    table.row(head);
    let mut all = Row::default();
    for (name, row) in rows {
        table.row(cells(name, row));
        all.merge(row);
    }
    table.row(cells("all", &all));
    text += &table.text(wide);
    text += &paragraph(
        "",
        "\nMissed: the fault waited for a cell that never came, and everything arrived. Recovered: it struck, and everything arrived in spite of it. The others ended with an error, before or \
         after the circuit was built, which named that hop; a cell that no hop has made is none's.",
        wide,
    );
    text += "\nErrors, the most frequent of each:\n";
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    for (name, row) in rows.iter().filter(|(_, row)| !row.errors.is_empty()) {
        for (index, (error, count)) in frequent(row).into_iter().take(MOST_ERRORS).enumerate() {
            let name = if index == 0 { format!("  {name}") } else { String::new() };
            table.row([name, count.to_string(), error.to_owned()]);
        }
    }
    text += &table.text(wide);
    text + &exploration.found.as_ref().map(found).unwrap_or_default()
}

/// A violation with its last events.
fn found(Found { scenario, report, comes_again }: &Found) -> String {
    let mut text = format!("\nVIOLATED in scenario {}: {scenario}\n", scenario.number);
    if let Some(violation) = &report.violation {
        text += &format!("{violation}\n");
    }
    text += match comes_again {
        true => "Its last events:\n",
        false => "It did not come again. The last events of the second try:\n",
    };
    let lines: Vec<&str> = report.trace.lines().collect();
    for line in &lines[lines.len().saturating_sub(LAST)..] {
        text += &format!("  {line}\n");
    }
    text + &format!("Replay it by\n  {}\n", replay(scenario))
}

fn cells(name: &str, row: &Row) -> [String; 10] {
    let [none, one, two, three] = row.hops;
    let numbers = [row.scenarios, row.missed, row.recovered, row.not_built, row.ended, one, two, three, none];
    let mut cells = numbers.iter().map(|number| if *number == 0 { "-".to_owned() } else { number.to_string() });
    std::array::from_fn(|index| if index == 0 { name.to_owned() } else { cells.next().unwrap_or_default() })
}

/// Errors with their numbers, the most frequent first.
fn frequent(row: &Row) -> Vec<(&str, u64)> {
    let mut errors: Vec<_> = row.errors.iter().map(|(error, count)| (error.as_str(), *count)).collect();
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    errors
}

fn json(arguments: &FaultsArguments, exploration: &Exploration) -> Value {
    let rows: Vec<Value> = exploration
        .rows
        .iter()
        .map(|(name, row)| {
            let errors: Vec<_> = frequent(row).iter().map(|(error, count)| json!({ "error": error, "count": count })).collect();
            json!({
                "fault": name, "scenarios": row.scenarios, "missed": row.missed, "recovered": row.recovered, "not_built": row.not_built,
                "ended": row.ended, "by_hop": row.hops[1..], "no_hop": row.hops[0], "errors": errors,
            })
        })
        .collect();
    let violation = exploration.found.as_ref().map(|Found { scenario, report, comes_again }| {
        json!({
            "scenario": scenario.number, "what": scenario.to_string(), "violation": report.violation.as_ref().map(ToString::to_string),
            "comes_again": comes_again, "digest": hex(&report.digest), "replay": replay(scenario), "trace": report.trace.lines().collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": 1, "evidence": "simulated", "seed": arguments.seed, "from": arguments.from, "scenarios": exploration.scenarios, "events": exploration.events,
        "most_events": exploration.most_events, "longest_ns": exploration.longest.as_nanos() as u64, "rows": rows, "violation": violation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_links::faults::{Plant, explore_by};

    #[test]
    fn a_violation_is_printed_with_its_reason_and_its_last_events_whether_it_comes_again_or_not() {
        for comes_again in [true, false] {
            let carry_out = |scenario: &Scenario, trace: bool| {
                run(scenario, (comes_again || !trace).then_some(Plant::Panic), trace)
            };
            let found = explore_by(1, 0, 50, &|| (), &carry_out).found.expect("a violation");
            let text = super::found(&found);
            assert!(text.contains("\npanicked: as planted\n"), "{text}");
            assert_eq!(text.contains("did not come again"), !comes_again, "{text}");
            assert!(text.lines().filter(|line| line.contains(" ms  ")).count() > 5, "{text}");
            assert!(text.ends_with(&format!("--from {} --scenarios 1 --trace\n", found.scenario.number)), "{text}");
        }
    }
}
