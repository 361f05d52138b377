#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

// Where things go:
//
// <family>.rs              what a user of the family sees: traits, types, errors
// <family>/<name>.rs       one algorithm, or one back end
// <family>/<name>_mux.rs   the choice of arm: takes proof tokens from `candor-cpu` and records the arm
// rounds.rs, sm4_box.rs    constants, shared by portable code and kernels
// poly1305.rs, lattice.rs, x25519.rs, curve.rs  arithmetic, shared likewise
// inverse.rs               inverses modulo primes, shared by them
// counter.rs               counter mode as a stream cipher, shared by AES and SM4
// kept.rs                  secrets on the heap, shared by keys on curves
// wipe.rs                  zeros over secrets
// low/<arch>/              `unsafe` kernels that take a token

extern crate alloc;

#[cfg(any(feature = "aes", feature = "sm4"))]
mod counter;
#[cfg(feature = "ec")]
mod curve;
#[cfg(any(feature = "ec", feature = "x25519"))]
mod inverse;
#[cfg(any(feature = "ec", feature = "ed25519"))]
mod kept;
#[cfg(feature = "ml-kem")]
mod lattice;
mod low;
#[cfg(feature = "aead")]
mod poly1305;
#[cfg(any(feature = "aead", feature = "ec", feature = "ed25519", feature = "kem", feature = "dh", feature = "rsa"))]
mod random;
#[cfg(feature = "hash")]
mod rounds;
#[cfg(any(feature = "kem", feature = "dh"))]
mod shared_secret;
#[cfg(feature = "sm4")]
mod sm4_box;
#[cfg(feature = "x25519")]
mod x25519;

#[cfg(feature = "aead")]
pub mod aead;
#[cfg(feature = "aes")]
pub mod aes;
#[cfg(feature = "dh")]
pub mod dh;
#[cfg(feature = "ec")]
pub mod ec;
#[cfg(feature = "ed25519")]
pub mod ed25519;
#[cfg(feature = "forks")]
pub mod forks;
#[cfg(feature = "hash")]
pub mod hash;
#[cfg(feature = "kdf")]
pub mod kdf;
#[cfg(feature = "kem")]
pub mod kem;
#[cfg(feature = "ksf")]
pub mod ksf;
#[cfg(feature = "mac")]
pub mod mac;
#[cfg(feature = "aes")]
pub mod polyval;
#[cfg(feature = "rsa")]
pub mod rsa;
#[cfg(feature = "sm2")]
pub mod sm2;
#[cfg(feature = "sm4")]
pub mod sm4;
pub mod stack;
#[cfg(any(feature = "aes", feature = "hash", feature = "sm4"))]
mod wipe;
#[cfg(any(feature = "ec", feature = "rsa", feature = "x25519"))]
mod word;
#[cfg(feature = "rsa")]
mod words;

/// Which accelerated arms may run: the argument of `with_cpu`, for crates that don't depend on `candor-cpu`.
pub use candor_cpu::Cpu;
#[cfg(any(feature = "kem", feature = "dh"))]
pub use shared_secret::SharedSecret;
