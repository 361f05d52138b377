//! Which link leads to whom, and who is waiting for one.
//!
//! A client says by EXTEND2 which relay it wants and where. The identity is proved by the link handshake, the address is not: it may be
//! that of a proxy, which carries the link to the true relay and can then stall or watch everything on it. So a link is reused only for
//! those who ask for its very address, unless the relay itself or our own relay list confirms that address ([`Confirmed`]; tor-spec calls
//! such a link canonical).

use super::{Link, locked};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::sync::OnceCell;

/// Links with confirmed addresses that are kept for one identity; two relays that connect to each other at the same time have two.
const MOST_CONFIRMED: usize = 4;
/// Links to one identity at addresses that nobody confirms. Beyond that, no new circuit uses the oldest, which ends with the last circuit on
/// it.
const MOST_UNCONFIRMED: usize = 3;

/// Who says that a relay is reached at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// Nobody but the one who asked for it.
    No,
    /// The relay, by NETINFO, which has addresses and no ports. It is believed for this port alone: another port of the same host may
    /// be somebody else's.
    Port,
    /// The relay, on a link that it made itself, or our relay list.
    Yes,
}

/// What is known about the ends of a link.
#[derive(Clone, Debug)]
pub(crate) struct Ends<'a> {
    /// The other end as TCP has it.
    pub(crate) remote: SocketAddr,
    /// Whether we connected.
    pub(crate) dialled: bool,
    /// Where our relay list has the other relay.
    pub(crate) listed: Option<SocketAddr>,
    /// The other relay's own addresses, as it says by NETINFO.
    pub(crate) peer_says: &'a [IpAddr],
    /// Our address as the other relay sees it.
    pub(crate) sees_us_at: Option<IpAddr>,
    /// Our own addresses.
    pub(crate) ours: &'a [IpAddr],
}

impl Ends<'_> {
    /// A proxy in the middle shows: the address that we see is not one of the relay's, or the one that the relay sees is not ours.
    pub(crate) fn confirmed(&self) -> Confirmed {
        let remote = self.remote.ip().to_canonical();
        let is_there = |address: IpAddr| address.to_canonical() == remote;
        let says_so = self.peer_says.iter().copied().any(is_there);
        let list_says_so = self.listed.is_some_and(|listed| is_there(listed.ip()));
        let is_ours = |seen: IpAddr| self.ours.iter().any(|our| our.to_canonical() == seen.to_canonical());
        let sees_us = self.sees_us_at.is_some_and(is_ours);
        if self.dialled && self.listed == Some(self.remote) {
            Confirmed::Yes
        } else if self.dialled && sees_us && says_so {
            Confirmed::Port
        } else if !self.dialled && sees_us && (says_so || list_says_so) {
            Confirmed::Yes
        } else {
            Confirmed::No
        }
    }
}

/// Links by the identity that the other side has proved, and attempts to make some.
///
/// An attempt is made once for all who want it; if it fails, it fails for all of them, and later requests try anew. It belongs to an
/// identity *and* an address: an attempt at a wrong address holds up nobody who asks for the right one.
pub(crate) struct Ways<T, E, P = ()>(Mutex<State<T, E, P>>);

struct State<T, E, P> {
    ready: HashMap<[u8; 32], Vec<Arc<Link<T, P>>>>,
    attempts: HashMap<Way, Attempt<T, E, P>>,
}

type Way = ([u8; 32], SocketAddr);
type Attempt<T, E, P> = Arc<OnceCell<Result<Arc<Link<T, P>>, E>>>;

