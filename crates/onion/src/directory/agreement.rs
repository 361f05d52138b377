//! From views to a consensus: a rule that gives everybody the same bytes who has the same views.

use super::{InvalidDocument, Listed, Relay, Times, UnsignedConsensus, View, bandwidth_cap};
use crate::Error;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What a view says of a relay, and the family that it declares.
type Entry = (Relay, Vec<[u8; 32]>);

/// The consensus of these views. A relay is in it if `threshold` views say the same of it, to the last bit; what fewer say of it counts for
/// nothing. So a minority of authorities can add no relay and change none, and if they leave one out, that matters only where the others
/// are short of the threshold.
///
/// # Errors
/// [`Error::Directory`] if the views are of different times, or two are of one authority.
pub fn merge(times: Times, views: &[View], threshold: usize) -> Result<UnsignedConsensus, Error> {
    if views.iter().any(|view| view.times != times) {
        return Err(InvalidDocument::Times.into());
    }
    let mut authorities: Vec<_> = views.iter().map(|view| view.authority).collect();
    authorities.sort_unstable();
    if !authorities.is_sorted_by(|low, high| low < high) {
        return Err(InvalidDocument::ViewTwice.into());
    }
    let mut said: BTreeMap<[u8; 32], Vec<(&Entry, usize)>> = BTreeMap::new();
    for entry in views.iter().flat_map(|view| &view.relays) {
        let forms = said.entry(entry.0.identity).or_default();
        match forms.iter_mut().find(|(form, _)| *form == entry) {
            Some((_, count)) => *count += 1,
            None => forms.push((entry, 1)),
        }
    }
    // More than half of the authorities are needed, so no more than one form has enough.
    let agreed: BTreeMap<_, _> = said
        .into_iter()
        .filter_map(|(identity, forms)| Some((identity, forms.into_iter().find(|(_, count)| *count >= threshold)?.0)))
        .collect();
    let families = families(&agreed);
    let relays: Vec<_> = agreed
        .iter()
        .map(|(identity, (relay, _))| Listed {
            relay: relay.clone(),
            family: families.get(identity).copied().unwrap_or(0),
        })
        .collect();
    UnsignedConsensus::new(times, exit_weight(&relays), &relays)
}

/// The number of each relay's family. Relays that declare each other are in one, and so are relays that are connected by such pairs: those who
/// run them have said so at both ends. Families are counted in the order of their smallest identities.
fn families(agreed: &BTreeMap<[u8; 32], &Entry>) -> BTreeMap<[u8; 32], u16> {
    let mut numbers: BTreeMap<[u8; 32], u16> = BTreeMap::new();
    let mut next = 1;
    let mutual = |identity: [u8; 32]| {
        let declared = agreed.get(&identity).map(|(_, family)| family.as_slice()).unwrap_or_default();
        declared
            .iter()
            .copied()
            .filter(move |other| agreed.get(other).is_some_and(|(_, family)| family.binary_search(&identity).is_ok()))
    };
    for identity in agreed.keys() {
        if numbers.contains_key(identity) || mutual(*identity).next().is_none() {
            continue;
        }
        let mut open = Vec::from([*identity]);
        while let Some(member) = open.pop() {
            if numbers.insert(member, next).is_none() {
                open.extend(mutual(member).filter(|other| !numbers.contains_key(other)));
            }
        }
        next += 1;
    }
    numbers
}

