//! Sorting networks: Batcher's bitonic sort (AFIPS 1968), whose comparisons depend on the length alone.

/// A number that two places of a network hold.
pub(crate) trait Number: Copy {
    /// The lesser and the greater of two numbers.
    fn ordered(self, other: Self) -> (Self, Self);
}

impl Number for u32 {
    /// Both are less than 2³¹.
    #[inline(always)]
    fn ordered(self, other: Self) -> (Self, Self) {
        let less = (other.wrapping_sub(self).cast_signed() >> 31).cast_unsigned();
        let change = (self ^ other) & less;
        (self ^ change, other ^ change)
    }
}

impl Number for u64 {
    /// Both are less than 2⁶³.
    #[inline(always)]
    fn ordered(self, other: Self) -> (Self, Self) {
        let less = (other.wrapping_sub(self).cast_signed() >> 63).cast_unsigned();
        let change = (self ^ other) & less;
        (self ^ change, other ^ change)
    }
}

/// Sorts each block of `block` numbers, a power of two that divides their count, in ascending order.
#[inline(always)]
pub(crate) fn sort_blocks<T: Number>(numbers: &mut [T], block: usize) {
    let mut run = 2;
    while run <= block {
        let mut stride = run / 2;
        while stride > 0 {
            compare_at(numbers, stride, run, block);
            stride /= 2;
        }
        run *= 2;
    }
}

/// Compares each number with that `stride` further on. Runs of `run` numbers become ascending and descending by turns, those of `block` all ascending.
#[inline(always)]
fn compare_at<T: Number>(numbers: &mut [T], stride: usize, run: usize, block: usize) {
    for (at, pair) in numbers.chunks_exact_mut(2 * stride).enumerate() {
        let up = run == block || (2 * stride * at) & run == 0;
        let (near, far) = pair.split_at_mut(stride);
        for (a, b) in near.iter_mut().zip(far) {
            let (least, most) = a.ordered(*b);
            (*a, *b) = if up { (least, most) } else { (most, least) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the zero-one principle (Knuth, TAOCP 3, 5.3.4) a network that sorts all sequences of zeros and ones sorts all sequences.
    #[test]
    fn all_sequences_of_sixteen_bits_are_sorted() {
        for bits in 0..1u32 << 16 {
            let mut numbers: [u32; 16] = core::array::from_fn(|i| bits >> i & 1);
            sort_blocks(&mut numbers, 16);
            assert!(numbers.is_sorted(), "{bits:b}");
            assert_eq!(numbers.iter().sum::<u32>(), bits.count_ones());
        }
    }
}
