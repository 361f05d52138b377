//! Ladders: one point in four lanes, two side by side, eight in a lane each.
//!
//! In four lanes (x₂, z₂, x₃, z₃), a step is three multiplications of vectors. Of the second only one lane counts. Each waits for the one before, so
//! two ladders that alternate take little longer than one.

use super::lanes::{Eight, Four, Lanes};
use super::numbers::{Constants, Limbs, Sums, biases, each_limb, masks};
use crate::x25519::field::{A24, Element};
use crate::x25519::{Quotient, Scalar, exchanges};
use candor_cpu::HaveAvx512Ifma;
use core::array;

/// The scalar times the point with this u-coordinate.
#[inline]
pub(crate) fn ladder(token: HaveAvx512Ifma, scalar: &Scalar, u: &[u8; 32], into: &mut Quotient) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn with_features(token: HaveAvx512Ifma, scalar: &Scalar, u: &[u8; 32], into: &mut Quotient) {
        in_four(token, array::from_ref(scalar), array::from_ref(u), array::from_mut(into));
    }
    // SAFETY: the token proves the features.
    unsafe { with_features(token, scalar, u, into) }
}

/// Two scalars, each times its point.
#[inline]
pub(crate) fn ladder_2(token: HaveAvx512Ifma, scalars: &[Scalar; 2], us: &[[u8; 32]; 2], into: &mut [Quotient; 2]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn with_features(token: HaveAvx512Ifma, scalars: &[Scalar; 2], us: &[[u8; 32]; 2], into: &mut [Quotient; 2]) {
        in_four(token, scalars, us, into);
    }
    // SAFETY: the token proves the features.
    unsafe { with_features(token, scalars, us, into) }
}

/// Eight scalars, each times its point.
#[inline]
pub(crate) fn ladder_8(token: HaveAvx512Ifma, scalars: &[Scalar; 8], us: &[[u8; 32]; 8], into: &mut [Quotient; 8]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn with_features(token: HaveAvx512Ifma, scalars: &[Scalar; 8], us: &[[u8; 32]; 8], into: &mut [Quotient; 8]) {
        in_one(token, scalars, us, into);
    }
    // SAFETY: the token proves the features.
    unsafe { with_features(token, scalars, us, into) }
}

/// Lanes 1 and 3 are differences.
const ODD: [bool; 4] = [false, true, false, true];
const ODD_BIASES: [[u64; 4]; 5] = biases(ODD);
const ODD_MASKS: [u64; 4] = masks(ODD);
const A24_IN_LANE_1: [u64; 4] = [0, A24, 0, 0];
/// Of (A, B, C, D), what is multiplied with what: (A, B, D, C) with (A, B, A, B), or, if the points are exchanged, (C, D, B, A) with
/// (C, D, C, D). Bit 1 of each number is turned then.
const FIRST: [u64; 4] = [0, 1, 3, 2];
const SECOND: [u64; 4] = [0, 1, 0, 1];

/// N points in four lanes each, step by step side by side.
#[inline(always)]
fn in_four<const N: usize>(token: HaveAvx512Ifma, scalars: &[Scalar; N], us: &[[u8; 32]; N], into: &mut [Quotient; N]) {
    let with = Constants::<Four>::new(token);
    let odd = Four::load(token, &ODD_MASKS);
    let odd_biases = each_limb!(n => Four::load(token, &ODD_BIASES[n]));
    let a24 = Four::load(token, &A24_IN_LANE_1);
    let (first, second) = (Four::load(token, &FIRST), Four::load(token, &SECOND));
    let two = Four::splat(token, 2);

    let blank = Limbs([with.zero; 5]);
    let (mut bits, mut points, mut state) = ([[0; 4]; N], [blank; N], [Sums(blank.0); N]);
    for (at, (scalar, u)) in scalars.iter().zip(us).enumerate() {
        bits[at] = exchanges(scalar);
        let u = Element::from_bytes(u).0;
        points[at] = Limbs(each_limb!(n => Four::load(token, &[0, 0, 0, u[n]])));
        let start = each_limb!(n => Four::load(token, &[u64::from(n == 0), 0, u[n], u64::from(n == 0)]));
        state[at] = Sums(start);
    }
    for word in (0..4).rev() {
        let mut row = [with.zero; N];
        let mut left = 64;
        for at in 0..N {
            row[at] = Four::splat(token, bits[at][word]);
        }
        if word == 3 {
            for row in &mut row {
                *row = row.shl::<1>();
            }
            left = 63;
        }
        for _ in 0..left {
            let (mut parts, mut squares, mut sums) = ([blank; N], state, [blank; N]);
            // (x₂, z₂, x₃, z₃) to (A, B, C, D): sums and differences.
            for at in 0..N {
                let crossed = state[at].permuted::<0b10_11_00_01>();
                parts[at] = with.carried(&crossed.plus_or_minus(&state[at], odd, &odd_biases));
            }
            // (AA, BB, DA, CB)
            for at in 0..N {
                let exchange = row[at].shr::<62>().and(two);
                row[at] = row[at].shl::<1>();
                let left = parts[at].looked_up(first.xor(exchange));
                squares[at] = with.product(&left, &parts[at].looked_up(second.xor(exchange)));
            }
            // (AA, E, DA + CB, DA − CB)
            for at in 0..N {
                let crossed = squares[at].permuted::<0b10_11_00_01>();
                sums[at] = with.carried(&sums_of(&squares[at], &crossed, odd, &odd_biases));
            }
            // (AA, E, DA + CB, (DA − CB)²)
            for at in 0..N {
                let difference = with.carried(&with.square(&sums[at]));
                parts[at] = sums[at].blended::<0b1000>(&difference);
            }
            // (BB, AA + a24·E, DA + CB, x₁) times it.
            for at in 0..N {
                let crossed = squares[at].permuted::<0b10_11_00_01>();
                let others = with.carried(&with.plus_small(&crossed, &sums[at], a24));
                let others = others.blended::<0b0100>(&sums[at]).blended::<0b1000>(&points[at]);
                state[at] = with.product(&parts[at], &others);
            }
        }
    }
    for (state, into) in state.iter().zip(into) {
        let mut rows = [[0; 4]; 5];
        with.carried(state).store(&mut rows);
        *into = Quotient { x: Element(rows.map(|row| row[0])), z: Element(rows.map(|row| row[1])) };
    }
}

