//! An exit policy in the form that Tor's descriptors have.

use crate::Policy;
use candor_onion::directory::Host;
use std::net::IpAddr;

/// The networks that C tor calls private. A policy that rejects exactly these counts as one that rejects nothing when the authorities sum it up.
const PRIVATE: [&str; 6] =
    ["0.0.0.0/8", "169.254.0.0/16", "127.0.0.0/8", "192.168.0.0/16", "10.0.0.0/8", "172.16.0.0/12"];

/// The lines, the first that fits an address and a port deciding; what none of them accepts is for the descriptor to reject. Rules of names have none, and neither have those of IPv6 addresses.
pub(super) fn lines(policy: &Policy) -> Vec<String> {
    let rules = policy.summary();
    let mut found = Vec::new();
    let ports = |low: u16, high: u16| match (low, high) {
        (0 | 1, u16::MAX) => "*".to_owned(),
        _ if low == high => low.to_string(),
        _ => format!("{}-{high}", low.max(1)),
    };
    for rule in &rules {
        let ports = ports(rule.low, rule.high);
        match rule.host {
            Host::Network(IpAddr::V4(address), bits) => found.push(format!("accept {address}/{bits}:{ports}")),
            Host::Private => found.extend(PRIVATE.iter().map(|network| format!("accept {network}:{ports}"))),
            Host::Network(IpAddr::V6(_), _) | Host::Public => {}
        }
    }
    let public = rules.iter().filter(|rule| matches!(rule.host, Host::Public));
    let public: Vec<_> = public.map(|rule| format!("accept *:{}", ports(rule.low, rule.high))).collect();
    if !public.is_empty() {
        found.extend(PRIVATE.iter().map(|network| format!("reject {network}:*")));
        found.extend(public);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_lines_in_which_the_public_never_leads_to_private_networks() {
        let of = |rules: &str| lines(&Policy::parse(rules).unwrap());
        assert!(of("").is_empty() && of("example.org:80").is_empty());
        assert_eq!(of("192.0.2.0/24:80-90 127.0.0.1:7"), ["accept 192.0.2.0/24:80-90", "accept 127.0.0.1/32:7"]);
        let all = of("*:443 private:* 127.0.0.0/8:*");
        assert_eq!(all.len(), 6 + 1 + 6 + 1);
        assert!(all[..7].iter().all(|line| line.starts_with("accept ") && line.ends_with(":*")));
        assert!(all[7..13].iter().all(|line| line.starts_with("reject ") && line.ends_with(":*")));
        assert_eq!(all[13], "accept *:443");
    }
}
