//! NETINFO.

use crate::Error;
use crate::parts::Parts;
use alloc::vec::Vec;
use core::net::IpAddr;

/// NETINFO: the sender's time, and addresses (tor-spec, "NETINFO cells").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netinfo {
    /// Seconds since 1970. Clients send 0, so that their clocks don't identify them.
    pub time: u32,
    /// The peer's address, as the sender sees it.
    pub theirs: Address,
    /// The sender's own addresses, at most 255; clients send none.
    pub ours: Vec<Address>,
}

/// An address in NETINFO: ATYPE, ALEN, AVAL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// ATYPE 4 or 6.
    Ip(IpAddr),
    /// An address of another type, or of the wrong length for its type; ignored.
    Other {
        /// ATYPE.
        kind: u8,
        /// AVAL, at most 255 bytes.
        value: Vec<u8>,
    },
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        Self::Ip(address)
    }
}

impl Netinfo {
    /// Decodes a payload: TIME 4 | OTHERADDR | N 1 | MYADDRs.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("NETINFO", payload, 4 + 2 + 1, true)?;
        let time = u32::from_be_bytes(*parts.array()?);
        let theirs = Address::decode(&mut parts)?;
        let [count] = *parts.array()?;
        let ours = (0..count).map(|_| Address::decode(&mut parts)).collect::<Result<_, _>>()?;
        Ok(Self { time, theirs, ours })
    }

    /// Appends the payload. Own addresses that don't fit the cell are left out.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.time.to_be_bytes());
        self.theirs.encode(out);
        let count_at = out.len();
        out.push(0);
        for address in self.ours.iter().take(255) {
            let mut encoded = Vec::new();
            address.encode(&mut encoded);
            if out.len() - start + encoded.len() > crate::cell::PAYLOAD {
                break;
            }
            out.extend_from_slice(&encoded);
            out[count_at] += 1;
        }
    }
}

impl Address {
    fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        let [kind, length] = *parts.array()?;
        let value = parts.slice(length.into())?;
        Ok(match (kind, value.len()) {
            (4, 4) => Self::Ip(<[u8; 4]>::try_from(value).expect("four bytes").into()),
            (6, 16) => Self::Ip(<[u8; 16]>::try_from(value).expect("sixteen bytes").into()),
            _ => Self::Other { kind, value: value.to_vec() },
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |kind: u8, value: &[u8]| {
            let value = &value[..value.len().min(255)];
            out.extend_from_slice(&[kind, value.len() as u8]);
            out.extend_from_slice(value);
        };
        match self {
            Self::Ip(IpAddr::V4(address)) => put(4, &address.octets()),
            Self::Ip(IpAddr::V6(address)) => put(6, &address.octets()),
            Self::Other { kind, value } => put(*kind, value),
        }
    }
}
