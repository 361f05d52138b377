//! `cargo xtask ct --timing`: dudect on the bare CPU, for the arms that memcheck can't run.
//!
//! Each case runs in a process of its own, of a program without the marks. The controls come first: classes of the same kind must show
//! no difference, and each planted leak must. `candor-ct` says which arm a case takes, since the program that is timed keeps no record.
//!
//! The gate does not time anything: it reads what was written into SOUNDNESS.md. Beside each row stands a digest of the kernels that the case
//! reads, by which the gate sees whether they have changed since.

use super::observe::bare;
use super::{Expect as Gate, GATE, build, list, scan, section};
use crate::Failure;
use crate::peers::{cpu, today};
use crate::stage::program;
use std::collections::BTreeMap;
use std::path::Path;

/// The verdict that lets an arm pass.
pub(super) const SAME: &str = "no difference";
const DIFFERS: &str = "differs";
/// Seconds a case, unless told otherwise.
const SECONDS: u64 = 20;
const SECTION: &str = "timing";

/// What `--timing` is followed by.
#[derive(Debug, PartialEq)]
struct Options {
    filter: Option<String>,
    seconds: u64,
    write: bool,
}

pub(super) fn command(root: &Path, words: &[String]) -> Result<bool, Failure> {
    let options = Options::parse(words)?;
    let timing = build(root, &["--bin", "candor-timing"], None)?;
    let gate = build(root, GATE, None)?;
    let (cases, kernels) = (list(&gate)?, scan::kernels_of(root, &gate)?);
    let mut timed = parse_list(&super::said(&timing, "list")?)?;
    if let Some(filter) = &options.filter {
        timed.retain(|case| case.is_control() || case.name.contains(filter.as_str()));
        if timed.iter().all(Timed::is_control) {
            return Err(format!("no timed case's name contains `{filter}`"));
        }
    }
    let mut rows = Vec::new();
    println!("{}", Row::HEAD);
    for case in &timed {
        let code = code(&cases, case, &kernels);
        let row = if !case.runs {
            Row::not_run(case, code, "not run: this CPU lacks the instructions")
        } else if let Some(fault) = wrong_arm(&gate, &cases, case)? {
            Row::not_run(case, code, &fault)
        } else {
            let seconds = options.seconds.to_string();
            let output = program(&timing).args(["run", &case.name, &seconds]).output();
            let output = output.map_err(|error| format!("cannot start candor-timing: {error}"))?;
            Row::parse(case, code, String::from_utf8_lossy(&output.stdout).trim_end())?
        };
        println!("{}", row.markdown());
        rows.push(row);
    }
    let faults: Vec<String> = rows.iter().filter_map(Row::fault).collect();
    faults.iter().for_each(|fault| println!("{fault}"));
    // A table that no control vouches for says nothing.
    if options.write && rows.iter().filter(|row| row.case.is_control()).all(|row| row.fault().is_none()) {
        section::write(root, SECTION, &table(&rows, options.seconds))?;
        println!("written into SOUNDNESS.md; `cargo xtask ct --write` brings the table of arms up to date");
    }
    Ok(faults.is_empty())
}

/// What a row of the table in SOUNDNESS.md says.
pub(super) struct Known {
    pub(super) verdict: String,
    /// Digest of the kernels that were timed; a table from before there was one has none.
    pub(super) code: Option<String>,
}

/// The cases of the table in SOUNDNESS.md.
pub(super) fn timed(document: &str) -> BTreeMap<String, Known> {
    let table = section::read(document, SECTION).unwrap_or_default();
    let has_code = table.lines().any(|line| line.starts_with("| case | code |"));
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ").collect();
        let code = cells.get(1).filter(|_| has_code).map(|code| code.trim_matches('`').to_owned());
        let code = code.filter(|code| !code.is_empty());
        Some((cells.first()?.trim_end_matches('`').to_owned(), Known { verdict: (*cells.last()?).to_owned(), code }))
    });
    rows.collect()
}

/// The digest of what a case times.
fn code(cases: &[super::Case], timed: &Timed, kernels: &scan::Kernels) -> Option<String> {
    let case = cases.iter().find(|case| case.name == timed.name)?;
    match &case.expect {
        Gate::Elsewhere { reads, .. } => scan::code(reads, kernels),
        _ => scan::code(case.kernel.as_slice(), kernels),
    }
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let mut options = Self { filter: None, seconds: SECONDS, write: false };
        let mut words = words.iter().filter(|word| *word != "--timing");
        while let Some(word) = words.next() {
            match word.as_str() {
                "--write" => options.write = true,
                "--seconds" => {
                    let seconds = words.next().and_then(|word| word.parse().ok()).filter(|seconds| *seconds > 0);
                    options.seconds = seconds.ok_or("`--seconds` takes a number of at least 1")?;
                }
                option if option.starts_with('-') => return Err(format!("`ct --timing` has no option `{option}`")),
                name if options.filter.is_none() => options.filter = Some(name.to_owned()),
                more => return Err(format!("`ct --timing` takes one case, but `{more}` was given as well")),
            }
        }
        if options.write && options.seconds < SECONDS {
            return Err(format!("`--write` takes at least {SECONDS} seconds a case: fewer find too little"));
        }
        if options.write && options.filter.is_some() {
            return Err(
                "`--write` takes all cases: a table from different runs would hide what the controls said".to_owned()
            );
        }
        Ok(options)
    }
}

