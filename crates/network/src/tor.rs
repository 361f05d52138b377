//! Networks of C tor's: which relays there are, by their own directory.
//!
//! [`TorDirectory`] fetches the consensus in the flavour `microdesc` from the authorities' HTTP directories (`DirPort`), verifies it by the authorities'
//! identities, and makes a [`RelayList`](crate::RelayList) of it. The documents are [`candor_tor_directory`]'s.
//!
//! [`attend`] makes a relay of ours one of theirs: a [`TorRelayKey`] is its RSA identity, its descriptor goes to the authorities, and its directory is one of theirs that it passes
//! requests on to ([`RelayConfig::tor_directory`](crate::RelayConfig::tor_directory)).
//!
//! This is for private networks and for experiments. Tor's own clients ask caches and guards through circuits, weigh relays by the consensus's
//! weights, pad, and keep three kinds of guards; a client that does otherwise stands out in the public network.

mod attend;
mod authority;
mod directory;
mod list;
mod policy;
mod relay_key;

pub use attend::{TorAttendance, attend};
pub use authority::TorAuthority;
pub use directory::TorDirectory;
pub use relay_key::TorRelayKey;
