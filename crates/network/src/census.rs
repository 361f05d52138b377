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
/// The same for all networks of one provider.
pub(crate) const FAIR_FOR_PROVIDER: usize = 64;

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
    /// Counts these places, one for each time that a holder comes.
    pub(crate) fn of(holders: impl Iterator<Item = P>, newcomer: P) -> Self {
        let (mut counts, mut by_provider) = (HashMap::new(), HashMap::new());
        for holder in holders {
            *counts.entry(holder).or_default() += 1;
            *by_provider.entry(holder.provider()).or_default() += 1;
        }
        let own = counts.get(&newcomer).copied().unwrap_or(0);
        let own_provider = by_provider.get(&newcomer.provider()).copied().unwrap_or(0);
        Self { counts, by_provider, own, own_provider }
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
        let is_crowd = provider > FAIR_FOR_PROVIDER && provider > 2 * (own_provider + 1);
        // Networks of one provider are equals; others have to fear only whoever has no more than they.
        let may_ask = own_provider <= FAIR_FOR_PROVIDER || provider >= own_provider;
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
        // The twin: with one fewer, they are a crowd no more.
        assert_eq!(losers(&held[..65], network(3, 1), false), [0]);
    }
}
