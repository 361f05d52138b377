//! Other people's published numbers, quoted beside what was measured here.
//!
//! A claim is an entry of a TOML file under `claims/`. Reports show it next to the row that does the same work on this
//! machine, with the reasons why the two can't be compared, and never divide one by the other.

mod drawing;

pub use drawing::{Drawing, DrawnRow, Form, Part};

use crate::analysis::{Report, Spread};
use crate::lint::Lint;
use crate::units::time;
use crate::{LabError, Quantity};
use serde::{Deserialize, Serialize};

/// One publication.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// A short key: `berger-2025`.
    pub key: String,
    /// The citation.
    pub source: String,
    /// The numbers.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// The figures that they are drawn in, beside a run's.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Drawing>,
    /// How a run [answers](crate::report::Answer) it row by row.
    #[serde(default)]
    pub answer: Asked,
}

/// What a publication's rows are answered with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Beginnings of the names of peers that have a column each: the publication's own peer, in the versions of today.
    pub peers: Vec<String>,
}

/// One number.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What was measured, according to the publication.
    pub what: String,
    /// Table, figure or section.
    pub place: String,
    /// The number.
    pub value: f64,
    /// `ns`, `us`, `ms`, `s`, `bytes`, `ops/s`, `ratio`, `%`.
    pub unit: String,
    /// The hardware; empty if the publication does not say.
    #[serde(default)]
    pub hardware: String,
    /// How the number came about: `whole`, `sum-of-parts`, `simulated`, `model`, `unknown`.
    pub how: How,
    /// The task that does the same work here, if there is one.
    #[serde(default)]
    pub task: String,
    /// The beginning of the name of the subject to show beside it; the baseline if empty.
    #[serde(default)]
    pub subject: String,
    /// For a part of an operation: the name of the phase. Empty for the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// For a size, a count or a rate: the name of the quantity. Empty for a time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quantity: String,
    /// For a time: which number of the epochs it is. The lab's own is the median.
    #[serde(default, skip_serializing_if = "Statistic::is_median")]
    pub statistic: Statistic,
    /// How many samples the number is based on, if the publication says.
    #[serde(default)]
    pub samples: Option<u64>,
    /// What is known to be wrong with it, according to its own sources.
    #[serde(default)]
    pub doubt: Option<String>,
}

/// A number that stands for many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// The middle one.
    #[default]
    Median,
    /// The arithmetic mean.
    Mean,
    /// The standard deviation.
    Sd,
    /// The smallest.
    Min,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The largest.
    Max,
}

impl Statistic {
    fn is_median(&self) -> bool {
        *self == Self::Median
    }

    /// The word that tables show.
    fn word(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Sd => "σ",
            Self::Min => "min",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Max => "max",
        }
    }

    /// The same number of epochs measured here. `None` if there are too few.
    fn found(self, median_ns: f64, spread: &Spread) -> Option<Found> {
        let ns = match self {
            Self::Median => return Some(Found::Time { median_ns }),
            Self::Mean => Some(spread.mean),
            Self::Sd => spread.deviation,
            Self::Min => Some(spread.min),
            Self::P95 => spread.p95,
            Self::P99 => spread.p99,
            Self::Max => Some(spread.max),
        };
        ns.map(|ns| Found::OfEpochs { statistic: self, ns })
    }
}

/// How a published number came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// A whole operation was timed.
    Whole,
    /// Operations were timed one by one and added up.
    SumOfParts,
    /// It was simulated.
    Simulated,
    /// It was calculated.
    Model,
    /// The publication does not say.
    Unknown,
}

/// A claim and the row that stands beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// The run that it stands beside.
    pub run: String,
    /// The publication's key.
    pub key: String,
    /// The citation.
    pub source: String,
    /// The claim.
    pub claim: Claim,
    /// The row that does the same work. `None` if this run did not measure the task.
    pub here: Option<Here>,
    /// Why the two can't be compared.
    pub lints: Vec<(&'static str, String)>,
}

/// A row of this run.
#[derive(Clone, Debug, Serialize)]
pub struct Here {
    /// The task.
    pub task: String,
    /// The subject.
    pub subject: String,
    /// The phase, if the claim is about one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// The time or quantity.
    #[serde(flatten)]
    pub found: Found,
}

