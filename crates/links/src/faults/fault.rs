//! What goes wrong, where, and when.

use std::fmt;
use std::time::Duration;

/// Names of the links, from the client.
const LINKS: [&str; 3] = ["client-guard", "guard-middle", "middle-exit"];
/// Names of the relays.
const RELAYS: [&str; 3] = ["guard", "middle", "exit"];

/// A direction of a link on the way of the circuit that the faults are aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Which link, from the client: 0 to 2.
    pub link: usize,
    /// Away from the client.
    pub outward: bool,
}

impl Spot {
    /// The relay that sends in this direction; `None` for the client.
    pub fn sender(self) -> Option<usize> {
        if self.outward { self.link.checked_sub(1) } else { Some(self.link) }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", LINKS[self.link], if self.outward { "outward" } else { "inward" })
    }
}

/// A fault, and the cell with which it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happens.
    pub what: What,
    /// Where cells are counted. Garbage is sent there, a cut link is that link.
    pub spot: Spot,
    /// It strikes as this cell leaves, counted from 1.
    pub cell: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at cell {} {}", self.what, self.cell, self.spot)
    }
}

/// What happens. A time of `None` is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A relay's process dies; its host resets the connections. Of the cell that is being sent, this many bytes are out.
    Kill {
        /// Which, from 0.
        relay: usize,
        /// Bytes of the cell that leave.
        bytes: usize,
    },
    /// A relay's host says and hears nothing.
    Silence {
        /// Which, from 0.
        relay: usize,
        /// For how long.
        time: Option<Duration>,
    },
    /// A relay's process stands still, while its host's kernel goes on acknowledging.
    Freeze {
        /// Which, from 0.
        relay: usize,
        /// For how long.
        time: Option<Duration>,
    },
    /// No packet passes the link.
    Partition {
        /// For how long.
        time: Option<Duration>,
    },
    /// The link has another rate and a longer delay.
    Slow {
        /// Bits per second.
        rate: u64,
        /// Added to its delay.
        delay: Duration,
        /// For how long.
        time: Option<Duration>,
    },
    /// The link loses packets.
    Loss {
        /// How many in a hundred.
        percent: u32,
        /// For how long.
        time: Option<Duration>,
    },
    /// The sender is hostile, or broken.
    Garbage(Garbage),
    /// Somebody floods a relay with circuit creations.
    Flood {
        /// Which, from 0.
        relay: usize,
        /// How many.
        creations: u32,
        /// Of what.
        kind: FloodKind,
    },
    /// The client's application reads nothing.
    ClientStops {
        /// For how long.
        time: Duration,
    },
    /// The target takes and gives nothing.
    TargetStops {
        /// For how long.
        time: Option<Duration>,
    },
    /// A relay has room for so few cells of a circuit in a link's queue.
    Room {
        /// Which, from 0.
        relay: usize,
        /// Cells.
        cells: usize,
    },
}

/// What a flood consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloodKind {
    /// Onionskins of random bytes.
    Noise,
    /// Good onionskins.
    Good,
    /// One good onionskin, again and again.
    Replayed,
}

/// What a hop does to a cell of the circuit, or sends beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// A bit of the payload is flipped.
    Flip {
        /// Which; the payload's length divides it.
        bit: usize,
    },
    /// A bit of the circuit number is flipped.
    Number {
        /// Which, 0 to 31.
        bit: u32,
    },
    /// The cell carries the number of another circuit on the link, if there is one.
    Neighbour,
    /// Another command and a payload of random bytes.
    Command {
        /// The command.
        command: u8,
    },
    /// The cell is sent twice.
    Twice,
    /// The cell comes behind the circuit's next.
    Swapped,
    /// The cell is not sent.
    Dropped,
    /// The payload is zero from here on.
    Zeroed {
        /// First byte.
        from: usize,
    },
    /// The cell ends here, and all that follows on the link is noise.
    Cut {
        /// Bytes that are left.
        after: usize,
    },
    /// A RELAY cell of random bytes comes in front.
    Noise,
    /// The cell goes as RELAY_EARLY.
    Early,
    /// DESTROY comes in front.
    Destroy {
        /// Its reason.
        reason: u8,
    },
    /// The cell that came first on the circuit, its creation or the reply, is sent again.
    Replay {
        /// Under a number that is not in use.
        fresh: bool,
    },
    /// The cell before it is sent again, behind it.
    Stale,
    /// Padding comes in front.
    Padding {
        /// So many cells.
        cells: u32,
    },
    /// A variable cell that announces more bytes than anybody accepts.
    Giant,
}

