//! Inverses modulo odd primes of up to 384 bits, by division steps (Bernstein and Yang, "Fast constant-time gcd computation and modular
//! inversion", 2019).
//!
//! The pair (f, g) begins as (p, z), and a step takes g to g/2 or to (g ± f)/2, whichever is an integer. With the parameter beginning at 1/2,
//! (45907·b + 26313)/19929 steps bring g to 0 from any b bits (P. Wuille, "Bounds on divsteps iterations in safegcd", 2021): 591 from 256 and
//! 885 from 384. Steps beyond those leave the result as it is. The steps depend on the lowest bits only, so 60 of them are gathered in a matrix, which
//! is then applied to f and g, and to d and e, which stand for f and g as multiples of z modulo p.

use crate::word::inverse_of_word;
use candor_cpu::barrier;

/// An odd prime below 2^(64N), for N up to 6.
pub(crate) trait Prime<const N: usize>: Copy + 'static {
    /// The prime, the lowest word first.
    const P: [u64; N];
    /// It in signed limbs, most of which are zero or have few bits for a prime that is a sum of few powers of two: their products cost nothing.
    const LIMBS: Signed = balanced::<N>(in_limbs(&Self::P));
    /// Its inverse modulo 2^62.
    const INVERSE: i64 = inverse_of_word(Self::P[0]).cast_signed() & LIMB;
}

/// A signed number: Σ limb·2^(62n) over N + 1 limbs; those above are not used. Each limb but the highest is between 0 and 2^62 − 1, but for those
/// of [`Prime::LIMBS`].
type Signed = [i64; 7];

/// Twice the matrix' effect is (f, g) ↦ (u·f + v·g, q·f + r·g) / 2^62.
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

const LIMB: i64 = (1 << 62) - 1;

#[inline(always)]
const fn in_limbs<const N: usize>(words: &[u64; N]) -> Signed {
    let (mut limbs, mut n) = ([0; 7], 0);
    while n <= N {
        let (word, shift) = (62 * n / 64, 62 * n % 64);
        let mut limb = words[word] >> shift;
        if shift > 2 && word + 1 < N {
            limb |= words[word + 1] << (64 - shift);
        }
        limbs[n] = limb.cast_signed() & LIMB;
        n += 1;
    }
    limbs
}

/// The same number, each limb but the highest between −2^61 and 2^61 − 1.
const fn balanced<const N: usize>(mut limbs: Signed) -> Signed {
    let mut n = 0;
    while n < N {
        let carry = (limbs[n] + (1 << 61)) >> 62;
        limbs[n] -= carry << 62;
        limbs[n + 1] += carry;
        n += 1;
    }
    limbs
}

/// Matrices of 60 steps that are enough.
const fn matrices(words: usize) -> usize {
    let bits = 64 * words;
    ((45907 * bits + 26313) / 19929).div_ceil(60)
}

/// The inverse of a number below P. That of 0 is 0. `steps` does what [`twenty_steps`] does.
#[inline(always)]
pub(crate) fn inverse<P: Prime<N>, const N: usize>(
    number: &[u64; N],
    steps: impl Fn(&mut i64, &mut i64, &mut i64),
) -> [u64; N] {
    let (mut f, mut g) = (P::LIMBS, in_limbs(number));
    let (mut d, mut e) = ([0; 7], [0; 7]);
    e[0] = 1;
    let mut zeta = -1;
    for _ in 0..matrices(N) {
        let matrix = divided(&mut zeta, f[0].cast_unsigned(), g[0].cast_unsigned(), &steps);
        matrix.apply_modulo::<P, N>(&mut d, &mut e);
        matrix.apply::<N>(&mut f, &mut g);
    }
    // f is 1 or −1 now, and d is f's multiple of the number.
    reduced::<P, N>(d, f[N] >> 63)
}

/// 60 steps, in three runs of 20. `zeta` is −(δ + 1/2).
#[inline(always)]
fn divided(zeta: &mut i64, f: u64, g: u64, steps: &impl Fn(&mut i64, &mut i64, &mut i64)) -> Matrix {
    let (mut f, mut g) = (f.cast_signed(), g.cast_signed());
    // With the 2^60 of the steps this is 2^62.
    let mut matrix = Matrix { u: 4, v: 0, q: 0, r: 4 };
    for _ in 0..3 {
        let run = run(zeta, f, g, steps);
        // A run takes the lowest 20 bits away, and those that follow are right: 42 of f and g after the first one, 22 after the second.
        let applied = |a: i64, b: i64| a.wrapping_mul(f).wrapping_add(b.wrapping_mul(g)) >> RUN;
        (f, g) = (applied(run.u, run.v), applied(run.q, run.r));
        matrix = run.after(&matrix);
    }
    matrix
}

/// Steps of a run.
const RUN: u32 = 20;

/// The matrix of 20 steps, times 2^20. A step does to the matrix what it does to f and g, so f is in a word with its row, and g with its:
/// f + 2^21·u + 2^42·v, where the identity's 2^20 is halved with g and stays whole. |f| < 2^20 and |u| + |v| ≤ 2^20 throughout.
#[inline(always)]
fn run(zeta: &mut i64, f: i64, g: i64, steps: &impl Fn(&mut i64, &mut i64, &mut i64)) -> Matrix {
    let lowest = (1 << RUN) - 1;
    let mut f = (f & lowest) + (1 << 41);
    let mut g = (g & lowest) + (1 << 62);
    steps(zeta, &mut f, &mut g);
    let ((u, v), (q, r)) = (row(f), row(g));
    Matrix { u, v, q, r }
}

