//! A scenario: what there is, and what goes wrong. All of it follows from a seed and a number.

use super::fault::{Fault, FloodKind, Garbage, Spot, What};
use crate::random::Random;
use crate::suite::Cryptography;
use candor_onion::circuit::Limits;
use candor_onion::handshake::HandshakeType;
use candor_onion::layer::Crypto;
use std::fmt;
use std::time::Duration;

/// A link of the way, alike in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// One way.
    pub delay: Duration,
    /// Bits per second.
    pub rate: u64,
}

/// Bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// From the client to the target.
    pub up: usize,
    /// From the target to the client.
    pub down: usize,
}

/// What there is, and what goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The seed of its exploration.
    pub seed: u64,
    /// Its number in it.
    pub number: u64,
    /// How hops are added.
    pub handshake: HandshakeType,
    /// Cryptography of the layers.
    pub crypto: Crypto,
    /// X25519 and ML-KEM, or stand-ins. Everything else is real in any case.
    pub cryptography: Cryptography,
    /// Bounds of the circuits.
    pub limits: Limits,
    /// When the clients have the exit's layer upgraded, if they do.
    pub upgrade: Option<Upgrade>,
    /// Client to guard, guard to middle, middle to exit.
    pub lines: [Line; 3],
    /// Relays make their links when a circuit needs them.
    pub cold: bool,
    /// Streams of the circuit that the faults are aimed at.
    pub streams: Vec<Sizes>,
    /// Another client, with a circuit over the same relays.
    pub bystander: bool,
    /// What goes wrong. Several faults strike independently.
    pub faults: Vec<Fault>,
}

/// When a circuit of three hops is upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upgrade {
    /// Before its streams begin.
    First,
    /// While its streams begin.
    Beside,
}

/// Most bytes of a stream in one direction.
const MOST: usize = 1_500_000;

impl Scenario {
    /// The scenario number `number` of a seed.
    pub fn draw(seed: u64, number: u64) -> Self {
        let mut random = Random::stream(seed, number);
        let dice = &mut random;
        let handshake =
            [HandshakeType::Ntor, HandshakeType::NtorV3, HandshakeType::Hybrid768, HandshakeType::Hybrid768Auth]
                [dice.below(4)];
        // ntor leads to tor1 whatever is asked for.
        let crypto = match handshake {
            HandshakeType::Ntor => Crypto::Tor1,
            _ if dice.below(2) == 0 => Crypto::Tor1,
            _ => Crypto::Cgo,
        };
        let cryptography = if dice.below(4) == 0 { Cryptography::Real } else { Cryptography::Scripted };
        // By the number: so scenarios are those that there were without upgrades.
        let upgrade = match number % 6 {
            0 => Some(Upgrade::First),
            3 => Some(Upgrade::Beside),
            _ => None,
        };
        let upgrade = upgrade.filter(|_| handshake != HandshakeType::Ntor);
        let limits = match dice.below(3) {
            0 => Limits { streams: 4, unread: 10_000, circuit_unread: 20_000, ..Limits::default() },
            _ => Limits::default(),
        };
        let lines = [(); 3].map(|()| Line {
            delay: Duration::from_micros(1000 + dice.below(60_000) as u64),
            rate: [2_000_000, 10_000_000, 100_000_000][dice.below(3)],
        });
        let cold = dice.below(2) == 0;
        let streams = (0..[1, 1, 1, 2, 3][dice.below(5)]).map(|_| Sizes { up: size(dice), down: size(dice) }).collect();
        let faults: Vec<_> = match dice.below(20) {
            0 => Vec::new(),
            1..3 => (0..2 + dice.below(2)).map(|_| fault(dice)).collect(),
            _ => vec![fault(dice)],
        };
        let wants_others = faults.iter().any(|fault| fault.what.spares_others(true));
        let bystander = wants_others || dice.below(5) == 0;
        Self { seed, number, handshake, crypto, cryptography, limits, upgrade, lines, cold, streams, bystander, faults }
    }

    /// The row of the table that it belongs to.
    pub fn row(&self) -> &'static str {
        match self.faults.as_slice() {
            [] => "none",
            [fault] => fault.what.name(),
            _ => "several",
        }
    }

    /// The same without faults.
    pub fn undamaged(&self) -> Self {
        Self { faults: Vec::new(), ..self.clone() }
    }
}

fn size(dice: &mut Random) -> usize {
    match dice.below(100) {
        0..10 => 0,
        10..50 => 1 + dice.below(2_000),
        50..90 => dice.below(40_000),
        90..98 => dice.below(300_000),
        // More than every window, so that a reader that stops has its bounds reached.
        _ => dice.below(MOST),
    }
}

