//! The bodies of relay messages.

use super::Tag;
use crate::cell::payload::Create2;
use crate::parts::Parts;
use crate::{Error, InvalidTarget, PeerMisbehaved};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// BEGIN: the target of a stream (tor-spec, "Opening streams").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// A host name, an IPv4 address, or an IPv6 address in brackets.
    pub host: String,
    /// The port, not 0.
    pub port: u16,
}

impl Begin {
    /// Longest host that we accept.
    pub const MOST_HOST: usize = 255;

    /// Checks host and port.
    ///
    /// # Errors
    /// [`Error::Target`] for a host that is empty, too long or not printable ASCII, and for port 0.
    pub fn new(host: &str, port: u16) -> Result<Self, Error> {
        if host.is_empty() {
            return Err(InvalidTarget::HostEmpty.into());
        }
        if host.len() > Self::MOST_HOST {
            return Err(InvalidTarget::HostLong { most: Self::MOST_HOST, got: host.len() }.into());
        }
        if !host.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidTarget::HostBytes.into());
        }
        if port == 0 {
            return Err(InvalidTarget::PortRange.into());
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// Decodes `host:port NUL [flags 4]`. The flags choose between IPv4 and IPv6; our exits ignore them.
    ///
    /// # Errors
    /// [`Error::Target`].
    pub fn decode(body: &[u8]) -> Result<Self, Error> {
        let end = body.iter().position(|byte| *byte == 0).ok_or(InvalidTarget::Unterminated)?;
        let text = str::from_utf8(&body[..end]).map_err(|_| InvalidTarget::HostBytes)?;
        let (host, port) = text.rsplit_once(':').ok_or(InvalidTarget::PortMissing)?;
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidTarget::PortMissing.into());
        }
        Self::new(host, port.parse().map_err(|_| InvalidTarget::PortRange)?)
    }

    /// Encodes the body, without flags.
    pub fn encode(&self) -> Vec<u8> {
        format!("{}:{}\0", self.host, self.port).into_bytes()
    }
}

/// CONNECTED: the address that a stream is connected to, if the exit reveals it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The address.
    pub address: Option<IpAddr>,
}

/// The type of an IPv6 address in CONNECTED.
const CONNECTED_IPV6: u8 = 6;

impl Connected {
    /// Decodes `IPv4 4 | TTL 4`, or `0 4 | 6 1 | IPv6 16 | TTL 4`, or an empty body.
    ///
    /// # Errors
    /// [`Error::Length`], [`PeerMisbehaved::AddressType`].
    pub fn decode(body: &[u8]) -> Result<Self, Error> {
        if body.is_empty() {
            return Ok(Self { address: None });
        }
        let mut parts = Parts::of("CONNECTED", body, 4, true)?;
        let four = *parts.array::<4>()?;
        if four != [0; 4] {
            return Ok(Self { address: Some(Ipv4Addr::from(four).into()) });
        }
        match *parts.array::<1>()? {
            [CONNECTED_IPV6] => Ok(Self { address: Some(Ipv6Addr::from(*parts.array::<16>()?).into()) }),
            [kind] => Err(PeerMisbehaved::AddressType { kind }.into()),
        }
    }

    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(25);
        match self.address {
            None => return body,
            Some(IpAddr::V4(address)) => body.extend_from_slice(&address.octets()),
            Some(IpAddr::V6(address)) => {
                body.extend_from_slice(&[0, 0, 0, 0, CONNECTED_IPV6]);
                body.extend_from_slice(&address.octets());
            }
        }
        body.extend_from_slice(&60u32.to_be_bytes());
        body
    }
}

/// RESOLVE: a question for the addresses of a name, or for the name of an address (tor-spec, "Remote hostname lookup").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolve {
    /// The addresses of this name.
    Name(String),
    /// The name of this address.
    Pointer(IpAddr),
}

/// The zones of addresses (RFC 1035, 3.5; RFC 3596, 2.5).
const IPV4_ZONE: &str = ".in-addr.arpa";
const IPV6_ZONE: &str = ".ip6.arpa";

