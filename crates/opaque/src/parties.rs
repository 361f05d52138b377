//! The context and the identities of a login.

use crate::Error;
use crate::error::{Input, expect_short};
use crate::ksf::KsfParams;
use alloc::vec::Vec;

/// The application's context and both identities. Client and server must pass the same ones; they don't travel in the messages.
///
/// A login fails if the two sides differ in any of them. The identities are bound at registration as well, so changing one means registering
/// again; the context is bound at login only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parties<'a> {
    /// The application and its version, such as `example.org login 1` (RFC 9807 §3.3, `context`).
    pub context: &'a [u8],
    /// The client's identity, such as a user name; without one it is the client's public key.
    pub client: Option<&'a [u8]>,
    /// The server's identity, such as a domain name; without one it is the server's public key.
    pub server: Option<&'a [u8]>,
}

impl<'a> Parties<'a> {
    /// A login with this context, in which the public keys serve as identities.
    pub const fn new(context: &'a [u8]) -> Self {
        Self { context, client: None, server: None }
    }

    /// Fails if one of them is too long for its length prefix of two bytes.
    pub(crate) fn check(&self) -> Result<(), Error> {
        expect_short(Input::Context, self.context)?;
        expect_short(Input::ClientIdentity, self.client.unwrap_or_default())?;
        expect_short(Input::ServerIdentity, self.server.unwrap_or_default())?;
        Ok(())
    }
}

/// A context that binds the key stretching parameters, for the suites [`Rfc9807`](crate::suite::Rfc9807) and
/// [`HybridCompat`](crate::suite::HybridCompat), which take the context as it is: use it on both sides instead of the
/// application's own. The other suites bind the parameters by themselves.
// ct: public, because the context is
pub fn context_with(ksf: &KsfParams, context: &[u8]) -> Vec<u8> {
    [&ksf.to_bytes(), context].concat()
}

/// `bytes` with their length in two bytes before them. The callers have checked that it fits.
pub(crate) fn vector(bytes: &[u8]) -> ([u8; 2], &[u8]) {
    debug_assert!(bytes.len() <= usize::from(u16::MAX));
    ((bytes.len() as u16).to_be_bytes(), bytes)
}
