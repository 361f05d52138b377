//! Onion circuits over sockets.
//!
//! - [`Relay`]: links from clients and relays, circuits over them, and an exit that allows nothing but what its [`Policy`] lists.
//! - [`Client`]: circuits through relays of a [`RelayList`], and [streams](CircuitStream) through circuits.
//! - [`directory`]: authorities that agree on which relays there are, relays that publish themselves, and the client's cache.
//! - [`Proxy`]: SOCKS and HTTP CONNECT for other programs, over circuits whose paths [`paths`] chooses.
//! - [`metrics`]: every role's numbers, for Prometheus. [`monitor`]: a page that shows a network live.
//! - [`http`]: a fetch over a stream. [`Target`]: a small web server whose answers can be checked, for tests and measurements.
//!
//! What is said over the sockets, and all its cryptography, is [`candor_onion`]'s; here are the sockets, the threads and the bounds.
#![forbid(unsafe_code)]

mod census;
mod client;
mod clock;
pub mod directory;
mod error;
mod files;
pub mod http;
mod keys;
mod line;
mod link;
pub mod metrics;
pub mod monitor;
mod network_file;
mod onion_keys;
pub mod paths;
mod policy;
mod prefix;
pub mod proxy;
mod relay;
mod relay_list;
mod stream;
mod target;
mod tls;
#[cfg(feature = "tor")]
pub mod tor;
mod web;

pub use candor_onion::circuit::Limits;
pub use candor_onion::handshake::HandshakeType;
pub use candor_onion::layer::Crypto;
pub use client::{Circuit, Client, ClientOptions};
pub use clock::Clock;
pub use error::Error;
pub use keys::{RelayKeys, Renewal, Words};
pub use monitor::{Monitor, MonitorConfig, Watched};
pub use network_file::NetworkFile;
pub use policy::Policy;
pub use prefix::Prefix;
pub use proxy::{ExitUpgrade, Proxy, ProxyConfig, ProxyEvent, ProxyMetrics};
pub use relay::{NetworkLimits, Rate, Relay, RelayConfig, RelayCounts, RelayEvent, RelayHeld, RelayLimits};
pub use relay_list::{ListedRelay, RelayList};
pub use stream::CircuitStream;
pub use target::Target;

/// The README's example, compiled as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
