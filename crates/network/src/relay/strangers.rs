//! Places for strangers' links: those that strangers make to us, and those that we make to relays that are not on our list because a
//! client asked for it.
//!
//! When a place is wanted and none is free, somebody gives way. That is first a link of ours that carries no circuit. Then comes whoever may lose a place
//! by the rule of all places ([`Census`]), where a link, or a connection without a finished handshake, is idle that has carried nothing for a while. Of
//! these, one of the asker with the most goes, and of its links the one that has been idle longest.

use super::limits::RelayLimits;
use super::payer::Asker;
use crate::census::Census;
use crate::clock;
use crate::link::locked;
use crate::prefix::Prefix;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a handshake is left alone though others want its place.
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Strangers {
    most: usize,
    most_half_open: usize,
    idle: Duration,
    dialled: usize,
    asked: usize,
    start: Instant,
    seats: Mutex<HashMap<usize, Arc<Seat>>>,
}

struct Seat {
    /// The network that it came from, or whoever asked for it.
    asker: Asker,
    /// The network that we have connected to.
    target: Option<Prefix>,
    half_open: AtomicBool,
    in_use: AtomicBool,
    /// Milliseconds from the start to the last cell.
    used: AtomicU64,
    evicted: Notify,
}

/// A place. Dropping it gives it back.
pub(super) struct Seated {
    strangers: Arc<Strangers>,
    seat: Arc<Seat>,
}

/// There is no place, and nobody gives way.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Links,
    HalfOpen,
}

impl Strangers {
    /// `most` places for links.
    pub(super) fn new(most: usize, limits: &RelayLimits) -> Arc<Self> {
        Arc::new(Self {
            most,
            most_half_open: limits.half_open,
            idle: limits.idle_link,
            dialled: limits.network.dialled,
            asked: limits.network.asked,
            start: clock::instant(),
            seats: Mutex::default(),
        })
    }

    /// A place for a connection from that network, which has or has not finished its handshake.
    pub(super) fn enter(self: &Arc<Self>, network: Prefix, half_open: bool) -> Result<Seated, Refused> {
        let asker = Asker::Network(network);
        let mut seats = locked(&self.seats);
        let open = |seat: &Seat| seat.half_open.load(Ordering::Relaxed);
        if half_open
            && seats.values().filter(|seat| open(seat)).count() >= self.most_half_open
            && !self.make_room(&mut seats, asker, open)
        {
            return Err(Refused::HalfOpen);
        }
        self.seat(&mut seats, asker, None, half_open)
    }

    /// A place for a link to that network, for which `asker` has asked. A listed relay carries many clients and may have four times as
    /// many as a stranger's network.
    pub(super) fn dial(self: &Arc<Self>, asker: Asker, target: Prefix) -> Result<Seated, Refused> {
        let asked = if matches!(asker, Asker::Network(_)) { self.asked } else { self.asked.saturating_mul(4) };
        let mut seats = locked(&self.seats);
        self.cap(&mut seats, asked, |seat| seat.target.is_some() && seat.asker == asker)?;
        self.cap(&mut seats, self.dialled, |seat| seat.target == Some(target))?;
        self.seat(&mut seats, asker, Some(target), false)
    }

    /// Room for one more of a kind of links that we have made, of which there may be so many.
    fn cap(
        &self,
        seats: &mut HashMap<usize, Arc<Seat>>,
        most: usize,
        is_one: impl Fn(&Seat) -> bool,
    ) -> Result<(), Refused> {
        if seats.values().filter(|seat| is_one(seat)).count() < most {
            return Ok(());
        }
        let spare = seats.iter().filter(|(_, seat)| is_one(seat) && seat.is_spare());
        let idlest = spare.min_by_key(|(_, seat)| seat.used.load(Ordering::Relaxed)).map(|(key, _)| *key);
        evict(seats, idlest.ok_or(Refused::Links)?);
        Ok(())
    }

    fn seat(
        self: &Arc<Self>,
        seats: &mut HashMap<usize, Arc<Seat>>,
        asker: Asker,
        target: Option<Prefix>,
        half_open: bool,
    ) -> Result<Seated, Refused> {
        if seats.len() >= self.most && !self.make_room(seats, asker, |_| true) {
            return Err(Refused::Links);
        }
        let seat = Arc::new(Seat {
            asker,
            target,
            half_open: AtomicBool::new(half_open),
            in_use: AtomicBool::new(true),
            used: AtomicU64::new(self.now()),
            evicted: Notify::new(),
        });
        seats.insert(Arc::as_ptr(&seat).addr(), Arc::clone(&seat));
        Ok(Seated { strangers: Arc::clone(self), seat })
    }

