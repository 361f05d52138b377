//! What a relay tells its operator, and how often.

use crate::clock;
use crate::link::locked;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a relay has to tell its operator. Nothing in it comes from a client: no client's addresses, no targets, and no addresses that
/// clients have asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayEvent {
    /// A link was made without a post-quantum key exchange: what it carries is as safe as its circuits.
    NotPostQuantum {
        /// The key exchange that was used.
        group: String,
        /// Whether the other side is a relay.
        relay: bool,
    },
    /// A link from or to another relay or client did not come about.
    LinkFailed {
        /// What went wrong.
        why: String,
    },
    /// Handshakes come faster than they can be answered. Said at the first that is refused, and whenever their number has doubled.
    Overloaded {
        /// How many have been refused so far.
        refused: u64,
    },
    /// Somebody was refused for taking more than a share of the relay.
    TooMany {
        /// What there were too many of.
        what: &'static str,
        /// Whether one network had too many; otherwise the relay as a whole.
        network: bool,
    },
    /// The system allows fewer open files than the relay's limits need.
    FewFiles {
        /// How many it allows.
        allowed: u64,
        /// How many all links and streams need.
        needed: u64,
    },
    /// The process, or the system, has as many files open as it may: nothing can be connected or taken in.
    NoFiles,
    /// New onion keys are in use. Clients need the relay's new line before the overlap ends.
    KeysRenewed,
    /// The relay's line could not be written into the file of its entry; it tries again.
    EntryFailed {
        /// Why.
        why: String,
    },
    /// Keys or certificates could not be renewed; the old ones stay in use, and the relay tries again.
    RenewalFailed {
        /// What went wrong.
        why: String,
    },
    /// Events of the last minute that were not told one by one, since there were too many of their kind.
    NotTold {
        /// How many.
        events: u64,
    },
}

impl fmt::Display for RelayEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPostQuantum { group, relay } => {
                let who = if *relay { "a relay" } else { "a client" };
                write!(f, "a link with {who} has no post-quantum key exchange ({group})")
            }
            Self::LinkFailed { why } => write!(f, "a link failed: {why}"),
            Self::Overloaded { refused } => {
                write!(f, "more handshakes than can be answered: {refused} refused so far; see --handshake-threads")
            }
            Self::TooMany { what, network: true } => write!(f, "refused: too many {what} from one network"),
            Self::TooMany { what, network: false } => write!(f, "refused: too many {what}"),
            Self::FewFiles { allowed, needed } => {
                write!(
                    f,
                    "the system allows {allowed} open files and full load needs {needed}; raise the limit (ulimit -n)"
                )
            }
            Self::NoFiles => {
                f.write_str("too many open files: connections have to wait; raise the limit (ulimit -n) or lower --links and --streams")
            }
            Self::KeysRenewed => f.write_str("new onion keys are in use; pass on the relay's new line"),
            Self::EntryFailed { why } => write!(f, "the relay's entry is out of date, will try again: {why}"),
            Self::RenewalFailed { why } => write!(f, "can't renew keys, will try again: {why}"),
            Self::NotTold { events } => write!(f, "{events} more events in the last minute"),
        }
    }
}

/// How long lines are counted together.
const WINDOW: Duration = Duration::from_secs(60);

/// Passes events on, so many of a kind in a minute: whoever provokes events must not be able to fill the operator's disk.
pub(super) struct Journal {
    sink: Arc<dyn Fn(&RelayEvent) + Send + Sync>,
    most: u32,
    window: Mutex<Window>,
}

struct Window {
    since: Instant,
    told: Vec<(Discriminant<RelayEvent>, u32)>,
    not_told: u64,
}

impl Journal {
    pub(super) fn new(sink: Arc<dyn Fn(&RelayEvent) + Send + Sync>, most: u32) -> Self {
        Self { sink, most, window: Mutex::new(Window { since: clock::instant(), told: Vec::new(), not_told: 0 }) }
    }

    pub(super) fn tell(&self, event: &RelayEvent) {
        self.turn();
        let may = {
            let mut window = locked(&self.window);
            let kind = discriminant(event);
            let index = window.told.iter().position(|(told, _)| *told == kind).unwrap_or_else(|| {
                window.told.push((kind, 0));
                window.told.len() - 1
            });
            let told = &mut window.told[index].1;
            let may = *told < self.most;
            *told += u32::from(may);
            window.not_told += u64::from(!may);
            may
        };
        if may {
            (self.sink)(event);
        }
    }

    /// Says at the end of a window how much was left out.
    pub(super) fn turn(&self) {
        let not_told = {
            let mut window = locked(&self.window);
            let now = clock::instant();
            if now.saturating_duration_since(window.since) < WINDOW {
                return;
            }
            window.since = now;
            window.told.clear();
            std::mem::take(&mut window.not_told)
        };
        if not_told > 0 {
            (self.sink)(&RelayEvent::NotTold { events: not_told });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_events_of_a_kind_are_counted_and_others_are_still_told() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let journal = Journal::new(Arc::new(move |event| locked(&sink).push(event.clone())), 2);
        for _ in 0..10 {
            journal.tell(&RelayEvent::LinkFailed { why: "nobody there".into() });
        }
        journal.tell(&RelayEvent::KeysRenewed);
        assert_eq!(locked(&told).len(), 3);
        journal.turn();
        assert_eq!(locked(&told).len(), 3, "the minute is not over");
        tokio::time::advance(WINDOW).await;
        journal.turn();
        journal.turn();
        assert_eq!(locked(&told)[3..], [RelayEvent::NotTold { events: 8 }]);
        journal.tell(&RelayEvent::LinkFailed { why: "nobody there".into() });
        assert_eq!(locked(&told).len(), 5, "and a new minute begins");
    }
}
