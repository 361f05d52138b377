//! The directory: which relays there are, by which keys, as several authorities say it (`docs/directory.md`).
//!
//! | document | by | says |
//! |---|---|---|
//! | [`Descriptor`] | a relay | its addresses, onion keys, exit policy; proves that it holds the keys |
//! | [`Certificate`] | an authority's identity | which key signs for it, and for how long |
//! | [`View`] | an authority | the relays that it knows at the beginning of a round |
//! | [`Consensus`] | authorities, a threshold of them | the relays that so many views agree on |
//!
//! Every signature is two: Ed25519 and ML-DSA-65 ([`PublicKey`]). Both must hold, so a forger has to break both.
//!
//! Documents are binary, numbers big-endian. Each has one encoding: decoders refuse whatever the encoder wouldn't write.

mod agreement;
mod bandwidth;
mod certificate;
mod consensus;
mod descriptor;
mod keys;
mod possession;
mod relay;
#[cfg(test)]
mod vectors;
mod view;

pub use crate::invalid_document::InvalidDocument;
pub use agreement::merge;
pub use bandwidth::{BANDWIDTH_CAP, bandwidth_cap};
pub use certificate::{Authorities, Certificate, Endorsement};
pub use consensus::{Consensus, Listed, MOST_CONSENSUS, UnsignedConsensus};
pub use descriptor::{Descriptor, Drafted, KEM_LENGTHS, MOST_DESCRIPTOR, kem_digest};
pub use keys::{Fingerprint, PublicKey, SecretKey, Signature};
pub use possession::onion_key_certificate;
pub use relay::{Host, MOST_FAMILY, MOST_RULES, Relay, Rule, is_name};
pub use view::{MOST_RELAYS, Times, View};
