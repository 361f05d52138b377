//! Vectors of bits on the heap, and arrays, that wipe themselves.

use alloc::boxed::Box;
use alloc::vec;
use candor_cpu::barrier;
use core::ops::{Deref, DerefMut};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{DefaultIsZeroes, optimization_barrier};

/// Words, lowest first, with bit i of word j as coefficient 64j + i. They are wiped on drop, a vector register at a time.
#[derive(Clone)]
pub(crate) struct Words(Box<[u64]>);

impl Words {
    /// Zeros.
    pub(crate) fn zero(count: usize) -> Self {
        Self(vec![0; count].into())
    }

    /// The bytes as words, lowest first; what is missing at the end is zero.
    pub(crate) fn from_bytes(bytes: &[u8], count: usize) -> Self {
        let mut words = Self::zero(count);
        let (whole, rest) = bytes.as_chunks::<8>();
        for (word, bytes) in words.iter_mut().zip(whole) {
            *word = u64::from_le_bytes(*bytes);
        }
        for (i, byte) in rest.iter().enumerate() {
            words[whole.len()] |= u64::from(*byte) << (8 * i);
        }
        words
    }
}

/// An array that is wiped on drop, a vector register at a time: `Zeroizing` stores element by element.
pub(crate) struct Wiped<T: DefaultIsZeroes, const N: usize>([T; N]);

impl<T: DefaultIsZeroes, const N: usize> Wiped<T, N> {
    /// Zeros.
    #[inline(always)]
    pub(crate) fn zero() -> Self {
        Self([T::default(); N])
    }
}

impl<T: DefaultIsZeroes, const N: usize> Deref for Wiped<T, N> {
    type Target = [T; N];
    #[inline(always)]
    fn deref(&self) -> &[T; N] {
        &self.0
    }
}

impl<T: DefaultIsZeroes, const N: usize> DerefMut for Wiped<T, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; N] {
        &mut self.0
    }
}

impl<T: DefaultIsZeroes, const N: usize> Drop for Wiped<T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.fill(T::default());
        optimization_barrier(&self.0);
    }
}

/// Whether both are the same, in a time that depends on their length alone, many bytes at a time (`subtle` goes byte by byte).
///
/// # Panics
/// If one is longer.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> Choice {
    assert!(a.len() == b.len(), "expected two slices of the same length, found {} and {} bytes", a.len(), b.len());
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let different = a.iter().zip(b).fold(0, |different, (a, b)| different | word(a) ^ word(b));
    let rest = a_rest.iter().zip(b_rest).fold(0, |different, (a, b)| different | a ^ b);
    barrier::opaque_u64(different | u64::from(rest)).ct_eq(&0)
}

/// Writes as many bytes of `words` as there is room for.
pub(crate) fn to_bytes(words: &[u64], bytes: &mut [u8]) {
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    for (bytes, word) in whole.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    for (i, byte) in rest.iter_mut().enumerate() {
        *byte = (words[whole.len()] >> (8 * i)) as u8;
    }
}

impl Deref for Words {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(&*self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn any_bit_that_differs_is_noticed_and_the_same_bytes_are_equal() {
        for length in [0usize, 1, 7, 8, 9, 33, 4433] {
            let a: Vec<u8> = (0..length).map(|i| i as u8).collect();
            assert!(bool::from(equal(&a, &a.clone())), "{length}");
            for at in [0, 1, 7, 8, length / 2, length.saturating_sub(1)].into_iter().filter(|at| *at < length) {
                for bit in 0..8 {
                    let mut b = a.clone();
                    b[at] ^= 1 << bit;
                    assert!(!bool::from(equal(&a, &b)), "{length}: bit {bit} of byte {at}");
                }
            }
        }
    }

    #[test]
    fn bytes_come_back_whatever_their_number() {
        for length in 0..40_u8 {
            let bytes: Vec<u8> = (1..=length).collect();
            let words = Words::from_bytes(&bytes, usize::from(length).div_ceil(8));
            let mut back = vec![0; bytes.len()];
            to_bytes(&words, &mut back);
            assert_eq!(back, bytes);
        }
        assert_eq!(*Words::from_bytes(&[1, 0, 0, 0, 0, 0, 0, 2, 3], 2), [1 | 2 << 56, 3]);
    }
}
