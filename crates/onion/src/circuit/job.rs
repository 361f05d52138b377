//! A relay's handshakes, separate from its circuits.

use super::extensions::{Agreed, Request as Asked, Response};
use crate::Error;
use crate::cell::payload::Create2;
use crate::flow;
use crate::handshake::{Handshake, Request};
use crate::layer::{Crypto, RelayLayer};
use std::fmt;

/// The handshakes that a relay offers, with its onion keys for each.
#[derive(Default)]
pub struct OnionKeys {
    offers: Vec<Offer>,
}

/// A relay's side of a handshake, with its type erased.
type Respond = Box<dyn Fn(&[u8]) -> Result<Answer, Error> + Send + Sync>;

struct Offer {
    kind: u16,
    answer: Respond,
}

impl OnionKeys {
    /// Adds a handshake. `relays` has one entry for each onion key that is still valid.
    ///
    /// # Errors
    /// [`Error::NoNumber`] if the handshake has no number.
    pub fn with<H>(mut self, handshake: H, relays: Vec<H::RelaySecret>) -> Result<Self, Error>
    where
        H: Handshake + Send + Sync + 'static,
        H::RelaySecret: Send + Sync,
    {
        let kind = handshake.handshake_type().ok_or(Error::NoNumber)?.number();
        let answer = Box::new(move |onionskin: &[u8]| answer(&handshake, &relays, onionskin));
        self.offers.push(Offer { kind, answer });
        Ok(self)
    }

    /// Numbers of the handshakes on offer.
    pub fn kinds(&self) -> impl Iterator<Item = u16> {
        self.offers.iter().map(|offer| offer.kind)
    }
}

fn answer<H: Handshake>(handshake: &H, relays: &[H::RelaySecret], onionskin: &[u8]) -> Result<Answer, Error> {
    let request = handshake.accept(relays, onionskin)?;
    let (asked, congestion_control) = match H::CARRIES_MESSAGES {
        true => Asked::decode(request.message())?,
        false => (Asked::NONE, false),
    };
    // tor1 has fixed windows: a request for congestion control without CGO is not answered, as Tor allows.
    let sendme_increment = (congestion_control && asked.crypto == Crypto::Cgo).then_some(flow::SENDME_INCREMENT);
    let response = Response { sendme_increment };
    let message = if H::CARRIES_MESSAGES { response.encode() } else { Vec::new() };
    let (reply, keys) = request.respond(&message)?;
    Ok(Answer { reply, layer: RelayLayer::new(asked.crypto, &keys)?, agreed: Agreed::new(asked, response)? })
}

/// A circuit creation whose handshake is still to be done. It can be sent to another thread;
/// [`RelayCircuit::answer`](super::RelayCircuit::answer) takes the result.
#[derive(Debug)]
#[must_use]
pub struct HandshakeJob {
    create: Create2,
}

impl HandshakeJob {
    pub(super) fn new(create: Create2) -> Self {
        Self { create }
    }

    /// Number of the requested handshake.
    pub fn kind(&self) -> u16 {
        self.create.kind()
    }

    /// Does the handshake: some tens of microseconds of computation.
    ///
    /// # Errors
    /// [`Error::NoNumber`] if the handshake is not offered; those of [`Handshake::accept`] and [`Request::respond`];
    /// [`Error::PeerMisbehaved`] for extensions that can't be agreed to.
    pub fn run(self, keys: &OnionKeys) -> Result<Answer, Error> {
        let offer = keys.offers.iter().find(|offer| offer.kind == self.create.kind()).ok_or(Error::NoNumber)?;
        (offer.answer)(self.create.onionskin())
    }
}

/// The result of a relay's handshake: the reply, the layer, and what was agreed.
pub struct Answer {
    pub(super) reply: Vec<u8>,
    pub(super) layer: RelayLayer,
    pub(super) agreed: Agreed,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("agreed", &self.agreed).finish_non_exhaustive()
    }
}

impl fmt::Debug for OnionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kinds()).finish()
    }
}
