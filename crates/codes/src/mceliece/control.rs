//! Control bits of the Beneš network that a permutation is.
//!
//! The bits are those of Bernstein, *Verified fast formulas for control bits for permutation networks* (2020). That paper computes them by recursion
//! with about 3w sorts of 2ʷ numbers. Here all blocks of a level are handled at once, and nothing is sorted but to look up numbers in the order of
//! a secret permutation, on arms that have no instruction for it. That takes the inverse of the permutation, which is always at hand:
//!
//! - The permutation π̄ of the paper is a product of two involutions, στ with τ(x) = x ⊕ 1. So its powers satisfy p⁻¹ = τpτ.
//! - π⁻¹ of a level gives that of the next: the last permutation of a level is FπL, where F and L exchange neighbours and FπL keeps even numbers even. So
//!   (FπL)⁻¹ = Lπ⁻¹F has the upper bits of π⁻¹F, and the lowest bit of its argument.

use super::arm_mux::Arm;
use crate::kernels::mceliece::look_up::Permutation;
use alloc::vec;
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// The control bits of `permutation`, a permutation of 0 … 2^m − 1: 2m − 1 stages of 2^(m−1) bits each.
pub(super) fn control_bits(arm: Arm, m: usize, permutation: &[u16]) -> Zeroizing<Vec<u8>> {
    let count = permutation.len();
    let mut bits = Zeroizing::new(vec![0; (2 * m - 1) * count / 16]);
    let (first, last) = (|level| level * count / 16, |level| (2 * m - 2 - level) * count / 16);
    // Values are local: below 2^w in blocks of 2^w.
    let mut level = Level::new(arm, permutation);
    for number in 0..m - 1 {
        let w = m - number;
        level.find_cycles(w);
        level.find_outer_bits(w);
        put(&mut bits[first(number)..], &level.f, number);
        put(&mut bits[last(number)..], &level.l, number);
        level.descend(w);
    }
    let middle: Zeroizing<Vec<u8>> = Zeroizing::new(level.pi.chunks_exact(2).map(|pair| pair[0] as u8).collect());
    put(&mut bits[first(m - 1)..], &middle, m - 1);
    bits
}

/// Writes the bits of a stage. Bit j of block b at a level stands at j · 2^level + b′, where b′ has the level's bits of b in reverse.
fn put(stage: &mut [u8], bits: &[u8], level: usize) {
    let each = bits.len() >> level;
    let mut order = Zeroizing::new(vec![0; bits.len()]);
    for (block, bits) in bits.chunks_exact(each).enumerate() {
        let offset = if level == 0 { 0 } else { block.reverse_bits() >> (usize::BITS as usize - level) };
        order[offset..].iter_mut().step_by(1 << level).zip(bits).for_each(|(place, bit)| *place = *bit);
    }
    for (byte, bits) in stage.iter_mut().zip(order.as_chunks().0) {
        // The top byte of the product has the lowest bit of byte i as bit i.
        *byte = (u64::from_le_bytes(*bits).wrapping_mul(0x0102040810204080) >> 56) as u8;
    }
}

/// What a level of the network works on, for all its blocks one after another.
struct Level {
    arm: Arm,
    /// The permutations to be realised, and their inverses.
    pi: Zeroizing<Vec<u16>>,
    inverse: Zeroizing<Vec<u16>>,
    /// The least member of each element's cycle under π̄, once it has been found.
    c: Zeroizing<Vec<u16>>,
    /// A power of π̄; afterwards Fπ.
    p: Zeroizing<Vec<u16>>,
    /// A permutation with its inverse that is computed on the way.
    way: [Zeroizing<Vec<u16>>; 2],
    /// What was looked up.
    found: [Zeroizing<Vec<u16>>; 2],
    /// Room for looking up.
    room: Zeroizing<Vec<u32>>,
    /// Bits of the first stage.
    f: Zeroizing<Vec<u8>>,
    /// Bits of the last stage.
    l: Zeroizing<Vec<u8>>,
}

impl Level {
    fn new(arm: Arm, permutation: &[u16]) -> Self {
        let count = permutation.len();
        let zeros = || Zeroizing::new(vec![0; count]);
        let bits = || Zeroizing::new(vec![0; count / 2]);
        let mut level = Self {
            arm,
            pi: Zeroizing::new(permutation.to_vec()),
            inverse: zeros(),
            c: zeros(),
            p: zeros(),
            way: [zeros(), zeros()],
            found: [zeros(), zeros()],
            room: Zeroizing::new(vec![0; 2 * count]),
            f: bits(),
            l: bits(),
        };
        level.invert();
        level
    }

    /// π⁻¹: all numbers in the order of π.
    fn invert(&mut self) {
        let (packed, scratch) = self.room.split_at_mut(self.pi.len());
        for (x, (packed, pi)) in (0..).zip(packed.iter_mut().zip(self.pi.iter())) {
            *packed = u32::from(*pi) << u16::BITS | x;
        }
        self.arm.sort_blocks(packed, scratch, self.pi.len());
        self.inverse.iter_mut().zip(packed).for_each(|(x, packed)| *x = *packed as u16);
    }

