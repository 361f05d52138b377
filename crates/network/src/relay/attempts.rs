//! Links that are being made to other relays. Clients say where to, so they are counted by who asks and by where they go.

use super::limits::RelayLimits;
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
    /// By the link whose circuit asks.
    by_link: HashMap<usize, usize>,
    /// By the network that is connected to.
    by_target: HashMap<Prefix, usize>,
}

/// Who asks for a link, and where it is to lead.
pub(super) struct Asked {
    /// The link whose circuit asks.
    pub(super) link: usize,
    /// Whether that is a listed relay's, or comes from a test network.
    pub(super) trusted: bool,
    /// The network that is connected to, or `None` if that needs no limit: a listed relay at its listed address.
    pub(super) target: Option<Prefix>,
}

impl Attempts {
    pub(super) fn new(limits: &RelayLimits) -> Arc<Self> {
        Arc::new(Self { limits: *limits, state: Mutex::default() })
    }

    /// Room for an attempt, if there is any.
    pub(super) fn take(self: &Arc<Self>, asked: &Asked) -> Option<Attempt> {
        let RelayLimits { attempts, attempts_per_link, attempts_per_target, .. } = self.limits;
        let mut state = locked(&self.state);
        let (most, per_link) = match (asked.target, asked.trusted) {
            (None, _) => (attempts, usize::MAX),
            (Some(_), true) => (attempts - attempts / 4, attempts.div_ceil(4)),
            (Some(_), false) => (attempts - attempts / 4, attempts_per_link),
        };
        let by_link = state.by_link.get(&asked.link).copied().unwrap_or(0);
        let by_target = asked.target.and_then(|target| state.by_target.get(&target)).copied().unwrap_or(0);
        if state.all >= most || by_link >= per_link || by_target >= attempts_per_target {
            return None;
        }
        state.all += 1;
        *state.by_link.entry(asked.link).or_default() += 1;
        if let Some(target) = asked.target {
            *state.by_target.entry(target).or_default() += 1;
        }
        Some(Attempt { attempts: Arc::clone(self), link: asked.link, target: asked.target })
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.state).all
    }
}

/// An attempt that is under way.
pub(super) struct Attempt {
    attempts: Arc<Attempts>,
    link: usize,
    target: Option<Prefix>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut state = locked(&self.attempts.state);
        state.all -= 1;
        lower(&mut state.by_link, &self.link);
        if let Some(target) = &self.target {
            lower(&mut state.by_target, target);
        }
    }
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
        let limits =
            RelayLimits { attempts: 16, attempts_per_link: 2, attempts_per_target: 3, ..RelayLimits::default() };
        Attempts::new(&limits)
    }

    fn asked(link: usize, network: u8) -> Asked {
        Asked { link, trusted: false, target: Some(Prefix::around([192, 0, network, 1].into())) }
    }

    #[test]
    fn one_link_and_one_target_take_no_more_than_their_share() {
        let attempts = attempts();
        let mut taken = vec![attempts.take(&asked(1, 1)).unwrap(), attempts.take(&asked(1, 2)).unwrap()];
        assert!(attempts.take(&asked(1, 3)).is_none(), "the link has two");
        taken.push(attempts.take(&asked(2, 1)).unwrap());
        taken.push(attempts.take(&asked(3, 1)).unwrap());
        assert!(attempts.take(&asked(4, 1)).is_none(), "the target has three");
        assert!(attempts.take(&asked(4, 4)).is_some(), "others go on");
        drop(taken);
        let state = locked(&attempts.state);
        assert!(state.all == 0 && state.by_link.is_empty() && state.by_target.is_empty());
    }

    #[test]
    fn strangers_leave_a_quarter_to_listed_relays() {
        let attempts = attempts();
        let taken: Vec<_> = (0..100).filter_map(|index| attempts.take(&asked(index, index as u8))).collect();
        assert_eq!((taken.len(), attempts.count()), (12, 12));
        let listed = Asked { target: None, ..asked(0, 0) };
        let more: Vec<_> = (0..100).filter_map(|_| attempts.take(&listed)).collect();
        assert_eq!(more.len(), 4);
    }

    #[test]
    fn a_listed_relay_may_ask_for_more_than_a_stranger() {
        let attempts = attempts();
        let relay = |network| Asked { trusted: true, ..asked(1, network) };
        let taken: Vec<_> = (0..100).filter_map(|index| attempts.take(&relay(index))).collect();
        assert_eq!(taken.len(), 4);
    }
}
