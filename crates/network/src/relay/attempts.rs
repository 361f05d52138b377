//! Links that are being made to other relays. Clients say where to, so they are counted by who asks, by where they go, and by both: an
//! asker who sends us to a network that never answers delays nobody else's links to it.

use super::limits::RelayLimits;
use super::payer::Asker;
use crate::link::locked;
use crate::prefix::Prefix;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

pub(super) struct Attempts {
    limits: RelayLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    all: usize,
    by_asker: HashMap<Asker, usize>,
    /// By the network that is connected to.
    by_target: HashMap<Prefix, usize>,
    by_both: HashMap<(Asker, Prefix), usize>,
}

/// Who asks for a link, and where it is to lead.
pub(super) struct Asked {
    pub(super) asker: Asker,
    /// The network that is connected to, or `None` if that needs no limit: a listed relay at its listed address.
    pub(super) target: Option<Prefix>,
}

impl Attempts {
    pub(super) fn new(limits: &RelayLimits) -> Arc<Self> {
        Arc::new(Self { limits: *limits, state: Mutex::default() })
    }

    /// Room for an attempt, if there is any.
    pub(super) fn take(self: &Arc<Self>, asked: &Asked) -> Option<Attempt> {
        let RelayLimits { attempts, attempts_per_asker, attempts_per_target, attempts_per_asker_and_target, .. } =
            self.limits;
        let Asked { asker, target } = *asked;
        let mut state = locked(&self.state);
        // A link that is no stranger's is a listed relay's or a test network's.
        let (per_asker, per_both) = match asker {
            Asker::Network(_) => (attempts_per_asker, attempts_per_asker_and_target),
            Asker::Link(_) => (attempts.div_ceil(4), attempts_per_asker_and_target.saturating_mul(4)),
        };
        let (most, per_asker) = match target {
            Some(_) => (attempts - attempts / 4, per_asker),
            None => (attempts, attempts.div_ceil(4)),
        };
        if state.all >= most || count(&state.by_asker, &asker) >= per_asker {
            return None;
        }
        if let Some(target) = target {
            if count(&state.by_target, &target) >= attempts_per_target {
                return None;
            }
            if count(&state.by_both, &(asker, target)) >= per_both {
                return None;
            }
            *state.by_target.entry(target).or_default() += 1;
            *state.by_both.entry((asker, target)).or_default() += 1;
        }
        state.all += 1;
        *state.by_asker.entry(asker).or_default() += 1;
        Some(Attempt { attempts: Arc::clone(self), asker, target })
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.state).all
    }
}

/// An attempt that is under way.
pub(super) struct Attempt {
    attempts: Arc<Attempts>,
    asker: Asker,
    target: Option<Prefix>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut state = locked(&self.attempts.state);
        state.all -= 1;
        lower(&mut state.by_asker, &self.asker);
        if let Some(target) = self.target {
            lower(&mut state.by_target, &target);
            lower(&mut state.by_both, &(self.asker, target));
        }
    }
}

fn count<K: Eq + Hash>(counts: &HashMap<K, usize>, key: &K) -> usize {
    counts.get(key).copied().unwrap_or(0)
}

fn lower<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts() -> Arc<Attempts> {
        let limits = RelayLimits {
            attempts: 16,
            attempts_per_asker: 3,
            attempts_per_target: 5,
            attempts_per_asker_and_target: 2,
            ..RelayLimits::default()
        };
        Attempts::new(&limits)
    }

    fn network(third: u8) -> Prefix {
        Prefix::around([192, 0, third, 1].into())
    }

    fn asked(asker: u8, target: u8) -> Asked {
        Asked { asker: Asker::Network(network(asker)), target: Some(network(target)) }
    }

    #[test]
    fn one_asker_and_one_target_take_no_more_than_their_share() {
        let attempts = attempts();
        let mut taken = vec![attempts.take(&asked(1, 1)).unwrap(), attempts.take(&asked(1, 1)).unwrap()];
        assert!(attempts.take(&asked(1, 1)).is_none(), "one asker has two of this target's");
        taken.push(attempts.take(&asked(1, 2)).unwrap());
        assert!(attempts.take(&asked(1, 3)).is_none(), "the asker has three");
        for asker in [2, 2, 3] {
            taken.push(attempts.take(&asked(asker, 1)).unwrap());
        }
        assert!(attempts.take(&asked(4, 1)).is_none(), "the target has five");
        assert!(attempts.take(&asked(4, 4)).is_some(), "others go on");
        drop(taken);
        let state = locked(&attempts.state);
        assert!(state.all == 0 && state.by_asker.is_empty() && state.by_target.is_empty() && state.by_both.is_empty());
    }

    #[test]
    fn a_quarter_is_kept_for_listed_relays() {
        let attempts = attempts();
        let taken: Vec<_> = (0..100).filter_map(|index| attempts.take(&asked(index, index))).collect();
        assert_eq!((taken.len(), attempts.count()), (12, 12));
        let listed = |asker| Asked { target: None, ..asked(asker, 0) };
        let more: Vec<_> = (100..200).filter_map(|asker| attempts.take(&listed(asker))).collect();
        assert_eq!(more.len(), 4);
    }

    #[test]
    fn one_asker_has_a_quarter_of_all_for_listed_relays() {
        let attempts = attempts();
        let listed = |asker| Asked { target: None, ..asked(asker, 0) };
        let taken: Vec<_> = (0..100).filter_map(|_| attempts.take(&listed(1))).collect();
        assert_eq!(taken.len(), 4);
        assert!(attempts.take(&listed(2)).is_some(), "another one has its own");
    }

    #[test]
    fn a_listed_relay_may_ask_for_more_than_a_stranger() {
        let attempts = attempts();
        let relay = |link, target| Asked { asker: Asker::Link(link), ..asked(0, target) };
        let taken: Vec<_> = (0..100).filter_map(|index| attempts.take(&relay(1, index))).collect();
        assert_eq!(taken.len(), 4, "a quarter of all");
        drop(taken);
        let limits = RelayLimits { attempts_per_asker_and_target: 1, ..RelayLimits::default() };
        let attempts = Attempts::new(&limits);
        let taken: Vec<_> = (0..100).filter_map(|_| attempts.take(&relay(1, 1))).collect();
        assert_eq!(taken.len(), 4, "four times a stranger's share of one target");
    }
}