impl Resolve {
    /// A question for the addresses of a host.
    ///
    /// # Errors
    /// [`Error::Target`] for a host that is empty, too long or not printable ASCII.
    pub fn name(host: &str) -> Result<Self, Error> {
        // Any port: a look-up has none.
        Begin::new(host, 1).map(|begin| Self::Name(begin.host))
    }

    /// Decodes `host NUL`. A name of a zone of addresses, as deep as an address, asks for that address's name.
    ///
    /// # Errors
    /// [`Error::Target`].
    pub fn decode(body: &[u8]) -> Result<Self, Error> {
        let end = body.iter().position(|byte| *byte == 0).ok_or(InvalidTarget::Unterminated)?;
        let host = str::from_utf8(&body[..end]).map_err(|_| InvalidTarget::HostBytes)?;
        Ok(match pointer(&host.to_ascii_lowercase()) {
            Some(address) => Self::Pointer(address),
            None => Self::name(host)?,
        })
    }

    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Name(name) => format!("{name}\0"),
            Self::Pointer(IpAddr::V4(address)) => {
                let [a, b, c, d] = address.octets();
                format!("{d}.{c}.{b}.{a}{IPV4_ZONE}\0")
            }
            Self::Pointer(IpAddr::V6(address)) => {
                let digits = address.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
                let labels: Vec<String> = digits.map(|digit| format!("{digit:x}")).collect();
                format!("{}{IPV6_ZONE}\0", labels.join("."))
            }
        }
        .into_bytes()
    }
}

/// The address that a name in lower case stands for in its zone.
fn pointer(name: &str) -> Option<IpAddr> {
    if let Some(labels) = name.strip_suffix(IPV4_ZONE) {
        let mut octets: Vec<&str> = labels.split('.').collect();
        octets.reverse();
        return octets.join(".").parse::<Ipv4Addr>().ok().map(IpAddr::V4);
    }
    let labels = name.strip_suffix(IPV6_ZONE)?;
    let mut bits = 0u128;
    let mut count = 0;
    for label in labels.split('.').rev() {
        let digit = label.bytes().next().filter(u8::is_ascii_hexdigit).filter(|_| label.len() == 1)?;
        bits = bits << 4 | u128::from((digit as char).to_digit(16)?);
        count += 1;
    }
    (count == 32).then(|| Ipv6Addr::from(bits).into())
}

/// RESOLVED: the answers to RESOLVE, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// Addresses of a name, at least one.
    Addresses(Vec<IpAddr>),
    /// The name of an address.
    Name(String),
    /// There is no answer. Asking again may help if it is `transient`.
    Failed {
        /// Whether it may be different later, or elsewhere.
        transient: bool,
    },
}

/// Types of answers. There may be others, which are passed over.
const RESOLVED_NAME: u8 = 0;
const RESOLVED_IPV4: u8 = 4;
const RESOLVED_IPV6: u8 = 6;
const RESOLVED_TRANSIENT: u8 = 0xf0;
const RESOLVED_PERMANENT: u8 = 0xf1;
/// Seconds for which an answer may be kept; the least that C tor's exits say.
const RESOLVED_LIVES: u32 = 60;

impl Resolved {
    /// The most addresses that are sent: they fit a cell of either format.
    pub const MOST: usize = 16;

    /// Decodes TYPE 1 | LENGTH 1 | VALUE | TTL 4, each.
    ///
    /// # Errors
    /// [`Error::Length`]; [`PeerMisbehaved::AddressType`] if no answer is of a type that we know, or one has another length than its type;
    /// [`Error::Target`] for a name that is none.
    pub fn decode(body: &[u8]) -> Result<Self, Error> {
        let (mut addresses, mut name, mut failed, mut first) = (Vec::new(), None, None, None);
        let mut rest = body;
        while first.is_none() || !rest.is_empty() {
            let mut parts = Parts::of("RESOLVED", rest, 6, true)?;
            let [kind, length] = *parts.array()?;
            let value = parts.slice(length.into())?;
            let _lives = parts.array::<4>()?;
            rest = parts.rest();
            first.get_or_insert(kind);
            let wrong = PeerMisbehaved::AddressType { kind };
            match kind {
                RESOLVED_NAME => {
                    let host = str::from_utf8(value).map_err(|_| InvalidTarget::HostBytes)?;
                    name.get_or_insert(Begin::new(host, 1)?.host);
                }
                RESOLVED_IPV4 => {
                    addresses.push(IpAddr::from(<[u8; 4]>::try_from(value).map_err(|_| wrong)?));
                }
                RESOLVED_IPV6 => {
                    addresses.push(IpAddr::from(<[u8; 16]>::try_from(value).map_err(|_| wrong)?));
                }
                RESOLVED_TRANSIENT | RESOLVED_PERMANENT => {
                    failed.get_or_insert(kind == RESOLVED_TRANSIENT);
                }
                _ => {}
            }
        }
        match (addresses.is_empty(), name, failed) {
            (false, ..) => Ok(Self::Addresses(addresses)),
            (true, Some(name), _) => Ok(Self::Name(name)),
            (true, None, Some(transient)) => Ok(Self::Failed { transient }),
            (true, None, None) => Err(PeerMisbehaved::AddressType { kind: first.unwrap_or_default() }.into()),
        }
    }

