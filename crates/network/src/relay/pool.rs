//! The threads that answer creations.
//!
//! A handshake is some tens of microseconds of computation. On the threads that serve links it would hold up the cells of all other
//! circuits, and a flood of creations would stop the relay. So there is a bounded queue, and what does not fit is refused at once,
//! which costs the relay next to nothing.
//!
//! Handing a handshake to another thread takes two wake-ups, there and back, which on an idle relay cost about as much as the handshake.
//! So a handshake that comes alone is answered [on the link's own thread](Here).

use super::circuit::Circuit;
use super::fair::Fair;
use crate::Error;
use crate::link::locked;
use candor_onion::circuit::{HandshakeJob, OnionKeys};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// The pool. Its threads end when it is dropped.
pub(super) struct Pool(Arc<Queue>);

struct Queue {
    keys: Mutex<Arc<OnionKeys>>,
    state: Mutex<State>,
    work: Condvar,
    answered: AtomicU64,
    answered_here: AtomicU64,
    refused: AtomicU64,
}

struct State {
    /// Waiting handshakes, grouped by who pays for them.
    jobs: Fair<(HandshakeJob, Arc<Circuit>)>,
    /// How many threads of the pool are at work.
    working: usize,
    here: Here,
    closed: bool,
}

/// Handshakes on threads that serve links: one at a time in the whole relay, and then none for three times as long as it took. So no
/// cell is ever held up by more than one of them, and a flood of creations gets a quarter of one thread; the rest of it is queued.
#[derive(Default)]
struct Here {
    busy: bool,
    next: Option<Instant>,
}

impl Pool {
    pub(super) fn start(keys: OnionKeys, threads: usize, most: usize) -> Result<Self, Error> {
        let queue = Arc::new(Queue {
            keys: Mutex::new(Arc::new(keys)),
            state: Mutex::new(State { jobs: Fair::new(most), working: 0, here: Here::default(), closed: false }),
            work: Condvar::new(),
            answered: AtomicU64::new(0),
            answered_here: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let pool = Self(Arc::clone(&queue));
        for _ in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            let spawned = thread::Builder::new().name("handshakes".into()).spawn(move || queue.serve());
            spawned.map_err(|error| Error::Internal(format!("can't start a thread for handshakes: {error}")))?;
        }
        Ok(pool)
    }

    /// Does a job or queues it; the answer goes to the circuit. If too many wait, gives back a circuit to refuse: this one, or one of
    /// somebody who has more of them waiting. `alone`: nothing else waits to be read on the link.
    pub(super) fn submit(&self, job: HandshakeJob, circuit: &Arc<Circuit>, alone: bool) -> Option<Arc<Circuit>> {
        let mut state = locked(&self.0.state);
        let idle = state.jobs.is_empty() && state.working == 0;
        if alone && idle && !state.closed {
            let start = Instant::now();
            if state.here.begin(start) {
                drop(state);
                self.0.answered_here.fetch_add(1, Ordering::Relaxed);
                self.0.run(job, circuit);
                locked(&self.0.state).here.end(start, Instant::now());
                return None;
            }
        }
        let refused = state.jobs.push(circuit.payer(), (job, Arc::clone(circuit)));
        drop(state);
        match refused {
            Some((_, circuit)) => {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                Some(circuit)
            }
            None => {
                self.0.work.notify_one();
                None
            }
        }
    }

    /// Answers with other keys from now on.
    pub(super) fn replace(&self, keys: OnionKeys) {
        *locked(&self.0.keys) = Arc::new(keys);
    }

    pub(super) fn answered(&self) -> u64 {
        self.0.answered.load(Ordering::Relaxed)
    }

    /// Those of the answered that took no thread of the pool.
    pub(super) fn answered_here(&self) -> u64 {
        self.0.answered_here.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.closed = true;
        state.jobs.clear();
        self.0.work.notify_all();
    }
}

impl Queue {
    fn serve(&self) {
        let mut state = locked(&self.state);
        while !state.closed {
            let Some((job, circuit)) = state.jobs.pop() else {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.working += 1;
            drop(state);
            // A circuit that is gone meanwhile is not worth a handshake.
            if !circuit.is_closed() {
                self.run(job, &circuit);
            }
            drop(circuit);
            state = locked(&self.state);
            state.working -= 1;
        }
    }

    fn run(&self, job: HandshakeJob, circuit: &Arc<Circuit>) {
        let keys = Arc::clone(&locked(&self.keys));
        let answer = job.run(&keys);
        self.answered.fetch_add(1, Ordering::Relaxed);
        circuit.with(|inner| inner.machine.answer(answer));
    }
}

impl Here {
    fn begin(&mut self, now: Instant) -> bool {
        let may = !self.busy && self.next.is_none_or(|next| next <= now);
        self.busy |= may;
        may
    }

    fn end(&mut self, start: Instant, now: Instant) {
        *self = Self { busy: false, next: Some(now + now.saturating_duration_since(start) * 3) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn links_threads_do_one_handshake_at_a_time_and_rest_for_three() {
        let start = Instant::now();
        let at = |microseconds| start + Duration::from_micros(microseconds);
        let mut here = Here::default();
        assert!(here.begin(at(0)));
        assert!(!here.begin(at(1_000_000)), "one is under way");
        here.end(at(0), at(100));
        assert!(!here.begin(at(399)));
        assert!(here.begin(at(400)));
        here.end(at(400), at(400));
        assert!(here.begin(at(400)), "a clock that stands still costs nothing");
    }
}
