//! Looking up names for an exit, by [DNS](resolver).
//!
//! A look-up ends with its stream, and nothing of it remains. While it is under way it holds two sockets, and places by which the look-ups of each
//! [payer](Payer), of each listed relay's link and of all together are bounded. A stream that waits for a place waits as a stream, and streams are
//! bounded themselves; no task of the relay ever waits for the resolver.

mod resolver;

use super::payer::Payer;
use crate::link::locked;
use resolver::Resolver;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Look-ups under way at a time.
const MOST: usize = 256;
/// Of these, for one network of strangers.
const MOST_OF_A_NETWORK: usize = 16;
/// Of these, for all circuits of one listed relay's link.
const MOST_OF_A_LINK: usize = 16;
/// Of these, for one such circuit.
const MOST_OF_A_CIRCUIT: usize = 4;
/// Sockets of all look-ups.
pub(super) const MOST_SOCKETS: usize = MOST * resolver::SOCKETS;

/// Whose share a look-up takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sharer {
    Payer(Payer),
    ListedLink(usize),
}

impl Sharer {
    fn most(self) -> usize {
        match self {
            Self::Payer(Payer::Asker(_)) => MOST_OF_A_NETWORK,
            Self::Payer(Payer::Circuit { .. }) => MOST_OF_A_CIRCUIT,
            Self::ListedLink(_) => MOST_OF_A_LINK,
        }
    }
}

pub(super) struct Lookups {
    all: Arc<Semaphore>,
    shares: Mutex<HashMap<Sharer, Arc<Semaphore>>>,
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
        Self { all: Arc::new(Semaphore::new(MOST)), shares: Mutex::default(), resolver }
    }

    /// The addresses of a name.
    pub(super) async fn addresses(&self, payer: Payer, host: &str) -> Result<Vec<IpAddr>, NotFound> {
        self.run(payer, self.resolver.addresses(host)).await
    }

    /// The name of an address.
    pub(super) async fn name(&self, payer: Payer, address: IpAddr) -> Result<String, NotFound> {
        self.run(payer, self.resolver.name(address)).await
    }

    /// Waits for a place, and then for `call`. Dropping the future gives both up.
    async fn run<T>(&self, payer: Payer, call: impl Future<Output = T>) -> T {
        // Dropped last.
        let _forget = Forget(self);
        let _share = self.enter(Sharer::Payer(payer)).await;
        let _link = match payer.listed_link() {
            Some(link) => Some(self.enter(Sharer::ListedLink(link)).await),
            None => None,
        };
        // None of the semaphores is ever closed.
        let _place = Arc::clone(&self.all).acquire_owned().await;
        call.await
    }

    fn enter(&self, sharer: Sharer) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + use<> {
        let mut shares = locked(&self.shares);
        Arc::clone(shares.entry(sharer).or_insert_with(|| Arc::new(Semaphore::new(sharer.most())))).acquire_owned()
    }
}

/// Forgets those who have nothing under way, when it is dropped.
struct Forget<'a>(&'a Lookups);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        locked(&self.0.shares).retain(|_, share| Arc::strong_count(share) > 1);
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

    /// Only what waits for calls that hang takes so long.
    const DEADLINE: Duration = Duration::from_secs(20);

    /// Each payer makes a hundred calls that hang; of these, `started` are under way, while the others are served.
    async fn hang(payers: &[Payer], started: usize, others: &[Payer]) {
        let lookups = Arc::new(Lookups::new());
        let under_way = Arc::new(AtomicUsize::new(0));
        let mut waiting = Vec::new();
        for payer in payers.iter().copied().cycle().take(100 * payers.len()) {
            let (lookups, under_way) = (Arc::clone(&lookups), Arc::clone(&under_way));
            waiting.push(tokio::spawn(async move {
                let call = async {
                    under_way.fetch_add(1, Ordering::Relaxed);
                    pending::<()>().await;
                };
                lookups.run(payer, call).await;
            }));
        }
        while under_way.load(Ordering::Relaxed) < started {
            yield_now().await;
        }
        for (index, other) in others.iter().enumerate() {
            let served = timeout(DEADLINE, lookups.run(*other, async { index })).await;
            assert_eq!(served.expect("others don't wait"), index, "{other:?} is served");
        }
        assert_eq!(under_way.load(Ordering::Relaxed), started);
        assert_eq!(lookups.all.available_permits(), MOST - started);
        // The streams give up, those that wait too, and nothing is held any more.
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for stream in waiting {
            assert!(stream.await.unwrap_err().is_cancelled());
        }
        assert_eq!(lookups.all.available_permits(), MOST);
        assert!(locked(&lookups.shares).is_empty());
        assert_eq!(lookups.run(payers[0], async { 8 }).await, 8, "and the first is served again");
    }

    #[tokio::test]
    async fn calls_that_hang_take_a_networks_share_and_no_more() {
        hang(&[stranger(1)], 16, &[stranger(2), listed(7, 1)]).await;
    }

    #[tokio::test]
    async fn calls_that_hang_take_a_circuits_share_and_leave_the_rest_of_its_link_to_others() {
        hang(&[listed(7, 1)], 4, &[listed(7, 2), listed(8, 1), stranger(1)]).await;
        hang(&[listed(7, 1), listed(7, 2)], 8, &[listed(7, 3), stranger(1)]).await;
    }

    #[tokio::test]
    async fn many_circuits_of_a_listed_relay_take_a_sixteenth_of_all_and_no_more() {
        let circuits: Vec<_> = (0..20).map(|circuit| listed(7, circuit)).collect();
        hang(&circuits, 16, &[listed(8, 1), stranger(1)]).await;
    }

    #[tokio::test]
    async fn a_client_behind_a_few_listed_relays_does_not_take_all() {
        let circuits: Vec<_> = (0..8).flat_map(|link| (0..5).map(move |circuit| listed(link, circuit))).collect();
        hang(&circuits, 128, &[listed(8, 1), stranger(1)]).await;
    }
}
