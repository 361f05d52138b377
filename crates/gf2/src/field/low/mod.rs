//! The arms of the fields that need CPU instructions: vectors of 128-bit lanes, and the kernels compiled for them. The only
//! `unsafe` of the fields.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64;
#[cfg(target_arch = "x86_64")]
mod x86_64_kernels;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64_packed;

use super::element::Element;
use super::modulus::Modulus;

/// The same elements, as words.
#[inline(always)]
pub(super) fn words<M: Modulus>(elements: &[Element<M>]) -> &[M::Words] {
    // SAFETY: `Element` is a transparent wrapper of the words, so the slices have the same layout.
    unsafe { core::slice::from_raw_parts(elements.as_ptr().cast(), elements.len()) }
}

/// The same elements, as words to write. Write only reduced polynomials: anything else is sound but gives wrong results.
#[inline(always)]
pub(super) fn words_mut<M: Modulus>(elements: &mut [Element<M>]) -> &mut [M::Words] {
    // SAFETY: as above.
    unsafe { core::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len()) }
}
