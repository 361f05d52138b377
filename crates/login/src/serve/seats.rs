//! Places for connections, counted by network. When there is none, an idle connection makes room: one that no request has come over, or only a part of one.

use crate::throttle::network;
use ipnet::IpNet;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The places of a server.
pub(crate) struct Seats {
    most: usize,
    most_per_network: usize,
    /// A network with fewer than these may take the last quarter.
    few: usize,
    inner: Mutex<Inner>,
}

/// Kept sorted, so that finding who has to go takes no longer with many connections than with few: strangers make it happen as often as they like.
#[derive(Default)]
struct Inner {
    seats: HashMap<u64, Entry>,
    networks: HashMap<Option<IpNet>, Network>,
    /// The networks that have an idle connection, except the proxies', by [`Network::rank`].
    yielding: BTreeSet<Rank>,
    /// Counts up with every change, so that a smaller number is an older one.
    turn: u64,
}

struct Entry {
    /// `None` for a proxy's: its connections are many clients'.
    network: Option<IpNet>,
    /// When the connection last had something to do; `None` while a request is being answered.
    idle_since: Option<u64>,
    evicted: Arc<Notify>,
}

/// The connections of one network.
#[derive(Default)]
struct Network {
    count: usize,
    /// Those that are idle: since when, and their numbers.
    idle: BTreeSet<(u64, u64)>,
}

/// How many connections a network has, since when one of them has been idle longest, and that one's number.
type Rank = (Reverse<usize>, u64, u64);

/// A place. Dropping it gives it back.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    evicted: Arc<Notify>,
}

/// Whether somebody had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    Free,
    Evicted,
}

impl Seats {
    pub(crate) fn new(most: usize, most_per_network: usize) -> Arc<Self> {
        Arc::new(Self { most, most_per_network, few: (most / 64).max(1), inner: Mutex::default() })
    }

    /// A place for a connection from that address. If its network has all that it may have, one of its own idle connections goes. If all places are
    /// taken, or all but the last quarter and its network has more than a few, an idle one goes of the network that has the most, if that has
    /// more than the newcomer's.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr) -> Option<(Seat, Entered)> {
        let network = Some(network(from));
        let mut inner = self.lock();
        let own = inner.networks.get(&network).map_or(0, |network| network.count);
        let most = if own < self.few { self.most } else { self.most - self.most / 4 };
        let victim = if own >= self.most_per_network {
            Some(inner.idlest(network)?)
        } else if inner.seats.len() >= most {
            // A newcomer from a network that has as much as any takes the place of one of its own.
            Some(inner.idlest_of_larger(own).or_else(|| inner.idlest(network))?)
        } else {
            None
        };
        Some(self.seat(&mut inner, network, victim))
    }

    /// A place for a connection from a proxy, which may have as many as there are. If all are taken, somebody else's idle one goes, or else one of the
    /// proxies'.
    pub(crate) fn enter_proxy(self: &Arc<Self>) -> Option<(Seat, Entered)> {
        let mut inner = self.lock();
        let full = inner.seats.len() >= self.most;
        let victim = if full { Some(inner.idlest_of_larger(0).or_else(|| inner.idlest(None))?) } else { None };
        Some(self.seat(&mut inner, None, victim))
    }

    /// A seat in place of the victim's.
    fn seat(self: &Arc<Self>, inner: &mut Inner, network: Option<IpNet>, victim: Option<u64>) -> (Seat, Entered) {
        if let Some(entry) = victim.and_then(|number| inner.remove(number)) {
            entry.evicted.notify_one();
        }
        inner.turn += 1;
        let (number, evicted) = (inner.turn, Arc::new(Notify::new()));
        let entry = Entry { network, idle_since: Some(number), evicted: Arc::clone(&evicted) };
        inner.seats.insert(number, entry);
        inner.change(network, |network| {
            network.count += 1;
            network.idle.insert((number, number));
        });
        let entered = if victim.is_some() { Entered::Evicted } else { Entered::Free };
        (Seat { seats: Arc::clone(self), number, evicted }, entered)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The connection of a network that has been idle longest.
    fn idlest(&self, network: Option<IpNet>) -> Option<u64> {
        self.networks.get(&network)?.idle.first().map(|(_, number)| *number)
    }

    /// Of the networks with more connections than these and an idle one among them, the largest's that has been idle longest.
    fn idlest_of_larger(&self, than: usize) -> Option<u64> {
        self.yielding.first().filter(|(Reverse(count), ..)| *count > than).map(|(.., number)| *number)
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.seats.remove(&number)?;
        self.change(entry.network, |network| {
            network.count -= 1;
            if let Some(since) = entry.idle_since {
                network.idle.remove(&(since, number));
            }
        });
        Some(entry)
    }

    /// Marks a connection as idle from now on, or as busy.
    fn mark(&mut self, number: u64, idle: bool) {
        self.turn += 1;
        let since = idle.then_some(self.turn);
        let Some(entry) = self.seats.get_mut(&number) else { return };
        let before = std::mem::replace(&mut entry.idle_since, since);
        let network = entry.network;
        self.change(network, |network| {
            if let Some(before) = before {
                network.idle.remove(&(before, number));
            }
            network.idle.extend(since.map(|since| (since, number)));
        });
    }

    /// Changes what is known of a network, and its rank with it.
    fn change(&mut self, key: Option<IpNet>, change: impl FnOnce(&mut Network)) {
        let network = self.networks.entry(key).or_default();
        if let Some(rank) = network.rank() {
            self.yielding.remove(&rank);
        }
        change(network);
        if key.is_some() {
            self.yielding.extend(network.rank());
        }
        if network.count == 0 {
            self.networks.remove(&key);
        }
    }
}

