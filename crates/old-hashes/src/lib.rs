#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod census;
mod client;
mod compute;
mod encoding;
pub mod limits;
mod read;
mod scheme;
mod template;

pub use census::{SaltCensus, UnevenSalts};
pub use client::{BeyondLimits, CostLimits};
pub use read::ReadError;
pub use scheme::{Algorithm, Argon2Kind, Before, OldHash, OldScheme, Pbkdf2Hash, SchemeError};
pub use template::Template;
