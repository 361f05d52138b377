#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod devices;
mod http;
mod ids;
mod keys;
mod log;
mod master;
mod metrics;
mod name;
mod problem;
mod refresh;
mod ring;
mod serve;
mod sessions;
mod time;
mod turns;

pub mod audit;
pub mod config;
pub mod migrate;
pub mod state;
pub mod store;
pub mod throttle;

pub use config::Config;
pub use http::openapi;
pub use ids::{AccountId, DeviceId, KeyId, NoIdentifier, NoRandomness, Purpose, SessionId, TokenHash, random};
pub use keys::{Basis, KeyRing};
pub use log::{Event, Log};
pub use master::{MasterKey, MasterKeyError};
pub use name::{NameError, UserName};
pub use problem::Problem;
pub use refresh::{IssuedRefresh, REFRESH, RefreshKey};
pub use serve::{Server, StartError};
pub use sessions::registration_token;
pub use store::{Actor, Store, StoreError};
pub use time::{Clock, UnixTime};

/// What both sides of every registration and login pass to OPAQUE. The identities are the public keys, so that an account can be renamed; the
/// context says which protocol this is.
pub const PARTIES: candor_opaque::Parties<'static> = candor_opaque::Parties::new(b"candor-login-1");

#[doc = include_str!("../docs/export-key.md")]
#[cfg(doctest)]
struct ExportKeyPage;
