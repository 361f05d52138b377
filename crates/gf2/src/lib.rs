//! Binary polynomials and the fields GF(2^m).
//!
//! - [`Multiplier`]: products and squares of polynomials over GF(2) of any length, on the best instructions that the CPU has,
//!   without a branch or an index that depends on a coefficient.
//! - [`plan`]: which scheme multiplies which length, as tables that the tuner measures and users can replace; with exact
//!   operation counts.
//! - [`field`]: the fields GF(2^m), multiplication and reduction in one; sparse reduction for any modulus.
//!
//! ```
//! let (a, b) = ([0xffff_ffff_ffff_ffff, 1], [3, 0]); // (x^64 + … + 1), with x + 1
//! let mut product = [0; 4];
//! candor_gf2::mul(&mut product, &a, &b);
//! assert_eq!(product, [1, 2, 0, 0]); // x^65 + 1
//! ```
//!
//! # Where things go
//!
//! | room | holds |
//! |---|---|
//! | `arm.rs` | the ways to multiply; chooses one for a CPU |
//! | `multiplier.rs` | what users call; `multiplier_mux.rs` has the arm's kernel and plans |
//! | `recursion.rs` | the schemes (Karatsuba, Toom-Cook, splits) over an arm's leaf products |
//! | `plan/` | tables, their text form, operation counts |
//! | `low/` | the arms, the only `unsafe`; `low/kernel.rs` is their contract |
//! | `field/` | GF(2^m), with arms and `low/` of its own |
//! | `word.rs` | the portable word product |
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes;
mod low;
mod multiplier;
mod multiplier_mux;
mod recursion;
mod word;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

pub mod field;
pub mod plan;
#[cfg(feature = "tune")]
pub mod tune;

pub use multiplier::{Multiplier, Product, mul};
