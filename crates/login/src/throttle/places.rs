//! A limited number of places, of which nobody's network gets too many.

use ipnet::IpNet;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places for requests that wait or are being worked on, counted by network.
pub(crate) struct Places {
    most: usize,
    most_per_network: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_network: HashMap<IpNet, usize>,
}

/// A place. Dropping it gives it back.
pub(crate) struct Place {
    places: Arc<Places>,
    network: IpNet,
}

impl Places {
    /// So many places, and so many for one network. The last quarter is for networks that have none.
    pub(crate) fn new(most: usize, most_per_network: usize) -> Arc<Self> {
        Arc::new(Self { most, most_per_network, taken: Mutex::default() })
    }

    /// A place for a request from that network, if there is one.
    pub(crate) fn enter(self: &Arc<Self>, network: IpNet) -> Option<Place> {
        let mut taken = self.lock();
        let own = taken.by_network.get(&network).copied().unwrap_or(0);
        let most = if own == 0 { self.most } else { self.most - self.most / 4 };
        if taken.all >= most || own >= self.most_per_network {
            return None;
        }
        taken.all += 1;
        *taken.by_network.entry(network).or_default() += 1;
        Some(Place { places: Arc::clone(self), network })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.all -= 1;
        if let Some(count) = taken.by_network.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                taken.by_network.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(third: u8) -> IpNet {
        format!("192.0.{third}.0/24").parse().unwrap()
    }

    #[test]
    fn a_network_has_its_share_and_the_last_quarter_is_for_newcomers() {
        let places = Places::new(8, 4);
        let mine: Vec<_> = (0..4).map(|_| places.enter(net(1)).unwrap()).collect();
        assert!(places.enter(net(1)).is_none(), "four for a network");
        let other: Vec<_> = (0..2).map(|_| places.enter(net(2)).unwrap()).collect();
        assert!(places.enter(net(2)).is_none(), "it has two, and only two are left");
        let last = [places.enter(net(3)).unwrap(), places.enter(net(4)).unwrap()];
        assert!(places.enter(net(5)).is_none(), "none is left");
        drop(mine);
        assert!(places.enter(net(5)).is_some() && places.enter(net(2)).is_some());
        drop((other, last));
        assert!(places.lock().by_network.is_empty(), "nobody is remembered");
    }
}
