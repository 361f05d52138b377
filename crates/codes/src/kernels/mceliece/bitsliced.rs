//! Arithmetic in GF(2^M) on 256 elements at once: `M` vectors, the i-th of which holds the coefficients of zⁱ.

use super::vector::{Row, Vector};

/// 256 elements in registers.
pub(crate) type Elements<V, const M: usize> = [V; M];

/// The columns of a product: those of a and b whose exponents add up to `K`, one after another, so that few sums are under way.
#[inline(always)]
fn column<V: Vector, const M: usize, const K: usize>(proof: V::Proof, a: &[V; M], b: &[V; M]) -> V {
    let first = const { K.saturating_sub(M - 1) };
    let last = const { if K < M { K } else { M - 1 } };
    if first > last {
        return V::zero(proof);
    }
    let mut sum = a[first].and(b[K - first]);
    for i in first + 1..=last {
        sum = sum.xor(a[i].and(b[K - i]));
    }
    sum
}

/// Calls `column` for each exponent of a product; beyond 2M − 2 the columns are empty.
macro_rules! columns {
    ($column:expr; $($k:literal)+) => { [$({ const K: usize = $k; $column }),+] };
}

/// What 2M − 1 coefficients leave modulo the field's polynomial.
#[inline(always)]
fn reduce<V: Vector, const M: usize>(mut sums: [V; 25]) -> [V; M] {
    for k in (M..2 * M - 1).rev() {
        for tap in super::field::taps::<M>() {
            sums[k - M + tap] = sums[k - M + tap].xor(sums[k]);
        }
    }
    core::array::from_fn(|i| sums[i])
}

/// a · b in each position.
#[inline(always)]
pub(crate) fn times<V: Vector, const M: usize>(proof: V::Proof, a: &[V; M], b: &[V; M]) -> [V; M] {
    reduce(columns!(column::<V, M, K>(proof, a, b); 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24))
}

/// a · x + b · y in each position.
#[inline(always)]
pub(crate) fn combine<V: Vector, const M: usize>(
    proof: V::Proof,
    a: &[V; M],
    x: &[V; M],
    b: &[V; M],
    y: &[V; M],
) -> [V; M] {
    reduce(columns!(column::<V, M, K>(proof, a, x).xor(column::<V, M, K>(proof, b, y));
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24))
}

/// a² in each position.
#[inline(always)]
pub(crate) fn square<V: Vector, const M: usize>(proof: V::Proof, a: &[V; M]) -> [V; M] {
    let mut sums = [V::zero(proof); 25];
    for i in 0..M {
        sums[2 * i] = a[i];
    }
    reduce(sums)
}

/// 1/a in each position, and 0 for 0: a to the power 2^M − 2.
#[inline(always)]
pub(crate) fn inverse<V: Vector, const M: usize>(proof: V::Proof, a: &[V; M]) -> [V; M] {
    // The exponents in binary are ones only; `ones` counts them.
    let (mut power, mut ones) = (*a, 1);
    while ones < M - 1 {
        // Twice as many ones if that is not too many, or else one more.
        let more = if 2 * ones < M { ones } else { 1 };
        let mut shifted = power;
        for _ in 0..more {
            shifted = square(proof, &shifted);
        }
        let other = if more == ones { power } else { *a };
        power = times(proof, &shifted, &other);
        ones += more;
    }
    square(proof, &power)
}

/// Elements from memory.
#[inline(always)]
pub(crate) fn load<V: Vector, const M: usize>(proof: V::Proof, rows: &[Row; M]) -> [V; M] {
    core::array::from_fn(|i| V::load(proof, &rows[i]))
}

/// Elements to memory.
#[inline(always)]
pub(crate) fn store<V: Vector, const M: usize>(elements: &[V; M], rows: &mut [Row; M]) {
    for (row, element) in rows.iter_mut().zip(elements) {
        element.store(row);
    }
}

/// Row `at` of each plane.
#[inline(always)]
pub(crate) fn load_row<V: Vector, const M: usize, const Q: usize>(
    proof: V::Proof,
    planes: &[[Row; Q]; M],
    at: usize,
) -> [V; M] {
    core::array::from_fn(|i| V::load(proof, &planes[i][at]))
}

/// The reverse.
#[inline(always)]
pub(crate) fn store_row<V: Vector, const M: usize, const Q: usize>(
    elements: &[V; M],
    planes: &mut [[Row; Q]; M],
    at: usize,
) {
    for (plane, element) in planes.iter_mut().zip(elements) {
        element.store(&mut plane[at]);
    }
}