impl Network {
    /// Where it stands among those that may have to yield; nowhere without an idle connection.
    fn rank(&self) -> Option<Rank> {
        self.idle.first().map(|(since, number)| (Reverse(self.count), *since, *number))
    }
}

impl Seat {
    /// A request is being answered: the connection does not have to go.
    pub(crate) fn busy(&self) {
        self.seats.lock().mark(self.number, false);
    }

    /// The request has been answered.
    pub(crate) fn idle(&self) {
        self.seats.lock().mark(self.number, true);
    }

    /// Comes back when the connection has to go.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_test_support::Random;

    fn ip(third: u8) -> IpAddr {
        [192, 0, third, 7].into()
    }

    async fn is_evicted(seat: &Seat) -> bool {
        tokio::select! { biased; () = seat.evicted() => true, () = std::future::ready(()) => false }
    }

    #[tokio::test]
    async fn a_network_that_has_its_share_loses_its_own_idlest() {
        let seats = Seats::new(10, 3);
        let other = seats.enter(ip(2)).unwrap().0;
        let mine: Vec<Seat> = (0..3).map(|_| seats.enter(ip(1)).unwrap().0).collect();
        mine[0].busy();
        mine[0].idle();
        let (newcomer, entered) = seats.enter(ip(1)).unwrap();
        assert_eq!(entered, Entered::Evicted);
        assert!(is_evicted(&mine[1]).await, "the first has just been used");
        assert!(!is_evicted(&mine[0]).await && !is_evicted(&mine[2]).await && !is_evicted(&other).await);
        [&mine[0], &mine[2], &newcomer].into_iter().for_each(Seat::busy);
        assert!(seats.enter(ip(1)).is_none(), "all are at work");
        assert_eq!(seats.enter(ip(3)).unwrap().1, Entered::Free);
    }

    #[tokio::test]
    async fn when_all_places_are_taken_the_largest_network_makes_room_for_smaller_ones() {
        let seats = Seats::new(4, 4);
        let many: Vec<Seat> = (0..3).map(|_| seats.enter(ip(1)).unwrap().0).collect();
        let one = seats.enter(ip(2)).unwrap().0;
        let (third, entered) = seats.enter(ip(3)).unwrap();
        assert!(entered == Entered::Evicted && is_evicted(&many[0]).await && !is_evicted(&one).await);
        let fourth = seats.enter(ip(4)).unwrap().0;
        assert!(is_evicted(&many[1]).await);
        let again = seats.enter(ip(3)).unwrap().0;
        assert!(is_evicted(&third).await, "it has as many as anybody, so it takes its own place");
        assert!(!is_evicted(&one).await && !is_evicted(&fourth).await);
        again.busy();
        assert!(seats.enter(ip(3)).is_none(), "and none if that is at work");
        drop((many, one, third, fourth));
    }

