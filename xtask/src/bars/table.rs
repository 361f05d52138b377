//! `bars.toml`: every bar of every issue, read strictly, so that a misspelt field cannot quietly lower a bar.

use super::judge::{Rule, Wanted};
use crate::Failure;
use toml::{Table, Value};

/// One bar as its issue words it.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) issue: u64,
    pub(crate) what: String,
    pub(crate) asks: Asks,
}

#[derive(Debug)]
pub(crate) enum Asks {
    /// A row of a report.
    Ratio {
        /// Names or patterns (`*` stands for anything); each is a row of its own.
        tasks: Vec<String>,
        /// A pattern, or `best-peer`: the fastest subject that is not ours.
        subject: String,
        /// A pattern for the baseline's name.
        baseline: String,
        wanted: Wanted,
        stretch: Option<f64>,
        rule: Rule,
        /// Patterns of subjects that a run must have of the task, so that its best peer is the best of them, or each of several was asked: without one of these
        /// nothing can be told.
        peers: Vec<String>,
        /// Instructions that the CPU must not have, by their name in run files: with them a peer takes another path than the bar is about.
        without: Option<String>,
        /// The fewest seconds that a transfer must last, by the words of its task: a shorter one tells nothing of a bar about long ones.
        transfer: Option<f64>,
    },
    /// A number that a command prints, entered by hand with its evidence.
    Figure {
        command: String,
        unit: String,
        at_least: Option<f64>,
        at_most: Option<f64>,
        measured: Option<f64>,
        /// A run file or another file in the repository, or a sentence that says where the number was read.
        evidence: Option<String>,
    },
}

/// The subject of a bar that is about the fastest subject that is not ours.
pub(super) const BEST_PEER: &str = "best-peer";

const RATIO_FIELDS: &[&str] = &[
    "issue",
    "what",
    "kind",
    "task",
    "subject",
    "baseline",
    "at-least",
    "time-at-most",
    "within",
    "verdict",
    "stretch",
    "rule",
    "peers",
    "without",
    "transfer-at-least",
];
const FIGURE_FIELDS: &[&str] =
    &["issue", "what", "kind", "command", "unit", "at-least", "at-most", "measured", "run", "evidence"];

/// All bars, in the order of the file.
pub(crate) fn parse(text: &str) -> Result<Vec<Bar>, Failure> {
    let table: Table = text.parse().map_err(|error| format!("bars.toml: {error}"))?;
    if let Some(other) = table.keys().find(|key| *key != "bar") {
        return Err(format!("bars.toml: `{other}` at the top level; only [[bar]] is allowed there"));
    }
    let bars = table.get("bar").and_then(Value::as_array).ok_or("bars.toml: there is no [[bar]]")?;
    bars.iter()
        .enumerate()
        .map(|(index, bar)| {
            let fields = Fields { table: bar.as_table(), place: index + 1 };
            fields.bar().map_err(|why| format!("bars.toml, bar {}{}: {why}", index + 1, fields.hint()))
        })
        .collect()
}

struct Fields<'a> {
    table: Option<&'a Table>,
    place: usize,
}

