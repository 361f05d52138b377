//! Kernels for x86-64.
#![allow(unsafe_code)] // instructions that only a token makes sound, and assembly

#[cfg(any(feature = "aes", feature = "sm4"))]
#[cfg_attr(not(feature = "aes"), allow(dead_code))] // POLYVAL's part
mod blocks;
#[cfg(any(feature = "aes", feature = "sm4"))]
#[cfg_attr(not(feature = "aead"), allow(dead_code))] // what only the AEADs use
mod registers;
#[cfg(feature = "hash")]
mod vector;

#[cfg(feature = "aes")]
pub(crate) mod aes;
#[cfg(feature = "ksf")]
pub(crate) mod argon2_avx2;
#[cfg(feature = "ksf")]
pub(crate) mod argon2_avx512;
#[cfg(feature = "hash")]
pub(crate) mod batch;
#[cfg(feature = "hash")]
pub(crate) mod blake2b;
#[cfg(feature = "aead")]
mod chacha20;
#[cfg(feature = "aead")]
pub(crate) mod chacha20_poly1305;
#[cfg(feature = "ec")]
mod division_steps;
#[cfg(feature = "aead")]
mod gcm;
#[cfg(feature = "aead")]
pub(crate) mod ghash;
#[cfg(feature = "hash")]
pub(crate) mod keccak;
#[cfg(feature = "ml-kem")]
pub(crate) mod lattice;
#[cfg(feature = "ec")]
pub(crate) mod montgomery;
#[cfg(any(feature = "ec", feature = "rsa"))]
mod mulx;
#[cfg(feature = "aead")]
mod poly1305;
#[cfg(feature = "aes")]
pub(crate) mod polyval;
#[cfg(feature = "rsa")]
pub(crate) mod rsa;
#[cfg(feature = "hash")]
pub(crate) mod sha256;
#[cfg(feature = "hash")]
pub(crate) mod sha512;
#[cfg(feature = "hash")]
pub(crate) mod sha512_avx512;
#[cfg(feature = "hash")]
pub(crate) mod sm3;
#[cfg(feature = "hash")]
pub(crate) mod sm3_avx512;
#[cfg(feature = "sm4")]
pub(crate) mod sm4;
#[cfg(feature = "x25519")]
pub(crate) mod x25519;
