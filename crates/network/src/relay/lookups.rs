//! Looking up names for an exit, by the operating system's resolver.
//!
//! `getaddrinfo` can't be called off: one that its stream has given up keeps its thread until the resolver gives up too. So the calls
//! under way are bounded, for each link and in all, and a call holds its place until it has really ended. Who waits for a place waits as
//! part of a stream, and streams are bounded themselves. A resolver library would hold no threads, but none knows what the operator has
//! told the system about names (`nsswitch.conf`), and it would cost more to build than all the rest of this crate.

use crate::link::locked;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// Calls under way at a time: each may hold a thread for as long as the resolver takes.
const MOST: usize = 64;
/// Of these, for circuits that came over one link.
const MOST_OF_A_LINK: usize = 16;

pub(super) struct Lookups {
    all: Arc<Semaphore>,
    links: Mutex<HashMap<usize, Arc<Semaphore>>>,
}

impl Lookups {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(MOST)), links: Mutex::default() }
    }

    /// Runs `call`, such as [`system`], on a thread of its own once there is a place. Dropping the future gives up waiting; a call that
    /// is under way keeps its place.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        link: usize,
        call: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let share =
            Arc::clone(locked(&self.links).entry(link).or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_A_LINK))));
        let share = share.acquire_owned().await;
        let place = Arc::clone(&self.all).acquire_owned().await;
        let called = tokio::task::spawn_blocking(move || {
            let _held = (share, place);
            call()
        });
        let answer = called.await.map_err(io::Error::other)?;
        // Links that have nothing under way are forgotten.
        locked(&self.links).retain(|_, share| Arc::strong_count(share) > 1);
        answer
    }
}

/// The addresses of a name, as the operating system knows them.
pub(super) fn system(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    std::net::ToSocketAddrs::to_socket_addrs(&(host, port)).map(Iterator::collect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn calls_that_hang_take_a_links_share_and_no_more() {
        let lookups = Arc::new(Lookups::new());
        let started = Arc::new(AtomicUsize::new(0));
        let (release, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        let mut waiting = Vec::new();
        for _ in 0..100 {
            let (lookups, started, hangs) = (Arc::clone(&lookups), Arc::clone(&started), Arc::clone(&hangs));
            waiting.push(tokio::spawn(async move {
                let call = move || {
                    started.fetch_add(1, Ordering::Relaxed);
                    let _ = locked(&hangs).recv();
                    Ok(())
                };
                lookups.run(1, call).await
            }));
        }
        while started.load(Ordering::Relaxed) < MOST_OF_A_LINK {
            yield_now().await;
        }
        // The streams give up. Their calls go on, and hold their places.
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        assert_eq!(lookups.run(2, || Ok(7)).await.unwrap(), 7, "another link is served");
        assert_eq!(started.load(Ordering::Relaxed), MOST_OF_A_LINK);
        assert_eq!(lookups.all.available_permits(), MOST - MOST_OF_A_LINK);
        drop(release);
        while lookups.all.available_permits() < MOST {
            yield_now().await;
        }
        assert_eq!(lookups.run(1, || Ok(8)).await.unwrap(), 8, "and so is the first, once they end");
        assert!(locked(&lookups.links).is_empty());
    }

    #[test]
    fn the_system_knows_this_machine() {
        let found = system("localhost", 80).unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
    }
}
