//! Multiples of points: of the generator from a table, of any point by windows, and for verification of both together.

use super::comb;
use super::endomorphism::{self, divided};
use super::group::{Point, Progression};
use super::words::{Words, is_zero_word, minus, shifted_down};
use super::{Affine, Arithmetic, Curve, Group, Modulus, Ring, Search};
use candor_cpu::barrier;

/// Bits of a window of a scalar that multiplies any point.
const BITS: usize = 5;
/// Multiples of the point that are computed first.
const MULTIPLES: usize = 1 << (BITS - 1);

/// Odd multiples for the scalars of verification, and bits of their digits; digits of the longest scalar.
const ODD: usize = 8;
const ODD_BITS: u32 = 5;
const MOST_DIGITS: usize = 385;

/// A scalar in signed digits: k + Σ 2^(bits − 1)·2^(bits·i) over all windows i but the highest. Of a window's bits, less 2^(bits − 1), comes the
/// digit; the highest window's bits are its digit.
struct Digits<W, const BITS: usize> {
    biased: W,
    above: u64,
}

impl<W: Words, const BITS: usize> Digits<W, BITS> {
    const WINDOWS: usize = comb::windows(W::COUNT, BITS);

    /// A word of the sum that is added.
    const fn bias(word: usize) -> u64 {
        let (mut bias, mut window) = (0, 0);
        while window < Self::WINDOWS - 1 {
            let bit = BITS * window + BITS - 1;
            if bit / 64 == word {
                bias |= 1 << (bit % 64);
            }
            window += 1;
        }
        bias
    }

    /// For up to six words.
    const BIAS: [u64; 6] = [Self::bias(0), Self::bias(1), Self::bias(2), Self::bias(3), Self::bias(4), Self::bias(5)];

    #[inline(always)]
    fn of(scalar: &W) -> Self {
        let (mut biased, mut carry) = (W::ZERO, false);
        for n in 0..W::COUNT {
            (biased[n], carry) = scalar[n].carrying_add(Self::BIAS[n], carry);
        }
        Self { biased, above: u64::from(carry) }
    }

    /// The digit of a window: its absolute value, and all ones if it is negative.
    #[inline(always)]
    fn at(&self, window: usize) -> (u64, u64) {
        let bits = bits_of_window::<W, BITS>(&self.biased, self.above, window);
        let digit = bits.wrapping_sub(if window == Self::WINDOWS - 1 { 0 } else { 1 << (BITS - 1) });
        let negative = barrier::mask_u64(digit >> 63);
        ((digit ^ negative).wrapping_sub(negative), negative)
    }
}

/// The bits of a window of a number that has the word `above` behind its others.
#[inline(always)]
fn bits_of_window<W: Words, const BITS: usize>(words: &W, above: u64, window: usize) -> u64 {
    let bit = BITS * window;
    let (word, shift) = (bit / 64, bit % 64);
    let word_at = |at| if at < W::COUNT { words[at] } else { above };
    let mut bits = word_at(word) >> shift;
    if shift > 64 - BITS && word < W::COUNT {
        bits |= word_at(word + 1) << (64 - shift);
    }
    bits & ((1 << BITS) - 1)
}

/// An odd scalar in odd digits, from −127 to 127: with w the bits of a window of (k − 1)/2, the digit is 2w − 127, and in the highest window 2w + 1.
struct OddDigits<W> {
    half: W,
}

impl<W: Words> OddDigits<W> {
    const WINDOWS: usize = comb::windows(W::COUNT, comb::BITS);

    /// Those of k if it is odd, else of n − k; all ones if it is even.
    #[inline(always)]
    fn of<M: Modulus<W = W>, A: Arithmetic>(order: Ring<M, A>, scalar: &W) -> (Self, u64) {
        let even = is_zero_word(scalar[0] & 1);
        let odd = order.chosen(scalar, &minus(&M::P, scalar), even);
        (Self { half: shifted_down(odd, 1) }, even)
    }

    /// The digit of a window: which of the entries it is, from 0, and all ones if it is negative.
    #[inline(always)]
    fn at(&self, window: usize) -> (u64, u64) {
        const PLACES: u64 = comb::ENTRIES as u64 - 1;
        let bits = bits_of_window::<W, { comb::BITS }>(&self.half, 0, window);
        if window == Self::WINDOWS - 1 {
            return (bits, 0);
        }
        // Below 64 it is −(127 − 2w), whose place is 63 − w.
        let negative = barrier::mask_u64(bits >> (comb::BITS - 1) ^ 1);
        ((bits ^ negative) & PLACES, negative)
    }
}

