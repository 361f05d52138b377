//! Elements as arrays of words, and their product in vectors, with a formula for each number of words.
//!
//! A product is kept as *columns*: column k is the sum of all word products a_i·b_j with i + j = k, 128 bits wide, and stands at
//! word k. Neighbours overlap by a word and are added only where the reduction needs a word (`fused.rs`), so that the sums
//! inside a product cost an xor each and no shuffle.

use super::wide::Wide;

/// `[u64; n]` for n from 1 to 9: the words of a reduced polynomial, the least significant first. Sealed.
#[expect(private_bounds, reason = "sealed: what the kernels ask of the arrays is no business of users")]
pub trait Limbs: Columns + Copy + AsRef<[u64]> + AsMut<[u64]> {}

/// The part of [`Limbs`] that the kernels use.
pub(crate) trait Columns: Copy + Send + Sync + AsRef<[u64]> + AsMut<[u64]> + core::fmt::Debug + 'static {
    /// n.
    const COUNT: usize;
    const ZERO: Self;
    /// 2n − 1 columns.
    type Of<V: Wide>: AsMut<[V]> + AsRef<[V]> + Copy;
    /// An element in registers: pairs of words, and a single one at the end if n is odd.
    type Pieces<V: Wide>: AsMut<[V]> + AsRef<[V]> + Copy;
    /// Which words each piece holds: the index of the first, and whether the next one is with it.
    const PIECES: &'static [(usize, bool)];

    /// The columns of a·b for the first `V::N` elements of each.
    fn product<V: Wide>(proof: V::Proof, a: &[Self], b: &[Self]) -> Self::Of<V>;
    fn load<V: Wide>(proof: V::Proof, from: &[Self]) -> Self::Pieces<V>;
    fn store<V: Wide>(pieces: &Self::Pieces<V>, to: &mut [Self]);
    fn no_columns<V: Wide>(proof: V::Proof) -> Self::Of<V>;
    fn no_pieces<V: Wide>(proof: V::Proof) -> Self::Pieces<V>;
}

macro_rules! limbs {
    ($($n:literal: $columns:literal, $count:literal [$(($word:literal, $pair:literal)),+] |$proof:ident, $a:ident, $b:ident| $product:expr;)+) => {$(
        impl Limbs for [u64; $n] {}

        impl Columns for [u64; $n] {
            const COUNT: usize = $n;
            const ZERO: Self = [0; $n];
            type Of<V: Wide> = [V; $columns];
            type Pieces<V: Wide> = [V; $count];
            const PIECES: &'static [(usize, bool)] = &[$(($word, $pair)),+];

            #[inline(always)]
            fn product<V: Wide>($proof: V::Proof, $a: &[Self], $b: &[Self]) -> [V; $columns] {
                $product
            }

            #[inline(always)]
            fn load<V: Wide>(proof: V::Proof, from: &[Self]) -> [V; $count] {
                [$(if $pair { V::pair(proof, from, $word) } else { V::single(proof, from, $word) }),+]
            }

            #[inline(always)]
            fn store<V: Wide>(pieces: &[V; $count], to: &mut [Self]) {
                let mut pieces = pieces.iter();
                $(if let Some(piece) = pieces.next() {
                    if $pair { piece.store_pair(to, $word) } else { piece.store_single(to, $word) }
                })+
            }

            #[inline(always)]
            fn no_columns<V: Wide>(proof: V::Proof) -> [V; $columns] {
                [V::zero(proof); $columns]
            }

            #[inline(always)]
            fn no_pieces<V: Wide>(proof: V::Proof) -> [V; $count] {
                [V::zero(proof); $count]
            }
        }
    )+};
}

