//! What a client and a hop agree on in their handshake: the extension messages of ntor-v3 and our hybrids.
//!
//! `N 1 | (type 1 | length 1 | body)*`. Requests: type 1, congestion control (prop 324), empty; type 3, subprotocols
//! (prop 346), pairs of protocol and version in ascending order. Responses: type 2, the SENDME increment. A relay
//! refuses the handshake if it does not know a subprotocol that it is asked for, so no answer means yes.

use crate::flow;
use crate::layer::Crypto;
use crate::parts::Parts;
use crate::{Error, PeerMisbehaved};

const CC_REQUEST: u8 = 1;
const CC_RESPONSE: u8 = 2;
const SUBPROTOCOLS: u8 = 3;

/// Relay=6: CGO (prop 359).
const RELAY_CGO: [u8; 2] = [2, 6];
/// Relay=240, private: EXTEND2 and EXTENDED2 may span cells (`docs/cells.md`).
const RELAY_FRAGMENTS: [u8; 2] = [2, 240];

/// A client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Cryptography of the layer. CGO includes congestion control, as Tor does not offer it without; tor1 has fixed
    /// windows.
    pub crypto: Crypto,
    /// Whether EXTEND2 and EXTENDED2 may span cells.
    pub fragments: bool,
}

/// A relay's response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Cells between SENDMEs, if congestion control was asked for.
    pub sendme_increment: Option<u8>,
}

/// What a client and a hop have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Cryptography of the layer.
    pub crypto: Crypto,
    /// Whether EXTEND2 and EXTENDED2 may span cells.
    pub fragments: bool,
    /// Cells between SENDMEs under congestion control; `None` for fixed windows.
    pub sendme_increment: Option<u8>,
}

impl Request {
    /// What a handshake without extension messages (`ntor`) leads to.
    pub const NONE: Self = Self { crypto: Crypto::Tor1, fragments: false };

    /// Encodes the client's extension message.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = vec![0];
        let mut put = |kind: u8, body: &[u8]| {
            message[0] += 1;
            message.extend_from_slice(&[kind, body.len() as u8]);
            message.extend_from_slice(body);
        };
        let cgo = self.crypto == Crypto::Cgo;
        if cgo {
            put(CC_REQUEST, &[]);
        }
        match (cgo, self.fragments) {
            (true, true) => put(SUBPROTOCOLS, &[RELAY_CGO, RELAY_FRAGMENTS].concat()),
            (true, false) => put(SUBPROTOCOLS, &RELAY_CGO),
            (false, true) => put(SUBPROTOCOLS, &RELAY_FRAGMENTS),
            (false, false) => {}
        }
        message
    }

    /// Decodes a client's extension message, for a relay that knows both subprotocols. Extensions of other types are
    /// skipped; an empty message has none. The second value says whether congestion control is requested.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] for an unknown subprotocol, a list that does not ascend, and CGO without congestion
    /// control.
    pub fn decode(message: &[u8]) -> Result<(Self, bool), Error> {
        let mut request = Self::NONE;
        let mut congestion_control = false;
        for extension in extensions(message)? {
            match extension {
                (CC_REQUEST, _) => congestion_control = true,
                (SUBPROTOCOLS, list) => {
                    let (pairs, []) = list.as_chunks::<2>() else {
                        return Err(PeerMisbehaved::SubprotocolsOdd { got: list.len() }.into());
                    };
                    if !pairs.is_sorted_by(|a, b| a < b) {
                        return Err(PeerMisbehaved::SubprotocolsOrder.into());
                    }
                    for pair in pairs {
                        match *pair {
                            RELAY_CGO => request.crypto = Crypto::Cgo,
                            RELAY_FRAGMENTS => request.fragments = true,
                            [protocol, version] => {
                                return Err(PeerMisbehaved::SubprotocolUnknown { protocol, version }.into());
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        if request.crypto == Crypto::Cgo && !congestion_control {
            return Err(PeerMisbehaved::CgoAlone.into());
        }
        Ok((request, congestion_control))
    }
}

impl Response {
    /// Encodes the relay's extension message.
    pub fn encode(&self) -> Vec<u8> {
        match self.sendme_increment {
            Some(increment) => vec![1, CC_RESPONSE, 1, increment],
            None => vec![0],
        }
    }

    /// Decodes a relay's extension message.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] for an increment of the wrong length, or one that differs from ours by more than 1
    /// (prop 324): with it, a relay could make its client stand out, or owe it SENDMEs for next to nothing.
    pub fn decode(message: &[u8]) -> Result<Self, Error> {
        let mut response = Self::default();
        for extension in extensions(message)? {
            match extension {
                (CC_RESPONSE, &[increment]) if increment.abs_diff(flow::SENDME_INCREMENT) <= 1 => {
                    response.sendme_increment = Some(increment);
                }
                (CC_RESPONSE, _) => {
                    let (low, high) = (flow::SENDME_INCREMENT - 1, flow::SENDME_INCREMENT + 1);
                    return Err(PeerMisbehaved::SendmeIncrement { low, high }.into());
                }
                _ => {}
            }
        }
        Ok(response)
    }
}

impl Agreed {
    /// The agreement that a request and its response lead to.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] if congestion control was requested but not answered, or answered but not requested.
    pub fn new(request: Request, response: Response) -> Result<Self, Error> {
        if (request.crypto == Crypto::Cgo) != response.sendme_increment.is_some() {
            return Err(PeerMisbehaved::CongestionControl { answered: response.sendme_increment.is_some() }.into());
        }
        Ok(Self { crypto: request.crypto, fragments: request.fragments, sendme_increment: response.sendme_increment })
    }
}

/// The extensions of a message; each type at most once.
fn extensions(message: &[u8]) -> Result<Vec<(u8, &[u8])>, Error> {
    let mut list: Vec<(u8, &[u8])> = Vec::new();
    if message.is_empty() {
        return Ok(list);
    }
    let mut parts = Parts::of("extension message", message, 1, true)?;
    let [count] = *parts.array()?;
    for _ in 0..count {
        let [kind, length] = *parts.array()?;
        if list.iter().any(|(known, _)| *known == kind) {
            return Err(PeerMisbehaved::ExtensionRepeated { kind }.into());
        }
        list.push((kind, parts.slice(length.into())?));
    }
    match parts.rest().len() {
        0 => Ok(list),
        got => Err(PeerMisbehaved::ExtensionTrailing { got }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_increment_far_from_ours_is_refused() {
        for (increment, good) in [(0, false), (1, false), (29, false), (30, true), (31, true), (32, true), (255, false)]
        {
            let response = Response { sendme_increment: Some(increment) };
            assert_eq!(Response::decode(&response.encode()).ok(), good.then_some(response), "{increment}");
        }
    }
}
