//! Lanes for hashes of the Merkle–Damgård construction with 32-bit words: SHA-256 and SM3.
//!
//! Each lane holds a message. As long as several lanes are busy, all go forward by as many blocks as none of them ends within; a lane whose message has
//! ended takes the next one. What is left when few are busy is finished one by one.

use zeroize::Zeroize;

/// Compresses blocks of one message.
pub(super) type Single<'a> = &'a dyn Fn(&mut [u32; 8], &[[u8; 64]]);

/// A message in a lane.
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
    /// Splits the message into blocks and pads it (FIPS 180-4 §5.1.1, GB/T 32905 §5.2).
    fn new(at: usize, message: &'m [u8]) -> Self {
        let (blocks, rest) = message.as_chunks::<64>();
        let mut tail = [[0; 64]; 2];
        let tail_from = if rest.len() < 56 { 1 } else { 0 };
        let bytes = &mut tail.as_flattened_mut()[64 * tail_from..];
        bytes[..rest.len()].copy_from_slice(rest);
        bytes[rest.len()] = 0x80;
        tail[1][56..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
        Self { at, blocks, tail, tail_from }
    }

    /// Blocks that are next and lie side by side.
    fn next(&self) -> &[[u8; 64]] {
        if self.blocks.is_empty() { &self.tail[self.tail_from..] } else { self.blocks }
    }

    /// Goes past so many of them.
    fn advance(&mut self, blocks: usize) {
        if self.blocks.is_empty() {
            self.tail_from += blocks;
        } else {
            self.blocks = &self.blocks[blocks..];
        }
    }

    fn done(&self) -> bool {
        self.blocks.is_empty() && self.tail_from == 2
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
    let mut queue = messages.iter().enumerate().map(|(at, message)| Lane::new(at, message));
    let mut lanes: [Option<Lane<'_>>; L] = [None; L];
    let mut state = initial.map(|word| [word; L]);
    for lane in &mut lanes {
        *lane = queue.next();
    }
    while lanes.iter().flatten().count() > few {
        let blocks = lanes.iter().flatten().map(|lane| lane.next().len()).min().unwrap_or(0);
        // A lane without a message does as the first that has one; nobody reads its result.
        let idle = lanes.iter().flatten().next().map_or(&[][..], Lane::next);
        compress(&mut state, lanes.each_ref().map(|lane| &lane.as_ref().map_or(idle, Lane::next)[..blocks]));
        for (i, slot) in lanes.iter_mut().enumerate() {
            let Some(lane) = slot else { continue };
            lane.advance(blocks);
            if lane.done() {
                write(state.map(|words| words[i]), &mut digests[lane.at]);
                lane.tail.zeroize();
                *slot = queue.next();
                for (words, initial) in state.iter_mut().zip(initial) {
                    words[i] = initial;
                }
            }
        }
    }
    let mut finish = |mut lane: Lane<'_>, mut state: [u32; 8]| {
        if !lane.blocks.is_empty() {
            single(&mut state, lane.blocks);
        }
        single(&mut state, &lane.tail[lane.tail_from..]);
        write(state, &mut digests[lane.at]);
        state.zeroize();
        lane.tail.zeroize();
    };
    for (i, lane) in lanes.into_iter().enumerate() {
        if let Some(lane) = lane {
            finish(lane, state.map(|words| words[i]));
        }
    }
    queue.for_each(|lane| finish(lane, initial));
    state.as_flattened_mut().zeroize();
}

fn write(state: [u32; 8], digest: &mut [u8; 32]) {
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
}
