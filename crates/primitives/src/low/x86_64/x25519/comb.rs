//! Multiples of the base point: of one scalar with two windows at once in four lanes each, of eight scalars in a lane each.

use super::lanes::{Eight, Lanes};
use super::numbers::{Constants, Limbs, Sums, biases, each_limb, masks};
use crate::x25519::comb::{ENTRIES, Point, TABLE, WINDOWS, biased, digit, limbs};
use crate::x25519::field::{Element, LIMB};
use crate::x25519::{Quotient, Scalar};
use candor_cpu::HaveAvx512Ifma;

/// The u-coordinate of the scalar times the base point.
#[inline]
pub(crate) fn base(token: HaveAvx512Ifma, scalar: &Scalar, into: &mut Quotient) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn with_features(token: HaveAvx512Ifma, scalar: &Scalar, into: &mut [Point; 2]) {
        two_windows(token, scalar, into);
    }
    let mut halves = [Point::NEUTRAL; 2];
    // SAFETY: the token proves the features.
    unsafe { with_features(token, scalar, &mut halves) };
    let [low, high] = halves;
    *into = low.plus_any(&high).u();
}

/// The same for eight scalars.
#[inline]
pub(crate) fn base_8(token: HaveAvx512Ifma, scalars: &[Scalar; 8], into: &mut [Quotient; 8]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn with_features(token: HaveAvx512Ifma, scalars: &[Scalar; 8], into: &mut [Quotient; 8]) {
        eight_scalars(token, scalars, into);
    }
    // SAFETY: the token proves the features.
    unsafe { with_features(token, scalars, into) }
}

const HALF: usize = WINDOWS / 2;

/// Of entry j of windows i and i + 32, the factors (y − x, y + x, 2, 2dxy) in limbs, four lanes each.
type Rows = [[u64; 8]; 5];
static WIDE: [[Rows; ENTRIES]; HALF] = wide();

const fn wide() -> [[Rows; ENTRIES]; HALF] {
    let mut wide = [[[[0; 8]; 5]; ENTRIES]; HALF];
    let mut at = 0;
    while at < WINDOWS * ENTRIES {
        let (window, entry) = (at / ENTRIES, at % ENTRIES);
        let [minus, plus, product] = TABLE[window][entry];
        let (minus, plus, product) = (limbs(minus), limbs(plus), limbs(product));
        let lane = window / HALF * 4;
        let rows = &mut wide[window % HALF][entry];
        rows[0][lane + 2] = 2;
        let mut n = 0;
        while n < 5 {
            rows[n][lane] = minus[n];
            rows[n][lane + 1] = plus[n];
            rows[n][lane + 3] = product[n];
            n += 1;
        }
        at += 1;
    }
    wide
}

/// Lanes 0 and 3 of each four are differences.
const OUTER: [bool; 8] = [true, false, false, true, true, false, false, true];
const FIRST: [bool; 8] = [true, false, false, false, true, false, false, false];
const LAST: [u64; 8] = masks([false, false, false, true, false, false, false, true]);
/// 2p + 1, which negates a number below p.
const TWICE: [u64; 5] = [2 * (LIMB - 18) + 1, 2 * LIMB + 1, 2 * LIMB + 1, 2 * LIMB + 1, 2 * LIMB + 1];

#[inline(always)]
fn two_windows(token: HaveAvx512Ifma, scalar: &Scalar, into: &mut [Point; 2]) {
    let with = Constants::<Eight>::new(token);
    const FIRST_BIASES: [[u64; 8]; 5] = biases(FIRST);
    const OUTER_BIASES: [[u64; 8]; 5] = biases(OUTER);
    let (first, first_biases) = (row(token, &masks(FIRST)), each_limb!(n => row(token, &FIRST_BIASES[n])));
    let (outer, outer_biases) = (row(token, &masks(OUTER)), each_limb!(n => row(token, &OUTER_BIASES[n])));
    let last = row(token, &LAST);
    let twice = each_limb!(n => Eight::splat(token, TWICE[n]).and(last));
    let (order, swapping) = (row(token, &[0, 1, 2, 3, 4, 5, 6, 7]), row(token, &[1, 1, 0, 0, 1, 1, 0, 0]));
    let zero = Eight::splat(token, 0);
    let neutral = Limbs([row(token, &[1, 1, 2, 0, 1, 1, 2, 0]), zero, zero, zero, zero]);

    let biased = biased(scalar);
    // (X, Y, Z, T)
    let mut state = Sums([row(token, &[0, 1, 1, 0, 0, 1, 1, 0]), zero, zero, zero, zero]);
    for (window, entries) in WIDE.iter().enumerate() {
        let (mut magnitudes, mut negatives) = ([0; 8], [0; 8]);
        for half in 0..2 {
            let (magnitude, negative) = digit(&biased, window + half * HALF);
            magnitudes[4 * half..4 * half + 4].fill(magnitude);
            negatives[4 * half..4 * half + 4].fill(negative);
        }
        let (magnitude, negative) = (row(token, &magnitudes), row(token, &negatives));
        let mut entry = neutral;
        for (rows, number) in entries.iter().zip(1..) {
            let number = Eight::splat(token, number);
            entry = Limbs(each_limb!(n => entry.0[n].where_same(row(token, &rows[n]), magnitude, number)));
        }
        let entry = entry.looked_up(order.xor(negative.and(swapping)));
        let signs = negative.and(last);
        let entry = Limbs(each_limb!(n => entry.0[n].xor(signs).plus(twice[n].and(negative))));

        // (Y − X, Y + X, Z, T) times the entry: (A, B, D, C).
        let crossed = state.permuted::<0b11_10_00_01>();
        let mixed = crossed.plus_or_minus(&state, first, &first_biases);
        let mixed = Sums(each_limb!(n => mixed.0[n].blended::<0b1100>(state.0[n])));
        let products = with.product(&with.carried(&mixed), &entry);
        // (B − A, B + A, C + D, D − C), which are (E, H, G, F).
        let crossed = products.permuted::<0b10_11_00_01>();
        let sums = with.carried(&crossed.plus_or_minus(&products, outer, &outer_biases));
        // (E, G, F, E) · (F, H, G, H)
        state = with.product(&sums.permuted::<0b00_11_10_00>(), &sums.permuted::<0b01_10_01_11>());
    }
    let mut rows = [[0; 8]; 5];
    with.carried(&state).store(&mut rows);
    for (half, into) in into.iter_mut().enumerate() {
        let lane = |lane: usize| Element(rows.map(|row| row[4 * half + lane]));
        *into = Point { x: lane(0), y: lane(1), z: lane(2), t: lane(3) };
    }
}

