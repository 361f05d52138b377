//! Places for clients' connections.
//!
//! A connection that has not yet said what it wants is half open. When no place is free, a newcomer gets that of the oldest half-open
//! connection, first of its own address, then of the address with the most. One that has said what it wants keeps its place. So connections
//! that say nothing, however many, keep nobody out.

use crate::link::locked;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::task::AbortHandle;

pub(super) struct Seats {
    most: usize,
    most_of_one: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// By number, which is the order in which they came.
    seats: BTreeMap<u64, Info>,
    of_one: HashMap<IpAddr, usize>,
    next: u64,
}

struct Info {
    address: IpAddr,
    half_open: bool,
    /// Ends the connection's task.
    abort: Option<AbortHandle>,
}

/// A connection's place. It is given back on drop.
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
}

/// Whether somebody else had to go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Free,
    Displaced,
}

impl Seats {
    pub(super) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, taken: Mutex::default() })
    }

    /// A place for a connection from there.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<(Seat, Entry)> {
        let address = address.to_canonical();
        let mut taken = locked(&self.taken);
        let mut entry = Entry::Free;
        if taken.of(address) >= self.most_of_one {
            taken.displace(|info| info.address == address)?;
            entry = Entry::Displaced;
        } else if taken.seats.len() >= self.most {
            let crowd = taken.of_one.values().copied().max().unwrap_or(0);
            let crowded: Vec<IpAddr> =
                taken.of_one.iter().filter(|(_, count)| **count == crowd).map(|(address, _)| *address).collect();
            taken.displace(|info| crowded.contains(&info.address)).or_else(|| taken.displace(|_| true))?;
            entry = Entry::Displaced;
        }
        let number = taken.next;
        taken.next += 1;
        taken.seats.insert(number, Info { address, half_open: true, abort: None });
        *taken.of_one.entry(address).or_insert(0) += 1;
        Some((Seat { seats: Arc::clone(self), number }, entry))
    }

    /// Says how to end the connection that has the place of this number.
    pub(super) fn set_abort(&self, number: u64, abort: AbortHandle) {
        match locked(&self.taken).seats.get_mut(&number) {
            Some(info) => info.abort = Some(abort),
            // It has lost its place in the meantime, or is over.
            None => abort.abort(),
        }
    }

    /// How many places are taken, and how many of these by half-open connections.
    pub(super) fn count(&self) -> (usize, usize) {
        let taken = locked(&self.taken);
        (taken.seats.len(), taken.seats.values().filter(|info| info.half_open).count())
    }
}

impl Taken {
    fn of(&self, address: IpAddr) -> usize {
        self.of_one.get(&address).copied().unwrap_or(0)
    }

    fn displace(&mut self, is_one: impl Fn(&Info) -> bool) -> Option<()> {
        let (&number, _) = self.seats.iter().find(|(_, info)| info.half_open && is_one(info))?;
        if let Some(abort) = self.free(number).and_then(|info| info.abort) {
            abort.abort();
        }
        Some(())
    }

    fn free(&mut self, number: u64) -> Option<Info> {
        let info = self.seats.remove(&number)?;
        if let Some(count) = self.of_one.get_mut(&info.address) {
            *count -= 1;
            if *count == 0 {
                self.of_one.remove(&info.address);
            }
        }
        Some(info)
    }
}

impl Seat {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The client has said what it wants.
    pub(super) fn settle(&self) {
        if let Some(info) = locked(&self.seats.taken).seats.get_mut(&self.number) {
            info.half_open = false;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        locked(&self.seats.taken).free(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn enter(seats: &Arc<Seats>, last: u8) -> Option<(Seat, bool)> {
        seats.enter(host(last)).map(|(seat, entry)| (seat, entry == Entry::Displaced))
    }

    #[test]
    fn the_oldest_half_open_connection_of_an_address_makes_room_for_its_next() {
        let seats = Seats::new(100, 3);
        let kept: Vec<_> = (0..3).map(|_| enter(&seats, 1).unwrap().0).collect();
        kept[0].settle();
        let (newest, displaced) = enter(&seats, 1).unwrap();
        assert!(displaced);
        assert_eq!(seats.count(), (3, 2));
        // The one that lost its place gives none back a second time.
        drop(kept);
        assert_eq!(seats.count(), (1, 1));
        assert!(!enter(&seats, 2).unwrap().1, "others are not concerned");
        newest.settle();
        let settled: Vec<_> = (0..2).map(|_| enter(&seats, 1).unwrap().0).collect();
        settled.iter().for_each(Seat::settle);
        assert!(enter(&seats, 1).is_none(), "whoever is served keeps its place");
        assert!(enter(&seats, 2).is_some());
    }

    #[test]
    fn when_all_places_are_taken_the_address_with_most_makes_room() {
        let seats = Seats::new(4, 3);
        let other = enter(&seats, 2).unwrap().0;
        let many: Vec<_> = (0..3).map(|_| enter(&seats, 1).unwrap().0).collect();
        let (third, displaced) = enter(&seats, 3).unwrap();
        assert!(displaced);
        let left = |seat: &Seat| locked(&seats.taken).seats.contains_key(&seat.number);
        assert!(left(&other) && left(&third) && !left(&many[0]) && left(&many[1]));
        // Settled ones stay, and then those of others go.
        many.iter().for_each(Seat::settle);
        let (_fourth, _) = enter(&seats, 4).unwrap();
        assert!(!left(&other) && left(&many[1]));
    }

    #[tokio::test]
    async fn whoever_loses_its_place_is_ended() {
        let seats = Seats::new(1, 1);
        let (seat, _) = seats.enter(host(1)).unwrap();
        let number = seat.number();
        let task = tokio::spawn(async move {
            let _seat = seat;
            std::future::pending::<()>().await;
        });
        seats.set_abort(number, task.abort_handle());
        let (_second, entry) = seats.enter(host(1)).unwrap();
        assert_eq!(entry, Entry::Displaced);
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(seats.count(), (1, 1));
    }
}
