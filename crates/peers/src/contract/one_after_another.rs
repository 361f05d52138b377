//! What a library does that takes one operation in a call, beside those that take several.

use candor_lab::{Entry, Habit, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};

/// An entry for a single operation, which does it `times` times, one after another.
#[must_use]
pub(super) fn one_after_another(entry: Entry, times: usize) -> Entry {
    Entry::new(entry.subject.clone(), move || Ok(OneAfterAnother { subject: entry.make()?, times }))
}

struct OneAfterAnother {
    subject: Box<dyn Subject>,
    times: usize,
}

impl Subject for OneAfterAnother {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.subject.prepare(seed)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.subject.check(other)
    }

    fn run(&mut self, iterations: u64) {
        self.subject.run(self.times as u64 * iterations);
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.subject.quantities()
    }

    fn provenance(&self) -> Provenance {
        let provenance = self.subject.provenance();
        let timed = format!("{} times, one after another, with one key: {}", self.times, provenance.timed);
        Provenance { timed, ..provenance }.with([Habit::OneAfterAnother])
    }
}
