//! What a proxy has done and is doing, in numbers.

use super::socks::Reply;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A proxy's numbers at one moment. Those that only grow count from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyMetrics {
    /// Connections of clients, handshakes included.
    pub connections: u64,
    /// Of these, those that have not yet said what they want.
    pub half_open: u64,
    /// Connections that found no place.
    pub turned_away: u64,
    /// Connections that were given up for a newer one before they said what they want.
    pub displaced: u64,
    /// Connections that took too long to say what they want.
    pub late: u64,
    /// Connections whose handshake was neither SOCKS nor HTTP, or broke its rules.
    pub garbage: u64,
    /// Circuits that are open, in use or ahead of it.
    pub circuits: u64,
    /// Circuits that were built.
    pub circuits_built: u64,
    /// Of these, circuits whose last layer was upgraded.
    pub upgrades: u64,
    /// Circuits that could not be built.
    pub circuits_failed: u64,
    /// Streams that are open.
    pub streams: u64,
    /// Requests by the reply that they got, in the order of [`Reply::ALL`].
    pub replies: [u64; 9],
    /// Streams that were tried again on another path.
    pub retries: u64,
    /// Bytes from clients, as sent through circuits.
    pub bytes_up: u64,
    /// Bytes to clients.
    pub bytes_down: u64,
    /// How long the link to the guard took, where there was none.
    pub link: Stage,
    /// How long each hop's handshake took, the guard's first.
    pub hops: [Stage; 3],
    /// How long the exit took to open a stream.
    pub stream: Stage,
}

impl ProxyMetrics {
    /// How many requests got that reply.
    pub fn replied(&self, reply: Reply) -> u64 {
        self.replies[reply as usize]
    }
}

/// Times of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// How many there were.
    pub count: u64,
    /// Their sum.
    pub total: Duration,
    /// The longest.
    pub longest: Duration,
    /// The latest.
    pub last: Duration,
}

/// The same, as they are counted.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) turned_away: Count,
    pub(super) displaced: Count,
    pub(super) late: Count,
    pub(super) garbage: Count,
    pub(super) circuits: Count,
    pub(super) circuits_built: Count,
    pub(super) upgrades: Count,
    pub(super) circuits_failed: Count,
    pub(super) streams: Count,
    pub(super) replies: [Count; 9],
    pub(super) retries: Count,
    pub(super) bytes_up: Count,
    pub(super) bytes_down: Count,
    pub(super) link: Times,
    pub(super) hops: [Times; 3],
    pub(super) stream: Times,
}

impl Counters {
    pub(super) fn replied(&self, reply: Reply) {
        self.replies[reply as usize].add(1);
    }

    pub(super) fn snapshot(&self, connections: usize, half_open: usize) -> ProxyMetrics {
        ProxyMetrics {
            connections: connections as u64,
            half_open: half_open as u64,
            turned_away: self.turned_away.now(),
            displaced: self.displaced.now(),
            late: self.late.now(),
            garbage: self.garbage.now(),
            circuits: self.circuits.now(),
            circuits_built: self.circuits_built.now(),
            upgrades: self.upgrades.now(),
            circuits_failed: self.circuits_failed.now(),
            streams: self.streams.now(),
            replies: std::array::from_fn(|reply| self.replies[reply].now()),
            retries: self.retries.now(),
            bytes_up: self.bytes_up.now(),
            bytes_down: self.bytes_down.now(),
            link: self.link.now(),
            hops: std::array::from_fn(|hop| self.hops[hop].now()),
            stream: self.stream.now(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    /// Counts one more, and gives its number.
    pub(super) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts one as long as the guard lives.
    pub(super) fn hold(of: &Arc<Counters>, which: fn(&Counters) -> &Self) -> Held {
        which(of).add(1);
        Held { of: Arc::clone(of), which }
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One that counts until it is dropped.
pub(super) struct Held {
    of: Arc<Counters>,
    which: fn(&Counters) -> &Count,
}

impl Drop for Held {
    fn drop(&mut self) {
        (self.which)(&self.of).0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub(super) struct Times {
    count: AtomicU64,
    total: AtomicU64,
    longest: AtomicU64,
    last: AtomicU64,
}

impl Times {
    pub(super) fn took(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(nanos, Ordering::Relaxed);
        self.longest.fetch_max(nanos, Ordering::Relaxed);
        self.last.store(nanos, Ordering::Relaxed);
    }

    fn now(&self) -> Stage {
        let time = |nanos: &AtomicU64| Duration::from_nanos(nanos.load(Ordering::Relaxed));
        Stage {
            count: self.count.load(Ordering::Relaxed),
            total: time(&self.total),
            longest: time(&self.longest),
            last: time(&self.last),
        }
    }
}