limbs! {
    1: 1, 1 [(0, false)]
        |p, a, b| [V::single(p, a, 0).mul_low(V::single(p, b, 0))];
    2: 3, 1 [(0, true)]
        |p, a, b| by2(V::pair(p, a, 0), V::pair(p, b, 0));
    3: 5, 2 [(0, true), (2, false)]
        |p, a, b| three::<V, _>(p, a, 0).times(&three::<V, _>(p, b, 0));
    4: 7, 2 [(0, true), (2, true)]
        |p, a, b| by4(p, &four::<V, _>(p, a, 0), &four::<V, _>(p, b, 0));
    5: 9, 3 [(0, true), (2, true), (4, false)]
        |p, a, b| {
            // 2 + 3 words, so that all pairs start at even words.
            let (a0, a1, b0, b1) = (V::pair(p, a, 0), three::<V, _>(p, a, 2), V::pair(p, b, 0), three::<V, _>(p, b, 2));
            let mixed = a1.plus_pair(a0).times(&b1.plus_pair(b0));
            karatsuba(p, 2, &by2(a0, b0), &a1.times(&b1), &mixed)
        };
    6: 11, 3 [(0, true), (2, true), (4, true)]
        |p, a, b| {
            let (a0, a1, b0, b1) = (three::<V, _>(p, a, 0), three::<V, _>(p, a, 3), three::<V, _>(p, b, 0), three::<V, _>(p, b, 3));
            karatsuba(p, 3, &a0.times(&b0), &a1.times(&b1), &a0.plus(&a1).times(&b0.plus(&b1)))
        };
    7: 13, 4 [(0, true), (2, true), (4, true), (6, false)]
        |p, a, b| {
            // 4 + 3 words.
            let (a0, a1, b0, b1) = (four::<V, _>(p, a, 0), three::<V, _>(p, a, 4), four::<V, _>(p, b, 0), three::<V, _>(p, b, 4));
            let mixed = by4(p, &[a0[0].xor(a1.pair), a0[1].xor(a1.last)], &[b0[0].xor(b1.pair), b0[1].xor(b1.last)]);
            karatsuba(p, 4, &by4(p, &a0, &b0), &a1.times(&b1), &mixed)
        };
    8: 15, 4 [(0, true), (2, true), (4, true), (6, true)]
        |p, a, b| {
            let (a0, a1, b0, b1) = (four::<V, _>(p, a, 0), four::<V, _>(p, a, 4), four::<V, _>(p, b, 0), four::<V, _>(p, b, 4));
            let mixed = by4(p, &[a0[0].xor(a1[0]), a0[1].xor(a1[1])], &[b0[0].xor(b1[0]), b0[1].xor(b1[1])]);
            karatsuba(p, 4, &by4(p, &a0, &b0), &by4(p, &a1, &b1), &mixed)
        };
    9: 17, 5 [(0, true), (2, true), (4, true), (6, true), (8, false)]
        |p, a, b| {
            // Karatsuba's 3-way form over three words.
            let a = [three::<V, _>(p, a, 0), three::<V, _>(p, a, 3), three::<V, _>(p, a, 6)];
            let b = [three::<V, _>(p, b, 0), three::<V, _>(p, b, 3), three::<V, _>(p, b, 6)];
            let d = [a[0].times(&b[0]), a[1].times(&b[1]), a[2].times(&b[2])];
            let m01 = a[0].plus(&a[1]).times(&b[0].plus(&b[1]));
            let m02 = a[0].plus(&a[2]).times(&b[0].plus(&b[2]));
            let m12 = a[1].plus(&a[2]).times(&b[1].plus(&b[2]));
            let mut columns = [V::zero(p); 17];
            for k in 0..5 {
                let (d01, d12) = (d[0][k].xor(d[1][k]), d[1][k].xor(d[2][k]));
                columns[k] = columns[k].xor(d[0][k]);
                columns[k + 3] = columns[k + 3].xor(m01[k]).xor(d01);
                columns[k + 6] = columns[k + 6].xor(m02[k]).xor(d01).xor(d[2][k]);
                columns[k + 9] = columns[k + 9].xor(m12[k]).xor(d12);
                columns[k + 12] = columns[k + 12].xor(d[2][k]);
            }
            columns
        };
}

