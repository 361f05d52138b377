//! The additive Fourier transform of Gao and Mateer: a polynomial's values at all elements of the field, and its transpose, power sums of
//! weights at all elements. Words of 64 points are the lanes (Bernstein, Chou, Schwabe: McBits, 2013; Chou: McBits revisited, 2017).

use super::bitsliced::{self, each_below, load_row, planes, store_row, times};
use super::points::{HALVES, Points};
use super::vector::{Row, Vector};

/// A value for each element of the field, as bits: plane i holds the coefficients of zⁱ, point p at bit p mod 64 of word p / 64.
pub(crate) type Values<const M: usize, const Q: usize> = [[Row; Q]; M];

/// The polynomial's values at all points. Coefficient e stands at position e; the degree is at most 2^(M−6).
#[inline(always)]
pub(crate) fn evaluate<V: Vector, const M: usize, const Q: usize>(
    proof: V::Proof,
    coefficients: &[Row; M],
    values: &mut Values<M, Q>,
) {
    let levels = Points::<M, Q>::LEVELS;
    let mut coefficients = *coefficients;
    for level in 0..levels {
        if level > 0 {
            twist::<V, M, Q>(proof, &mut coefficients, level);
        }
        for plane in &mut coefficients {
            let mut row = V::load(proof, plane);
            each_step_down!(level..levels, STEP => { row = expand::<V, STEP>(proof, row); });
            row.store(plane);
        }
    }
    // All polynomials that are left are constants, but for the first, which may have degree 1.
    for (plane, row) in values.iter_mut().zip(&coefficients) {
        for (at, (target, bits)) in plane.iter_mut().zip(const { &Points::<M, Q>::SPREAD }).enumerate() {
            V::load(proof, bits).masks(row[Points::<M, Q>::spread_word(at)]).store(target);
        }
    }
    let top: [V; M] = planes!(proof, I => V::splat(proof, 1).masks(coefficients[I][(1 << levels) / 64]));
    let points = planes!(proof, I => V::load(proof, &Row([Points::<M, Q>::LEAVES[I], 0, 0, 0])));
    let linear = times(proof, &top, &points);
    let first: [V; M] = load_row(proof, values, 0);
    store_row(&planes!(proof, I => first[I].xor(linear[I])), values, 0);

    for bit in 0..levels {
        if bit == 2 {
            exchange::<V, M, Q>(proof, values);
        }
        let first = Points::<M, Q>::first_row(bit);
        let distance = Points::<M, Q>::first_row(bit + 1) - first;
        for i in 0..distance {
            let point = bitsliced::load(proof, &const { &Points::<M, Q>::BUTTERFLIES }[first + i]);
            for low in (i..Q).step_by(2 * distance) {
                let odd: [V; M] = load_row(proof, values, low + distance);
                let even: [V; M] = load_row(proof, values, low);
                let product = times(proof, &odd, &point);
                let here: [V; M] = planes!(proof, I => even[I].xor(product[I]));
                let there: [V; M] = planes!(proof, I => here[I].xor(odd[I]));
                store_row(&here, values, low);
                store_row(&there, values, low + distance);
            }
        }
    }
}

