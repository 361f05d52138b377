//! Handshakes: a client and a relay agree on keys, and the client knows that it is talking to that relay.
//!
//! | handshake | onionskin + reply, bytes | the relay proves itself by | keys are safe while |
//! |---|---|---|---|
//! | [`Ntor`] (tor-spec, "ntor") | 84 + 64 | X25519 onion key | X25519 holds |
//! | [`NtorV3`] (prop 332) | 128 + 64 | X25519 onion key | X25519 holds |
//! | [`Hybrid`] with ML-KEM-768 | 1280 + 1152 | X25519 onion key | X25519 or ML-KEM holds |
//! | [`Hybrid`] with a [`StaticKem`] | 2368 + 1152 | X25519 *and* ML-KEM onion keys | X25519 or ML-KEM holds |
//!
//! All but `ntor` carry an encrypted extension message in each direction; its length comes on top. An [`Upgrade`] replaces the keys of a circuit's last layer
//! afterwards, where the handshake was classical (`docs/upgrade.md`, experimental).
//!
//! The types enforce the order of the steps: each takes the one before by value, so no step can be left out or done
//! twice.
//!
//! ```text
//! client                                         relay
//! start(relay's public keys, message)
//!   → waiting, onionskin          ──────▶        accept(own keys, onionskin)
//!                                                  → request; request.message()
//!                                                request.respond(message)
//! waiting.finish(reply)           ◀──────          → reply, keys
//!   → Established { message, keys }
//! ```
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use candor_onion::handshake::{Client, Handshake, Hybrid768, Request};
//! # fn main() -> Result<(), candor_onion::Error> {
//! let handshake = Hybrid768::default();
//! let relay = handshake.generate_relay([1; 32])?;
//!
//! let (waiting, onionskin) = handshake.start(handshake.public(&relay), b"client's extensions")?;
//! let request = handshake.accept(std::slice::from_ref(&relay), &onionskin)?;
//! assert_eq!(request.message(), b"client's extensions");
//! let (reply, relay_keys) = request.respond(b"relay's extensions")?;
//! let established = waiting.finish(&reply)?;
//!
//! assert_eq!(established.message, b"relay's extensions");
//! assert_eq!(*established.keys.expand(128)?, *relay_keys.expand(128)?);
//! # Ok(()) }
//! # main().unwrap();
//! # }
//! ```
//!
//! A reply can be used only once, since `finish` takes the state:
//!
//! ```compile_fail,E0382
//! # use candor_onion::handshake::{Client, Handshake};
//! fn twice<H: Handshake>(handshake: H, relay: &H::RelayPublic, reply: &[u8]) {
//!     let (waiting, _onionskin) = handshake.start(relay, b"").unwrap();
//!     let _ = waiting.finish(reply);
//!     let _ = waiting.finish(reply); // use of moved value
//! }
//! ```
//!
//! A relay can't answer an onionskin that it has not accepted, and answers it only once:
//!
//! ```compile_fail,E0382
//! # use candor_onion::handshake::{Handshake, Request};
//! fn twice<H: Handshake>(handshake: H, relay: &[H::RelaySecret], onionskin: &[u8]) {
//!     let request = handshake.accept(relay, onionskin).unwrap();
//!     let _ = request.respond(b"");
//!     let _ = request.respond(b""); // use of moved value
//! }
//! ```
//!
//! There are no keys before the relay has proved its identity:
//!
//! ```compile_fail,E0609
//! # use candor_onion::handshake::Handshake;
//! fn early<H: Handshake>(handshake: H, relay: &H::RelayPublic) {
//!     let (waiting, _onionskin) = handshake.start(relay, b"").unwrap();
//!     let _ = waiting.keys.expand(72); // no such field: `finish` gives the keys
//! }
//! ```

use crate::Error;
use alloc::string::String;
use alloc::vec::Vec;

mod authenticator;
mod exchange;
mod hkdf;
mod hybrid;
mod keys;
mod ntor;
mod ntor_v3;
mod registry;
mod sha3;
mod stream;
mod upgrade;

pub use hybrid::{Hybrid, HybridClient, HybridRelay, HybridRelayPublic, HybridRequest};
pub use hybrid::{NoStaticKem, StaticKem, StaticKey};
pub use keys::Keys;
pub use ntor::{Ntor, NtorClient, NtorRelay, NtorRelayPublic, NtorRequest};
pub use ntor_v3::{NtorV3, NtorV3Client, NtorV3Relay, NtorV3RelayPublic, NtorV3Request};
pub use registry::*;
pub use upgrade::{Chain, Confirmation, UPGRADE_SUITES, Upgrade, UpgradeAnswer, UpgradeClient, Upgraded};

/// Tor's verification string for circuit extension (tor-spec, "ntor-v3"); our hybrids use it too.
pub const CIRCUIT_EXTEND: &[u8] = b"circuit extend";