/// What was measured or counted here.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Found {
    /// A time.
    Time {
        /// Nanoseconds per operation.
        median_ns: f64,
    },
    /// How often it can be done in a second, for a claim that says so.
    Rate {
        /// Operations per second, one after another.
        per_second: f64,
        /// Nanoseconds per operation.
        median_ns: f64,
    },
    /// Another number of all epochs, as the claim has it.
    OfEpochs {
        /// Which.
        statistic: Statistic,
        /// Nanoseconds per operation.
        ns: f64,
    },
    /// A size, a count or a rate.
    Counted(Quantity),
}

impl Here {
    /// The task, and the phase if it is about one.
    pub(crate) fn place(&self) -> String {
        match self.phase.as_str() {
            "" => self.task.clone(),
            phase => format!("{}, phase {phase}", self.task),
        }
    }
}

impl Found {
    /// For people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Time { median_ns } => time(*median_ns),
            Self::Rate { per_second, .. } => Quantity::new("", *per_second, "ops/s").amount(),
            Self::OfEpochs { statistic, ns } => format!("{} {}", statistic.word(), time(*ns)),
            Self::Counted(quantity) => quantity.amount(),
        }
    }
}

impl Claims {
    /// Reads a claims file.
    ///
    /// # Errors
    ///
    /// [`LabError::Claims`] says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let claims: Self = toml::from_str(text).map_err(|error| LabError::Claims(error.to_string()))?;
        if claims.source.trim().is_empty() {
            return Err(LabError::Claims("the source is empty; expected the citation".into()));
        }
        let nameless = claims.claims.iter().find_map(|claim| match (claim.what.trim(), claim.place.trim()) {
            ("", place) => Some(format!("the claim of {place:?} has an empty `what`; expected what was measured")),
            (what, "") => Some(format!("{what:?} has an empty `place`; expected a table, figure or section")),
            _ => None,
        });
        if let Some(why) = nameless {
            return Err(LabError::Claims(why));
        }
        const UNITS: [&str; 8] = ["ns", "us", "ms", "s", "bytes", "ops/s", "ratio", "%"];
        if let Some(claim) =
            claims.claims.iter().find(|claim| !UNITS.contains(&claim.unit.as_str()) || !claim.value.is_finite())
        {
            return Err(LabError::Claims(format!(
                "{:?} is {} {}; expected a finite number in {}",
                claim.what,
                claim.value,
                claim.unit,
                UNITS.join(", ")
            )));
        }
        // Only a difference in per cent can be zero or less.
        if let Some(claim) = claims.claims.iter().find(|claim| claim.unit != "%" && claim.value <= 0.0) {
            return Err(LabError::Claims(format!(
                "{:?} is {} {}; expected a number above 0",
                claim.what, claim.value, claim.unit
            )));
        }
        let of_time = |claim: &Claim| !claim.phase.is_empty() || !claim.statistic.is_median();
        if let Some(claim) = claims.claims.iter().find(|claim| of_time(claim) && !claim.quantity.is_empty()) {
            return Err(LabError::Claims(format!(
                "{:?} names a quantity and a phase or statistic, which only times have",
                claim.what
            )));
        }
        match claims.figures.iter().find_map(|figure| figure.fault(&claims.claims)) {
            Some(fault) => Err(LabError::Claims(fault)),
            None => Ok(claims),
        }
    }

    /// The tasks that claims and figures name.
    pub fn tasks(&self) -> impl Iterator<Item = &str> {
        let of_claims = self.claims.iter().map(|claim| claim.task.as_str());
        let of_figures = self.figures.iter().flat_map(|figure| &figure.rows).map(|row| row.task.as_str());
        of_claims.chain(of_figures).filter(|task| !task.is_empty())
    }

    /// Every claim beside the report's rows.
    pub fn beside(&self, report: &Report) -> Vec<Beside> {
        self.claims.iter().map(|claim| beside(self, claim, report)).collect()
    }
}

impl Claim {
    /// Nanoseconds, if it is a time.
    pub(crate) fn ns(&self) -> Option<f64> {
        let factor = match self.unit.as_str() {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return None,
        };
        Some(self.value * factor)
    }
}

