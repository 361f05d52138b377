//! Tor's directory (dir-spec) without I/O: text in, text out.
//!
//! For a client, what it needs to build circuits through a network of C tor's:
//!
//! - [`Certificates`]: the keys that the authorities sign by, each certified by its authority's identity.
//! - [`Consensus`] in the flavour `microdesc`: which relays there are, signed by a majority of the [`Authorities`].
//! - [`Microdescriptor`]: a relay's keys, named by the consensus by digest.
//!
//! For a relay, what it needs to be one of theirs:
//!
//! - [`RelayKey`], its RSA identity, and what that shows on links.
//! - [`RouterDescriptor`], what it publishes to the authorities.
//!
//! A document that is too long, has too many entries or a line that the specification does not allow is refused as a whole; lines with unknown keywords
//! are skipped, as the specification wants. Nothing of a consensus can be read before its signatures have been verified. What one relay, or one authority, can
//! spoil costs no other its own: a relay's entry that can't be read is left out of the consensus, and an authority's certificate that can't be read costs its signature.
//!
//! ```
//! use candor_tor_directory::{Authorities, Certificates, Unverified};
//! # let file = |name| std::fs::read_to_string(format!("{}/tests/data/{name}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap();
//! # let (consensus, certificates, now) = (file("consensus-microdesc"), file("authority-certificates"), 1_795_807_920);
//! let authorities = Authorities::parse(&["F7FB9FD1811AE912462DC8982B2181338516466F", "E1DD94F0807E4CBBB5BB0B24FE9C1ED3B0A83177"])?;
//! let mut known = Certificates::default();
//! known.take(&certificates, &authorities, now)?;
//! let consensus = Unverified::parse(&consensus)?.verify(&authorities, &known, now)?;
//! assert_eq!(consensus.relays[2].nickname, "relay0");
//! # Ok::<(), candor_tor_directory::Error>(())
//! ```
#![forbid(unsafe_code)]

/// The README's example, compiled as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod authorities;
mod certificate;
mod consensus;
mod descriptor;
mod error;
mod items;
mod microdescriptor;
mod ports;
mod protocols;
mod relay_key;
mod rsa_key;
mod time;
mod x509;

pub use authorities::{Authorities, Identity, MOST_AUTHORITIES};
pub use certificate::{AuthorityCertificate, MOST_CERTIFICATE};
pub use consensus::{Certificates, Consensus, Flags, MOST_CONSENSUS, MOST_RELAYS, Relay, Signature, Unverified};
pub use descriptor::RouterDescriptor;
pub use error::Error;
pub use microdescriptor::{MOST_MICRODESCRIPTOR, Microdescriptor};
pub use ports::Ports;
pub use protocols::Protocols;
pub use relay_key::RelayKey;
