//! Places for connections.
//!
//! A connection is silent until its request is there. When all places are taken, a newcomer gets that of the oldest silent connection, of the network
//! that has the most. If none is silent, whoever has far more than the newcomer's network loses one, or whose provider has far more than the newcomer's
//! ([`Census`]). So half requests keep nobody out, from however many networks they come, and slow readers only if they are of many providers.
//!
//! An eighth of the places is kept for the other authorities and the relays of the consensus, each counted by its own address. When these have taken
//! it, they have what strangers have.

use crate::census::{Census, Party};
use crate::link::locked;
use crate::prefix::Prefix;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a request may take once all places are taken.
const HURRY: Duration = Duration::from_secs(2);

/// The places of an authority.
pub(super) struct Seats {
    most: usize,
    kept: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// By number, which is the order in which they came.
    seats: BTreeMap<u64, Info>,
    next: u64,
}

struct Info {
    asker: Asker,
    silent: bool,
    evicted: Arc<Notify>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asker {
    /// The address of an authority, or of a relay of the consensus.
    Known(Prefix),
    Network(Prefix),
}

/// A place. Dropping it gives it back.
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    evicted: Arc<Notify>,
}

/// Whether somebody else had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    Free,
    Displaced,
}

impl Party for Asker {
    fn provider(self) -> Self {
        match self {
            Self::Known(_) => self,
            Self::Network(network) => Self::Network(network.provider()),
        }
    }
}

impl Asker {
    fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }
}

impl Seats {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, kept: most / 8, taken: Mutex::default() })
    }

    /// A place for a connection from there. `known`: an authority or a relay of the consensus has this address.
    pub(super) fn enter(self: &Arc<Self>, from: IpAddr, known: bool) -> Option<(Seat, Entered)> {
        let mut taken = locked(&self.taken);
        let kept = if known { self.seat(&mut taken, Asker::Known(Prefix::only(from))) } else { None };
        kept.or_else(|| self.seat(&mut taken, Asker::Network(Prefix::around(from))))
    }

    fn seat(self: &Arc<Self>, taken: &mut Taken, asker: Asker) -> Option<(Seat, Entered)> {
        let entered = if self.are_taken(taken, asker) {
            taken.make_room(asker)?;
            Entered::Displaced
        } else {
            Entered::Free
        };
        let (number, evicted) = (taken.next, Arc::new(Notify::new()));
        taken.next += 1;
        taken.seats.insert(number, Info { asker, silent: true, evicted: Arc::clone(&evicted) });
        Some((Seat { seats: Arc::clone(self), number, evicted }, entered))
    }

    /// Whether all places are taken that the asker may have.
    fn are_taken(&self, taken: &Taken, asker: Asker) -> bool {
        let most = if asker.is_known() { self.kept } else { self.most - self.kept };
        taken.seats.values().filter(|info| info.asker.is_known() == asker.is_known()).count() >= most
    }

    /// How many places are taken.
    pub(super) fn count(&self) -> usize {
        locked(&self.taken).seats.len()
    }
}

impl Taken {
    /// Takes a place from whoever has to give way to that newcomer, if anybody.
    fn make_room(&mut self, newcomer: Asker) -> Option<()> {
        let rivals = || self.seats.iter().filter(|(_, info)| info.asker.is_known() == newcomer.is_known());
        let census = Census::of(rivals().map(|(_, info)| info.asker), newcomer);
        let candidate = |(number, info): (&u64, &Info)| {
            let crowd = census.gives_way(info.asker, info.silent);
            let is_own = info.silent && info.asker == newcomer;
            (is_own || crowd.is_some()).then_some((info.silent, crowd, Reverse(*number)))
        };
        let (.., Reverse(number)) = rivals().filter_map(candidate).max()?;
        if let Some(info) = self.seats.remove(&number) {
            info.evicted.notify_one();
        }
        Some(())
    }
}

impl Seat {
    /// The request is there.
    pub(super) fn has_asked(&self) {
        if let Some(info) = locked(&self.seats.taken).seats.get_mut(&self.number) {
            info.silent = false;
        }
    }

    /// Comes back when the connection has to go: somebody else has its place, or it is still silent and all places are taken.
    pub(super) async fn lost(&self) {
        let overdue = async {
            loop {
                tokio::time::sleep(HURRY).await;
                if self.is_in_the_way() {
                    return;
                }
            }
        };
        tokio::select! {
            () = self.evicted.notified() => {}
            () = overdue => {}
        }
    }

