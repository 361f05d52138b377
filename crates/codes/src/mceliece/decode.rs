//! Decoding: the error of weight t in a word (specification, section 2.5.3).

use super::arm_mux::Arm;
use super::benes::Network;
use super::parameters::Parameters;
use super::transform::{Table, rows};
use crate::kernels::mceliece::vector::Row;
use crate::words::Words;
use candor_cpu::barrier;
use zeroize::Zeroizing;

/// What decoding needs of a secret key, computed once: the network's control bits as the kernels want them, and 1/g(α)² for each element α
/// of the field. It is wiped on drop.
pub(crate) struct DecodingKey {
    set: &'static Parameters,
    network: Network,
    scales: Scales,
}

/// 1/g(α)², in the order of the points.
enum Scales {
    Twelve(Table<12, 16>),
    Thirteen(Table<13, 32>),
}

impl DecodingKey {
    /// From the t lower coefficients of the monic Goppa polynomial, lowest first, and the control bits as they stand in a secret key.
    ///
    /// # Panics
    /// If there are not as many of them as the set says.
    pub(crate) fn new(arm: Arm, set: &'static Parameters, goppa: &[u16], control: &[u8]) -> Self {
        assert!(goppa.len() == set.t, "a Goppa polynomial has {} lower coefficients", set.t);
        let mut polynomial = Zeroizing::new([0; super::parameters::MOST_ERRORS + 1]);
        polynomial[..set.t].copy_from_slice(goppa);
        polynomial[set.t] = 1;
        let polynomial = &polynomial[..=set.t];
        let scales = match set.m {
            12 => Scales::Twelve(scales(arm, polynomial)),
            _ => Scales::Thirteen(scales(arm, polynomial)),
        };
        Self { set, network: Network::new(set.m, control), scales }
    }

    /// Writes the error of weight t whose syndrome is `ciphertext` into `error`, n bits: then the answer is all ones. If there is none the
    /// answer is zero, and what is in `error` means nothing. `step` is called when the word is in the order of the field's elements, when there are
    /// syndromes, the locator, its roots, and at the end.
    ///
    /// # Panics
    /// If the lengths are not those of the set.
    pub(crate) fn decode(&self, arm: Arm, ciphertext: &[u8], error: &mut [u64], step: &mut impl FnMut()) -> u64 {
        assert!(ciphertext.len() == self.set.ciphertext() && error.len() == self.set.n.div_ceil(64));
        match &self.scales {
            Scales::Twelve(scales) => self.decode_with(arm, scales, ciphertext, error, step),
            Scales::Thirteen(scales) => self.decode_with(arm, scales, ciphertext, error, step),
        }
    }

    fn decode_with<const M: usize, const Q: usize>(
        &self,
        arm: Arm,
        scales: &Table<M, Q>,
        ciphertext: &[u8],
        error: &mut [u64],
        step: &mut impl FnMut(),
    ) -> u64 {
        let Parameters { n, t, .. } = *self.set;
        // The word (C, 0, …, 0) has the syndrome C, as H begins with the identity.
        let mut word = Words::from_bytes(ciphertext, 4 * Q);
        self.network.backwards(arm, &mut word);
        step();
        let mut table = Table::zero();
        let syndromes = Zeroizing::new(weighted_sums(arm, scales, &word, &mut table));
        step();
        let locator = Zeroizing::new(arm.locator(&syndromes, t));
        step();
        arm.evaluate(&locator, &mut table);
        // A point has an error if it is a root.
        for (i, word) in word.iter_mut().enumerate() {
            *word = !table.iter().fold(0, |any, plane| any | plane[i / 4][i % 4]);
        }
        step();
        // Reencoding: the error has the same 2t syndromes, which is to say the same as modulo g.
        let again = Zeroizing::new(weighted_sums(arm, scales, &word, &mut table));
        let mut wrong = 0;
        for (a, b) in syndromes.iter().zip(again.iter()) {
            for i in 0..4 {
                let counts = (2 * t).saturating_sub(64 * i).min(64) as u32;
                wrong |= (a[i] ^ b[i]) & u64::MAX.checked_shr(64 - counts).unwrap_or(0);
            }
        }
        self.network.forwards(arm, &mut word);
        let (support, beyond) = word.split_at_mut(error.len());
        if n % 64 > 0 {
            let last = support.len() - 1;
            wrong |= support[last] >> (n % 64);
        }
        wrong = beyond.iter().fold(wrong, |wrong, word| wrong | word);
        error.copy_from_slice(support);
        let weight = error.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        wrong |= weight ^ t as u64;
        let good = barrier::mask_u64((wrong | wrong.wrapping_neg()) >> 63 ^ 1);
        step();
        good
    }
}

