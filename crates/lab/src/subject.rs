//! The contract between the lab and what it measures.
//!
//! A [`Task`] is one exact piece of work. Each [`Entry`] of it makes a [`Subject`]: one implementation at one tier. The lab
//! lets all subjects answer first, takes out those whose answers don't agree, and only then reads a clock.

use crate::Quantity;
use crate::stats::clopper_pearson;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One implementation of one task.
///
/// ```
/// use candor_lab::{Mismatch, Provenance, Refusal, Subject, Witness};
///
/// /// Adds up the bytes of a buffer.
/// struct Sum(Vec<u8>);
///
/// impl Subject for Sum {
///     fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
///         self.0 = (0..1024u64).map(|i| (i.wrapping_mul(seed | 1) >> 3) as u8).collect();
///         let sum: u64 = self.0.iter().map(|&byte| u64::from(byte)).sum();
///         Ok(Witness::bytes(sum.to_le_bytes()))
///     }
///     fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
///         let sum: u64 = self.0.iter().map(|&byte| u64::from(byte)).sum();
///         Witness::bytes(sum.to_le_bytes()).same_as(other)
///     }
///     fn run(&mut self, iterations: u64) {
///         for _ in 0..iterations {
///             std::hint::black_box(std::hint::black_box(&self.0).iter().map(|&byte| u64::from(byte)).sum::<u64>());
///         }
///     }
///     fn provenance(&self) -> Provenance {
///         Provenance::of("sum", "1.0", "sums 1024 bytes that are already in memory")
///     }
/// }
///
/// let (mut ours, mut peer) = (Sum(vec![]), Sum(vec![]));
/// let witness = ours.prepare(7)?;
/// peer.prepare(7)?;
/// assert!(peer.check(&witness).is_ok());
/// # Ok::<(), Refusal>(())
/// ```
pub trait Subject {
    /// Builds inputs from the seed and returns what it computed (bytes, or messages for the others to check).
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal>;

    /// Verifies another subject's witness, made from the same seed: same bytes, or "your ciphertext decapsulates, your
    /// signature verifies". Called after [`prepare`](Self::prepare).
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch>;

    /// Makes what the next call of [`run`](Self::run) uses up, outside the clock: states that can be used only once.
    fn restock(&mut self, iterations: u64) {
        let _ = iterations;
    }

    /// The only call inside the clock: does the whole work `iterations` times.
    fn run(&mut self, iterations: u64);

    /// Names of the phases; empty for most.
    fn phases(&self) -> &'static [&'static str] {
        &[]
    }

    /// One whole operation, calling `lap()` at the end of each phase; the lab owns the clock behind it.
    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let _ = lap;
    }

    /// How often the work was tried since the subject was made, and how often it succeeded: for work that can fail, such as
    /// anything over a network. Such a subject counts a failure and goes on.
    fn outcomes(&self) -> Option<Outcomes> {
        None
    }

    /// What can be said of the work without a clock: the sizes of its messages, what one side must keep. Taken from what the work
    /// really made, never from a constant. Called after [`prepare`](Self::prepare).
    fn quantities(&self) -> Vec<Quantity> {
        Vec::new()
    }

    /// Version, commit, build flags, CPU arm executed, tuning, and what the timed call leaves out.
    fn provenance(&self) -> Provenance;

    /// What more `candor explain` can say of this subject without measuring: a plan, exact operation counts.
    fn explanation(&self) -> Option<String> {
        None
    }
}

/// Attempts and successes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// How often it was tried.
    pub attempts: u64,
    /// How often it succeeded.
    pub successes: u64,
}

impl Outcomes {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { attempts: self.attempts + other.attempts, successes: self.successes + other.successes }
    }

    /// Successes by attempts, if there was one.
    pub fn rate(self) -> Option<f64> {
        (self.attempts > 0).then(|| self.successes.min(self.attempts) as f64 / self.attempts as f64)
    }

    /// The rate that the true one is at least, at 95 % (the lower end of the two-sided Clopper–Pearson interval).
    pub fn at_least(self) -> f64 {
        clopper_pearson(self.successes.min(self.attempts), self.attempts, 0.05).low
    }
}

/// What a subject computed, in named parts: a digest, or a ciphertext and the secret it carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    parts: Vec<(String, Vec<u8>)>,
}

impl Witness {
    /// A single unnamed answer.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self::default().with("answer", bytes)
    }

    /// Adds a named part.
    #[must_use]
    pub fn with(mut self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.parts.push((name.to_owned(), bytes.as_ref().to_vec()));
        self
    }

    /// The part of that name, or the mismatch that says it is missing.
    pub fn part(&self, name: &str) -> Result<&[u8], Mismatch> {
        let part = self.parts.iter().find(|(n, _)| n == name);
        part.map(|(_, bytes)| bytes.as_slice()).ok_or_else(|| Mismatch::new(format!("there is no {name}")))
    }

    /// The names of all parts, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| name.as_str())
    }

    /// For deterministic tasks: the same parts with the same bytes.
    pub fn same_as(&self, other: &Self) -> Result<(), Mismatch> {
        for (name, ours) in &self.parts {
            let theirs = other.part(name)?;
            if ours != theirs {
                let at = ours.iter().zip(theirs).position(|(a, b)| a != b).unwrap_or(ours.len().min(theirs.len()));
                return Err(Mismatch::new(format!(
                    "{name} differs from byte {at} on ({} and {} bytes)",
                    ours.len(),
                    theirs.len()
                )));
            }
        }
        Ok(())
    }
}