/// A line of `candor-timing list`.
#[derive(Clone, Debug, PartialEq)]
struct Timed {
    name: String,
    expect: Expect,
    /// This CPU has the instructions.
    runs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    Same,
    /// A planted leak.
    Leak,
    /// Classes of the same kind.
    Null,
}

impl Timed {
    fn is_control(&self) -> bool {
        self.expect != Expect::Same
    }
}

fn parse_list(text: &str) -> Result<Vec<Timed>, Failure> {
    let case = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, expect, runs] = fields[..] else { return None };
        let expect = match expect {
            "same" => Expect::Same,
            "leak" => Expect::Leak,
            "null" => Expect::Null,
            _ => return None,
        };
        Some(Timed { name: name.to_owned(), expect, runs: runs == "yes" })
    };
    let cases: Vec<Timed> = text
        .lines()
        .map(|line| {
            case(line)
                .ok_or_else(|| format!("`candor-timing list` prints a line that does not describe a case: {line}"))
        })
        .collect::<Result<_, _>>()?;
    for wanted in [Expect::Leak, Expect::Null] {
        if !cases.iter().any(|case| case.expect == wanted && case.runs) {
            return Err(format!(
                "`candor-timing list` has no control of the kind {wanted:?}, so its verdicts mean nothing"
            ));
        }
    }
    Ok(cases)
}

/// What shows that the case of this name takes another arm here, or that there is none.
fn wrong_arm(gate: &Path, cases: &[super::Case], timed: &Timed) -> Result<Option<String>, Failure> {
    if timed.is_control() {
        return Ok(None);
    }
    let Some(case) = cases.iter().find(|case| case.name == timed.name) else {
        return Ok(Some("not run: `candor-ct` has no case of this name".to_owned()));
    };
    let observed = bare(gate, &case.name)?;
    Ok(match observed.died {
        Some(why) => Some(why),
        None if observed.arms.contains(&case.ran) => None,
        None => Some(format!("not run: the case does not take {}@{}", case.ran.0, case.ran.1)),
    })
}

/// A row of the table.
#[derive(Debug)]
struct Row {
    case: Timed,
    /// Digest of the kernels, if the case names any.
    code: Option<String>,
    /// Measurements; of a fixed secret t of means and of variances, the difference, and the smallest that would be found; of zero t of means
    /// and the difference; the median. Differences and times are in cycles.
    cells: [String; 8],
    verdict: String,
}

impl Row {
    const HEAD: &str = "| case | code | measurements | t of means | t of variances | difference | found from | zero: t | zero: difference | median | verdict |\n|---|---|---|---|---|---|---|---|---|---|---|---|";

    fn not_run(case: &Timed, code: Option<String>, why: &str) -> Self {
        Self { case: case.clone(), code, cells: std::array::from_fn(|_| String::new()), verdict: why.to_owned() }
    }

    /// What `candor-timing run` prints.
    fn parse(case: &Timed, code: Option<String>, line: &str) -> Result<Self, Failure> {
        let fields: Vec<&str> = line.split('\t').collect();
        let Ok([count, numbers @ .., verdict]) = <[&str; 9]>::try_from(fields) else {
            return Err(format!("`candor-timing run {}` prints no result: {line}", case.name));
        };
        let places = [1, 1, 2, 2, 1, 2, 0];
        let rounded = |(text, places): (&str, usize)| {
            let number: f64 =
                text.parse().map_err(|_| format!("`candor-timing run {}` prints no number: {text}", case.name))?;
            Ok(format!("{number:.places$}"))
        };
        let numbers = numbers.into_iter().zip(places).map(rounded).collect::<Result<Vec<String>, Failure>>()?;
        let mut cells: [String; 8] = std::array::from_fn(|_| count.to_owned());
        cells[1..].clone_from_slice(&numbers);
        Ok(Self { case: case.clone(), code, cells, verdict: verdict.to_owned() })
    }

    fn markdown(&self) -> String {
        let name =
            format!("`{}`{}", self.case.name, if self.case.expect == Expect::Leak { ", a planted leak" } else { "" });
        let code = self.code.as_ref().map(|code| format!("`{code}`")).unwrap_or_default();
        format!("| {name} | {code} | {} | {} |", self.cells.join(" | "), self.verdict)
    }

    /// What is wrong with the result.
    fn fault(&self) -> Option<String> {
        let name = &self.case.name;
        match (self.case.expect, self.verdict.as_str()) {
            (Expect::Leak, DIFFERS) | (Expect::Same | Expect::Null, SAME) => None,
            (Expect::Leak, verdict) => Some(format!(
                "{name} leaks on purpose, and the verdict is `{verdict}`: too few measurements, or too much noise"
            )),
            (Expect::Null, verdict) => {
                Some(format!("{name} compares equal classes, and the verdict is `{verdict}`: the measurement is wrong"))
            }
            (Expect::Same, verdict) => Some(format!("{name}: {verdict}")),
        }
    }
}

