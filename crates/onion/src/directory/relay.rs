//! What every document says of a relay, in the same bytes: descriptors, views and the consensus.

use super::{Fingerprint, InvalidDocument};
use crate::Error;
use crate::parts::Parts;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// The most rules in the summary of an exit policy.
pub const MOST_RULES: usize = 32;
/// The most relays that a relay may declare as its family.
pub const MOST_FAMILY: usize = 64;
/// The longest name in bytes.
const MOST_NAME: usize = 32;
/// The most handshakes.
const MOST_HANDSHAKES: usize = 32;

const RELAY: &str = "relay";

/// A relay as the consensus lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Its Ed25519 identity.
    pub identity: [u8; 32],
    /// The fingerprint of the key that signs its descriptors, whose Ed25519 half is the identity.
    pub fingerprint: Fingerprint,
    /// Its X25519 onion key.
    pub x25519: [u8; 32],
    /// SHA-256 of its static KEM keys: ML-KEM-512, 768 and 1024.
    pub kems: [Option<[u8; 32]>; 3],
    /// When its descriptor was made, in seconds since 1970.
    pub published: u64,
    /// Until when it accepts these onion keys.
    pub keys_until: u64,
    /// What it says that it carries, in kB/s.
    pub bandwidth: u32,
    /// The numbers of the handshakes that it offers ([`HandshakeType`](crate::handshake::HandshakeType)), ascending. Others may be there that
    /// we don't know.
    pub handshakes: Vec<u16>,
    /// Where it takes links: one address, or an IPv4 and an IPv6 address, the preferred one first.
    pub addresses: Vec<SocketAddr>,
    /// Where it lets streams go, as far as the summary has room for it; empty if it is no exit.
    pub exit: Vec<Rule>,
    /// A name for people, which nobody checks. May be empty.
    pub name: String,
}

/// A rule of a policy's summary: these hosts, at these ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The hosts.
    pub host: Host,
    /// The first port, from 1.
    pub low: u16,
    /// The last port.
    pub high: u16,
}

/// The hosts that a rule permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Every public address.
    Public,
    /// Every address that isn't public.
    Private,
    /// Addresses with these first bits.
    Network(IpAddr, u8),
}

/// Whether a relay may have that name: at most 32 printable ASCII characters.
pub fn is_name(name: &str) -> bool {
    name.len() <= MOST_NAME && name.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

impl Relay {
    /// IDENTITY 32 | FINGERPRINT 32 | X25519 32 | KEMS 1, 32 for each bit | PUBLISHED 8 | KEYS_UNTIL 8 | BANDWIDTH 4 | HANDSHAKES 1, 2 each |
    /// ADDRESSES 1, each KIND 1 | ADDRESS 4 or 16 | PORT 2 | EXIT 1, each KIND 1 | [ADDRESS | BITS 1] | LOW 2 | HIGH 2 | NAME 1, bytes.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.identity);
        out.extend_from_slice(&self.fingerprint);
        out.extend_from_slice(&self.x25519);
        out.push((0..3).filter(|index| self.kems[*index].is_some()).map(|index| 1 << index).sum());
        self.kems.iter().flatten().for_each(|digest| out.extend_from_slice(digest));
        out.extend_from_slice(&self.published.to_be_bytes());
        out.extend_from_slice(&self.keys_until.to_be_bytes());
        out.extend_from_slice(&self.bandwidth.to_be_bytes());
        put_count(out, self.handshakes.len());
        self.handshakes.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
        put_count(out, self.addresses.len());
        for address in &self.addresses {
            put_address(out, address.ip());
            out.extend_from_slice(&address.port().to_be_bytes());
        }
        put_count(out, self.exit.len());
        for Rule { host, low, high } in &self.exit {
            match host {
                Host::Public => out.push(0),
                Host::Private => out.push(1),
                Host::Network(address, bits) => {
                    put_address(out, *address);
                    out.push(*bits);
                }
            }
            out.extend_from_slice(&low.to_be_bytes());
            out.extend_from_slice(&high.to_be_bytes());
        }
        put_count(out, self.name.len());
        out.extend_from_slice(self.name.as_bytes());
    }

    pub(super) fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        let wrong = |why| Error::from(InvalidDocument::field(RELAY, why));
        let (identity, fingerprint, x25519) = (*parts.array()?, *parts.array()?, *parts.array()?);
        let [mask] = *parts.array()?;
        if mask > 7 {
            return Err(wrong("names a KEM key of an unknown kind"));
        }
        let mut kems = [None; 3];
        for index in (0..3).filter(|index| mask >> index & 1 == 1) {
            kems[index] = Some(*parts.array()?);
        }
        let (published, keys_until, bandwidth) = (parts.u64()?, parts.u64()?, parts.u32()?);
        if keys_until <= published {
            return Err(wrong("its onion keys ended before it was published"));
        }
        let count = count(parts, MOST_HANDSHAKES, "has too many handshakes")?;
        let handshakes = (0..count).map(|_| parts.u16()).collect::<Result<Vec<_>, _>>()?;
        if handshakes.is_empty() {
            return Err(wrong("offers no handshake"));
        }
        if !handshakes.is_sorted_by(|low, high| low < high) {
            return Err(InvalidDocument::Order { what: "the handshakes of a relay" }.into());
        }
        let addresses = addresses(parts)?;
        let count = self::count(parts, MOST_RULES, "has too many rules of exit policy")?;
        let exit = (0..count).map(|_| Rule::decode(parts)).collect::<Result<Vec<_>, _>>()?;
        let count = self::count(parts, MOST_NAME, "has too long a name")?;
        let name = str::from_utf8(parts.slice(count)?).ok().filter(|name| is_name(name));
        let name = name.ok_or_else(|| wrong("has a name that isn't printable ASCII"))?.to_owned();
        Ok(Self {
            identity,
            fingerprint,
            x25519,
            kems,
            published,
            keys_until,
            bandwidth,
            handshakes,
            addresses,
            exit,
            name,
        })
    }

    /// Whether it may be an exit, to anywhere.
    pub fn is_exit(&self) -> bool {
        !self.exit.is_empty()
    }
}