impl<T: Clone, E: Clone, P> Ways<T, E, P> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { ready: HashMap::new(), attempts: HashMap::new() }))
    }

    /// An open link for whoever asks for that relay at that address.
    pub(crate) fn ready(&self, identity: &[u8; 32], address: SocketAddr) -> Option<Arc<Link<T, P>>> {
        locked(&self.0).ready(identity, address)
    }

    /// Keeps a link that the other relay has made.
    pub(crate) fn keep(&self, identity: [u8; 32], link: &Arc<Link<T, P>>) {
        locked(&self.0).keep(identity, link);
    }

    /// Forgets the link.
    pub(crate) fn forget(&self, link: &Arc<Link<T, P>>) {
        let Some(identity) = link.peer else { return };
        let mut state = locked(&self.0);
        if let Some(links) = state.ready.get_mut(&identity) {
            links.retain(|kept| !Arc::ptr_eq(kept, link));
            if links.is_empty() {
                state.ready.remove(&identity);
            }
        }
    }

    /// Forgets all links, and gives them back.
    pub(crate) fn drain(&self) -> Vec<Arc<Link<T, P>>> {
        locked(&self.0).ready.drain().flat_map(|(_, links)| links).collect()
    }

    pub(crate) fn count(&self) -> usize {
        locked(&self.0).ready.values().map(Vec::len).sum()
    }

    /// The link to that relay at that address, or else what `make` makes. Dropping the future gives the attempt up, unless others wait
    /// for it too: then the next of them goes on.
    pub(crate) async fn reach<F: Future<Output = Result<Arc<Link<T, P>>, E>>>(
        &self,
        identity: [u8; 32],
        address: SocketAddr,
        make: impl FnOnce() -> F,
    ) -> Result<Arc<Link<T, P>>, E> {
        let way = (identity, address);
        let waiting = {
            let mut state = locked(&self.0);
            if let Some(link) = state.ready(&identity, address) {
                return Ok(link);
            }
            Waiting { ways: self, way, attempt: Arc::clone(state.attempts.entry(way).or_default()) }
        };
        let made = waiting.attempt.get_or_init(make).await.clone();
        let mut state = locked(&self.0);
        if state.is_current(&way, &waiting.attempt) {
            state.attempts.remove(&way);
            if let Ok(link) = &made {
                state.keep(identity, link);
            }
        }
        drop(state);
        made
    }
}

impl<T: Clone, E, P> State<T, E, P> {
    fn ready(&self, identity: &[u8; 32], address: SocketAddr) -> Option<Arc<Link<T, P>>> {
        self.ready.get(identity)?.iter().find(|link| link.leads_to(address)).cloned()
    }

    fn keep(&mut self, identity: [u8; 32], link: &Arc<Link<T, P>>) {
        let links = self.ready.entry(identity).or_default();
        links.retain(|link| !link.is_closed());
        let is_like_it =
            |other: &&Arc<Link<T, P>>| (other.confirmed == Confirmed::No) == (link.confirmed == Confirmed::No);
        let alike = links.iter().filter(is_like_it).count();
        match link.confirmed {
            Confirmed::No if alike >= MOST_UNCONFIRMED => {
                let oldest = links.iter().position(|other| other.confirmed == Confirmed::No);
                links.remove(oldest.expect("some were counted")).retire();
                links.push(Arc::clone(link));
            }
            // It serves the circuits that wait for it, and nobody after them.
            Confirmed::Port | Confirmed::Yes if alike >= MOST_CONFIRMED => {}
            _ => links.push(Arc::clone(link)),
        }
    }

    fn is_current(&self, way: &Way, attempt: &Attempt<T, E, P>) -> bool {
        self.attempts.get(way).is_some_and(|current| Arc::ptr_eq(current, attempt))
    }
}

/// Somebody who waits for an attempt. The last one to go takes the attempt along.
struct Waiting<'a, T, E, P> {
    ways: &'a Ways<T, E, P>,
    way: Way,
    attempt: Attempt<T, E, P>,
}