#[inline(always)]
fn eight_scalars(token: HaveAvx512Ifma, scalars: &[Scalar; 8], into: &mut [Quotient; 8]) {
    let with = Constants::<Eight>::new(token);
    let zero = Eight::splat(token, 0);
    let one = Limbs([Eight::splat(token, 1), zero, zero, zero, zero]);
    let twice = each_limb!(n => Eight::splat(token, TWICE[n]));

    let mut digits = [[0; 4]; 8];
    for (digits, scalar) in digits.iter_mut().zip(scalars) {
        *digits = biased(scalar);
    }
    let (mut x, mut y, mut z, mut t) = (Sums([zero; 5]), Sums(one.0), Sums(one.0), Sums([zero; 5]));
    for window in 0..WINDOWS {
        let (mut magnitudes, mut negatives) = ([0; 8], [0; 8]);
        for (lane, digits) in digits.iter().enumerate() {
            (magnitudes[lane], negatives[lane]) = digit(digits, window);
        }
        let (magnitude, negative) = (Eight::load(token, &magnitudes), Eight::load(token, &negatives));
        let [mut less, mut more, mut product] = [one, one, Limbs([zero; 5])];
        for (number, rows) in (1..).zip(&WIDE[window % HALF]) {
            let number = Eight::splat(token, number);
            let lane = window / HALF * 4;
            less = selected(token, &less, (rows, lane), magnitude, number);
            more = selected(token, &more, (rows, lane + 1), magnitude, number);
            product = selected(token, &product, (rows, lane + 3), magnitude, number);
        }
        let (less, more) = (less.chosen(&more, negative), more.chosen(&less, negative));
        let product = Limbs(each_limb!(n => product.0[n].xor(negative).plus(twice[n].and(negative))));

        let a = with.product(&with.difference(&y, &x), &less);
        let b = with.product(&with.sum(&y, &x), &more);
        let c = with.product(&with.carried(&t), &product);
        let d = z.plus(&z);
        let (e, f, g, h) = (with.difference(&b, &a), with.difference(&d, &c), with.sum(&d, &c), with.sum(&b, &a));
        (x, y, z, t) = (with.product(&e, &f), with.product(&g, &h), with.product(&f, &g), with.product(&e, &h));
    }
    let (mut ys, mut zs) = ([[0; 8]; 5], [[0; 8]; 5]);
    with.carried(&y).store(&mut ys);
    with.carried(&z).store(&mut zs);
    for (lane, into) in into.iter_mut().enumerate() {
        let element = |rows: &[[u64; 8]; 5]| Element(rows.map(|row| row[lane]));
        let (y, z) = (element(&ys), element(&zs));
        *into = Quotient { x: z.plus(&y), z: z.minus(&y) };
    }
}

#[inline(always)]
fn row(token: HaveAvx512Ifma, row: &[u64; 8]) -> Eight {
    Eight::load(token, row)
}

/// The limbs in a column of the table's rows, in the lanes with this magnitude.
#[inline(always)]
fn selected(
    token: HaveAvx512Ifma,
    limbs: &Limbs<Eight>,
    (rows, lane): (&Rows, usize),
    magnitude: Eight,
    number: Eight,
) -> Limbs<Eight> {
    Limbs(each_limb!(n => limbs.0[n].where_same(Eight::splat(token, rows[n][lane]), magnitude, number)))
}