/// How much of an exit's bandwidth is left for other positions, in ten-thousandths. A circuit of three hops uses a third of the bandwidth as
/// exits; what exits have above that third may be used elsewhere (the idea of dir-spec's Wme, with two kinds of relays instead of four). No
/// bandwidth counts as more than [the cap](bandwidth_cap).
fn exit_weight(relays: &[Listed]) -> u16 {
    let cap = bandwidth_cap(relays.iter().map(|listed| listed.relay.bandwidth));
    let sum = |exits: bool| {
        relays
            .iter()
            .filter(|listed| listed.relay.is_exit() == exits)
            .map(|listed| u128::from(listed.relay.bandwidth.min(cap)))
            .sum::<u128>()
    };
    let (exits, others) = (sum(true), sum(false));
    let third = (exits + others).div_ceil(3);
    match exits.checked_sub(third) {
        Some(left) if exits > 0 => (left * 10_000 / exits) as u16,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::relay::tests::relay;
    use crate::directory::{Authorities, Certificate, Consensus, SecretKey};

    const TIMES: Times = Times { valid_after: 1000, fresh_until: 2000, valid_until: 4000 };

    fn view(authority: u8, relays: &[(Relay, Vec<[u8; 32]>)]) -> View {
        View { authority: [authority; 32], times: TIMES, relays: relays.to_vec() }
    }

    fn entry(number: u8, family: &[u8]) -> (Relay, Vec<[u8; 32]>) {
        (relay(number), family.iter().map(|other| [*other; 32]).collect())
    }

    fn listed(consensus: &UnsignedConsensus) -> Vec<(u8, u16)> {
        let body = consensus.signed(&[]);
        let keys = [1, 2].map(|seed| SecretKey::from_seeds(&[seed; 32], &[seed; 32]).unwrap());
        let certificate = Certificate::issue(&keys[0], keys[1].public(), 0, 5000).unwrap();
        let signature = consensus.sign(&keys[1], &certificate).unwrap();
        let authorities = Authorities::new(vec![keys[0].public().fingerprint()], 1).unwrap();
        assert!(Consensus::verify(&body, &authorities).is_err(), "nobody has signed");
        let consensus = Consensus::verify(&consensus.signed(&[signature]), &authorities).unwrap();
        consensus.relays.iter().map(|listed| (listed.relay.identity[0], listed.family)).collect()
    }

    #[test]
    fn what_enough_views_say_in_the_same_words_is_agreed_on() {
        let mut changed = entry(3, &[]);
        changed.0.bandwidth += 1;
        let views = [
            view(1, &[entry(1, &[]), entry(2, &[]), entry(3, &[])]),
            view(2, &[entry(1, &[]), entry(3, &[]), entry(4, &[])]),
            view(3, &[entry(1, &[]), entry(2, &[]), changed]),
        ];
        assert_eq!(listed(&merge(TIMES, &views, 2).unwrap()), [(1, 0), (2, 0), (3, 0)]);
        assert_eq!(listed(&merge(TIMES, &views, 3).unwrap()), [(1, 0)]);
        let reversed: Vec<_> = views.iter().rev().cloned().collect();
        assert_eq!(merge(TIMES, &views, 2).unwrap(), merge(TIMES, &reversed, 2).unwrap(), "their order is nothing");
    }

    #[test]
    fn one_authority_of_three_adds_no_relay_and_changes_none() {
        let honest = [entry(1, &[]), entry(2, &[])];
        let mut forged = entry(1, &[]);
        forged.0.x25519 = [0xee; 32];
        let views = [view(1, &honest), view(2, &honest), view(3, &[forged, entry(9, &[])])];
        let with_liar = merge(TIMES, &views, 2).unwrap();
        assert_eq!(with_liar, merge(TIMES, &views[..2], 2).unwrap());
        assert_eq!(listed(&with_liar), [(1, 0), (2, 0)]);
    }

    #[test]
    fn a_family_is_what_its_members_say_of_each_other() {
        let views = [view(
            1,
            &[
                entry(1, &[2]),
                entry(2, &[1, 3]),
                entry(3, &[2]),
                entry(4, &[1]), // nobody says it of 4
                entry(5, &[6]),
                entry(6, &[5]),
                entry(7, &[99]),
            ],
        )];
        let expected = [(1, 1), (2, 1), (3, 1), (4, 0), (5, 2), (6, 2), (7, 0)];
        assert_eq!(listed(&merge(TIMES, &views, 1).unwrap()), expected);
    }

    #[test]
    fn exits_serve_elsewhere_with_what_they_have_above_a_third() {
        let of = |exits: &[u32], others: &[u32]| {
            let listed = |bandwidth: &u32, is_exit: bool| {
                let mut relay = relay(1);
                relay.bandwidth = *bandwidth;
                if !is_exit {
                    relay.exit.clear();
                }
                Listed { relay, family: 0 }
            };
            let exits = exits.iter().map(|bandwidth| listed(bandwidth, true));
            exit_weight(&exits.chain(others.iter().map(|bandwidth| listed(bandwidth, false))).collect::<Vec<_>>())
        };
        assert_eq!(of(&[100], &[200]), 0, "a third is needed");
        assert_eq!(of(&[50], &[200]), 0);
        assert_eq!(of(&[300], &[]), 6666, "they are all there are");
        assert_eq!(of(&[200], &[100]), 5000);
        assert_eq!(of(&[], &[]), 0);
        assert_eq!(of(&[u32::MAX; 3], &[u32::MAX; 3]), 3333);
        assert_eq!(
            of(&[u32::MAX], &[100, 100]),
            of(&[400], &[100, 100]),
            "nobody counts as more than four times the median"
        );
    }

    #[test]
    fn views_of_another_round_or_of_one_authority_twice_are_refused() {
        let good = view(1, &[entry(1, &[])]);
        let late = View { times: Times { valid_after: 1001, ..TIMES }, ..view(2, &[]) };
        assert_eq!(merge(TIMES, &[good.clone(), late], 1), Err(InvalidDocument::Times.into()));
        assert_eq!(merge(TIMES, &[good.clone(), good], 1), Err(InvalidDocument::ViewTwice.into()));
    }
}