impl Fields<'_> {
    /// The bar's first words, so that it is found without counting.
    fn hint(&self) -> String {
        self.text("what").ok().flatten().map_or(String::new(), |what| format!(" (“{what}”)"))
    }

    fn bar(&self) -> Result<Bar, Failure> {
        let issue = self.table.and_then(|table| table.get("issue")).and_then(Value::as_integer);
        let issue = issue.and_then(|issue| u64::try_from(issue).ok()).ok_or("`issue` is missing or not a number")?;
        let what = self.must("what")?;
        let asks = match self.must("kind")?.as_str() {
            "ratio" => self.ratio()?,
            "figure" => self.figure()?,
            other => return Err(format!("kind `{other}` is neither `ratio` nor `figure`")),
        };
        Ok(Bar { issue, what, asks })
    }

    fn ratio(&self) -> Result<Asks, Failure> {
        self.only(RATIO_FIELDS)?;
        let given = [
            self.number("at-least")?.map(Wanted::AtLeast),
            self.number("time-at-most")?.map(Wanted::TimeAtMost),
            self.number("within")?.map(Wanted::Within),
            self.text("verdict")?.map(Wanted::Verdict),
        ];
        let mut given = given.into_iter().flatten();
        let (Some(wanted), None) = (given.next(), given.next()) else {
            return Err("expected exactly one of `at-least`, `time-at-most`, `within` and `verdict`".to_owned());
        };
        let rule = match self.text("rule")?.as_deref() {
            None => Rule::Interval,
            Some("near") => Rule::Near,
            Some(other) => return Err(format!("unknown rule `{other}`; expected `near`, or no rule")),
        };
        let subject = self.must("subject")?;
        let peers = match self.table.is_some_and(|table| table.contains_key("peers")) {
            true if subject != BEST_PEER && !subject.contains('*') => {
                return Err(format!(
                    "`peers` goes with `{BEST_PEER}` or a pattern of subjects, and `{subject}` is one name"
                ));
            }
            true => self.texts("peers")?,
            false => Vec::new(),
        };
        Ok(Asks::Ratio {
            tasks: self.texts("task")?,
            subject,
            baseline: self.text("baseline")?.unwrap_or_else(|| "candor@*".to_owned()),
            wanted,
            stretch: self.number("stretch")?,
            rule,
            peers,
            without: self.text("without")?,
            transfer: self.number("transfer-at-least")?,
        })
    }

    fn figure(&self) -> Result<Asks, Failure> {
        self.only(FIGURE_FIELDS)?;
        let measured = self.number("measured")?;
        let evidence = match (self.text("run")?, self.text("evidence")?) {
            (Some(_), Some(_)) => return Err("both `run` and `evidence` are given; keep one".to_owned()),
            (run, evidence) => run.or(evidence),
        };
        if measured.is_some() && evidence.is_none() {
            return Err("`measured` without `run` or `evidence`: say where the number was read".to_owned());
        }
        Ok(Asks::Figure {
            command: self.must("command")?,
            unit: self.must("unit")?,
            at_least: self.number("at-least")?,
            at_most: self.number("at-most")?,
            measured,
            evidence,
        })
    }

    fn only(&self, known: &[&str]) -> Result<(), Failure> {
        let keys = self.table.into_iter().flat_map(|table| table.keys());
        match keys.into_iter().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("`{key}` is not a field of this kind; the fields are {}", known.join(", "))),
            None => Ok(()),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.table.and_then(|table| table.get(key)) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{key}` is not a text")),
        }
    }

    fn must(&self, key: &str) -> Result<String, Failure> {
        let missing = || format!("`{key}` is missing (this is [[bar]] number {})", self.place);
        self.text(key)?.ok_or_else(missing)
    }

    fn number(&self, key: &str) -> Result<Option<f64>, Failure> {
        match self.table.and_then(|table| table.get(key)) {
            None => Ok(None),
            Some(Value::Float(number)) => Ok(Some(*number)),
            Some(Value::Integer(number)) => Ok(Some(*number as f64)),
            Some(_) => Err(format!("`{key}` is not a number")),
        }
    }

    /// One text or a list of them.
    fn texts(&self, key: &str) -> Result<Vec<String>, Failure> {
        let Some(Value::Array(list)) = self.table.and_then(|table| table.get(key)) else {
            return self.must(key).map(|one| Vec::from([one]));
        };
        let texts: Option<Vec<String>> = list.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        texts.filter(|texts| !texts.is_empty()).ok_or_else(|| format!("`{key}` is not a list of texts"))
    }
}

/// Does `name` match `pattern`, in which `*` stands for anything, also nothing, also slashes?
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|tail| {
            let ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
            ends.into_iter().any(|at| matches(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_can_be_read() {
        let bars = parse(include_str!("../../../bars.toml")).unwrap();
        for issue in 2..=7 {
            assert!(bars.iter().any(|bar| bar.issue == issue), "no bar of issue {issue}");
        }
    }

    #[test]
    fn both_kinds_are_read() {
        let bars = parse(
            "[[bar]]\nissue = 7\nwhat = \"SM3\"\nkind = \"ratio\"\ntask = \"hash/sm3/10m\"\nsubject = \"best-peer\"\n\
             at-least = 1\nstretch = 1.08\nrule = \"near\"\n\
             [[bar]]\nissue = 2\nwhat = \"cold build\"\nkind = \"figure\"\ncommand = \"cargo build\"\nunit = \"min\"\nat-most = 6\n",
        )
        .unwrap();
        assert!(matches!(
            &bars[0].asks,
            Asks::Ratio { wanted: Wanted::AtLeast(1.0), rule: Rule::Near, stretch: Some(_), .. }
        ));
        assert!(matches!(&bars[1].asks, Asks::Figure { at_most: Some(6.0), measured: None, .. }));
    }

    #[test]
    fn a_mistake_is_an_error_that_names_the_bar() {
        let start = "[[bar]]\nissue = 7\nwhat = \"SM3\"\n";
        let ratio = "kind = \"ratio\"\ntask = \"t\"\nsubject = \"s\"\n";
        let figure = "kind = \"figure\"\ncommand = \"c\"\nunit = \"s\"\n";
        for (body, word) in [
            (format!("{ratio}at-leest = 1\n"), "at-leest"),
            (ratio.to_owned(), "exactly one"),
            (format!("{ratio}at-least = 1\nverdict = \"same\"\n"), "exactly one"),
            (format!("{ratio}at-least = \"1\"\n"), "not a number"),
            (format!("{ratio}at-least = 1\nrule = \"far\"\n"), "far"),
            (format!("{figure}at-most = 1\nmeasured = 1\n"), "evidence"),
            (format!("{ratio}at-least = 1\npeers = [\"p\"]\n"), "best-peer"),
            (format!("{ratio}at-least = 1\ntransfer-at-least = \"60\"\n"), "not a number"),
            (format!("{}at-least = 1\npeers = []\n", ratio.replace("\"s\"", "\"best-peer\"")), "peers"),
            ("kind = \"wish\"\n".to_owned(), "wish"),
        ] {
            let why = parse(&format!("{start}{body}")).unwrap_err();
            assert!(why.contains(word) && why.contains("SM3"), "{why}");
        }
        assert!(parse("").is_err());
        assert!(parse("bar = 3").is_err());
        assert!(parse("[[bar]]\n[other]\n").is_err());
        assert!(parse("[[bar").is_err());
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("openssl-4.*", "openssl-4.0.3"));
        assert!(!matches("openssl-4.*", "openssl-3.0.19"));
        assert!(matches("kem/ml-kem-*/encaps", "kem/ml-kem-768/encaps"));
        assert!(matches("*", "") && matches("a*", "a") && matches("*b*", "abc") && matches("*é", "aéé"));
        assert!(!matches("a", "ab") && !matches("a*c", "ab"));
    }
}
