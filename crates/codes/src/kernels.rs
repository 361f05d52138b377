//! The arithmetic that has arms, each kernel once, in safe Rust on arrays of fixed length.
//!
//! Every function here is `inline(always)`: an arm is this code inside a function compiled for its instructions (`low`), where the loops over
//! lanes become vector instructions. No branch and no index depends on the data.

pub(crate) mod lanes;
pub(crate) mod mceliece;
pub(crate) mod portable;
pub(crate) mod reed_muller;
pub(crate) mod reed_solomon;
pub(crate) mod sparse;
pub(crate) mod support;
pub(crate) mod symbols;

use lanes::Lanes;
use symbols::{Product, Singly};

/// A parameter set of HQC, as far as the shapes of its codes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    Hqc1,
    Hqc3,
    Hqc5,
}

/// Calls a kernel for the shapes of a set: symbols and message symbols of the Reed–Solomon code, lanes for its syndromes, for the
/// key equation and for its symbols.
macro_rules! shaped {
    ($set:expr, $kernel:ident($($argument:expr),*)) => {
        match $set {
            Set::Hqc1 => reed_solomon::$kernel::<46, 16, 32, 64, 64>($($argument),*),
            Set::Hqc3 => reed_solomon::$kernel::<56, 24, 32, 64, 64>($($argument),*),
            Set::Hqc5 => reed_solomon::$kernel::<90, 32, 64, 96, 96>($($argument),*),
        }
    };
}

/// Writes the Reed–Solomon codeword of `message` into `codeword`.
#[inline(always)]
pub(crate) fn reed_solomon_encode(set: Set, message: &[u8], codeword: &mut [u8]) {
    shaped!(set, encode(message, codeword));
}

/// Corrects up to δ errors in `word`; with more of them the result means nothing.
#[inline(always)]
pub(crate) fn reed_solomon_decode(set: Set, word: &mut [u8]) {
    shaped!(set, correct(Lanes, word));
}

/// The same by products of single elements, of which there are as many as the algorithm needs.
#[inline(always)]
pub(crate) fn reed_solomon_decode_singly<P: Product>(product: P, set: Set, word: &mut [u8]) {
    match set {
        Set::Hqc1 => reed_solomon::correct::<46, 16, 30, 46, 46>(Singly(product), word),
        Set::Hqc3 => reed_solomon::correct::<56, 24, 32, 49, 56>(Singly(product), word),
        Set::Hqc5 => reed_solomon::correct::<90, 32, 58, 88, 90>(Singly(product), word),
    }
}

/// The symbols whose repeated Reed–Muller codewords are nearest to `words`.
#[inline(always)]
pub(crate) fn reed_muller_decode(set: Set, words: &[u64], symbols: &mut [u8]) {
    match set {
        Set::Hqc1 => reed_muller::decode::<6>(words, symbols),
        Set::Hqc3 | Set::Hqc5 => reed_muller::decode::<10>(words, symbols),
    }
}
