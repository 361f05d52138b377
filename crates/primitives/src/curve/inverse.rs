//! Inverses modulo primes of 256 bits, by division steps (Bernstein and Yang, "Fast constant-time gcd computation and modular inversion",
//! 2019), gathered in matrices of 59 steps as in `x25519/invert.rs`, where the method is described.

use super::modulus::{Modulus, Words, inverse_of_word};
use candor_cpu::barrier;

/// A signed number: Σ limb·2^(62n), each limb but the highest between 0 and 2^62 − 1.
type Signed = [i64; 5];

const LIMB: i64 = (1 << 62) - 1;

/// Passes of 59 steps. 590 steps are enough for 256 bits.
const PASSES: usize = 10;

/// (f, g) ↦ (a·f + b·g, c·f + d·g)/2^62.
struct Matrix([i64; 4]);

fn in_limbs([a, b, c, d]: &Words) -> Signed {
    let limb = |word: u64| word.cast_signed() & LIMB;
    [limb(*a), limb(*a >> 62 | *b << 2), limb(*b >> 60 | *c << 4), limb(*c >> 58 | *d << 6), limb(*d >> 56)]
}

/// The inverse of a number below M. That of 0 is 0.
#[inline(never)]
pub(crate) fn inverse<M: Modulus>(number: &Words) -> Words {
    let p = in_limbs(&M::P);
    let (mut f, mut g) = (p, in_limbs(number));
    let (mut d, mut e): (Signed, Signed) = ([0; 5], [1, 0, 0, 0, 0]);
    let mut zeta = -1;
    for _ in 0..PASSES {
        let matrix = gathered(&mut zeta, f[0].cast_unsigned(), g[0].cast_unsigned());
        matrix.apply_modulo::<M>(&p, &mut d, &mut e);
        matrix.apply(&mut f, &mut g);
    }
    // f is 1 or −1 now, and d is f's multiple of the number.
    let negative = barrier::opaque_u64((f[4] >> 63).cast_unsigned()).cast_signed();
    let signed = carried(plus_if_negative(d, &p).map(|limb| (limb ^ negative) - negative));
    let [a, b, c, d, e] = plus_if_negative(signed, &p).map(i64::cast_unsigned);
    [a | b << 62, b >> 2 | c << 60, c >> 4 | d << 58, d >> 6 | e << 56]
}

/// 59 steps. `zeta` is −(δ + 1/2).
#[inline(always)]
fn gathered(zeta: &mut i64, f: u64, g: u64) -> Matrix {
    // Of the 64 bits of f and g, a part of the steps divides out as many as it has steps, and needs as many itself.
    let (first, f, g) = part::<20>(zeta, f, g);
    let (second, f, g) = part::<20>(zeta, f, g);
    let (third, ..) = part::<19>(zeta, f, g);
    // 59 steps double 59 times; three more make it 62.
    Matrix(third.times(&second.times(&first)).0.map(|entry| entry << 3))
}

/// Up to 20 steps, with f and its row of the matrix in one word, and g and its row in another: f − 2^21·a − 2^42·b, where a and b begin as multiples
/// of 2^STEPS, since g's row is halved with g. The lowest part is below 2^20 in absolute value, and |a| + |b| ≤ 2^STEPS. Only the first row of all, (2^STEPS, 0) or
/// (0, 2^STEPS), has an entry of 2^STEPS, so that −a fits its 21 bits; the sum of two rows before it is halved is below 2^63.
#[inline(always)]
fn part<const STEPS: u32>(zeta: &mut i64, f: u64, g: u64) -> (Matrix, u64, u64) {
    let low = (1 << STEPS) - 1;
    let mut to_f = (f & low).wrapping_sub(1 << (21 + STEPS));
    let mut to_g = (g & low).wrapping_sub(1 << (42 + STEPS));
    for _ in 0..STEPS {
        let negative = barrier::opaque_u64((*zeta >> 63).cast_unsigned());
        let odd = barrier::opaque_u64((to_g & 1).wrapping_neg());
        let exchanged = negative & odd;
        let sum = to_g.wrapping_add((to_f ^ negative).wrapping_sub(negative) & odd);
        *zeta = (*zeta ^ exchanged.cast_signed()) - 1;
        to_f = to_f.wrapping_add(sum & exchanged);
        to_g = (sum.cast_signed() >> 1).cast_unsigned();
    }
    let ([a, b], [c, d]) = (rows(to_f), rows(to_g));
    let matrix = Matrix([a, b, c, d]);
    let divided = |a: i64, b: i64| {
        let sum = a.cast_unsigned().wrapping_mul(f).wrapping_add(b.cast_unsigned().wrapping_mul(g));
        (sum.cast_signed() >> STEPS).cast_unsigned()
    };
    (matrix, divided(a, b), divided(c, d))
}

