//! Lanes for hashes of the Merkle–Damgård construction with 32-bit words: SHA-256 and SM3.
//!
//! Each lane holds a message. As long as several lanes are busy, all go forward by as many blocks as none of them ends within; a lane whose message has
//! ended takes the next one. What is left when few are busy is finished one by one.

use crate::wipe::wipe;

/// Compresses blocks of one message.
pub(super) type Single<'a> = &'a dyn Fn(&mut [u32; 8], &[[u8; 64]]);

/// A message in a lane. One that is done, or that never was, leaves the lane idle.
#[derive(Clone, Copy)]
struct Lane<'m> {
    /// Its place in the list.
    at: usize,
    /// Blocks that have not been hashed.
    blocks: &'m [[u8; 64]],
    /// The end of the message with its padding: one block or two.
    tail: [[u8; 64]; 2],
    /// Which blocks of the tail have not been hashed.
    tail_from: usize,
}

impl<'m> Lane<'m> {
    const IDLE: Self = Self { at: 0, blocks: &[], tail: [[0; 64]; 2], tail_from: 2 };

    /// Splits the message into blocks and pads it (FIPS 180-4 §5.1.1, GB/T 32905 §5.2). The lane was idle.
    fn start(&mut self, at: usize, message: &'m [u8]) {
        let (blocks, rest) = message.as_chunks::<64>();
        (self.at, self.blocks) = (at, blocks);
        self.tail_from = if rest.len() < 56 { 1 } else { 0 };
        let bytes = &mut self.tail.as_flattened_mut()[64 * self.tail_from..];
        bytes[..rest.len()].copy_from_slice(rest);
        bytes[rest.len()] = 0x80;
        self.tail[1][56..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
    }

    /// Blocks that are next and lie side by side.
    fn next(&self) -> &[[u8; 64]] {
        if self.blocks.is_empty() { &self.tail[self.tail_from..] } else { self.blocks }
    }

    /// Goes past so many of them. A tail that is done is wiped.
    fn advance(&mut self, blocks: usize) {
        if self.blocks.is_empty() {
            self.tail_from += blocks;
        } else {
            self.blocks = &self.blocks[blocks..];
        }
        if !self.busy() {
            wipe(self.tail.as_flattened_mut());
        }
    }

    fn busy(&self) -> bool {
        !(self.blocks.is_empty() && self.tail_from == 2)
    }
}

/// Hashes `messages` in `L` lanes. With `few` lanes busy or less, one by one is faster. The lists have the same length.
pub(super) fn hash<const L: usize>(
    compress: impl Fn(&mut [[u32; L]; 8], [&[[u8; 64]]; L]),
    single: Single<'_>,
    few: usize,
    initial: [u32; 8],
    messages: &[&[u8]],
    digests: &mut [[u8; 32]],
) {
    let mut queue = messages.iter().enumerate();
    let mut lanes = [Lane::IDLE; L];
    let mut state = initial.map(|word| [word; L]);
    for (lane, (at, message)) in lanes.iter_mut().zip(&mut queue) {
        lane.start(at, message);
    }
    while lanes.iter().filter(|lane| lane.busy()).count() > few {
        let busy = || lanes.iter().filter(|lane| lane.busy()).map(Lane::next);
        let blocks = busy().map(<[_]>::len).min().unwrap_or(0);
        // An idle lane does as the first that is not; nobody reads its result.
        let idle = busy().next().unwrap_or(&[]);
        compress(&mut state, lanes.each_ref().map(|lane| &(if lane.busy() { lane.next() } else { idle })[..blocks]));
        for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| lane.busy()) {
            lane.advance(blocks);
            if !lane.busy() {
                write(state.map(|words| words[i]), &mut digests[lane.at]);
                if let Some((at, message)) = queue.next() {
                    lane.start(at, message);
                    for (words, initial) in state.iter_mut().zip(initial) {
                        words[i] = initial;
                    }
                }
            }
        }
    }
    let mut finish = |lane: &mut Lane<'_>, mut state: [u32; 8]| {
        while lane.busy() {
            let blocks = lane.next();
            single(&mut state, blocks);
            lane.advance(blocks.len());
        }
        write(state, &mut digests[lane.at]);
        wipe(&mut state);
    };
    for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| lane.busy()) {
        finish(lane, state.map(|words| words[i]));
    }
    let mut alone = Lane::IDLE;
    for (at, message) in queue {
        alone.start(at, message);
        finish(&mut alone, initial);
    }
    wipe(state.as_flattened_mut());
}

fn write(state: [u32; 8], digest: &mut [u8; 32]) {
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
}
