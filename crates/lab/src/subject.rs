//! The contract between the lab and what it measures.
//!
//! A [`Task`] is one exact piece of work. Each of its [`Entry`]s makes a [`Subject`]: one implementation at one tier. All
//! subjects answer first; those whose answers don't agree are removed; only then does the lab read a clock.

use crate::outcomes::Outcomes;
use crate::turn::{Timed, Turn};
use crate::{Habit, Quantity, habit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

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
    /// Builds the inputs from the seed, does the work once and returns the result for the others to check.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal>;

    /// Checks another subject's witness for the same seed: that the bytes are the same, or that the ciphertext decapsulates
    /// or the signature verifies. Called after [`prepare`](Self::prepare).
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch>;

    /// Makes what the next call of [`run`](Self::run), or of [`run_phased`](Self::run_phased), uses up, outside the clock: states that can be used only once.
    fn restock(&mut self, iterations: u64) {
        let _ = iterations;
    }

    /// Does the whole work `iterations` times. This is what the lab times.
    fn run(&mut self, iterations: u64);

    /// The names of the phases. Most subjects have none.
    fn phases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Does the work once and calls `lap` at the end of each phase, which reads the clock.
    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let _ = lap;
    }

    /// Does the work once in virtual time and returns the nanoseconds that each phase took there; in one piece where there are no phases. The lab asks
    /// those whose evidence is [`Evidence::Simulated`], in place of reading the clock; [`run`](Self::run) then tells it what a simulation costs.
    fn simulate(&mut self) -> Vec<u64> {
        Vec::new()
    }

    /// Takes a turn where the lab can't read a clock around it: in a process of its own, which has one. `None` for all others.
    fn timed_elsewhere(&mut self, turn: &Turn) -> Option<Result<Timed, String>> {
        let _ = turn;
        None
    }

    /// Whether its work is done in another process than the one that calls it, which waits meanwhile.
    fn works_elsewhere(&self) -> bool {
        false
    }

    /// How often the work was attempted since the subject was made, and how often it succeeded. Only for work that can fail,
    /// such as work over a network: the subject counts a failure and continues.
    fn outcomes(&self) -> Option<Outcomes> {
        None
    }

    /// Sizes, counts and rates of the work: its messages, the state that one side keeps. They are taken from what the work
    /// produced, never from a constant. Called after [`prepare`](Self::prepare).
    fn quantities(&self) -> Vec<Quantity> {
        Vec::new()
    }

    /// Version, commit, build flags, code path, tuning, and what the timed call includes.
    fn provenance(&self) -> Provenance;

    /// More for `candor explain` to print: a plan, exact operation counts.
    fn explanation(&self) -> Option<String> {
        None
    }
}

