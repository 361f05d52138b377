#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

// Where things go:
//
// arm.rs         the ways to multiply; chooses one for a CPU
// multiplier.rs  what users call; `multiplier_mux.rs` has the arm's kernel and plans
// recursion.rs   the schemes (Karatsuba, Toom-Cook, splits) over an arm's leaf products
// plan/          tables, their text form, operation counts
// low/           the arms, the only `unsafe`; `low/kernel.rs` is their contract
// field/         GF(2^m), with arms and a `low/` of its own
// word.rs        the portable word product

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
