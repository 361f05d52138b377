//! GHASH (SP 800-38D §6.4) with carry-less multiplication.
//!
//! GHASH is POLYVAL with the bytes of each block reversed and with the key multiplied by x (RFC 8452, Appendix A), so the products and the
//! reduction are those of [`polyval`](super::polyval). [`Powers`] holds the powers of a key. A hash over as many blocks as there are powers
//! costs one reduction; [`Hashing`] is a longer hash in lanes, a step at a time, for a cipher to do between its rounds.

use super::blocks::{Beside, Blocks, Products, STEPS};
use super::polyval::Sum;
use super::registers::{ProvesClmul, Xmm};
use crate::wipe::wipe;
use candor_cpu::barrier::mask_u64;
use core::slice::{from_mut, from_ref};

/// Powers of a key, wiped on drop.
#[repr(align(64))]
#[derive(Clone)]
pub(crate) struct Powers([[u8; 16]; MOST + PAD]);

/// The highest power: a batch of 16 vectors of 4 lanes, and a vector more.
const MOST: usize = 68;

/// Zeros after the first power, read by the lanes of a vector that go beyond the end.
const PAD: usize = 4;

impl Powers {
    /// No powers yet.
    pub(crate) const fn none() -> Self {
        Self([[0; 16]; MOST + PAD])
    }

    /// Powers `from`, `from` − 1 and so on, a lane each.
    #[inline(always)]
    pub(super) fn descending<V: Blocks>(&self, proof: V::Proof, from: usize) -> V {
        V::load(proof, &self.0[MOST - from..])
    }

    /// A power in each lane.
    #[inline(always)]
    pub(super) fn power<V: Blocks>(&self, proof: V::Proof, exponent: usize) -> V {
        V::splat(Xmm::load(proof, from_ref(&self.0[MOST - exponent])))
    }

    /// Computes the powers up to `count` from GHASH's key, the encrypted block of zeros.
    #[inline(always)]
    pub(super) fn fill<V: Products>(&mut self, proof: V::Proof, h: &[u8; 16], count: usize) {
        let h = u128::from_be_bytes(*h);
        let carry = mask_u64((h >> 127) as u64);
        let carry = u128::from(carry) << 64 | u128::from(carry);
        let first = h << 1 ^ carry & (0xc2 << 120 | 1);
        let powers = &mut self.0[..MOST];
        powers[MOST - 1] = first.to_le_bytes();
        let mut known = 1;
        while known < count {
            let more = known.min(count - known);
            let (free, highest) = powers.split_at_mut(MOST - known);
            let next = &mut free[MOST - known - more..];
            let lower = &highest[known - more..];
            let by = Xmm::load(proof, highest);
            // Lane by lane until there is a vector of them.
            let narrow = if known < V::LANES { more } else { more % V::LANES };
            for (power, lower) in next.iter_mut().zip(lower).take(narrow) {
                Sum::zero(proof).add(Xmm::load(proof, from_ref(lower)), by).reduce().store(from_mut(power));
            }
            let (next, lower) = (&mut next[narrow..], &lower[narrow..]);
            for (powers, lower) in next.chunks_exact_mut(V::LANES).zip(lower.chunks_exact(V::LANES)) {
                Sum::zero(proof).add(V::load(proof, lower), V::splat(by)).reduce().store(powers);
            }
            known += more;
        }
    }
}

impl Drop for Powers {
    fn drop(&mut self) {
        wipe(self.0.as_flattened_mut());
    }
}

/// The hash `hash`, continued over `bytes`, which are padded with zeros to whole blocks; `most` powers are known. Bytes are public here:
/// associated data.
#[inline(always)]
pub(super) fn absorb<V: Products>(
    powers: &Powers,
    most: usize,
    mut hash: Xmm<V::Proof>,
    bytes: &[u8],
) -> Xmm<V::Proof> {
    let proof = hash.proof();
    for bytes in bytes.chunks(16 * most) {
        let (blocks, part) = bytes.as_chunks::<16>();
        let mut left = bytes.len().div_ceil(16);
        let (mut wide, mut narrow) = (Sum::<V>::zero(proof), Sum::<Xmm<V::Proof>>::zero(proof));
        let mut vectors = blocks.chunks_exact(V::LANES);
        for blocks in &mut vectors {
            wide = wide.add(V::load(proof, blocks).reverse().xor(V::lowest(hash)), powers.descending(proof, left));
            hash = Xmm::zero(proof);
            left -= V::LANES;
        }
        for block in vectors.remainder() {
            narrow = narrow.add(Xmm::load(proof, from_ref(block)).reverse().xor(hash), powers.descending(proof, left));
            hash = Xmm::zero(proof);
            left -= 1;
        }
        if !part.is_empty() {
            narrow = narrow.add(padded(proof, part).reverse().xor(hash), powers.descending(proof, left));
        }
        hash = narrow.join(wide.narrow()).reduce();
    }
    hash
}

/// A part of a block, followed by zeros.
#[inline(always)]
pub(super) fn padded<P: ProvesClmul>(proof: P, part: &[u8]) -> Xmm<P> {
    let mut block = [0; 16];
    block[..part.len()].copy_from_slice(part);
    Xmm::load(proof, &[block])
}

/// A hash in lanes: block n is in lane n modulo `LANES`, and each vector multiplies all lanes by the power `LANES`. The lanes are those
/// to be added to the next vector of blocks.
pub(super) struct Hashing<'a, V, const VECTORS: usize> {
    powers: &'a Powers,
    /// The vectors to be hashed.
    source: [V; VECTORS],
    lanes: V,
    sum: Sum<V>,
}

impl<'a, V: Products, const VECTORS: usize> Hashing<'a, V, VECTORS> {
    #[inline(always)]
    pub(super) fn new(powers: &'a Powers, source: [V; VECTORS], lanes: V) -> Self {
        Self { powers, source, lanes, sum: Sum::zero(lanes.proof()) }
    }

    /// All steps without a cipher.
    #[inline(always)]
    pub(super) fn alone(mut self) -> V {
        for n in 0..STEPS {
            self.step(n);
        }
        self.finish()
    }

    /// The lanes, after all steps.
    #[inline(always)]
    pub(super) fn finish(self) -> V {
        self.sum.reduce()
    }
}

impl<V: Products, const VECTORS: usize> Beside for Hashing<'_, V, VECTORS> {
    #[inline(always)]
    fn step(&mut self, n: usize) {
        let proof = self.lanes.proof();
        // Where there are more vectors than steps, several in each.
        let each = const { VECTORS.div_ceil(STEPS) };
        for n in n * each..((n + 1) * each).min(VECTORS) {
            let mut blocks = self.source[n].reverse();
            if n == 0 {
                blocks = blocks.xor(self.lanes);
            }
            self.sum = self.sum.add(blocks, self.powers.power(proof, V::LANES * (VECTORS - n)));
        }
    }
}
