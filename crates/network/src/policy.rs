//! Where an exit may connect to: nowhere, but for what its policy lists.
//!
//! A policy is a list of rules, separated by commas or white space: `HOST:PORTS`, where the host is an IPv4 address, an IPv6
//! address in brackets, either with `/bits`, a name, `*` for every public address, or `private` for every address that is not
//! public; and the ports are one, a range such as `80-90`, or `*`. There are only permissions and no order.
//!
//! A name is looked up first and its addresses are judged. So that nobody reaches an exit's own network through a name under their
//! control, `*` and names never permit a private address: that takes an address, a network, or `private`.
//!
//! Services on the exit's own machine may trust whoever connects from there. So no kind of rule permits an address that leads there, unless
//! the rule names it:
//!
//! | address | a rule that permits it |
//! |---|---|
//! | loopback, unspecified (`0.0.0.0/8`, `[::]`), and IPv6 addresses that stand for one of those | is no wider than that range: `127.0.0.0/8` does, `0.0.0.0/0` doesn't |
//! | another address of the machine | has at least 8 bits |

use crate::Error;
use candor_onion::directory;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An exit policy. The default permits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
    /// The exit's own addresses, which `*`, `private` and names don't permit.
    own: Vec<IpAddr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    host: Host,
    low: u16,
    high: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// Every public address.
    Any,
    /// Every address that is not public.
    Private,
    /// A name, in lower case.
    Name(String),
    /// Addresses whose first bits are these.
    Network(IpAddr, u8),
}

impl Policy {
    /// Reads a policy; an empty one permits nothing.
    ///
    /// # Errors
    /// [`Error::Policy`], with the rule at fault.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        Ok(Self { rules: words.map(Rule::parse).collect::<Result<_, _>>()?, own: Vec::new() })
    }

    /// The same policy for an exit that has these addresses: only a rule that names an address or a network leads to them.
    #[must_use]
    pub fn on(mut self, own: impl IntoIterator<Item = IpAddr>) -> Self {
        self.own.extend(own.into_iter().map(|address| address.to_canonical()));
        self
    }

    /// What a directory says of it: the rules of addresses, as many as there is room for. Names are left out.
    pub(crate) fn summary(&self) -> Vec<directory::Rule> {
        let rules = self.rules.iter().filter_map(|rule| {
            let host = match &rule.host {
                Host::Any => directory::Host::Public,
                Host::Private => directory::Host::Private,
                Host::Network(address, bits) => directory::Host::Network(masked(*address, *bits), *bits),
                Host::Name(_) => return None,
            };
            Some(directory::Rule { host, low: rule.low, high: rule.high })
        });
        rules.take(directory::MOST_RULES).collect()
    }

    /// A policy of these rules.
    pub(crate) fn of(rules: &[directory::Rule]) -> Self {
        let rules = rules.iter().map(|rule| {
            let host = match rule.host {
                directory::Host::Public => Host::Any,
                directory::Host::Private => Host::Private,
                directory::Host::Network(address, bits) => Host::Network(address, bits),
            };
            Rule { host, low: rule.low, high: rule.high }
        });
        Self { rules: rules.collect(), own: Vec::new() }
    }

    /// Whether nothing is permitted: then this is no exit.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether any rule could permit a connection to `port` of `host`, before a name is looked up.
    pub fn may_permit(&self, host: &str, port: u16) -> bool {
        match host_address(host) {
            Some(address) => self.permits(host, address, port),
            None => self.rules.iter().any(|rule| {
                rule.has_port(port) && !matches!(&rule.host, Host::Name(name) if !name.eq_ignore_ascii_case(host))
            }),
        }
    }

    /// Whether a connection to `port` of `address`, which is what `host` stands for, is permitted.
    pub fn permits(&self, host: &str, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        let public = is_public(address);
        let own = is_loopback(address) || self.own.iter().any(|own| leads_to(address, *own));
        let permitted = |rule: &Rule| match &rule.host {
            Host::Any => public,
            Host::Private => !public,
            Host::Name(name) => public && name.eq_ignore_ascii_case(host),
            Host::Network(..) => false,
        };
        let by_kind = !own && self.rules.iter().filter(|rule| rule.has_port(port)).any(permitted);
        by_kind || self.lists(address, port, if own { own_bits(address) } else { 0 })
    }

    /// Whether a look-up of that host may lead anywhere: whether any rule could permit it at any port.
    pub(crate) fn may_tell(&self, host: &str) -> bool {
        self.rules.iter().any(|rule| self.may_permit(host, rule.low))
    }

    /// Whether a client may learn that `host` stands for that address: whether it could be permitted to connect there. So nobody explores an exit's own
    /// network by its names.
    pub(crate) fn tells(&self, host: &str, address: IpAddr) -> bool {
        self.rules.iter().any(|rule| self.permits(host, address, rule.low))
    }

    /// Whether a rule names that address of the exit's own machine, or a network with it that is narrow enough.
    pub(crate) fn names(&self, own: IpAddr, port: u16) -> bool {
        let own = own.to_canonical();
        self.lists(own, port, own_bits(own))
    }

    /// Whether a rule has a network with that address, of so many bits or more.
    fn lists(&self, address: IpAddr, port: u16, least: u8) -> bool {
        self.rules.iter().filter(|rule| rule.has_port(port)).any(|rule| match &rule.host {
            Host::Network(network, bits) => *bits >= least && is_within(address, *network, *bits),
            _ => false,
        })
    }
}

