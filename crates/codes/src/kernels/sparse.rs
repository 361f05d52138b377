//! A sparse polynomial times a dense one modulo xⁿ − 1 by rotations, to be measured beside the product of two dense ones, which the KEM has.

use candor_cpu::barrier;

/// Words that [`product`] reads of a polynomial that stands there twice.
pub(crate) const fn room(n: usize) -> usize {
    let words = n.div_ceil(64);
    words + 2 * longest_step(n)
}

/// The highest power of two among the words of a rotation.
const fn longest_step(n: usize) -> usize {
    1 << (n / 64).ilog2()
}

/// Adds `dense` times x^p for each of the positions p below n to `sum`, up to its bits from n on, which mean nothing. Bit i of `twice` is coefficient
/// i mod n of the polynomial, for i < 2n; it and the two rooms have [`room`] words.
///
/// A rotation by p is what begins n − p bits further on. That distance is secret: for each power of two of words in it, all words are read at
/// both places, and a mask chooses. The bits that are left are shifts of all words by the same number; what is shifted passes through `word`, which gives
/// it back: an arm that hides it from the optimiser there shifts one word at a time.
#[inline(always)]
pub(crate) fn product<'a>(
    word: impl Fn(u64) -> u64,
    n: usize,
    twice: &[u64],
    positions: &[u32],
    mut here: &'a mut [u64],
    mut there: &'a mut [u64],
    sum: &mut [u64],
) {
    let words = sum.len();
    for position in positions {
        let distance = n - *position as usize;
        let mut step = longest_step(n);
        select(twice, step, distance, &mut here[..words + step]);
        while step > 1 {
            step /= 2;
            select(here, step, distance, &mut there[..words + step]);
            (here, there) = (there, here);
        }
        let bits = distance % 64;
        for ((sum, low), high) in sum.iter_mut().zip(&*here).zip(&here[1..]) {
            *sum ^= word(*low) >> bits | word(*high) << 1 << (63 - bits);
        }
    }
}

/// [`product`], many words at a time: portable code shifts one word at a time.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn product_of_many(
    n: usize,
    twice: &[u64],
    positions: &[u32],
    here: &mut [u64],
    there: &mut [u64],
    sum: &mut [u64],
) {
    product(|word| word, n, twice, positions, here, there, sum);
}

/// The words of `from`, from the beginning on or `step` words further on, as the distance in bits has it.
#[inline(always)]
fn select(from: &[u64], step: usize, distance: usize, to: &mut [u64]) {
    let further = barrier::opaque_u64(0u64.wrapping_sub(u64::from((distance / 64) & step != 0)));
    for ((to, near), far) in to.iter_mut().zip(from).zip(&from[step..]) {
        *to = near ^ ((near ^ far) & further);
    }
}
