//! The origin of a subject: whose code, how it is called, and what kind of evidence its time is.

use crate::{Habit, habit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The origin of a subject: what a reader needs to know to trust its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// The library's name.
    pub library: String,
    /// Its version, as it reports it.
    pub version: String,
    /// Its commit or package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Compiler and flags, as far as known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The code path that ran, as far as known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Set if the subject is known not to use the best instructions that the CPU has: says which, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_at_its_best: Option<String>,
    /// Whether thresholds were tuned on this machine.
    #[serde(skip_serializing_if = "Tuning::is_not_applicable")]
    pub tuning: Tuning,
    /// SHA-256 of the shared object that it was loaded from, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_sha256: Option<String>,
    /// The number of threads, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// What the timed call includes and what it leaves out, in one sentence.
    pub timed: String,
    /// What the timed call does besides its work. `None` in run files from before habits were declared, which tell it in `timed` alone; see
    /// [`habits`](Self::habits()).
    #[serde(deserialize_with = "habit::read", skip_serializing_if = "Option::is_none")]
    pub habits: Option<BTreeSet<Habit>>,
    /// The version of what the timed call does ([`by_contract`](Self::by_contract)). Runs from before 2026-11-29 have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<u32>,
    /// Set if the operation differs from the baseline's: says how. The lint `different-operation` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub different_operation: Option<String>,
    /// How the subject's build describes the task, if the run pairs builds and this one has other words for it than the one that measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<String>,
    /// Set for insecure schemes, which exist only for comparison: says what is insecure. Reports mark the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<String>,
    /// How the subject's numbers were obtained.
    #[serde(skip_serializing_if = "Evidence::is_paired")]
    pub evidence: Evidence,
}

impl Provenance {
    /// What every subject can say. `timed` is a sentence about what the timed call includes and leaves out; what it does besides its work is
    /// declared [`with`](Self::with) habits.
    pub fn of(library: &str, version: &str, timed: &str) -> Self {
        let [library, version, timed] = [library, version, timed].map(str::to_owned);
        Self { library, version, timed, habits: Some(BTreeSet::new()), contract: Some(1), ..Self::default() }
    }

    /// Raises the version: 2 after the first change of the work. A rewording leaves it. Runs of two versions are not compared.
    #[must_use]
    pub fn by_contract(self, version: u32) -> Self {
        Self { contract: Some(version), ..self }
    }

    /// Declares what the timed call does besides its work. [`timed`](Self::timed) tells it to a reader, in one of the habit's [words](Habit::words).
    #[must_use]
    pub fn with(mut self, habits: impl IntoIterator<Item = Habit>) -> Self {
        self.habits.get_or_insert_default().extend(habits);
        self
    }

    /// Declares habits and tells each at the end of [`timed`](Self::timed), in [words](Habit::words) of its own.
    #[must_use]
    pub fn telling<'a>(self, told: impl IntoIterator<Item = (Habit, &'a str)>) -> Self {
        told.into_iter().fold(self, |mut provenance, (habit, words)| {
            provenance.timed.extend(["; ", words]);
            provenance.with([habit])
        })
    }

    /// What the timed call does besides its work: as declared, or in run files that declare nothing, by the words of the sentence.
    #[must_use]
    pub fn habits(&self) -> BTreeSet<Habit> {
        let told = Habit::ALL.into_iter().filter(|habit| habit.is_told_in(&self.timed));
        self.habits.clone().unwrap_or_else(|| told.collect())
    }
}

/// Whether a library with machine-dependent thresholds was tuned on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tuning {
    /// There is nothing to tune.
    #[default]
    NotApplicable,
    /// As shipped, although it can be tuned. The lint `peer-untuned` reports it.
    Stock,
    /// Tuned: says where, when and by which program.
    Tuned(String),
}

impl Tuning {
    fn is_not_applicable(&self) -> bool {
        *self == Self::NotApplicable
    }
}

/// The kind of evidence behind a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Measured here, in the same rounds as the baseline.
    #[default]
    MeasuredPaired,
    /// Measured here, by itself.
    MeasuredAlone,
    /// Computed from a model.
    Simulated,
    /// Read from the output of another tool ([`Imported`](crate::Imported)).
    Imported,
    /// Taken from a publication.
    Quoted,
}

impl Evidence {
    fn is_paired(&self) -> bool {
        *self == Self::MeasuredPaired
    }

    /// The word that tables and files show.
    pub fn word(self) -> &'static str {
        match self {
            Self::MeasuredPaired => "measured-paired",
            Self::MeasuredAlone => "measured-alone",
            Self::Simulated => "simulated",
            Self::Imported => "imported",
            Self::Quoted => "quoted",
        }
    }
}