    #[test]
    fn requests_of_a_few_networks_leave_the_last_quarter_to_others() {
        let seats = Seats::new(12, 6);
        let enter = |third| seats.enter(ip(third)).map(|(seat, _)| seat).inspect(|seat| seat.busy());
        let at_work: Vec<Seat> = (0..18).filter_map(|number| enter(1 + number % 3)).collect();
        assert_eq!(at_work.len(), 9);
        let others: Vec<Seat> = (10..13).map(|third| enter(third).unwrap()).collect();
        assert!(enter(13).is_none(), "all are at work");
        others[1].idle();
        assert!(enter(13).is_some(), "the one that is idle makes room");
    }

    #[tokio::test]
    async fn a_proxy_has_as_many_as_there_are_and_yields_to_nobody_but_itself() {
        let seats = Seats::new(4, 2);
        let stranger = seats.enter(ip(1)).unwrap().0;
        let proxys: Vec<Seat> = (0..4).map(|_| seats.enter_proxy().unwrap().0).collect();
        assert!(is_evicted(&stranger).await);
        assert!(seats.enter(ip(1)).is_none());
        let another = seats.enter_proxy().unwrap().0;
        assert!(is_evicted(&proxys[0]).await && !is_evicted(&proxys[1]).await);
        [&proxys[1], &proxys[2], &proxys[3], &another].into_iter().for_each(Seat::busy);
        assert!(seats.enter_proxy().is_none(), "all are at work");
    }

    #[test]
    fn nobody_is_remembered_who_has_gone() {
        let seats = Seats::new(100, 100);
        let all: Vec<Seat> = (0..100).map(|third| seats.enter(ip(third)).unwrap().0).collect();
        assert!(seats.enter(ip(0)).is_some(), "in place of another of its own");
        drop(all);
        let inner = seats.lock();
        assert!(inner.seats.is_empty() && inner.networks.is_empty() && inner.yielding.is_empty());
    }

    #[test]
    fn a_flood_takes_no_more_than_the_places() {
        let seats = Seats::new(64, 16);
        let mut held = Vec::new();
        for number in 0..10_000u32 {
            held.extend(seats.enter(ip((number % 7) as u8)).map(|(seat, _)| seat));
            assert!(seats.lock().seats.len() <= 64);
        }
        assert!(seats.lock().networks.values().all(|network| network.count <= 16));
    }

    #[test]
    fn who_has_to_go_is_who_a_search_among_all_finds() {
        let seats = Seats::new(64, 16);
        let mut random = Random::new(15);
        let mut held: Vec<Seat> = Vec::new();
        let mut found = 0;
        for _ in 0..5000 {
            let seat = if held.is_empty() { None } else { Some(random.below(held.len())) };
            match (random.below(16), seat) {
                (0 | 1, Some(seat)) => held[seat].busy(),
                (2 | 3, Some(seat)) => held[seat].idle(),
                (4..=6, Some(seat)) => drop(held.swap_remove(seat)),
                (7, _) => held.extend(seats.enter_proxy().map(|(seat, _)| seat)),
                _ => held.extend(seats.enter(ip(random.below(9) as u8)).map(|(seat, _)| seat)),
            }
            let inner = seats.lock();
            let count = |network| inner.seats.values().filter(|entry| entry.network == network).count();
            for than in [0, 3, 8] {
                let idle = inner.seats.iter().filter_map(|(number, entry)| {
                    let count = entry.network.map_or(0, |network| count(Some(network)));
                    (count > than).then_some((Reverse(count), entry.idle_since?, *number))
                });
                let victim = idle.min().map(|(.., number)| number);
                assert_eq!(inner.idlest_of_larger(than), victim);
                found += usize::from(victim.is_some());
            }
            for network in [None, Some(network(ip(1)))] {
                let idle = inner.seats.iter().filter(|(_, entry)| entry.network == network);
                let idle = idle.filter_map(|(number, entry)| Some((entry.idle_since?, *number)));
                assert_eq!(inner.idlest(network), idle.min().map(|(_, number)| number));
            }
        }
        assert!(found > 1000, "{found}");
    }
}
