//! Arithmetic in GF(2^M) on 256 elements at once: `M` vectors, the i-th of which holds the coefficients of zⁱ.

use super::vector::{Row, Vector};

/// The vectors that an expression gives for each plane. A closure would be compiled without the features of its arm, and may stay a call.
macro_rules! planes {
    ($proof:expr, $plane:ident => $vector:expr) => {{
        let mut all = [V::zero($proof); M];
        for $plane in 0..M {
            all[$plane] = $vector;
        }
        all
    }};
}
pub(super) use planes;

/// Adds a · b to `sums`, for the coefficients of a from `FIRST` to `FIRST` + `COUNT` − 1. So few of them, and as many sums, stay in registers while b's
/// coefficients pass by.
#[inline(always)]
fn tile<V: Vector, const M: usize, const FIRST: usize, const COUNT: usize>(a: &[V; M], b: &[V; M], sums: &mut [V; 25]) {
    for j in 0..M {
        for i in FIRST..FIRST + COUNT {
            sums[i + j] = sums[i + j].xor(a[i].and(b[j]));
        }
    }
}

/// Adds a · b to `sums`.
#[inline(always)]
fn add_product<V: Vector, const M: usize>(a: &[V; M], b: &[V; M], sums: &mut [V; 25]) {
    tile::<V, M, 0, 4>(a, b, sums);
    tile::<V, M, 4, 4>(a, b, sums);
    if M == 12 {
        tile::<V, M, 8, 4>(a, b, sums);
    } else {
        tile::<V, M, 8, 5>(a, b, sums);
    }
}

/// What 2M − 1 coefficients leave modulo the field's polynomial.
#[inline(always)]
fn reduce<V: Vector, const M: usize>(mut sums: [V; 25]) -> [V; M] {
    for k in (M..2 * M - 1).rev() {
        for tap in super::field::taps::<M>() {
            sums[k - M + tap] = sums[k - M + tap].xor(sums[k]);
        }
    }
    *sums.first_chunk().expect("there are more sums than planes")
}

/// a · b in each position.
#[inline(always)]
pub(crate) fn times<V: Vector, const M: usize>(proof: V::Proof, a: &[V; M], b: &[V; M]) -> [V; M] {
    let mut sums = [V::zero(proof); 25];
    add_product(a, b, &mut sums);
    reduce(sums)
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
    let mut sums = [V::zero(proof); 25];
    add_product(a, x, &mut sums);
    add_product(b, y, &mut sums);
    reduce(sums)
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
    planes!(proof, i => V::load(proof, &rows[i]))
}

/// Elements to memory.
#[inline(always)]
pub(crate) fn store<V: Vector, const M: usize>(elements: &[V; M], rows: &mut [Row; M]) {
    for i in 0..M {
        elements[i].store(&mut rows[i]);
    }
}

/// Row `at` of each plane.
#[inline(always)]
pub(crate) fn load_row<V: Vector, const M: usize, const Q: usize>(
    proof: V::Proof,
    planes: &[[Row; Q]; M],
    at: usize,
) -> [V; M] {
    planes!(proof, i => V::load(proof, &planes[i][at]))
}

/// The reverse.
#[inline(always)]
pub(crate) fn store_row<V: Vector, const M: usize, const Q: usize>(
    elements: &[V; M],
    planes: &mut [[Row; Q]; M],
    at: usize,
) {
    for i in 0..M {
        elements[i].store(&mut planes[i][at]);
    }
}
