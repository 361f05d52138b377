//! Networks: what limits by address count, since one attacker rarely has only one address.

use crate::Error;
use crate::policy::{is_within, masked};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The addresses that begin with the same bits, such as 192.0.2.0/24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// 127.0.0.0/8 and ::1: this machine.
    pub const LOOPBACK: [Self; 2] = [
        Self { address: IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 0)), bits: 8 },
        Self { address: IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), bits: 128 },
    ];

    /// The network that an address is counted in: its /24, or /48 for IPv6, which is what a site commonly has.
    pub fn around(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let bits = if address.is_ipv4() { 24 } else { 48 };
        Self { address: masked(address, bits), bits }
    }

    /// The range that a provider typically has and hands out networks from: a /16, or /32 for IPv6.
    pub(crate) fn provider(self) -> Self {
        let bits = self.bits.min(if self.address.is_ipv4() { 16 } else { 32 });
        Self { address: masked(self.address, bits), bits }
    }

    /// The network that has only this address.
    pub fn only(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Whether the address is in this network. An IPv4 address that is mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        is_within(address.to_canonical(), self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = Error;

    /// Reads `192.0.2.0/24`, `2001:db8::/48` or a single address.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why| Error::Prefix { text: text.to_owned(), why };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong("expected an IP address before the slash"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => {
                bits.parse().ok().filter(|bits| *bits <= most).ok_or(wrong("too many bits for the address"))?
            }
            None => most,
        };
        if masked(address, bits) != address {
            return Err(wrong("bits are set behind the prefix"));
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_network_and_others_do_not() {
        let around = |text: &str| Prefix::around(text.parse().unwrap());
        assert_eq!(around("192.0.2.1"), around("192.0.2.255"));
        assert_ne!(around("192.0.2.1"), around("192.0.3.1"));
        assert_eq!(around("2001:db8:1:2::3"), around("2001:db8:1:ffff::4"));
        assert_ne!(around("2001:db8:1::3"), around("2001:db8:2::3"));
        assert_eq!(around("::ffff:192.0.2.7"), around("192.0.2.1"), "one host, one network");
    }

    #[test]
    fn a_network_reads_as_it_prints() {
        for text in ["192.0.2.0/24", "127.0.0.0/8", "2001:db8::/48", "0.0.0.0/0", "::1/128"] {
            let prefix: Prefix = text.parse().unwrap();
            assert_eq!(prefix.to_string(), text);
        }
        let one: Prefix = "192.0.2.1".parse().unwrap();
        assert!(one.contains([192, 0, 2, 1].into()) && !one.contains([192, 0, 2, 2].into()));
        for wrong in ["", "192.0.2.1/24", "192.0.2.0/33", "example.org/8", "192.0.2.0/", "::1/129"] {
            assert!(wrong.parse::<Prefix>().unwrap_err().to_string().contains("192.0.2.0/24"), "{wrong}");
        }
    }

    #[test]
    fn loopback_is_this_machine_and_nothing_else() {
        let is_loopback = |text: &str| Prefix::LOOPBACK.iter().any(|prefix| prefix.contains(text.parse().unwrap()));
        assert!(is_loopback("127.9.9.9") && is_loopback("::1") && is_loopback("::ffff:127.0.0.1"));
        assert!(!is_loopback("128.0.0.1") && !is_loopback("::2"));
    }
}
