//! A map of a curve's points to their multiples by a large number λ that takes one product, and scalars in two parts of half their length by it
//! (Gallant, Lambert and Vanstone, "Faster point multiplication on elliptic curves with efficient endomorphisms", 2001).

use super::Curve;
use super::words::Words;
use candor_cpu::barrier;

/// The endomorphism (x, y) ↦ (βx, y) of a curve of 256 bits, which multiplies by λ.
#[derive(Clone, Copy)]
pub struct Endomorphism<W> {
    /// β, a cube root of 1, as it stands in the field.
    pub(crate) beta: W,
    /// Two pairs (x, y), short and with x + yλ = 0 modulo n, as numbers modulo 2^192. Their determinant x₁y₂ − x₂y₁ is n.
    pub(crate) basis: [[[u64; 3]; 2]; 2],
    /// y₂ and −y₁ times 2^384/n, rounded.
    pub(crate) quotients: [[u64; 4]; 2],
}

/// A part of a scalar: an absolute value, and all ones if it is negative.
#[derive(Clone, Copy)]
pub(crate) struct Part<W> {
    pub(crate) magnitude: W,
    pub(crate) negative: u64,
}

/// Parts that the scalars of a curve have.
pub(crate) const fn parts<C: Curve>() -> usize {
    if C::ENDOMORPHISM.is_some() { 2 } else { 1 }
}

/// Bits of each.
pub(crate) const fn bits<C: Curve>() -> usize {
    64 * C::W::COUNT / parts::<C>()
}

/// The scalar, below n, as k₁ + k₂λ modulo n with parts below 2^128, or itself and zero for a curve without an endomorphism. In constant time.
#[inline(always)]
pub(crate) fn divided<C: Curve>(scalar: &C::W) -> [Part<C::W>; 2] {
    match &C::ENDOMORPHISM {
        Some(endomorphism) => endomorphism.divided(scalar),
        None => [Part { magnitude: *scalar, negative: 0 }, Part { magnitude: C::W::ZERO, negative: 0 }],
    }
}

impl<W: Words> Endomorphism<W> {
    /// (k, 0) less the point of the lattice that rounding finds.
    #[inline(always)]
    fn divided(&self, scalar: &W) -> [Part<W>; 2] {
        let scalar = core::array::from_fn(|n| scalar[n]);
        let factors = self.quotients.map(|quotient| rounded(&scalar, &quotient));
        core::array::from_fn(|at| {
            let mut part = if at == 0 { [scalar[0], scalar[1], scalar[2]] } else { [0; 3] };
            for (factor, pair) in factors.iter().zip(&self.basis) {
                part = minus_product(&part, factor, &pair[at]);
            }
            let negative = barrier::mask_u64(part[2] >> 63);
            let mut magnitude = W::ZERO;
            let mut borrow = false;
            for n in 0..2 {
                (magnitude[n], borrow) = (part[n] ^ negative).borrowing_sub(negative, borrow);
            }
            Part { magnitude, negative }
        })
    }
}

/// a·b/2^384, rounded.
#[inline(always)]
fn rounded(a: &[u64; 4], b: &[u64; 4]) -> [u64; 3] {
    let mut product = [0; 8];
    for (n, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (at, b) in b.iter().enumerate() {
            (product[n + at], carry) = a.carrying_mul_add(*b, product[n + at], carry);
        }
        product[n + 4] = carry;
    }
    let (low, carry) = product[6].carrying_add(product[5] >> 63, false);
    [low, product[7] + u64::from(carry), 0]
}