/// The two entries of a row in a word; both, and what is below them, may be negative.
#[inline(always)]
fn rows(word: u64) -> [i64; 2] {
    let upper = word.wrapping_add(1 << 20).wrapping_add(1 << 41);
    let b = upper.cast_signed() >> 42;
    let a = word.wrapping_add(1 << 20).wrapping_sub((b << 42).cast_unsigned()).cast_signed() >> 21;
    [-a, -b]
}

#[inline(always)]
fn by(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

impl Matrix {
    /// The product, this one on the left.
    #[inline(always)]
    fn times(&self, right: &Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, right.0);
        Self([a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h])
    }

    /// To f and g; the division is exact.
    #[inline(always)]
    fn apply(&self, f: &mut Signed, g: &mut Signed) {
        let [a, b, c, d] = self.0;
        let (mut to_f, mut to_g) = (0, 0);
        for n in 0..5 {
            to_f = (to_f >> 62) + by(a, f[n]) + by(b, g[n]);
            to_g = (to_g >> 62) + by(c, f[n]) + by(d, g[n]);
            if n > 0 {
                f[n - 1] = to_f as i64 & LIMB;
                g[n - 1] = to_g as i64 & LIMB;
            }
        }
        f[4] = (to_f >> 62) as i64;
        g[4] = (to_g >> 62) as i64;
    }

    /// To d and e, which are between −2p and p and stay so: multiples of p make the division exact.
    #[inline(always)]
    fn apply_modulo<M: Modulus>(&self, p: &Signed, d: &mut Signed, e: &mut Signed) {
        let p_inverse = const { inverse_of_word(M::P[0]).cast_signed() & LIMB };
        let [a, b, c, dd] = self.0;
        let (negative_d, negative_e) = (d[4] >> 63, e[4] >> 63);
        let mut times_d = (a & negative_d) + (b & negative_e);
        let mut times_e = (c & negative_d) + (dd & negative_e);
        let low_d = by(a, d[0]) + by(b, e[0]);
        let low_e = by(c, d[0]) + by(dd, e[0]);
        times_d -= p_inverse.wrapping_mul(low_d as i64).wrapping_add(times_d) & LIMB;
        times_e -= p_inverse.wrapping_mul(low_e as i64).wrapping_add(times_e) & LIMB;
        let (mut to_d, mut to_e) = (0, 0);
        for n in 0..5 {
            to_d = (to_d >> 62) + by(a, d[n]) + by(b, e[n]) + by(p[n], times_d);
            to_e = (to_e >> 62) + by(c, d[n]) + by(dd, e[n]) + by(p[n], times_e);
            if n > 0 {
                d[n - 1] = to_d as i64 & LIMB;
                e[n - 1] = to_e as i64 & LIMB;
            }
        }
        d[4] = (to_d >> 62) as i64;
        e[4] = (to_e >> 62) as i64;
    }
}

#[inline(always)]
fn plus_if_negative(number: Signed, p: &Signed) -> Signed {
    let mask = barrier::opaque_u64((number[4] >> 63).cast_unsigned()).cast_signed();
    carried(core::array::from_fn(|n| number[n] + (p[n] & mask)))
}

#[inline(always)]
fn carried(mut number: Signed) -> Signed {
    for n in 0..4 {
        number[n + 1] += number[n] >> 62;
        number[n] &= LIMB;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::super::Ring;
    use super::super::modulus::minus;
    use super::super::portable::Portable;
    use super::super::sm2::{N, P};
    use super::*;
    use proptest::prelude::*;

    /// a·(1/a) is 1, or 0 for 0.
    fn check<M: Modulus>(number: &Words) {
        let ring = Ring::<M, _>::new(Portable);
        let expected = if *number == [0; 4] { [0; 4] } else { M::ONE };
        assert_eq!(ring.product(number, &ring.inverse(number)), expected, "{number:x?}");
    }

    #[test]
    fn numbers_near_zero_near_the_modulus_and_near_powers_of_two_have_inverses() {
        for small in 0..100 {
            for number in [[small, 0, 0, 0], minus(&P::P, &[small + 1, 0, 0, 0])] {
                check::<P>(&number);
            }
            check::<N>(&minus(&N::P, &[small + 1, 0, 0, 0]));
        }
        for bit in 0..255 {
            let mut power = [0; 4];
            power[bit / 64] = 1 << (bit % 64);
            for number in [power, minus(&power, &[1, 0, 0, 0])] {
                check::<P>(&number);
                check::<N>(&number);
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_has_an_inverse(number in any::<Words>()) {
            check::<P>(&Ring::<P, _>::new(Portable).reduced(&number));
            check::<N>(&Ring::<N, _>::new(Portable).reduced(&number));
        }
    }
}
