//! Which link leads to whom, and who is waiting for one.

use super::{Link, locked};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::OnceCell;

/// Links by the identity that the other side has proved, and attempts to make some.
///
/// An attempt is made once for all who want it; if it fails, it fails for all of them, and whoever comes later tries anew. It belongs to
/// an identity *and* an address: who asks for a relay at a wrong address holds up nobody who asks for it at the right one.
pub(crate) struct Ways<T, E>(Mutex<State<T, E>>);

struct State<T, E> {
    ready: HashMap<[u8; 32], Arc<Link<T>>>,
    attempts: HashMap<([u8; 32], SocketAddr), Attempt<T, E>>,
}

type Attempt<T, E> = Arc<OnceCell<Result<Arc<Link<T>>, E>>>;

impl<T: Clone, E: Clone> Ways<T, E> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { ready: HashMap::new(), attempts: HashMap::new() }))
    }

    /// An open link to that relay.
    pub(crate) fn ready(&self, identity: &[u8; 32]) -> Option<Arc<Link<T>>> {
        let state = locked(&self.0);
        state.ready.get(identity).filter(|link| !link.is_closed()).cloned()
    }

    /// Keeps a link to that relay, unless there is one.
    pub(crate) fn keep(&self, identity: [u8; 32], link: &Arc<Link<T>>) {
        locked(&self.0).keep(identity, link);
    }

    /// Forgets the link.
    pub(crate) fn forget(&self, link: &Arc<Link<T>>) {
        let mut state = locked(&self.0);
        if let Some(identity) = link.peer
            && state.ready.get(&identity).is_some_and(|kept| Arc::ptr_eq(kept, link))
        {
            state.ready.remove(&identity);
        }
    }

    /// Forgets all links, and gives them back.
    pub(crate) fn drain(&self) -> Vec<Arc<Link<T>>> {
        locked(&self.0).ready.drain().map(|(_, link)| link).collect()
    }

    pub(crate) fn count(&self) -> usize {
        locked(&self.0).ready.len()
    }

    /// The link to that relay that there is, or else what `make` makes.
    pub(crate) async fn reach<F: Future<Output = Result<Arc<Link<T>>, E>>>(
        &self,
        identity: [u8; 32],
        address: SocketAddr,
        make: impl FnOnce() -> F,
    ) -> Result<Arc<Link<T>>, E> {
        let way = (identity, address);
        let attempt = {
            let mut state = locked(&self.0);
            if let Some(link) = state.ready.get(&identity).filter(|link| !link.is_closed()) {
                return Ok(Arc::clone(link));
            }
            Arc::clone(state.attempts.entry(way).or_default())
        };
        let made = attempt.get_or_init(make).await.clone();
        let mut state = locked(&self.0);
        if state.attempts.get(&way).is_some_and(|current| Arc::ptr_eq(current, &attempt)) {
            state.attempts.remove(&way);
            if let Ok(link) = &made {
                state.keep(identity, link);
            }
        }
        made
    }
}

impl<T: Clone, E> State<T, E> {
    fn keep(&mut self, identity: [u8; 32], link: &Arc<Link<T>>) {
        let kept = self.ready.entry(identity).or_insert_with(|| Arc::clone(link));
        if kept.is_closed() {
            *kept = Arc::clone(link);
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
        assert_eq!(tried.get(), 2, "who comes later tries anew");
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
    }
}
