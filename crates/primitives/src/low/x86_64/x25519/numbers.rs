//! Integers modulo 2^255 − 19 in five limbs of 51 bits, one a lane.
//!
//! A product's sums come out wider than its factors may be, and adding and subtracting them first saves carries: [`Sums`] can be added,
//! [`Limbs`] multiplied, and a carry leads from one to the other.

use super::lanes::Lanes;
use crate::x25519::field::LIMB;
use candor_cpu::HaveAvx512Ifma;

/// Limbs below 2^52, as factors must be.
#[derive(Clone, Copy)]
pub(super) struct Limbs<V>(pub(super) [V; 5]);

/// Limbs below 2^63.
#[derive(Clone, Copy)]
pub(super) struct Sums<V>(pub(super) [V; 5]);

/// 1024·p: above each limb of the sums of a product, which are at most 267·2^52, and a multiple of p.
pub(super) const ABOVE: [u64; 5] = [1024 * (LIMB - 18), 1024 * LIMB, 1024 * LIMB, 1024 * LIMB, 1024 * LIMB];

/// An array of a value for each limb. `array::from_fn` and `map` would call a closure, which has not the features of the function around it, and the
/// compiler need not inline it: then each instruction became a call.
macro_rules! each_limb {
    ($n:ident => $value:expr) => {
        [
            {
                let $n = 0;
                $value
            },
            {
                let $n = 1;
                $value
            },
            {
                let $n = 2;
                $value
            },
            {
                let $n = 3;
                $value
            },
            {
                let $n = 4;
                $value
            },
        ]
    };
}

pub(super) use each_limb;

/// Constants in vectors.
#[derive(Clone, Copy)]
pub(super) struct Constants<V> {
    pub(super) zero: V,
    limb: V,
    nineteen: V,
    ones: V,
    above: [V; 5],
}

impl<V: Lanes> Constants<V> {
    #[inline(always)]
    pub(super) fn new(proof: HaveAvx512Ifma) -> Self {
        Self {
            zero: V::splat(proof, 0),
            limb: V::splat(proof, LIMB),
            nineteen: V::splat(proof, 19),
            ones: V::splat(proof, u64::MAX),
            above: each_limb!(n => V::splat(proof, ABOVE[n] + 1)),
        }
    }

    /// a·b. Limbs of the sums are at most 267·2^52.
    #[inline(always)]
    pub(super) fn product(self, Limbs(a): &Limbs<V>, Limbs(b): &Limbs<V>) -> Sums<V> {
        let (mut low, mut high) = ([self.zero; 9], [self.zero; 9]);
        for j in 0..5 {
            for i in 0..5 {
                low[i + j] = low[i + j].low(a[i], b[j]);
                high[i + j] = high[i + j].high(a[i], b[j]);
            }
        }
        self.folded(low, twice(high))
    }

    /// a². Limbs of the sums are at most 267·2^52.
    #[inline(always)]
    pub(super) fn square(self, Limbs(a): &Limbs<V>) -> Sums<V> {
        let (mut low, mut high) = ([self.zero; 9], [self.zero; 9]);
        for j in 1..5 {
            for i in 0..j {
                low[i + j] = low[i + j].low(a[i], a[j]);
                high[i + j] = high[i + j].high(a[i], a[j]);
            }
        }
        let (mut low, mut high) = (twice(low), twice(high));
        for i in 0..5 {
            low[2 * i] = low[2 * i].low(a[i], a[i]);
            high[2 * i] = high[2 * i].high(a[i], a[i]);
        }
        self.folded(low, twice(high))
    }

    /// Σ low·2^(51n) + Σ high·2^(51n + 51) in five limbs: 2^255 ≡ 19.
    #[inline(always)]
    fn folded(self, low: [V; 9], high: [V; 9]) -> Sums<V> {
        let upper = [low[5].plus(high[4]), low[6].plus(high[5]), low[7].plus(high[6]), low[8].plus(high[7]), high[8]];
        let lower = [low[0], low[1].plus(high[0]), low[2].plus(high[1]), low[3].plus(high[2]), low[4].plus(high[3])];
        Sums(each_limb!(n => lower[n].plus(upper[n]).plus(upper[n].shl::<1>().plus(upper[n].shl::<4>()))))
    }

