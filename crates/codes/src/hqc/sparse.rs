//! Two ways to multiply modulo xⁿ − 1 where one factor is sparse, to be measured side by side (`kem/hqc-*/product`): the KEM has the first.

use super::arm_mux::Arm;
use super::parameters::Parameters;
use super::ring::Ring;
use crate::kernels::sparse::room;
use crate::words::Words;
use candor_gf2::Multiplier;

/// Products of one level of HQC; made by [`Hqc::sparse_products`](super::Hqc::sparse_products). What a product leaves in its room is wiped on drop.
pub struct SparseProducts {
    parameters: &'static Parameters,
    arm: Arm,
    ring: Ring<'static>,
    twice: Words,
    rooms: [Words; 2],
}

impl SparseProducts {
    pub(super) fn new(parameters: &'static Parameters, arm: Arm, multiplier: Multiplier) -> Self {
        let zero = || Words::zero(room(parameters.n));
        Self { parameters, arm, ring: Ring::new(parameters, multiplier), twice: zero(), rooms: [zero(), zero()] }
    }

    /// Words of a polynomial.
    #[must_use]
    pub fn words(&self) -> usize {
        self.parameters.words()
    }

    /// Bits of a polynomial, n.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.parameters.n
    }

    /// Positions of a secret vector, ω.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.parameters.omega
    }

    /// As the KEM does: a vector made of the positions, times the polynomial. `product` is overwritten; both have [`words`](Self::words), and no bit from n on.
    /// Positions are below n and differ from each other.
    // ct: public, because it is for measurements; what it calls are the KEM's kernels
    pub fn by_dense(&mut self, polynomial: &[u64], positions: &[u32], product: &mut [u64]) {
        let mut vector = Words::zero(self.parameters.words());
        self.arm.scatter(positions, &mut vector);
        product.fill(0);
        self.ring.add_product(product, polynomial, &vector);
    }

    /// The same by a rotation for each position. Positions are secret, so nothing looks whether they are as they should be: of equal ones this adds both and
    /// [`by_dense`](Self::by_dense) one, and one from n on gives a product without meaning, or in a debug build a panic.
    // ct: public, because it is for measurements, and no KEM calls it
    pub fn by_rotations(&mut self, polynomial: &[u64], positions: &[u32], product: &mut [u64]) {
        let Self { parameters, arm, twice, rooms: [first, second], .. } = self;
        let (n, words) = (parameters.n, parameters.words());
        twice[..words].copy_from_slice(polynomial);
        // The second copy begins in the last word of the first.
        let bits = n % 64;
        twice[words..2 * words].fill(0);
        for (i, word) in polynomial.iter().enumerate() {
            twice[words - 1 + i] |= word << bits;
            twice[words + i] |= word >> (64 - bits);
        }
        product.fill(0);
        arm.sparse_product(n, twice, positions, first, second, product);
        product[words - 1] &= parameters.last_word();
    }
}

impl core::fmt::Debug for SparseProducts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SparseProducts({} bits, {})", self.parameters.n, self.arm.name())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Hqc, Level, Level1, Level3, Level5};
    use candor_cpu::Cpu;
    use candor_test_support::random::Random;
    use std::vec;
    use std::vec::Vec;

    fn check<L: Level>() {
        for cpu in [Cpu::default(), Cpu::portable()] {
            let mut products = Hqc::<L>::with_cpu(cpu).sparse_products();
            let (n, words) = (products.bits(), products.words());
            let mut random = Random::new(n as u64);
            let mut polynomial: Vec<u64> = (0..words).map(|_| random.word()).collect();
            polynomial[words - 1] &= !0 >> (64 * words - n);
            let some: Vec<u32> = (0..products.weight()).map(|_| (random.word() % n as u64) as u32).collect();
            for positions in [&some[..], &[0], &[1], &[63], &[64], &[n as u32 - 1], &[n as u32 / 2, n as u32 - 64]] {
                // Equal positions cancel in one way and not in the other.
                let mut positions = positions.to_vec();
                positions.sort_unstable();
                positions.dedup();
                let (mut dense, mut sparse) = (vec![7; words], vec![9; words]);
                products.by_dense(&polynomial, &positions, &mut dense);
                products.by_rotations(&polynomial, &positions, &mut sparse);
                assert_eq!(dense, sparse, "{products:?}, {} positions from {}", positions.len(), positions[0]);
            }
        }
    }

    #[test]
    fn both_ways_give_the_same_product() {
        check::<Level1>();
        check::<Level3>();
        check::<Level5>();
    }
}