/// The section of SOUNDNESS.md.
fn table(rows: &[Row], seconds: u64) -> String {
    let rows: Vec<String> = rows.iter().map(Row::markdown).collect();
    format!(
        "{} on {}, {seconds} seconds a case, by `cargo xtask ct --timing --write`; differences and times in cycles:\n\n{}\n{}\n",
        today(),
        model(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        Row::HEAD,
        rows.join("\n")
    )
}

/// The CPU's name with its family and model, since some names say neither.
fn model(cpuinfo: &str) -> String {
    let field = |name: &str| {
        let (_, value) =
            cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(field, _)| field.trim() == name)?;
        Some(value.trim())
    };
    format!("{} (family {}, model {})", cpu(), field("cpu family").unwrap_or("?"), field("model").unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "control/same\tnull\tyes\ncontrol/branch\tleak\tyes\nsha256@sha\tsame\tyes\nx@avx512\tsame\tno\n";
    const LINE: &str = "4707584\t-1.16\t0.86\t-0.046\t0.263\t3.14\t0.111\t2260\tno difference";

    fn options(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_come_in_any_order_and_only_a_whole_table_is_written() {
        assert_eq!(options("--timing"), Ok(Options { filter: None, seconds: 20, write: false }));
        assert_eq!(
            options("sha --seconds 3 --timing"),
            Ok(Options { filter: Some("sha".to_owned()), seconds: 3, write: false })
        );
        assert!(options("--timing --write").is_ok_and(|options| options.write));
        assert!(options("--timing --write sha").is_err());
        assert!(options("--timing --write --seconds 20").is_ok());
        assert!(options("--timing --write --seconds 19").is_err());
        assert!(["--seconds", "--seconds 0", "--second 3", "a b"].iter().all(|line| options(line).is_err()));
    }

    #[test]
    fn a_list_without_a_control_that_runs_is_refused() {
        let cases = parse_list(LIST).unwrap();
        assert_eq!(cases.iter().map(Timed::is_control).collect::<Vec<_>>(), [true, true, false, false]);
        assert!(!cases[3].runs);
        assert!(parse_list(&LIST.replace("leak\tyes", "leak\tno")).is_err_and(|why| why.contains("Leak")));
        assert!(parse_list(&LIST.replace("null", "same")).is_err_and(|why| why.contains("Null")));
        assert!(parse_list(&LIST.replace("leak", "leaks")).is_err());
        assert!(parse_list("x\n").is_err());
    }

    #[test]
    fn verdicts_are_judged_by_what_the_case_is_for() {
        let fault = |at: usize, verdict: &str| {
            let case = &parse_list(LIST).unwrap()[at];
            Row::parse(case, None, &LINE.replace("no difference", verdict)).unwrap().fault()
        };
        assert_eq!([fault(0, SAME), fault(1, DIFFERS), fault(2, SAME)], [None, None, None]);
        assert!(fault(0, DIFFERS).unwrap().contains("equal classes"));
        assert!(fault(1, SAME).unwrap().contains("leaks on purpose"));
        assert!(fault(1, "can't tell").is_some() && fault(2, "can't tell").is_some() && fault(2, DIFFERS).is_some());
        assert!(Row::parse(&parse_list(LIST).unwrap()[2], None, "").is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let cases = parse_list(LIST).unwrap();
        let rows = [
            Row::parse(&cases[1], None, &LINE.replace("no difference", DIFFERS)).unwrap(),
            Row::parse(&cases[2], Some("0123456789ab".to_owned()), LINE).unwrap(),
            Row::not_run(&cases[3], None, "not run: no such CPU"),
        ];
        let text = table(&rows, 20);
        assert!(
            text.contains("| `sha256@sha` | `0123456789ab` | 4707584 | -1.2 | 0.9 | -0.05 | 0.26 | 3.1 | 0.11 | 2260 | no difference |"),
            "{text}"
        );
        let document = format!("<!-- timing: x -->\n{text}<!-- end of timing -->\n");
        let timed = timed(&document);
        assert_eq!(
            (timed["sha256@sha"].verdict.as_str(), timed["sha256@sha"].code.as_deref()),
            (SAME, Some("0123456789ab"))
        );
        assert_eq!(timed["x@avx512"].verdict, "not run: no such CPU");
        assert!(super::timed("no table").is_empty());
    }

    #[test]
    fn a_table_from_before_there_were_digests_has_none() {
        let row = "| `sha256@sha` | 4707584 | -1.2 | 0.9 | -0.05 | 0.26 | 3.1 | 0.11 | 2260 | no difference |";
        let timed = timed(&format!("<!-- timing: x -->\n| case | measurements |\n{row}\n<!-- end of timing -->\n"));
        assert_eq!((timed["sha256@sha"].verdict.as_str(), timed["sha256@sha"].code.as_deref()), (SAME, None));
    }

    #[test]
    fn a_cpu_is_named_with_its_family() {
        assert!(
            model("processor : 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name : x\n").ends_with("(family 26, model 2)")
        );
    }
}