/// Three words: two in `pair`, the third in both halves of `last`, so that one xor adds it to both words of the pair.
#[derive(Clone, Copy)]
struct Three<V> {
    pair: V,
    last: V,
}

/// Words i to i + 2; the high half of `last` is not yet filled.
///
/// Elements are stored and copied in pairs of words from the first on. A pair that starts at an odd word is put together from two
/// of those, because a load across two stores that are still under way would wait for both.
#[inline(always)]
fn three<V: Wide, const W: usize>(p: V::Proof, from: &[[u64; W]], i: usize) -> Three<V> {
    let pair = if i.is_multiple_of(2) {
        V::pair(p, from, i)
    } else {
        V::pair(p, from, i - 1).high_low(V::pair(p, from, i + 1))
    };
    Three { pair, last: V::single(p, from, i + 2) }
}

#[inline(always)]
fn four<V: Wide, const W: usize>(p: V::Proof, from: &[[u64; W]], i: usize) -> [V; 2] {
    [V::pair(p, from, i), V::pair(p, from, i + 2)]
}

impl<V: Wide> Three<V> {
    #[inline(always)]
    fn plus(&self, other: &Self) -> Self {
        Self { pair: self.pair.xor(other.pair), last: self.last.xor(other.last) }
    }

    #[inline(always)]
    fn plus_pair(&self, other: V) -> Self {
        Self { pair: self.pair.xor(other), last: self.last }
    }

    /// 3×3 words with 6 products.
    #[inline(always)]
    fn times(&self, other: &Self) -> [V; 5] {
        let (x, y) = (self.pair, other.pair);
        let d0 = x.mul_low(y);
        let d1 = x.mul_high(y);
        let d2 = self.last.mul_low(other.last);
        let s01 = x.xor(x.high_low(x)).mul_low(y.xor(y.high_low(y)));
        let (x2, y2) = (x.xor(self.last.low_low(self.last)), y.xor(other.last.low_low(other.last)));
        let s02 = x2.mul_low(y2);
        let s12 = x2.mul_high(y2);
        let d12 = d1.xor(d2);
        [d0, s01.xor(d0.xor(d1)), s02.xor(d0).xor(d12), s12.xor(d12), d2]
    }
}

/// 2×2 words with 3 products.
#[inline(always)]
fn by2<V: Wide>(x: V, y: V) -> [V; 3] {
    let low = x.mul_low(y);
    let high = x.mul_high(y);
    let mixed = x.xor(x.high_low(x)).mul_low(y.xor(y.high_low(y)));
    [low, mixed.xor(low.xor(high)), high]
}

/// 4×4 words with 9 products.
#[inline(always)]
fn by4<V: Wide>(p: V::Proof, a: &[V; 2], b: &[V; 2]) -> [V; 7] {
    karatsuba(p, 2, &by2(a[0], b[0]), &by2(a[1], b[1]), &by2(a[0].xor(a[1]), b[0].xor(b[1])))
}

/// low + (mixed − low − high)·x^n + high·x^2n, in words.
#[inline(always)]
fn karatsuba<V: Wide, const L: usize, const H: usize, const M: usize, const C: usize>(
    p: V::Proof,
    n: usize,
    low: &[V; L],
    high: &[V; H],
    mixed: &[V; M],
) -> [V; C] {
    let mut columns = [V::zero(p); C];
    columns[..L].copy_from_slice(low);
    columns[2 * n..2 * n + H].copy_from_slice(high);
    for k in 0..M {
        let middle = if k < L { mixed[k].xor(low[k]) } else { mixed[k] };
        let middle = if k < H { middle.xor(high[k]) } else { middle };
        columns[n + k] = columns[n + k].xor(middle);
    }
    columns
}