    /// c(x) = the least of x, π̄(x), π̄²(x), … by doubling, w − 1 times.
    fn find_cycles(&mut self, w: usize) {
        let Self { arm, pi, inverse, c, p, way, found, room, .. } = self;
        // π̄ = π τ π⁻¹ τ is π in the order of τ π⁻¹ τ.
        let [image, inverse_image] = way;
        turn(inverse, image);
        turn(pi, inverse_image);
        arm.look_up(w, Permutation { image, inverse: inverse_image }, pi, p, room);
        let within = (1 << w) - 1;
        for (x, (c, p)) in (0..).zip(c.iter_mut().zip(p.iter())) {
            *c = least(x & within, *p);
        }
        let [inverse_image, square] = way;
        if w > 2 {
            turn(p, inverse_image);
            arm.look_up(w, Permutation { image: p, inverse: inverse_image }, p, square, room);
            core::mem::swap(p, square);
        }
        let [least_there, square] = found;
        for step in 1..w - 1 {
            // c after p, and p after p.
            turn(p, inverse_image);
            let at = Permutation { image: p, inverse: inverse_image };
            if step < w - 2 {
                arm.look_up_two(w, at, [p, c], [square, least_there], room);
                core::mem::swap(p, square);
            } else {
                arm.look_up(w, at, c, least_there, room);
            }
            c.iter_mut().zip(least_there.iter()).for_each(|(c, there)| *c = least(*c, *there));
        }
    }

    /// f, then Fπ in p, then l.
    fn find_outer_bits(&mut self, w: usize) {
        let within = (1 << w) - 1;
        self.f.iter_mut().zip(self.c.as_chunks::<2>().0).for_each(|(f, c)| *f = c[0] as u8 & 1);
        let images = &mut self.found[0];
        for (at, (image, f)) in images.as_chunks_mut::<2>().0.iter_mut().zip(self.f.iter()).enumerate() {
            let lower = ((2 * at as u16) & within) | u16::from(*f);
            *image = [lower, lower ^ 1];
        }
        let at = Permutation { image: &self.pi, inverse: &self.inverse };
        self.arm.look_up(w, at, images, &mut self.p, &mut self.room);
        self.l.iter_mut().zip(self.p.as_chunks::<2>().0).for_each(|(l, p)| *l = p[0] as u8 & 1);
    }

    /// The two permutations of half the size inside FπL take their places in a block: that of the even elements, then that of the odd ones.
    fn descend(&mut self, w: usize) {
        descend(w, &self.p, &self.l, &mut self.pi);
        let (mixed, inverse) = (&mut self.found[0], &mut self.inverse);
        mixed.copy_from_slice(inverse);
        descend(w, mixed, &self.f, inverse);
    }
}

/// Numbers 2j and 2j + 1 of each block, exchanged if bit j says so, without their lowest bit, at places j of the block's two halves.
fn descend(w: usize, from: &[u16], exchanges: &[u8], to: &mut [u16]) {
    let half = 1 << (w - 1);
    let blocks = from.chunks_exact(2 * half).zip(exchanges.chunks_exact(half));
    for (to, (from, exchanges)) in to.chunks_exact_mut(2 * half).zip(blocks) {
        let (even, odd) = to.split_at_mut(half);
        for (((even, odd), pair), bit) in even.iter_mut().zip(odd).zip(from.as_chunks::<2>().0).zip(exchanges) {
            let exchange = (pair[0] ^ pair[1]) & 0u16.wrapping_sub(u16::from(*bit));
            (*even, *odd) = ((pair[0] ^ exchange) >> 1, (pair[1] ^ exchange) >> 1);
        }
    }
}

/// τpτ: p(x ⊕ 1) ⊕ 1.
fn turn(p: &[u16], turned: &mut [u16]) {
    for (turned, p) in turned.as_chunks_mut::<2>().0.iter_mut().zip(p.as_chunks::<2>().0) {
        *turned = [p[1] ^ 1, p[0] ^ 1];
    }
}

/// The lesser of two numbers below 2¹⁵.
#[inline(always)]
fn least(a: u16, b: u16) -> u16 {
    let less = (b.wrapping_sub(a).cast_signed() >> 15).cast_unsigned();
    a ^ ((a ^ b) & less)
}

#[cfg(test)]
mod tests {
    use super::super::tests::arms;
    use super::*;
    use candor_test_support::Random;

    /// The permutation that a network is: stage s exchanges elements 2ᵍ apart, g = 0, 1, …, m − 1, …, 1, 0 (specification, section 3.3).
    fn network(m: usize, bits: &[u8]) -> Vec<u16> {
        let mut order: Vec<u16> = (0..1 << m).collect();
        let each = 1 << (m - 1);
        for stage in 0..2 * m - 1 {
            let gap = 1 << stage.min(2 * m - 2 - stage);
            for j in 0..each {
                let low = j / gap * 2 * gap + j % gap;
                let at = stage * each + j;
                if bits[at / 8] >> (at % 8) & 1 == 1 {
                    order.swap(low, low + gap);
                }
            }
        }
        order
    }

    #[test]
    fn the_network_is_the_permutation() {
        let mut random = Random::new(4);
        for m in 4..=13 {
            for round in 0..if m < 9 { 50 } else { 2 } {
                let mut permutation: Vec<u16> = (0..1 << m).collect();
                match round {
                    0 => permutation.reverse(),
                    1 => {}
                    _ => (1..permutation.len()).for_each(|i| permutation.swap(i, random.below(i + 1))),
                }
                if m >= 9 {
                    (1..permutation.len()).for_each(|i| permutation.swap(i, random.below(i + 1)));
                }
                for arm in arms() {
                    let bits = control_bits(arm, m, &permutation);
                    assert_eq!(network(m, &bits), permutation, "m = {m}, round {round}, {}", arm.name());
                }
            }
        }
    }
}
