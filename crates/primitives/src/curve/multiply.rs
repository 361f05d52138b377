//! Multiples of points: of the generator from a table, of any point by windows, and for verification of both together.

use super::group::Point;
use super::{Affine, Arithmetic, COMB_BITS, COMB_ENTRIES, COMB_WINDOWS, Curve, Group, Words};
use candor_cpu::barrier;

/// Bits of a window of a scalar that multiplies any point, and windows in a scalar.
const BITS: usize = 5;
const WINDOWS: usize = 52;
/// Multiples of the point that are computed first.
const MULTIPLES: usize = 1 << (BITS - 1);

/// Odd multiples for the scalars of verification, and bits of their digits.
const ODD: usize = 8;
const ODD_BITS: u32 = 5;

/// A scalar in signed digits: k + Σ 2^(bits − 1)·2^(bits·i) over all windows i but the highest. Of a window's bits, less 2^(bits − 1), comes the
/// digit; the highest window's bits are its digit.
struct Digits<const BITS: usize, const WINDOWS: usize>([u64; 5]);

impl<const BITS: usize, const WINDOWS: usize> Digits<BITS, WINDOWS> {
    const BIAS: Words = {
        let (mut bias, mut window) = ([0; 4], 0);
        while window < WINDOWS - 1 {
            let bit = BITS * window + BITS - 1;
            bias[bit / 64] |= 1 << (bit % 64);
            window += 1;
        }
        bias
    };

    #[inline(always)]
    fn of(scalar: &Words) -> Self {
        let (mut biased, mut carry) = ([0; 5], false);
        for n in 0..4 {
            (biased[n], carry) = scalar[n].carrying_add(Self::BIAS[n], carry);
        }
        biased[4] = u64::from(carry);
        Self(biased)
    }

    /// The digit of a window: its absolute value, and all ones if it is negative.
    #[inline(always)]
    fn at(&self, window: usize) -> (u64, u64) {
        let bit = BITS * window;
        let (word, shift) = (bit / 64, bit % 64);
        let mut bits = self.0[word] >> shift;
        if shift > 64 - BITS && word < 4 {
            bits |= self.0[word + 1] << (64 - shift);
        }
        bits &= (1 << BITS) - 1;
        let digit = bits.wrapping_sub(if window == WINDOWS - 1 { 0 } else { 1 << (BITS - 1) });
        let negative = barrier::mask_u64(digit >> 63);
        ((digit ^ negative).wrapping_sub(negative), negative)
    }
}

impl<C: Curve, A: Arithmetic> Group<C, A> {
    /// k·G for k below n.
    #[inline(always)]
    pub(crate) fn base(self, scalar: &Words) -> Point {
        let digits = Digits::<COMB_BITS, COMB_WINDOWS>::of(scalar);
        let mut sum = Point::INFINITY;
        // From the lowest window up: the sum so far is smaller than any entry of the next window, so it is never that entry.
        for (window, entries) in C::comb().iter().enumerate() {
            let (magnitude, negative) = digits.at(window);
            let [x, y] = self.field.0.selected_entry(entries, magnitude);
            let entry = Affine { x, y: self.field.negative_if(&y, negative) };
            sum = self.plus_affine_unless(&sum, &entry, super::is_zero(&[magnitude, 0, 0, 0]));
        }
        sum
    }

    /// k·P for k below n.
    #[inline(always)]
    pub(crate) fn times(self, scalar: &Words, point: &Affine) -> Point {
        let mut multiples = [[[0; 4]; 3]; MULTIPLES];
        let mut last = Point::INFINITY;
        for at in 0..MULTIPLES {
            let number = at + 1;
            last = match number {
                1 => self.with_z(point),
                _ if number % 2 == 1 => self.plus_affine_unless(&last, point, 0),
                _ => {
                    let [x, y, z] = multiples[number / 2 - 1];
                    self.double(&Point { x, y, z })
                }
            };
            multiples[at] = [last.x, last.y, last.z];
        }
        let digits = Digits::<BITS, WINDOWS>::of(scalar);
        let mut sum = Point::INFINITY;
        for window in (0..WINDOWS).rev() {
            if window != WINDOWS - 1 {
                for _ in 0..BITS {
                    sum = self.double(&sum);
                }
            }
            let (magnitude, negative) = digits.at(window);
            let [x, y, z] = self.field.0.selected(&multiples, magnitude);
            let entry = Point { x, y: self.field.negative_if(&y, negative), z };
            // What is added is below 32 in absolute value, and the sum is zero or at least 32, and below n/16 before the last window. Only there
            // can the two be the same point.
            sum = if window == 0 { self.plus_complete(&sum, &entry) } else { self.plus(&sum, &entry) };
        }
        sum
    }

