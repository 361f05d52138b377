//! Constants that follow from a modulus, computed by the compiler.
//!
//! Compilers refuse to evaluate what takes too many steps (`long_running_const_eval`), so everything here takes about as many for every
//! modulus, whatever its taps.

use super::modulus::{Modulus, SparseModulus};
use core::marker::PhantomData;

/// The most words in an element.
pub(super) const MOST_WORDS: usize = 9;
/// The highest degree of a modulus whose elements have as many.
pub(super) const MOST_DEGREE: usize = 64 * MOST_WORDS;

/// The constants of `M`.
pub(super) struct Derived<M>(PhantomData<M>);

impl<M: Modulus> Derived<M> {
    /// Bit i is the trace of x^i.
    pub(super) const TRACE: [u64; MOST_WORDS] = traces(M::MODULUS);
    /// The square root of x.
    pub(super) const ROOT_OF_X: [u64; MOST_WORDS] = root_of_x(M::MODULUS);
}

/// A polynomial of degree up to [`MOST_DEGREE`].
type Polynomial = [u64; MOST_WORDS + 1];

const ZERO: Polynomial = [0; MOST_WORDS + 1];
const ONE: Polynomial = {
    let mut one = ZERO;
    one[0] = 1;
    one
};

/// The traces of the powers of x are the power sums p_k of the modulus's roots. With e_j the coefficient of x^(m−j), Newton's identities say that
/// (Σ p_k·t^k)·(Σ e_j·t^j) = Σ j·e_j·t^j, where only the odd j count.
const fn traces(modulus: SparseModulus<'_>) -> [u64; MOST_WORDS] {
    let m = modulus.degree();
    let mut reversed = ONE;
    let mut rest = ZERO;
    let mut i = 0;
    while i < modulus.taps().len() {
        let j = m - modulus.taps()[i];
        reversed[j / 64] |= 1 << (j % 64);
        rest[j / 64] |= ((j % 2) as u64) << (j % 64);
        i += 1;
    }
    let mut traces = [0; MOST_WORDS];
    traces[0] = (m % 2) as u64;
    let mut k = 1;
    while k < m {
        if rest[k / 64] >> (k % 64) & 1 == 1 {
            traces[k / 64] |= 1 << (k % 64);
            rest = plus_shifted(rest, reversed, k);
        }
        k += 1;
    }
    traces
}

/// Write the modulus as E(x)² + x·O(x)². Modulo it x = (E/O)². Zero if it is not squarefree: then O has no inverse, and x no root.
const fn root_of_x(modulus: SparseModulus<'_>) -> [u64; MOST_WORDS] {
    let f = polynomial(modulus);
    let (mut even, mut odd) = (ZERO, ZERO);
    let mut i = 0;
    while i <= modulus.degree() {
        let bit = f[i / 64] >> (i % 64) & 1;
        if i % 2 == 0 {
            even[i / 128] |= bit << (i / 2 % 64);
        } else {
            odd[i / 128] |= bit << (i / 2 % 64);
        }
        i += 1;
    }
    let Some(inverse) = inverse(odd, f) else { return [0; MOST_WORDS] };
    // E/O by Horner's rule.
    let mut root = ZERO;
    let mut i = modulus.degree() / 2 + 1;
    while i > 0 {
        i -= 1;
        root = times_x(root, f, modulus.degree());
        if even[i / 64] >> (i % 64) & 1 == 1 {
            root = plus_shifted(root, inverse, 0);
        }
    }
    lower(reduced_once(root, f, modulus.degree()))
}