/// (AA, AA − BB, DA + CB, DA − CB) of (AA, BB, DA, CB) and its neighbours exchanged.
#[inline(always)]
fn sums_of(squares: &Sums<Four>, crossed: &Sums<Four>, odd: Four, biases: &[Four; 5]) -> Sums<Four> {
    let sums = crossed.plus_or_minus(squares, odd, biases);
    Sums(each_limb!(n => sums.0[n].blended::<0b0001>(squares.0[n])))
}

/// Eight points in a lane each.
#[inline(always)]
fn in_one(token: HaveAvx512Ifma, scalars: &[Scalar; 8], us: &[[u8; 32]; 8], into: &mut [Quotient; 8]) {
    let with = Constants::<Eight>::new(token);
    let a24 = Eight::splat(token, A24);

    let mut bits = [[0; 8]; 4];
    let mut points = [[0; 8]; 5];
    for (lane, (scalar, u)) in scalars.iter().zip(us).enumerate() {
        for (row, word) in bits.iter_mut().zip(exchanges(scalar)) {
            row[lane] = word;
        }
        for (row, limb) in points.iter_mut().zip(Element::from_bytes(u).0) {
            row[lane] = limb;
        }
    }
    let points = Limbs::<Eight>::load(token, &points);
    let zero = Sums([with.zero; 5]);
    let one = Sums([Eight::splat(token, 1), with.zero, with.zero, with.zero, with.zero]);
    let (mut x2, mut z2, mut x3, mut z3) = (one, zero, Sums(points.0), one);
    for (word, row) in bits.iter().enumerate().rev() {
        let mut row = Eight::load(token, row);
        let mut left = 64;
        if word == 3 {
            row = row.shl::<1>();
            left = 63;
        }
        for _ in 0..left {
            let (a, b) = (with.sum(&x2, &z2), with.difference(&x2, &z2));
            let (c, d) = (with.sum(&x3, &z3), with.difference(&x3, &z3));
            let (da, cb) = (with.product(&d, &a), with.product(&c, &b));
            // (a, b) is doubled, or (c, d) if the points are exchanged. The products of both are the same then, but for their order.
            let (a, b) = (a.chosen(&c, row), b.chosen(&d, row));
            row = row.shl::<1>();
            x3 = with.square(&with.sum(&da, &cb));
            z3 = with.product(&with.carried(&with.square(&with.difference(&da, &cb))), &points);
            let (aa, bb) = (with.square(&a), with.square(&b));
            let e = with.difference(&aa, &bb);
            x2 = with.product(&with.carried(&aa), &with.carried(&bb));
            z2 = with.product(&e, &with.carried(&with.plus_small(&aa, &e, a24)));
        }
    }
    let (mut xs, mut zs) = ([[0; 8]; 5], [[0; 8]; 5]);
    with.carried(&x2).store(&mut xs);
    with.carried(&z2).store(&mut zs);
    for (lane, into) in into.iter_mut().enumerate() {
        let element = |rows: &[[u64; 8]; 5]| Element(rows.map(|row| row[lane]));
        *into = Quotient { x: element(&xs), z: element(&zs) };
    }
}
