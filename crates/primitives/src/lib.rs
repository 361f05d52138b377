//! The primitive suite.
//!
//! - [`kem`]: key encapsulation ([`kem::Kem`], [`kem::DerandomizedKem`]); back ends are zero-sized types.
//! - [`dh`]: Diffie-Hellman ([`dh::DiffieHellman`]), likewise.
//! - [`ksf`]: Argon2id over memory that is kept and wiped.
//! - [`hash`]: hashes behind RustCrypto's `digest` traits, each with a choice of CPU tier; many messages at once by [`hash::Batch`].
//! - [`mac`], [`kdf`]: HMAC and HKDF over them.
//! - [`aes`], [`polyval`]: what the layers of an onion are made of.
//!
//! # Where things go
//!
//! | room | holds |
//! |---|---|
//! | `<family>.rs` | what a user of the family sees: traits, types, errors |
//! | `<family>/<name>.rs` | one algorithm, or one back end |
//! | `<family>/<name>_mux.rs` | the choice of arm: takes proof tokens from `candor-cpu` and records the arm |
//! | `low/<arch>/` | `unsafe` kernels that take a token |
//!
//! Without the feature `std` there is no source of randomness: what needs one says so in its error, and the variants that
//! take a generator or coins do the work.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod low;
mod random;
mod shared_secret;

pub mod aes;
pub mod dh;
pub mod hash;
pub mod kdf;
pub mod kem;
pub mod ksf;
pub mod mac;
pub mod polyval;

/// Which accelerated arms may run: what `with_cpu` takes, for crates that know no `candor-cpu`.
pub use candor_cpu::Cpu;
pub use shared_secret::SharedSecret;

/// The README's example, compiled and run as a doc test.
#[cfg(all(doctest, feature = "aws-lc"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
