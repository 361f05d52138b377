//! Which streams an exit carries, or a directory, and for how long.
//!
//! Streams are counted by their [payer](Payer), and by circuit. When all places are taken, a new stream gets the place of one whose
//! payer [gives way](gives_way), or of the same payer's if another of its circuits has more. Of that payer's circuit with the most, the
//! stream that has been idle longest goes. So idle streams fill the places of others only until they are wanted.

use super::payer::{Payer, gives_way};
use super::turns::Turns;
use crate::link::locked;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// The places of an exit's streams.
pub(super) struct Streams {
    most: usize,
    most_of_a_payer: usize,
    start: Instant,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    count: usize,
    payers: HashMap<Payer, Share>,
}

/// What one payer holds: places by circuit.
struct Share {
    count: usize,
    opening: Turns,
    closing: Turns,
    circuits: HashMap<usize, Vec<Arc<Seat>>>,
}

impl Share {
    fn new() -> Self {
        Self { count: 0, opening: Turns::one_by_one(), closing: Turns::one_by_one(), circuits: HashMap::new() }
    }
}

/// A place. It is given back on drop.
pub(super) struct Place {
    /// In which its payer's connections are opened.
    pub(super) opening: Turns,
    /// In which they are closed. Who waits for one may still be waiting for the other.
    pub(super) closing: Turns,
    streams: Arc<Streams>,
    payer: Payer,
    circuit: usize,
    seat: Arc<Seat>,
}

struct Seat {
    /// Milliseconds from the start to when bytes last went either way.
    used: AtomicU64,
    taken_away: Notify,
}

impl Streams {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Self::with_share(most, usize::MAX)
    }

    /// The same, and so many for one payer.
    pub(super) fn with_share(most: usize, most_of_a_payer: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_a_payer, start: Instant::now(), taken: Mutex::default() })
    }

    /// A place for a stream of that circuit, which counts for that payer; `None` if nobody gives way.
    pub(super) fn enter(self: &Arc<Self>, payer: Payer, circuit: usize) -> Option<Place> {
        let mut taken = locked(&self.taken);
        if taken.payers.get(&payer).is_some_and(|share| share.count >= self.most_of_a_payer) {
            return None;
        }
        if taken.count >= self.most {
            let victim = taken.victim(payer, circuit, self.most)?;
            victim.taken_away.notify_one();
        }
        let seat = Arc::new(Seat { used: AtomicU64::new(self.now()), taken_away: Notify::new() });
        taken.count += 1;
        let share = taken.payers.entry(payer).or_insert_with(Share::new);
        share.count += 1;
        share.circuits.entry(circuit).or_default().push(Arc::clone(&seat));
        let (opening, closing) = (share.opening.clone(), share.closing.clone());
        Some(Place { opening, closing, streams: Arc::clone(self), payer, circuit, seat })
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.taken).count
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

impl Taken {
    /// Takes a place away from whoever gives way to a new stream of that payer's circuit.
    fn victim(&mut self, payer: Payer, circuit: usize, most: usize) -> Option<Arc<Seat>> {
        let own_circuit = self.payers.get(&payer).and_then(|share| share.circuits.get(&circuit)).map_or(0, Vec::len);
        let held = self.payers.iter().map(|(payer, share)| (*payer, share.count));
        let from = gives_way(held, payer, most).unwrap_or(payer);
        let circuits = &self.payers.get(&from)?.circuits;
        let (largest, seats) = circuits.iter().max_by_key(|(_, seats)| seats.len())?;
        if from == payer && own_circuit + 1 >= seats.len() {
            return None;
        }
        let idlest = seats.iter().min_by_key(|seat| seat.used.load(Ordering::Relaxed))?;
        let (largest, idlest) = (*largest, Arc::clone(idlest));
        self.remove(from, largest, &idlest);
        Some(idlest)
    }

    fn remove(&mut self, payer: Payer, circuit: usize, seat: &Arc<Seat>) {
        let Some(share) = self.payers.get_mut(&payer) else { return };
        let Some(seats) = share.circuits.get_mut(&circuit) else { return };
        let Some(at) = seats.iter().position(|other| Arc::ptr_eq(other, seat)) else { return };
        seats.swap_remove(at);
        if seats.is_empty() {
            share.circuits.remove(&circuit);
        }
        share.count -= 1;
        if share.count == 0 {
            self.payers.remove(&payer);
        }
        self.count -= 1;
    }
}

impl Place {
    /// Bytes have gone one way or the other.
    pub(super) fn used(&self) {
        self.seat.used.store(self.streams.now(), Ordering::Relaxed);
    }

