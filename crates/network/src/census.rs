//! Who has how many of the places, and who gives one up when all are taken.
//!
//! Places are counted by network, since one attacker rarely has only one address. Networks are cheap for whoever has a provider's range: a /32 of IPv6
//! has 65,536 of them. So places are counted by [provider](Prefix::provider) too. One rule says who may lose a place to a newcomer:
//!
//! 1. whoever is idle, and has more places than the newcomer;
//! 2. whoever has more than a few, and more than twice as many as the newcomer would have, idle or not;
//! 3. the same for all networks of one provider together, which has to give way first. And a newcomer from a provider that has many takes no place from a
//!    smaller one, however idle.
//!
//! What is idle, and which of those who may lose a place does, is for the caller to say.

use crate::prefix::Prefix;
use std::collections::HashMap;
use std::hash::Hash;

/// Whoever has no more places than this loses only idle ones.
pub(crate) const FAIR: usize = 8;
/// The same for all networks of one provider: a 64th of all places, so that it takes as many providers to have all of them, however many there are; and no less
/// than for one network.
pub(crate) fn fair_for_provider(places: usize) -> usize {
    (places / 64).max(FAIR)
}

/// Who has places: a network, or what counts as one.
pub(crate) trait Party: Copy + Eq + Hash {
    /// The same for all networks of one provider.
    fn provider(self) -> Self;
}

impl Party for Prefix {
    fn provider(self) -> Self {
        Prefix::provider(self)
    }
}

/// How many places each has at a moment, as a newcomer sees it.
pub(crate) struct Census<P> {
    counts: HashMap<P, usize>,
    by_provider: HashMap<P, usize>,
    own: usize,
    own_provider: usize,
    fair_for_provider: usize,
}

/// What a holder who may lose a place has. The greatest gives way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crowd {
    /// Its provider's places, if these are too many.
    provider: usize,
    /// Its own.
    count: usize,
}

impl<P: Party> Census<P> {
    /// Counts these places, one for each time that a holder comes. All of them are taken.
    pub(crate) fn of(holders: impl Iterator<Item = P>, newcomer: P) -> Self {
        let (mut counts, mut by_provider) = (HashMap::new(), HashMap::new());
        for holder in holders {
            *counts.entry(holder).or_default() += 1;
            *by_provider.entry(holder.provider()).or_default() += 1;
        }
        let own = counts.get(&newcomer).copied().unwrap_or(0);
        let own_provider = by_provider.get(&newcomer.provider()).copied().unwrap_or(0);
        let fair_for_provider = fair_for_provider(counts.values().sum());
        Self { counts, by_provider, own, own_provider, fair_for_provider }
    }

    /// Whether that holder has more places than the newcomer will.
    pub(crate) fn has_more(&self, holder: P) -> bool {
        self.count(holder) > self.own + 1
    }

    /// Whether that holder may lose a place, idle or not, to the newcomer.
    pub(crate) fn gives_way(&self, holder: P, is_idle: bool) -> Option<Crowd> {
        let (count, own) = (self.count(holder), self.own);
        let (provider, own_provider) =
            (self.by_provider.get(&holder.provider()).copied().unwrap_or(0), self.own_provider);
        let fair = self.fair_for_provider;
        let is_crowd = provider > fair && provider > 2 * (own_provider + 1);
        // Networks of one provider are equals; others have to fear only whoever has no more than they.
        let may_ask = own_provider <= fair || provider >= own_provider;
        let has_more = (is_idle && count > own) || (count > FAIR && count > 2 * (own + 1));
        let crowd = Crowd { provider: if is_crowd { provider } else { 0 }, count };
        (is_crowd || (may_ask && has_more)).then_some(crowd)
    }

    fn count(&self, holder: P) -> usize {
        self.counts.get(&holder).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(second: u8, third: u8) -> Prefix {
        Prefix::around([9, second, third, 1].into())
    }

    /// Who may lose a place to a newcomer, when those have so many.
    fn losers(held: &[(Prefix, usize)], newcomer: Prefix, is_idle: bool) -> Vec<usize> {
        let holders = held.iter().flat_map(|(holder, count)| std::iter::repeat_n(*holder, *count));
        let census = Census::of(holders, newcomer);
        let mut losers: Vec<_> =
            (0..held.len()).filter_map(|index| Some((census.gives_way(held[index].0, is_idle)?, index))).collect();
        losers.sort();
        losers.into_iter().rev().map(|(_, index)| index).collect()
    }

    #[test]
    fn the_idle_give_way_to_whoever_has_fewer_and_the_busy_only_if_they_have_far_more() {
        let held = [(network(1, 1), 1), (network(2, 1), 8), (network(3, 1), 9), (network(4, 1), 4)];
        assert_eq!(losers(&held, network(5, 1), true), [2, 1, 3, 0]);
        assert_eq!(losers(&held, network(5, 1), false), [2], "eight are fair");
        assert_eq!(losers(&held, network(4, 1), false), [0; 0], "nine are not twice as many as five");
        assert_eq!(losers(&held, network(4, 1), true), [2, 1]);
    }

    #[test]
    fn a_provider_with_many_networks_gives_way_first_and_takes_nothing_from_smaller_ones() {
        let many = (0..65).map(|third| (network(1, third), 1));
        let held: Vec<_> = [(network(2, 1), 9)].into_iter().chain(many).collect();
        let to_other = losers(&held, network(3, 1), false);
        assert_eq!((to_other.len(), to_other.last()), (66, Some(&0)), "each of its networks comes first");
        assert_eq!(losers(&held, network(1, 200), false), [0; 0]);
        assert_eq!(losers(&held, network(1, 200), true).len(), 65, "they are equals among themselves");
    }

    #[test]
    fn whoever_has_just_what_is_fair_keeps_it_and_whoever_has_one_more_loses_one() {
        for (places, fair) in [(100, 8), (512, 8), (640, 10), (896, 14), (3584, 56)] {
            // All places are taken: by these, and by one or a few networks of each of 240 other providers.
            let with = |those: Vec<(Prefix, usize)>| {
                let taken: usize = those.iter().map(|(_, count)| count).sum();
                let others =
                    (0..places - taken).map(|index| (network(10 + (index % 240) as u8, (index / 240) as u8), 1));
                those.into_iter().chain(others).collect::<Vec<_>>()
            };
            let many = |count: usize| (0..count).map(|third| (network(1, third as u8), 1)).collect::<Vec<_>>();
            assert_eq!(losers(&with(many(fair)), network(2, 1), false), [0; 0], "{places}");
            assert_eq!(losers(&with(many(fair + 1)), network(2, 1), false).len(), fair + 1, "{places}");
            // And only to a newcomer whose provider has less than half of that.
            let beside = |own: usize| {
                let held =
                    with([many(fair + 1), (0..own).map(|third| (network(2, third as u8), 1)).collect()].concat());
                losers(&held, network(2, 200), false).len()
            };
            assert_eq!([fair / 2 - 1, fair / 2].map(beside), [fair + 1, 0], "{places}");
        }
        // One network, of a provider that has no more than is fair.
        let held = |count: usize| {
            let others = (0..3584 - count).map(|index| (network(10 + (index % 240) as u8, (index / 240) as u8), 1));
            [(network(1, 1), count)].into_iter().chain(others).collect::<Vec<_>>()
        };
        assert_eq!([8, 9].map(|count| losers(&held(count), network(2, 1), false).len()), [0, 1]);
    }
}
