#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

mod cpu;
mod tier;
mod token;

pub mod barrier;
pub mod secret;

pub use cpu::Cpu;
pub use tier::{TIERS, Tier, TierError};
pub use token::*;
