//! Message authentication: HMAC (RFC 2104, FIPS 198-1) by crate `hmac`, on our hashes (SHA-3 and BLAKE2b by [`WipedHmac`]), and CMAC (SP 800-38B) by crate `cmac`, on our AES-128 and SM4
//! and on crate `aes`'s AES-256 (feature `cmac`).
//!
//! BLAKE2b takes a key without HMAC: [`Blake2bMac`].
//!
//! ```
//! use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut mac = HmacSha256::new_from_slice(b"key")?;
//! mac.update(b"message");
//! let tag = mac.finalize().into_bytes();
//!
//! let mut check = HmacSha256::new_from_slice(b"key")?;
//! check.update(b"message");
//! check.verify_slice(&tag)?; // in constant time
//! # Ok(())
//! # }
//! ```

mod wiped;

pub use crate::hash::blake2b::Blake2bMac;
use crate::hash::{Blake2b512, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Sm3};
#[cfg(feature = "cmac")]
pub use cmac::Cmac;
pub use hmac::digest::InvalidLength;
pub use hmac::{Hmac, KeyInit, Mac};
pub use wiped::WipedHmac;

/// HMAC with [`Sha256`]: 32 bytes.
pub type HmacSha256 = Hmac<Sha256>;
/// HMAC with [`Sha384`]: 48 bytes.
pub type HmacSha384 = Hmac<Sha384>;
/// HMAC with [`Sha512`]: 64 bytes.
pub type HmacSha512 = Hmac<Sha512>;
/// HMAC with [`Sm3`]: 32 bytes.
pub type HmacSm3 = Hmac<Sm3>;
/// HMAC with [`Sha3_256`]: 32 bytes.
pub type HmacSha3_256 = WipedHmac<Sha3_256>;
/// HMAC with [`Sha3_512`]: 64 bytes.
pub type HmacSha3_512 = WipedHmac<Sha3_512>;
/// HMAC with [`Blake2b512`]: 64 bytes. For a new design its own keyed mode costs half.
pub type HmacBlake2b512 = WipedHmac<Blake2b512>;

/// CMAC with [`Aes128`](crate::aes::Aes128): 16 bytes.
#[cfg(feature = "cmac")]
pub type CmacAes128 = Cmac<crate::aes::Aes128>;
/// CMAC with AES-256: 16 bytes. The cipher is that of crate `aes`, which chooses its code itself.
#[cfg(feature = "cmac")]
pub type CmacAes256 = Cmac<::aes::Aes256Enc>;
/// CMAC with [`Sm4`](crate::sm4::Sm4): 16 bytes.
#[cfg(feature = "cmac")]
pub type CmacSm4 = Cmac<crate::sm4::Sm4>;
