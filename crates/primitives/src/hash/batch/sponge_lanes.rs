//! Lanes for sponges: SHA-3 and SHAKE.
//!
//! As with blocks: all lanes go forward by a permutation at a time, whether they take or give; a lane that has given all its output
//! takes the next message.

use zeroize::Zeroize;

/// A message in a lane.
struct Lane<'m, 'o> {
    /// The bytes still to absorb; `None` once the padding has been absorbed.
    message: Option<&'m [u8]>,
    /// The output still to fill.
    output: &'o mut [u8],
}

/// Hashes `messages` in `L` lanes by a sponge with blocks of `RATE` bytes and the domain's `suffix`. With a single lane busy,
/// `single` is faster. The lists have the same length.
pub(super) fn hash<'o, const L: usize, const RATE: usize>(
    permute: impl Fn(&mut [[u64; L]; 25]),
    single: impl Fn(&mut [u64; 25]),
    suffix: u8,
    messages: &[&[u8]],
    outputs: impl Iterator<Item = &'o mut [u8]>,
) {
    let mut queue = messages
        .iter()
        .zip(outputs)
        .map(|(message, output)| Lane { message: Some(message), output })
        .filter(|lane| !lane.output.is_empty());
    let mut lanes: [Option<Lane<'_, '_>>; L] = [const { None }; L];
    let mut state = [[0; L]; 25];
    lanes.fill_with(|| queue.next());
    loop {
        for (i, lane) in lanes.iter_mut().enumerate() {
            if let Some(lane) = lane {
                lane.absorb::<RATE>(suffix, |at, word| state[at][i] ^= word);
            }
        }
        match lanes.iter().flatten().count() {
            0 => break,
            1 => {
                let Some(i) = lanes.iter().position(Option::is_some) else { break };
                let Some(mut lane) = lanes[i].take() else { break };
                let mut alone = state.map(|words| words[i]);
                loop {
                    single(&mut alone);
                    lane.give::<RATE>(|at| alone[at]);
                    if lane.output.is_empty() {
                        break;
                    }
                    lane.absorb::<RATE>(suffix, |at, word| alone[at] ^= word);
                }
                alone.zeroize();
                state.iter_mut().for_each(|words| words[i] = 0);
                lanes[i] = queue.next();
                continue;
            }
            _ => permute(&mut state),
        }
        for (i, slot) in lanes.iter_mut().enumerate() {
            let Some(lane) = slot else { continue };
            lane.give::<RATE>(|at| state[at][i]);
            if lane.output.is_empty() {
                *slot = queue.next();
                state.iter_mut().for_each(|words| words[i] = 0);
            }
        }
    }
    state.as_flattened_mut().zeroize();
}

impl Lane<'_, '_> {
    /// Xors the next block into the state, word by word; the last with the padding (FIPS 202 §5.1).
    #[inline]
    fn absorb<const RATE: usize>(&mut self, suffix: u8, mut xor: impl FnMut(usize, u64)) {
        let Some(message) = self.message else { return };
        if let Some((block, rest)) = message.split_first_chunk::<RATE>() {
            for (at, word) in block.as_chunks::<8>().0.iter().enumerate() {
                xor(at, u64::from_le_bytes(*word));
            }
            self.message = Some(rest);
            return;
        }
        let (words, rest) = message.as_chunks::<8>();
        for (at, word) in words.iter().enumerate() {
            xor(at, u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = suffix;
        xor(words.len(), u64::from_le_bytes(last));
        xor(RATE / 8 - 1, 1 << 63);
        last.zeroize();
        self.message = None;
    }

    /// Writes as much of the block as is wanted, if all of the message is in.
    #[inline]
    fn give<const RATE: usize>(&mut self, word: impl Fn(usize) -> u64) {
        if self.message.is_some() {
            return;
        }
        let output = core::mem::take(&mut self.output);
        let (block, rest) = output.split_at_mut(output.len().min(RATE));
        for (at, bytes) in block.chunks_mut(8).enumerate() {
            bytes.copy_from_slice(&word(at).to_le_bytes()[..bytes.len()]);
        }
        self.output = rest;
    }
}