    /// sums + a·factor, for a factor below 2^20. Each limb grows by less than 2^53.
    #[inline(always)]
    pub(super) fn plus_small(self, Sums(sums): &Sums<V>, Limbs(a): &Limbs<V>, factor: V) -> Sums<V> {
        let high = each_limb!(n => self.zero.high(a[n], factor));
        let high = each_limb!(n => high[n].plus(high[n]));
        let top = high[4].plus(high[4].shl::<1>()).plus(high[4].shl::<4>());
        let carries = [top, high[0], high[1], high[2], high[3]];
        Sums(each_limb!(n => sums[n].low(a[n], factor).plus(carries[n])))
    }

    /// a + b, carried.
    #[inline(always)]
    pub(super) fn sum(self, a: &Sums<V>, b: &Sums<V>) -> Limbs<V> {
        self.carried(&a.plus(b))
    }

    /// a − b, carried.
    #[inline(always)]
    pub(super) fn difference(self, a: &Sums<V>, b: &Sums<V>) -> Limbs<V> {
        self.carried(&a.plus_or_minus(b, self.ones, &self.above))
    }

    /// The same number with limbs below 2^51 + 2^17.
    #[inline(always)]
    pub(super) fn carried(self, Sums(sums): &Sums<V>) -> Limbs<V> {
        let carries = each_limb!(n => sums[n].shr::<51>());
        let rest = each_limb!(n => sums[n].and(self.limb));
        Limbs([
            rest[0].low(carries[4], self.nineteen),
            rest[1].plus(carries[0]),
            rest[2].plus(carries[1]),
            rest[3].plus(carries[2]),
            rest[4].plus(carries[3]),
        ])
    }
}

/// Each of them doubled.
#[inline(always)]
fn twice<V: Lanes>(mut vectors: [V; 9]) -> [V; 9] {
    for vector in &mut vectors {
        *vector = vector.plus(*vector);
    }
    vectors
}

impl<V: Lanes> Sums<V> {
    #[inline(always)]
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self(each_limb!(n => self.0[n].plus(other.0[n])))
    }

    /// self + other where `signs` is zero, self − other where it is all ones. `biases` must be [`biases`] of these signs.
    #[inline(always)]
    pub(super) fn plus_or_minus(&self, other: &Self, signs: V, biases: &[V; 5]) -> Self {
        Self(each_limb!(n => self.0[n].plus(biases[n]).plus(other.0[n].xor(signs))))
    }

    /// Within each four lanes those that `P` names.
    #[inline(always)]
    pub(super) fn permuted<const P: i32>(&self) -> Self {
        Self(each_limb!(n => self.0[n].permuted::<P>()))
    }
}

impl<V: Lanes> Limbs<V> {
    #[inline(always)]
    pub(super) fn permuted<const P: i32>(&self) -> Self {
        Self(each_limb!(n => self.0[n].permuted::<P>()))
    }

    #[inline(always)]
    pub(super) fn looked_up(&self, index: V) -> Self {
        Self(each_limb!(n => self.0[n].looked_up(index)))
    }

    #[inline(always)]
    pub(super) fn blended<const FROM_OTHER: u8>(&self, other: &Self) -> Self {
        Self(each_limb!(n => self.0[n].blended::<FROM_OTHER>(other.0[n])))
    }

    /// The lanes of `other` where the highest bit of `by` is set.
    #[inline(always)]
    pub(super) fn chosen(&self, other: &Self, by: V) -> Self {
        Self(each_limb!(n => self.0[n].chosen(other.0[n], by)))
    }

    /// Limbs in memory, a row of lanes each. They must be below 2^52.
    #[inline(always)]
    pub(super) fn load<const L: usize>(proof: HaveAvx512Ifma, rows: &[[u64; L]; 5]) -> Self {
        Self(each_limb!(n => V::load(proof, &rows[n])))
    }

    #[inline(always)]
    pub(super) fn store<const L: usize>(&self, rows: &mut [[u64; L]; 5]) {
        for (limb, row) in self.0.iter().zip(rows) {
            limb.store(row);
        }
    }
}