/// The result of a subject's work in named parts: a digest, or a ciphertext and the secret it contains.
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

    /// All parts with their names, in the order in which they were added.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.parts.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// The part of that name.
    ///
    /// # Errors
    ///
    /// A [`Mismatch`] that says the part is missing.
    pub fn part(&self, name: &str) -> Result<&[u8], Mismatch> {
        let part = self.parts.iter().find(|(n, _)| n == name);
        part.map(|(_, bytes)| bytes.as_slice()).ok_or_else(|| Mismatch::new(format!("{name} is missing")))
    }

    /// The names of all parts, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| name.as_str())
    }

    /// Compares the results of a deterministic task: `other` must have the same parts with the same bytes.
    pub fn same_as(&self, other: &Self) -> Result<(), Mismatch> {
        for (name, ours) in &self.parts {
            let theirs = other.part(name)?;
            if ours != theirs {
                let at = ours.iter().zip(theirs).position(|(a, b)| a != b);
                return Err(Mismatch::new(match at {
                    Some(at) if ours.len() == theirs.len() => format!("{name} differs at byte {at}"),
                    _ => format!("{name} is {} bytes long; expected {}", theirs.len(), ours.len()),
                }));
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

/// Whether a [`Refusal`] is a fact about the library, a lack of this machine, or a failure.
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

/// What one subject found wrong with another's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(String);

impl Mismatch {
    /// `reason` says what is wrong, not which subject is.
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
    /// Read from the output of another tool ([`Imported`]).
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

/// What another tool found of a task's work, on this machine and by its own method. A run seals it beside the rows; it is in no round, has no ratio and no
/// verdict, and every report marks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// As reports show it: `tor-0.4.9.11+bench`.
    pub subject: String,
    /// Whose figures they are, and how that tool came to them. Its evidence is [`Evidence::Imported`].
    pub provenance: Provenance,
    /// The figures.
    pub quantities: Vec<Quantity>,
}

impl Imported {
    /// Figures under a name. Whatever `provenance` says of its evidence, they are imported.
    pub fn new(subject: impl Into<String>, provenance: Provenance, quantities: Vec<Quantity>) -> Self {
        let provenance = Provenance { evidence: Evidence::Imported, ..provenance };
        Self { subject: subject.into(), provenance, quantities }
    }
}

/// Makes a subject, or says why it can't.
type Make = Box<dyn Fn() -> Result<Box<dyn Subject>, Refusal> + Send + Sync>;

/// A named subject of a task.
pub struct Entry {
    /// `candor@avx2`, `openssl-3.5.4`, `gf2x-1.3.0+tuned`.
    pub subject: String,
    make: Make,
}

impl Entry {
    /// An entry whose subjects `make` makes, in any process and as often as needed.
    pub fn new<S: Subject + 'static>(
        subject: impl Into<String>,
        make: impl Fn() -> Result<S, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self::boxed(subject, move || Ok(Box::new(make()?)))
    }

    /// An entry whose subjects are of several types.
    pub fn boxed(
        subject: impl Into<String>,
        make: impl Fn() -> Result<Box<dyn Subject>, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { subject: subject.into(), make: Box::new(make) }
    }

    /// An entry without a subject. The table shows the reason.
    pub fn refused(subject: impl Into<String>, refusal: Refusal) -> Self {
        Self::boxed(subject, move || Err(refusal.clone()))
    }

    /// The same, with a word about how its work differs from that of others in this task ([`Provenance::different_operation`]).
    #[must_use]
    pub fn doing_other_work(self, how: &'static str) -> Self {
        let Self { subject, make } = self;
        Self::new(subject, move || Ok(OtherWork { subject: make()?, how }))
    }

    /// Makes a new instance.
    pub fn make(&self) -> Result<Box<dyn Subject>, Refusal> {
        (self.make)()
    }
}

/// A subject that says that it does other work, and is in all else what it is.
struct OtherWork {
    subject: Box<dyn Subject>,
    how: &'static str,
}

impl Subject for OtherWork {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.subject.prepare(seed)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.subject.check(other)
    }

    fn restock(&mut self, iterations: u64) {
        self.subject.restock(iterations);
    }

    fn run(&mut self, iterations: u64) {
        self.subject.run(iterations);
    }

    fn phases(&self) -> &'static [&'static str] {
        self.subject.phases()
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        self.subject.run_phased(lap);
    }

    fn simulate(&mut self) -> Vec<u64> {
        self.subject.simulate()
    }

    fn timed_elsewhere(&mut self, turn: &Turn) -> Option<Result<Timed, String>> {
        self.subject.timed_elsewhere(turn)
    }

    fn works_elsewhere(&self) -> bool {
        self.subject.works_elsewhere()
    }

    fn outcomes(&self) -> Option<Outcomes> {
        self.subject.outcomes()
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.subject.quantities()
    }

    fn provenance(&self) -> Provenance {
        let provenance = self.subject.provenance();
        let how = match &provenance.different_operation {
            Some(already) => format!("{already}; {}", self.how),
            None => self.how.to_owned(),
        };
        Provenance { different_operation: Some(how), ..provenance }
    }

    fn explanation(&self) -> Option<String> {
        self.subject.explanation()
    }
}

/// Inputs of a task by name.
pub type Inputs = Vec<(String, Vec<u8>)>;

/// Makes the inputs of a seed.
pub(crate) type MakeInputs = Arc<dyn Fn(u64) -> Inputs + Send + Sync>;

/// Which words of a user's select a task, besides its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectedBy {
    /// `all`, and any part of its name.
    #[default]
    All,
    /// Any part of its name: it is one of many alike, or takes long.
    Part,
    /// The beginning of its name: it differs in kind from what a part of it suggests.
    Beginning,
}

/// One exact piece of work and the subjects that do it. The first entry is the baseline.
pub struct Task {
    /// A path: `kem/ml-kem-768/encaps`.
    pub name: String,
    /// What exactly is done, what is prepared before and what is left out, in one sentence.
    pub what: String,
    /// Bytes processed per operation, for tasks with a natural throughput.
    pub bytes: Option<u64>,
    /// The subjects, the baseline first.
    pub entries: Vec<Entry>,
    /// What other tools found of the same work.
    pub imported: Vec<Imported>,
    /// Which words select it besides its name.
    pub selected_by: SelectedBy,
    /// What a program of its own is given ([`Task::program`](Self::program)). Without it no program can do the task.
    pub(crate) inputs: Option<MakeInputs>,
    /// Whether the baseline is believed no more than the others where answers disagree: its build is what is on trial.
    pub(crate) on_trial: bool,
}

impl Task {
    /// A task without subjects.
    pub fn new(name: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            bytes: None,
            entries: Vec::new(),
            imported: Vec::new(),
            selected_by: SelectedBy::All,
            inputs: None,
            on_trial: false,
        }
    }

    /// Says which inputs follow from a seed, so that programs can be given them. Only for work whose answers are those bytes and no others.
    #[must_use]
    pub fn inputs(mut self, inputs: impl Fn(u64) -> Inputs + Send + Sync + 'static) -> Self {
        self.inputs = Some(Arc::new(inputs));
        self
    }

    /// Sets the bytes processed per operation.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Sets which words select it.
    #[must_use]
    pub fn selected_by(mut self, words: SelectedBy) -> Self {
        self.selected_by = words;
        self
    }

    /// Makes the subject of that name the baseline. Returns whether the task has it.
    pub fn baseline(&mut self, subject: &str) -> bool {
        let place = self.entries.iter().position(|entry| entry.subject == subject);
        if let Some(place) = place {
            self.entries[..=place].rotate_right(1);
        }
        place.is_some()
    }

    /// Adds a subject. The first one added is the baseline.
    #[must_use]
    pub fn entry(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }
}
