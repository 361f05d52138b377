//! Products of polynomials over GF(2¹²) and GF(2¹³), each way that document and literature have it, to be compared: nothing of the KEM is
//! computed with them. Elements are `u16`, polynomials are their coefficients from the lowest.

use super::field;

/// Most coefficients of a factor.
pub(crate) const MOST: usize = 128;
/// Up to so many coefficients Karatsuba's scheme multiplies term by term.
pub(crate) const BASE: usize = 16;

/// Carry-less products of an element with two others, and reduction of several products at once.
pub(crate) trait Pairs: Copy {
    /// a times the element in the lower half of `two`, and times that in the upper: products of up to 25 bits in the same halves.
    fn two(self, a: u16, two: u64) -> u64;
    /// Both halves modulo the field's polynomial, by the new reduction.
    fn reduce_two<const M: usize>(self, products: u64) -> u64;
    /// Four products in one vector.
    fn reduce_four<const M: usize>(self, products: [u64; 2]) -> [u64; 2];
}

/// Without such instructions.
#[derive(Clone, Copy)]
pub(crate) struct Words;

impl Pairs for Words {
    #[inline(always)]
    fn two(self, a: u16, two: u64) -> u64 {
        let mut sum = 0;
        for bit in 0..13 {
            sum ^= (two << bit) & 0u64.wrapping_sub(u64::from(a >> bit & 1));
        }
        sum
    }

    #[inline(always)]
    fn reduce_two<const M: usize>(self, products: u64) -> u64 {
        let low = u64::from(field::reduce::<M>(products as u32));
        low | u64::from(field::reduce::<M>((products >> 32) as u32)) << 32
    }

    #[inline(always)]
    fn reduce_four<const M: usize>(self, products: [u64; 2]) -> [u64; 2] {
        products.map(|two| self.reduce_two::<M>(two))
    }
}

/// How two elements are multiplied.
pub(crate) trait Elements: Copy {
    /// Adds the product of a and b, of equal length up to [`MOST`], to `product`.
    fn schoolbook<const M: usize>(self, a: &[u16], b: &[u16], product: &mut [u16]);
}

/// One by one, reduced by folding in two passes as Bernstein's code does: bits from m + 4 or 3 on, then those that came down.
#[derive(Clone, Copy)]
pub(crate) struct Folded;

/// One by one, reduced in one pass.
#[derive(Clone, Copy)]
pub(crate) struct OnePass;

/// Two at a time.
#[derive(Clone, Copy)]
pub(crate) struct Two<P>(pub(crate) P);

/// Four at a time.
#[derive(Clone, Copy)]
pub(crate) struct Four<P>(pub(crate) P);

/// Two at a time, reduced when all products of a coefficient are added up.
#[derive(Clone, Copy)]
pub(crate) struct Lazy<P>(pub(crate) P);

/// a · b by shifting and adding, reduced by folding twice. A call for each product, as in the C code, where it stands in a file of its own.
#[inline(never)]
fn folded<const M: usize>(a: u16, b: u16) -> u16 {
    let mut product = field::product(a, b);
    let folds: [u32; 2] = if M == 12 { [0x7fc000, 0x3000] } else { [0x1ff0000, 0xe000] };
    for fold in folds {
        let high = product & fold;
        product ^= if M == 12 { high >> 9 ^ high >> 12 } else { high >> 9 ^ high >> 10 ^ high >> 12 ^ high >> 13 };
    }
    product as u16 & field::mask::<M>()
}

/// a · b by shifting and adding, reduced in one pass; a call as well.
#[inline(never)]
fn one_pass<const M: usize>(a: u16, b: u16) -> u16 {
    field::times::<M>(a, b)
}

impl Elements for Folded {
    #[inline(always)]
    fn schoolbook<const M: usize>(self, a: &[u16], b: &[u16], product: &mut [u16]) {
        for (i, a) in a.iter().enumerate() {
            for (sum, b) in product[i..].iter_mut().zip(b) {
                *sum ^= folded::<M>(*a, *b);
            }
        }
    }
}

impl Elements for OnePass {
    #[inline(always)]
    fn schoolbook<const M: usize>(self, a: &[u16], b: &[u16], product: &mut [u16]) {
        for (i, a) in a.iter().enumerate() {
            for (sum, b) in product[i..].iter_mut().zip(b) {
                *sum ^= one_pass::<M>(*a, *b);
            }
        }
    }
}

/// The coefficients two to a word, in halves of 32 bits.
#[inline(always)]
fn halves(b: &[u16]) -> [u64; MOST / 2] {
    let mut all = [0; MOST / 2];
    for (word, pair) in all.iter_mut().zip(b.chunks(2)) {
        *word = u64::from(pair[0]) | pair.get(1).map_or(0, |b| u64::from(*b) << 32);
    }
    all
}

/// Adds both halves to a pair of coefficients.
#[inline(always)]
fn add_two(sums: &mut [u16], two: u64) {
    sums[0] ^= two as u16;
    // The last product of an odd number is zero, and has no place.
    if let Some(sum) = sums.get_mut(1) {
        *sum ^= (two >> 32) as u16;
    }
}

