#![doc = include_str!("../README.md")]

mod place;
mod refusal;
mod request;
mod stretching;

#[cfg(target_family = "wasm")]
mod ffi;

pub use place::{Page, Place, Random};
pub use refusal::{Code, Refusal};