impl<C: Curve, A: Arithmetic> Group<C, A> {
    /// k·G for k below n.
    #[inline(always)]
    pub(crate) fn base(self, scalar: &C::W) -> Point<C::W> {
        let (digits, even) = OddDigits::of(self.order, scalar);
        let mut sum = self.field.0.apart(|| self.base_by(&digits));
        sum.y = self.field.negative_if(&sum.y, even);
        sum
    }

    /// Σ dG over the digits. No digit is zero, and from the lowest window up the sum is smaller than any entry of the next window: so it is not that
    /// entry, but modulo n in the last window, and infinity at the end alone.
    #[inline(always)]
    fn base_by(self, digits: &OddDigits<C::W>) -> Point<C::W> {
        let last = OddDigits::<C::W>::WINDOWS - 1;
        let search = |window: usize| {
            let entries = &C::comb()[comb::ENTRIES * window..comb::ENTRIES * (window + 1)];
            self.field.0.search(entries, digits.at(window).0)
        };
        let entry = |window: usize, [x, y]: [C::W; 2]| Affine { x, y: self.field.negative_if(&y, digits.at(window).1) };
        let mut sum = self.with_z(&entry(0, search(0).found()));
        let mut found = search(1).found();
        for window in 1..last {
            let mut next = search(window + 1);
            self.add(&mut sum, &entry(window, found), || next.step());
            found = next.found();
        }
        self.add_complete(&mut sum, &entry(last, found));
        sum
    }

    /// k·P for k below n.
    #[inline(always)]
    pub(crate) fn times(self, scalar: &C::W, point: &Affine<C::W>) -> Point<C::W> {
        let f = self.field;
        let (multiples, z) = self.multiples(point);
        let parts = divided::<C>(scalar).map(|part| (Digits::<C::W, BITS>::of(&part.magnitude), part.negative));
        let windows = endomorphism::bits::<C>() / BITS + 1;
        let mut sum = Point::INFINITY;
        for window in (0..windows).rev() {
            if window != windows - 1 {
                self.double_times(&mut sum, BITS);
            }
            for (at, (digits, negative)) in parts[..endomorphism::parts::<C>()].iter().enumerate() {
                let (magnitude, opposite) = digits.at(window);
                let [x, y] = f.0.selected(&multiples, magnitude);
                let entry = Affine { x: in_part::<C, A>(f, x, at), y: f.negative_if(&y, negative ^ opposite) };
                let skip = is_zero_word(magnitude);
                // Without an endomorphism, what is added is below 32 in absolute value, and the sum is zero or at least 32, and below n/16 before
                // the last window. Only there can the two be the same point. With one they never are.
                if window == 0 && C::ENDOMORPHISM.is_none() {
                    self.add_complete_unless(&mut sum, &entry, skip);
                } else {
                    self.add_unless(&mut sum, &entry, skip);
                }
            }
        }
        sum.z = f.product(&sum.z, &z);
        sum
    }

    /// P to 16P, each as (x·z², y·z³), and z.
    #[inline(never)]
    fn multiples(self, point: &Affine<C::W>) -> ([[C::W; 2]; MULTIPLES], C::W) {
        let (first, twice, z) = self.with_double(point);
        let Progression { points: others, step: first, z } = self.progression::<{ MULTIPLES - 1 }>(&twice, &first, &z);
        let mut multiples = [[first.x, first.y]; MULTIPLES];
        for (to, Affine { x, y }) in multiples[1..].iter_mut().zip(others) {
            *to = [x, y];
        }
        (multiples, z)
    }

    /// P and 2P, each as (x·z², y·z³), and z.
    #[inline(always)]
    fn with_double(self, point: &Affine<C::W>) -> (Affine<C::W>, Affine<C::W>, C::W) {
        let Point { x, y, z } = self.double(&self.with_z(point));
        (self.scaled(point, &z), Affine { x, y }, z)
    }

    /// s·G + t·P for s and t below n. For public numbers and points.
    #[inline(always)]
    pub(crate) fn base_plus_times_vartime(self, s: &C::W, t: &C::W, point: &Affine<C::W>) -> Point<C::W> {
        let mut sum = self.times_vartime(t, point);
        let (digits, even) = OddDigits::of(self.order, s);
        for (window, entries) in C::comb().chunks_exact(comb::ENTRIES).enumerate() {
            let (at, negative) = digits.at(window);
            let [x, y] = entries[at as usize].0;
            self.add_vartime(&mut sum, &Affine { x, y: self.field.negative_if(&y, negative ^ even) });
        }
        sum
    }

