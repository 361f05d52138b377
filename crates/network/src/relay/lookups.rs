//! Looking up names for an exit, by the operating system's resolver.
//!
//! `getaddrinfo` can't be called off: one that its stream has given up keeps its thread until the resolver gives up too. So the calls
//! under way are bounded, for each [payer](Payer), for each listed relay's link and in all, and a call holds its place until it has really
//! ended. A stream that waits for a place waits as a stream, and streams are bounded themselves; no task of the relay ever waits for the resolver.
//!
//! A resolver library made for tokio would hold no threads. hickory-resolver, the one that is well kept, was tried: it brings 38 packages more, and it
//! doesn't know what the operator has told the system about names (`nsswitch.conf`).

use super::payer::Payer;
use crate::link::locked;
use dns_lookup::{LookupError, LookupErrorKind};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// Calls under way at a time: each may hold a thread for as long as the resolver takes.
const MOST: usize = 256;
/// Of these, for one network of strangers.
const MOST_OF_A_NETWORK: usize = 16;
/// Of these, for all circuits of one listed relay's link.
const MOST_OF_A_LINK: usize = 16;
/// Of these, for one such circuit.
const MOST_OF_A_CIRCUIT: usize = 4;

/// Whose share a call takes.
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
}

impl Lookups {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(MOST)), shares: Mutex::default() }
    }

    /// Runs `call`, such as [`addresses`], on a thread of its own once there is a place. Dropping the future gives up waiting; a call that
    /// is under way keeps its place.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        payer: Payer,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let share = self.share(Sharer::Payer(payer)).acquire_owned().await;
        let link = match payer.listed_link() {
            Some(link) => Some(self.share(Sharer::ListedLink(link)).acquire_owned().await),
            None => None,
        };
        let place = Arc::clone(&self.all).acquire_owned().await;
        let called = tokio::task::spawn_blocking(move || {
            let _held = (share, link, place);
            call()
        });
        let answer = called.await.map_err(io::Error::other)?;
        // Those who have nothing under way are forgotten.
        locked(&self.shares).retain(|_, share| Arc::strong_count(share) > 1);
        Ok(answer)
    }

    fn share(&self, sharer: Sharer) -> Arc<Semaphore> {
        let mut shares = locked(&self.shares);
        Arc::clone(shares.entry(sharer).or_insert_with(|| Arc::new(Semaphore::new(sharer.most()))))
    }
}

/// Why the system has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotFound {
    /// Whether it may have one later.
    pub(super) transient: bool,
}

impl From<LookupError> for NotFound {
    fn from(error: LookupError) -> Self {
        Self {
            transient: matches!(
                error.kind(),
                LookupErrorKind::Again | LookupErrorKind::System | LookupErrorKind::Memory
            ),
        }
    }
}

/// The addresses of a name, as the operating system knows them.
pub(super) fn addresses(host: &str) -> Result<Vec<IpAddr>, NotFound> {
    Ok(dns_lookup::lookup_host(host)?.collect())
}

/// The name of an address, likewise.
pub(super) fn name(address: IpAddr) -> Result<String, NotFound> {
    Ok(dns_lookup::lookup_addr(&address)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::payer::tests::{listed, stranger};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::task::yield_now;
    use tokio::time::timeout;

    /// Only what waits for calls that hang takes so long.
    const DEADLINE: Duration = Duration::from_secs(20);

    /// Each payer makes a hundred calls that hang; of these, `started` are under way, while the others are served.
    async fn hang(payers: &[Payer], started: usize, others: &[Payer]) {
        let lookups = Arc::new(Lookups::new());
        let under_way = Arc::new(AtomicUsize::new(0));
        let (release, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        let mut waiting = Vec::new();
        for payer in payers.iter().copied().cycle().take(100 * payers.len()) {
            let (lookups, under_way, hangs) = (Arc::clone(&lookups), Arc::clone(&under_way), Arc::clone(&hangs));
            waiting.push(tokio::spawn(async move {
                let call = move || {
                    under_way.fetch_add(1, Ordering::Relaxed);
                    let _ = locked(&hangs).recv();
                };
                lookups.run(payer, call).await
            }));
        }
        while under_way.load(Ordering::Relaxed) < started {
            yield_now().await;
        }
        for (index, other) in others.iter().enumerate() {
            let served = timeout(DEADLINE, lookups.run(*other, move || index)).await;
            assert_eq!(served.expect("others don't wait").unwrap(), index, "{other:?} is served");
        }
        // The streams give up. Their calls go on, and hold their places.
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for stream in waiting {
            assert!(stream.await.unwrap_err().is_cancelled());
        }
        assert_eq!(under_way.load(Ordering::Relaxed), started);
        assert_eq!(lookups.all.available_permits(), MOST - started);
        drop(release);
        while lookups.all.available_permits() < MOST {
            yield_now().await;
        }
        assert_eq!(lookups.run(payers[0], || 8).await.unwrap(), 8, "and so is the first, once they end");
        assert!(locked(&lookups.shares).is_empty());
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

    #[test]
    fn the_system_knows_this_machine() {
        let found = addresses("localhost").unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback));
        assert!(!name([127, 0, 0, 1].into()).unwrap().is_empty());
        // Reserved for names that nobody has (RFC 2606); without a resolver the failure may pass.
        assert!(addresses("nobody.invalid").is_err());
    }
}
