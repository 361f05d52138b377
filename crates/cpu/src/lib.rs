#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

mod tier;
mod token;

pub mod barrier;
pub mod secret;

pub use tier::{Cpu, TIERS, Tier, TierError};
pub use token::*;