    fn is_in_the_way(&self) -> bool {
        let taken = locked(&self.seats.taken);
        let silent = taken.seats.get(&self.number).filter(|info| info.silent);
        silent.is_some_and(|info| self.seats.are_taken(&taken, info.asker))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        locked(&self.seats.taken).seats.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    fn address(third: u8, last: u8) -> IpAddr {
        [192, 0, third, last].into()
    }

    fn stranger(seats: &Arc<Seats>, third: u8) -> Option<Seat> {
        seats.enter(address(third, 1), false).map(|(seat, _)| seat)
    }

    fn is_there(seat: &Seat) -> bool {
        locked(&seat.seats.taken).seats.contains_key(&seat.number)
    }

    #[test]
    fn half_requests_of_many_networks_keep_nobody_out() {
        let seats = Seats::new(64);
        let crowd: Vec<_> = (0..14).flat_map(|_| (0..4).map(|third| stranger(&seats, third).unwrap())).collect();
        assert_eq!(seats.count(), 56, "an eighth is kept for others");
        let honest: Vec<_> = (100..108).map(|third| seats.enter(address(third, 1), false).unwrap()).collect();
        assert!(honest.iter().all(|(seat, entered)| is_there(seat) && *entered == Entered::Displaced));
        assert!(crowd[..8].iter().all(|seat| !is_there(seat)) && crowd[8..].iter().all(is_there), "the oldest go");
        // The crowd comes again, and takes its own places.
        let again: Vec<_> = (0..48).map(|number| stranger(&seats, number % 4).unwrap()).collect();
        assert!(honest.iter().all(|(seat, _)| is_there(seat)) && !crowd.iter().any(is_there));
        drop((crowd, honest, again));
        assert_eq!(seats.count(), 0);
    }

    #[test]
    fn who_has_asked_keeps_its_place_unless_its_network_has_far_more() {
        let seats = Seats::new(16);
        let many: Vec<_> = (0..9).map(|_| stranger(&seats, 1).unwrap()).collect();
        let few: Vec<_> = (0..5).map(|_| stranger(&seats, 2).unwrap()).collect();
        many.iter().chain(&few).for_each(Seat::has_asked);
        assert!(stranger(&seats, 1).is_none(), "no place for one of the same network");
        let newcomer = stranger(&seats, 3).unwrap();
        assert!(!is_there(&many[0]) && is_there(&many[1]) && few.iter().all(is_there));
        newcomer.has_asked();
        assert!(stranger(&seats, 3).is_none(), "nobody has more than is fair now");
        drop(few);
        assert!(stranger(&seats, 3).is_some());
    }

    #[test]
    fn a_provider_with_many_networks_keeps_nobody_out() {
        let seats = Seats::new(146);
        let of_provider = |number: u16| IpAddr::from([0x2600, 0, number, 0, 0, 0, 0, 1]);
        let crowd: Vec<_> = (0..128).map(|number| seats.enter(of_provider(number % 16), false).unwrap().0).collect();
        crowd.iter().for_each(Seat::has_asked);
        assert!(seats.enter(of_provider(20), false).is_none(), "no place for one of the same provider");
        let newcomer = stranger(&seats, 1).expect("another provider's client has a place");
        assert!(is_there(&newcomer) && crowd.iter().filter(|seat| is_there(seat)).count() == 127);
    }

    #[test]
    fn strangers_take_no_place_that_is_kept_for_those_who_are_known() {
        let seats = Seats::new(16);
        let strangers: Vec<_> = (0..14).map(|third| stranger(&seats, third).unwrap()).collect();
        strangers.iter().for_each(Seat::has_asked);
        assert!(stranger(&seats, 20).is_none());
        let known: Vec<_> = (1..=2).map(|last| seats.enter(address(0, last), true).unwrap()).collect();
        assert!(known.iter().all(|(_, entered)| *entered == Entered::Free));
        let again = seats.enter(address(0, 1), true).unwrap().0;
        assert!(!is_there(&known[0].0) && is_there(&known[1].0), "an address that has one takes its own");
        again.has_asked();
        known[1].0.has_asked();
        assert!(seats.enter(address(0, 3), true).is_none(), "all are at work");
        drop(strangers);
        assert_eq!(seats.enter(address(0, 3), true).unwrap().1, Entered::Free, "a stranger's place does as well");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_loses_its_place_to_another_or_to_time_once_all_are_taken() {
        let seats = Seats::new(2);
        let first = stranger(&seats, 1).unwrap();
        let asked = stranger(&seats, 2).unwrap();
        asked.has_asked();
        assert!(timeout(5 * HURRY, first.lost()).await.is_ok(), "all are taken");
        assert!(timeout(5 * HURRY, asked.lost()).await.is_err(), "it has asked");
        let second = stranger(&seats, 1).unwrap();
        assert!(timeout(Duration::ZERO, first.lost()).await.is_ok(), "another of its network has its place");
        drop(asked);
        assert!(timeout(5 * HURRY, second.lost()).await.is_err(), "there is room");
    }
}