    /// s·G + t·P for s and t below n. For public numbers and points.
    #[inline(always)]
    pub(crate) fn base_plus_times_vartime(self, s: &Words, t: &Words, point: &Affine) -> Point {
        let mut sum = self.times_vartime(t, point);
        let digits = Digits::<COMB_BITS, COMB_WINDOWS>::of(s);
        for (window, entries) in C::comb().iter().enumerate() {
            let (magnitude, negative) = digits.at(window);
            if let Some(at) = (magnitude as usize).checked_sub(1) {
                let [x, y] = entries[at % COMB_ENTRIES].0;
                sum = self.plus_affine_vartime(&sum, &Affine { x, y: self.field.negative_if(&y, negative) });
            }
        }
        sum
    }

    /// k·P for k below n. For public numbers and points.
    #[inline(always)]
    pub(crate) fn times_vartime(self, scalar: &Words, point: &Affine) -> Point {
        let first = self.with_z(point);
        let twice = self.double(&first);
        let mut odd = [first; ODD];
        for at in 1..ODD {
            odd[at] = self.plus_vartime(&odd[at - 1], &twice);
        }
        let mut digits = [0_i8; 257];
        non_adjacent_vartime(*scalar, &mut digits);
        let mut sum = Point::INFINITY;
        for digit in digits.iter().rev() {
            if sum.z != [0; 4] {
                sum = self.double(&sum);
            }
            if *digit != 0 {
                let Point { x, y, z } = odd[usize::from(digit.unsigned_abs() / 2)];
                let negative = u64::from(*digit < 0).wrapping_neg();
                sum = self.plus_vartime(&sum, &Point { x, y: self.field.negative_if(&y, negative), z });
            }
        }
        sum
    }
}