/// The transpose: Σ value · pointᵉ at position e, for e up to 2^(M−5) − 1. `values` are used up.
#[inline(always)]
pub(crate) fn power_sums<V: Vector, const M: usize, const Q: usize>(
    proof: V::Proof,
    values: &mut Values<M, Q>,
) -> [Row; M] {
    let levels = Points::<M, Q>::LEVELS;
    for bit in (0..levels).rev() {
        if bit == 1 {
            exchange::<V, M, Q>(proof, values);
        }
        let first = Points::<M, Q>::first_row(bit);
        let distance = Points::<M, Q>::first_row(bit + 1) - first;
        for i in 0..distance {
            let point = bitsliced::load(proof, &const { &Points::<M, Q>::BUTTERFLIES }[first + i]);
            for low in (i..Q).step_by(2 * distance) {
                let here: [V; M] = load_row(proof, values, low);
                let there: [V; M] = load_row(proof, values, low + distance);
                let even: [V; M] = planes!(proof, I => here[I].xor(there[I]));
                store_row(&even, values, low);
                let product = times(proof, &even, &point);
                store_row(&planes!(proof, I => there[I].xor(product[I])), values, low + distance);
            }
        }
    }
    let mut sums = [Row::ZERO; M];
    for (sum, plane) in sums.iter_mut().zip(values.iter()) {
        place(sum, &parities(plane), 0);
    }
    let points = planes!(proof, I => V::splat(proof, Points::<M, Q>::LEAVES[I]));
    for at in 0..Q {
        let row: [V; M] = load_row(proof, values, at);
        store_row(&times(proof, &row, &points), values, at);
    }
    for (sum, plane) in sums.iter_mut().zip(values.iter()) {
        place(sum, &parities(plane), Q / 16);
    }

    for level in (0..levels).rev() {
        for plane in &mut sums {
            let mut row = V::load(proof, plane);
            each_step_up!(level..levels, STEP => { row = contract::<V, STEP>(proof, row); });
            row.store(plane);
        }
        if level > 0 {
            twist::<V, M, Q>(proof, &mut sums, level);
        }
    }
    sums
}

/// Multiplies each coefficient by its power.
#[inline(always)]
fn twist<V: Vector, const M: usize, const Q: usize>(proof: V::Proof, rows: &mut [Row; M], level: usize) {
    let powers = bitsliced::load(proof, &const { &Points::<M, Q>::TWISTS }[level]);
    bitsliced::store(&times::<V, M>(proof, &bitsliced::load(proof, rows), &powers), rows);
}

/// Repeats a block for each step of a range within 0 to 6 as a constant, from the last to the first.
macro_rules! each_step_down {
    ($steps:expr, $step:ident => $block:block) => {
        each_step_down!(@each $steps, $step, $block, 6 5 4 3 2 1 0);
    };
    (@each $steps:expr, $step:ident, $block:block, $($literal:literal)+) => {
        $({
            const $step: usize = $literal;
            if ($steps).contains(&$step) $block
        })+
    };
}
use each_step_down;

/// The same, from the first to the last.
macro_rules! each_step_up {
    ($steps:expr, $step:ident => $block:block) => {
        each_step_down!(@each $steps, $step, $block, 0 1 2 3 4 5 6);
    };
}
use each_step_up;

/// A step of the expansion in powers of x² + x: of four runs of 2^`STEP` positions, the last is added to the third, and that to the second.
#[inline(always)]
fn expand<V: Vector, const STEP: usize>(proof: V::Proof, row: V) -> V {
    let [second, third, _] = runs::<V, STEP>(proof);
    match STEP {
        6 => {
            let row = row.xor(row.swap_neighbours().and(third));
            row.xor(row.swap_halves().swap_neighbours().and(second))
        }
        5 => {
            let row = row.xor(row.down_lanes::<32>().and(third));
            row.xor(row.swap_neighbours().raise_lanes::<32>().and(second))
        }
        _ => {
            let row = row.xor(down::<V, STEP>(row).and(third));
            row.xor(down::<V, STEP>(row).and(second))
        }
    }
}

/// The transpose of [`expand`].
#[inline(always)]
fn contract<V: Vector, const STEP: usize>(proof: V::Proof, row: V) -> V {
    let [_, third, fourth] = runs::<V, STEP>(proof);
    match STEP {
        6 => {
            let row = row.xor(row.swap_halves().swap_neighbours().and(third));
            row.xor(row.swap_neighbours().and(fourth))
        }
        5 => {
            let row = row.xor(row.swap_neighbours().down_lanes::<32>().and(third));
            row.xor(row.raise_lanes::<32>().and(fourth))
        }
        _ => {
            let row = row.xor(up::<V, STEP>(row).and(third));
            row.xor(up::<V, STEP>(row).and(fourth))
        }
    }
}

