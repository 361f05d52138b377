//! The directory over HTTP: which relays there are.
//!
//! - [`Authority`]: takes relays' descriptors, agrees with the other authorities on a consensus, and serves it.
//! - [`Directory`]: fetches the consensus, verifies it, and keeps it in a file. What a client uses, and a relay.
//! - [`attend`]: keeps a running relay published, and tells it of the others.
//!
//! The documents, and who must have signed what, are [`candor_onion::directory`]'s. `docs/threats.md` says what strangers can do to a
//! directory; `docs/directory.md` how to run one.
//!
//! | request | answer |
//! |---|---|
//! | `POST /relay` | takes a descriptor: 204, or why not |
//! | `GET /consensus` | the consensus, with an ETag |
//! | `GET /keys/ml-kem-768` | the static KEM keys of the consensus's relays in its order, each of the KEM's length; so for 512 and 1024 |
//! | `GET /view/TIME`, `GET /signature/TIME` | the authority's view and signature for the round that begins then, for the other authorities |
//!
//! Each answer has the header `candor-time`: seconds since 1970 by the authority's clock.

mod address;
mod attend;
mod authority;
mod authority_keys;
mod client;
pub(crate) mod exchange;
mod names;
mod places;
mod probes;
mod reach;
mod readings;
mod registry;
mod rounds;
mod seats;
mod served;

pub use address::{Directories, DirectoryAddress};
#[cfg(feature = "tor")]
pub(crate) use attend::Due;
pub use attend::{Attendance, attend};
pub use authority::{Authority, AuthorityConfig, AuthorityEvent, AuthorityHeld};
pub use authority_keys::AuthorityKeys;
pub use client::{Directory, Fetched};
pub use reach::ReachLimits;
pub use registry::RegistryLimits;

/// The header that tells an authority's clock.
const TIME_HEADER: &str = "candor-time";
