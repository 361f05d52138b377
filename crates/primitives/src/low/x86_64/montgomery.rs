//! Arithmetic modulo primes of 256 and of 384 bits on general registers, with MULX, ADCX and ADOX, and look-ups with AVX2.
//!
//! All numbers are below the modulus, but for the first factor of a product, which may be any below R. `docs/curves.md` has the bounds.

mod folded;
mod four;
mod six;
mod sums;

use super::division_steps;
use crate::curve::adx::{Adx, OnAdx, Steps};
use crate::curve::portable::Portable;
use crate::curve::{Arithmetic, Entry, Modulus, Search, Words};
use candor_cpu::HaveAvx2;
use core::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_or_si256,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_storeu_si256,
};

impl Steps for Adx {
    #[inline(always)]
    fn steps(self, zeta: &mut i64, f: &mut i64, g: &mut i64) {
        division_steps::twenty(zeta, f, g);
    }
}

impl Arithmetic for Adx {
    #[inline(always)]
    fn product<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W {
        M::W::product::<M>(self, a, b)
    }

    #[inline(always)]
    fn square<M: Modulus>(self, a: &M::W) -> M::W {
        M::W::square::<M>(self, a)
    }

    #[inline(always)]
    fn sum<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W {
        M::W::sum::<M>(self, a, b)
    }

    #[inline(always)]
    fn difference<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W {
        M::W::difference::<M>(self, a, b)
    }

    #[inline(always)]
    fn half<M: Modulus>(self, a: &M::W) -> M::W {
        M::W::half::<M>(self, a)
    }

    #[inline(always)]
    fn chosen<W: Words>(self, one: &W, other: &W, mask: u64) -> W {
        Portable.chosen(one, other, mask)
    }

    #[inline(always)]
    fn selected<W: Words>(self, entries: &[[W; 2]], number: u64) -> [W; 2] {
        // SAFETY: the token proves AVX2.
        unsafe { selected(self.avx2, entries, number) }
    }

    type Search<W: Words> = ByVectors<W>;

    #[inline(always)]
    fn search<W: Words>(self, entries: &'static [Entry<W>], index: u64) -> ByVectors<W> {
        // SAFETY: the token proves AVX2.
        unsafe { search(self.avx2, entries, index) }
    }

    #[inline(always)]
    fn inverse<M: Modulus>(self, a: &M::W) -> M::W {
        M::inverse_on_adx(self, a)
    }

    #[inline(always)]
    fn apart<T>(self, work: impl FnOnce() -> T) -> T {
        #[target_feature(enable = "avx2")]
        #[inline(never)]
        fn with_features<T>(_: HaveAvx2, work: impl FnOnce() -> T) -> T {
            work()
        }
        // SAFETY: the token proves AVX2.
        unsafe { with_features(self.avx2, work) }
    }
}

/// Entries that a step of a search reads: a sum has ten steps, and a window 64 entries.
const STEP: usize = 6;

/// A search on vectors, which are free while words are multiplied.
pub(crate) struct ByVectors<W: 'static> {
    avx2: HaveAvx2,
    entries: core::slice::Iter<'static, Entry<W>>,
    wanted: __m256i,
    index: __m256i,
    /// An entry has two vectors, or three.
    found: [__m256i; 3],
}

#[target_feature(enable = "avx2")]
#[inline]
fn search<W: Words>(avx2: HaveAvx2, entries: &'static [Entry<W>], index: u64) -> ByVectors<W> {
    let zero = _mm256_setzero_si256();
    let wanted = _mm256_set1_epi64x(index.cast_signed());
    ByVectors { avx2, entries: entries.iter(), wanted, index: zero, found: [zero; 3] }
}

impl<W: Words> Search<W> for ByVectors<W> {
    #[inline(always)]
    fn step(&mut self) {
        // SAFETY: the token proves AVX2.
        unsafe { step(self.avx2, self, STEP) }
    }

