//! What the server tells its operator. An event has no place for a name, a token or a message.

use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Events of one kind in a [`TURN`]; the rest is counted.
const MOST: u32 = 20;
const TURN: Duration = Duration::from_secs(60);

/// Something that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The server takes requests.
    Ready {
        /// Where.
        address: SocketAddr,
        /// Whether by TLS.
        tls: bool,
    },
    /// The server takes no more connections, and finishes what it has begun.
    Stopping,
    /// All is finished, or the time for it is over.
    Stopped {
        /// Connections that were cut off.
        cut: usize,
    },
    /// The database did not do what it should have.
    Database {
        /// The route that asked.
        route: &'static str,
        /// What the store said.
        why: String,
    },
    /// A request failed for a reason that is none of the client's.
    Failed {
        /// The route.
        route: &'static str,
        /// What went wrong.
        why: String,
    },
    /// A connection could not be accepted.
    Accept {
        /// The system's words.
        why: String,
    },
    /// More events of a kind came than are told of in a minute.
    Suppressed {
        /// How many were left out.
        events: u32,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { address, tls } => {
                write!(f, "ready at {}://{address}", if *tls { "https" } else { "http" })
            }
            Self::Stopping => f.write_str("finishing requests; no new connections"),
            Self::Stopped { cut: 0 } => f.write_str("stopped"),
            Self::Stopped { cut } => write!(f, "stopped; {cut} connections were cut off"),
            Self::Database { route, why } => write!(f, "{route}: {why}"),
            Self::Failed { route, why } => write!(f, "{route}: {why}"),
            Self::Accept { why } => write!(f, "can't accept a connection: {why}"),
            Self::Suppressed { events } => write!(f, "{events} more events like the last were not logged"),
        }
    }
}

/// Takes events; at most so many of a kind in a minute.
#[derive(Clone)]
pub struct Log {
    sink: Arc<dyn Fn(&Event) + Send + Sync>,
    turns: Arc<Mutex<HashMap<Discriminant<Event>, Turn>>>,
}

struct Turn {
    since: Instant,
    told: u32,
    left_out: u32,
}

impl Log {
    /// Hands events to `sink`, which must not block.
    pub fn new(sink: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self { sink: Arc::new(sink), turns: Arc::default() }
    }

    pub(crate) fn tell(&self, event: &Event) {
        let left_out = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let turn = turns.entry(discriminant(event)).or_insert(Turn { since: now, told: 0, left_out: 0 });
            let mut left_out = 0;
            if now.saturating_duration_since(turn.since) >= TURN {
                left_out = turn.left_out;
                *turn = Turn { since: now, told: 0, left_out: 0 };
            }
            if turn.told >= MOST {
                turn.left_out += 1;
                return;
            }
            turn.told += 1;
            left_out
        };
        if left_out > 0 {
            (self.sink)(&Event::Suppressed { events: left_out });
        }
        (self.sink)(event);
    }
}

impl Default for Log {
    /// Tells nobody.
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_events_of_one_kind_is_cut_short_and_others_are_told() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Log::new({
            let told = Arc::clone(&told);
            move |event| told.lock().unwrap().push(event.to_string())
        });
        for number in 0..1000 {
            log.tell(&Event::Accept { why: number.to_string() });
        }
        log.tell(&Event::Stopping);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), MOST as usize + 1);
        assert_eq!(told[0], "can't accept a connection: 0");
        assert_eq!(told[20], "finishing requests; no new connections");
    }

    #[test]
    fn an_event_is_one_line_of_json() {
        let event = Event::Ready { address: ([127, 0, 0, 1], 80).into(), tls: false };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line, r#"{"event":"ready","address":"127.0.0.1:80","tls":false}"#);
        assert_eq!(event.to_string(), "ready at http://127.0.0.1:80");
    }
}