impl Rule {
    fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        let wrong = |why| Error::from(InvalidDocument::field("exit policy of a relay", why));
        let [kind] = *parts.array()?;
        let host = match kind {
            0 => Host::Public,
            1 => Host::Private,
            _ => {
                let address = address(parts, kind)?.ok_or_else(|| wrong("has a rule of an unknown kind"))?;
                let [bits] = *parts.array()?;
                if !is_masked(address, bits) {
                    return Err(wrong("has a network with bits behind its prefix"));
                }
                Host::Network(address, bits)
            }
        };
        let (low, high) = (parts.u16()?, parts.u16()?);
        if low == 0 || low > high {
            return Err(wrong("has ports that are no range from 1 to 65535"));
        }
        Ok(Self { host, low, high })
    }
}

/// Whether the address has no more than `bits` bits, and no bit set behind the first `bits`.
fn is_masked(address: IpAddr, bits: u8) -> bool {
    let (all, most) = match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    bits <= most && all.checked_shl(bits.into()).unwrap_or(0) == 0
}

fn addresses(parts: &mut Parts<'_>) -> Result<Vec<SocketAddr>, Error> {
    let wrong = |why| Error::from(InvalidDocument::field(RELAY, why));
    let count = count(parts, 2, "has more than two addresses")?;
    let mut addresses: Vec<SocketAddr> = Vec::with_capacity(count);
    for _ in 0..count {
        let [kind] = *parts.array()?;
        let ip = address(parts, kind)?.ok_or_else(|| wrong("has an address of an unknown kind"))?;
        let port = parts.u16()?;
        if port == 0 || ip.is_unspecified() || ip.is_multicast() || ip.to_canonical() != ip {
            return Err(wrong("has an address that can't be connected to"));
        }
        addresses.push(SocketAddr::new(ip, port));
    }
    match addresses.as_slice() {
        [] => Err(wrong("has no address")),
        [one, two] if one.is_ipv4() == two.is_ipv4() => Err(wrong("has two addresses of one kind")),
        _ => Ok(addresses),
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    // A longer one is cut down to what its decoder refuses.
    out.push(u8::try_from(count).unwrap_or(u8::MAX));
}

fn count(parts: &mut Parts<'_>, most: usize, why: &'static str) -> Result<usize, Error> {
    let [count] = *parts.array()?;
    match usize::from(count) {
        count if count <= most => Ok(count),
        _ => Err(InvalidDocument::field(RELAY, why).into()),
    }
}

fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            out.push(4);
            out.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.push(6);
            out.extend_from_slice(&v6.octets());
        }
    }
}

