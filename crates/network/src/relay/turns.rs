//! Turns for work that strangers can cause at will, on the threads that also relay cells: handshakes of links, and connections of exits.
//!
//! A handshake is some hundred microseconds of computation. So at most half of the threads work on strangers' handshakes at a time; the
//! others go on relaying, however many strangers knock. To open or close a connection takes the system some dozens of microseconds, and a
//! circuit that ends closes all of its streams at once: each payer's connections take turns one by one, so that cells wait for one of
//! them and not for thousands. Those who wait are served in the order in which they came.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::ready;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Clone)]
pub(super) struct Turns(Arc<Semaphore>);

impl Turns {
    /// For a runtime with so many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self(Arc::new(Semaphore::new((threads / 2).max(1))))
    }

    /// For work that is done one by one.
    pub(super) fn one_by_one() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// A turn, until what comes back is dropped. `None` can't be: nobody closes the semaphore.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }

    /// Does `work`, which computes only while it has a turn. While it waits for something else it has none.
    pub(super) async fn run<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        let mut turn = None;
        poll_fn(|cx| {
            let waiting = turn.get_or_insert_with(|| Box::pin(Arc::clone(&self.0).acquire_owned()));
            let held = ready!(waiting.as_mut().poll(cx));
            turn = None;
            let polled = work.as_mut().poll(cx);
            drop(held);
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn work_goes_on_only_in_its_turn_and_keeps_none_while_it_waits() {
        let turns = Turns::new(2);
        let (send, receive) = oneshot::channel();
        let task = {
            let turns = turns.clone();
            tokio::spawn(async move { turns.run(receive).await })
        };
        yield_now().await;
        assert_eq!(turns.0.available_permits(), 1, "it waits for the channel");
        let other = Arc::clone(&turns.0).acquire_owned().await;
        send.send(7).unwrap();
        for _ in 0..10 {
            yield_now().await;
        }
        assert!(!task.is_finished(), "somebody else has the only turn");
        drop(other);
        assert_eq!(task.await.unwrap(), Ok(7));
        assert_eq!(turns.0.available_permits(), 1);
    }

    #[test]
    fn half_of_the_threads_are_left_to_others() {
        assert_eq!([1, 2, 3, 8].map(|threads| Turns::new(threads).0.available_permits()), [1, 1, 1, 4]);
    }
}