fn fault(dice: &mut Random) -> Fault {
    let what = what(dice);
    let mut spot = Spot { link: dice.below(3), outward: dice.below(2) == 0 };
    match what {
        // A relay is hostile, not the client: that is another relay's matter, and tests of `onion` have it.
        What::Garbage(_) if spot.sender().is_none() => spot.link = 1 + dice.below(2),
        // It dies with a cell of its own half sent.
        What::Kill { relay, .. } => {
            spot = match spot.outward && relay < 2 {
                true => Spot { link: relay + 1, outward: true },
                false => Spot { link: relay, outward: false },
            };
        }
        _ => {}
    }
    // Half of the faults strike while the circuit is built, and few late.
    let most = [2, 6, 12, 40, 200, 600][dice.below(6)];
    Fault { what, spot, cell: 1 + dice.below(most) as u32 }
}

fn what(dice: &mut Random) -> What {
    let relay = dice.below(3);
    match dice.below(22) {
        0 | 1 => What::Kill { relay, bytes: if dice.below(2) == 0 { 514 } else { dice.below(514) } },
        2 => What::Silence { relay, time: time(dice) },
        3 => What::Freeze { relay, time: time(dice) },
        4 | 5 => What::Partition { time: time(dice) },
        6 => What::Slow {
            rate: [100_000, 300_000, 1_000_000][dice.below(3)],
            delay: Duration::from_millis(dice.below(1500) as u64),
            time: time(dice),
        },
        7 => What::Loss { percent: 1 + dice.below(40) as u32, time: time(dice) },
        8 => What::Flood {
            relay,
            creations: 50 + dice.below(500) as u32,
            kind: [FloodKind::Noise, FloodKind::Good, FloodKind::Replayed][dice.below(3)],
        },
        9 => What::ClientStops { time: Duration::from_millis(100 + dice.below(7_900) as u64) },
        10 => What::TargetStops { time: time(dice).map(|time| time.min(Duration::from_secs(8))) },
        11 => What::Room { relay, cells: dice.below(100) },
        _ => What::Garbage(garbage(dice)),
    }
}

/// Up to twenty seconds, or for ever.
fn time(dice: &mut Random) -> Option<Duration> {
    match dice.below(3) {
        0 => None,
        1 => Some(Duration::from_millis(10 + dice.below(2_000) as u64)),
        _ => Some(Duration::from_millis(10 + dice.below(20_000) as u64)),
    }
}

fn garbage(dice: &mut Random) -> Garbage {
    match dice.below(18) {
        0 | 1 => Garbage::Flip { bit: dice.below(1 << 16) },
        2 => Garbage::Number { bit: dice.below(32) as u32 },
        3 => Garbage::Neighbour,
        4 => Garbage::Command { command: dice.below(256) as u8 },
        5 => Garbage::Command { command: [0, 3, 4, 7, 8, 9, 10, 11, 12, 240, 241][dice.below(11)] },
        6 => Garbage::Twice,
        7 => Garbage::Swapped,
        8 => Garbage::Dropped,
        9 => Garbage::Zeroed { from: dice.below(509) },
        10 => Garbage::Cut { after: dice.below(514) },
        11 => Garbage::Noise,
        12 => Garbage::Early,
        13 => Garbage::Destroy { reason: dice.below(16) as u8 },
        14 => Garbage::Replay { fresh: dice.below(2) == 0 },
        15 => Garbage::Stale,
        16 => Garbage::Padding { cells: 1 + dice.below(500) as u32 },
        _ => Garbage::Giant,
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { handshake, crypto, cryptography, cold, bystander, .. } = self;
        let whose = if *cryptography == Cryptography::Real { "real" } else { "scripted" };
        write!(f, "{handshake} ({whose}), {}", crypto.name())?;
        let beside = if *bystander { ", a second circuit" } else { "" };
        write!(f, ", {}{beside}; streams", if *cold { "links are made" } else { "links are there" })?;
        for Sizes { up, down } in &self.streams {
            write!(f, " {up}+{down}")?;
        }
        f.write_str(" bytes; links")?;
        for Line { delay, rate } in &self.lines {
            write!(f, " {:.1} ms {} Mbit/s", delay.as_secs_f64() * 1e3, rate / 1_000_000)?;
        }
        if self.limits.unread < Limits::default().unread {
            f.write_str("; narrow limits")?;
        }
        match self.upgrade {
            Some(Upgrade::First) => f.write_str("; upgraded before the streams")?,
            Some(Upgrade::Beside) => f.write_str("; upgraded beside the streams")?,
            None => {}
        }
        f.write_str("; ")?;
        if self.faults.is_empty() {
            f.write_str("nothing goes wrong")?;
        }
        for (index, fault) in self.faults.iter().enumerate() {
            write!(f, "{}{fault}", if index > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}
