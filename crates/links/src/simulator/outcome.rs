//! What became of a circuit.

use candor_onion::circuit::Failure;
use std::time::Duration;

/// What became of a circuit, in virtual time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When the client began.
    pub began: Duration,
    /// How long its link to the guard took; zero if it was there.
    pub link: Duration,
    /// How long each hop took. The links that relays make stand in the hop that needs them.
    pub hops: Vec<Duration>,
    /// From the beginning to the last hop, and to the further round trips that were asked for. `None` if the circuit was not built.
    pub built: Option<Duration>,
    /// Why it was not built, or closed later.
    pub failure: Option<Failure>,
    /// When that was.
    pub failed_at: Option<Duration>,
    /// Cells over the links, up to the last hop: those to guard, middle and exit, each out and in. Those that make a link don't count.
    pub cells: [[u64; 2]; 3],
    /// Bytes of TLS over the same links, those that make a link included.
    pub bytes: [[u64; 2]; 3],
    /// From asking for the page to its first byte at the client.
    pub first_byte: Option<Duration>,
    /// From asking for the page to its last byte at the client.
    pub last_byte: Option<Duration>,
    /// Bytes of the page that have come.
    pub fetched: u64,
    /// Segments that were sent again, on all connections of the circuit.
    pub resent: u64,
    /// Packets of the circuit that found no link, its queue full, or were lost.
    pub dropped: [u64; 3],
}

impl Outcome {
    /// Bits of the page per second, from asking for it to its last byte.
    pub fn goodput(&self) -> Option<f64> {
        Some(self.fetched as f64 * 8.0 / self.last_byte?.as_secs_f64())
    }
}
