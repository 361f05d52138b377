//! VERSIONS, CERTS, AUTH_CHALLENGE and AUTHENTICATE.

use crate::parts::Parts;
use crate::{Error, PeerMisbehaved};
use alloc::vec::Vec;

/// VERSIONS: the link protocols that the sender speaks (tor-spec, "Negotiating versions with VERSIONS cells").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions(pub Vec<u16>);

impl Versions {
    /// Private: link protocol 5 with CREATE2V and CREATED2V (`docs/cells.md`). Peers that don't know it ignore it.
    pub const WIDE: u16 = 0xFF05;
    /// All versions that this crate speaks.
    pub const OURS: [u16; 3] = [4, 5, Self::WIDE];

    /// The highest version that is in both lists.
    pub fn highest_common(&self, other: &[u16]) -> Option<u16> {
        self.0.iter().copied().filter(|version| other.contains(version)).max()
    }

    /// Decodes a payload: a list of versions, two bytes each.
    ///
    /// # Errors
    /// [`PeerMisbehaved::VersionsOdd`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        let (pairs, []) = payload.as_chunks::<2>() else {
            return Err(PeerMisbehaved::VersionsOdd { got: payload.len() }.into());
        };
        Ok(Self(pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect()))
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.0.iter().take(1024).for_each(|version| out.extend_from_slice(&version.to_be_bytes()));
    }
}

/// CERTS: a relay's certificates, each with its type (tor-spec, "CERTS cells"). [`crate::link::certificate`] checks
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certs {
    entries: Vec<CertEntry>,
}

/// One certificate of CERTS, not yet parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertEntry {
    /// CertType.
    pub kind: u8,
    /// The certificate, at most 65535 bytes; CERTS as a whole has its own limit.
    pub bytes: Vec<u8>,
}

impl Certs {
    /// A cell with these certificates.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 255 certificates, or if they don't fit a variable cell.
    pub fn new(entries: Vec<CertEntry>) -> Result<Self, Error> {
        let got = 1 + entries.iter().map(|entry| 3 + entry.bytes.len()).sum::<usize>();
        if entries.len() > 255 || got > crate::cell::MOST_VARIABLE {
            return Err(Error::TooLong { what: "CERTS cell", most: crate::cell::MOST_VARIABLE, got });
        }
        Ok(Self { entries })
    }

    /// All certificates.
    pub fn entries(&self) -> &[CertEntry] {
        &self.entries
    }

    /// The certificate of this type, if there is exactly one: tor-spec forbids two.
    pub fn only(&self, kind: u8) -> Option<&[u8]> {
        let mut of_kind = self.entries.iter().filter(|entry| entry.kind == kind);
        match (of_kind.next(), of_kind.next()) {
            (Some(entry), None) => Some(&entry.bytes),
            _ => None,
        }
    }

    /// Decodes a payload: N 1 | (CertType 1 | CLEN 2 | certificate)*.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("CERTS", payload, 1, true)?;
        let [count] = *parts.array()?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let [kind] = *parts.array()?;
            let length = parts.u16()?;
            entries.push(CertEntry { kind, bytes: parts.slice(length.into())?.to_vec() });
        }
        Ok(Self { entries })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.entries.len() as u8);
        for entry in &self.entries {
            out.push(entry.kind);
            out.extend_from_slice(&(entry.bytes.len() as u16).to_be_bytes());
            out.extend_from_slice(&entry.bytes);
        }
    }
}

/// AUTH_CHALLENGE: random bytes, and the methods of authentication that the responder accepts (tor-spec,
/// "AUTH_CHALLENGE cells").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthChallenge {
    /// Random bytes. They matter only as part of the transcript that the initiator signs.
    pub challenge: [u8; 32],
    /// The methods; ours is [`Authenticate::ED25519_SHA256_RFC5705`]. At most 1024 are sent.
    pub methods: Vec<u16>,
}

impl AuthChallenge {
    /// Decodes a payload: Challenge 32 | N_Methods 2 | Methods.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("AUTH_CHALLENGE", payload, 34, true)?;
        let challenge = *parts.array()?;
        let count = parts.u16()?;
        let methods = (0..count).map(|_| parts.u16()).collect::<Result<_, _>>()?;
        Ok(Self { challenge, methods })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let methods = &self.methods[..self.methods.len().min(1024)];
        out.extend_from_slice(&self.challenge);
        out.extend_from_slice(&(methods.len() as u16).to_be_bytes());
        methods.iter().for_each(|method| out.extend_from_slice(&method.to_be_bytes()));
    }
}

/// AUTHENTICATE: the method and its data (tor-spec, "AUTHENTICATE cells"). [`crate::link`] makes and checks the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticate {
    kind: u16,
    body: Vec<u8>,
}

impl Authenticate {
    /// Ed25519 over the transcript and an RFC 5705 exporter value: type 3.
    pub const ED25519_SHA256_RFC5705: u16 = 3;

    /// A cell with `body` for the method `kind`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if it does not fit a variable cell.
    pub fn new(kind: u16, body: Vec<u8>) -> Result<Self, Error> {
        let most = crate::cell::MOST_VARIABLE - 4;
        if body.len() > most {
            return Err(Error::TooLong { what: "AUTHENTICATE cell", most, got: body.len() });
        }
        Ok(Self { kind, body })
    }

    /// AuthType.
    pub fn kind(&self) -> u16 {
        self.kind
    }

    /// Authentication.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Decodes a payload: AuthType 2 | AuthLen 2 | Authentication.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::TooLong`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("AUTHENTICATE", payload, 4, true)?;
        let (kind, length) = (parts.u16()?, parts.u16()?);
        Self::new(kind, parts.slice(length.into())?.to_vec())
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&(self.body.len() as u16).to_be_bytes());
        out.extend_from_slice(&self.body);
    }
}
