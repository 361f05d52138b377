//! The sponge (FIPS 202 §4) over Keccak's permutation: takes any number of bytes, then gives any number.

use super::keccak_mux::{self, Arm};
use candor_cpu::Cpu;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A sponge that takes and gives `RATE` bytes between two permutations. Partial blocks go straight into the state, so there is
/// no other buffer.
#[derive(Clone)]
pub(super) struct Sponge<const RATE: usize> {
    state: [u64; 25],
    /// Bytes of the current block that have been taken or given; less than `RATE` while absorbing, at most `RATE` while squeezing.
    at: usize,
    arm: Arm,
}

impl<const RATE: usize> Sponge<RATE> {
    #[inline]
    pub(super) fn with_cpu(cpu: Cpu) -> Self {
        const { assert!(RATE.is_multiple_of(8) && RATE < 200) }
        Self { state: [0; 25], at: 0, arm: Arm::choose(cpu) }
    }

    pub(super) fn arm(&self) -> &'static str {
        self.arm.name()
    }

    /// Takes more of the message.
    #[inline]
    pub(super) fn absorb(&mut self, mut data: &[u8]) {
        if self.at != 0 {
            let (head, tail) = data.split_at(data.len().min(RATE - self.at));
            self.xor(head);
            self.at += head.len();
            if self.at < RATE {
                return;
            }
            keccak_mux::permute(self.arm, &mut self.state);
            self.at = 0;
            data = tail;
        }
        let (blocks, rest) = data.as_chunks::<RATE>();
        if !blocks.is_empty() {
            keccak_mux::absorb(self.arm, &mut self.state, blocks);
        }
        self.xor(rest);
        self.at = rest.len();
    }

    /// Ends the message: `suffix` is the domain's bits and the first bit of the padding pad10*1 (§5.1), and the last bit of the block is
    /// its other end. From here on the sponge gives.
    #[inline]
    pub(super) fn pad(&mut self, suffix: u8) {
        self.state[self.at / 8] ^= u64::from(suffix) << (8 * (self.at % 8));
        self.state[RATE / 8 - 1] ^= 1 << 63;
        self.at = RATE;
    }

    /// Gives the next bytes.
    #[inline]
    pub(super) fn squeeze(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            if self.at == RATE {
                keccak_mux::permute(self.arm, &mut self.state);
                self.at = 0;
            }
            let (head, tail) = out.split_at_mut(out.len().min(RATE - self.at));
            self.read(head);
            self.at += head.len();
            out = tail;
        }
    }

    /// All that there is to save while absorbing: the state, and how much of the current block has been taken.
    pub(super) fn saved(&self) -> (&[u64; 25], u8) {
        (&self.state, self.at as u8) // a block has fewer than 200 bytes
    }

    /// Continues from the state that [`saved`](Self::saved) returned, on the best arm of [`Cpu::default`]; `None` if `at` is beyond a block.
    pub(super) fn restored(state: [u64; 25], at: u8) -> Option<Self> {
        let at = usize::from(at);
        (at < RATE).then(|| Self { state, at, ..Self::with_cpu(Cpu::default()) })
    }

    /// Starts afresh on the same arm.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.state = [0; 25];
        self.at = 0;
    }

    /// Xors bytes into the current block, which has room for them.
    #[inline]
    fn xor(&mut self, data: &[u8]) {
        let first = (8 - self.at % 8) % 8;
        let (head, data) = data.split_at(first.min(data.len()));
        for (i, byte) in head.iter().enumerate() {
            let at = self.at + i;
            self.state[at / 8] ^= u64::from(*byte) << (8 * (at % 8));
        }
        let lanes = &mut self.state[(self.at + head.len()) / 8..];
        let (words, tail) = data.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane ^= u64::from_le_bytes(*word);
        }
        for (i, byte) in tail.iter().enumerate() {
            lanes[words.len()] ^= u64::from(*byte) << (8 * i);
        }
    }

    /// Copies bytes out of the current block, which has that many left.
    #[inline]
    fn read(&self, out: &mut [u8]) {
        let first = (8 - self.at % 8) % 8;
        let (head, out) = out.split_at_mut(first.min(out.len()));
        for (i, byte) in head.iter_mut().enumerate() {
            let at = self.at + i;
            *byte = (self.state[at / 8] >> (8 * (at % 8))) as u8;
        }
        let lanes = &self.state[(self.at + head.len()) / 8..];
        let (words, tail) = out.as_chunks_mut::<8>();
        for (word, lane) in words.iter_mut().zip(lanes) {
            *word = lane.to_le_bytes();
        }
        for (i, byte) in tail.iter_mut().enumerate() {
            *byte = (lanes[words.len()] >> (8 * i)) as u8;
        }
    }
}

impl<const RATE: usize> Drop for Sponge<RATE> {
    #[inline]
    fn drop(&mut self) {
        self.state.zeroize();
        self.at.zeroize();
    }
}

impl<const RATE: usize> ZeroizeOnDrop for Sponge<RATE> {}
