//! A relay's entry in the consensus.

use super::{DOCUMENT, Flags};
use crate::items::{Item, Once, unpadded};
use crate::{Error, Protocols, time};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The most flags of a relay, and the most further addresses.
const MOST_FLAGS: usize = 64;
const MOST_ADDRESSES: usize = 8;

/// A relay of a consensus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Relay {
    /// 1 to 19 letters and digits, for people.
    pub nickname: String,
    /// SHA-1 of its RSA identity.
    pub rsa_identity: [u8; 20],
    /// Where it takes links: the IPv4 address first.
    pub addresses: Vec<SocketAddr>,
    /// The port of its HTTP directory, if it has one.
    pub directory_port: Option<u16>,
    /// SHA-256 of its microdescriptor.
    pub microdescriptor: [u8; 32],
    /// What the authorities have found of it, such as `Running`.
    pub flags: Flags,
    /// What it speaks.
    pub protocols: Protocols,
    /// What it carries, in kB/s; 0 if nobody says.
    pub bandwidth: u32,
    /// Whether authorities have measured that. Otherwise it is what the relay says, or less.
    pub is_measured: bool,
}

impl Relay {
    /// Whether it has that flag.
    pub fn is(&self, flag: &str) -> bool {
        self.flags.has(flag)
    }
}

const EXPECTED: &str = "r with a nickname, an identity, a time, an IPv4 address and two ports";

/// The RSA identity of the relay whose entry begins with that item.
pub(super) fn identity(item: &Item<'_>) -> Result<[u8; 20], Error> {
    let [_, identity] = item.first(EXPECTED)?;
    unpadded(identity).ok_or_else(|| item.wrong(EXPECTED))
}

/// An entry of which the beginning has been read.
pub(super) struct Draft {
    nickname: String,
    rsa_identity: [u8; 20],
    addresses: Vec<SocketAddr>,
    directory_port: Option<u16>,
    microdescriptor: Once<[u8; 32]>,
    flags: Once<Flags>,
    protocols: Once<Protocols>,
    bandwidth: Once<(u32, bool)>,
}

impl Draft {
    pub(super) fn begin(item: &Item<'_>) -> Result<Self, Error> {
        let wrong = || item.wrong(EXPECTED);
        let [nickname, _, date, time, address, port, directory_port] = item.first(EXPECTED)?;
        let is_nickname =
            (1..=19).contains(&nickname.len()) && nickname.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_nickname || time::parse(date, time).is_none() {
            return Err(wrong());
        }
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        let directory_port: u16 = directory_port.parse().map_err(|_| wrong())?;
        Ok(Self {
            nickname: nickname.to_owned(),
            rsa_identity: identity(item)?,
            addresses: vec![SocketAddr::new(IpAddr::V4(address), port)],
            directory_port: (directory_port > 0).then_some(directory_port),
            microdescriptor: Once::new(DOCUMENT, "m"),
            flags: Once::new(DOCUMENT, "s"),
            protocols: Once::new(DOCUMENT, "pr"),
            bandwidth: Once::new(DOCUMENT, "w"),
        })
    }

    pub(super) fn with(&mut self, item: &Item<'_>) -> Result<(), Error> {
        match item.keyword {
            "a" => {
                const EXPECTED: &str = "a with an address and a port";
                let [address] = item.first(EXPECTED)?;
                let address = address.parse().map_err(|_| item.wrong(EXPECTED))?;
                if self.addresses.len() > MOST_ADDRESSES {
                    return Err(Error::TooMany {
                        document: DOCUMENT,
                        what: "addresses of a relay",
                        most: MOST_ADDRESSES,
                    });
                }
                self.addresses.push(address);
                Ok(())
            }
            "m" => {
                const EXPECTED: &str = "m with 32 bytes in Base64";
                let [digest] = item.first(EXPECTED)?;
                self.microdescriptor.set(item, unpadded(digest).ok_or_else(|| item.wrong(EXPECTED))?)
            }
            "s" => {
                if item.arguments().take(MOST_FLAGS + 1).count() > MOST_FLAGS {
                    return Err(Error::TooMany { document: DOCUMENT, what: "flags of a relay", most: MOST_FLAGS });
                }
                let mut flags = Flags::default();
                item.arguments().for_each(|flag| flags.insert(flag));
                self.flags.set(item, flags)
            }
            "pr" => {
                let read = Protocols::parse(item.rest);
                self.protocols.set(item, read.ok_or_else(|| item.wrong("pr with entries such as Relay=2-6"))?)
            }
            "w" => {
                const EXPECTED: &str = "w with Bandwidth= and a number";
                let mut bandwidth = None;
                for argument in item.arguments() {
                    if let Some(number) = argument.strip_prefix("Bandwidth=") {
                        bandwidth = Some(number.parse().map_err(|_| item.wrong(EXPECTED))?);
                    }
                }
                let bandwidth = bandwidth.ok_or_else(|| item.wrong(EXPECTED))?;
                let is_measured = item.arguments().all(|argument| argument != "Unmeasured=1");
                self.bandwidth.set(item, (bandwidth, is_measured))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn end(self) -> Result<Relay, Error> {
        let (bandwidth, is_measured) = self.bandwidth.get().copied().unwrap_or_default();
        Ok(Relay {
            nickname: self.nickname,
            rsa_identity: self.rsa_identity,
            addresses: self.addresses,
            directory_port: self.directory_port,
            microdescriptor: self.microdescriptor.required()?,
            flags: self.flags.required()?,
            protocols: self.protocols.get().copied().unwrap_or_default(),
            bandwidth,
            is_measured,
        })
    }
}
