#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod client;
mod connection;
mod error;
mod recovery;
mod session;
mod wire;

pub use candor_old_hashes::{BeyondLimits, CostLimits};
pub use candor_opaque::{ExportKey, Limits};
pub use client::{Client, LoggedIn, Options};
pub use error::Error;
pub use recovery::{NoRecoveryCode, RecoveryCode};
pub use session::{DeviceProof, Session, SessionInfo};
