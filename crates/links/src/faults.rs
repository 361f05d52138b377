//! Circuits under faults, in virtual time: relays that die, links that are cut, hops that send garbage, floods, readers that stop.
//!
//! A [`Scenario`] follows from a seed and a number: a client, three relays and a target, often a second client, with links, sizes, handshake, layers, and mostly one
//! fault. [`run`] carries it out. The state machines are those of `onion`, with cells as bytes over [`transport`](crate::transport) and
//! [`model`](crate::model); what `candor-network` does around them (links by number, queues, who gives up when) is written here once more, without threads and clocks, since
//! there it stands on tokio. `docs/faults.md` says which is which.
//!
//! In every scenario must hold what [`Violation`] lists the opposites of:
//!
//! - Each client has all bytes, or an error that names hop and cause. It never waits longer than [`MOST_WAIT`] for a sign of progress, and events end.
//! - What arrives of a stream is what was sent, from its beginning, without a gap, in order, and had been sent before.
//! - No link carries plaintext; nothing panics.
//! - Queues and unread bytes stay within what flow control allows.
//! - Whoever no fault concerned has everything, and so has whoever had to bear a single one that was [soon over](What::is_outlived).
//! - In the end no relay has a circuit, a stream, a number or a cell left.
//! - A second run has the same events.
//!
//! [`Plant`] has a mistake for each of these; tests plant them, and each must be found.
//!
//! ```
//! use candor_links::faults::{Scenario, run};
//! let report = run(&Scenario::draw(1, 7), None, false);
//! assert_eq!(report.violation, None);
//! ```

mod explore;
mod fault;
mod judge;
mod outbox;
mod plant;
mod scenario;
mod trace;
mod wire;
mod world;

pub use explore::{Exploration, Found, Row, explore, explore_by};
pub use fault::{Fault, FloodKind, Garbage, Spot, What};
pub use judge::{CONTROL, HANDSHAKES, MOST_STEPS, MOST_WAIT, Violation};
pub use plant::{End, Hurt, Kept, Plant, Work};
pub use scenario::{Line, Scenario, Sizes, Upgrade};

use self::trace::Trace;
use self::world::{Ended, World};
use candor_onion::circuit::{Cause, Failure};
use candor_onion::relay::message::EndReason;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// How long a client with open streams sees no progress before it asks its hops for a sign of life.
pub const STALL: Duration = Duration::from_secs(10);
/// How long it then waits for their answers.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes of all streams, both ways.
    Delivered,
    /// An error.
    Ended {
        /// The hop that it names, from 1.
        hop: Option<usize>,
        /// The cause.
        why: Why,
        /// Whether the circuit was built.
        is_built: bool,
    },
}

/// Why a client did not get everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The circuit has ended.
    Circuit(Cause),
    /// The hop gave no sign of life.
    Silent,
    /// All hops did, and yet nothing comes.
    Stalled,
    /// The exit ended a stream.
    Stream(EndReason),
}

impl Outcome {
    fn ended(failure: Failure, is_built: bool) -> Self {
        Self::Ended { hop: failure.hop, why: Why::Circuit(failure.cause), is_built }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered => f.write_str("everything arrived"),
            Self::Ended { hop: Some(hop), why, .. } => write!(f, "hop {hop}: {why}"),
            Self::Ended { hop: None, why, .. } => write!(f, "circuit: {why}"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Its text without the hop.
            Self::Circuit(cause) => {
                let text = Failure { hop: None, cause: *cause }.to_string();
                f.write_str(text.strip_prefix("circuit: ").unwrap_or(&text))
            }
            Self::Silent => write!(f, "no sign of life within {} s", PATIENCE.as_secs()),
            Self::Stalled => f.write_str("the target is silent; all hops answer"),
            Self::Stream(reason) => write!(f, "stream ended: {reason}"),
        }
    }
}

/// What became of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of the client that the faults are aimed at; `None` if there is a violation.
    pub outcome: Option<Outcome>,
    /// How many of the faults struck. Some wait for a cell that never comes.
    pub struck: usize,
    /// What should not have been.
    pub violation: Option<Violation>,
    /// SHA-256 of the events.
    pub digest: [u8; 32],
    /// The events, a line each, if they were asked for.
    pub trace: String,
    /// How many events of the world there were, each segment one.
    pub events: u64,
    /// Virtual time until the last client had its outcome.
    pub time: Duration,
}

/// Carries a scenario out twice, and compares the events. `plant` plants a mistake; `trace` asks for the events as text.
pub fn run(scenario: &Scenario, plant: Option<Plant>, trace: bool) -> Report {
    let first = once(scenario, plant, trace);
    if first.violation.is_some() {
        return first;
    }
    let second = once(scenario, plant, false);
    match second.digest == first.digest {
        true => first,
        false => Report { violation: Some(Violation::Differs), ..first },
    }
}

fn once(scenario: &Scenario, plant: Option<Plant>, keep_trace: bool) -> Report {
    // Outside of what may panic, since a panic has events too.
    let mut trace = Trace::new(keep_trace);
    let ended = catch_unwind(AssertUnwindSafe(|| World::new(scenario, plant, &mut trace).map(World::run)));
    let panicked = |message: String| Ended {
        outcomes: Vec::new(),
        struck: 0,
        violation: Some(Violation::Panicked { message }),
        events: 0,
        time: Duration::ZERO,
    };
    let Ended { outcomes, struck, violation, events, time } = match ended {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => panicked(format!("can't make the relays' keys: {error}")),
        Err(cause) => {
            let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
            panicked(text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_default())
        }
    };
    if let Some(violation) = &violation {
        trace.note_last(format_args!("VIOLATED: {violation}"));
    }
    let (digest, trace) = trace.finish();
    Report { outcome: outcomes.into_iter().next().flatten(), struck, violation, digest, trace, events, time }
}
