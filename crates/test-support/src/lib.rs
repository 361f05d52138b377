//! Shared by the tests of several crates. Nothing here is for users of candor.
//!
//! | module | what |
//! |---|---|
//! | [`corpus`] | runs a fuzz body over the committed corpus of its target, and over mutations of it |
//! | [`counting`] | an allocator that counts what a test holds |
//! | [`random`] | test inputs that are the same in every run |
//! | [`openssl`] | OpenSSL's program in a directory of a test's own |
//! | [`postgres`] | a PostgreSQL server of the tests' own |
//! | [`small_disk`] | a test again, on a disk that is soon full |
//! | `c_abi` (feature `c-abi`) | a library for C against its header, under AddressSanitizer and valgrind |
//! | `browser` (feature `browser`) | drives headless Chromium |
//! | `runs` (feature `runs`) | seals forged run files |
//! | `tor` (feature `tor`) | authorities of Tor's that sign what a test wants |
//! | `vectors` (feature `vectors`) | reads the files of `vectors/` |
//! | `back_ends` (feature `back-ends`) | KEMs and Diffie-Hellman that misbehave on purpose: draw from a script, or send what no honest side would |
//!
//! Everything panics when something is missing or wrong, with a message that names the file or the field.
//!
//! A crate names this one under `[dev-dependencies]`; `fuzz-bodies` and `residue`, which are made of tests, under `[dependencies]`.

pub mod corpus;
mod low;
pub mod openssl;
pub mod postgres;
pub mod random;
pub mod small_disk;

#[cfg(feature = "back-ends")]
pub mod back_ends;
#[cfg(feature = "browser")]
pub mod browser;
#[cfg(feature = "c-abi")]
pub mod c_abi;
#[cfg(feature = "runs")]
pub mod runs;
#[cfg(feature = "tor")]
pub mod tor;
#[cfg(feature = "vectors")]
pub mod vectors;

pub use low::counting;
pub use random::Random;

use std::path::{Path, PathBuf};

/// A path from the root of the repository.
fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
