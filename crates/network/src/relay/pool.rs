//! The threads that answer creations.
//!
//! A handshake is some tens of microseconds of computation. On the threads that serve links it would hold up the cells of all other
//! circuits, and a flood of creations would stop the relay. So there is a queue with a bound, and what does not fit is refused
//! at once, which costs the relay next to nothing.

use super::circuit::Circuit;
use crate::Error;
use crate::link::locked;
use candor_onion::circuit::{HandshakeJob, OnionKeys};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// The pool. Its threads end when it is dropped.
pub(super) struct Pool(Arc<Queue>);

struct Queue {
    keys: OnionKeys,
    most: usize,
    state: Mutex<State>,
    work: Condvar,
    answered: AtomicU64,
    refused: AtomicU64,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<(HandshakeJob, Arc<Circuit>)>,
    closed: bool,
}

impl Pool {
    pub(super) fn start(keys: OnionKeys, threads: usize, most: usize) -> Result<Self, Error> {
        let queue = Arc::new(Queue {
            keys,
            most,
            state: Mutex::default(),
            work: Condvar::new(),
            answered: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let pool = Self(Arc::clone(&queue));
        for _ in 0..threads {
            let queue = Arc::clone(&queue);
            let spawned = thread::Builder::new().name("handshakes".into()).spawn(move || queue.serve());
            spawned.map_err(|error| Error::Internal(format!("can't start a thread for handshakes: {error}")))?;
        }
        Ok(pool)
    }

    /// Queues a job, whose answer goes to the circuit; `false` if too many wait.
    pub(super) fn submit(&self, job: HandshakeJob, circuit: &Arc<Circuit>) -> bool {
        let mut state = locked(&self.0.state);
        if state.jobs.len() >= self.0.most {
            drop(state);
            self.0.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        state.jobs.push_back((job, Arc::clone(circuit)));
        drop(state);
        self.0.work.notify_one();
        true
    }

    pub(super) fn answered(&self) -> u64 {
        self.0.answered.load(Ordering::Relaxed)
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
        while let Some((job, circuit)) = self.next() {
            // Who has gone meanwhile is not worth a handshake.
            if circuit.is_closed() {
                continue;
            }
            let answer = job.run(&self.keys);
            self.answered.fetch_add(1, Ordering::Relaxed);
            circuit.with(|inner| inner.machine.answer(answer));
        }
    }

    fn next(&self) -> Option<(HandshakeJob, Arc<Circuit>)> {
        let mut state = locked(&self.state);
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
