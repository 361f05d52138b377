//! Which relays a circuit goes through.

use crate::Error;
use crate::keys::random;
use crate::relay_list::{ListedRelay, RelayList};
use candor_onion::handshake::HandshakeType;

impl RelayList {
    /// A path of `hops` different relays that offer the handshake, chosen at random. The last is an exit that permits `port` of `host`,
    /// as far as its entry says.
    ///
    /// # Errors
    /// [`Error::Path`] if there are too few such relays; [`Error::Internal`] without randomness.
    pub fn path(
        &self,
        hops: usize,
        handshake: HandshakeType,
        host: &str,
        port: u16,
    ) -> Result<Vec<&ListedRelay>, Error> {
        let mut relays: Vec<_> = self.relays().iter().filter(|relay| relay.offer(handshake).is_ok()).collect();
        if relays.len() < hops {
            let listed = self.relays().len();
            let why = format!("expected {hops} relays that offer {handshake}; found {} among {listed}", relays.len());
            return Err(Error::Path(why));
        }
        shuffle(&mut relays)?;
        let exit = relays.iter().position(|relay| relay.permits(host, port));
        let exit = exit.ok_or_else(|| {
            Error::Path(format!("no relay that offers {handshake} is an exit to {host}:{port}; name one by --path"))
        })?;
        let exit = relays.swap_remove(exit);
        relays.truncate(hops.saturating_sub(1));
        relays.push(exit);
        Ok(relays)
    }
}

/// Fisher and Yates's; 64 random bits make the bias of a remainder negligible.
fn shuffle<T>(items: &mut [T]) -> Result<(), Error> {
    for last in (1..items.len()).rev() {
        let random = u64::from_le_bytes(*random()?);
        items.swap(last, (random % (last as u64 + 1)) as usize);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, RelayKeys};
    use std::collections::HashSet;

    fn relay(port: u16, exit: &str, handshakes: &[HandshakeType]) -> ListedRelay {
        let address = ([192, 0, 2, 1], port).into();
        let listed = RelayKeys::generate().unwrap().listed(None, address, handshakes).unwrap();
        listed.with_exit(&Policy::parse(exit).unwrap())
    }

    #[test]
    fn a_path_ends_at_a_suitable_exit_and_visits_nobody_twice() {
        let wanted = HandshakeType::NtorV3;
        let list = RelayList::of(vec![
            relay(1, "", &[wanted]),
            relay(2, "*:443", &[wanted]),
            relay(3, "*:80", &[wanted]),
            relay(4, "example.org:80", &[wanted]),
            relay(5, "*:80", &[HandshakeType::Ntor]),
        ]);
        let (mut exits, mut firsts) = (HashSet::new(), HashSet::new());
        for _ in 0..200 {
            let path = list.path(3, wanted, "example.org", 80).unwrap();
            let ports: Vec<_> = path.iter().map(|relay| relay.address().port()).collect();
            assert_eq!(ports.iter().collect::<HashSet<_>>().len(), 3, "{ports:?}");
            assert!([3, 4].contains(&ports[2]) && !ports.contains(&5), "{ports:?}");
            exits.insert(ports[2]);
            firsts.insert(ports[0]);
        }
        assert_eq!((exits.len(), firsts.len()), (2, 4), "each that can be chosen is, sooner or later");
        assert_eq!(list.path(1, wanted, "example.org", 443).unwrap()[0].address().port(), 2);
        for (hops, port) in [(5, 80), (3, 8080)] {
            assert!(matches!(list.path(hops, wanted, "example.org", port), Err(Error::Path(_))));
        }
    }
}
