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
//!
//! [`Hkdf`] works with SM3 as well, and [`SimpleHkdf`] with every hash of this crate.

use crate::hash::{Sha256, Sha384, Sha512};

pub use hkdf::{Hkdf, InvalidLength, InvalidPrkLength, SimpleHkdf};

/// HKDF with [`Sha256`].
pub type HkdfSha256 = Hkdf<Sha256>;
/// HKDF with [`Sha384`].
pub type HkdfSha384 = Hkdf<Sha384>;
/// HKDF with [`Sha512`].
pub type HkdfSha512 = Hkdf<Sha512>;
