//! Fuzz bodies: plain functions of bytes that panic if a property doesn't hold.
//!
//! The targets in `fuzz/` call them under libFuzzer. `tests/fuzz_bodies` calls them on stable, over the committed corpora and over
//! mutations of those. There is one module per crate; each uses only that crate's public API, so no product carries code for its fuzzer.
#![forbid(unsafe_code)]

pub mod codes;
pub mod gf2;
pub mod lab;
pub mod links;
pub mod login;
pub mod network;
pub mod old_hashes;
pub mod onion;
pub mod opaque;
pub mod opaque_ffi;
pub mod primitives;
pub mod suite;
pub mod tor_directory;
