//! Key encapsulation from error-correcting codes, in constant time: [`hqc`] and [`mceliece`].
//!
//! `docs/hqc.md` and `docs/mceliece.md` say the mathematics.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

// Where things go:
//
// hqc.rs, mceliece.rs   what users call; `hqc/` and `mceliece/` have the parts of the scheme
// kernels/              the arithmetic that has arms, written once in safe Rust
// low/                  the arms: the kernels compiled for one CPU's instructions, the only `unsafe`
// rustcrypto.rs         the traits of RustCrypto's crate `kem`
// words.rs              vectors of bits that wipe themselves

extern crate alloc;

mod kernels;
mod low;
mod words;

pub mod hqc;
pub mod mceliece;
#[cfg(feature = "kem")]
pub mod rustcrypto;

use candor_primitives::kem::KemError;

fn expect_length(what: &'static str, expected: usize, got: usize) -> Result<(), KemError> {
    if got == expected { Ok(()) } else { Err(KemError::Length { what, expected, got }) }
}

#[cfg(feature = "getrandom")]
fn random(bytes: &mut [u8]) -> Result<(), KemError> {
    getrandom::fill(bytes).map_err(|_| KemError::Randomness)
}

#[cfg(not(feature = "getrandom"))]
fn random(_: &mut [u8]) -> Result<(), KemError> {
    Err(KemError::Randomness)
}

#[cfg(test)]
mod tests {
    mod reed_muller;
    mod reed_solomon;
}