/// The second, third and fourth of each four runs.
#[inline(always)]
fn runs<V: Vector, const STEP: usize>(proof: V::Proof) -> [V; 3] {
    let runs: [Row; 3] = const {
        match STEP {
            6 => [Row([0, u64::MAX, 0, 0]), Row([0, 0, u64::MAX, 0]), Row([0, 0, 0, u64::MAX])],
            5 => {
                let (low, high) = (!HALVES[5], HALVES[5]);
                [Row([high, 0, high, 0]), Row([0, low, 0, low]), Row([0, high, 0, high])]
            }
            _ => {
                let (lower, upper) = (HALVES[STEP], HALVES[STEP + 1]);
                [Row([lower & !upper; 4]), Row([!lower & upper; 4]), Row([lower & upper; 4])]
            }
        }
    };
    [V::load(proof, &runs[0]), V::load(proof, &runs[1]), V::load(proof, &runs[2])]
}

/// Each lane shifted down by a run of at most 16.
#[inline(always)]
fn down<V: Vector, const STEP: usize>(row: V) -> V {
    match STEP {
        0 => row.down_lanes::<1>(),
        1 => row.down_lanes::<2>(),
        2 => row.down_lanes::<4>(),
        3 => row.down_lanes::<8>(),
        _ => row.down_lanes::<16>(),
    }
}

/// The same upwards.
#[inline(always)]
fn up<V: Vector, const STEP: usize>(row: V) -> V {
    match STEP {
        0 => row.raise_lanes::<1>(),
        1 => row.raise_lanes::<2>(),
        2 => row.raise_lanes::<4>(),
        3 => row.raise_lanes::<8>(),
        _ => row.raise_lanes::<16>(),
    }
}

/// Exchanges the lowest two bits of each word's number with the next two.
#[inline(always)]
fn exchange<V: Vector, const M: usize, const Q: usize>(proof: V::Proof, values: &mut Values<M, Q>) {
    for plane in values {
        for four in plane.as_chunks_mut::<4>().0 {
            let [a, b, c, d] = four;
            let turned = V::transpose([V::load(proof, a), V::load(proof, b), V::load(proof, c), V::load(proof, d)]);
            for (row, turned) in four.iter_mut().zip(turned) {
                turned.store(row);
            }
        }
    }
}

/// The parity of each word of a plane as [`Points::SPREAD`] orders them: that of coefficient e at position e.
#[inline(always)]
fn parities<const Q: usize>(plane: &[Row; Q]) -> [u64; 2] {
    let mut words = [0; 128];
    for (words, row) in words.as_chunks_mut::<4>().0.iter_mut().zip(plane) {
        *words = row.0;
    }
    // Which bits of the words' numbers become which bits of the position: always the highest that is left, or else a low one.
    if Q == 32 {
        fold::<64>(&mut words, 64, 0);
        fold::<32>(&mut words, 32, 1);
        fold::<16>(&mut words, 16, 2);
        fold::<8>(&mut words, 8, 5);
        fold::<2>(&mut words, 4, 3);
        fold::<1>(&mut words, 2, 4);
    } else {
        fold::<32>(&mut words, 32, 0);
        fold::<16>(&mut words, 16, 1);
        fold::<8>(&mut words, 8, 4);
        fold::<4>(&mut words, 4, 5);
        fold::<2>(&mut words, 2, 2);
        fold::<1>(&mut words, 1, 3);
    }
    [words[0], words[1]]
}

/// Merges words whose numbers differ by `D`, `left` pairs of them: position bits `bit` that are 0 take the sum over that bit of the first
/// word, those that are 1 the sum of the second.
#[inline(always)]
fn fold<const D: usize>(words: &mut [u64; 128], left: usize, bit: usize) {
    let (shift, high) = (1 << bit, HALVES[bit]);
    let mut merged = [0; 64];
    for (to, from) in merged.as_chunks_mut::<D>().0.iter_mut().zip(words.chunks_exact(2 * D)).take(left / D) {
        for i in 0..D {
            let (a, b) = (from[i], from[i + D]);
            to[i] = (a & !high | b & high) ^ (a >> shift & !high | b << shift & high);
        }
    }
    words[..64].copy_from_slice(&merged);
}

/// Writes parities at word `at`; with 64 of them only one word counts.
#[inline(always)]
fn place(row: &mut Row, parities: &[u64; 2], at: usize) {
    if at == 1 {
        row[1] = parities[0];
    } else {
        row[at] = parities[0];
        row[at + 1] = parities[1];
    }
}
