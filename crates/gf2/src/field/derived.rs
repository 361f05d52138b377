//! Constants that follow from a modulus, computed by the compiler.

use super::modulus::{Modulus, SparseModulus};
use crate::word::spread;
use core::marker::PhantomData;

/// The most words in an element.
pub(super) const MOST_WORDS: usize = 9;

/// The constants of `M`.
pub(super) struct Derived<M>(PhantomData<M>);

impl<M: Modulus> Derived<M> {
    /// Bit i is the trace of x^i.
    pub(super) const TRACE: [u64; MOST_WORDS] = traces(M::MODULUS);
    /// The square root of x: x^(2^(m−1)).
    pub(super) const ROOT_OF_X: [u64; MOST_WORDS] = root_of_x(M::MODULUS);
}

/// The traces of the powers of x are the power sums of the modulus's roots, which Newton's identities give from its coefficients:
/// p_k = Σ_{0<j<k} e_j·p_(k−j) + k·e_k, where e_j is the coefficient of x^(m−j).
const fn traces(modulus: SparseModulus<'static>) -> [u64; MOST_WORDS] {
    let (m, taps) = (modulus.degree(), modulus.taps());
    let mut traces = [0; MOST_WORDS];
    traces[0] = (m % 2) as u64;
    let mut k = 1;
    while k < m {
        let mut sum = 0;
        let mut i = 0;
        while i < taps.len() {
            let j = m - taps[i];
            if j < k {
                sum ^= traces[(k - j) / 64] >> ((k - j) % 64) & 1;
            } else if j == k {
                sum ^= (k % 2) as u64;
            }
            i += 1;
        }
        traces[k / 64] |= sum << (k % 64);
        k += 1;
    }
    traces
}

/// x squared m − 1 times.
const fn root_of_x(modulus: SparseModulus<'static>) -> [u64; MOST_WORDS] {
    let mut x = [0; MOST_WORDS];
    if modulus.degree() == 1 {
        x[0] = !modulus.taps().is_empty() as u64; // x = the constant term
        return x;
    }
    x[0] = 2;
    let mut i = 1;
    while i < modulus.degree() {
        x = squared(modulus, x);
        i += 1;
    }
    x
}

const fn squared(modulus: SparseModulus<'static>, a: [u64; MOST_WORDS]) -> [u64; MOST_WORDS] {
    let (m, taps) = (modulus.degree(), modulus.taps());
    let mut words = [0; 2 * MOST_WORDS];
    let mut i = 0;
    while i < modulus.words() {
        words[2 * i] = spread(a[i] as u32);
        words[2 * i + 1] = spread((a[i] >> 32) as u32);
        i += 1;
    }
    // By 32 bits at a time from the top, as often as Δ makes necessary. Time does not matter here.
    let mut position = (2 * m - 2) / 32 * 32 + 32;
    while position > m {
        let low = if position < m + 32 { m } else { position - 32 };
        loop {
            let chunk = bits(&words, low, position - low);
            if chunk == 0 {
                break;
            }
            add(&mut words, low, chunk);
            let mut i = 0;
            while i < taps.len() {
                add(&mut words, low - m + taps[i], chunk);
                i += 1;
            }
        }
        position = low;
    }
    let mut out = [0; MOST_WORDS];
    let mut i = 0;
    while i < MOST_WORDS {
        out[i] = words[i];
        i += 1;
    }
    out
}

/// The `count` ≤ 32 bits that begin at bit `from`.
const fn bits(words: &[u64; 2 * MOST_WORDS], from: usize, count: usize) -> u64 {
    let (i, n) = (from / 64, from % 64);
    let above = if n + count > 64 { words[i + 1] << (64 - n) } else { 0 };
    (words[i] >> n | above) & ((1 << count) - 1)
}

/// Adds `bits`, of degree below 32, at bit `at`.
const fn add(words: &mut [u64; 2 * MOST_WORDS], at: usize, bits: u64) {
    let (i, n) = (at / 64, at % 64);
    words[i] ^= bits << n;
    if n > 32 && i + 1 < 2 * MOST_WORDS {
        words[i + 1] ^= bits >> (64 - n);
    }
}
