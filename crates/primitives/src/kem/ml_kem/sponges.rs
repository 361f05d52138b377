//! What ML-KEM hashes in lanes (FIPS 203 §4.1): J and H of long inputs, noise, the polynomials of the matrix, and in batches G.

use super::arm_mux::Arm;
use crate::hash::lanes::{Given, Job};
use crate::lattice::Poly;

/// A sponge with its message and what becomes of its output.
pub(super) struct Sponge<'a> {
    /// Words of a block.
    rate: usize,
    /// What is left of the message, but for its last bytes.
    words: [&'a [[u8; 8]]; 2],
    /// The last bytes of the message, fewer than eight, and behind them the domain's bits and the first bit of the padding (FIPS 202 §5.1).
    last: u64,
    /// Whether all of the message is in.
    full: bool,
    output: Output<'a>,
}

enum Output<'a> {
    /// As many bytes as there is room for.
    Bytes(&'a mut [u8]),
    /// Coefficients by rejection, so many of which are there already.
    Uniform { arm: Arm, poly: &'a mut Poly, filled: usize },
}

/// SHA3-512.
const RATE_512: usize = 9;
/// SHA3-256 and SHAKE256.
const RATE_256: usize = 17;
/// SHAKE128.
const RATE_128: usize = 21;
const SHA3: u64 = 0b0110;
const SHAKE: u64 = 0b11111;

impl<'a> Sponge<'a> {
    /// H: SHA3-256 of both parts.
    pub(super) fn h(parts: [&'a [u8]; 2], digest: &'a mut [u8; 32]) -> Self {
        Self::new(RATE_256, parts, SHA3, Output::Bytes(digest))
    }

    /// G of d and the rank (algorithm 13, line 1), in two halves: ρ and σ.
    pub(super) fn g_of_seed(d: &'a [u8; 32], rank: u8, digest: &'a mut [[u8; 32]; 2]) -> Self {
        let last = u64::from(rank) | SHA3 << 8;
        Self::new(RATE_512, [d, &[]], last, Output::Bytes(digest.as_flattened_mut()))
    }

    /// G of a message and the key's hash (algorithm 17, line 1), in two halves: the shared secret and the coins.
    pub(super) fn g(m: &'a [u8; 32], hash: &'a [u8; 32], digest: &'a mut [[u8; 32]; 2]) -> Self {
        Self::new(RATE_512, [m, hash], SHA3, Output::Bytes(digest.as_flattened_mut()))
    }

    /// J: 32 bytes of SHAKE256 of both parts.
    pub(super) fn j(parts: [&'a [u8]; 2], output: &'a mut [u8; 32]) -> Self {
        Self::new(RATE_256, parts, SHAKE, Output::Bytes(output))
    }

    /// PRF (4.3): as many bytes of SHAKE256 of seed and number as are wanted.
    pub(super) fn prf(seed: &'a [u8; 32], number: u8, output: &'a mut [u8]) -> Self {
        Self::new(RATE_256, [seed, &[]], u64::from(number) | SHAKE << 8, Output::Bytes(output))
    }

    /// SampleNTT (algorithm 7) of ρ and two indices.
    pub(super) fn uniform(arm: Arm, rho: &'a [u8; 32], indices: [u8; 2], poly: &'a mut Poly) -> Self {
        let last = u64::from(u16::from_le_bytes(indices)) | SHAKE << 16;
        Self::new(RATE_128, [rho, &[]], last, Output::Uniform { arm, poly, filled: 0 })
    }

    fn new(rate: usize, parts: [&'a [u8]; 2], last: u64, output: Output<'a>) -> Self {
        debug_assert!(parts.iter().all(|part| part.len().is_multiple_of(8)));
        Self { rate, words: [parts[0].as_chunks().0, parts[1].as_chunks().0], last, full: false, output }
    }
}

impl Job for Sponge<'_> {
    #[inline(always)]
    fn absorb(&mut self, mut xor: impl FnMut(usize, u64)) {
        if self.full {
            return;
        }
        let mut at = 0;
        for words in &mut self.words {
            let (now, later) = words.split_at(words.len().min(self.rate - at));
            for (i, word) in now.iter().enumerate() {
                xor(at + i, u64::from_le_bytes(*word));
            }
            *words = later;
            at += now.len();
        }
        if at < self.rate {
            xor(at, self.last);
            xor(self.rate - 1, 1 << 63);
            self.full = true;
        }
    }

    #[inline(always)]
    fn take(&mut self, given: &Given) -> bool {
        if !self.full {
            return false;
        }
        match &mut self.output {
            Output::Bytes(bytes) => {
                let output = core::mem::take(bytes);
                let (now, later) = output.split_at_mut(output.len().min(8 * self.rate));
                for (bytes, word) in now.as_chunks_mut::<8>().0.iter_mut().zip(given) {
                    *bytes = word.to_le_bytes();
                }
                *bytes = later;
                bytes.is_empty()
            }
            Output::Uniform { arm, poly, filled } => {
                *filled = arm.uniform(given, poly, *filled);
                *filled == 256
            }
        }
    }
}