fn address(parts: &mut Parts<'_>, kind: u8) -> Result<Option<IpAddr>, Error> {
    Ok(match kind {
        4 => Some(IpAddr::from(*parts.array::<4>()?)),
        6 => Some(IpAddr::from(*parts.array::<16>()?)),
        _ => None,
    })
}

/// The family that a relay declares: N 1 | IDENTITY 32 each, ascending.
pub(super) fn put_family(out: &mut Vec<u8>, family: &[[u8; 32]]) {
    put_count(out, family.len());
    family.iter().for_each(|identity| out.extend_from_slice(identity));
}

pub(super) fn family(parts: &mut Parts<'_>) -> Result<Vec<[u8; 32]>, Error> {
    let count = count(parts, MOST_FAMILY, "declares too many relays as its family")?;
    let family = (0..count).map(|_| parts.array().copied()).collect::<Result<Vec<_>, _>>()?;
    match family.is_sorted_by(|low, high| low < high) {
        true => Ok(family),
        false => Err(InvalidDocument::Order { what: "the family of a relay" }.into()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn relay(number: u8) -> Relay {
        Relay {
            identity: [number; 32],
            fingerprint: [number ^ 0x80; 32],
            x25519: [number ^ 0x40; 32],
            kems: [None, Some([number; 32]), None],
            published: 1_800_000_000,
            keys_until: 1_803_000_000,
            bandwidth: 1000 * u32::from(number),
            handshakes: vec![2, 0xff68],
            addresses: vec![SocketAddr::from(([192, 0, 2, number], 9001))],
            exit: vec![Rule { host: Host::Public, low: 80, high: 443 }],
            name: "ada".to_owned(),
        }
    }

    fn decoded(relay: &Relay) -> Result<Relay, Error> {
        let mut out = Vec::new();
        relay.encode(&mut out);
        let mut parts = Parts::of("relay", &out, 0, true).unwrap();
        let relay = Relay::decode(&mut parts)?;
        parts.end().map(|()| relay)
    }

    #[test]
    fn a_relay_reads_as_it_was_written() {
        let mut whole = relay(1);
        whole.kems = [Some([1; 32]), None, Some([3; 32])];
        whole.addresses.push("[2001:db8::1]:9001".parse().unwrap());
        whole.exit.push(Rule { host: Host::Private, low: 1, high: 65535 });
        whole.exit.push(Rule { host: Host::Network([10, 0, 0, 0].into(), 8), low: 22, high: 22 });
        whole.exit.push(Rule { host: Host::Network("2001:db8::".parse().unwrap(), 32), low: 22, high: 23 });
        for relay in [relay(1), whole, Relay { exit: Vec::new(), name: String::new(), ..relay(2) }] {
            assert_eq!(decoded(&relay).as_ref(), Ok(&relay));
        }
    }

    #[test]
    fn what_no_relay_says_is_refused() {
        type Damage = fn(&mut Relay);
        let damages: [(&str, Damage); 15] = [
            ("ended before", |relay| relay.keys_until = relay.published),
            ("offers no handshake", |relay| relay.handshakes.clear()),
            ("ascending", |relay| relay.handshakes = vec![3, 2]),
            ("ascending", |relay| relay.handshakes = vec![3, 3]),
            ("too many handshakes", |relay| relay.handshakes = (1..=33).collect()),
            ("has no address", |relay| relay.addresses.clear()),
            ("two addresses of one kind", |relay| relay.addresses = vec![relay.addresses[0]; 2]),
            ("can't be connected to", |relay| relay.addresses[0].set_port(0)),
            ("can't be connected to", |relay| relay.addresses[0].set_ip([0, 0, 0, 0].into())),
            ("can't be connected to", |relay| relay.addresses[0].set_ip("::ffff:192.0.2.1".parse().unwrap())),
            ("no range", |relay| relay.exit[0].low = 444),
            ("no range", |relay| relay.exit[0].low = 0),
            ("behind its prefix", |relay| relay.exit[0].host = Host::Network([10, 0, 0, 1].into(), 8)),
            ("behind its prefix", |relay| relay.exit[0].host = Host::Network([0, 0, 0, 0].into(), 33)),
            ("printable ASCII", |relay| relay.name = "a\nb".to_owned()),
        ];
        for (why, damage) in damages {
            let mut damaged = relay(1);
            damage(&mut damaged);
            let error = decoded(&damaged).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
