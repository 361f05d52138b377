//! OPAQUE (RFC 9807) and its hybrids, from bytes to bytes, without key stretching (that is `ksf`). `parts` are the operations in it.
//!
//! An implementation is a [`Library`]; the subjects in `opaque/work` are generic over it. Before any clock is read each has logged in to the
//! reference with its client and has let the reference's client in with its server, on one registration that all share: all must come to the
//! export key of that registration. The [`Reference`] is candor's suite of the same wire format, which passes RFC 9807's vectors.

pub mod parts;
mod reference;
mod sizes;
mod work;

pub use reference::{AnyLibrary, Reference};
pub use work::entry;

use super::BY_SYSTEM_CALL;
use crate::seed::Stream;
use candor_lab::{Habit, Provenance};

/// The credentials that every subject logs in with.
pub const PASSWORD: &[u8] = b"correct horse battery staple";
/// The credential identifier.
pub const USER: &[u8] = b"alice@example.org";
/// The application's context.
pub const CONTEXT: &[u8] = b"candor lab 1";

/// What a call that should succeed says when it doesn't.
pub type Failed = String;

/// The suite of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// OPAQUE-3DH of RFC 9807.
    Rfc9807,
    /// With an ephemeral ML-KEM-768, as opaque-ke has it.
    HybridCompat,
    /// With an ephemeral ML-KEM-768 that also hides the credential response.
    Hybrid,
}

impl Suite {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 3] = [Self::Rfc9807, Self::HybridCompat, Self::Hybrid];

    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rfc9807 => "rfc9807",
            Self::HybridCompat => "hybrid-compat",
            Self::Hybrid => "hybrid",
        }
    }

    /// What it is, and how long its messages are: KE1, KE2, KE3. `sizes` holds those of every library against these.
    pub fn what(self) -> (&'static str, [usize; 3]) {
        match self {
            Self::Rfc9807 => ("OPAQUE-3DH of RFC 9807 with ristretto255 and SHA-512", [96, 320, 64]),
            Self::HybridCompat => {
                ("OPAQUE-3DH with an ephemeral ML-KEM-768, opaque-ke's TripleDhKem", [1280, 1408, 64])
            }
            Self::Hybrid => {
                ("OPAQUE-3DH with an ephemeral ML-KEM-768 that also hides the credential response", [1280, 1408, 64])
            }
        }
    }
}

/// The operation that is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A whole registration.
    Register,
    /// A whole login.
    Login,
    /// The server's answer to KE1.
    ServerKe2,
    /// The client's first step.
    ClientStart,
    /// The client's last step.
    ClientFinish,
}

impl Op {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 5] = [Self::Register, Self::Login, Self::ServerKe2, Self::ClientStart, Self::ClientFinish];

    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Login => "login",
            Self::ServerKe2 => "server-ke2",
            Self::ClientStart => "client-start",
            Self::ClientFinish => "client-finish",
        }
    }

    /// What the timed call does, in a sentence without its stop.
    pub fn timed(self) -> &'static str {
        match self {
            Self::Register => "a whole registration, both sides, each message parsed from bytes",
            Self::Login => "a whole login, both sides, each message parsed from bytes",
            Self::ServerKe2 => "the server's answer: KE1 and the stored record in as bytes, KE2 out as bytes",
            Self::ClientStart => "the client's first step: password in, KE1 out as bytes",
            Self::ClientFinish => "the client's last step: KE2 in as bytes, KE3 and session key out; no key stretching",
        }
    }

    /// What a library tells of it that asks the system for randomness in each call.
    #[must_use]
    pub fn by_system_call(self) -> Option<(Habit, &'static str)> {
        (self != Self::ClientFinish).then_some(BY_SYSTEM_CALL)
    }
}

/// The server's keys, the same for all.
pub struct Keys {
    /// The seed of each user's OPRF key.
    pub oprf_seed: [u8; 64],
    /// A ristretto255 scalar below 2²⁵², little-endian.
    pub secret: [u8; 32],
}

impl Keys {
    /// The keys that follow from `seed`.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut secret: [u8; 32] = Stream::new(seed, "opaque server key").array();
        secret[31] &= 0x0f;
        Self { oprf_seed: Stream::new(seed, "opaque oprf seed").array(), secret }
    }
}

/// The client's result.
pub struct Done {
    /// The last message.
    pub ke3: Vec<u8>,
    /// The key that client and server share.
    pub session_key: [u8; 64],
    /// The key that only the client has.
    pub export_key: [u8; 64],
}

/// One implementation: a server with its keys, and a client that knows [`PASSWORD`].
pub trait Library: 'static {
    /// A client in the middle of a registration.
    type Registering: 'static;
    /// A client that waits for KE2.
    type Client: 'static;
    /// A server that waits for KE3.
    type Server: 'static;

    /// The client's first message, and its state.
    fn registration_start(&self) -> Result<(Self::Registering, Vec<u8>), Failed>;
    /// The server's answer.
    fn registration_answer(&self, request: &[u8]) -> Result<Vec<u8>, Failed>;
    /// The upload.
    fn registration_finish(&self, client: Self::Registering, response: &[u8]) -> Result<Vec<u8>, Failed>;

    /// The client's first message of a login, and its state.
    fn ke1(&self) -> Result<(Self::Client, Vec<u8>), Failed>;
    /// The record that a server stores for an upload.
    fn store(&self, upload: &[u8]) -> Result<Vec<u8>, Failed>;
    /// `record` is what was stored, and absent for a user that does not exist.
    fn ke2(&self, record: Option<&[u8]>, ke1: &[u8]) -> Result<(Self::Server, Vec<u8>), Failed>;
    /// The client's end of a login.
    fn ke3(&self, client: Self::Client, ke2: &[u8]) -> Result<Done, Failed>;
    /// A client's state as bytes, as the library writes it.
    fn save(&self, client: &Self::Client) -> Result<Vec<u8>, Failed>;
    /// A client again from [`Self::save`].
    fn restore(&self, saved: &[u8]) -> Result<Self::Client, Failed>;
    /// Bytes of the state that a server keeps between KE2 and KE3, as the library writes it.
    fn server_state(&self, server: &Self::Server) -> usize;
    /// The server's session key.
    fn finish(&self, server: Self::Server, ke3: &[u8]) -> Result<[u8; 64], Failed>;

    /// Where the library comes from, and what its call of the operation does.
    fn provenance(&self, op: Op) -> Provenance;
}
