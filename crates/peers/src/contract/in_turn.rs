//! How a library is timed that works through sixteen inputs in turn: ECDSA and ECDH, RSA, SM2.

use candor_lab::{Mismatch, Provenance, Refusal, Subject, Witness};

/// What an operation of a library ends in when it fails.
pub type Failed = &'static str;

/// The answer of a verification.
pub(super) const ACCEPTED: [u8; 1] = [1];

/// Distinct inputs that an operation works through in turn.
pub(super) const INPUTS: usize = 16;

/// One operation of one library.
pub(super) trait Work: 'static {
    /// Keys and inputs.
    type Ready;

    /// Keys and inputs that the seed gives.
    fn ready(&self, seed: u64) -> Result<Self::Ready, Failed>;
    /// What the library answers.
    fn witness(&self, ready: &Self::Ready) -> Result<Witness, Failed>;
    /// Judges another's answers.
    fn judge(&self, ready: &Self::Ready, other: &Witness) -> Result<(), Failed>;
    /// The operation that is timed, of the input at this place.
    fn once(&self, ready: &Self::Ready, at: usize) -> Result<(), Failed>;
    /// Where the library comes from.
    fn provenance(&self) -> Provenance;
}

/// The subject that does such work.
pub(super) struct Timed<W: Work> {
    work: W,
    ready: Option<W::Ready>,
    next: usize,
}

impl<W: Work> Timed<W> {
    pub(super) fn new(work: W) -> Self {
        Self { work, ready: None, next: 0 }
    }
}

impl<W: Work> Subject for Timed<W> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = self.work.ready(seed).map_err(Refusal::failed)?;
        let witness = self.work.witness(&ready).map_err(Refusal::failed)?;
        self.ready = Some(ready);
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let ready = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        self.work.judge(ready, other).map_err(Mismatch::new)
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_ref().expect("prepare comes before run");
        for _ in 0..iterations {
            self.work.once(ready, self.next).expect("the operation has worked before");
            self.next = (self.next + 1) % INPUTS;
        }
    }

    fn provenance(&self) -> Provenance {
        self.work.provenance()
    }
}

/// A part of another's witness.
pub(super) fn part<'w>(other: &'w Witness, name: &str) -> Result<&'w [u8], Failed> {
    other.part(name).map_err(|_| "lacks an answer")
}

/// Whether an answer is what was expected.
pub(super) fn same(expected: &[u8], answer: &[u8]) -> Result<(), Failed> {
    if expected == answer { Ok(()) } else { Err("another answer than this library's") }
}
