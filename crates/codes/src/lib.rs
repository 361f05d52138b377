//! Key encapsulation from error-correcting codes, in constant time: [`hqc`].
//!
//! `docs/hqc.md` says the mathematics.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

// Where things go:
//
// hqc.rs     what users call; `hqc/` has the parts of the scheme
// kernels/   the arithmetic that has arms, written once in safe Rust
// low/       the arms: the kernels compiled for one CPU's instructions, the only `unsafe`
// words.rs   vectors of bits that wipe themselves

extern crate alloc;

mod kernels;
mod low;
mod mceliece;
mod words;

pub mod hqc;

#[cfg(test)]
mod tests {
    mod reed_muller;
    mod reed_solomon;
}