    /// Takes a place away from one of those that are meant, if somebody has to give way to `newcomer`.
    fn make_room(
        &self,
        seats: &mut HashMap<usize, Arc<Seat>>,
        newcomer: Asker,
        is_meant: impl Fn(&Seat) -> bool,
    ) -> bool {
        let census = Census::of(seats.values().filter(|seat| is_meant(seat)).map(|seat| seat.asker), newcomer);
        let now = self.now();
        let candidate = |(key, seat): (&usize, &Arc<Seat>)| {
            let idle = Duration::from_millis(now.saturating_sub(seat.used.load(Ordering::Relaxed)));
            let patience = if seat.half_open.load(Ordering::Relaxed) { GRACE } else { self.idle };
            let crowd = census.gives_way(seat.asker, idle >= patience);
            (seat.is_spare() || crowd.is_some()).then_some(((seat.is_spare(), crowd, idle), *key))
        };
        let victim = seats.iter().filter(|(_, seat)| is_meant(seat)).filter_map(candidate).max();
        victim.map(|(_, key)| evict(seats, key)).is_some()
    }

    fn now(&self) -> u64 {
        clock::instant().saturating_duration_since(self.start).as_millis() as u64
    }
}

fn evict(seats: &mut HashMap<usize, Arc<Seat>>, key: usize) {
    if let Some(seat) = seats.remove(&key) {
        seat.evicted.notify_one();
    }
}

impl Seat {
    /// Whether it is a link that we have made, and that carries nothing.
    fn is_spare(&self) -> bool {
        self.target.is_some() && !self.in_use.load(Ordering::Relaxed)
    }
}

impl Seated {
    /// The handshake is done.
    pub(super) fn handshake_done(&self) {
        self.seat.half_open.store(false, Ordering::Relaxed);
        self.used();
    }

    /// A cell has come.
    pub(super) fn used(&self) {
        self.seat.used.store(self.strangers.now(), Ordering::Relaxed);
    }

    /// Whether the link has circuits.
    pub(super) fn set_in_use(&self, in_use: bool) {
        self.seat.in_use.store(in_use, Ordering::Relaxed);
    }

    /// Comes back when somebody else gets the place.
    pub(super) async fn evicted(&self) {
        self.seat.evicted.notified().await;
    }