/// Why a subject has no time. The reason stands in the table in its place and finishes the sentence "openssl-3.0.19 …":
/// "has no ML-KEM (needs 3.5)".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    kind: RefusalKind,
    reason: String,
}

/// What a [`Refusal`] means to somebody who wants to know whether everything works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RefusalKind {
    /// A fact about this version of the library, the same on every machine: "has no SM3". Nothing was left untested.
    Never,
    /// Something is missing on this machine or in this build: a CPU feature, a shared object, an algorithm that somebody
    /// left out. Another machine may have it.
    NotHere,
    /// The subject is broken: its work failed, its answer was wrong, it panicked or crashed.
    Failed,
}

impl Refusal {
    /// The subject can't do the work on this machine or in this build.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { kind: RefusalKind::NotHere, reason: reason.into() }
    }

    /// The library can't do the work on any machine.
    pub fn never(reason: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Never, reason: reason.into() }
    }

    /// The subject should do the work and doesn't.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Failed, reason: reason.into() }
    }

    /// What the refusal means.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

/// How one subject's answer failed another's check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(String);

impl Mismatch {
    /// `reason` says what was found wrong, not who is wrong.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

/// What a reader needs to know about a subject to trust its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// The library's name.
    pub library: String,
    /// Its version, as it tells it.
    pub version: String,
    /// Its commit or package id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Compiler and flags, as far as they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The CPU arm executed, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Set where the subject is known to leave the CPU's better instructions unused: which, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_at_its_best: Option<String>,
    /// Whether thresholds were tuned on this machine.
    #[serde(skip_serializing_if = "Tuning::is_not_applicable")]
    pub tuning: Tuning,
    /// SHA-256 of the shared object it was loaded from, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_sha256: Option<String>,
    /// Threads used, where more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// One sentence: what the timed call does and what it leaves out.
    pub timed: String,
    /// Set where the operation is not the one that the baseline does; the lint `different-operation` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub different_operation: Option<String>,
    /// Set for schemes kept for comparison only: what is insecure. Printed wherever the name is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<String>,
    /// How the subject's numbers come about.
    #[serde(skip_serializing_if = "Evidence::is_paired")]
    pub evidence: Evidence,
}

impl Provenance {
    /// The three things that every subject can say. `timed` is a sentence: what the timed call does and leaves out.
    pub fn of(library: &str, version: &str, timed: &str) -> Self {
        Self { library: library.into(), version: version.into(), timed: timed.into(), ..Self::default() }
    }
}

/// Whether a library that has machine-dependent thresholds was tuned here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tuning {
    /// There is nothing to tune.
    #[default]
    NotApplicable,
    /// As shipped, although it could be tuned. The lint `peer-untuned` says so.
    Stock,
    /// Tuned: where, when, by what.
    Tuned(String),
}

impl Tuning {
    fn is_not_applicable(&self) -> bool {
        *self == Self::NotApplicable
    }
}

/// What kind of evidence stands behind a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Measured here, in the same rounds as the baseline.
    #[default]
    MeasuredPaired,
    /// Measured here, on its own.
    MeasuredAlone,
    /// Computed from a model.
    Simulated,
    /// Read from another tool's output.
    Imported,
    /// Taken from a publication.
    Quoted,
}

impl Evidence {
    fn is_paired(&self) -> bool {
        *self == Self::MeasuredPaired
    }

    /// The word that tables and files have for it.
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

/// Makes a subject, or says why it can't be had here.
type Make = Box<dyn Fn() -> Result<Box<dyn Subject>, Refusal> + Send + Sync>;

/// A named subject of a task.
pub struct Entry {
    /// `candor@avx2`, `openssl-3.5.4`, `gf2x-1.3.0+tuned`.
    pub subject: String,
    make: Make,
}

impl Entry {
    /// An entry that `make` can turn into a subject, in any process, as often as wanted.
    pub fn new<S: Subject + 'static>(
        subject: impl Into<String>,
        make: impl Fn() -> Result<S, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { subject: subject.into(), make: Box::new(move || Ok(Box::new(make()?))) }
    }

    /// A subject that can't be had here; the reason stands in the table.
    pub fn refused(subject: impl Into<String>, refusal: Refusal) -> Self {
        Self { subject: subject.into(), make: Box::new(move || Err(refusal.clone())) }
    }

    /// A new instance.
    pub fn make(&self) -> Result<Box<dyn Subject>, Refusal> {
        (self.make)()
    }
}

/// One exact piece of work and everyone who does it. The first entry is the baseline.
pub struct Task {
    /// A path: `kem/ml-kem-768/encaps`.
    pub name: String,
    /// One sentence: exactly what is done, what is prepared before, what is left out.
    pub what: String,
    /// Bytes worked through per operation, where throughput is the natural figure.
    pub bytes: Option<u64>,
    /// The baseline first, then the others.
    pub entries: Vec<Entry>,
}

impl Task {
    /// A task without subjects.
    pub fn new(name: impl Into<String>, what: impl Into<String>) -> Self {
        Self { name: name.into(), what: what.into(), bytes: None, entries: Vec::new() }
    }

    /// Says how many bytes one operation works through.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Makes the subject of that name the baseline. Says whether there is one.
    pub fn baseline(&mut self, subject: &str) -> bool {
        let place = self.entries.iter().position(|entry| entry.subject == subject);
        if let Some(place) = place {
            self.entries[..=place].rotate_right(1);
        }
        place.is_some()
    }

    /// Adds a subject; the first one added is the baseline.
    #[must_use]
    pub fn entry(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }
}
