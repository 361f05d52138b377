//! Both sides of the link handshake as one state machine.

use super::certificate::{Certificate, IDENTITY_SIGNING, SIGNING_AUTH, SIGNING_LINK};
use super::rsa::{self, RSA_IDENTITY};
use super::{Binding, EXPORTER_CONTEXT, RelayIdentity};
use crate::cell::payload::{Address, AuthChallenge, Authenticate, Certs, Netinfo, Versions};
use crate::cell::{Cell, Command, Decoder, Message};
use crate::{Error, InvalidCertificate, PeerMisbehaved};
use alloc::vec;
use alloc::vec::Vec;
use candor_primitives::ed25519::{PublicKey, Signature};
use candor_primitives::hash::Sha256;
use core::net::{IpAddr, Ipv4Addr};
use digest::Digest;
use subtle::ConstantTimeEq;

/// Addresses to tell the peer in NETINFO (tor-spec, "NETINFO cells"). The default tells none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses<'a> {
    /// Own addresses, where others reach this relay; empty for a client.
    pub ours: &'a [IpAddr],
    /// The peer's address as seen from here.
    pub theirs: Option<IpAddr>,
}

/// The inputs of an initiator.
pub struct Initiator<'a> {
    /// Its identity if it is a relay and will authenticate; `None` for a client.
    pub relay: Option<&'a RelayIdentity>,
    /// The identity that the responder must prove; `None` accepts any.
    pub expect: Option<[u8; 32]>,
    /// Values of the TLS connection.
    pub binding: Binding,
    /// Current time in seconds since 1970.
    pub now: u64,
    /// RAND: random bytes for AUTHENTICATE; unused by clients.
    pub nonce: [u8; 24],
    /// Addresses for NETINFO.
    pub addresses: Addresses<'a>,
}

/// The inputs of a responder.
pub struct Responder<'a> {
    /// Its identity.
    pub relay: &'a RelayIdentity,
    /// Values of the TLS connection.
    pub binding: Binding,
    /// Current time in seconds since 1970.
    pub now: u64,
    /// Random bytes for AUTH_CHALLENGE.
    pub challenge: [u8; 32],
    /// Addresses for NETINFO.
    pub addresses: Addresses<'a>,
}

/// The result of a link handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// The link protocol: 4, 5 or [`Versions::WIDE`].
    pub version: u16,
    /// The Ed25519 identity that the peer has proved; `None` for a client.
    pub peer: Option<[u8; 32]>,
    /// Our address as the peer sees it, if it says one. The peer may lie.
    pub our_address: Option<IpAddr>,
    /// The peer's own addresses, as it says. If the peer has proved its identity, they come from that relay and not
    /// from anyone on the way: a link whose remote address is not among them may run through a third party.
    pub peer_addresses: Vec<IpAddr>,
}

impl Link {
    /// Whether CREATE2V and CREATED2V may be sent.
    pub fn is_wide(&self) -> bool {
        self.version == Versions::WIDE
    }
}

/// A link handshake under way.
pub struct LinkHandshake<'a> {
    side: Side<'a>,
    decoder: Decoder,
    output: Vec<u8>,
    /// Running hashes of the bytes received and sent, as far as AUTHENTICATE covers them.
    received: Sha256,
    sent: Sha256,
    version: Option<u16>,
    peer: Option<[u8; 32]>,
    our_address: Option<IpAddr>,
    peer_addresses: Vec<IpAddr>,
    /// SID: the digest of the RSA identity that the responder shows, or zero. For the initiator only.
    responder_rsa: [u8; 32],
    /// An AUTHENTICATE by an initiator with an RSA identity, which waits for keying material, and the context of that.
    waiting: Option<([u8; 32], Authenticate)>,
    state: State,
}

enum Side<'a> {
    Initiator(Initiator<'a>),
    Responder(Responder<'a>),
}

/// The cell that is expected next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Versions,
    /// For the initiator CERTS; for the responder CERTS from a relay or NETINFO from a client.
    Certs,
    /// AUTH_CHALLENGE; initiator only.
    Challenge,
    /// AUTHENTICATE; responder only. The initiator's authentication key and identity have been certified.
    Authenticate {
        key: [u8; 32],
        id: [u8; 32],
    },
    Netinfo,
    Done,
}