/// How many bits the network of a rule must have to lead to that address of the exit's own machine.
fn own_bits(own: IpAddr) -> u8 {
    match (own, embedded(own)) {
        (IpAddr::V6(v6), _) if v6.is_loopback() || v6.is_unspecified() => 128,
        (_, Some((_, at))) => at + 8,
        _ => 8,
    }
}

/// The IPv4 address that an IPv6 address stands for, and the bit at which it stands: IPv4-compatible and IPv4-translated addresses, NAT64's
/// well-known prefix (RFC 6052), 6to4. [`IpAddr::to_canonical`] knows mapped ones.
fn embedded(address: IpAddr) -> Option<(Ipv4Addr, u8)> {
    let IpAddr::V6(v6) = address else { return None };
    let from = |at: u8| Some((Ipv4Addr::from_bits((v6.to_bits() >> (96 - at)) as u32), at));
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => from(96),
        [0x2002, ..] => from(16),
        _ => None,
    }
}

/// Every address that a connection to `address` may end at: itself, and the IPv4 address that it stands for.
pub(crate) fn ends_of(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let address = address.to_canonical();
    [Some(address), embedded(address).map(|(v4, _)| v4.into())].into_iter().flatten()
}

fn leads_to(address: IpAddr, own: IpAddr) -> bool {
    ends_of(address).any(|end| end == own)
}

/// Whether a connection to that address stays on the machine by its very form: loopback, and unspecified addresses, which a system takes
/// for loopback.
fn is_loopback(address: IpAddr) -> bool {
    ends_of(address).any(|end| match end {
        IpAddr::V4(v4) => v4.is_loopback() || v4.octets()[0] == 0,
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified(),
    })
}

/// The address that a stream's target is, if it is no name: IPv6 may stand in brackets.
pub(crate) fn host_address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok(),
    }
}

impl Rule {
    fn parse(rule: &str) -> Result<Self, Error> {
        let wrong = |why| Error::Policy { rule: rule.to_owned(), why };
        let (host, ports) = rule.rsplit_once(':').ok_or(wrong("there is no port"))?;
        let port = |text: &str| match text.parse::<u16>() {
            Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
            _ => Err(wrong("a port is a number from 1 to 65535")),
        };
        let (low, high) = match ports.split_once('-') {
            _ if ports == "*" => (1, u16::MAX),
            Some((low, high)) => (port(low)?, port(high)?),
            None => (port(ports)?, port(ports)?),
        };
        if low > high {
            return Err(wrong("the range of ports is empty"));
        }
        Ok(Self { host: Host::parse(host).map_err(wrong)?, low, high })
    }

