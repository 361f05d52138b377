#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod ids;
mod keys;
mod master;
mod name;
mod time;

pub mod audit;
pub mod store;

pub use ids::{AccountId, DeviceId, KeyId, NoIdentifier, NoRandomness, Purpose, SessionId, TokenHash, random};
pub use keys::{Basis, KeyRing};
pub use master::{MasterKey, MasterKeyError};
pub use name::{NameError, UserName};
pub use store::{Store, StoreError};
pub use time::UnixTime;
