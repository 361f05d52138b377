//! Looking up names for an exit, by [DNS](resolver).
//!
//! A look-up ends with its stream. While it is under way it holds two sockets, and places by which the look-ups of each [payer](Payer), of each
//! listed relay's link and of all together are bounded; afterwards neither sockets nor places nor its answer remain. A question whose answer is long
//! is asked again over TCP, and needs a place among those too. A stream that waits for a place waits as a stream, and streams are bounded
//! themselves; no task of the relay ever waits for the resolver.

mod resolver;

use super::payer::Payer;
use crate::link::locked;
use resolver::Resolver;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Look-ups under way at a time.
const MOST: usize = 256;
/// Of these, for one network of strangers.
const MOST_OF_A_NETWORK: usize = 16;
/// Of these, for all circuits of one listed relay's link.
const MOST_OF_A_LINK: usize = 16;
/// Of these, for one such circuit.
const MOST_OF_A_CIRCUIT: usize = 4;
/// Questions at a time whose answers come over TCP, and take up to a megabyte each when read: one for a network of strangers or a listed relay's link.
const MOST_LARGE: usize = 8;
/// Sockets of all look-ups.
pub(super) const MOST_SOCKETS: usize = MOST * resolver::SOCKETS;

/// Whose share a look-up takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sharer {
    Payer(Payer),
    ListedLink(usize),
}

/// Places for something that look-ups do.
struct Places {
    all: Semaphore,
    /// How many of them one sharer may have.
    most: fn(Sharer) -> usize,
    /// Those who have or want some.
    shares: Mutex<HashMap<Sharer, Arc<Semaphore>>>,
}

pub(super) struct Lookups {
    under_way: Places,
    large: Places,
    resolver: Resolver,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotFound {
    /// Whether there may be one later.
    pub(super) transient: bool,
}

impl Lookups {
    pub(super) fn new() -> Self {
        Self::by(Resolver::of_the_system())
    }

    fn by(resolver: Resolver) -> Self {
        let most = |sharer| match sharer {
            Sharer::Payer(Payer::Asker(_)) => MOST_OF_A_NETWORK,
            Sharer::Payer(Payer::Circuit { .. }) => MOST_OF_A_CIRCUIT,
            Sharer::ListedLink(_) => MOST_OF_A_LINK,
        };
        Self { under_way: Places::new(MOST, most), large: Places::new(MOST_LARGE, |_| 1), resolver }
    }

    /// The addresses of a name.
    pub(super) async fn addresses(&self, payer: Payer, host: &str) -> Result<Vec<IpAddr>, NotFound> {
        let _place = self.under_way.enter(payer).await;
        self.resolver.addresses(host, Turn { large: &self.large, payer }).await
    }

    /// The name of an address.
    pub(super) async fn name(&self, payer: Payer, address: IpAddr) -> Result<String, NotFound> {
        let _place = self.under_way.enter(payer).await;
        self.resolver.name(address, Turn { large: &self.large, payer }).await
    }
}

/// The way to a place for a question over TCP.
#[derive(Clone, Copy)]
struct Turn<'a> {
    large: &'a Places,
    payer: Payer,
}

impl<'a> Turn<'a> {
    async fn come(self) -> Place<'a> {
        self.large.enter(self.payer).await
    }
}

/// A place, until it is dropped: that among all first, then that of the link, then that of the payer.
struct Place<'a> {
    _all: Option<SemaphorePermit<'a>>,
    _link: Option<Share<'a>>,
    _payer: Share<'a>,
}

struct Share<'a> {
    // Dropped before the sharer is forgotten.
    _permit: Option<OwnedSemaphorePermit>,
    _forget: Forget<'a>,
}

impl Places {
    fn new(all: usize, most: fn(Sharer) -> usize) -> Self {
        Self { all: Semaphore::new(all), most, shares: Mutex::default() }
    }

    /// Waits for a place. Dropping the future gives up what it has.
    async fn enter(&self, payer: Payer) -> Place<'_> {
        let of_payer = self.share(Sharer::Payer(payer)).await;
        let of_link = match payer.listed_link() {
            Some(link) => Some(self.share(Sharer::ListedLink(link)).await),
            None => None,
        };
        // None of the semaphores is ever closed.
        Place { _all: self.all.acquire().await.ok(), _link: of_link, _payer: of_payer }
    }

    async fn share(&self, sharer: Sharer) -> Share<'_> {
        let forget = Forget { places: self, sharer };
        let share = {
            let mut shares = locked(&self.shares);
            Arc::clone(shares.entry(sharer).or_insert_with(|| Arc::new(Semaphore::new((self.most)(sharer)))))
        };
        Share { _permit: share.acquire_owned().await.ok(), _forget: forget }
    }
}

