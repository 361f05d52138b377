//! The client's address: the connection's, or what a trusted proxy says.

use axum::http::HeaderMap;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// The header that proxies append to.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of the client of a request that came over a connection from `peer`.
///
/// Each proxy appends the address that it was connected from. So the list is read from its end, as long as the addresses are proxies'; the first that is none is
/// the client's. What stands before it was written by the client and is not believed.
pub(crate) fn client(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let peer = peer.to_canonical();
    if !is_proxy(peer, proxies) {
        return peer;
    }
    let mut client = peer;
    let lists = headers.get_all(FORWARDED_FOR).iter().rev();
    let entries = lists.flat_map(|value| value.to_str().unwrap_or("?").rsplit(',').map(str::trim));
    for entry in entries {
        // What is no address was not written by a proxy of ours.
        let Some(address) = read(entry) else { break };
        client = address.to_canonical();
        if !is_proxy(client, proxies) {
            break;
        }
    }
    client
}

/// An address, as proxies write it: some with the port that they were connected from.
fn read(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')).unwrap_or(entry);
    bare.parse().ok().or_else(|| Some(entry.parse::<SocketAddr>().ok()?.ip()))
}

/// What proxies add to requests.
const OF_PROXIES: [&str; 6] = [FORWARDED_FOR, "forwarded", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/// Whether a request was passed on by somebody who is not among the proxies.
pub(crate) fn is_passed_on(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> bool {
    !is_proxy(peer, proxies) && OF_PROXIES.iter().any(|name| headers.contains_key(*name))
}

/// Whether that is a proxy's address.
pub(crate) fn is_proxy(address: IpAddr, proxies: &[IpNet]) -> bool {
    proxies.iter().any(|net| net.contains(&address.to_canonical()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(peer: &str, headers: &[&str]) -> String {
        let proxies = ["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
        let mut map = HeaderMap::new();
        for value in headers {
            map.append(FORWARDED_FOR, value.parse().unwrap());
        }
        client(peer.parse().unwrap(), &map, &proxies).to_string()
    }

    #[test]
    fn only_a_proxy_is_believed_and_only_what_it_wrote_itself() {
        assert_eq!(of("192.0.2.1", &["198.51.100.1"]), "192.0.2.1", "a stranger's word");
        assert_eq!(of("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(of("10.0.0.1", &["203.0.113.9, 198.51.100.1"]), "198.51.100.1", "the client forged the first");
        assert_eq!(of("10.0.0.1", &["203.0.113.9", "198.51.100.1, 10.2.3.4"]), "198.51.100.1", "two proxies");
        assert_eq!(of("2001:db8::1", &["2001:db9::7"]), "2001:db9::7");
        assert_eq!(of("::ffff:10.0.0.1", &["::ffff:198.51.100.1"]), "198.51.100.1");
        for with_port in ["198.51.100.1:51234", "203.0.113.9, 198.51.100.1:1, 10.2.3.4:80"] {
            assert_eq!(of("10.0.0.1", &[with_port]), "198.51.100.1", "{with_port}");
        }
        for bracketed in ["[2001:db9::7]:51234", "[2001:db9::7]"] {
            assert_eq!(of("10.0.0.1", &[bracketed]), "2001:db9::7");
        }
        assert_eq!(of("10.0.0.1", &["198.51.100.1:", "[198.51.100.1"]), "10.0.0.1");
        assert_eq!(of("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(of("10.0.0.1", &["nonsense"]), "10.0.0.1");
        assert_eq!(of("10.0.0.1", &["203.0.113.9, nonsense, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(of("10.0.0.1", &["203.0.113.9,"]), "10.0.0.1");
    }
}