/// Digits that are zero or odd and below 16 in absolute value, of which any five in a row have at most one that is not zero.
fn non_adjacent_vartime(mut scalar: Words, digits: &mut [i8; 257]) {
    let mut at = 0;
    while scalar != [0; 4] {
        let skip = scalar[0].trailing_zeros().min(63);
        if skip > 0 {
            let [a, b, c, d] = scalar;
            let up = 64 - skip;
            scalar = [a >> skip | b << up, b >> skip | c << up, c >> skip | d << up, d >> skip];
            at += skip as usize;
            continue;
        }
        let low = (scalar[0] & ((1 << ODD_BITS) - 1)) as i8;
        let digit = if low >= 1 << (ODD_BITS - 1) { low - (1 << ODD_BITS) } else { low };
        digits[at] = digit;
        // Less the digit. The scalar is below n, which is below 2^256 − 16.
        let mut carry = false;
        let negative = i64::from(digit).wrapping_neg();
        (scalar[0], carry) = scalar[0].carrying_add(negative.cast_unsigned(), carry);
        for word in &mut scalar[1..] {
            (*word, carry) = word.carrying_add((negative >> 63).cast_unsigned(), carry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::portable::Portable;
    use super::super::sm2::Sm2Curve;
    use super::super::{Prime, modulus};
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn group() -> Group<Sm2Curve, Portable> {
        Group::new(Portable)
    }

    const N: Words = <Sm2Curve as Curve>::Order::P;

    /// The table, from the generator.
    fn derived() -> Vec<u8> {
        let group = group();
        let mut power = group.generator();
        let mut bytes = Vec::new();
        for _ in 0..COMB_WINDOWS {
            let mut multiple = Point::INFINITY;
            for _ in 0..COMB_ENTRIES {
                multiple = group.plus_affine_vartime(&multiple, &power);
                let Affine { x, y } = group.affine(&multiple);
                bytes.extend([x, y].as_flattened().iter().flat_map(|word| word.to_le_bytes()));
            }
            power = group.affine(&group.double(&multiple));
        }
        bytes
    }

    #[test]
    fn the_generator_is_on_the_curve_and_has_order_n() {
        let group = group();
        assert!(group.is_on_curve(&group.generator()));
        let last = group.affine(&bit_by_bit(&modulus::minus(&N, &[1, 0, 0, 0]), &group.generator()));
        let generator = group.generator();
        assert_eq!((last.x, last.y), (generator.x, group.field.difference(&[0; 4], &generator.y)));
    }

    #[test]
    fn the_tables_hold_the_multiples_of_the_generators() {
        assert!(derived() == include_bytes!("sm2.bin"));
    }

    #[test]
    #[ignore = "writes src/curve/sm2.bin"]
    fn write_the_table() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/curve/sm2.bin"), derived()).unwrap();
    }

    /// k·P by double and add, with branches for all exceptions.
    fn bit_by_bit(scalar: &Words, point: &Affine) -> Point {
        let group = group();
        (0..256).rev().fold(Point::INFINITY, |sum, bit| {
            let sum = group.double(&sum);
            if scalar[bit / 64] >> (bit % 64) & 1 == 1 { group.plus_affine_vartime(&sum, point) } else { sum }
        })
    }

    fn coordinates(point: &Point) -> [Words; 2] {
        let Affine { x, y } = group().affine(point);
        [x, y]
    }

    /// On safe Rust and, where the CPU has it, on ADX.
    fn check(scalar: &Words) {
        let group = group();
        let point = group.affine(&bit_by_bit(&[77, 0, 0, 1], &group.generator()));
        let (of_base, of_point) = (bit_by_bit(scalar, &group.generator()), bit_by_bit(scalar, &point));
        let both = group.plus_vartime(&of_base, &bit_by_bit(&[5, 6, 7, 8], &point));
        let expected = [of_base, of_point, both].map(|point| coordinates(&point));
        check_on(Portable, scalar, &point, &expected);
        #[cfg(target_arch = "x86_64")]
        if let Some(adx) = crate::low::x86_64::montgomery::Adx::check(candor_cpu::Cpu::host()) {
            check_on(adx, scalar, &point, &expected);
        }
    }

    fn check_on<A: Arithmetic>(arm: A, scalar: &Words, point: &Affine, [of_base, of_point, both]: &[[Words; 2]; 3]) {
        let group = Group::<Sm2Curve, A>::new(arm);
        assert_eq!(coordinates(&group.base(scalar)), *of_base, "{scalar:x?}");
        assert_eq!(coordinates(&group.times(scalar, point)), *of_point, "{scalar:x?}");
        assert_eq!(coordinates(&group.times_vartime(scalar, point)), *of_point, "{scalar:x?}");
        assert_eq!(coordinates(&group.base_plus_times_vartime(scalar, &[5, 6, 7, 8], point)), *both, "{scalar:x?}");
    }

    #[test]
    fn small_scalars_and_those_just_below_n_give_the_multiples_that_doubling_and_adding_gives() {
        for small in 0..70 {
            check(&[small, 0, 0, 0]);
            check(&modulus::minus(&N, &[small + 1, 0, 0, 0]));
        }
    }

    #[test]
    fn scalars_with_one_bit_and_their_neighbours_do_so_too() {
        for bit in (0..255).step_by(7).chain([63, 64, 127, 128, 191, 192, 254, 255]) {
            let mut scalar = [0; 4];
            scalar[bit / 64] = 1 << (bit % 64);
            check(&scalar);
            check(&modulus::minus(&scalar, &[1, 0, 0, 0]));
        }
    }

    #[test]
    fn a_sum_of_a_multiple_and_its_own_double_or_its_negative_is_exact() {
        let group = group();
        let generator = group.generator();
        // s·G + t·G: equal points, opposite points, and infinity on either side.
        let less = |small: u64| modulus::minus(&N, &[small, 0, 0, 0]);
        for (s, t, sum) in [
            ([5, 0, 0, 0], [5, 0, 0, 0], [10, 0, 0, 0]),
            ([5, 0, 0, 0], less(5), [0; 4]),
            ([0; 4], [0; 4], [0; 4]),
            ([0; 4], [9, 0, 0, 0], [9, 0, 0, 0]),
            ([9, 0, 0, 0], [0; 4], [9, 0, 0, 0]),
            (less(64), less(64), less(128)),
        ] {
            let found = group.base_plus_times_vartime(&s, &t, &generator);
            assert_eq!(coordinates(&found), coordinates(&bit_by_bit(&sum, &generator)), "{s:x?} {t:x?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn so_do_any_scalars(scalar in any::<[u64; 4]>()) {
            check(&group().order.reduced(&scalar));
        }
    }
}