/// What [`Sums::plus_or_minus`] adds with these signs, one a lane: −x is the complement of x and 1, and 1024·p keeps it above zero.
pub(super) const fn biases<const L: usize>(signs: [bool; L]) -> [[u64; L]; 5] {
    let mut biases = [[0; L]; 5];
    let mut at = 0;
    while at < 5 * L {
        if signs[at % L] {
            biases[at / L][at % L] = ABOVE[at / L] + 1;
        }
        at += 1;
    }
    biases
}

/// All ones where a sign is set.
pub(super) const fn masks<const L: usize>(signs: [bool; L]) -> [u64; L] {
    let mut masks = [0; L];
    let mut at = 0;
    while at < L {
        masks[at] = if signs[at] { u64::MAX } else { 0 };
        at += 1;
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{Eight, Four};
    use super::*;
    use crate::x25519::field::{A24, Element};
    use candor_cpu::Cpu;
    use std::vec::Vec;

    /// The largest limb of a factor.
    const LARGEST: u64 = (1 << 52) - 1;

    /// Factors with limbs at their bounds, and ones that look random: eight in lanes.
    fn factors() -> Vec<[[u64; 8]; 5]> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 12
        };
        let extreme = [0, 1, LIMB, LIMB + 1, LARGEST];
        let pattern =
            |n: usize| core::array::from_fn(|limb| core::array::from_fn(|lane| extreme[(limb * n + lane) % 5]));
        let mut factors: Vec<_> = (0..5).map(pattern).collect();
        factors.push([[LARGEST; 8]; 5]);
        factors.extend((0..40).map(|_| core::array::from_fn(|_| core::array::from_fn(|_| random()))));
        factors
    }

    fn lane(rows: &[[u64; 8]; 5], lane: usize) -> Element {
        Element(rows.map(|row| row[lane]))
    }

    /// What a computation makes of each pair of factors is what the portable field makes of it, and its limbs are within their bounds.
    fn agree<V: Lanes>(
        lanes: usize,
        compute: impl Fn(HaveAvx512Ifma, Constants<V>, Limbs<V>, Limbs<V>) -> Sums<V>,
        expected: impl Fn(&Element, &Element) -> Element,
        bound: u64,
    ) {
        let Some(token) = HaveAvx512Ifma::check(Cpu::default()) else {
            return std::eprintln!("skipped: this CPU lacks AVX-512 with IFMA");
        };
        let with = Constants::<V>::new(token);
        let factors = factors();
        for a in &factors {
            for b in &factors {
                let sums = compute(token, with, Limbs::load(token, a), Limbs::load(token, b));
                let (mut wide, mut narrow) = ([[0; 8]; 5], [[0; 8]; 5]);
                Limbs(sums.0).store(&mut wide);
                with.carried(&sums).store(&mut narrow);
                for n in 0..lanes {
                    assert!(wide.iter().all(|row| row[n] <= bound));
                    assert!(narrow.iter().all(|row| row[n] < (1 << 51) + (1 << 17)));
                    assert_eq!(lane(&narrow, n).to_bytes(), expected(&lane(a, n), &lane(b, n)).to_bytes());
                }
            }
        }
    }

    const PRODUCT: u64 = 267 << 52;
    const DIFFERENCE: u64 = (1 << 61) + PRODUCT;

    #[test]
    fn products_in_lanes_are_those_of_the_portable_field() {
        agree::<Eight>(8, |_, with, a, b| with.product(&a, &b), Element::times, PRODUCT);
        agree::<Four>(4, |_, with, a, b| with.product(&a, &b), Element::times, PRODUCT);
        agree::<Eight>(8, |_, with, a, _| with.square(&a), |a, _| a.squared(), PRODUCT);
        agree::<Four>(4, |_, with, a, _| with.square(&a), |a, _| a.squared(), PRODUCT);
    }

    #[test]
    fn sums_in_lanes_are_those_of_the_portable_field() {
        agree::<Eight>(
            8,
            |token, with, a, b| with.plus_small(&with.product(&a, &b), &b, Eight::splat(token, A24)),
            |a, b| a.times(b).plus(&b.times_small(A24)),
            PRODUCT + (1 << 53),
        );
        agree::<Eight>(
            8,
            |_, with, a, b| with.square(&a).plus_or_minus(&with.product(&a, &b), with.ones, &with.above),
            |a, b| a.squared().minus(&a.times(b)),
            DIFFERENCE,
        );
    }
}