fn beside(claims: &Claims, claim: &Claim, report: &Report) -> Beside {
    let row = report.rows().find(|(task, row)| task.task == claim.task && row.subject.starts_with(&claim.subject));
    let mut lints = Vec::new();
    // A size is the same on every machine.
    if claim.quantity.is_empty() && claim.hardware != report.machine.cpu {
        let theirs = if claim.hardware.is_empty() { "unknown hardware" } else { claim.hardware.as_str() };
        lints.push(("different-machine", format!("measured on {theirs}; here on {}", report.machine.cpu)));
    }
    match claim.how {
        How::Whole => {}
        How::SumOfParts => {
            lints.push(("different-operation", "a sum of separately timed operations".into()));
        }
        How::Simulated => lints.push(("different-operation", "simulated, not timed".into())),
        How::Model => lints.push(("different-operation", "calculated, not timed".into())),
        How::Unknown => lints.push(("different-operation", "the publication does not say what was timed".into())),
    }
    if let Some(text) = row.and_then(|(_, row)| row.provenance.different_operation.as_ref()) {
        lints.push(("different-operation", format!("here: {text}")));
    }
    // A median of exactly so many microseconds suggests a clock that counts whole ones.
    if claim.unit == "us" && claim.value.fract() == 0.0 && claim.value < 200.0 && claim.how == How::Whole {
        lints.push((
            "clock-too-coarse",
            format!("{} µs: a clock of whole microseconds has steps of {:.0} %", claim.value, 100.0 / claim.value),
        ));
    }
    let names_percentile = matches!(claim.statistic, Statistic::P95 | Statistic::P99)
        || ["p99", "p95", "P99", "P95"].iter().any(|p| claim.what.contains(p));
    if let Some(samples) = claim.samples.filter(|&samples| names_percentile && samples < 200) {
        lints.push(("too-few-for-percentile", format!("a percentile of only {samples} samples")));
    }
    let phase = row.and_then(|(_, row)| row.phases.iter().find(|phase| phase.name == claim.phase));
    if let Some((_, row)) = row.filter(|_| !claim.phase.is_empty() && phase.is_none()) {
        let known = row.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        lints.push(("unknown-phase", format!("{} has no phase {:?}; it has {known}", row.subject, claim.phase)));
    }
    let measured = match claim.phase.as_str() {
        "" => row.map(|(_, row)| (row.median_ns, &row.spread)),
        _ => phase.map(|phase| (phase.median_ns, &phase.spread)),
    };
    let found = measured.and_then(|(median_ns, spread)| claim.statistic.found(median_ns, spread));
    let found = found.map(|found| match found {
        Found::Time { median_ns } if claim.unit == "ops/s" => Found::Rate { per_second: 1e9 / median_ns, median_ns },
        found => found,
    });
    if let Some((_, spread)) = measured.filter(|_| found.is_none()) {
        let text = format!("here are {} epochs, too few for {}", spread.epochs, claim.statistic.word());
        lints.push(("too-few-for-percentile", text));
    }
    Beside {
        run: report.run.clone(),
        key: claims.key.clone(),
        source: claims.source.clone(),
        claim: claim.clone(),
        here: match claim.quantity.as_str() {
            "" => row.zip(found).map(|((task, row), found)| Here {
                task: task.task.clone(),
                subject: row.subject.clone(),
                phase: claim.phase.clone(),
                found,
            }),
            name => counted(claim, name, report),
        },
        lints,
    }
}

/// The quantity of that name that our subject counted.
fn counted(claim: &Claim, name: &str, report: &Report) -> Option<Here> {
    let task = report.tasks.iter().find(|task| task.task == claim.task)?;
    let counted = task.counted.iter().find(|counted| counted.subject.starts_with(&claim.subject))?;
    let quantity = counted.quantities.iter().find(|quantity| quantity.name == name)?;
    let found = Found::Counted(quantity.clone());
    let phase = String::new();
    Some(Here { task: task.task.clone(), subject: counted.subject.clone(), phase, found })
}

