//! Kernels for x86-64.
#![allow(unsafe_code)] // instructions that only a token makes sound, and assembly

mod blocks;
mod vector;

pub(crate) mod aes;
pub(crate) mod argon2_avx2;
pub(crate) mod argon2_avx512;
pub(crate) mod batch;
pub(crate) mod keccak;
pub(crate) mod polyval;
pub(crate) mod sha256;
pub(crate) mod sha512;
pub(crate) mod sm3;
