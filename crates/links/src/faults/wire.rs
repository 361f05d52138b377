//! A connection between two neighbours, with its bytes.

use super::outbox::Outbox;
use super::scenario::Line;
use crate::model::{Delay, LinkModel, Loss, Profile};
use crate::transport::Endpoint;
use candor_onion::cell::Decoder;
use candor_onion::circuit::{Circuits, Side as Opener};
use std::collections::VecDeque;
use std::time::Duration;

/// Who stands at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Client(usize),
    Relay(usize),
    Flooder,
}

/// A circuit as a link knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Its key at the relay; nothing at a client.
    pub(super) circuit: u32,
    /// Whether this link is the one that it came over.
    pub(super) from_client: bool,
}

/// An end of a link, as its node has it.
pub(super) struct Side {
    pub(super) node: Node,
    pub(super) decoder: Decoder,
    pub(super) circuits: Circuits<Slot>,
    pub(super) outbox: Outbox,
    /// Takes part in the link.
    pub(super) open: bool,
    /// Closes once the outbox is empty.
    pub(super) closing: bool,
    /// The process is gone: what comes is answered by a reset.
    pub(super) dead: bool,
    /// Since when the connection has taken nothing of what waits.
    pub(super) stuck: Option<Duration>,
    /// Cells that have left.
    pub(super) cells: u32,
    /// What a hostile sender has done.
    pub(super) hostile: Hostile,
}

#[derive(Default)]
pub(super) struct Hostile {
    /// Sends noise in place of everything.
    pub(super) noise: bool,
    /// A cell that comes behind the next.
    pub(super) held: Option<Vec<u8>>,
    /// The circuit's first cell, and its last.
    pub(super) first: Option<Vec<u8>>,
    pub(super) last: Option<Vec<u8>>,
}

/// Bytes that were written at one end and not read at the other.
#[derive(Default)]
pub(super) struct Pipe {
    pub(super) bytes: VecDeque<u8>,
    /// How many were read.
    pub(super) read: u64,
    /// Where the stream ends: the byte that stands for FIN.
    pub(super) ends: Option<u64>,
}

/// A connection. Its first end made it.
pub(super) struct Wire {
    pub(super) line: Line,
    pub(super) ends: [Endpoint; 2],
    /// From each end.
    pub(super) ways: [LinkModel; 2],
    pub(super) pipes: [Pipe; 2],
    pub(super) sides: [Side; 2],
    /// When each end's timer goes off next, as far as an event is there for it.
    pub(super) timers: [Option<Duration>; 2],
    /// How many faults keep packets away.
    pub(super) cuts: u32,
    /// It is there. Otherwise it is made when it is needed first.
    pub(super) up: bool,
    /// Circuits that wait for it, at its first end; `None` while nobody has asked for it.
    pub(super) waiting: Option<Vec<u32>>,
}

/// Circuits that a link may have. `candor-network` allows more; a flood reaches these in less time.
pub(super) const MOST_CIRCUITS: usize = 256;

impl Wire {
    /// A link with at most `most` circuits.
    pub(super) fn new(nodes: [Node; 2], line: Line, up: bool, seed: u64, most: usize) -> Self {
        let side = |index: usize| Side {
            node: nodes[index],
            decoder: decoder(),
            circuits: Circuits::new([Opener::Initiator, Opener::Responder][index], 1, most),
            outbox: Outbox::new(),
            open: up,
            closing: false,
            dead: false,
            stuck: None,
            cells: 0,
            hostile: Hostile::default(),
        };
        Self {
            line,
            ends: Endpoint::open_pair(2 * line.delay),
            ways: [0, 1].map(|way| LinkModel::new(profile(line, 0.0), seed ^ way)),
            pipes: Default::default(),
            sides: [side(0), side(1)],
            timers: [None; 2],
            cuts: 0,
            up,
            waiting: None,
        }
    }

    /// Changes the link in both directions.
    pub(super) fn set(&mut self, line: Line, loss: f64) {
        self.ways.iter_mut().for_each(|way| way.change(profile(line, loss)));
    }

    /// Takes what has arrived at `end`, and whether the stream has ended with it.
    pub(super) fn read(&mut self, end: usize) -> (Vec<u8>, bool) {
        let arrived = self.ends[end].received();
        let pipe = &mut self.pipes[1 - end];
        let last = pipe.ends.unwrap_or(u64::MAX);
        let fresh = arrived.min(last - 1).saturating_sub(pipe.read);
        pipe.read += fresh;
        let bytes = pipe.bytes.drain(..(fresh as usize).min(pipe.bytes.len())).collect();
        (bytes, arrived >= last)
    }

    /// Writes bytes into `end`.
    pub(super) fn write(&mut self, end: usize, bytes: &[u8], now: Duration) {
        self.pipes[end].bytes.extend(bytes);
        self.ends[end].write(bytes.len() as u64, now);
    }

    /// Ends the stream from `end`.
    pub(super) fn finish(&mut self, end: usize, now: Duration) {
        let pipe = &mut self.pipes[end];
        if pipe.ends.is_none() {
            pipe.ends = Some(pipe.read + pipe.bytes.len() as u64 + 1);
            self.ends[end].write(1, now);
        }
    }
}

fn profile(line: Line, loss: f64) -> Profile {
    let loss = if loss > 0.0 { Loss::Bernoulli(loss) } else { Loss::None };
    Profile { delay: Delay::Constant(line.delay), rate: Some(line.rate), queue: Some(256 << 10), loss }
}

/// A decoder that has read VERSIONS, with which every link begins: circuit 0, two bytes, version 5.
fn decoder() -> Decoder {
    let mut decoder = Decoder::new();
    decoder.receive(&[0, 0, 7, 0, 2, 0, 5]);
    let _ = decoder.next();
    decoder
}
