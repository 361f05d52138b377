//! Hashes, behind RustCrypto's `digest` traits: a user swaps one `use` line.
//!
//! ```
//! use candor_primitives::hash::{Digest, Sha256};
//! let digest = Sha256::digest(b"abc");
//! assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
//! ```

mod sha256;
mod sha256_mux;
mod sha256_portable;

pub use digest::Digest;
pub use sha256::Sha256;