    fn has_port(&self, port: u16) -> bool {
        (self.low..=self.high).contains(&port)
    }
}

impl Host {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        match (text, host_address(address)) {
            ("*", _) => Ok(Self::Any),
            // In capitals too: it must not be the name of a host that prints as the word.
            (word, _) if word.eq_ignore_ascii_case("private") => Ok(Self::Private),
            (_, Some(IpAddr::V6(_))) if !address.starts_with('[') => Err("an IPv6 address stands in brackets"),
            (_, Some(address)) => {
                let most = if address.is_ipv4() { 32 } else { 128 };
                let bits = match bits {
                    None => most,
                    Some(bits) => {
                        bits.parse().ok().filter(|bits| *bits <= most).ok_or("too many bits for a network")?
                    }
                };
                if !is_within(address, masked(address, bits), 128) {
                    return Err("bits behind the network's are set");
                }
                Ok(Self::Network(address.to_canonical(), bits))
            }
            (_, None) if bits.is_some() => Err("a network begins with an address"),
            (name, None) if is_name(name) => Ok(Self::Name(name.to_ascii_lowercase())),
            _ => Err("the host is no address and no name"),
        }
    }
}

fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(inner)
    };
    // A name whose last label is a number would be an address in disguise ("127.1", "0x7f000001").
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= 253 && text.split('.').all(label) && !last.starts_with(|c: char| c.is_ascii_digit())
}

fn bits_of(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

pub(crate) fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let ((ours, family), (theirs, other)) = (bits_of(address), bits_of(network));
    family == other && (ours ^ theirs).checked_shr(128 - u32::from(bits.min(family))).is_none_or(|rest| rest == 0)
}

pub(crate) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    match address {
        IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & (mask >> 96) as u32)),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask)),
    }
}

