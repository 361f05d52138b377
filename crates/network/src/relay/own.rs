//! Which addresses lead to this machine.
//!
//! The system is asked at each connection of an exit, before it connects: a socket can be bound to an address of the machine and to no
//! other. A list of the interfaces would miss addresses that come later and networks that are routed to the machine as a whole, and the
//! source address of a connection tells nothing, since the system may choose another of the machine's.

use crate::Error;
use crate::policy::ends_of;
use std::io;
use std::net::{IpAddr, UdpSocket};

/// Whether a connection to that address may end at this machine.
///
/// # Errors
/// The system's, if it doesn't say: then nothing should be connected to.
pub(super) fn is_own(address: IpAddr) -> io::Result<bool> {
    for end in ends_of(address) {
        match UdpSocket::bind((end, 0)) {
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The settings by which Linux lets programs bind addresses that the machine doesn't have.
const NONLOCAL: [&str; 2] = ["/proc/sys/net/ipv4/ip_nonlocal_bind", "/proc/sys/net/ipv6/ip_nonlocal_bind"];

/// That [`is_own`] can tell.
///
/// # Errors
/// [`Error::Internal`] if every address can be bound.
pub(super) fn can_tell() -> Result<(), Error> {
    let is_on = |path: &&str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() != "0");
    match NONLOCAL.iter().find(|path| is_on(path)) {
        None => Ok(()),
        Some(path) => Err(Error::Internal(format!(
            "an exit can't tell its own machine's addresses from others while {path} is on; write 0 to it, or run the relay without an exit policy"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_addresses_are_its_own_and_others_are_not() {
        can_tell().expect("tests run where addresses can be told");
        for own in ["127.0.0.1", "127.1.2.3", "0.0.0.0", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::"] {
            // Without IPv6 there is an error: nothing is connected to either.
            let found = is_own(own.parse().unwrap());
            assert!(found.as_ref().map_or(own.contains(':'), |is_own| *is_own), "{own}: {found:?}");
        }
        // TEST-NET-1 and 2 (RFC 5737): no machine has these.
        for other in ["192.0.2.1", "198.51.100.7"] {
            assert!(!is_own(other.parse().unwrap()).unwrap(), "{other}");
        }
        // The address that this machine would send from, if it has a network.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("192.0.2.1:9").is_ok() {
            assert!(is_own(socket.local_addr().unwrap().ip()).unwrap());
        }
    }
}
