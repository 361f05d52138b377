//! What a client and a hop agree on in their handshake: the extension messages of ntor-v3 and our hybrids.
//!
//! `N 1 | (type 1 | length 1 | body)*`. Requests: type 1, congestion control (prop 324), empty; type 3, subprotocols
//! (prop 346), pairs of protocol and version in ascending order; type 240 (private), upgrades, the suites that the client knows. Responses: type 2, the
//! SENDME increment; type 241, the suite of an upgrade. A relay refuses the handshake if it does not know a subprotocol that it is asked for, so no answer
//! means yes; an extension that it does not know it passes over, so for an upgrade no answer means no.

use crate::flow;
use crate::handshake::UPGRADE_SUITES;
use crate::layer::Crypto;
use crate::parts::Parts;
use crate::{Error, PeerMisbehaved};

const CC_REQUEST: u8 = 1;
const CC_RESPONSE: u8 = 2;
const SUBPROTOCOLS: u8 = 3;
const UPGRADE_REQUEST: u8 = 240;
const UPGRADE_RESPONSE: u8 = 241;
/// The one suite that there is.
const UPGRADE_SUITE: u8 = UPGRADE_SUITES[0];

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
    /// Whether the layer may get new keys later (`docs/upgrade.md`).
    pub upgrade: bool,
}

/// A relay's response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Cells between SENDMEs, if congestion control was asked for.
    pub sendme_increment: Option<u8>,
    /// Whether the relay agrees to an upgrade.
    pub upgrade: bool,
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
    /// Whether the client may ask for an upgrade.
    pub upgrade: bool,
}

impl Request {
    /// What a handshake without extension messages (`ntor`) leads to.
    pub const NONE: Self = Self { crypto: Crypto::Tor1, fragments: false, upgrade: false };

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
        if self.upgrade {
            put(UPGRADE_REQUEST, &UPGRADE_SUITES);
        }
        message
    }

    /// Decodes a client's extension message, for a relay that knows both subprotocols and our suite of upgrades. Extensions of other types are
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
                (UPGRADE_REQUEST, suites) => request.upgrade = suites.contains(&UPGRADE_SUITE),
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
        let mut message = vec![0];
        let mut put = |kind: u8, value: u8| {
            message[0] += 1;
            message.extend_from_slice(&[kind, 1, value]);
        };
        if let Some(increment) = self.sendme_increment {
            put(CC_RESPONSE, increment);
        }
        if self.upgrade {
            put(UPGRADE_RESPONSE, UPGRADE_SUITE);
        }
        message
    }

    /// Decodes a relay's extension message.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] for an increment of the wrong length, or one that differs from ours by more than 1
    /// (prop 324): with it, a relay could make its client stand out, or owe it SENDMEs for next to nothing; for a suite of upgrades that we don't know.
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
                (UPGRADE_RESPONSE, &[UPGRADE_SUITE]) => response.upgrade = true,
                (UPGRADE_RESPONSE, &[got]) => return Err(PeerMisbehaved::UpgradeUnasked { got }.into()),
                (UPGRADE_RESPONSE, body) => return Err(PeerMisbehaved::UpgradeLength { got: body.len() }.into()),
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
    /// [`Error::PeerMisbehaved`] if congestion control was requested but not answered, or answered but not requested; or an upgrade was agreed to but not
    /// requested.
    pub fn new(request: Request, response: Response) -> Result<Self, Error> {
        if (request.crypto == Crypto::Cgo) != response.sendme_increment.is_some() {
            return Err(PeerMisbehaved::CongestionControl { answered: response.sendme_increment.is_some() }.into());
        }
        if response.upgrade && !request.upgrade {
            return Err(PeerMisbehaved::UpgradeUnasked { got: UPGRADE_SUITE }.into());
        }
        Ok(Self {
            crypto: request.crypto,
            fragments: request.fragments,
            sendme_increment: response.sendme_increment,
            upgrade: response.upgrade,
        })
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
            let response = Response { sendme_increment: Some(increment), upgrade: false };
            assert_eq!(Response::decode(&response.encode()).ok(), good.then_some(response), "{increment}");
        }
    }
}
