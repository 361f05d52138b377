//! Who has which address.
//!
//! ```text
//! 10.255.x.y   node number 256·x + y; what its processes send comes from there
//! 10.1.x.y     the client     10.2.x.y  the guard     …     10.5.x.y  the target
//! ```
//!
//! A part of a circuit has a whole network, all of which is local to its node. A relay that is reached at a different address for each circuit has
//! connections of its own for each, as in the simulator.

use candor_links::topology::Role;
use std::net::Ipv4Addr;

/// What a packet can be addressed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Node(usize),
    Role(Role),
}

/// One of the addresses of a part of a circuit; there are 65,536, after which they come again.
pub fn address(role: Role, number: u32) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, role as u8 + 1, high, low)
}

/// The address of a node. Topologies have at most 10,000.
pub(crate) fn of_node(node: usize) -> Ipv4Addr {
    let [.., high, low] = (node as u32).to_be_bytes();
    Ipv4Addr::new(10, 255, high, low)
}

/// What an address belongs to.
pub(crate) fn place(address: Ipv4Addr) -> Option<Place> {
    match address.octets() {
        [10, 255, high, low] => Some(Place::Node(usize::from(high) << 8 | usize::from(low))),
        [10, role, ..] => Role::ALL.get(usize::from(role).checked_sub(1)?).copied().map(Place::Role),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_leads_back_to_its_place() {
        for role in Role::ALL {
            for number in [0, 1, 255, 256, 65_535, 65_536, u32::MAX] {
                assert_eq!(place(address(role, number)), Some(Place::Role(role)));
            }
        }
        assert_eq!(address(Role::Guard, 258), Ipv4Addr::new(10, 2, 1, 2));
        for node in [0, 1, 255, 256, 9999] {
            assert_eq!(place(of_node(node)), Some(Place::Node(node)));
        }
        for stranger in [[10, 0, 0, 1], [10, 6, 0, 1], [192, 0, 2, 1], [127, 0, 0, 1]] {
            assert_eq!(place(stranger.into()), None);
        }
    }
}