    #[inline(always)]
    fn found(mut self) -> [W; 2] {
        // SAFETY: the token proves AVX2.
        unsafe {
            step(self.avx2, &mut self, usize::MAX);
            stored(self.avx2, &self.found)
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn step<W: Words>(token: HaveAvx2, search: &mut ByVectors<W>, count: usize) {
    let one = _mm256_set1_epi64x(1);
    for entry in search.entries.by_ref().take(count) {
        add_where(token, &mut search.found, &entry.0, _mm256_cmpeq_epi64(search.wanted, search.index));
        search.index = _mm256_add_epi64(search.index, one);
    }
}

/// Takes an entry over where the mask is all ones.
#[target_feature(enable = "avx2")]
#[inline]
fn add_where<W: Words>(_: HaveAvx2, found: &mut [__m256i; 3], entry: &Pair<W>, mask: __m256i) {
    let from = entry.as_ptr().cast::<__m256i>();
    for (at, found) in found[..2 * size_of::<W>() / 32].iter_mut().enumerate() {
        // SAFETY: so many vectors lie in an entry, at any address.
        let words = unsafe { _mm256_loadu_si256(from.add(at)) };
        *found = _mm256_or_si256(*found, _mm256_and_si256(words, mask));
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn stored<W: Words>(_: HaveAvx2, vectors: &[__m256i; 3]) -> Pair<W> {
    const { assert!(2 * size_of::<W>() <= 3 * 32 && (2 * size_of::<W>()).is_multiple_of(32)) };
    let mut words = [W::ZERO; 2];
    let to = words.as_mut_ptr().cast::<__m256i>();
    for (at, vector) in vectors[..2 * size_of::<W>() / 32].iter().enumerate() {
        // SAFETY: so many vectors lie in the words, at any address.
        unsafe { _mm256_storeu_si256(to.add(at), *vector) };
    }
    words
}

/// A pair of coordinates.
type Pair<W> = [W; 2];

#[target_feature(enable = "avx2")]
#[inline]
fn selected<W: Words>(token: HaveAvx2, entries: &[Pair<W>], number: u64) -> Pair<W> {
    let (number, one) = (_mm256_set1_epi64x(number.cast_signed()), _mm256_set1_epi64x(1));
    let (mut index, mut found) = (one, [_mm256_setzero_si256(); 3]);
    for entry in entries {
        add_where(token, &mut found, entry, _mm256_cmpeq_epi64(number, index));
        index = _mm256_add_epi64(index, one);
    }
    stored(token, &found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Ring;
    use crate::curve::modulus::of_each_modulus;
    use crate::curve::words::{is_below, minus, small};
    use candor_cpu::Cpu;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn check<M: Modulus>(a: &M::W, b: &M::W) {
        let Some(adx) = Adx::check(Cpu::host()) else { return };
        assert_eq!(adx.product::<M>(a, b), Portable.product::<M>(a, b), "{a:x?} {b:x?}");
        assert_eq!(adx.square::<M>(a), Portable.product::<M>(a, a), "{a:x?}");
        assert_eq!(adx.sum::<M>(a, b), Portable.sum::<M>(a, b), "{a:x?} {b:x?}");
        assert_eq!(adx.difference::<M>(a, b), Portable.difference::<M>(a, b), "{a:x?} {b:x?}");
        assert_eq!(adx.half::<M>(a), Portable.half::<M>(a), "{a:x?}");
    }

    fn below<M: Modulus>(a: &M::W) -> M::W {
        if is_below(a, &M::P) { *a } else { minus(a, &M::P) }
    }

    /// Numbers at the edges of words and of the modulus.
    fn edges<M: Modulus>() -> impl Iterator<Item = M::W> {
        let words = [0, 1, u64::MAX, 1 << 63, 0xffffffff, 0xffffffff00000000_u64];
        let count = M::W::COUNT as u32;
        // About two hundred of all.
        let step = if M::W::COUNT == 4 { 7 } else { 251 };
        let all = (0..words.len().pow(count)).step_by(step).map(move |at| {
            let mut number = M::W::ZERO;
            for n in 0..count {
                number[n as usize] = words[at / words.len().pow(n) % words.len()];
            }
            number
        });
        // One word is all ones, or all others are.
        let ones = (0..M::W::COUNT).flat_map(|n| {
            let mut number = M::W::ZERO;
            number[n] = u64::MAX;
            [number, minus(&minus(&M::W::ZERO, &small(1)), &number)]
        });
        let near = (0..4).map(|less| minus(&M::P, &small(less + 1)));
        all.chain(ones).filter(|a| is_below(a, &M::P)).chain(near)
    }

    fn check_edges<M: Modulus>() {
        for a in edges::<M>() {
            for b in edges::<M>() {
                check::<M>(&a, &b);
            }
        }
    }

    #[test]
    fn numbers_at_edges_give_what_safe_rust_gives() {
        of_each_modulus!(check_edges());
    }

    /// Sums around the modulus, and products of which the last subtraction leaves little or leaves all but little.
    fn check_last_subtraction<M: Modulus>() {
        let Some(adx) = Adx::check(Cpu::host()) else { return };
        let ring = Ring::<M, _>::new(Portable);
        assert_eq!(adx.square::<M>(&M::P), M::W::ZERO);
        for a in edges::<M>().filter(|a| *a != M::W::ZERO) {
            let opposite = minus(&M::P, &a);
            let before = minus(&opposite, &small(1));
            assert_eq!(adx.sum::<M>(&a, &opposite), M::W::ZERO, "{a:x?}");
            assert_eq!(adx.sum::<M>(&a, &before), minus(&M::P, &small(1)), "{a:x?}");
            assert_eq!(adx.sum::<M>(&opposite, &minus(&a, &small(1))), minus(&M::P, &small(1)), "{a:x?}");
            assert_eq!(adx.difference::<M>(&a, &a), M::W::ZERO, "{a:x?}");
            assert_eq!(adx.difference::<M>(&before, &opposite), minus(&M::P, &small(1)), "{a:x?}");
            let inverse = ring.inverse(&a);
            for result in [small(1), small(2), minus(&M::P, &small(1)), minus(&M::P, &small(2))] {
                assert_eq!(adx.product::<M>(&a, &ring.product(&inverse, &result)), result, "{a:x?}");
            }
        }
    }

    #[test]
    fn results_just_below_and_just_above_the_modulus_are_exact() {
        of_each_modulus!(check_last_subtraction());
    }

    /// A product whose first factor is any below R is what safe Rust gives, and the product with the same number modulo M.
    fn check_unreduced<M: Modulus>(a: &M::W, b: &M::W) {
        let expected = Portable.product::<M>(&below::<M>(a), b);
        assert_eq!(Portable.product::<M>(a, b), expected, "{a:x?} {b:x?}");
        let Some(adx) = Adx::check(Cpu::host()) else { return };
        assert_eq!(adx.product::<M>(a, b), expected, "{a:x?} {b:x?}");
    }

    fn check_unreduced_edges<M: Modulus>() {
        let mut powers = [M::W::ZERO; 3];
        powers.iter_mut().enumerate().for_each(|(at, power)| power[at] = 1);
        let below_r = powers.into_iter().chain([small(2)]).map(|less| minus(&M::W::ZERO, &less));
        let mut most = M::W::ZERO;
        most.as_mut().fill(u64::MAX);
        let just_above = minus(&M::P, &most);
        for a in below_r.chain([M::P, just_above]) {
            edges::<M>().for_each(|b| check_unreduced::<M>(&a, &b));
        }
    }

    #[test]
    fn factors_from_the_modulus_to_r_give_the_products_of_what_is_left_of_them() {
        of_each_modulus!(check_unreduced_edges());
    }

    fn check_look_ups<W: Words>() {
        let Some(adx) = Adx::check(Cpu::host()) else { return };
        let filled = |word| {
            let mut number = W::ZERO;
            number.as_mut().iter_mut().zip(0..).for_each(|(to, n)| *to = word ^ n);
            number
        };
        let entries: [[W; 2]; 16] = core::array::from_fn(|at| [filled(at as u64), filled(!(at as u64))]);
        for number in 0..=17 {
            let expected = entries.get((number as usize).wrapping_sub(1)).copied().unwrap_or([W::ZERO; 2]);
            assert_eq!(adx.selected(&entries, number), expected);
            assert_eq!(Portable.selected(&entries, number), expected);
        }
    }

    fn check_searches<W: Words>() {
        let filled = |word: u64| {
            let mut number = W::ZERO;
            number.as_mut().iter_mut().zip(0..).for_each(|(to, n)| *to = word << 3 ^ n);
            number
        };
        let entries: Vec<Entry<W>> = (0..64).map(|at| Entry([filled(at), filled(!at)])).collect();
        let entries = &*entries.leak();
        for (index, entry) in entries.iter().enumerate() {
            assert_eq!(Portable.search(entries, index as u64).found(), entry.0);
            let Some(adx) = Adx::check(Cpu::host()) else { continue };
            for steps in [0, 1, 9, 10, 11, 20] {
                let mut search = adx.search(entries, index as u64);
                (0..steps).for_each(|_| search.step());
                assert_eq!(search.found(), entry.0, "{index} after {steps}");
            }
        }
    }

    #[test]
    fn a_search_finds_each_entry_whenever_its_steps_are_done() {
        check_searches::<[u64; 4]>();
        check_searches::<[u64; 6]>();
    }

    #[test]
    fn a_look_up_finds_each_entry_and_zeros_for_none() {
        check_look_ups::<[u64; 4]>();
        check_look_ups::<[u64; 6]>();
    }

    fn first_words<W: Words>(words: &[u64; 6]) -> W {
        let mut number = W::ZERO;
        number.as_mut().copy_from_slice(&words[..W::COUNT]);
        number
    }

    fn check_any<M: Modulus>(a: &[u64; 6], b: &[u64; 6]) {
        let [a, b] = [a, b].map(first_words::<M::W>);
        check::<M>(&below::<M>(&a), &below::<M>(&b));
        // Of random numbers one in 2^32 is above the modulus: one near R is.
        let mut near = a;
        near.as_mut()[2..].fill(u64::MAX);
        for a in [a, near] {
            check_unreduced::<M>(&a, &below::<M>(&b));
        }
    }

    proptest! {
        #[test]
        fn any_numbers_give_what_safe_rust_gives(a in any::<[u64; 6]>(), b in any::<[u64; 6]>()) {
            of_each_modulus!(check_any(&a, &b));
        }
    }
}
