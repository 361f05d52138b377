//! The reduction beside a simple one.

use super::super::columns;
use super::super::parameters::{self, Parameters};
use super::super::permutation;
use super::super::tests::arms;
use super::*;
use crate::kernels::mceliece::field;
use candor_test_support::Random;

/// A matrix with a `Vec<bool>` for each row.
type Simple = Vec<Vec<bool>>;

/// H, by the definition.
fn matrix<const M: usize>(set: &Parameters, order: &Order) -> Simple {
    let mut h = vec![vec![false; set.n]; set.rows()];
    for (j, (number, value)) in order.numbers.iter().zip(order.values.iter()).enumerate().take(set.n) {
        let (x, mut entry) = (permutation::element(set, *number), *value);
        for i in 0..set.t {
            (0..M).for_each(|bit| h[i * M + bit][j] = entry >> bit & 1 == 1);
            entry = field::times::<M>(entry, x);
        }
    }
    h
}

/// Gauss–Jordan with the pivot of row i in the first column, from i on, that has one; in the last μ rows of a semi-systematic matrix from row μ's column
/// on, up to ν further, and otherwise in column i alone. The pivots' columns are moved as the specification says. Returns c.
fn reduce(set: &Parameters, h: &mut Simple) -> Option<u64> {
    let rows = set.rows();
    let (square, mut c) = (if set.semi_systematic { rows - 32 } else { rows }, 0xffffffff);
    let mut places: Vec<usize> = Vec::new();
    for row in 0..rows {
        let columns = if row < square { row..row + 1 } else { square..square + 64 };
        let (from, column) =
            columns.flat_map(|column| (row..rows).map(move |from| (from, column))).find(|(i, j)| h[*i][*j])?;
        h.swap(row, from);
        let pivot = h[row].clone();
        for (at, other) in h.iter_mut().enumerate() {
            if at != row && other[column] {
                other.iter_mut().zip(&pivot).for_each(|(other, pivot)| *other ^= pivot);
            }
        }
        places.push(column);
    }
    if set.semi_systematic {
        c = places[square..].iter().fold(0, |c, place| c | 1 << (place - square));
        for (row, place) in places.iter().enumerate().skip(square) {
            h.iter_mut().for_each(|other| other.swap(row, *place));
        }
    }
    Some(c)
}

fn some_order<const M: usize>(arm: Arm, set: &Parameters, seed: u64) -> Order {
    let mut random = Random::new(seed);
    let g: Vec<u16> = (0..set.t).map(|_| random.word() as u16 & field::mask::<M>()).collect();
    let inverses = columns::inverses(arm, set, &g);
    permutation::order(arm, &random.bytes(4 * set.q()), &inverses).unwrap()
}

/// Compares T, c and success for some orders; returns how often there was a T.
fn compare<const M: usize>(arm: Arm, set: &Parameters, tries: u64) -> usize {
    let mut found = 0;
    for seed in 0..tries {
        let mut order = some_order::<M>(arm, set, seed);
        let mut h = matrix::<M>(set, &order);
        let mut public = vec![0; set.public()];
        let c = public_matrix(arm, set, &mut order, &mut public);
        assert_eq!(c, reduce(set, &mut h), "{set:?}, seed {seed}");
        if c.is_none() {
            continue;
        }
        found += 1;
        for (row, bits) in public.chunks_exact(set.row_bytes()).zip(&h) {
            let bits = bits[set.rows()..].iter().enumerate();
            let mut expected = vec![0; set.row_bytes()];
            bits.for_each(|(j, bit)| expected[j / 8] |= u8::from(*bit) << (j % 8));
            assert_eq!(row, expected);
        }
        // The elements of a semi-systematic matrix, once moved, give a systematic one.
        let systematic = Parameters { semi_systematic: false, ..*set };
        assert_eq!(reduce(&systematic, &mut matrix::<M>(set, &order)), Some(0xffffffff));
    }
    found
}

/// Small codes of all shapes that the sets have: rows that are and are not multiples of 8 and of 64.
#[test]
fn small_matrices_reduce_as_by_hand() {
    arms().into_iter().for_each(small_matrices);
}

fn small_matrices(arm: Arm) {
    let small = |t, n, semi_systematic| Parameters { t, n, semi_systematic, ..parameters::MCELIECE_348864 };
    let mut found = [0, 0];
    for (t, n) in [(8, 256), (11, 600), (13, 1000), (16, 520)] {
        found[0] += compare::<12>(arm, &small(t, n, false), 8);
        found[1] += compare::<12>(arm, &small(t, n, true), 8);
    }
    // The polynomials are not irreducible, so a column may be zero.
    assert!((1..32).contains(&found[0]) && found[1] > 24, "{found:?} of 32");
    let other = Parameters { t: 19, n: 2000, ..parameters::MCELIECE_6960119F };
    assert!(compare::<13>(arm, &other, 2) > 0);
}

/// Where 128 rows have too few pivots, the others are looked at as well.
#[test]
fn pivots_are_found_wherever_they_are() {
    let (rows, height, count) = (320, 320, 50);
    let mut random = Random::new(9);
    for arm in arms() {
        for empty in [0, 60, 90, 250, 290] {
            let mut strip = vec![0; STRIP * height];
            for column in strip.chunks_exact_mut(height) {
                column[empty..].copy_from_slice(&random.bytes(height - empty));
            }
            let mut panels = Panels { arm, height, rows, all: Vec::new(), sources: Zeroizing::new(Vec::new()) };
            let found = panels.extend(&mut strip, 0, count);
            // Thirty rows are too few for fifty pivots.
            assert_eq!(found.is_some(), empty < 290, "{empty} empty rows");
            if found.is_some() {
                panels.apply(&mut strip);
                for (row, word) in rows_of(&strip, height, 0, rows).iter().enumerate() {
                    let expected = if row < count { 1 << row } else { 0 };
                    assert_eq!(word & ((1 << count) - 1), expected, "row {row}, {empty} empty rows");
                }
            }
        }
    }
}