/// 1/g² at all points.
fn scales<const M: usize, const Q: usize>(arm: Arm, polynomial: &[u16]) -> Table<M, Q> {
    let mut values = Table::zero();
    arm.evaluate(&rows::<M>(polynomial), &mut values);
    arm.invert(&mut values);
    arm.square(&mut values);
    values
}

/// The power sums of the scales where `word` has ones: the syndromes of a word.
fn weighted_sums<const M: usize, const Q: usize>(
    arm: Arm,
    scales: &Table<M, Q>,
    word: &[u64],
    table: &mut Table<M, Q>,
) -> [Row; M] {
    let word = word.as_chunks::<4>().0;
    for (plane, scales) in table.iter_mut().zip(scales.iter()) {
        for ((row, scale), word) in plane.iter_mut().zip(scales).zip(word) {
            row.0 = core::array::from_fn(|i| scale[i] & word[i]);
        }
    }
    arm.power_sums(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::mceliece::field::{inverse, times};
    use crate::mceliece::parameters::ALL;
    use crate::mceliece::tests::{arms, random};
    use crate::mceliece::transform::evaluate;
    use std::vec;
    use std::vec::Vec;

    /// A code for the tests: a Goppa polynomial without roots in the field, a permuted support, and a matrix H = (I | T) of it.
    struct Code {
        key: DecodingKey,
        set: &'static Parameters,
        /// The columns of H, mt bits each.
        columns: Vec<Vec<u64>>,
    }

    /// A polynomial without roots in the field whose derivative shares no factor with it: a product of quadratics is not wanted, so
    /// random ones are tried. g is squarefree if no square divides it, that is if gcd(g, g') = 1.
    fn goppa<const M: usize>(set: &Parameters, random: &mut impl FnMut() -> u64) -> Vec<u16> {
        loop {
            let mut g: Vec<u16> = (0..set.t).map(|_| random() as u16 & ((1 << M) - 1)).collect();
            g.push(1);
            if evaluate(arms()[0], M, &g).contains(&0) {
                continue;
            }
            let derivative = (1..=set.t).map(|i| if i % 2 == 1 { g[i] } else { 0 }).collect();
            if degree_of_gcd::<M>(g.clone(), derivative) == 0 {
                return g;
            }
        }
    }

    fn degree_of_gcd<const M: usize>(mut a: Vec<u16>, mut b: Vec<u16>) -> usize {
        let trim = |p: &mut Vec<u16>| {
            while p.last() == Some(&0) {
                p.pop();
            }
        };
        trim(&mut b);
        while !b.is_empty() {
            let lead = inverse::<M>(b[b.len() - 1]);
            while a.len() >= b.len() {
                let factor = times::<M>(a[a.len() - 1], lead);
                let shift = a.len() - b.len();
                b.iter().enumerate().for_each(|(i, c)| a[i + shift] ^= times::<M>(factor, *c));
                trim(&mut a);
            }
            std::mem::swap(&mut a, &mut b);
        }
        a.len() - 1
    }

    impl Code {
        fn new<const M: usize>(set: &'static Parameters, random: &mut impl FnMut() -> u64) -> Self {
            let g = goppa::<M>(set, random);
            let values = evaluate(arms()[0], M, &g);
            let point = |element: u16| usize::from(element.reverse_bits() >> (16 - M));
            loop {
                let control: Vec<u8> = (0..set.control()).map(|_| random() as u8).collect();
                let support = Network::new(M, &control).support(arms()[0]);
                // αⁱ/g(α) for i < t, bit by bit, as a column.
                let mut rows = vec![vec![0u64; set.n.div_ceil(64)]; set.rows()];
                for (j, alpha) in support.iter().take(set.n).enumerate() {
                    let mut power = inverse::<M>(values[point(*alpha)]);
                    for i in 0..set.t {
                        for bit in 0..M {
                            rows[i * M + bit][j / 64] |= u64::from(power >> bit & 1) << (j % 64);
                        }
                        power = times::<M>(power, *alpha);
                    }
                }
                if !eliminate(&mut rows) {
                    continue;
                }
                let columns = (0..set.n)
                    .map(|j| {
                        let mut column = vec![0u64; set.rows().div_ceil(64)];
                        rows.iter()
                            .enumerate()
                            .for_each(|(i, row)| column[i / 64] |= (row[j / 64] >> (j % 64) & 1) << (i % 64));
                        column
                    })
                    .collect();
                return Self { key: DecodingKey::new(arms()[0], set, &g[..set.t], &control), set, columns };
            }
        }

        fn syndrome(&self, positions: &[usize]) -> Vec<u8> {
            let mut sum = vec![0; self.set.rows().div_ceil(64)];
            for at in positions {
                sum.iter_mut().zip(&self.columns[*at]).for_each(|(sum, word)| *sum ^= word);
            }
            let mut bytes = vec![0; self.set.ciphertext()];
            crate::words::to_bytes(&sum, &mut bytes);
            bytes
        }
    }

    /// Brings the left of the matrix to the identity, if it can.
    fn eliminate(rows: &mut [Vec<u64>]) -> bool {
        for i in 0..rows.len() {
            let has = |row: &Vec<u64>| row[i / 64] >> (i % 64) & 1 == 1;
            let Some(pivot) = (i..rows.len()).find(|j| has(&rows[*j])) else { return false };
            rows.swap(i, pivot);
            let row = rows[i].clone();
            for (_, other) in rows.iter_mut().enumerate().filter(|(j, other)| *j != i && has(other)) {
                other.iter_mut().zip(&row).for_each(|(a, b)| *a ^= b);
            }
        }
        true
    }

    fn distinct(count: usize, n: usize, random: &mut impl FnMut() -> u64) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for i in 0..count {
            all.swap(i, i + random() as usize % (n - i));
        }
        all.truncate(count);
        all
    }

    fn decodes<const M: usize>(set: &'static Parameters) {
        let mut random = random(set.t as u64);
        let code = Code::new::<M>(set, &mut random);
        for weight in 0..=set.t + 1 {
            let positions = distinct(weight, set.n, &mut random);
            let ciphertext = code.syndrome(&positions);
            for arm in arms() {
                let mut error = vec![0; set.n.div_ceil(64)];
                let found = code.key.decode(arm, &ciphertext, &mut error, &mut || ());
                assert_eq!(found, if weight == set.t { u64::MAX } else { 0 }, "weight {weight}, {}", arm.name());
                let mut expected = vec![0; error.len()];
                positions.iter().for_each(|at| expected[at / 64] |= 1 << (at % 64));
                if weight == set.t {
                    assert_eq!(error, expected, "{}", arm.name());
                } else if weight < set.t {
                    // All errors are found, and at most the point 0 besides, as the locator is a multiple of y.
                    let more: u32 = error.iter().zip(&expected).map(|(a, b)| (a ^ b).count_ones()).sum();
                    assert!(more <= 1, "weight {weight}: {more} wrong positions, {}", arm.name());
                }
            }
        }
        // One bit of a ciphertext changed: no error of weight t has this syndrome, as the codewords are further apart than that.
        let mut ciphertext = code.syndrome(&distinct(set.t, set.n, &mut random));
        for at in [0, 1, set.rows() / 2, set.rows() - 1] {
            ciphertext[at / 8] ^= 1 << (at % 8);
            for arm in arms() {
                let mut error = vec![0; set.n.div_ceil(64)];
                assert_eq!(code.key.decode(arm, &ciphertext, &mut error, &mut || ()), 0, "bit {at}, {}", arm.name());
            }
            ciphertext[at / 8] ^= 1 << (at % 8);
        }
    }

    #[test]
    fn errors_of_every_weight_are_found_and_only_those_of_weight_t_accepted() {
        decodes::<12>(ALL[0]);
        for set in [ALL[2], ALL[4], ALL[6], ALL[8]] {
            decodes::<13>(set);
        }
    }
}
