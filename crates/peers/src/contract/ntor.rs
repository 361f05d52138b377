//! Circuit handshakes, whole.
//!
//! A handshake by one implementation is a [`Scheme`]; the subject in `handshake` is generic over it, and `judge` checks it.

mod handshake;
mod judge;
mod schedule;

pub use handshake::entry;
pub use judge::{PARTS, RelaySecrets, check};

use super::ml_kem::Level;
use candor_lab::Provenance;

/// What an operation ends in when it fails: the library's own words.
#[derive(Debug)]
pub struct Failed(String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl Failed {
    /// In words of our own.
    #[must_use]
    pub fn because(why: &str) -> Self {
        Self(why.to_owned())
    }

    fn by_judge(why: &str) -> Self {
        Self(format!("the judge refuses its message: {why}"))
    }
}

impl From<Failed> for String {
    fn from(failed: Failed) -> Self {
        failed.0
    }
}

/// A handshake by one implementation.
pub trait Scheme: 'static {
    /// A relay: all that is parsed before the clock starts, and what a client knows of it.
    type Relay;
    /// A client that waits for the reply.
    type Waiting;
    /// The keys at the end, expanded.
    type Keys: AsRef<[u8]>;

    /// The relay with these secrets.
    fn relay(&self, secrets: &RelaySecrets) -> Result<Self::Relay, Failed>;
    /// The client's first step; the onionskin comes with it.
    fn start(&self, relay: &Self::Relay) -> Result<(Self::Waiting, Vec<u8>), Failed>;
    /// All that the relay does with an onionskin; the reply and its keys.
    fn answer(&self, relay: &Self::Relay, onionskin: &[u8]) -> Result<(Vec<u8>, Self::Keys), Failed>;
    /// The client's last step; its keys.
    fn finish(&self, waiting: Self::Waiting, reply: &[u8]) -> Result<Self::Keys, Failed>;

    /// Where the implementation comes from. `timed` says what the timed call does.
    fn provenance(&self, timed: &str) -> Provenance;
}

/// A handshake, whoever implements it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tor's `ntor` (tor-spec).
    Ntor,
    /// Tor's `ntor-v3` (proposal 332).
    NtorV3,
    /// candor's hybrid with ML-KEM.
    Hybrid(Level),
    /// candor's hybrid with ML-KEM and a static KEM key of the relay.
    HybridAuth(Level),
    /// INSECURE: the scheme of pq-ntor-experiment.
    InsecureSeed(Level),
}

impl Kind {
    /// The handshakes that authenticate the relay.
    pub fn authenticated() -> impl Iterator<Item = Self> {
        let classical = [Self::Ntor, Self::NtorV3].into_iter();
        classical.chain(Level::ALL.map(Self::Hybrid)).chain(Level::ALL.map(Self::HybridAuth))
    }

    /// All handshakes.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::authenticated().chain(Level::ALL.map(Self::InsecureSeed))
    }

    /// The handshake's name in a task.
    pub fn name(self) -> String {
        match self {
            Self::Ntor => "ntor".into(),
            Self::NtorV3 => "ntor-v3".into(),
            Self::Hybrid(level) => format!("hybrid-{}", level.number()),
            Self::HybridAuth(level) => format!("hybrid-{}-auth", level.number()),
            Self::InsecureSeed(level) => format!("insecure-seed-{}", level.number()),
        }
    }

    /// The KEM's parameter set, if there is a KEM.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::Ntor | Self::NtorV3 => None,
            Self::Hybrid(level) | Self::HybridAuth(level) | Self::InsecureSeed(level) => Some(level),
        }
    }

    /// Whether the relay has a static KEM key.
    pub fn has_static_kem(self) -> bool {
        matches!(self, Self::HybridAuth(_))
    }

    /// What the timed call does, in a sentence without its stop.
    pub fn timed(self) -> String {
        let keys = match self {
            Self::InsecureSeed(_) => "80 bytes of keys on both sides",
            _ => "72 bytes of keys on both sides, empty extension messages",
        };
        format!(
            "a whole handshake: the client starts, the relay accepts and answers, the client finishes; {keys}; the relay's \
             keys are parsed before"
        )
    }

    /// The operations in it, in words.
    pub fn operations(self) -> String {
        let x25519 = "2 X25519 key generations, 4 agreements";
        match self {
            Self::Ntor | Self::NtorV3 => x25519.into(),
            Self::Hybrid(level) => format!("{x25519}, ML-KEM-{}: {ONE_EXCHANGE}", level.number()),
            Self::HybridAuth(level) => format!(
                "{x25519}, ML-KEM-{}: {ONE_EXCHANGE}, and encapsulation and decapsulation with the relay's static key",
                level.number()
            ),
            Self::InsecureSeed(level) => format!("ML-KEM-{}: {ONE_EXCHANGE}", level.number()),
        }
    }
}

const ONE_EXCHANGE: &str = "key generation, encapsulation with parsing the fresh key, decapsulation";

/// Bytes before the handshake's in an EXTEND2 message: NSPEC, an IPv4 address, an RSA and an Ed25519 identity (tor-spec,
/// "EXTEND and EXTENDED cells"), HTYPE and HLEN.
pub const EXTEND2: usize = 1 + (2 + 6) + (2 + 20) + (2 + 32) + 2 + 2;
/// Bytes before the handshake's in an EXTENDED2 message: HLEN.
pub const EXTENDED2: usize = 2;
/// What a cell in relay format V1 (prop 359) has room for: the first holds the message's command and length as well
/// (prop 340).
const FIRST_CELL: usize = NEXT_CELL - 1 - 2;
const NEXT_CELL: usize = 509 - 16;

/// Cells that a message with `bytes` bytes of body takes.
pub fn cells(bytes: usize) -> usize {
    1 + bytes.saturating_sub(FIRST_CELL).div_ceil(NEXT_CELL)
}

/// Both messages in bytes and in cells.
pub fn sizes(onionskin: usize, reply: usize) -> String {
    let count = |cells: usize| if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") };
    format!(
        "onionskin {onionskin} bytes ({} as EXTEND2), reply {reply} bytes ({} as EXTENDED2)",
        count(cells(EXTEND2 + onionskin)),
        count(cells(EXTENDED2 + reply))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_full_before_the_next_begins() {
        assert_eq!((FIRST_CELL, NEXT_CELL), (490, 493));
        let full = [490, 490 + 493, 490 + 2 * 493];
        assert_eq!(full.map(cells), [1, 2, 3]);
        assert_eq!(full.map(|bytes| cells(bytes + 1)), [2, 3, 4]);
        assert_eq!(cells(0), 1);
    }

    #[test]
    fn cells_are_those_of_the_facts() {
        // ntor-v3, hybrid-768 and hybrid-1024-auth, with ten bytes of extensions.
        let both = |onionskin, reply| (cells(EXTEND2 + onionskin), cells(EXTENDED2 + reply));
        assert_eq!(both(138, 74), (1, 1));
        assert_eq!(both(1290, 1162), (3, 3));
        assert_eq!(both(3242, 1642), (7, 4));
        assert_eq!(both(2378, 1162), (5, 3));
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = Kind::all().map(Kind::name).collect();
        assert_eq!(names.len(), Kind::all().count());
    }
}