impl<T, E, P> Drop for Waiting<'_, T, E, P> {
    fn drop(&mut self) {
        let mut state = locked(&self.ways.0);
        let current = state.attempts.get(&self.way).is_some_and(|current| Arc::ptr_eq(current, &self.attempt));
        // The map's and this one.
        if current && Arc::strong_count(&self.attempt) == 2 {
            state.attempts.remove(&self.way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ways: &Ways<(), &'static str>) -> (usize, usize) {
        let state = locked(&ways.0);
        (state.ready.len(), state.attempts.len())
    }

    #[tokio::test]
    async fn a_failed_attempt_fails_once_for_all_who_wait_and_leaves_nothing_behind() {
        let ways = Ways::new();
        let address = "192.0.2.1:1".parse().unwrap();
        let tried = std::cell::Cell::new(0);
        let attempt = || async {
            tried.set(tried.get() + 1);
            tokio::task::yield_now().await;
            Err("nobody there")
        };
        let all = tokio::join!(
            ways.reach([1; 32], address, attempt),
            ways.reach([1; 32], address, attempt),
            ways.reach([1; 32], address, attempt)
        );
        assert!(all.0.is_err() && all.1.is_err() && all.2.is_err());
        assert_eq!((tried.get(), counts(&ways)), (1, (0, 0)));
        assert!(ways.reach([1; 32], address, attempt).await.is_err());
        assert_eq!(tried.get(), 2, "later requests try anew");
    }

    #[tokio::test]
    async fn an_attempt_at_another_address_waits_for_nobody() {
        let ways: Ways<(), _> = Ways::new();
        let [wrong, right] = ["192.0.2.1:1", "192.0.2.2:1"].map(|address| address.parse().unwrap());
        let stuck = ways.reach([1; 32], wrong, std::future::pending);
        let other = ways.reach([1; 32], right, || async { Err("asked there") });
        tokio::select! {
            _ = stuck => panic!("it never ends"),
            result = other => assert_eq!(result.err(), Some("asked there")),
        }
        assert_eq!(counts(&ways), (0, 0), "an attempt that nobody waits for any more is forgotten");
    }

    #[tokio::test]
    async fn an_attempt_goes_on_while_anybody_waits_for_it() {
        let ways: Ways<(), _> = Ways::new();
        let address = "192.0.2.1:1".parse().unwrap();
        let mut first = Box::pin(ways.reach([1; 32], address, std::future::pending));
        let mut second = Box::pin(ways.reach([1; 32], address, || async { Err("the second's") }));
        tokio::select! {
            biased;
            _ = &mut first => panic!("it never ends"),
            _ = &mut second => panic!("it waits for the first"),
            () = std::future::ready(()) => {}
        }
        drop(first);
        assert_eq!(counts(&ways), (0, 1));
        assert_eq!(second.await.err(), Some("the second's"));
        assert_eq!(counts(&ways), (0, 0));
    }

    fn ends<'a>(peer_says: &'a [IpAddr], ours: &'a [IpAddr]) -> Ends<'a> {
        let remote = "192.0.2.1:443".parse().unwrap();
        Ends { remote, dialled: true, listed: None, peer_says, sees_us_at: ours.first().copied(), ours }
    }

    #[test]
    fn a_link_is_confirmed_when_each_side_is_where_the_other_sees_it() {
        let [them, proxy, us]: [IpAddr; 3] = [[192, 0, 2, 1].into(), [192, 0, 2, 66].into(), [198, 51, 100, 1].into()];
        let (theirs, ours) = ([them], [us]);
        let honest = ends(&theirs, &ours);
        assert_eq!(honest.confirmed(), Confirmed::Port);
        assert_eq!(Ends { dialled: false, ..honest.clone() }.confirmed(), Confirmed::Yes);
        assert_eq!(Ends { listed: Some(honest.remote), ..honest.clone() }.confirmed(), Confirmed::Yes);
        assert_eq!(Ends { peer_says: &[], ..honest.clone() }.confirmed(), Confirmed::No, "it says nothing");
        let through_proxy = Ends { remote: SocketAddr::new(proxy, 443), ..honest.clone() };
        assert_eq!(through_proxy.confirmed(), Confirmed::No);
        assert_eq!(Ends { listed: Some(honest.remote), ..through_proxy }.confirmed(), Confirmed::No);
        for dialled in [true, false] {
            let seen = Ends { sees_us_at: Some(proxy), dialled, ..honest.clone() };
            assert_eq!(seen.confirmed(), Confirmed::No, "somebody connects to us from the proxy");
        }
    }
}
