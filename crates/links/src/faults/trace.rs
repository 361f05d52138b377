//! The events of a scenario: their digest, and if somebody wants to read them, their text.

use candor_primitives::hash::{Digest, Sha256};
use std::fmt::{Arguments, Write};
use std::time::Duration;

pub(super) struct Trace {
    hash: Sha256,
    line: String,
    kept: Option<String>,
    /// When the last event was.
    now: Duration,
}

impl Trace {
    pub(super) fn new(keep: bool) -> Self {
        Self { hash: Sha256::new(), line: String::new(), kept: keep.then(String::new), now: Duration::ZERO }
    }

    pub(super) fn note(&mut self, now: Duration, event: Arguments<'_>) {
        self.now = now;
        self.line.clear();
        let _ = writeln!(self.line, "{:>14.6} ms  {event}", now.as_secs_f64() * 1e3);
        self.hash.update(self.line.as_bytes());
        if let Some(kept) = &mut self.kept {
            kept.push_str(&self.line);
        }
    }

    /// Notes something at the time of the last event.
    pub(super) fn note_last(&mut self, event: Arguments<'_>) {
        self.note(self.now, event);
    }

    pub(super) fn finish(self) -> ([u8; 32], String) {
        (self.hash.finalize().into(), self.kept.unwrap_or_default())
    }
}