impl What {
    /// Its row in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill { .. } => "relay killed",
            Self::Silence { time: None, .. } => "relay silent",
            Self::Silence { .. } => "relay silent for a time",
            Self::Freeze { time: None, .. } => "relay frozen",
            Self::Freeze { .. } => "relay frozen for a time",
            Self::Partition { time: None } => "link cut",
            Self::Partition { .. } => "link cut and healed",
            Self::Slow { .. } => "slow link",
            Self::Loss { .. } => "lossy link",
            Self::Garbage(garbage) => garbage.name(),
            Self::Flood { .. } => "flood of creations",
            Self::ClientStops { .. } => "client stops reading",
            Self::TargetStops { time: None } => "target hangs",
            Self::TargetStops { .. } => "target pauses",
            Self::Room { .. } => "short of room",
        }
    }

    /// How long it lasts; `None` for what is done in a moment, or stays.
    pub fn lasts(self) -> Option<Duration> {
        match self {
            Self::ClientStops { time } => Some(time),
            Self::Silence { time, .. }
            | Self::Freeze { time, .. }
            | Self::Partition { time }
            | Self::Slow { time, .. }
            | Self::Loss { time, .. }
            | Self::TargetStops { time } => time,
            _ => None,
        }
    }

    /// Whether all must arrive in spite of it.
    pub fn is_harmless(self) -> bool {
        match self {
            Self::Flood { .. } | Self::ClientStops { .. } => true,
            Self::TargetStops { time } => time.is_some(),
            // Padding concerns no circuit.
            Self::Garbage(garbage) => matches!(garbage, Garbage::Padding { .. }),
            _ => false,
        }
    }

    /// Whether a circuit must come through if nothing else goes wrong, since it is over before anybody gives up. `is_open`: the circuit is built when it strikes.
    ///
    /// A client gives a hop ten seconds, and an open circuit twenty without progress. A relay that stood still goes on at once, or with the next try of a link, a second
    /// later. Through a host or a link that was away, TCP comes again after as long as the outage was, and at most its first timeout, a second, more.
    pub fn is_outlived(self, is_open: bool) -> bool {
        let [building, open] = match self {
            Self::Freeze { .. } => [7, 18],
            Self::Silence { .. } | Self::Partition { .. } | Self::Slow { .. } | Self::Loss { .. } => [4, 8],
            _ => return false,
        };
        self.lasts().is_some_and(|time| time <= Duration::from_secs(if is_open { open } else { building }))
    }

    /// Whether other circuits over the same links must come through. `in_relay_cell`: it strikes a RELAY or RELAY_EARLY cell, whose payload any bytes may be.
    pub fn spares_others(self, in_relay_cell: bool) -> bool {
        match self {
            Self::Garbage(Garbage::Flip { .. } | Garbage::Zeroed { .. }) => in_relay_cell,
            // These break the framing, or name other circuits.
            Self::Garbage(garbage) => !matches!(
                garbage,
                Garbage::Number { .. }
                    | Garbage::Neighbour
                    | Garbage::Command { .. }
                    | Garbage::Cut { .. }
                    | Garbage::Giant
            ),
            what => what.is_harmless(),
        }
    }
}

impl Garbage {
    /// Its row in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flip { .. } => "garbage: bit flipped",
            Self::Number { .. } => "garbage: circuit number changed",
            Self::Neighbour => "garbage: number of another circuit",
            Self::Command { .. } => "garbage: another command",
            Self::Twice => "garbage: cell twice",
            Self::Swapped => "garbage: cells swapped",
            Self::Dropped => "garbage: cell dropped",
            Self::Zeroed { .. } => "garbage: payload zeroed",
            Self::Cut { .. } => "garbage: cell cut, noise behind",
            Self::Noise => "garbage: cell of noise",
            Self::Early => "garbage: RELAY_EARLY",
            Self::Destroy { .. } => "garbage: DESTROY",
            Self::Replay { .. } => "garbage: handshake replayed",
            Self::Stale => "garbage: old cell replayed",
            Self::Padding { .. } => "garbage: padding",
            Self::Giant => "garbage: giant cell",
        }
    }
}

struct For(Option<Duration>);

impl fmt::Display for For {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => write!(f, "for {} ms", time.as_millis()),
            None => f.write_str("for ever"),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Kill { relay, bytes } => write!(f, "{} killed after {bytes} bytes of a cell", RELAYS[relay]),
            Self::Silence { relay, time } => write!(f, "{} silent {}", RELAYS[relay], For(time)),
            Self::Freeze { relay, time } => write!(f, "{} frozen {}", RELAYS[relay], For(time)),
            Self::Partition { time } => write!(f, "link cut {}", For(time)),
            Self::Slow { rate, delay, time } => {
                write!(f, "link slowed to {rate} bit/s and by {} ms {}", delay.as_millis(), For(time))
            }
            Self::Loss { percent, time } => write!(f, "link loses {percent} % {}", For(time)),
            Self::Garbage(garbage) => write!(f, "{garbage:?}"),
            Self::Flood { relay, creations, kind } => {
                write!(f, "{} flooded with {creations} creations ({kind:?})", RELAYS[relay])
            }
            Self::ClientStops { time } => write!(f, "client stops reading {}", For(Some(time))),
            Self::TargetStops { time } => write!(f, "target stops {}", For(time)),
            Self::Room { relay, cells } => write!(f, "{} has room for {cells} cells of a circuit", RELAYS[relay]),
        }
    }
}
