//! Kernels for x86-64.
#![allow(unsafe_code)] // instructions that only a token makes sound

pub(crate) mod avx2;
pub(crate) mod mceliece;
pub(crate) mod mceliece_avx512;
pub(crate) mod mceliece_products;
mod reed_muller;
mod rows;
mod sort;
mod support;
pub(crate) mod symbols;