/// a − bc modulo 2^192.
#[inline(always)]
fn minus_product(a: &[u64; 3], b: &[u64; 3], c: &[u64; 3]) -> [u64; 3] {
    let mut product = [0_u64; 3];
    for n in 0..3 {
        let mut carry = 0;
        for at in 0..3 - n {
            (product[n + at], carry) = b[n].carrying_mul_add(c[at], product[n + at], carry);
        }
    }
    let mut borrow = false;
    for n in 0..3 {
        (product[n], borrow) = a[n].borrowing_sub(product[n], borrow);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::super::modulus::{Modulus, shifted};
    use super::super::portable::Portable;
    use super::super::secp256k1::{N, P, Secp256k1};
    use super::super::words::{is_below, minus, small};
    use super::super::{Affine, Group, Ring};
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    type Number = [u64; 4];

    /// Of secp256k1.
    const ENDOMORPHISM: Endomorphism<Number> = Secp256k1::ENDOMORPHISM.unwrap();

    /// ⌊a·2^bits/b⌋ modulo 2^256, and what is left.
    fn quotient(a: &Number, bits: usize, b: &Number) -> (Number, Number) {
        let (mut quotient, mut rest) = ([0; 4], [0; 4]);
        for bit in (0..256 + bits).rev() {
            let above = rest[3] >> 63;
            let next = if bit < bits { 0 } else { a[(bit - bits) / 64] >> ((bit - bits) % 64) & 1 };
            (rest, quotient) = (plus(&rest, &rest), plus(&quotient, &quotient));
            rest[0] |= next;
            if above == 1 || !is_below(&rest, b) {
                (rest, quotient[0]) = (minus(&rest, b), quotient[0] | 1);
            }
        }
        (quotient, rest)
    }

    /// a + b modulo 2^256.
    fn plus(a: &Number, b: &Number) -> Number {
        minus(a, &minus(&[0; 4], b))
    }

    /// ab modulo 2^256.
    fn times(a: &Number, b: &Number) -> Number {
        (0..256).rev().fold([0; 4], |sum, bit| {
            let sum = plus(&sum, &sum);
            if b[bit / 64] >> (bit % 64) & 1 == 1 { plus(&sum, a) } else { sum }
        })
    }

    /// A cube root of 1 that is not 1, as an integer: the power (M − 1)/3 of the least number that gives one.
    fn root<M: Modulus<W = Number>>() -> Number {
        let ring = Ring::<M, _>::new(Portable);
        let (power, rest) = quotient(&minus(&M::P, &small(1)), 0, &small(3));
        assert_eq!(rest, [0; 4]);
        let root = (2..).map(|base| {
            let base = ring.enter(&small(base));
            (0..256).rev().fold(M::ONE, |root, bit| {
                let root = ring.square(&root);
                if power[bit / 64] >> (bit % 64) & 1 == 1 { ring.product(&root, &base) } else { root }
            })
        });
        let root = root.into_iter().find(|root| *root != M::ONE).unwrap();
        assert_eq!(ring.product(&ring.square(&root), &root), M::ONE);
        ring.leave(&root)
    }

    /// λ, of the two roots modulo n the one that β goes with.
    fn lambda() -> Number {
        let (group, root) = (Group::<Secp256k1, _>::new(Portable), root::<N>());
        let generator = group.generator();
        let wanted = group.field.product(&generator.x, &ENDOMORPHISM.beta);
        let other = minus(&minus(&N::P, &root), &small(1));
        let [lambda] = [root, other]
            .into_iter()
            .filter(|root| {
                let Affine { x, y } = group.affine(&group.base(root));
                x == wanted && y == generator.y
            })
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        lambda
    }

    #[test]
    fn beta_is_a_cube_root_of_1_and_takes_the_generator_to_its_multiple_by_a_cube_root_of_1() {
        let root = root::<P>();
        let other = minus(&minus(&P::P, &root), &small(1));
        assert!([root, other].contains(&ENDOMORPHISM.beta));
        lambda();
    }

    /// The rows of Euclid's algorithm for n and λ around the root of n: pairs (r, ∓t) with r = tλ modulo n, each sign other than the one before.
    #[test]
    fn the_basis_is_from_the_algorithm_of_euclid_and_its_quotients_are_rounded() {
        let (mut above, mut row) = ((N::P, [0; 4]), (lambda(), small(1)));
        let mut negative = true;
        while row.0[2] | row.0[3] != 0 {
            let (quotient, rest) = quotient(&above.0, 0, &row.0);
            (above, row) = (row, (rest, plus(&above.1, &times(&quotient, &row.1))));
            negative = !negative;
        }
        // Here the row is (r, −t), the one above it (r, t).
        assert!(negative);
        let as_number = |n: [u64; 3]| [n[0], n[1], n[2], 0_u64.wrapping_sub(n[2] >> 63)];
        let [first, second] = ENDOMORPHISM.basis.map(|pair| pair.map(as_number));
        assert_eq!(first, [row.0, minus(&[0; 4], &row.1)]);
        assert_eq!(second, [above.0, above.1]);
        assert_eq!(plus(&times(&row.0, &above.1), &times(&above.0, &row.1)), N::P);
        for (factor, found) in [above.1, row.1].iter().zip(ENDOMORPHISM.quotients) {
            let (whole, rest) = quotient(factor, 384, &N::P);
            // Rounded up if twice the rest is n or more.
            let up = is_below(&minus(&N::P, &rest), &rest);
            assert_eq!(plus(&whole, &small(u64::from(up))), found);
        }
    }

    /// Half of the sums of the first and of the second members of the basis, rounded down.
    fn bounds() -> [Number; 2] {
        let [[x1, y1], [x2, y2]] = ENDOMORPHISM.basis.map(|pair| pair.map(|[a, b, c]| [a, b, c, 0]));
        let y1 = minus(&[0, 0, 0, 1], &y1);
        [plus(&x1, &x2), plus(&y1, &y2)]
            .map(|sum| core::array::from_fn(|n| sum[n] >> 1 | if n < 3 { sum[n + 1] << 63 } else { 0 }))
    }

    /// The parts are within the bounds, and their sum is the scalar.
    fn check(scalar: &Number, lambda: &Number) {
        let ring = Ring::<N, _>::new(Portable);
        let parts = divided::<Secp256k1>(scalar);
        let bounds = bounds();
        for (part, bound) in parts.iter().zip(&bounds) {
            assert!(!is_below(bound, &part.magnitude), "{scalar:x?}: {:x?}", part.magnitude);
            assert!(part.negative == 0 || part.negative == u64::MAX);
        }
        let [first, second] = parts.map(|part| ring.negative_if(&ring.enter(&part.magnitude), part.negative));
        let sum = ring.sum(&first, &ring.product(&second, &ring.enter(lambda)));
        assert_eq!(ring.leave(&sum), *scalar);
    }

    #[test]
    fn parts_of_edge_scalars_are_short_and_make_up_the_scalar() {
        let (ring, lambda) = (Ring::<N, _>::new(Portable), lambda());
        let near = |number: &Number| {
            (0..40)
                .flat_map(|distance| {
                    let distance = small(distance);
                    [ring.sum(number, &distance), ring.difference(number, &distance)]
                })
                .collect::<Vec<_>>()
        };
        // Near multiples of n/y₂, where the rounding turns, and of what the basis has.
        let [[x1, _], [x2, _]] = ENDOMORPHISM.basis.map(|pair| pair.map(|[a, b, c]| [a, b, c, 0]));
        let mut centres = std::vec![[0; 4], lambda, ring.negative(&lambda), x1, x2];
        for bit in 0..255 {
            centres.push(shifted([1], &N::P, bit));
            centres.push(ring.product(&ring.enter(&lambda), &shifted([1], &N::P, bit)));
        }
        for factor in 1..40 {
            for short in [x1, x2] {
                let (turn, _) = quotient(&N::P, 0, &short);
                centres.push(times(&turn, &small(factor)));
            }
        }
        for centre in &centres {
            near(centre).iter().for_each(|scalar| check(scalar, &lambda));
        }
    }

    #[test]
    fn a_part_is_zero_or_negative_where_it_must_be() {
        let (ring, lambda) = (Ring::<N, _>::new(Portable), lambda());
        for (first, second) in [(0_i64, 0_i64), (5, 0), (-5, 0), (0, 5), (0, -5), (3, 7), (-3, 7), (3, -7), (-3, -7)] {
            let signed = |number: i64| {
                ring.negative_if(&ring.enter(&small(number.unsigned_abs())), u64::from(number < 0).wrapping_neg())
            };
            let sum = ring.sum(&signed(first), &ring.product(&signed(second), &ring.enter(&lambda)));
            let parts = divided::<Secp256k1>(&ring.leave(&sum));
            for (part, expected) in parts.iter().zip([first, second]) {
                assert_eq!(part.magnitude, small::<Number>(expected.unsigned_abs()));
                assert_eq!(part.negative, u64::from(expected < 0).wrapping_neg());
            }
        }
    }

    proptest! {
        #[test]
        fn parts_of_any_scalar_are_short_and_make_up_the_scalar(scalar in any::<Number>()) {
            check(&Ring::<N, _>::new(Portable).reduced(&scalar), &lambda());
        }
    }
}