    /// k·P for k below n. For public numbers and points.
    #[inline(always)]
    pub(crate) fn times_vartime(self, scalar: &C::W, point: &Affine<C::W>) -> Point<C::W> {
        let f = self.field;
        let (first, twice, z) = self.with_double(point);
        let Progression { points: odd, z, .. } = self.progression::<ODD>(&first, &twice, &z);
        let parts = divided::<C>(scalar);
        let mut digits = [[0_i8; MOST_DIGITS]; 2];
        let mut used = 0;
        for (part, digits) in parts.iter().zip(&mut digits) {
            used = used.max(non_adjacent_vartime(part.magnitude, digits));
        }
        let mut sum = Point::INFINITY;
        let mut doubles = 0;
        for place in (0..used).rev() {
            doubles += 1;
            for (at, digits) in digits.iter().enumerate() {
                let digit = digits[place];
                if digit != 0 {
                    self.double_times(&mut sum, doubles);
                    doubles = 0;
                    let Affine { x, y } = odd[usize::from(digit.unsigned_abs() / 2)];
                    let negative = u64::from(digit < 0).wrapping_neg() ^ parts[at].negative;
                    self.add_vartime(
                        &mut sum,
                        &Affine { x: in_part::<C, A>(f, x, at), y: f.negative_if(&y, negative) },
                    );
                }
            }
        }
        self.double_times(&mut sum, doubles);
        sum.z = f.product(&sum.z, &z);
        sum
    }
}

/// x of a point's λ-multiple in the second part of a scalar.
#[inline(always)]
fn in_part<C: Curve, A: Arithmetic>(field: Ring<C::Field, A>, x: C::W, part: usize) -> C::W {
    match &C::ENDOMORPHISM {
        Some(endomorphism) if part == 1 => field.product(&x, &endomorphism.beta),
        _ => x,
    }
}