    /// Gives the place back before this is dropped.
    pub(super) fn leave(&self) {
        locked(&self.strangers.seats).remove(&Arc::as_ptr(&self.seat).addr());
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::FAIR;
    use crate::relay::NetworkLimits;
    use tokio::time::advance;

    fn strangers(most: usize) -> Arc<Strangers> {
        let network = NetworkLimits { dialled: 3, asked: 2, ..NetworkLimits::default() };
        let idle_link = Duration::from_secs(60);
        Strangers::new(most, &RelayLimits { half_open: 4, network, idle_link, ..RelayLimits::default() })
    }

    fn network(third: u8) -> Prefix {
        Prefix::around([192, 0, third, 1].into())
    }

    fn asker(third: u8) -> Asker {
        Asker::Network(network(third))
    }

    async fn is_evicted(seated: &Seated) -> bool {
        tokio::select! { biased; () = seated.evicted() => true, () = std::future::ready(()) => false }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_link_of_the_network_with_the_most_gives_way() {
        let strangers = strangers(4);
        let other = strangers.enter(network(1), false).unwrap();
        let many: Vec<_> = (0..3).map(|_| strangers.enter(network(2), false).unwrap()).collect();
        assert_eq!(strangers.enter(network(3), false).err(), Some(Refused::Links), "nobody is idle");
        advance(Duration::from_secs(59)).await;
        many[0].used();
        advance(Duration::from_secs(1)).await;
        assert_eq!(strangers.enter(network(2), false).err(), Some(Refused::Links), "they have more than anybody");
        let third = strangers.enter(network(3), false).unwrap();
        assert!(!is_evicted(&other).await && !is_evicted(&many[0]).await);
        assert!(is_evicted(&many[1]).await || is_evicted(&many[2]).await);
        drop((other, many, third));
        assert!(locked(&strangers.seats).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn far_more_than_a_newcomer_has_is_not_kept_by_keeping_it_busy() {
        let strangers = strangers(FAIR + 1);
        let many: Vec<_> = (0..=FAIR).map(|_| strangers.enter(network(1), false).unwrap()).collect();
        let newcomer = strangers.enter(network(2), false).unwrap();
        assert_eq!(strangers.enter(network(3), false).err(), Some(Refused::Links), "eight are left to them");
        let mut evicted = 0;
        for seated in &many {
            evicted += usize::from(is_evicted(seated).await);
        }
        assert_eq!(evicted, 1);
        drop(newcomer);
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_with_many_networks_neither_keeps_others_out_nor_drives_them_out() {
        let strangers = strangers(FAIR + 2);
        let other = strangers.enter(network(1), false).unwrap();
        let site = |number: u16| Prefix::around(std::net::Ipv6Addr::new(0x2001, 0xdb8, number, 0, 0, 0, 0, 1).into());
        let many: Vec<_> = (0..=FAIR as u16).map(|number| strangers.enter(site(number), false).unwrap()).collect();
        let busy = strangers.enter(network(2), false).expect("eight are left to them");
        assert!(!is_evicted(&other).await);
        assert_eq!(strangers.enter(network(3), false).err(), Some(Refused::Links), "they have no more than is fair");
        drop(busy);
        // Again they have more, and the others are idle.
        let one_more = strangers.enter(site(1000), false).unwrap();
        advance(Duration::from_secs(60)).await;
        many.iter().for_each(Seated::used);
        one_more.used();
        assert_eq!(strangers.enter(site(2000), false).err(), Some(Refused::Links));
        assert!(!is_evicted(&other).await, "an idle link of a small provider stays");
        drop((other, many, one_more));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_handshake_gives_way_after_its_grace() {
        let strangers = strangers(10);
        let slow: Vec<_> = (1..=4).map(|third| strangers.enter(network(third), true).unwrap()).collect();
        assert_eq!(strangers.enter(network(9), true).err(), Some(Refused::HalfOpen));
        slow[0].handshake_done();
        let fifth = strangers.enter(network(9), true).expect("three are left");
        advance(GRACE).await;
        let sixth = strangers.enter(network(8), true).unwrap();
        assert!(!is_evicted(&slow[0]).await, "that is a link now");
        drop((slow, fifth, sixth));
    }

    #[tokio::test(start_paused = true)]
    async fn links_that_we_made_have_a_share_for_their_asker_and_for_their_target() {
        let strangers = strangers(20);
        let first = [strangers.dial(asker(1), network(7)).unwrap(), strangers.dial(asker(1), network(8)).unwrap()];
        assert_eq!(strangers.dial(asker(1), network(9)).err(), Some(Refused::Links), "the asker has two");
        let second = [strangers.dial(asker(2), network(7)).unwrap(), strangers.dial(asker(2), network(7)).unwrap()];
        assert_eq!(strangers.dial(asker(3), network(7)).err(), Some(Refused::Links), "the target has three");
        assert!(strangers.dial(asker(3), network(6)).is_ok());
        first[1].set_in_use(false);
        let third = strangers.dial(asker(1), network(9)).expect("one of its links carries nothing");
        assert!(is_evicted(&first[1]).await && !is_evicted(&first[0]).await);
        let relay: Vec<_> =
            (0..8).map(|target| strangers.dial(Asker::Link(5), network(20 + target)).unwrap()).collect();
        assert!(strangers.dial(Asker::Link(5), network(30)).is_err(), "a listed relay may have eight");
        drop((first, second, third, relay));
        assert!(locked(&strangers.seats).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_of_ours_that_carries_nothing_goes_first() {
        let strangers = strangers(3);
        let old = strangers.enter(network(1), false).unwrap();
        advance(Duration::from_secs(100)).await;
        let dialled = [strangers.dial(asker(2), network(7)).unwrap(), strangers.dial(asker(3), network(7)).unwrap()];
        dialled[1].set_in_use(false);
        let newcomer = strangers.enter(network(4), false).unwrap();
        assert!(is_evicted(&dialled[1]).await && !is_evicted(&dialled[0]).await && !is_evicted(&old).await);
        drop((old, dialled, newcomer));
    }

    impl std::fmt::Debug for Seated {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "Seated({:?})", self.seat.asker)
        }
    }
}
