//! Unsafe code of tests.
#![allow(unsafe_code)] // an allocator

pub mod counting;