/// The steps of a run.
#[inline(always)]
pub(crate) fn twenty_steps(zeta: &mut i64, f: &mut i64, g: &mut i64) {
    for _ in 0..RUN {
        let negative = barrier::opaque_u64((*zeta >> 63).cast_unsigned()).cast_signed();
        let odd = barrier::opaque_u64((*g & 1).wrapping_neg().cast_unsigned()).cast_signed();
        *g += ((*f ^ negative) - negative) & odd;
        let exchanged = negative & odd;
        *zeta = (*zeta ^ exchanged) - 1;
        *f += *g & exchanged;
        *g >>= 1;
    }
}

/// The row that is in a word with f or g: −2^20 < u ≤ 2^20, for f's row is 2^20 at first, and after that one that was halved.
#[inline(always)]
fn row(word: i64) -> (i64, i64) {
    let row = (word + (1 << RUN)) >> (RUN + 1);
    let v = (row + (1 << RUN) - 1) >> (RUN + 1);
    (row - (v << (RUN + 1)), v)
}

#[inline(always)]
fn by(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

impl Matrix {
    /// That of both, `first` first.
    #[inline(always)]
    fn after(&self, first: &Self) -> Self {
        Self {
            u: self.u * first.u + self.v * first.q,
            v: self.u * first.v + self.v * first.r,
            q: self.q * first.u + self.r * first.q,
            r: self.q * first.v + self.r * first.r,
        }
    }

    /// To f and g; the division is exact.
    #[inline(always)]
    fn apply<const N: usize>(&self, f: &mut Signed, g: &mut Signed) {
        let mut to_f = by(self.u, f[0]) + by(self.v, g[0]);
        let mut to_g = by(self.q, f[0]) + by(self.r, g[0]);
        for n in 1..=N {
            to_f = (to_f >> 62) + by(self.u, f[n]) + by(self.v, g[n]);
            to_g = (to_g >> 62) + by(self.q, f[n]) + by(self.r, g[n]);
            f[n - 1] = to_f as i64 & LIMB;
            g[n - 1] = to_g as i64 & LIMB;
        }
        f[N] = (to_f >> 62) as i64;
        g[N] = (to_g >> 62) as i64;
    }

    /// To d and e, which are between −2p and p and stay so: multiples of p make the division exact.
    #[inline(always)]
    fn apply_modulo<P: Prime<N>, const N: usize>(&self, d: &mut Signed, e: &mut Signed) {
        let (negative_d, negative_e) = (d[N] >> 63, e[N] >> 63);
        let mut times_d = (self.u & negative_d) + (self.v & negative_e);
        let mut times_e = (self.q & negative_d) + (self.r & negative_e);
        let mut to_d = by(self.u, d[0]) + by(self.v, e[0]);
        let mut to_e = by(self.q, d[0]) + by(self.r, e[0]);
        times_d -= P::INVERSE.wrapping_mul(to_d as i64).wrapping_add(times_d) & LIMB;
        times_e -= P::INVERSE.wrapping_mul(to_e as i64).wrapping_add(times_e) & LIMB;
        to_d += by(P::LIMBS[0], times_d);
        to_e += by(P::LIMBS[0], times_e);
        for n in 1..=N {
            to_d = (to_d >> 62) + by(self.u, d[n]) + by(self.v, e[n]) + by(P::LIMBS[n], times_d);
            to_e = (to_e >> 62) + by(self.q, d[n]) + by(self.r, e[n]) + by(P::LIMBS[n], times_e);
            d[n - 1] = to_d as i64 & LIMB;
            e[n - 1] = to_e as i64 & LIMB;
        }
        d[N] = (to_d >> 62) as i64;
        e[N] = (to_e >> 62) as i64;
    }
}

/// A number between −2p and p, negated where `negative` is all ones, modulo p.
#[inline(always)]
fn reduced<P: Prime<N>, const N: usize>(d: Signed, negative: i64) -> [u64; N] {
    let above = plus_if_negative::<P, N>(d);
    let negative = barrier::opaque_u64(negative.cast_unsigned()).cast_signed();
    let signed = carried::<N>(above.map(|limb| (limb ^ negative) - negative));
    let limbs = plus_if_negative::<P, N>(signed).map(i64::cast_unsigned);
    core::array::from_fn(|n| {
        let (limb, shift) = (64 * n / 62, 64 * n % 62);
        limbs[limb] >> shift | limbs[limb + 1] << (62 - shift)
    })
}

#[inline(always)]
fn plus_if_negative<P: Prime<N>, const N: usize>(mut number: Signed) -> Signed {
    let mask = barrier::opaque_u64((number[N] >> 63).cast_unsigned()).cast_signed();
    for (limb, p) in number[..=N].iter_mut().zip(&P::LIMBS) {
        *limb += p & mask;
    }
    carried::<N>(number)
}

#[inline(always)]
fn carried<const N: usize>(mut number: Signed) -> Signed {
    for n in 0..N {
        number[n + 1] += number[n] >> 62;
        number[n] &= LIMB;
    }
    number
}
