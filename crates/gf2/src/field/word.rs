//! What a reducer needs of a machine word. A word that counts can take its place, so the code that runs is the code whose operations are counted.

/// 64 bits of a polynomial, the coefficient of the lowest power in the lowest bit.
pub(crate) trait Word: Copy {
    /// Sum.
    fn xor(self, other: Self) -> Self;
    /// Keeps the bits that are set in `mask`.
    fn and(self, mask: u64) -> Self;
    /// Times x^n, cut off at 64 bits; 0 < n < 64.
    fn shl(self, n: usize) -> Self;
    /// Divided by x^n; 0 < n < 64.
    fn shr(self, n: usize) -> Self;
}

impl Word for u64 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn and(self, mask: u64) -> Self {
        self & mask
    }

    #[inline(always)]
    fn shl(self, n: usize) -> Self {
        self << n
    }

    #[inline(always)]
    fn shr(self, n: usize) -> Self {
        self >> n
    }
}
