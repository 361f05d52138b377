//! Hashes, behind RustCrypto's `digest` traits: a user swaps one `use` line.
//!
//! ```
//! use candor_primitives::hash::{Digest, Sha256};
//! let digest = Sha256::digest(b"abc");
//! assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
//! ```
//!
//! [`Batch`] hashes many messages at once, in SIMD lanes where the CPU has them. HMAC is in the module `mac`, HKDF in `kdf`.

mod batch;
mod batch_mux;
pub(crate) mod blake2b;
mod blake2b_mux;
mod blake2b_portable;
mod keccak_mux;
mod keccak_portable;
#[cfg(feature = "ml-kem")]
pub(crate) mod lanes;
mod merkle_damgard;
mod sha256;
mod sha256_mux;
mod sha256_portable;
mod sha2_portable;
mod sha3;
mod sha512;
mod sha512_mux;
mod sha512_portable;
mod sm3;
mod sm3_mux;
mod sm3_portable;
mod sponge;

pub use batch::{Batch, BatchError};
pub use blake2b::{Blake2b, Blake2b256, Blake2b512};
pub use digest::{self, Digest, ExtendableOutput, Update, XofReader};
pub use sha3::{Sha3_256, Sha3_512, Shake128, Shake128Reader, Shake256, Shake256Reader};
pub use sha256::Sha256;
pub use sha512::{Sha384, Sha512};
pub use sm3::Sm3;