/// Whether the modulus is irreducible; its degree is at most [`MOST_DEGREE`].
///
/// Berlekamp: if f is squarefree, the a with a² = a modulo f are a space over GF(2) with as many dimensions as f has factors. So the map
/// a ↦ a² + a must have rank m − 1.
pub(super) const fn is_irreducible(modulus: SparseModulus<'_>) -> bool {
    let (m, f) = (modulus.degree(), polynomial(modulus));
    let mut odd = ZERO; // the derivative, which is O(x)²
    let mut i = 1;
    while i <= m {
        odd[i / 128] |= (f[i / 64] >> (i % 64) & 1) << (i / 2 % 64);
        i += 2;
    }
    if inverse(odd, f).is_none() {
        return false;
    }
    // basis[d] has degree d, if there is such an image.
    let mut basis = [[0; MOST_WORDS]; MOST_DEGREE];
    let mut rank = 0;
    let mut power = reduced_once(ONE, f, m); // x^(2i)
    let mut i = 0;
    while i < m {
        let mut image = lower(power);
        image[i / 64] ^= 1 << (i % 64);
        let mut d = m;
        while d > 0 {
            d -= 1;
            if image[d / 64] >> (d % 64) & 1 == 1 {
                let with = basis[d];
                if with[d / 64] >> (d % 64) & 1 == 0 {
                    basis[d] = image;
                    rank += 1;
                    break;
                }
                // Not a loop: the compiler counts those.
                image = [
                    image[0] ^ with[0],
                    image[1] ^ with[1],
                    image[2] ^ with[2],
                    image[3] ^ with[3],
                    image[4] ^ with[4],
                    image[5] ^ with[5],
                    image[6] ^ with[6],
                    image[7] ^ with[7],
                    image[8] ^ with[8],
                ];
            }
        }
        power = times_x(times_x(power, f, m), f, m);
        i += 1;
    }
    rank == m - 1
}

const fn polynomial(modulus: SparseModulus<'_>) -> Polynomial {
    let mut f = ZERO;
    f[modulus.degree() / 64] |= 1 << (modulus.degree() % 64);
    let mut i = 0;
    while i < modulus.taps().len() {
        f[modulus.taps()[i] / 64] |= 1 << (modulus.taps()[i] % 64);
        i += 1;
    }
    f
}

/// 1/a modulo f by Euclid's algorithm; `None` if they have a factor in common.
const fn inverse(a: Polynomial, f: Polynomial) -> Option<Polynomial> {
    // a·p = r and a·q = s modulo f, all the time.
    let (mut r, mut s, mut p, mut q) = (a, f, ONE, ZERO);
    while let (Some(mut high), Some(mut low)) = (degree(r), degree(s)) {
        if high < low {
            (r, s, p, q) = (s, r, q, p);
            (high, low) = (low, high);
        }
        r = plus_shifted(r, s, high - low);
        p = plus_shifted(p, q, high - low);
    }
    // One of the two is zero, the other the greatest common divisor.
    match (degree(r), degree(s)) {
        (Some(0), None) => Some(p),
        (None, Some(0)) => Some(q),
        _ => None,
    }
}

const fn degree(a: Polynomial) -> Option<usize> {
    let mut i = a.len();
    while i > 0 {
        i -= 1;
        if a[i] != 0 {
            return Some(64 * i + a[i].ilog2() as usize);
        }
    }
    None
}

/// a + b·x^`shift`; what does not fit is dropped.
const fn plus_shifted(mut a: Polynomial, b: Polynomial, shift: usize) -> Polynomial {
    let (words, bits) = (shift / 64, shift % 64);
    let mut i = words;
    while i < a.len() {
        a[i] ^= b[i - words] << bits;
        if bits > 0 && i > words {
            a[i] ^= b[i - words - 1] >> (64 - bits);
        }
        i += 1;
    }
    a
}

/// a·x modulo f of degree m, for a reduced a.
const fn times_x(a: Polynomial, f: Polynomial, m: usize) -> Polynomial {
    reduced_once(plus_shifted(ZERO, a, 1), f, m)
}

/// `a` of degree at most m, reduced modulo f of degree m.
const fn reduced_once(a: Polynomial, f: Polynomial, m: usize) -> Polynomial {
    if a[m / 64] >> (m % 64) & 1 == 1 { plus_shifted(a, f, 0) } else { a }
}

/// All but the last word, which is zero in a reduced polynomial.
const fn lower(a: Polynomial) -> [u64; MOST_WORDS] {
    let mut words = [0; MOST_WORDS];
    let mut i = 0;
    while i < MOST_WORDS {
        words[i] = a[i];
        i += 1;
    }
    words
}
