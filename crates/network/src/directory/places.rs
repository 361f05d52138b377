//! The places that relays have at an authority, counted.

use crate::prefix::Prefix;
use std::collections::HashMap;

/// What a relay counts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nobody has reached it yet; it was registered from that network.
    Waiting(Prefix),
    /// It has answered, in those networks.
    Listed(Vec<Prefix>),
}

impl Place {
    pub(super) fn is_listed(&self) -> bool {
        matches!(self, Self::Listed(_))
    }

    /// Whether it is one with that provider.
    pub(super) fn is_with(&self, provider: &Prefix) -> bool {
        matches!(self, Self::Listed(networks) if networks.iter().any(|network| network.provider() == *provider))
    }

    /// Whether it is one in that network.
    pub(super) fn is_in(&self, network: &Prefix) -> bool {
        matches!(self, Self::Listed(networks) if networks.contains(network))
    }
}

/// How many have which.
#[derive(Default)]
pub(super) struct Places {
    /// Relays that have answered in a network, and in all of a provider's.
    networks: HashMap<Prefix, usize>,
    providers: HashMap<Prefix, usize>,
    /// Relays that wait and were registered from a network.
    waiting: HashMap<Prefix, usize>,
    listed: usize,
    all_waiting: usize,
}

impl Places {
    pub(super) fn enter(&mut self, place: &Place) {
        match place {
            Place::Waiting(from) => {
                self.all_waiting += 1;
                *self.waiting.entry(*from).or_default() += 1;
            }
            Place::Listed(networks) => {
                self.listed += 1;
                for network in networks {
                    *self.networks.entry(*network).or_default() += 1;
                    *self.providers.entry(network.provider()).or_default() += 1;
                }
            }
        }
    }

    pub(super) fn leave(&mut self, place: &Place) {
        match place {
            Place::Waiting(from) => {
                self.all_waiting -= 1;
                less(&mut self.waiting, from);
            }
            Place::Listed(networks) => {
                self.listed -= 1;
                for network in networks {
                    less(&mut self.networks, network);
                    less(&mut self.providers, &network.provider());
                }
            }
        }
    }

    pub(super) fn listed(&self) -> usize {
        self.listed
    }

    pub(super) fn waiting(&self) -> usize {
        self.all_waiting
    }

    /// How many have answered in that network.
    pub(super) fn listed_in(&self, network: &Prefix) -> usize {
        self.networks.get(network).copied().unwrap_or(0)
    }

    /// How many have answered in that provider's networks.
    pub(super) fn listed_with(&self, provider: &Prefix) -> usize {
        self.providers.get(provider).copied().unwrap_or(0)
    }

    /// How many wait that were registered from that network.
    pub(super) fn waiting_from(&self, network: &Prefix) -> usize {
        self.waiting.get(network).copied().unwrap_or(0)
    }
}

fn less(counts: &mut HashMap<Prefix, usize>, network: &Prefix) {
    if let Some(count) = counts.get_mut(network) {
        *count -= 1;
        if *count == 0 {
            counts.remove(network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back() {
        let network = |third: u8| Prefix::around([9, 9, third, 1].into());
        let all = [Place::Waiting(network(1)), Place::Waiting(network(1)), Place::Listed(vec![network(1), network(2)])];
        let mut places = Places::default();
        all.iter().for_each(|place| places.enter(place));
        assert_eq!((places.listed(), places.waiting(), places.waiting_from(&network(1))), (1, 2, 2));
        assert_eq!([1, 2, 3].map(|third| places.listed_in(&network(third))), [1, 1, 0]);
        assert_eq!(places.listed_with(&network(3).provider()), 2);
        assert!(all[2].is_with(&network(3).provider()) && !all[0].is_with(&network(1).provider()));
        assert!(all[2].is_in(&network(2)) && !all[2].is_in(&network(3)) && !all[0].is_in(&network(1)));
        all.iter().for_each(|place| places.leave(place));
        assert_eq!((places.listed(), places.waiting(), places.waiting_from(&network(1))), (0, 0, 0));
        assert!(places.networks.is_empty() && places.providers.is_empty() && places.waiting.is_empty());
    }
}
