//! A connection of a circuit: two ends of the transport, and what the application wrote into them.

use super::setup::{MOST_RECORD, RECORD};
use crate::transport::Endpoint;
use candor_onion::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

/// What an application writes, and reads as a whole.
#[derive(Debug)]
pub(super) enum Item {
    /// A message of the set-up.
    Setup(u8),
    /// A record with cells.
    Cells(Vec<u8>),
    /// A request, or a part of it.
    Request,
    /// Bytes of a response; they are read as they come.
    Body,
}

/// A connection.
pub(super) struct Connection {
    /// Index of its circuit.
    pub(super) circuit: u32,
    /// Which of the circuit's, from 0: to the guard, the middle, the exit, the target.
    pub(super) hop: u8,
    /// Initiator and responder.
    pub(super) ends: [Endpoint; 2],
    /// What each end has written and the other has not read, each with its end in the stream.
    items: [VecDeque<(u64, Item)>; 2],
    /// Bytes that each end has written.
    pub(super) written: [u64; 2],
    /// Bytes of the response that the initiator has read.
    pub(super) taken: u64,
    /// When each end's timer goes off next, as far as an event is there for it.
    pub(super) timers: [Option<Duration>; 2],
    /// The application knows that it is open.
    pub(super) announced: bool,
}

impl Connection {
    pub(super) fn new(circuit: u32, hop: u8, ends: [Endpoint; 2]) -> Self {
        Self {
            circuit,
            hop,
            ends,
            items: [VecDeque::new(), VecDeque::new()],
            written: [0; 2],
            taken: 0,
            timers: [None; 2],
            announced: false,
        }
    }

    /// Writes an item of `bytes` into one end.
    pub(super) fn write(&mut self, end: usize, item: Item, bytes: u64, now: Duration) {
        self.written[end] += bytes;
        self.items[end].push_back((self.written[end], item));
        self.ends[end].write(bytes, now);
    }

    /// Writes cells into one end, in as few records as they fit.
    pub(super) fn write_cells(&mut self, end: usize, cells: Vec<Cell>, now: Duration) {
        let mut record = Vec::new();
        let flush = |connection: &mut Self, record: &mut Vec<u8>| {
            if !record.is_empty() {
                let bytes = record.len() as u64 + RECORD;
                connection.write(end, Item::Cells(std::mem::take(record)), bytes, now);
            }
        };
        for cell in cells {
            let before = record.len();
            cell.encode(&mut record);
            if record.len() > MOST_RECORD {
                let last = record.split_off(before);
                flush(self, &mut record);
                record = last;
            }
        }
        flush(self, &mut record);
    }

    /// The next item that has arrived whole at `end`.
    pub(super) fn read(&mut self, end: usize) -> Option<Item> {
        let items = &mut self.items[1 - end];
        let arrived = self.ends[end].received();
        match items.front() {
            Some((last, _)) if *last <= arrived => items.pop_front().map(|(_, item)| item),
            Some(_) => None,
            None => {
                // Memory: see `Endpoint::poll`.
                *items = VecDeque::new();
                None
            }
        }
    }
}