/// Networks that are not for the public Internet (IANA's special-purpose address registries), by address and bits.
const NOT_PUBLIC_V4: [(Ipv4Addr, u8); 14] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !NOT_PUBLIC_V4.iter().any(|(network, bits)| is_within(v4.into(), (*network).into(), *bits)),
        // Global unicast is 2000::/3. In it, 6to4 and Teredo hold an IPv4 address that would be reached, and 2001::/23 and
        // the networks for documentation, 2001:db8::/32 and 3fff::/20 (RFC 9637), are no hosts.
        IpAddr::V6(v6) => {
            let [first, second, ..] = v6.segments();
            let documentation = (first == 0x2001 && second == 0xdb8) || (first == 0x3fff && second < 0x1000);
            let special = first == 0x2002 || (first == 0x2001 && second < 0x200) || documentation;
            first >> 13 == 1 && !special
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, rule) in self.rules.iter().enumerate() {
            f.write_str(if index > 0 { " " } else { "" })?;
            match &rule.host {
                Host::Any => f.write_str("*")?,
                Host::Private => f.write_str("private")?,
                Host::Name(name) => f.write_str(name)?,
                Host::Network(IpAddr::V4(network), bits) => write!(f, "{network}/{bits}")?,
                Host::Network(IpAddr::V6(network), bits) => write!(f, "[{network}]/{bits}")?,
            }
            match (rule.low, rule.high) {
                (1, u16::MAX) => f.write_str(":*")?,
                (low, high) if low == high => write!(f, ":{low}")?,
                (low, high) => write!(f, ":{low}-{high}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_of_where_a_client_may_go() {
        let policy = Policy::parse("*:443,10.1.0.0/16:80,db.example:5432").unwrap();
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(policy.may_tell("example.org") && policy.may_tell("10.1.2.3") && !policy.may_tell("10.2.0.1"));
        assert!(policy.tells("example.org", at("198.41.0.4")) && policy.tells("inside.example", at("10.1.2.3")));
        for hidden in ["10.2.0.1", "192.168.1.1", "127.0.0.1", "::1", "fe80::1"] {
            assert!(!policy.tells("inside.example", at(hidden)), "{hidden}");
        }
        let nothing = Policy::default();
        assert!(!nothing.may_tell("example.org") && !nothing.tells("example.org", at("198.41.0.4")));
        let one = Policy::parse("db.example:5432").unwrap();
        assert!(one.may_tell("DB.example") && !one.may_tell("example.org"));
    }

    fn permits(policy: &str, host: &str, address: &str, port: u16) -> bool {
        Policy::parse(policy).unwrap().permits(host, address.parse().unwrap(), port)
    }

    #[test]
    fn nothing_is_permitted_but_what_is_listed() {
        assert!(!permits("", "8.8.8.8", "8.8.8.8", 53));
        assert!(permits("8.8.8.0/24:53", "8.8.8.8", "8.8.8.8", 53));
        assert!(!permits("8.8.8.0/24:53", "8.8.9.8", "8.8.9.8", 53));
        assert!(!permits("8.8.8.0/24:53", "8.8.8.8", "8.8.8.8", 54));
        assert!(permits("1.1.1.1:80, [2606:4700::]/32:440-443", "x", "2606:4700::1111", 443));
        assert!(permits("*:443", "example.org", "93.184.216.34", 443));
    }

    #[test]
    fn a_name_or_a_star_never_leads_into_the_exits_own_network() {
        for address in
            ["127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "0.0.0.0", "::1", "fe80::1", "fd00::1"]
        {
            assert!(!permits("*:* example.org:*", "example.org", address, 80), "{address}");
            let elsewhere = !["127.0.0.1", "0.0.0.0", "::1"].contains(&address);
            assert_eq!(permits("private:80", "example.org", address, 80), elsewhere, "{address}");
        }
        // Networks for documentation, beside one that is not.
        for (address, permitted) in [("2001:db8::1", false), ("3fff:0fff::1", false), ("3fff:1000::1", true)] {
            assert_eq!(permits("*:*", "x", address, 80), permitted, "{address}");
        }
        // IPv4 addresses in IPv6's clothes.
        for address in ["::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1"] {
            assert!(!permits("*:*", "x", address, 80), "{address}");
        }
        assert!(permits("127.0.0.1:8000-8010", "localhost", "127.0.0.1", 8005));
    }

    #[test]
    fn only_a_rule_that_names_it_leads_to_the_exits_own_address() {
        let [own, other, local] = ["93.184.216.34", "93.184.216.35", "10.0.0.1"].map(|text| text.parse().unwrap());
        let policy = |text: &str| Policy::parse(text).unwrap().on([own, local]);
        for text in ["*:80", "example.org:80", "private:80"] {
            assert!(!policy(text).permits("example.org", own, 80), "{text}");
            assert!(!policy(text).permits("example.org", local, 80), "{text}");
        }
        assert!(!policy("*:80").permits("example.org", "::ffff:93.184.216.34".parse().unwrap(), 80));
        assert!(policy("*:80").permits("example.org", other, 80));
        assert!(policy("*:80 93.184.216.34:80").permits("example.org", own, 80));
        assert!(policy("10.0.0.0/8:80").permits("example.org", local, 80));
    }

    #[test]
    fn loopback_in_any_form_takes_a_rule_that_is_as_narrow() {
        for (address, rule, wider) in [
            ("127.0.0.1", "127.0.0.0/8", "126.0.0.0/7"),
            ("127.9.9.9", "127.9.9.9", "0.0.0.0/0"),
            ("0.0.0.0", "0.0.0.0", "0.0.0.0/7"),
            ("0.1.2.3", "0.0.0.0/8", "0.0.0.0/0"),
            ("::", "[::]", "[::]/127"),
            ("::1", "[::1]", "[::]/127"),
            ("::ffff:0.0.0.0", "0.0.0.0/8", "0.0.0.0/0"),
            ("::ffff:127.0.0.2", "127.0.0.2", "[::]/0"),
            ("::127.0.0.1", "[::127.0.0.0]/104", "[::]/96"),
            ("::ffff:0:127.0.0.1", "[::ffff:0:127.0.0.0]/104", "[::ffff:0:0:0]/96"),
            ("64:ff9b::127.0.0.1", "[64:ff9b::7f00:0]/104", "[64:ff9b::]/96"),
            ("64:ff9b::", "[64:ff9b::]", "[64:ff9b::]/96"),
            ("2002:7f00:1::5", "[2002:7f00::]/24", "[2002::]/16"),
            ("2002::1", "[2002::]/24", "[2002::]/16"),
        ] {
            assert!(!permits("*:80 private:80 host:80", "host", address, 80), "{address}");
            assert!(!permits(&format!("{wider}:80"), "host", address, 80), "{wider} leads to {address}");
            assert!(permits(&format!("{rule}:80"), "host", address, 80), "{rule} doesn't lead to {address}");
        }
        // Their neighbours are ordinary addresses.
        for address in ["128.0.0.1", "1.0.0.0", "::2.0.0.1", "64:ff9b::8.8.8.8", "2002:808:808::1"] {
            assert!(permits("*:80 private:80", "host", address, 80), "{address}");
        }
    }

    #[test]
    fn an_own_address_is_known_in_the_forms_of_ipv6_too() {
        let policy = |text: &str| Policy::parse(text).unwrap().on(["93.184.216.34".parse().unwrap()]);
        for address in ["::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "2002:5db8:d822::1", "::93.184.216.34"] {
            let address = address.parse().unwrap();
            assert!(!policy("*:80 private:80").permits("host", address, 80), "{address}");
        }
        assert!(policy("private:80").permits("host", "64:ff9b::93.184.216.35".parse().unwrap(), 80));
        let own = "93.184.216.34".parse().unwrap();
        assert!(!policy("0.0.0.0/0:80").permits("host", own, 80) && policy("93.0.0.0/8:80").permits("host", own, 80));
        assert!(policy("0.0.0.0/0:80").permits("host", "93.184.216.35".parse().unwrap(), 80));
    }

    #[test]
    fn a_name_permits_itself_only_and_is_known_before_it_is_looked_up() {
        let policy = Policy::parse("Example.org:443 127.0.0.1:80").unwrap();
        assert!(policy.may_permit("EXAMPLE.ORG", 443) && !policy.may_permit("example.com", 443));
        assert!(policy.permits("example.org", "93.184.216.34".parse().unwrap(), 443));
        assert!(!policy.permits("example.com", "93.184.216.34".parse().unwrap(), 443));
        assert!(policy.may_permit("localhost", 80), "its addresses may be listed");
        assert!(policy.may_permit("127.0.0.1", 80) && !policy.may_permit("127.0.0.2", 80));
    }

    #[test]
    fn mistakes_are_errors_that_show_the_rule() {
        for wrong in [
            "8.8.8.8",
            "8.8.8.8:",
            "8.8.8.8:0",
            "8.8.8.8:65536",
            "8.8.8.8:+80",
            "*:90-80",
            "1.2.3.4/33:80",
            "1.2.3.4/8:80",
            "::1:80",
            "[::1:80",
            "a b:80",
            "exa mple:80",
            "127.1:80",
            "-:x",
            "a..b:80",
            "name/8:80",
        ] {
            let error = Policy::parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("rules look like"), "{error}");
        }
    }

    #[test]
    fn private_is_no_name_in_capitals_either() {
        assert_eq!(Policy::parse("Private:1").unwrap(), Policy::parse("private:1").unwrap());
    }

    #[test]
    fn a_printed_policy_reads_as_the_same() {
        let text = "*:443 private:* 127.0.0.0/8:80-90 [2001:db8::]/32:1 example.org:80";
        let policy = Policy::parse(text).unwrap();
        assert_eq!(policy.to_string(), text);
        assert_eq!(Policy::parse(&policy.to_string()).unwrap(), policy);
    }
}