impl<P: Pairs> Elements for Two<P> {
    #[inline(always)]
    fn schoolbook<const M: usize>(self, a: &[u16], b: &[u16], product: &mut [u16]) {
        let twos = &halves(b)[..b.len().div_ceil(2)];
        for (i, a) in a.iter().enumerate() {
            for (sums, two) in product[i..].chunks_mut(2).zip(twos) {
                add_two(sums, self.0.reduce_two::<M>(self.0.two(*a, *two)));
            }
        }
    }
}

impl<P: Pairs> Elements for Four<P> {
    #[inline(always)]
    fn schoolbook<const M: usize>(self, a: &[u16], b: &[u16], product: &mut [u16]) {
        let twos = halves(b);
        let fours = &twos.as_chunks::<2>().0[..b.len().div_ceil(4)];
        for (i, a) in a.iter().enumerate() {
            for (sums, [low, high]) in product[i..].chunks_mut(4).zip(fours) {
                let [low, high] = self.0.reduce_four::<M>([self.0.two(*a, *low), self.0.two(*a, *high)]);
                add_two(sums, low);
                if sums.len() > 2 {
                    add_two(&mut sums[2..], high);
                }
            }
        }
    }
}

impl<P: Pairs> Elements for Lazy<P> {
    #[inline(always)]
    fn schoolbook<const M: usize>(self, a: &[u16], b: &[u16], product: &mut [u16]) {
        let twos = &halves(b)[..b.len().div_ceil(2)];
        // Sums that begin at even coefficients, and at odd ones.
        let mut sums = [[0u64; MOST + 1]; 2];
        for (i, a) in a.iter().enumerate() {
            for (sum, two) in sums[i % 2][i / 2..].iter_mut().zip(twos) {
                *sum ^= self.0.two(*a, *two);
            }
        }
        for (first, sums) in sums.iter().enumerate() {
            for (places, sum) in product[first..].chunks_mut(2).zip(sums) {
                add_two(places, self.0.reduce_two::<M>(*sum));
            }
        }
    }
}

/// a · b term by term. `product` has twice as many coefficients as each of them, less one.
#[inline(always)]
pub(crate) fn schoolbook<E: Elements, const M: usize>(elements: E, a: &[u16], b: &[u16], product: &mut [u16]) {
    product.fill(0);
    elements.schoolbook::<M>(a, b, product);
}

/// a · b by Karatsuba's scheme, down to [`BASE`] coefficients, which `base` multiplies. Halves need not be equal.
pub(crate) fn karatsuba(a: &[u16], b: &[u16], product: &mut [u16], base: &impl Fn(&[u16], &[u16], &mut [u16])) {
    let half = a.len().div_ceil(2);
    if a.len() <= BASE {
        return base(a, b, product);
    }
    let (mut a_both, mut b_both, mut middle) = ([0; MOST / 2], [0; MOST / 2], [0; MOST]);
    for (both, factor) in [(&mut a_both, a), (&mut b_both, b)] {
        both[..half].copy_from_slice(&factor[..half]);
        both.iter_mut().zip(&factor[half..]).for_each(|(sum, high)| *sum ^= high);
    }
    let middle = &mut middle[..2 * half - 1];
    karatsuba(&a_both[..half], &b_both[..half], middle, base);
    let (low, high) = product.split_at_mut(2 * half);
    karatsuba(&a[..half], &b[..half], &mut low[..2 * half - 1], base);
    low[2 * half - 1] = 0;
    karatsuba(&a[half..], &b[half..], high, base);
    middle.iter_mut().zip(&*low).for_each(|(sum, low)| *sum ^= low);
    middle.iter_mut().zip(&*high).for_each(|(sum, high)| *sum ^= high);
    product[half..].iter_mut().zip(&*middle).for_each(|(sum, middle)| *sum ^= middle);
}

/// Two coefficients to a word, in halves of 32 bits, where no product of polynomials carries from one to the next.
#[inline(always)]
pub(crate) fn pack(coefficients: &[u16], words: &mut [u64]) {
    let (pairs, rest) = coefficients.as_chunks::<2>();
    for (word, pair) in words.iter_mut().zip(pairs) {
        *word = u64::from(pair[0]) | u64::from(pair[1]) << 32;
    }
    if let [last] = rest {
        words[pairs.len()] = u64::from(*last);
    }
}

/// The coefficients in the halves of words, reduced.
#[inline(always)]
pub(crate) fn unpack<const M: usize>(words: &[u64], coefficients: &mut [u16]) {
    let (pairs, rest) = coefficients.as_chunks_mut::<2>();
    for (pair, word) in pairs.iter_mut().zip(words) {
        *pair = [field::reduce::<M>(*word as u32), field::reduce::<M>((*word >> 32) as u32)];
    }
    if let [last] = rest {
        *last = field::reduce::<M>(words[pairs.len()] as u32);
    }
}
