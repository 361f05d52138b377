//! `opaque/<suite>/{register,login,server-ke2,client-start,client-finish}` and `opaque/hybrid/unknown-user`: OPAQUE (RFC 9807) and its
//! hybrids, from bytes to bytes, without key stretching (that is `ksf/argon2id`). `opaque/parts/…` are the operations in it.
//!
//! An implementation is a [`Library`]; the subjects in `opaque/work` are generic over it. Before any clock is read each has logged in to the
//! reference with its client and has let the reference's client in with its server, on one registration that all share: all must come to the
//! export key of that registration. The reference is candor's suite of the same wire format, which passes RFC 9807's vectors.

pub(crate) mod parts;
mod sizes;
mod unknown;
mod work;

pub(crate) use work::entry;

use crate::seed::Stream;
use crate::{ours, peers};
use candor_lab::{Provenance, Task};

/// What everybody logs in with.
pub(crate) const PASSWORD: &[u8] = b"correct horse battery staple";
/// The credential identifier.
pub(crate) const USER: &[u8] = b"alice@example.org";
/// The application's context.
pub(crate) const CONTEXT: &[u8] = b"candor lab 1";

/// What a call that should succeed says when it doesn't.
pub(crate) type Failed = String;

/// The suite of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    Rfc9807,
    HybridCompat,
    Hybrid,
}

impl Suite {
    const ALL: [Self; 3] = [Self::Rfc9807, Self::HybridCompat, Self::Hybrid];

    fn name(self) -> &'static str {
        match self {
            Self::Rfc9807 => "rfc9807",
            Self::HybridCompat => "hybrid-compat",
            Self::Hybrid => "hybrid",
        }
    }

    /// What it is, and how long its messages are: KE1, KE2, KE3. `sizes` holds those of every library against these.
    fn what(self) -> (&'static str, [usize; 3]) {
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

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Register,
    Login,
    ServerKe2,
    ClientStart,
    ClientFinish,
}

impl Op {
    const ALL: [Self; 5] = [Self::Register, Self::Login, Self::ServerKe2, Self::ClientStart, Self::ClientFinish];

    fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Login => "login",
            Self::ServerKe2 => "server-ke2",
            Self::ClientStart => "client-start",
            Self::ClientFinish => "client-finish",
        }
    }

    /// What the timed call does, in a sentence without its stop.
    pub(crate) fn timed(self) -> &'static str {
        match self {
            Self::Register => "a whole registration, both sides, each message parsed from bytes",
            Self::Login => "a whole login, both sides, each message parsed from bytes",
            Self::ServerKe2 => "the server's answer: KE1 and the stored record in as bytes, KE2 out as bytes",
            Self::ClientStart => "the client's first step: password in, KE1 out as bytes",
            Self::ClientFinish => "the client's last step: KE2 in as bytes, KE3 and session key out; no key stretching",
        }
    }
}

/// The server's keys, the same for all.
pub(crate) struct Keys {
    pub(crate) oprf_seed: [u8; 64],
    /// A ristretto255 scalar below 2²⁵², little-endian.
    pub(crate) secret: [u8; 32],
}

impl Keys {
    fn of(seed: u64) -> Self {
        let mut secret: [u8; 32] = Stream::new(seed, "opaque server key").array();
        secret[31] &= 0x0f;
        Self { oprf_seed: Stream::new(seed, "opaque oprf seed").array(), secret }
    }
}

/// What a client has at the end.
pub(crate) struct Done {
    pub(crate) ke3: Vec<u8>,
    pub(crate) session_key: [u8; 64],
    pub(crate) export_key: [u8; 64],
}

/// One implementation: a server with its keys, and a client that knows [`PASSWORD`].
pub(crate) trait Library: 'static {
    /// A client in the middle of a registration.
    type Registering;
    /// A client that waits for KE2.
    type Client;
    /// A server that waits for KE3.
    type Server;

    fn registration_start(&self) -> Result<(Self::Registering, Vec<u8>), Failed>;
    fn registration_answer(&self, request: &[u8]) -> Result<Vec<u8>, Failed>;
    /// The upload.
    fn registration_finish(&self, client: Self::Registering, response: &[u8]) -> Result<Vec<u8>, Failed>;

    fn ke1(&self) -> Result<(Self::Client, Vec<u8>), Failed>;
    /// What a server stores of an upload.
    fn store(&self, upload: &[u8]) -> Result<Vec<u8>, Failed>;
    /// `record` is what was stored, and absent for a user that does not exist.
    fn ke2(&self, record: Option<&[u8]>, ke1: &[u8]) -> Result<(Self::Server, Vec<u8>), Failed>;
    fn ke3(&self, client: Self::Client, ke2: &[u8]) -> Result<Done, Failed>;
    /// A client's state as bytes, as the library writes it.
    fn save(&self, client: &Self::Client) -> Result<Vec<u8>, Failed>;
    /// A client again from [`Self::save`].
    fn restore(&self, saved: &[u8]) -> Result<Self::Client, Failed>;
    /// Bytes of the state that a server keeps between KE2 and KE3, as the library writes it.
    fn server_state(&self, server: &Self::Server) -> usize;
    /// The server's session key.
    fn finish(&self, server: Self::Server, ke3: &[u8]) -> Result<[u8; 64], Failed>;

    /// Where the library comes from. `timed` says what the timed call does.
    fn provenance(&self, timed: &str) -> Provenance;
}

/// All tasks of OPAQUE.
pub(crate) fn tasks() -> Vec<Task> {
    let mut tasks = Vec::new();
    for suite in Suite::ALL {
        tasks.extend(Op::ALL.map(|op| task(suite, op)));
    }
    tasks.push(unknown::task());
    tasks.extend(parts::tasks());
    tasks
}

fn task(suite: Suite, op: Op) -> Task {
    let (what, [ke1, ke2, ke3]) = suite.what();
    let timed = op.timed();
    let sentence = format!("{what} (KE1 {ke1}, KE2 {ke2}, KE3 {ke3} bytes): {timed}");
    let mut task = Task::new(format!("opaque/{}/{}", suite.name(), op.name()), sentence);
    task.entries.push(ours::opaque(suite, op));
    task.entries.extend(peers::opaque(suite, op));
    task
}