impl Beside {
    /// The lints in the form that reports have.
    pub fn lints(&self) -> impl Iterator<Item = Lint> + '_ {
        self.lints.iter().map(|(name, text)| Lint {
            name,
            task: self.claim.task.clone(),
            subject: self.key.clone(),
            text: text.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        key = "somebody-2025"
        source = "Somebody et al., 2025"
        [[claim]]
        what = "handshake, median"
        place = "Table 2"
        value = 30
        unit = "us"
        hardware = "a laptop"
        how = "whole"
        task = "ntor/x/handshake"
    "#;

    #[test]
    fn a_claim_is_read() {
        let claims = Claims::parse(FILE).unwrap();
        assert_eq!((claims.claims[0].value, claims.claims[0].how), (30.0, How::Whole));
    }

    #[test]
    fn a_figure_quotes_claims_of_its_file_only() {
        let figure = |claim: &str, task: &str| {
            format!(
                "{FILE}\n[[figure]]\nname = \"one\"\ntitle = \"One\"\nform = \"times\"\n[[figure.row]]\nlabel = \"a row\"\ntask = \"{task}\"\n\
                 parts = [{{ name = \"whole\", claims = [{claim}] }}]\n"
            )
        };
        let known = Claims::parse(&figure("\"handshake, median\"", "")).unwrap();
        assert_eq!((known.figures.len(), known.figures[0].form), (1, Form::Times));
        assert!(Claims::parse(&figure("", "ntor/x/handshake")).is_ok());
        let fault = |text: &str| Claims::parse(text).unwrap_err().to_string();
        assert!(fault(&figure("\"another\"", "")).contains("quotes \"another\""));
        assert!(fault(&figure("", "")).contains("expected either claims or a task"));
        assert!(
            fault(&figure("\"handshake, median\"", "ntor/x/handshake")).contains("expected either claims or a task")
        );
        let slash = figure("\"handshake, median\"", "").replace("name = \"one\"", "name = \"../one\"");
        assert!(fault(&slash).contains("letters, digits and hyphens"));
    }

    #[test]
    fn an_unknown_unit_or_field_is_an_error_that_names_it() {
        assert!(
            Claims::parse(&FILE.replace("\"us\"", "\"fortnights\"")).unwrap_err().to_string().contains("fortnights")
        );
        assert!(Claims::parse(&FILE.replace("place", "palce")).unwrap_err().to_string().contains("palce"));
    }

    #[test]
    fn a_claim_without_source_place_or_sense_is_an_error() {
        for (what, by, why) in [
            ("Somebody et al., 2025", " ", "the source is empty"),
            ("handshake, median", "", "has an empty `what`"),
            ("Table 2", "", "\"handshake, median\" has an empty `place`"),
            ("value = 30", "value = 0", "is 0 us; expected a number above 0"),
            ("value = 30", "value = -5", "is -5 us; expected a number above 0"),
            ("30\n        unit = \"us\"", "0\n        unit = \"bytes\"", "is 0 bytes; expected a number above 0"),
            ("30\n        unit = \"us\"", "-1\n        unit = \"ops/s\"", "is -1 ops/s; expected a number above 0"),
            ("30\n        unit = \"us\"", "0\n        unit = \"ratio\"", "is 0 ratio; expected a number above 0"),
        ] {
            assert!(FILE.contains(what), "{what}");
            let fault = Claims::parse(&FILE.replace(what, by)).unwrap_err().to_string();
            assert!(fault.contains(why), "{what} by {by}: {fault}");
        }
        let change = FILE.replace("30\n        unit = \"us\"", "-12.5\n        unit = \"%\"");
        assert!(Claims::parse(&change).is_ok(), "a change may be a loss");
    }

    #[test]
    fn a_quantity_has_neither_phase_nor_statistic() {
        let with = |lines: &str| Claims::parse(&format!("{FILE}{lines}"));
        for time in ["phase = \"server\"\n", "statistic = \"mean\"\n"] {
            assert!(with(time).is_ok(), "{time}");
            let fault = with(&format!("{time}quantity = \"letter\"\n")).unwrap_err().to_string();
            assert!(fault.contains("names a quantity and a phase or statistic"), "{fault}");
        }
        assert!(with("quantity = \"letter\"\n").is_ok());
        assert!(with("statistic = \"average\"\n").unwrap_err().to_string().contains("average"));
    }
}
