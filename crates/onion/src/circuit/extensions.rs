//! What a client and a hop agree on within their handshake: the extension messages of ntor-v3 and our hybrids.
//!
//! `N 1 | (type 1 | length 1 | body)*`. Requests: type 1, congestion control (prop 324), empty; type 3, subprotocols (prop 346),
//! pairs of a protocol and a version, ascending. Responses: type 2, the SENDME increment. A relay that does not know a
//! subprotocol that it is asked for refuses the handshake, so silence means yes.

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

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// CGO, and with it congestion control, without which Tor does not give it; otherwise tor1 with fixed windows.
    pub crypto: Crypto,
    /// That EXTEND2 and EXTENDED2 may span cells.
    pub fragments: bool,
}

/// What a relay says to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Cells between SENDMEs, if congestion control was asked for.
    pub sendme_increment: Option<u8>,
}

/// What holds between a client and a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The layer's cryptography.
    pub crypto: Crypto,
    /// Whether EXTEND2 and EXTENDED2 may span cells.
    pub fragments: bool,
    /// Cells between SENDMEs under congestion control; without it, windows are fixed.
    pub sendme_increment: Option<u8>,
}

impl Request {
    /// What a handshake without extension messages (`ntor`) comes to.
    pub const NONE: Self = Self { crypto: Crypto::Tor1, fragments: false };

    /// The client's extension message.
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

    /// Reads a client's extension message, at a relay that knows both subprotocols. Extensions of other types are skipped;
    /// without any at all the message may be empty. Whether congestion control is wanted stands beside the request.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] for an unknown subprotocol, for lists that don't ascend, and for CGO without congestion control.
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
    /// The relay's extension message.
    pub fn encode(&self) -> Vec<u8> {
        match self.sendme_increment {
            Some(increment) => vec![1, CC_RESPONSE, 1, increment],
            None => vec![0],
        }
    }

    /// Reads a relay's extension message.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] for an increment of the wrong length, or further than 1 from ours (prop 324): a relay could make a client
    /// stand out by it, or owe it SENDMEs for next to nothing.
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
    /// What a request and its response come to.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] if one asks for congestion control and the other does not answer, or the other way round.
    pub fn new(request: Request, response: Response) -> Result<Self, Error> {
        if (request.crypto == Crypto::Cgo) != response.sendme_increment.is_some() {
            return Err(PeerMisbehaved::CongestionControl { answered: response.sendme_increment.is_some() }.into());
        }
        Ok(Self { crypto: request.crypto, fragments: request.fragments, sendme_increment: response.sendme_increment })
    }
}

/// The extensions of a message, each type at most once.
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
