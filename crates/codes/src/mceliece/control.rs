//! Control bits of the Beneš network that a permutation is.
//!
//! The bits are those of Bernstein, *Verified fast formulas for control bits for permutation networks* (2020). That paper computes them by recursion
//! with about 3w sorts of 2ʷ numbers. Here all blocks of a level are sorted at once, and fewer times:
//!
//! - The permutation π̄ of the paper is a product of two involutions, στ with τ(x) = x ⊕ 1. So its powers satisfy p⁻¹ = τpτ, and p⁻¹ takes
//!   no sort.
//! - The last permutation of a level, FπL, differs from Fπ by exchanges of neighbours.
//!
//! To apply a secret permutation p to an array is to sort the array by p⁻¹.

use super::arm_mux::Arm;
use alloc::vec;
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// Bits of a packed number that hold its lower part.
const LOWER: u32 = 16;
/// The lower part.
const LOW: u32 = (1 << LOWER) - 1;

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
    for (block, bits) in bits.chunks_exact(each).enumerate() {
        let offset = if level == 0 { 0 } else { block.reverse_bits() >> (usize::BITS as usize - level) };
        for (j, bit) in bits.iter().enumerate() {
            let at = offset + (j << level);
            stage[at / 8] |= bit << (at % 8);
        }
    }
}

/// What a level of the network works on, for all its blocks one after another.
struct Level {
    arm: Arm,
    /// The permutations to be realised.
    pi: Zeroizing<Vec<u32>>,
    /// The least member of each element's cycle under π̄, once it has been found.
    c: Zeroizing<Vec<u32>>,
    /// A power of π̄; afterwards Fπ.
    p: Zeroizing<Vec<u32>>,
    /// What is sorted.
    packed: Zeroizing<Vec<u32>>,
    /// Room to sort in.
    scratch: Zeroizing<Vec<u32>>,
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
        let pi = Zeroizing::new(permutation.iter().map(|x| u32::from(*x)).collect());
        Self { arm, pi, c: zeros(), p: zeros(), packed: zeros(), scratch: zeros(), f: bits(), l: bits() }
    }

    fn sort(&mut self, w: usize) {
        self.arm.sort_blocks(&mut self.packed, &mut self.scratch, 1 << w);
    }

    /// c(x) = the least of x, π̄(x), π̄²(x), … by doubling, w − 1 times.
    fn find_cycles(&mut self, w: usize) {
        for (packed, pi) in self.packed.as_chunks_mut::<2>().0.iter_mut().zip(self.pi.as_chunks::<2>().0) {
            *packed = [(pi[0] ^ 1) << LOWER | pi[1], (pi[1] ^ 1) << LOWER | pi[0]];
        }
        self.sort(w);
        let within = (1 << w) - 1;
        for (x, ((p, c), packed)) in (0..).zip(self.p.iter_mut().zip(self.c.iter_mut()).zip(self.packed.iter())) {
            *p = packed & LOW;
            *c = least(x & within, *p);
        }
        if w > 2 {
            self.square(w);
        }
        for step in 1..w - 1 {
            // c after p, and p after p, in one sort where there is room for three numbers.
            let last = step == w - 2;
            if 3 * w < 32 {
                self.pack_by_inverse(2 * w, |p, c| p << w | c);
                self.sort(w);
                for (packed, (p, c)) in self.packed.iter().zip(self.p.iter_mut().zip(self.c.iter_mut())) {
                    *c = least(*c, packed & within);
                    *p = packed >> w & within;
                }
            } else {
                self.pack_by_inverse(LOWER as usize, |_, c| c);
                self.sort(w);
                for (packed, c) in self.packed.iter().zip(self.c.iter_mut()) {
                    *c = least(*c, packed & LOW);
                }
                if !last {
                    self.square(w);
                }
            }
        }
    }

    /// p becomes p².
    fn square(&mut self, w: usize) {
        self.pack_by_inverse(LOWER as usize, |p, _| p);
        self.sort(w);
        self.p.iter_mut().zip(self.packed.iter()).for_each(|(p, packed)| *p = packed & LOW);
    }

    /// Packs p⁻¹(x) above what `lower` makes of p(x) and c(x), where p⁻¹(x) = p(x ⊕ 1) ⊕ 1.
    #[inline(always)]
    fn pack_by_inverse(&mut self, shift: usize, lower: impl Fn(u32, u32) -> u32) {
        let pairs = self.p.as_chunks::<2>().0.iter().zip(self.c.as_chunks::<2>().0);
        for (packed, (p, c)) in self.packed.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
            *packed = [(p[1] ^ 1) << shift | lower(p[0], c[0]), (p[0] ^ 1) << shift | lower(p[1], c[1])];
        }
    }

    /// f, then Fπ in p, then l.
    fn find_outer_bits(&mut self, w: usize) {
        let within = (1 << w) - 1;
        self.f.iter_mut().zip(self.c.as_chunks::<2>().0).for_each(|(f, c)| *f = c[0] as u8 & 1);
        for (x, (packed, pi)) in (0..).zip(self.packed.iter_mut().zip(self.pi.iter())) {
            *packed = pi << LOWER | (x & within);
        }
        self.sort(w);
        for (at, (packed, f)) in self.packed.as_chunks_mut::<2>().0.iter_mut().zip(self.f.iter()).enumerate() {
            let image = ((2 * at as u32) & within) | u32::from(*f);
            *packed = [(packed[0] & LOW) << LOWER | image, (packed[1] & LOW) << LOWER | (image ^ 1)];
        }
        self.sort(w);
        self.p.iter_mut().zip(self.packed.iter()).for_each(|(p, packed)| *p = packed & LOW);
        self.l.iter_mut().zip(self.p.as_chunks::<2>().0).for_each(|(l, p)| *l = p[0] as u8 & 1);
    }

    /// The two permutations of half the size inside FπL take their places in a block: that of the even elements, then that of the odd ones.
    fn descend(&mut self, w: usize) {
        let half = 1 << (w - 1);
        let blocks = self.p.chunks_exact(2 * half).zip(self.l.chunks_exact(half));
        for (pi, (p, l)) in self.pi.chunks_exact_mut(2 * half).zip(blocks) {
            let (even, odd) = pi.split_at_mut(half);
            for (((even, odd), p), l) in even.iter_mut().zip(odd).zip(p.as_chunks::<2>().0).zip(l) {
                let exchange = (p[0] ^ p[1]) & 0u32.wrapping_sub(u32::from(*l));
                (*even, *odd) = ((p[0] ^ exchange) >> 1, (p[1] ^ exchange) >> 1);
            }
        }
    }
}

/// The lesser of two numbers below 2³¹.
#[inline(always)]
fn least(a: u32, b: u32) -> u32 {
    let less = (b.wrapping_sub(a).cast_signed() >> 31).cast_unsigned();
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
