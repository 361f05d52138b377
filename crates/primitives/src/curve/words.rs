//! Numbers of 256 and of 384 bits.

use core::fmt::Debug;
use core::ops::{Index, IndexMut};
use zeroize::Zeroize;

/// What arms of this machine need of such numbers.
#[cfg(target_arch = "x86_64")]
pub(crate) use super::adx::OnAdx as OnArms;
#[cfg(not(target_arch = "x86_64"))]
pub trait OnArms {}

/// A number in words of 64 bits, the lowest first: below R = 2^(64·COUNT).
pub trait Words:
    OnArms
    + Copy
    + Debug
    + Default
    + Eq
    + Index<usize, Output = u64>
    + IndexMut<usize>
    + AsRef<[u64]>
    + AsMut<[u64]>
    + Zeroize
    + Send
    + Sync
    + 'static
{
    /// Words.
    const COUNT: usize;
    const ZERO: Self;
    /// Eight bytes a word.
    type Bytes: Copy + Debug + Eq + AsRef<[u8]> + AsMut<[u8]> + Zeroize + Send + Sync + 'static;
    const ZERO_BYTES: Self::Bytes;
    /// Twice as many words.
    type Wide: Copy + AsRef<[u64]> + AsMut<[u64]>;
    const ZERO_WIDE: Self::Wide;
    /// A point in SEC1's form: a byte and two numbers, or a byte and one.
    type Sec1: Copy + AsRef<[u8]> + AsMut<[u8]>;
    const EMPTY_SEC1: Self::Sec1;
    type Compressed: Copy + AsRef<[u8]> + AsMut<[u8]>;
    const EMPTY_COMPRESSED: Self::Compressed;
    /// Two numbers.
    type Pair: Copy + AsRef<[u8]> + AsMut<[u8]> + Send + Sync + 'static;
    const EMPTY_PAIR: Self::Pair;
}

macro_rules! words {
    ($count:literal, $bytes:literal, $wide:literal) => {
        #[cfg(not(target_arch = "x86_64"))]
        impl OnArms for [u64; $count] {}

        impl Words for [u64; $count] {
            const COUNT: usize = $count;
            const ZERO: Self = [0; $count];
            type Bytes = [u8; $bytes];
            const ZERO_BYTES: [u8; $bytes] = [0; $bytes];
            type Wide = [u64; $wide];
            const ZERO_WIDE: [u64; $wide] = [0; $wide];
            type Sec1 = [u8; 2 * $bytes + 1];
            const EMPTY_SEC1: Self::Sec1 = [0; 2 * $bytes + 1];
            type Compressed = [u8; $bytes + 1];
            const EMPTY_COMPRESSED: Self::Compressed = [0; $bytes + 1];
            type Pair = [u8; 2 * $bytes];
            const EMPTY_PAIR: Self::Pair = [0; 2 * $bytes];
        }
    };
}

words!(4, 32, 8);
words!(6, 48, 12);

/// A number below 2^64.
#[inline(always)]
pub(crate) fn small<W: Words>(number: u64) -> W {
    let mut words = W::ZERO;
    words[0] = number;
    words
}

/// a − b modulo R.
#[inline(always)]
pub(crate) fn minus<W: Words>(a: &W, b: &W) -> W {
    let (mut difference, mut borrow) = (W::ZERO, false);
    for n in 0..W::COUNT {
        (difference[n], borrow) = a[n].borrowing_sub(b[n], borrow);
    }
    difference
}

/// Whether a < b. In constant time, if the answer is used so.
#[inline(always)]
pub(crate) fn is_below<W: Words>(a: &W, b: &W) -> bool {
    let mut borrow = false;
    for n in 0..W::COUNT {
        (_, borrow) = a[n].borrowing_sub(b[n], borrow);
    }
    borrow
}

/// The number over 2^bits, for 0 < bits < 64, without the bits below.
#[inline(always)]
pub(crate) fn shifted_down<W: Words>(mut words: W, bits: u32) -> W {
    for n in 0..W::COUNT {
        let above = if n + 1 < W::COUNT { words[n + 1] << (64 - bits) } else { 0 };
        words[n] = words[n] >> bits | above;
    }
    words
}

/// All ones if the number is zero, else zero.
#[inline(always)]
pub(crate) fn is_zero<W: Words>(number: &W) -> u64 {
    is_zero_word(number.as_ref().iter().fold(0, |any, word| any | word))
}

/// The same for one word.
#[inline(always)]
pub(crate) fn is_zero_word(word: u64) -> u64 {
    candor_cpu::barrier::mask_u64(1 ^ ((word | word.wrapping_neg()) >> 63))
}

/// The words of a number, of which the bytes have the highest first.
#[inline(always)]
pub(crate) fn from_bytes<W: Words>(bytes: &W::Bytes) -> W {
    let mut words = W::ZERO;
    for (word, bytes) in words.as_mut().iter_mut().rev().zip(bytes.as_ref().as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}

/// The bytes of a number, the highest first.
#[inline(always)]
pub(crate) fn to_bytes<W: Words>(words: &W) -> W::Bytes {
    let mut bytes = W::ZERO_BYTES;
    for (to, word) in bytes.as_mut().as_chunks_mut::<8>().0.iter_mut().zip(words.as_ref().iter().rev()) {
        *to = word.to_be_bytes();
    }
    bytes
}