/// Forgets a sharer that neither has nor wants anything else, when it is dropped.
struct Forget<'a> {
    places: &'a Places,
    sharer: Sharer,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let mut shares = locked(&self.places.shares);
        // Others are counted up only while the lock is held, so the last of several that go finds nobody left.
        if shares.get(&self.sharer).is_some_and(|share| Arc::strong_count(share) == 1) {
            shares.remove(&self.sharer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::payer::tests::{listed, stranger};
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::task::yield_now;
    use tokio::time::timeout;

    /// Only what waits for a place that nobody gives up takes so long.
    const DEADLINE: Duration = Duration::from_secs(20);

    /// Each payer wants a hundred places and keeps what it gets, which are `taken`; meanwhile the others are served.
    async fn hang(of: fn(&Lookups) -> &Places, payers: &[Payer], taken: usize, others: &[Payer]) {
        let lookups = Arc::new(Lookups::new());
        let (places, held) = (of(&lookups), Arc::new(AtomicUsize::new(0)));
        let all = places.all.available_permits();
        let mut waiting = Vec::new();
        for payer in payers.iter().copied().cycle().take(100 * payers.len()) {
            let (lookups, held) = (Arc::clone(&lookups), Arc::clone(&held));
            waiting.push(tokio::spawn(async move {
                let _place = of(&lookups).enter(payer).await;
                held.fetch_add(1, Ordering::Relaxed);
                pending::<()>().await;
            }));
        }
        while held.load(Ordering::Relaxed) < taken {
            yield_now().await;
        }
        for other in others {
            let served = timeout(DEADLINE, places.enter(*other)).await;
            assert!(served.is_ok(), "{other:?} doesn't wait");
        }
        assert_eq!(held.load(Ordering::Relaxed), taken);
        assert_eq!(places.all.available_permits(), all - taken);
        // One that waits gives up, and another gets no more for that.
        let last = waiting.pop().unwrap();
        last.abort();
        assert!(last.await.unwrap_err().is_cancelled());
        tokio::select! {
            biased;
            _ = places.enter(payers[0]) => panic!("{:?} has all that it may have", payers[0]),
            () = yield_now() => {}
        }
        let forgotten = |other: &Payer| !locked(&places.shares).contains_key(&Sharer::Payer(*other));
        assert!(others.iter().all(forgotten), "though others are there");
        // The streams give up, those that wait too, and nothing is held any more.
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for stream in waiting {
            assert!(stream.await.unwrap_err().is_cancelled());
        }
        assert_eq!(places.all.available_permits(), all);
        assert!(locked(&places.shares).is_empty());
        assert!(timeout(DEADLINE, places.enter(payers[0])).await.is_ok(), "and the first is served again");
    }

    #[tokio::test]
    async fn calls_that_hang_take_a_networks_share_and_no_more() {
        hang(|lookups| &lookups.under_way, &[stranger(1)], 16, &[stranger(2), listed(7, 1)]).await;
    }

    #[tokio::test]
    async fn calls_that_hang_take_a_circuits_share_and_leave_the_rest_of_its_link_to_others() {
        hang(|lookups| &lookups.under_way, &[listed(7, 1)], 4, &[listed(7, 2), listed(8, 1), stranger(1)]).await;
        hang(|lookups| &lookups.under_way, &[listed(7, 1), listed(7, 2)], 8, &[listed(7, 3), stranger(1)]).await;
    }

    #[tokio::test]
    async fn many_circuits_of_a_listed_relay_take_a_sixteenth_of_all_and_no_more() {
        let circuits: Vec<_> = (0..20).map(|circuit| listed(7, circuit)).collect();
        hang(|lookups| &lookups.under_way, &circuits, 16, &[listed(8, 1), stranger(1)]).await;
    }

    #[tokio::test]
    async fn a_client_behind_a_few_listed_relays_does_not_take_all() {
        let circuits: Vec<_> = (0..8).flat_map(|link| (0..5).map(move |circuit| listed(link, circuit))).collect();
        hang(|lookups| &lookups.under_way, &circuits, 128, &[listed(8, 1), stranger(1)]).await;
    }

    #[tokio::test]
    async fn long_answers_that_never_end_take_one_place_of_a_payer_and_of_a_link() {
        let large: fn(&Lookups) -> &Places = |lookups| &lookups.large;
        hang(large, &[stranger(1)], 1, &[stranger(2), listed(7, 1)]).await;
        let circuits: Vec<_> = (0..20).map(|circuit| listed(7, circuit)).collect();
        hang(large, &circuits, 1, &[listed(8, 1), stranger(1)]).await;
    }
}
