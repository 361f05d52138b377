//! `/etc/hosts`, as hosts(5) has it: an address and its names on each line, up to `#`.

use super::is_host;
use candor_onion::relay::message::Resolved;
use std::collections::HashMap;
use std::net::IpAddr;

/// What the file says, both ways, so that no question takes a walk through it.
#[derive(Default)]
pub(super) struct Hosts {
    addresses: HashMap<String, Vec<IpAddr>>,
    names: HashMap<IpAddr, String>,
}

impl Hosts {
    /// Lines that don't begin with an address say nothing.
    pub(super) fn parse(text: &str) -> Self {
        let mut hosts = Self::default();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next().and_then(|word| word.parse().ok()) else { continue };
            for name in words {
                let name = key(name);
                if is_host(&name) {
                    hosts.names.entry(address).or_insert_with(|| name.clone());
                }
                let addresses = hosts.addresses.entry(name).or_default();
                if !addresses.contains(&address) && addresses.len() < Resolved::MOST {
                    addresses.push(address);
                }
            }
        }
        hosts
    }

    /// The addresses of a name, in the file's order, as many as an answer has room for.
    pub(super) fn addresses(&self, name: &str) -> Option<&[IpAddr]> {
        self.addresses.get(&key(name)).map(Vec::as_slice)
    }

    /// The name of an address: of several the first, which hosts(5) calls the canonical one.
    pub(super) fn name(&self, address: IpAddr) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }
}

/// Names are the same whatever their case, and with a dot at the end.
fn key(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_file_are_found_both_ways() {
        let hosts = Hosts::parse(
            "\u{feff}198.51.100.1 a*b Zebra.test. ape.test # other\n198.51.100.1 ape.test ape.test\n\n# 198.51.100.9 no.test\n2001:db8::1\tape.test\nno 198.51.100.1\n198.51.100.2 ape.test\n",
        );
        for (name, found) in [
            ("zebra.test", Some("198.51.100.1")),
            ("APE.test.", Some("198.51.100.1 2001:db8::1 198.51.100.2")),
            ("other", None),
            ("no.test", None),
            ("198.51.100.1", None),
        ] {
            let found: Option<Vec<IpAddr>> =
                found.map(|found| found.split(' ').map(|it| it.parse().unwrap()).collect());
            assert_eq!(hosts.addresses(name), found.as_deref(), "{name}");
        }
        for (address, name) in
            [("198.51.100.1", Some("zebra.test")), ("2001:db8::1", Some("ape.test")), ("198.51.100.9", None)]
        {
            assert_eq!(hosts.name(address.parse().unwrap()), name, "{address}");
        }
    }
}