impl<'a> LinkHandshake<'a> {
    /// The side that opened the connection. It speaks first: [`Self::take_output`] returns its VERSIONS.
    pub fn initiator(initiator: Initiator<'a>) -> Self {
        let mut link = Self::new(Side::Initiator(initiator));
        link.send(Message::Versions(Versions(Versions::OURS.to_vec())));
        link
    }

    /// The side that accepted the connection.
    pub fn responder(responder: Responder<'a>) -> Self {
        Self::new(Side::Responder(responder))
    }

    fn new(side: Side<'a>) -> Self {
        Self {
            side,
            decoder: Decoder::new(),
            output: Vec::new(),
            received: Sha256::new(),
            sent: Sha256::new(),
            version: None,
            peer: None,
            our_address: None,
            peer_addresses: Vec::new(),
            responder_rsa: EXPORTER_CONTEXT,
            waiting: None,
            state: State::Versions,
        }
    }

    /// Takes bytes that have arrived, and proceeds as far as they allow.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`], [`Error::Length`], [`Error::TooLong`]; [`Error::NoCommonVersion`],
    /// [`Error::Certificate`], [`Error::WrongIdentity`], [`Error::LinkAuthentication`]. After any of them the
    /// connection must be closed.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.decoder.receive(bytes);
        while self.state != State::Done && self.waiting.is_none() {
            let Some(raw) = self.decoder.next_raw()? else { return Ok(()) };
            if raw.command != Command::AUTHENTICATE {
                self.received.update(raw.bytes);
            }
            let cell = raw.decode()?;
            self.step(cell)?;
        }
        Ok(())
    }

    /// The context of keying material that is wanted before the handshake goes on, under the same label and as long as that of [`Binding::exporter`]: the initiator authenticates as a relay
    /// with an RSA identity. Give it by [`Self::give_exporter`].
    pub fn wanted_context(&self) -> Option<&[u8; 32]> {
        self.waiting.as_ref().map(|(context, _)| context)
    }

    /// Takes keying material that was [wanted](Self::wanted_context), and proceeds.
    ///
    /// # Errors
    /// As for [`Self::receive`]; [`Error::NotNow`] if none was wanted.
    pub fn give_exporter(&mut self, exporter: &[u8; 32]) -> Result<(), Error> {
        match (self.waiting.take(), self.state) {
            (Some((_, cell)), State::Authenticate { key, id }) => {
                self.check_authenticate(&key, id, &cell, exporter)?;
                self.receive(&[])
            }
            _ => Err(Error::NotNow("link handshake wants no keying material")),
        }
    }

    /// The bytes to send; empty if there are none.
    pub fn take_output(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.output)
    }

    /// Whether the handshake is done. There may still be output to send.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The result, and the decoder with the bytes that arrived after the handshake.
    ///
    /// # Errors
    /// [`Error::NotNow`] if the handshake is not done.
    pub fn finish(self) -> Result<(Link, Decoder), Error> {
        match (self.state, self.version) {
            (State::Done, Some(version)) => {
                let Self { peer, our_address, peer_addresses, decoder, .. } = self;
                Ok((Link { version, peer, our_address, peer_addresses }, decoder))
            }
            _ => Err(Error::NotNow("link handshake is not done")),
        }
    }

    fn step(&mut self, cell: Cell) -> Result<(), Error> {
        let command = cell.message.command();
        match (self.state, cell.message) {
            (_, Message::Padding | Message::Vpadding(_)) => Ok(()),
            (State::Versions, Message::Versions(versions)) => self.on_versions(&versions),
            (State::Certs, Message::Certs(certs)) => self.on_certs(&certs),
            (State::Challenge, Message::AuthChallenge(challenge)) => self.on_challenge(&challenge),
            (State::Authenticate { key, id }, Message::Authenticate(authenticate)) => {
                self.on_authenticate(&key, id, authenticate)
            }
            (State::Netinfo, Message::Netinfo(netinfo)) => self.on_netinfo(&netinfo),
            (State::Certs, Message::Netinfo(netinfo)) if matches!(self.side, Side::Responder(_)) => {
                self.on_netinfo(&netinfo)
            }
            _ => Err(PeerMisbehaved::CellOutOfTurn { command }.into()),
        }
    }

    fn on_versions(&mut self, theirs: &Versions) -> Result<(), Error> {
        self.version = Some(theirs.highest_common(&Versions::OURS).ok_or(Error::NoCommonVersion)?);
        self.state = State::Certs;
        if let Side::Responder(responder) = &self.side {
            let certs = responder.relay.responder_certs(&responder.binding.certificate);
            let methods = vec![Authenticate::ED25519_SHA256_RFC5705];
            let challenge = AuthChallenge { challenge: responder.challenge, methods };
            let netinfo = netinfo(responder.now, responder.addresses);
            self.send(Message::Versions(Versions(Versions::OURS.to_vec())));
            self.send(Message::Certs(certs));
            self.send(Message::AuthChallenge(challenge));
            // SLOG ends with AUTH_CHALLENGE.
            Cell::on_link(netinfo).encode(&mut self.output);
        }
        Ok(())
    }

    fn on_certs(&mut self, certs: &Certs) -> Result<(), Error> {
        let (now, below) = match &self.side {
            Side::Initiator(initiator) => (initiator.now, SIGNING_LINK),
            Side::Responder(responder) => (responder.now, SIGNING_AUTH),
        };
        let entry = |kind| certs.only(kind).ok_or(Error::Certificate { kind, why: InvalidCertificate::Count });
        let signing = Certificate::check(entry(IDENTITY_SIGNING)?, IDENTITY_SIGNING, None, now)?;
        let certified = Certificate::check(entry(below)?, below, Some(&signing.key), now)?;
        match &self.side {
            Side::Initiator(initiator) => {
                if certified.key != initiator.binding.certificate {
                    return Err(Error::Certificate { kind: below, why: InvalidCertificate::OtherConnection });
                }
                if initiator.expect.is_some_and(|expected| expected != signing.signer) {
                    return Err(Error::WrongIdentity);
                }
                self.peer = Some(signing.signer);
                // It is named in AUTHENTICATE and nothing else: whom we trust is the Ed25519 identity.
                self.responder_rsa = certs.only(RSA_IDENTITY).and_then(rsa::digest_of).unwrap_or_default();
                self.state = State::Challenge;
            }
            Side::Responder(_) => self.state = State::Authenticate { key: certified.key, id: signing.signer },
        }
        Ok(())
    }

    fn on_challenge(&mut self, challenge: &AuthChallenge) -> Result<(), Error> {
        let Side::Initiator(initiator) = &self.side else {
            return Err(PeerMisbehaved::CellOutOfTurn { command: Command::AUTH_CHALLENGE }.into());
        };
        let method = Authenticate::ED25519_SHA256_RFC5705;
        if let Some(relay) = initiator.relay {
            if !challenge.methods.contains(&method) {
                return Err(Error::LinkAuthentication);
            }
            let (binding, nonce) = (initiator.binding, initiator.nonce);
            let responder = self.peer.ok_or(Error::LinkAuthentication)?;
            let slog = self.received.clone();
            self.send(Message::Certs(relay.initiator_certs()));
            let rsa = [relay.exporter_context(), &self.responder_rsa];
            let mut body = signed_part(rsa, [relay.id(), &responder], slog, self.sent.clone(), &binding);
            body.extend_from_slice(&nonce);
            let signature = relay.sign_authentication(&body);
            body.extend_from_slice(&signature);
            self.send(Message::Authenticate(Authenticate::new(method, body)?));
        }
        self.state = State::Netinfo;
        Ok(())
    }

    fn on_authenticate(&mut self, key: &[u8; 32], id: [u8; 32], cell: Authenticate) -> Result<(), Error> {
        let Side::Responder(responder) = &self.side else { return Err(Error::LinkAuthentication) };
        let exporter = responder.binding.exporter;
        match *claimed_rsa(&cell)? {
            EXPORTER_CONTEXT => self.check_authenticate(key, id, &cell, &exporter),
            context => {
                self.waiting = Some((context, cell));
                Ok(())
            }
        }
    }

    fn check_authenticate(
        &mut self,
        key: &[u8; 32],
        id: [u8; 32],
        cell: &Authenticate,
        exporter: &[u8; 32],
    ) -> Result<(), Error> {
        let Side::Responder(responder) = &self.side else { return Err(Error::LinkAuthentication) };
        let binding = Binding { exporter: *exporter, ..responder.binding };
        // The initiator's RSA identity is what it says: it must have signed that and have the keying material for it, and nobody trusts it.
        let rsa = [claimed_rsa(cell)?, responder.relay.exporter_context()];
        let expected =
            signed_part(rsa, [&id, responder.relay.id()], self.sent.clone(), self.received.clone(), &binding);
        let (signed, signature) = cell.body().split_last_chunk::<64>().ok_or(Error::LinkAuthentication)?;
        let right_place = signed.len() == expected.len() + 24 && signed[..expected.len()].ct_eq(&expected).into();
        if cell.kind() != Authenticate::ED25519_SHA256_RFC5705 || !right_place {
            return Err(Error::LinkAuthentication);
        }
        let key = PublicKey::from_bytes(key).map_err(|_| Error::LinkAuthentication)?;
        let verified = Signature::from_bytes(signature).and_then(|signature| key.verify(signed, &signature));
        verified.map_err(|_| Error::LinkAuthentication)?;
        self.peer = Some(id);
        self.state = State::Netinfo;
        Ok(())
    }

    fn on_netinfo(&mut self, theirs: &Netinfo) -> Result<(), Error> {
        self.our_address = match theirs.theirs {
            Address::Ip(address) if !address.is_unspecified() => Some(address),
            _ => None,
        };
        let address = |address: &Address| match address {
            Address::Ip(address) => Some(*address),
            Address::Other { .. } => None,
        };
        self.peer_addresses = theirs.ours.iter().filter_map(address).collect();
        if let Side::Initiator(initiator) = &self.side {
            let time = if initiator.relay.is_some() { initiator.now } else { 0 };
            Cell::on_link(netinfo(time, initiator.addresses)).encode(&mut self.output);
        }
        self.state = State::Done;
        Ok(())
    }

    /// Queues a cell that AUTHENTICATE covers.
    fn send(&mut self, message: Message) {
        let start = self.output.len();
        Cell::on_link(message).encode(&mut self.output);
        self.sent.update(&self.output[start..]);
    }
}

