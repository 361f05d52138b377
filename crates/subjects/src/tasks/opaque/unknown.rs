//! `opaque/hybrid/unknown-user`: does the server's time betray whether there is an account?
//!
//! The same KE1 is answered for a user that exists, which is the baseline, and for one that does not. A third row does a planted 2 % more than
//! the baseline: if that is not found, then neither would a leak be.

use crate::ours;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::opaque::{Keys, Library};
use candor_primitives::hash::{Digest, Sha256};
use std::hint::black_box;
use std::time::Instant;

const TIMED: &str = "the server's answer: KE1 and the stored record, if there is one, in as bytes, KE2 out as bytes";

pub(super) fn task() -> Task {
    let what = "OPAQUE, suite hybrid, for a user that exists, for one that does not, and with 2 % more work";
    let mut task = Task::new("opaque/hybrid/unknown-user", format!("{what}: {TIMED}"));
    for (name, case) in [
        ("candor@auto", Case::Known),
        ("candor@auto+unknown", Case::Unknown),
        ("candor@auto+planted-2%", Case::Planted),
    ] {
        task.entries.push(Entry::new(name, move || Ok(Answers { case, ready: None, extra: 0 })));
    }
    task
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Known,
    Unknown,
    Planted,
}

struct Answers {
    case: Case,
    ready: Option<(ours::HybridOpaque, Vec<u8>, Vec<u8>)>,
    /// Hashes of 64 bytes that are 2 % of an answer.
    extra: u64,
}

impl Answers {
    fn answer(&self) {
        let (library, record, ke1) = self.ready.as_ref().expect("prepared before it runs");
        let record = (self.case != Case::Unknown).then_some(record.as_slice());
        black_box(library.ke2(black_box(record), black_box(ke1)).expect("it worked when it was prepared"));
    }

    fn hash() {
        black_box(Sha256::digest(black_box([0; 64])));
    }
}

/// The least of some timings of `work`, in nanoseconds for one time.
fn least(times: u32, work: impl Fn()) -> f64 {
    let timing = |_| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        start.elapsed().as_nanos() as f64 / f64::from(times)
    };
    (0..15).map(timing).fold(f64::INFINITY, f64::min)
}

impl Subject for Answers {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let keys = Keys::of(seed);
        let library = ours::hybrid_opaque(&keys).map_err(Refusal::failed)?;
        let record = ours::upload(&keys, seed).and_then(|upload| library.store(&upload)).map_err(Refusal::failed)?;
        let (_, ke1) = library.ke1().map_err(Refusal::failed)?;
        let (_, ke2) =
            library.ke2((self.case != Case::Unknown).then_some(record.as_slice()), &ke1).map_err(Refusal::failed)?;
        let length = (ke2.len() as u64).to_le_bytes();
        self.ready = Some((library, record, ke1));
        if self.case == Case::Planted {
            self.extra = (0.02 * least(5, || self.answer()) / least(1000, Self::hash)).round() as u64;
        }
        // Random, all of it: what can be compared is that nobody can tell by the length.
        Ok(Witness::default().with("length of KE2", length))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        Witness::default().with("length of KE2", 1408u64.to_le_bytes()).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.answer();
            (0..self.extra).for_each(|_| Self::hash());
        }
    }

    fn provenance(&self) -> Provenance {
        let timed = match self.case {
            Case::Known => format!("{TIMED}; the user exists"),
            Case::Unknown => format!("{TIMED}; the user does not exist"),
            Case::Planted => format!("{TIMED}; the user exists, and {} hashes of 64 bytes are added, 2 %", self.extra),
        };
        ours::opaque_provenance(&timed).telling([BY_SYSTEM_CALL])
    }
}
