//! `/etc/hosts`, as hosts(5) has it: an address and its names on each line, up to `#`.

use super::is_host;
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
                    let first = hosts.names.entry(address).or_insert_with(|| name.clone());
                    if name < *first {
                        first.clone_from(&name);
                    }
                }
                hosts.addresses.entry(name).or_default().push(address);
            }
        }
        hosts
    }

    /// The addresses of a name, in the file's order.
    pub(super) fn addresses(&self, name: &str) -> Option<&[IpAddr]> {
        self.addresses.get(&key(name)).map(Vec::as_slice)
    }

    /// The name of an address; of several, the first by the alphabet.
    pub(super) fn name(&self, address: IpAddr) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }
}

/// Names are the same whatever their case, and with a dot at the end.
fn key(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}