fn netinfo(time: u64, addresses: Addresses<'_>) -> Message {
    let theirs = addresses.theirs.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).into();
    let ours = addresses.ours.iter().copied().map(Address::from).collect();
    Message::Netinfo(Netinfo { time: u32::try_from(time).unwrap_or(0), theirs, ours })
}

const TYPE: &[u8; 8] = b"AUTH0003";

/// CID of an AUTHENTICATE: whose RSA identity it claims, or zero.
fn claimed_rsa(cell: &Authenticate) -> Result<&[u8; 32], Error> {
    let claimed = cell.body().get(TYPE.len()..).and_then(|rest| rest.first_chunk());
    claimed.ok_or(Error::LinkAuthentication)
}

/// The body of AUTHENTICATE up to RAND: TYPE | CID | SID | CID_ED | SID_ED | SLOG | CLOG | SCERT | TLSSECRETS. `rsa` has CID and
/// SID, which are zero for a relay without an RSA identity, and `ed25519` the initiator's and the responder's identities.
fn signed_part(rsa: [&[u8; 32]; 2], ed25519: [&[u8; 32]; 2], slog: Sha256, clog: Sha256, binding: &Binding) -> Vec<u8> {
    let mut body = TYPE.to_vec();
    rsa.into_iter().chain(ed25519).for_each(|identity| body.extend_from_slice(identity));
    body.extend_from_slice(&slog.finalize());
    body.extend_from_slice(&clog.finalize());
    body.extend_from_slice(&binding.certificate);
    body.extend_from_slice(&binding.exporter);
    body
}