/// A handshake between a client and a relay. A value holds the back ends and what both sides must agree on beforehand.
pub trait Handshake {
    /// The relay's identity: for `ntor` 20 bytes, the digest of its RSA key; for the others 32, its Ed25519 key.
    type Identity: Copy + Default + AsRef<[u8]> + AsMut<[u8]>;
    /// The relay's identity and onion keys, parsed.
    type RelaySecret;
    /// What a client knows about a relay, parsed. It comes from a directory, and the handshake is only as authentic as
    /// that.
    type RelayPublic;
    /// The client, waiting for the reply.
    type Client: Client;
    /// The relay, about to reply.
    type Request: Request;

    /// Length of an onionskin with an empty extension message; the message's length comes on top.
    const ONIONSKIN: usize;
    /// Length of a reply with an empty extension message; the message's length comes on top.
    const REPLY: usize;
    /// Whether extension messages are supported.
    const CARRIES_MESSAGES: bool;

    /// The handshake's name in tasks and tables, such as `hybrid-768-auth`.
    fn name(&self) -> String;

    /// The handshake's entry in the registry. Without one, CREATE2 can't name it.
    fn handshake_type(&self) -> Option<HandshakeType> {
        HandshakeType::named(&self.name())
    }

    /// Generates onion keys for a relay, from the back ends' source of randomness.
    ///
    /// # Errors
    /// [`Error::Dh`], [`Error::Kem`] if the back end fails.
    fn generate_relay(&self, identity: Self::Identity) -> Result<Self::RelaySecret, Error>;

    /// The public part of a relay's keys.
    fn public<'a>(&self, relay: &'a Self::RelaySecret) -> &'a Self::RelayPublic;

    /// The client's first step. Returns the state that waits for the reply, and the onionskin to send.
    ///
    /// # Errors
    /// [`Error::Dh`] if the relay's onion key is a point of small order; [`Error::NoMessage`] if there is a message but
    /// the handshake can't carry one; [`Error::Kem`] if the back end fails.
    fn start(&self, relay: &Self::RelayPublic, message: &[u8]) -> Result<(Self::Client, Vec<u8>), Error>;

    /// The relay's first step: finds the key that the onionskin is for, and checks and decrypts it. `relays` has one
    /// entry for each onion key that is still valid.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::UnknownKey`], [`Error::Onionskin`]; [`Error::Dh`] and [`Error::Kem`] if a key in the
    /// onionskin is invalid. After any of them the circuit must be destroyed.
    fn accept(&self, relays: &[Self::RelaySecret], onionskin: &[u8]) -> Result<Self::Request, Error>;

    /// Accepts and answers any number of onionskins in one pass, each with the result that [`Self::accept`] and [`Request::respond`]
    /// have; one that fails does not concern the others. Back ends that have something better than one by one, as our X25519 and
    /// ML-KEM have for eight, then need less time for each. `replies` says what is to be sent and takes the results.
    fn answer_many(&self, relays: &[Self::RelaySecret], onionskins: &[&[u8]], replies: &mut dyn Replies);
}

/// What a relay does in the course of [`Handshake::answer_many`]. Onionskins are named by their place in the batch.
pub trait Replies {
    /// The extension message to answer with, once an onionskin is accepted; `message` is the client's. Not called for those that are
    /// refused.
    ///
    /// # Errors
    /// What the onionskin is refused for.
    fn message(&mut self, at: usize, message: &[u8]) -> Result<Vec<u8>, Error>;

    /// Takes the reply and the keys, or why there are none; called once for each onionskin.
    fn answered(&mut self, at: usize, answer: Result<(Vec<u8>, Keys), Error>);
}

/// A client that waits for the reply to its onionskin.
pub trait Client {
    /// Checks that the reply is the relay's, and derives the keys.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Dh`]; [`Error::Authentication`] for everything else that can be wrong with a reply.
    /// After any of them the circuit must be destroyed; the state is used up.
    fn finish(self, reply: &[u8]) -> Result<Established, Error>;
}

/// An onionskin that a relay has accepted.
pub trait Request {
    /// The client's extension message, decrypted. Only the holder of the relay's onion key can read it, but anyone can
    /// have written it, and it is not forward secret (prop 332, "Overview").
    fn message(&self) -> &[u8];

    /// Makes the reply and the keys. The reply carries `message` encrypted.
    ///
    /// # Errors
    /// [`Error::NoMessage`] if there is a message but the handshake can't carry one; [`Error::Dh`], [`Error::Kem`] if
    /// the client's keys are refused or the back end fails.
    fn respond(self, message: &[u8]) -> Result<(Vec<u8>, Keys), Error>;
}

/// The client's result of a handshake.
#[derive(Debug)]
#[non_exhaustive]
pub struct Established {
    /// The relay's extension message, decrypted and authenticated.
    pub message: Vec<u8>,
    /// The keys; the relay has the same.
    pub keys: Keys,
}
