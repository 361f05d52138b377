//! Arithmetic in GF(2^M) on 256 elements at once: `M` vectors, the i-th of which holds the coefficients of zⁱ.

use super::vector::{Row, Vector};

/// Repeats a block for each number below `end`, at most 13, as a constant: LLVM then keeps arrays of vectors in registers from the start, and
/// nothing is left of the bounds. (A closure would be compiled without the features of its arm, and might stay a call.)
macro_rules! each_below {
    ($end:expr, $number:ident => $block:block) => {
        each_below!(@each $end, $number, $block, 0 1 2 3 4 5 6 7 8 9 10 11 12)
    };
    (@each $end:expr, $number:ident, $block:block, $($literal:literal)+) => {
        $({
            const $number: usize = $literal;
            if $number < $end $block
        })+
    };
}
pub(super) use each_below;

/// The same for the coefficients of half an element, at most 7.
macro_rules! each_of_half {
    ($end:expr, $number:ident => $block:block) => {
        each_below!(@each $end, $number, $block, 0 1 2 3 4 5 6)
    };
}

/// The vectors that an expression gives for each plane.
macro_rules! planes {
    ($proof:expr, $plane:ident => $vector:expr) => {{
        let mut all = [V::zero($proof); M];
        each_below!(M, $plane => { all[$plane] = $vector; });
        all
    }};
}
pub(super) use planes;

/// A product in three parts, as Karatsuba has it: of the lower halves, of the upper ones, and of the sums of both. They can be added up before
/// they are put together.
struct Parts<V> {
    low: [V; 13],
    high: [V; 13],
    both: [V; 13],
}

impl<V: Vector> Parts<V> {
    #[inline(always)]
    fn zero(proof: V::Proof) -> Self {
        let zero = [V::zero(proof); 13];
        Self { low: zero, high: zero, both: zero }
    }

    /// Adds a · b.
    #[inline(always)]
    fn add<const M: usize>(&mut self, proof: V::Proof, a: &[V; M], b: &[V; M]) {
        let half = const { M.div_ceil(2) };
        let zero = [V::zero(proof); 7];
        let (mut low_a, mut low_b, mut high_a, mut high_b) = (zero, zero, zero, zero);
        each_of_half!(half, I => {
            low_a[I] = a[I];
            low_b[I] = b[I];
            if half + I < M {
                high_a[I] = a[half + I];
                high_b[I] = b[half + I];
            }
        });
        add_half(half, &low_a, &low_b, &mut self.low);
        add_half(M - half, &high_a, &high_b, &mut self.high);
        each_of_half!(M - half, I => {
            low_a[I] = low_a[I].xor(high_a[I]);
            low_b[I] = low_b[I].xor(high_b[I]);
        });
        add_half(half, &low_a, &low_b, &mut self.both);
    }

    /// The product modulo the field's polynomial.
    #[inline(always)]
    fn reduce<const M: usize>(self, proof: V::Proof) -> [V; M] {
        let half = const { M.div_ceil(2) };
        let mut sums = [V::zero(proof); 26];
        each_below!(2 * half - 1, I => {
            let mut middle = self.both[I].xor(self.low[I]);
            sums[I] = sums[I].xor(self.low[I]);
            if I < 2 * (M - half) - 1 {
                middle = middle.xor(self.high[I]);
                sums[I + 2 * half] = sums[I + 2 * half].xor(self.high[I]);
            }
            sums[I + half] = sums[I + half].xor(middle);
        });
        reduce(proof, sums)
    }
}

/// Adds the product of polynomials of `length` coefficients, 6 or 7: as many of them and as many sums stay in registers while the other's
/// coefficients pass by.
#[inline(always)]
fn add_half<V: Vector>(length: usize, a: &[V; 7], b: &[V; 7], sums: &mut [V; 13]) {
    each_of_half!(length, J => {
        each_of_half!(length, I => { sums[I + J] = sums[I + J].xor(a[I].and(b[J])); });
    });
}

/// What 2M − 1 coefficients leave modulo the field's polynomial.
#[inline(always)]
fn reduce<V: Vector, const M: usize>(proof: V::Proof, mut sums: [V; 26]) -> [V; M] {
    each_below!(M, I => {
        // From z^(2M − 2) down to z^M.
        if I < M - 1 {
            let high = sums[2 * M - 2 - I];
            for tap in super::field::taps::<M>() {
                sums[M - 2 - I + tap] = sums[M - 2 - I + tap].xor(high);
            }
        }
    });
    planes!(proof, I => sums[I])
}

/// a · b in each position.
#[inline(always)]
pub(crate) fn times<V: Vector, const M: usize>(proof: V::Proof, a: &[V; M], b: &[V; M]) -> [V; M] {
    let mut parts = Parts::zero(proof);
    parts.add(proof, a, b);
    parts.reduce(proof)
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
    let mut parts = Parts::zero(proof);
    parts.add(proof, a, x);
    parts.add(proof, b, y);
    parts.reduce(proof)
}

/// a² in each position.
#[inline(always)]
pub(crate) fn square<V: Vector, const M: usize>(proof: V::Proof, a: &[V; M]) -> [V; M] {
    let mut sums = [V::zero(proof); 26];
    each_below!(M, I => { sums[2 * I] = a[I]; });
    reduce(proof, sums)
}

/// 1/a in each position, and 0 for 0: a to the power 2^M − 2.
#[inline(always)]
pub(crate) fn inverse<V: Vector, const M: usize>(proof: V::Proof, a: &[V; M]) -> [V; M] {
    // The exponents in binary are ones only. Their number grows to M − 1 by that number's own bits, from the second highest on: each doubles it, and
    // a one adds one more.
    let count = const { M - 1 };
    let mut power = *a;
    for bit in (0..count.ilog2()).rev() {
        let mut shifted = power;
        for _ in 0..count >> (bit + 1) {
            shifted = square(proof, &shifted);
        }
        power = times(proof, &shifted, &power);
        if count >> bit & 1 == 1 {
            power = times(proof, &square(proof, &power), a);
        }
    }
    square(proof, &power)
}

/// Elements from memory.
#[inline(always)]
pub(crate) fn load<V: Vector, const M: usize>(proof: V::Proof, rows: &[Row; M]) -> [V; M] {
    planes!(proof, I => V::load(proof, &rows[I]))
}

/// Elements to memory.
#[inline(always)]
pub(crate) fn store<V: Vector, const M: usize>(elements: &[V; M], rows: &mut [Row; M]) {
    each_below!(M, I => { elements[I].store(&mut rows[I]); });
}

/// Row `at` of each plane.
#[inline(always)]
pub(crate) fn load_row<V: Vector, const M: usize, const Q: usize>(
    proof: V::Proof,
    planes: &[[Row; Q]; M],
    at: usize,
) -> [V; M] {
    planes!(proof, I => V::load(proof, &planes[I][at]))
}

/// The reverse.
#[inline(always)]
pub(crate) fn store_row<V: Vector, const M: usize, const Q: usize>(
    elements: &[V; M],
    planes: &mut [[Row; Q]; M],
    at: usize,
) {
    each_below!(M, I => { elements[I].store(&mut planes[I][at]); });
}