    /// Comes back when somebody else gets the place.
    pub(super) async fn taken_away(&self) {
        self.seat.taken_away.notified().await;
    }

    /// Comes back when nothing has gone either way for that long.
    pub(super) async fn idle(&self, limit: Duration) {
        loop {
            let used = Duration::from_millis(self.seat.used.load(Ordering::Relaxed));
            let idle = self.streams.start.elapsed().saturating_sub(used);
            if idle >= limit {
                return;
            }
            sleep(limit - idle).await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.streams.taken).remove(self.payer, self.circuit, &self.seat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::payer::Asker;

    fn from(link: usize) -> Payer {
        Payer::Asker(Asker::Link(link))
    }

    /// Whether the place was taken away.
    async fn is_lost(place: &Place) -> bool {
        tokio::select! { biased; () = place.taken_away() => true, () = std::future::ready(()) => false }
    }

    #[tokio::test]
    async fn the_link_with_the_most_streams_makes_room_for_others() {
        let streams = Streams::new(4);
        let held: Vec<_> = (0..4).map(|_| streams.enter(from(1), 1).expect("there is room")).collect();
        assert!(streams.enter(from(1), 1).is_none(), "its own streams don't make room for more of it");
        let honest = streams.enter(from(2), 7).expect("link 1 makes room");
        assert_eq!(streams.count(), 4);
        let second = streams.enter(from(2), 7).expect("and again, up to an equal share");
        assert!(streams.enter(from(2), 7).is_none(), "both hold as many now");
        let mut lost = 0;
        for place in &held {
            lost += usize::from(is_lost(place).await);
        }
        assert_eq!(lost, 2);
        drop((held, honest, second));
        assert_eq!(streams.count(), 0);
        assert!(locked(&streams.taken).payers.is_empty());
    }

    /// Whether there is a turn at once.
    async fn is_free(turns: &Turns) -> bool {
        tokio::select! { biased; _ = turns.take() => true, () = std::future::ready(()) => false }
    }

    #[tokio::test]
    async fn a_payers_connections_are_opened_and_closed_one_by_one_and_others_do_not_wait() {
        let streams = Streams::new(4);
        let [first, second, other] =
            [(1, 1), (1, 2), (2, 3)].map(|(link, circuit)| streams.enter(from(link), circuit).unwrap());
        let opening = first.opening.take().await;
        assert!(!is_free(&second.opening).await && is_free(&second.closing).await);
        assert!(is_free(&other.opening).await);
        let closing = second.closing.take().await;
        assert!(!is_free(&first.closing).await && is_free(&other.closing).await);
        drop((opening, closing));
        assert!(is_free(&second.opening).await && is_free(&first.closing).await);
    }

    #[tokio::test]
    async fn thirty_streams_of_a_network_do_not_outlast_ten_behind_a_listed_relay() {
        let streams = Streams::new(40);
        let listed = |circuit| Payer::Circuit { link: 7, circuit };
        let honest: Vec<_> = (0..10).map(|circuit| streams.enter(listed(circuit), circuit).unwrap()).collect();
        // Thirty links of one network, with a stream each.
        let many: Vec<_> = (100..130).map(|circuit| streams.enter(from(1), circuit).unwrap()).collect();
        assert!(streams.enter(from(1), 131).is_none());
        let other = streams.enter(from(2), 132).expect("the thirty pay");
        for place in &honest {
            assert!(!is_lost(place).await);
        }
        drop((honest, many, other));
        assert!(locked(&streams.taken).payers.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn on_one_link_the_circuit_with_the_most_makes_room_and_its_idlest_stream_goes() {
        let streams = Streams::new(3);
        let held: Vec<_> = (0..3).map(|_| streams.enter(from(1), 1).unwrap()).collect();
        sleep(Duration::from_secs(1)).await;
        held[0].used();
        held[2].used();
        let other = streams.enter(from(1), 2).expect("the other circuit has more");
        assert!(is_lost(&held[1]).await && !is_lost(&held[0]).await && !is_lost(&held[2]).await);
        assert!(streams.enter(from(1), 2).is_none(), "one more would be as many");
        drop(other);
        assert_eq!(streams.count(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_idle_once_nothing_has_gone_either_way_for_long() {
        let streams = Streams::new(1);
        let place = streams.enter(from(1), 1).unwrap();
        let limit = Duration::from_secs(60);
        let start = Instant::now();
        let use_once = async {
            sleep(Duration::from_secs(30)).await;
            place.used();
        };
        tokio::join!(place.idle(limit), use_once);
        assert_eq!(start.elapsed().as_secs(), 90);
    }
}
