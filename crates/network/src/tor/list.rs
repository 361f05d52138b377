//! A relay list made of Tor's consensus.

use crate::{Crypto, HandshakeType, ListedRelay, Policy, RelayList};
use candor_tor_directory::{Consensus, Microdescriptor, Ports, Relay};
use std::collections::HashMap;

/// The relays of a consensus that are valid, run, and offer a handshake that comes to the layers' cryptography. `known` gives the microdescriptor of a digest.
///
/// `ntor` comes to tor1 always; CGO takes `ntor-v3` and a relay that has it (subprotocol `Relay=6`).
pub(super) fn of<'a>(
    consensus: &Consensus,
    known: &dyn Fn(&[u8; 32]) -> Option<&'a Microdescriptor>,
    crypto: Crypto,
    test_network: bool,
) -> RelayList {
    let usable = consensus.relays.iter().filter(|relay| relay.is("Running") && relay.is("Valid"));
    let pairs: Vec<_> = usable.filter_map(|relay| Some((relay, known(&relay.microdescriptor)?))).collect();
    let by_rsa: HashMap<_, _> = pairs.iter().map(|(relay, more)| (relay.rsa_identity, more.ed25519)).collect();
    let mut relays: Vec<ListedRelay> = Vec::new();
    for (relay, more) in pairs {
        let Some(listed) = entry(relay, more, crypto, test_network) else { continue };
        let family = more.family.iter().filter_map(|member| by_rsa.get(member).copied()).collect();
        // Authorities list no Ed25519 identity twice; if they did, the first would count.
        if relays.iter().all(|other| other.identity() != listed.identity()) {
            relays.push(listed.with_family(family));
        }
    }
    RelayList::signed(relays, consensus.valid_after, consensus.valid_until)
}

fn entry(relay: &Relay, more: &Microdescriptor, crypto: Crypto, test_network: bool) -> Option<ListedRelay> {
    let v3 = match crypto {
        Crypto::Tor1 => 4,
        _ => 6,
    };
    let offered = [(HandshakeType::Ntor, 2), (HandshakeType::NtorV3, v3)];
    let offered = offered.into_iter().filter(|(_, version)| relay.protocols.has("Relay", *version));
    let handshakes: Vec<_> = offered.map(|(handshake, _)| handshake).collect();
    let listed = ListedRelay::of_tor(
        relay.nickname.clone(),
        *relay.addresses.first()?,
        more.ed25519,
        relay.rsa_identity,
        more.ntor,
        &handshakes,
    );
    let exit = if relay.is("BadExit") { Policy::default() } else { policy(&more.ports, test_network) };
    let listed = listed?.with_exit(&exit).with_bandwidth(relay.bandwidth);
    Some(if relay.is("Guard") { listed } else { listed.not_a_guard() })
}

/// Public addresses at these ports, and private ones in a test network.
fn policy(ports: &Ports, test_network: bool) -> Policy {
    let hosts: &[&str] = if test_network { &["*", "private", "127.0.0.0/8"] } else { &["*"] };
    let rules: Vec<_> = ports
        .ranges()
        .iter()
        .flat_map(|(low, high)| hosts.iter().map(move |host| format!("{host}:{low}-{high}")))
        .collect();
    Policy::parse(&rules.join(" ")).expect("rules of hosts and ports")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{Wish, draw_guard, fresh};
    use candor_tor_directory::{Authorities, Certificates, Unverified};

    /// C tor's, which `candor-tor-directory` tests.
    macro_rules! document {
        ($name:literal) => {
            include_str!(concat!("../../../tor-directory/tests/data/", $name, ".txt"))
        };
    }

    fn consensus() -> Consensus {
        let identities = ["F7FB9FD1811AE912462DC8982B2181338516466F", "E1DD94F0807E4CBBB5BB0B24FE9C1ED3B0A83177"];
        let (authorities, mut known, now) =
            (Authorities::parse(&identities).unwrap(), Certificates::default(), 1_795_807_950);
        known.take(document!("authority-certificates"), &authorities, now).unwrap();
        Unverified::parse(document!("consensus-microdesc")).unwrap().verify(&authorities, &known, now).unwrap()
    }

    #[test]
    fn c_tors_consensus_is_a_relay_list() {
        let pieces = Microdescriptor::split(document!("microdescriptors")).unwrap();
        let known: Vec<_> = pieces.iter().map(|piece| Microdescriptor::parse(piece).unwrap()).collect();
        let find = |digest: &[u8; 32]| known.iter().find(|one| one.digest == *digest);
        let mut consensus = consensus();
        let list = of(&consensus, &find, Crypto::Cgo, false);
        let again: String = list.relays().iter().map(|relay| relay.to_line() + "\n").collect();
        assert_eq!(RelayList::parse(&again).unwrap().relays().len(), 4, "the lines are those of a file");
        assert_eq!(list.signed_at(), Some(consensus.valid_after));
        let relay = &list.relays()[2];
        assert_eq!(relay.to_string(), "relay0 at 127.0.0.1:44343");
        assert_eq!(relay.handshakes().collect::<Vec<_>>(), [HandshakeType::Ntor, HandshakeType::NtorV3]);
        assert!(relay.permits("example.org", 443) && !relay.permits("127.0.0.1", 443) && !list.relays()[0].is_exit());
        assert!(of(&consensus, &find, Crypto::Cgo, true).relays()[2].permits("127.0.0.1", 443));

        // A relay that the authorities don't call a guard is drawn as none.
        let relay0 = *relay.identity();
        let is_drawn = |list: &RelayList| {
            let nobody: &[[u8; 32]] = &[];
            let wish = Wish {
                hops: 2,
                handshake: HandshakeType::Ntor,
                host: None,
                port: 443,
                test_network: true,
                not_exits: nobody,
                spoilt: nobody,
                doubted: nobody,
                absent: nobody,
                entries: None,
            };
            let mut random = fresh().unwrap();
            (0..300).any(|_| draw_guard(list.relays(), &[], &wish, &mut random) == Some(relay0))
        };
        assert!(is_drawn(&list));
        consensus.relays[2].flags.remove("Guard");
        assert!(!is_drawn(&of(&consensus, &find, Crypto::Cgo, false)));
        consensus.relays[2].flags.insert("Guard");

        // What a relay lacks, it does not offer.
        let flags = |relay: &mut Relay, without: &str| {
            assert!(relay.is(without), "{without} of {}", relay.nickname);
            relay.flags.remove(without);
        };
        flags(&mut consensus.relays[0], "Running");
        flags(&mut consensus.relays[1], "Valid");
        flags(&mut consensus.relays[2], "Guard");
        consensus.relays[3].flags.insert("BadExit");
        let list = of(&consensus, &find, Crypto::Cgo, false);
        let names: Vec<_> = list.relays().iter().map(ListedRelay::label).collect();
        assert_eq!(names, ["relay0", "relay1"]);
        assert_eq!([0, 1].map(|index| list.relays()[index].is_guard()), [false, true]);
        assert_eq!([0, 1].map(|index| list.relays()[index].is_exit()), [true, false]);
        assert!(
            of(&consensus, &|_| None, Crypto::Cgo, false).relays().is_empty(),
            "without microdescriptors there are none"
        );
    }
}