    /// Encodes the body: at most [`Self::MOST`] addresses, and no more of a name than has room.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut put = |kind: u8, value: &[u8], lives: u32| {
            body.extend_from_slice(&[kind, value.len() as u8]);
            body.extend_from_slice(value);
            body.extend_from_slice(&lives.to_be_bytes());
        };
        match self {
            Self::Addresses(addresses) => {
                for address in addresses.iter().take(Self::MOST) {
                    match address {
                        IpAddr::V4(address) => put(RESOLVED_IPV4, &address.octets(), RESOLVED_LIVES),
                        IpAddr::V6(address) => put(RESOLVED_IPV6, &address.octets(), RESOLVED_LIVES),
                    }
                }
            }
            Self::Name(name) => put(RESOLVED_NAME, &name.as_bytes()[..name.len().min(255)], RESOLVED_LIVES),
            Self::Failed { transient: true } => put(RESOLVED_TRANSIENT, &[], 0),
            Self::Failed { transient: false } => put(RESOLVED_PERMANENT, &[], 0),
        }
        body
    }
}

/// END: why a stream ended (tor-spec, "Closing streams").
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndReason(pub u8);

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal;)+) => {
        impl EndReason {
            $($(#[$doc])* pub const $name: Self = Self($value);)+

            /// The reason's name in the specification, if it is a known one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for EndReason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name => f.write_str($text),)+
                    Self(number) => write!(f, "reason {number}"),
                }
            }
        }
    };
}

reasons! {
    /// None of the other reasons.
    MISC = 1, "no reason given";
    /// The host name was not found.
    RESOLVEFAILED = 2, "host name not found";
    /// The host refused the connection.
    CONNECTREFUSED = 3, "host refused the connection";
    /// The exit's policy forbids the target.
    EXITPOLICY = 4, "the exit's policy forbids it";
    /// The circuit is being destroyed.
    DESTROY = 5, "circuit was destroyed";
    /// The connection was closed normally.
    DONE = 6, "connection was closed";
    /// The connection timed out.
    TIMEOUT = 7, "connection timed out";
    /// There is no route to the host.
    NOROUTE = 8, "no route to the host";
    /// The relay hibernates.
    HIBERNATING = 9, "relay hibernates";
    /// An internal error.
    INTERNAL = 10, "internal error";
    /// Out of resources.
    RESOURCELIMIT = 11, "relay is out of resources";
    /// The connection was reset.
    CONNRESET = 12, "connection was reset";
    /// A protocol violation.
    TORPROTOCOL = 13, "protocol violation";
    /// BEGIN_DIR was sent to a relay without a directory.
    NOTDIRECTORY = 14, "relay has no directory";
}

impl fmt::Debug for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndReason({}: {self})", self.0)
    }
}

/// A circuit's SENDME, version 1 (prop 289). Version 0, which is empty, is not accepted for circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sendme {
    /// Tag of the acknowledged cell.
    pub tag: Tag,
}

impl Sendme {
    /// The version whose tag proves receipt.
    const VERSION: u8 = 1;

