#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

mod cpu;
mod host;
mod microarchitecture;
mod table;
mod tier;
mod token;

pub mod arms;
pub mod barrier;
pub mod secret;

pub use cpu::Cpu;
pub use host::TierError;
pub use microarchitecture::Microarchitecture;
pub use tier::{TIERS, Tier};
pub use token::*;
