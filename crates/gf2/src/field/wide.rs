//! The operations on vectors of 128-bit lanes that a fused multiplication needs, and one lane in safe Rust.
//!
//! A lane is a polynomial of degree below 128; a vector holds one lane of each of [`Wide::N`] elements side by side. Code
//! over [`Wide`] thus multiplies one element on 128-bit registers, two on 256-bit and four on 512-bit ones. On a CPU whose only help is a product
//! of two words, it multiplies one.

use crate::word::WordProduct;

/// Vectors of 128-bit lanes. Making a value takes a [`Proof`](Self::Proof), which is why the operations are safe.
pub(crate) trait Wide: Copy {
    /// The proof that the instructions exist.
    type Proof: Copy;
    /// How many elements lie side by side.
    const N: usize;

    /// Zero in all lanes.
    fn zero(proof: Self::Proof) -> Self;
    /// The same two words in all lanes.
    fn splat(proof: Self::Proof, low: u64, high: u64) -> Self;
    /// Words i and i + 1 of each element.
    fn pair<const W: usize>(proof: Self::Proof, from: &[[u64; W]], i: usize) -> Self;
    /// Word i of each element, and zero above it.
    fn single<const W: usize>(proof: Self::Proof, from: &[[u64; W]], i: usize) -> Self;
    /// Writes words i and i + 1 of each element.
    fn store_pair<const W: usize>(self, to: &mut [[u64; W]], i: usize);
    /// Writes the low word of each lane to word i.
    fn store_single<const W: usize>(self, to: &mut [[u64; W]], i: usize);

    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    /// Both words of each lane times x^n, cut off at 64 bits; n < 64.
    fn shl(self, n: usize) -> Self;
    /// Both words of each lane divided by x^n; n < 64.
    fn shr(self, n: usize) -> Self;
    /// The product of the low words.
    fn mul_low(self, other: Self) -> Self;
    /// The product of the high words.
    fn mul_high(self, other: Self) -> Self;
    /// The square of the low word.
    #[inline(always)]
    fn square_low(self) -> Self {
        self.mul_low(self)
    }
    /// The square of the high word.
    #[inline(always)]
    fn square_high(self) -> Self {
        self.mul_high(self)
    }
    /// In each lane, our low word and then `other`'s.
    fn low_low(self, other: Self) -> Self;
    /// In each lane, our high word and then `other`'s low word.
    fn high_low(self, other: Self) -> Self;
}

/// One lane over a product of single words: the portable arm, and those of CPUs whose carry-less multiplication is scalar.
#[derive(Clone, Copy)]
pub(crate) struct Words<P> {
    low: u64,
    high: u64,
    product: P,
}

impl<P: WordProduct> Words<P> {
    #[inline(always)]
    fn times(self, a: u64, b: u64) -> Self {
        let product = self.product.product(a, b);
        Self { low: product as u64, high: (product >> 64) as u64, product: self.product }
    }

    #[inline(always)]
    fn square(self, a: u64) -> Self {
        let square = self.product.square(a);
        Self { low: square as u64, high: (square >> 64) as u64, product: self.product }
    }
}

impl<P: WordProduct> Wide for Words<P> {
    type Proof = P;
    const N: usize = 1;

    #[inline(always)]
    fn zero(product: P) -> Self {
        Self { low: 0, high: 0, product }
    }

    #[inline(always)]
    fn splat(product: P, low: u64, high: u64) -> Self {
        Self { low, high, product }
    }

    #[inline(always)]
    fn pair<const W: usize>(product: P, from: &[[u64; W]], i: usize) -> Self {
        Self { low: from[0][i], high: from[0][i + 1], product }
    }

    #[inline(always)]
    fn single<const W: usize>(product: P, from: &[[u64; W]], i: usize) -> Self {
        Self { low: from[0][i], high: 0, product }
    }

    #[inline(always)]
    fn store_pair<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        to[0][i] = self.low;
        to[0][i + 1] = self.high;
    }

    #[inline(always)]
    fn store_single<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        to[0][i] = self.low;
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self { low: self.low ^ other.low, high: self.high ^ other.high, ..self }
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self { low: self.low & other.low, high: self.high & other.high, ..self }
    }

    #[inline(always)]
    fn shl(self, n: usize) -> Self {
        Self { low: self.low << n, high: self.high << n, ..self }
    }

    #[inline(always)]
    fn shr(self, n: usize) -> Self {
        Self { low: self.low >> n, high: self.high >> n, ..self }
    }

    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        self.times(self.low, other.low)
    }

    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        self.times(self.high, other.high)
    }

    #[inline(always)]
    fn square_low(self) -> Self {
        self.square(self.low)
    }

    #[inline(always)]
    fn square_high(self) -> Self {
        self.square(self.high)
    }

    #[inline(always)]
    fn low_low(self, other: Self) -> Self {
        Self { high: other.low, ..self }
    }

    #[inline(always)]
    fn high_low(self, other: Self) -> Self {
        Self { low: self.high, high: other.low, ..self }
    }
}
