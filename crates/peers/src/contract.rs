//! What a library implements to be measured, a module for each kind of work, and how all that implement it are prepared, checked and timed.
//!
//! Nothing here knows a library that is measured. What checks witnesses is a *reference*: RustCrypto's and dalek's crates under schedules
//! written here from the specifications. It shares no code with candor's products and is never timed.

pub mod aead;
pub mod cipher;
pub mod gf2;
pub mod gf2m;
pub mod hash;
pub mod kdf;
pub mod ksf;
pub mod mac;
pub mod ml_kem;
pub mod ntor;
pub mod opaque;
pub mod oprf;
pub mod x25519;
