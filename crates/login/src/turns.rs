//! Who goes first. Strangers ask as fast as they like, also when their guesses are used up, and many of them may guess again at the same moment; others must not wait
//! behind all of them.

use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// Rounds of the runtime between one of the queue and the next.
const ROUNDS: usize = 4;

/// A queue for those who come last: addresses that have used up their guesses, and networks that ask too often. TLS handshakes have one of their own.
///
/// One of them goes on in every [`ROUNDS`]th round in which the runtime gives everything that is ready its turn. So a request of somebody else waits for one of theirs at most,
/// however many they are, and newcomers, of whom one is accepted in each round, overtake a crowd of theirs. They wait in order and none is left behind. What waits here has been
/// read no further than its head, and holds a connection that counts as idle: it has to go where room is needed.
pub(crate) struct Turns {
    last: Semaphore,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { last: Semaphore::new(1) }
    }

    /// Comes back in a round of its own, after others have had theirs.
    pub(crate) async fn after_others(&self) {
        let Ok(_turn) = self.last.acquire().await else { return };
        for _ in 0..ROUNDS {
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn one_of_a_crowd_goes_on_at_a_time_and_all_do_in_the_end() {
        const CROWD: usize = 100;
        let (turns, gone) = (Arc::new(Turns::new()), Arc::new(AtomicUsize::new(0)));
        for _ in 0..CROWD {
            let (turns, gone) = (Arc::clone(&turns), Arc::clone(&gone));
            tokio::spawn(async move {
                turns.after_others().await;
                gone.fetch_add(1, Ordering::Relaxed);
            });
        }
        let (mut before, mut rounds) = (0, 0);
        while before < CROWD {
            yield_now().await;
            let now = gone.load(Ordering::Relaxed);
            assert!(now - before <= 1, "{} went on at once", now - before);
            (before, rounds) = (now, rounds + 1);
            assert!(rounds < 10 * CROWD, "{now} have gone on");
        }
    }
}
