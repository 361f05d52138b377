//! Key derivation: HKDF (RFC 5869) by crate `hkdf`, on our hashes.
//!
//! ```
//! use candor_primitives::kdf::{HkdfSha256, InvalidLength};
//! # fn main() -> Result<(), InvalidLength> {
//! let hkdf = HkdfSha256::new(Some(b"salt"), b"input keying material");
//! let mut key = [0; 42];
//! hkdf.expand(b"what for", &mut key)?;
//! # Ok(())
//! # }
//! ```

use crate::hash::{Blake2b512, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Sm3};
use hkdf::{Hkdf, SimpleHkdf};

pub use hkdf::{InvalidLength, InvalidPrkLength};

/// HKDF with [`Sha256`].
pub type HkdfSha256 = Hkdf<Sha256>;
/// HKDF with [`Sha384`].
pub type HkdfSha384 = Hkdf<Sha384>;
/// HKDF with [`Sha512`].
pub type HkdfSha512 = Hkdf<Sha512>;
/// HKDF with [`Sm3`].
pub type HkdfSm3 = Hkdf<Sm3>;
/// HKDF with [`Sha3_256`].
pub type HkdfSha3_256 = SimpleHkdf<Sha3_256>;
/// HKDF with [`Sha3_512`].
pub type HkdfSha3_512 = SimpleHkdf<Sha3_512>;
/// HKDF with [`Blake2b512`].
pub type HkdfBlake2b512 = SimpleHkdf<Blake2b512>;
