#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod ids;
mod keys;
mod master;
mod name;
mod time;

pub mod audit;
pub mod migrate;
pub mod store;

pub use ids::{AccountId, DeviceId, KeyId, NoIdentifier, NoRandomness, Purpose, SessionId, TokenHash, random};
pub use keys::{Basis, KeyRing};
pub use master::{MasterKey, MasterKeyError};
pub use name::{NameError, UserName};
pub use store::{Store, StoreError};
pub use time::UnixTime;

/// What both sides of every registration and login pass to OPAQUE. The identities are the public keys, so that an account can be renamed; the
/// context says which protocol this is.
pub const PARTIES: candor_opaque::Parties<'static> = candor_opaque::Parties::new(b"candor-login-1");