/// Digits that are zero or odd and below 16 in absolute value, of which any five in a row have at most one that is not zero. How many there are.
fn non_adjacent_vartime<W: Words>(mut scalar: W, digits: &mut [i8; MOST_DIGITS]) -> usize {
    let (mut at, mut used) = (0, 0);
    while scalar != W::ZERO {
        let skip = scalar[0].trailing_zeros().min(63);
        if skip > 0 {
            scalar = shifted_down(scalar, skip);
            at += skip as usize;
            continue;
        }
        let low = (scalar[0] & ((1 << ODD_BITS) - 1)) as i8;
        let digit = if low >= 1 << (ODD_BITS - 1) { low - (1 << ODD_BITS) } else { low };
        digits[at] = digit;
        used = at + 1;
        // Less the digit. The scalar is below n, which is below R − 16.
        let mut carry = false;
        let negative = i64::from(digit).wrapping_neg();
        for n in 0..W::COUNT {
            let addend = if n == 0 { negative } else { negative >> 63 };
            (scalar[n], carry) = scalar[n].carrying_add(addend.cast_unsigned(), carry);
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::super::modulus::Modulus;
    use super::super::p256::P256;
    use super::super::p384::P384;
    use super::super::portable::Portable;
    use super::super::secp256k1::Secp256k1;
    use super::super::sm2::Sm2Curve;
    use super::super::words::{minus, small};
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Runs a function for each curve.
    macro_rules! of_each_curve {
        ($function:ident($($argument:expr),*)) => {{
            $function::<Sm2Curve>($($argument),*);
            $function::<P256>($($argument),*);
            $function::<P384>($($argument),*);
            $function::<Secp256k1>($($argument),*);
        }};
    }

    fn group<C: Curve>() -> Group<C, Portable> {
        Group::new(Portable)
    }

    /// n less a small number.
    fn below_n<C: Curve>(less: u64) -> C::W {
        minus(&C::Order::P, &small(less))
    }

    /// The table, from the generator.
    fn derived<C: Curve>() -> Vec<u8> {
        let group = group::<C>();
        let mut power = group.generator();
        let mut bytes = Vec::new();
        for _ in 0..comb::windows(C::W::COUNT, comb::BITS) {
            let twice = group.affine(&group.double(&group.with_z(&power)));
            let mut multiple = group.with_z(&power);
            for _ in 0..comb::ENTRIES {
                let Affine { x, y } = group.affine(&multiple);
                bytes.extend(
                    [x, y].iter().flat_map(|number| number.as_ref().iter().flat_map(|word| word.to_le_bytes())),
                );
                multiple = group.plus_affine_vartime(&multiple, &twice);
            }
            // 129 times the power, less the power.
            let opposite = Affine { y: group.field.negative(&power.y), ..power };
            power = group.affine(&group.plus_affine_vartime(&multiple, &opposite));
        }
        bytes
    }

    fn the_generator_has_order_n<C: Curve>() {
        let group = group::<C>();
        let generator = group.generator();
        assert!(group.is_on_curve(&generator));
        let last = group.affine(&bit_by_bit::<C>(&below_n::<C>(1), &generator));
        assert_eq!((last.x, last.y), (generator.x, group.field.negative(&generator.y)));
    }

    #[test]
    fn the_generators_are_on_their_curves_and_have_order_n() {
        of_each_curve!(the_generator_has_order_n());
    }

    #[test]
    fn the_tables_hold_the_multiples_of_the_generators() {
        assert!(derived::<Sm2Curve>() == include_bytes!("sm2.bin"));
        assert!(derived::<P256>() == include_bytes!("p256.bin"));
        assert!(derived::<P384>() == include_bytes!("p384.bin"));
        assert!(derived::<Secp256k1>() == include_bytes!("secp256k1.bin"));
    }

    #[test]
    #[ignore = "writes src/curve/*.bin"]
    fn write_the_tables() {
        let write = |name: &str, bytes: Vec<u8>| {
            std::fs::write(std::format!("{}/src/curve/{name}.bin", env!("CARGO_MANIFEST_DIR")), bytes).unwrap();
        };
        write("sm2", derived::<Sm2Curve>());
        write("p256", derived::<P256>());
        write("p384", derived::<P384>());
        write("secp256k1", derived::<Secp256k1>());
    }

    /// k·P by double and add, with branches for all exceptions.
    fn bit_by_bit<C: Curve>(scalar: &C::W, point: &Affine<C::W>) -> Point<C::W> {
        let group = group::<C>();
        (0..64 * C::W::COUNT).rev().fold(Point::INFINITY, |sum, bit| {
            let sum = group.double(&sum);
            if scalar[bit / 64] >> (bit % 64) & 1 == 1 { group.plus_affine_vartime(&sum, point) } else { sum }
        })
    }

    fn coordinates<C: Curve>(point: &Point<C::W>) -> [C::W; 2] {
        let Affine { x, y } = group::<C>().affine(point);
        [x, y]
    }

    /// 2^64·8 + 7, and so on.
    fn some<C: Curve>() -> C::W {
        let mut words = C::W::ZERO;
        words.as_mut().iter_mut().zip(5..).for_each(|(word, number)| *word = number);
        words
    }

    /// On safe Rust and, where the CPU has it, on ADX.
    fn check<C: Curve>(scalar: &C::W) {
        let group = group::<C>();
        let mut other = small::<C::W>(77);
        other[C::W::COUNT - 1] = 1;
        let point = group.affine(&bit_by_bit::<C>(&other, &group.generator()));
        let (of_base, of_point) = (bit_by_bit::<C>(scalar, &group.generator()), bit_by_bit::<C>(scalar, &point));
        let both = group.plus_affine_vartime(&of_base, &group.affine(&bit_by_bit::<C>(&some::<C>(), &point)));
        let expected = [of_base, of_point, both].map(|point| coordinates::<C>(&point));
        check_on::<C, _>(Portable, scalar, &point, &expected);
        #[cfg(target_arch = "x86_64")]
        if let Some(adx) = super::super::adx::Adx::check(candor_cpu::Cpu::host()) {
            check_on::<C, _>(adx, scalar, &point, &expected);
        }
    }

    fn check_on<C: Curve, A: Arithmetic>(
        arm: A,
        scalar: &C::W,
        point: &Affine<C::W>,
        [of_base, of_point, both]: &[[C::W; 2]; 3],
    ) {
        let group = Group::<C, A>::new(arm);
        assert_eq!(coordinates::<C>(&group.base(scalar)), *of_base, "{scalar:x?}");
        assert_eq!(coordinates::<C>(&group.times(scalar, point)), *of_point, "{scalar:x?}");
        assert_eq!(coordinates::<C>(&group.times_vartime(scalar, point)), *of_point, "{scalar:x?}");
        assert_eq!(coordinates::<C>(&group.base_plus_times_vartime(scalar, &some::<C>(), point)), *both, "{scalar:x?}");
    }

    fn check_near_the_ends<C: Curve>() {
        for distance in 0..70 {
            check::<C>(&small(distance));
            check::<C>(&below_n::<C>(distance + 1));
        }
    }

    #[test]
    fn small_scalars_and_those_just_below_n_give_the_multiples_that_doubling_and_adding_gives() {
        of_each_curve!(check_near_the_ends());
    }

    fn check_one_bit<C: Curve>() {
        let last = 64 * C::W::COUNT - 1;
        for bit in (0..last).step_by(7).chain((63..last).step_by(64)).chain((64..last).step_by(64)).chain([last - 1]) {
            let mut scalar = C::W::ZERO;
            scalar[bit / 64] = 1 << (bit % 64);
            check::<C>(&scalar);
            check::<C>(&minus(&scalar, &small(1)));
        }
    }

    #[test]
    fn scalars_with_one_bit_and_their_neighbours_do_so_too() {
        of_each_curve!(check_one_bit());
    }

    fn check_equal_and_opposite<C: Curve>() {
        let group = group::<C>();
        let generator = group.generator();
        // s·G + t·G: equal points, opposite points, and infinity on either side.
        for (s, t, sum) in [
            (small(5), small(5), small(10)),
            (small(5), below_n::<C>(5), C::W::ZERO),
            (C::W::ZERO, C::W::ZERO, C::W::ZERO),
            (C::W::ZERO, small(9), small(9)),
            (small(9), C::W::ZERO, small(9)),
            (below_n::<C>(64), below_n::<C>(64), below_n::<C>(128)),
        ] {
            let found = group.base_plus_times_vartime(&s, &t, &generator);
            assert_eq!(coordinates::<C>(&found), coordinates::<C>(&bit_by_bit::<C>(&sum, &generator)), "{s:x?} {t:x?}");
        }
    }

    #[test]
    fn a_sum_of_a_multiple_and_its_own_double_or_its_negative_is_exact() {
        of_each_curve!(check_equal_and_opposite());
    }

    #[test]
    fn scalars_with_a_part_that_is_zero_small_or_negative_do_so_too() {
        // λ; `endomorphism.rs` derives it.
        let lambda = [0xdf02967c1b23bd72, 0x122e22ea20816678, 0xa5261c028812645a, 0x5363ad4cc05c30e0];
        let order = group::<Secp256k1>().order;
        let times_lambda = |number| order.product(&order.enter(&small(number)), &lambda);
        // Digits are at most 16, and a window is worth 32.
        for (first, second) in
            [0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 512].iter().flat_map(|a| [0, 1, 16, 17, 32, 33].map(|b| (*a, b)))
        {
            let (first, second) = (small(first), times_lambda(second));
            let (sum, difference) = (order.sum(&first, &second), order.difference(&first, &second));
            for scalar in [sum, difference, order.negative(&sum), order.negative(&difference)] {
                check::<Secp256k1>(&scalar);
            }
        }
    }

    /// 15·2^253 − n for 256 bits, 63·2^379 − n for 384: of the generator's multiples the one whose last sum is of a point and itself.
    fn check_the_one<C: Curve>() {
        let mut multiple = C::W::ZERO;
        // The highest bit is lost, and so is that of 2^(64·COUNT), from which n is taken.
        let (word, shift) = if C::W::COUNT == 4 { (3, 61) } else { (5, 59) };
        multiple[word] = if C::W::COUNT == 4 { 15 << shift } else { 63 << shift };
        let scalar = minus(&multiple, &C::Order::P);
        check::<C>(&scalar);
        check::<C>(&minus(&C::Order::P, &scalar));
        let (digits, _) = OddDigits::of(group::<C>().order, &scalar);
        let place = if C::W::COUNT == 4 { 7 } else { 31 };
        assert_eq!(digits.at(OddDigits::<C::W>::WINDOWS - 1).0, place);
    }

    #[test]
    fn the_one_scalar_whose_last_sum_is_a_double_gives_what_doubling_and_adding_gives() {
        of_each_curve!(check_the_one());
    }

    fn check_any<C: Curve>(scalar: &[u64; 6]) {
        let mut words = C::W::ZERO;
        words.as_mut().copy_from_slice(&scalar[..C::W::COUNT]);
        check::<C>(&group::<C>().order.reduced(&words));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn so_do_any_scalars(scalar in any::<[u64; 6]>()) {
            of_each_curve!(check_any(&scalar));
        }
    }
}
