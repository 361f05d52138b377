//! Multiplication fused with its reduction: the product's columns never leave the registers.
//!
//! Each word above m is shifted by the distance to each tap and added to the columns there, two neighbouring words at once in one lane. Only the
//! words that are folded have to be joined from two columns before the end.

use super::limbs::Columns;
use super::modulus::{Modulus, SparseModulus};
use super::reduce::fold as fold_words;
use super::wide::Wide;

/// The most words of an element, and the most elements in a vector.
const MOST_WORDS: usize = 9;
const MOST_LANES: usize = 4;

/// Whether the fused form applies to a modulus: every word above m must fold, in one step, to words below itself.
pub(crate) const fn applies(modulus: &SparseModulus<'_>) -> bool {
    modulus.gap() > 64
}

/// out = a·b for the first `V::N` elements.
#[inline(always)]
pub(crate) fn mul<V: Wide, M: Modulus>(proof: V::Proof, a: &[M::Words], b: &[M::Words], out: &mut [M::Words]) {
    M::Words::store(&reduce_product::<V, M>(proof, M::Words::product::<V>(proof, a, b)), out);
}

/// out = a^(2^times) for the first `V::N` elements, without leaving the registers; `times` is public.
#[inline(always)]
pub(crate) fn square<V: Wide, M: Modulus>(proof: V::Proof, a: &[M::Words], times: usize, out: &mut [M::Words]) {
    let mut pieces = M::Words::load::<V>(proof, a);
    for _ in 0..times {
        pieces = reduce_product::<V, M>(proof, squares::<V, M::Words>(proof, &pieces));
    }
    M::Words::store(&pieces, out);
}

/// out = low + high·x^64n for the first `V::N` elements, n being their number of words.
#[inline(always)]
pub(crate) fn reduce<V: Wide, M: Modulus>(proof: V::Proof, low: &[M::Words], high: &[M::Words], out: &mut [M::Words]) {
    let n = M::Words::COUNT;
    let mut columns = M::Words::no_columns::<V>(proof);
    let of = columns.as_mut();
    for (half, from) in [low, high].into_iter().enumerate() {
        for (piece, &(word, _)) in M::Words::load::<V>(proof, from).as_ref().iter().zip(M::Words::PIECES) {
            match of.get_mut(half * n + word) {
                Some(column) => *column = *piece,
                // A single word at the very top is the high half of the last column.
                None => of[2 * n - 2] = of[2 * n - 2].xor(V::zero(proof).low_low(*piece)),
            }
        }
    }
    let pieces = if applies(&M::MODULUS) {
        fold::<V, M>(proof, columns, 2 * n - 1)
    } else {
        through_memory::<V, M>(proof, columns, 128 * n - 1)
    };
    M::Words::store(&pieces, out);
}

/// The reduction that fits the modulus, for columns of degree at most 2m − 2.
#[inline(always)]
fn reduce_product<V: Wide, M: Modulus>(
    proof: V::Proof,
    columns: <M::Words as Columns>::Of<V>,
) -> <M::Words as Columns>::Pieces<V> {
    if applies(&M::MODULUS) {
        fold::<V, M>(proof, columns, (2 * M::MODULUS.degree() - 2) / 64)
    } else {
        through_memory::<V, M>(proof, columns, 2 * M::MODULUS.degree() - 2)
    }
}

/// Reduction word by word, for moduli with a tap too close to m; the columns have degree at most `degree`.
#[inline(always)]
fn through_memory<V: Wide, M: Modulus>(
    proof: V::Proof,
    columns: <M::Words as Columns>::Of<V>,
    degree: usize,
) -> <M::Words as Columns>::Pieces<V> {
    let n = M::Words::COUNT;
    let mut words = [[0; 2 * MOST_WORDS]; MOST_LANES];
    for k in 0..n {
        words_at(proof, columns.as_ref(), 2 * k).store_pair(&mut words, 2 * k);
    }
    let mut reduced = [M::Words::ZERO; MOST_LANES];
    for (words, reduced) in words.iter_mut().zip(&mut reduced).take(V::N) {
        fold_words(&M::MODULUS, degree, &mut words[..2 * n]);
        reduced.as_mut().copy_from_slice(&words[..n]);
    }
    M::Words::load(proof, &reduced)
}

/// The columns of a square: the squares of the words, in every other column.
#[inline(always)]
fn squares<V: Wide, C: Columns>(proof: V::Proof, pieces: &C::Pieces<V>) -> C::Of<V> {
    let mut columns = C::no_columns::<V>(proof);
    let of = columns.as_mut();
    for (piece, &(word, pair)) in pieces.as_ref().iter().zip(C::PIECES) {
        of[2 * word] = piece.square_low();
        if pair {
            of[2 * word + 2] = piece.square_high();
        }
    }
    columns
}

/// Reduces columns whose highest word is `top`.
#[inline(always)]
fn fold<V: Wide, M: Modulus>(
    proof: V::Proof,
    mut columns: <M::Words as Columns>::Of<V>,
    top: usize,
) -> <M::Words as Columns>::Pieces<V> {
    let (m, taps) = (M::MODULUS.degree(), M::MODULUS.taps());
    let (last, rest) = (m / 64, m % 64);
    let whole = if rest == 0 { last } else { last + 1 };
    let columns = columns.as_mut();
    let zero = V::zero(proof);

    // Two words at a time, if what they add lies below both.
    let step = if M::MODULUS.gap() > 128 { 2 } else { 1 };
    let folds = (top + 1 - whole).div_ceil(step);
    for fold in 0..folds {
        // From the top down; the pairs end at `whole`, so that an odd one out is at the top, with zero above it.
        let k = whole + (folds - 1 - fold) * step;
        let mut high = words_at(proof, columns, k);
        if step == 1 {
            high = high.low_low(zero);
        }
        for &tap in taps {
            let (i, n) = ((64 * k - m + tap) / 64, (m - tap).wrapping_neg() % 64);
            columns[i] = columns[i].xor(high.shl(n));
            if n != 0 {
                columns[i + 1] = columns[i + 1].xor(high.shr(64 - n));
            }
        }
    }
    if rest != 0 {
        let high = words_at(proof, columns, last).shr(rest).low_low(zero); // the part of word m/64 above m
        for &tap in taps {
            let (i, n) = (tap / 64, tap % 64);
            columns[i] = columns[i].xor(high.shl(n));
            if n + 64 - rest > 64 {
                columns[i + 1] = columns[i + 1].xor(high.shr(64 - n));
            }
        }
    }

    let mut pieces = M::Words::no_pieces::<V>(proof);
    for (piece, &(word, pair)) in pieces.as_mut().iter_mut().zip(M::Words::PIECES) {
        *piece = words_at(proof, columns, word);
        let kept = if rest == 0 { u64::MAX } else { (1 << rest) - 1 };
        if rest != 0 && pair && word + 1 == last {
            *piece = piece.and(V::splat(proof, u64::MAX, kept)); // keep what is below m, in a pair
        }
        if rest != 0 && !pair && word == last {
            *piece = piece.and(V::splat(proof, kept, 0)); // keep what is below m, in a single word
        }
    }
    pieces
}

/// Words k and k + 1, each the sum of the low half of its column and the high half of the one below.
#[inline(always)]
fn words_at<V: Wide>(proof: V::Proof, columns: &[V], k: usize) -> V {
    let column = |k: usize| columns.get(k).copied().unwrap_or(V::zero(proof));
    column(k).xor(column(k.wrapping_sub(1)).high_low(column(k + 1)))
}