    /// Decodes VERSION 1 | DATA_LEN 2 | tag.
    ///
    /// # Errors
    /// [`Error::Length`], [`PeerMisbehaved::SendmeVersion`], [`PeerMisbehaved::SendmeTagLength`].
    pub fn decode(body: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("SENDME", body, 3, true)?;
        let [version] = *parts.array()?;
        if version != Self::VERSION {
            return Err(PeerMisbehaved::SendmeVersion { got: version }.into());
        }
        let length = parts.u16()?;
        let tag = Tag::from_bytes(parts.slice(length.into())?);
        Ok(Self { tag: tag.ok_or(PeerMisbehaved::SendmeTagLength { got: length.into() })? })
    }

    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let tag = self.tag.as_bytes();
        let mut body = vec![Self::VERSION];
        body.extend_from_slice(&(tag.len() as u16).to_be_bytes());
        body.extend_from_slice(tag);
        body
    }
}

/// The link specifiers of EXTEND2: how to reach the next relay, and its identities (tor-spec, "EXTEND and EXTENDED
/// cells").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextRelay {
    /// Addresses, specifier types 0 and 1.
    pub addresses: Vec<SocketAddr>,
    /// Ed25519 identity, type 3.
    pub ed25519: Option<[u8; 32]>,
    /// SHA-1 of the RSA identity, type 2.
    pub rsa: Option<[u8; 20]>,
}

/// EXTEND2: the next relay, and the circuit creation to send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extend2 {
    /// The next relay.
    pub next: NextRelay,
    /// The creation to send it.
    pub create: Create2,
}

/// LSTYPE of an IPv4 address and port.
const IPV4: u8 = 0;
/// LSTYPE of an IPv6 address and port.
const IPV6: u8 = 1;
/// LSTYPE of the SHA-1 digest of an RSA identity.
const RSA_ID: u8 = 2;
/// LSTYPE of an Ed25519 identity.
const ED25519_ID: u8 = 3;

impl Extend2 {
    /// Decodes NSPEC | specifiers | HTYPE | HLEN | HDATA. Specifiers of unknown types are skipped.
    ///
    /// # Errors
    /// [`PeerMisbehaved::IdentityRepeated`], [`PeerMisbehaved::LinkSpecifierLength`], [`Error::Length`], [`Error::TooLong`].
    pub fn decode(body: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("EXTEND2", body, 5, true)?;
        let [count] = *parts.array()?;
        let mut next = NextRelay::default();
        for _ in 0..count {
            let [kind, length] = *parts.array()?;
            let mut spec = Parts::of("link specifier", parts.slice(length.into())?, 0, true)?;
            match kind {
                IPV4 => next.addresses.push((Ipv4Addr::from(*spec.array::<4>()?), spec.u16()?).into()),
                IPV6 => next.addresses.push((Ipv6Addr::from(*spec.array::<16>()?), spec.u16()?).into()),
                RSA_ID if next.rsa.is_none() => next.rsa = Some(*spec.array()?),
                ED25519_ID if next.ed25519.is_none() => next.ed25519 = Some(*spec.array()?),
                RSA_ID | ED25519_ID => return Err(PeerMisbehaved::IdentityRepeated { kind }.into()),
                _ => continue,
            }
            let (got, left) = (usize::from(length), spec.rest().len());
            if left > 0 {
                return Err(PeerMisbehaved::LinkSpecifierLength { kind, expected: got - left, got }.into());
            }
        }
        Ok(Self { next, create: Create2::decode(parts.rest())? })
    }

    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = vec![0];
        let mut put = |kind: u8, parts: &[&[u8]]| {
            body[0] += 1;
            body.extend_from_slice(&[kind, parts.iter().map(|part| part.len()).sum::<usize>() as u8]);
            parts.iter().for_each(|part| body.extend_from_slice(part));
        };
        // At most four: the count is one byte, and the body has its limit.
        for address in self.next.addresses.iter().take(4) {
            match address.ip() {
                IpAddr::V4(ip) => put(IPV4, &[&ip.octets(), &address.port().to_be_bytes()]),
                IpAddr::V6(ip) => put(IPV6, &[&ip.octets(), &address.port().to_be_bytes()]),
            }
        }
        if let Some(rsa) = &self.next.rsa {
            put(RSA_ID, &[rsa]);
        }
        if let Some(ed25519) = &self.next.ed25519 {
            put(ED25519_ID, &[ed25519]);
        }
        self.create.encode(&mut body);
        body
    }
}
