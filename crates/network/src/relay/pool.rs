//! The threads that answer creations, and do the work of upgrades.
//!
//! A handshake is some tens of microseconds of computation. On the threads that serve links it would hold up the cells of all other
//! circuits, and a flood of creations would stop the relay. So there is a bounded queue, and what does not fit is refused at once,
//! which costs the relay next to nothing.
//!
//! Handing a handshake to another thread takes two wake-ups, there and back, which on an idle relay cost about as much as the handshake.
//! So a handshake that comes alone is answered [on the link's own thread](Here).
//!
//! A thread takes up to eight that wait and are of one kind as one batch, which takes less time than one by one. It never waits for company, and
//! takes no more than its share while other threads have nothing to do. Should one of a batch panic, the others are answered one by one.
//!
//! An upgrade is queued like a creation, at the expense of the same payer. A circuit has one, so a flood of them is no longer than the creations before it.

use super::circuit::Circuit;
use super::fair::Fair;
use super::payer::Payer;
use crate::Error;
use crate::link::locked;
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::{Answer, HandshakeJob, OnionKeys, UpgradeJob};
use candor_onion::handshake::UpgradeAnswer;
use candor_primitives::kem::ml_kem::MlKem768;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// The most handshakes that are done as one batch: as many as lanes do at once.
pub(super) const BATCH: usize = 8;

/// The pool. Its threads end when it is dropped.
pub(super) struct Pool<C: Waits = Circuit>(Arc<Queue<C>>);

/// What a handshake is done for.
pub(super) trait Waits: Send + Sync + 'static {
    /// Who pays for the handshake.
    fn payer(self: &Arc<Self>) -> Payer;

    /// Whether nobody waits any more.
    fn is_closed(&self) -> bool;

    /// Takes the result.
    fn answer(self: &Arc<Self>, answer: Result<Answer, candor_onion::Error>);

    /// Takes the result of an upgrade's job.
    fn upgraded(self: &Arc<Self>, answer: Result<UpgradeAnswer, candor_onion::Error>);

    /// There will be none: something has panicked.
    fn lost(self: &Arc<Self>);
}

/// What there is to compute.
pub(super) enum Work {
    Create(HandshakeJob),
    Upgrade(UpgradeJob),
}

impl Work {
    /// What can be one batch: creations by one handshake, or upgrades.
    fn kind(&self) -> Option<u16> {
        match self {
            Self::Create(job) => Some(job.kind()),
            Self::Upgrade(_) => None,
        }
    }
}

/// Work and what it is done for.
type Job<C> = (Work, Arc<C>);

struct Queue<C> {
    keys: Mutex<Arc<OnionKeys>>,
    state: Mutex<State<C>>,
    threads: usize,
    work: Condvar,
    answered: AtomicU64,
    upgraded: AtomicU64,
    /// How many batches of each size the threads of the pool have done, from one.
    batches: [AtomicU64; BATCH],
    answered_here: AtomicU64,
    refused: AtomicU64,
}

struct State<C> {
    /// Waiting handshakes, grouped by who pays for them.
    jobs: Fair<Job<C>>,
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

impl<C: Waits> Pool<C> {
    pub(super) fn start(keys: OnionKeys, threads: usize, most: usize) -> Result<Self, Error> {
        let threads = threads.max(1);
        let queue = Arc::new(Queue {
            keys: Mutex::new(Arc::new(keys)),
            state: Mutex::new(State { jobs: Fair::new(most), working: 0, here: Here::default(), closed: false }),
            threads,
            work: Condvar::new(),
            answered: AtomicU64::new(0),
            upgraded: AtomicU64::new(0),
            batches: Default::default(),
            answered_here: AtomicU64::new(0),
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

    /// Does a job or queues it; the answer goes to the circuit. If too many wait, gives back a circuit to refuse: this one, or one of
    /// somebody who has more of them waiting. `alone`: nothing came behind it in its record.
    pub(super) fn submit(&self, job: Work, circuit: &Arc<C>, alone: bool) -> Option<Arc<C>> {
        let mut state = locked(&self.0.state);
        let idle = state.jobs.is_empty() && state.working == 0;
        if alone && idle && !state.closed {
            let start = Instant::now();
            if state.here.begin(start) {
                drop(state);
                self.0.answered_here.fetch_add(1, Ordering::Relaxed);
                self.0.run(&[(job, Arc::clone(circuit))]);
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

    /// Upgrades that have an answer, which a request that can't be read has not.
    pub(super) fn upgraded(&self) -> u64 {
        self.0.upgraded.load(Ordering::Relaxed)
    }

    /// Those of the answered that took no thread of the pool.
    pub(super) fn answered_here(&self) -> u64 {
        self.0.answered_here.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// How many batches of each size the threads of the pool have done, from one.
    pub(super) fn batches(&self) -> [u64; BATCH] {
        self.0.batches.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

impl<C: Waits> Drop for Pool<C> {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.closed = true;
        state.jobs.clear();
        self.0.work.notify_all();
    }
}

impl<C: Waits> Queue<C> {
    fn serve(&self) {
        let mut state = locked(&self.state);
        while !state.closed {
            if state.jobs.is_empty() {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let share = state.jobs.len().div_ceil(self.threads - state.working);
            let mut batch = state.jobs.pop_alike(share.min(BATCH), |(job, _)| job.kind());
            state.working += 1;
            drop(state);
            // A circuit that is gone meanwhile is not worth a handshake.
            batch.retain(|(_, circuit)| !circuit.is_closed());
            if let Some(of_its_size) = batch.len().checked_sub(1) {
                self.run(&batch);
                if batch[0].0.kind().is_some() {
                    self.batches[of_its_size].fetch_add(1, Ordering::Relaxed);
                }
            }
            drop(batch);
            state = locked(&self.state);
            state.working -= 1;
        }
    }

    fn run(&self, batch: &[Job<C>]) {
        let left = self.answer(&batch.iter().collect::<Vec<_>>());
        for job in left {
            for (_, circuit) in self.answer(&[job]) {
                // What has panicked once may do so again.
                let _ = panic::catch_unwind(AssertUnwindSafe(|| circuit.lost()));
            }
        }
    }

    /// Gives back those without an answer, if something has panicked.
    fn answer<'a>(&self, batch: &[&'a Job<C>]) -> Vec<&'a Job<C>> {
        let keys = Arc::clone(&locked(&self.keys));
        let mut left: Vec<_> = batch.iter().copied().map(Some).collect();
        let _ = panic::catch_unwind(AssertUnwindSafe(|| {
            let (mut places, mut creations) = (Vec::new(), Vec::new());
            for (at, (work, circuit)) in batch.iter().enumerate() {
                match work {
                    Work::Create(job) => {
                        places.push(at);
                        creations.push(job);
                    }
                    Work::Upgrade(job) => {
                        let answer = job.run(&MlKem768::new());
                        let is_answered = answer.is_ok();
                        circuit.upgraded(answer);
                        left[at] = None;
                        self.upgraded.fetch_add(u64::from(is_answered), Ordering::Relaxed);
                    }
                }
            }
            HandshakeJob::run_many(&creations, &keys, |at, answer| {
                batch[places[at]].1.answer(answer);
                left[places[at]] = None;
                self.answered.fetch_add(1, Ordering::Relaxed);
            });
        }));
        left.into_iter().flatten().collect()
    }
}

impl Waits for Circuit {
    fn payer(self: &Arc<Self>) -> Payer {
        Self::payer(self)
    }

    fn is_closed(&self) -> bool {
        Self::is_closed(self)
    }

    fn answer(self: &Arc<Self>, answer: Result<Answer, candor_onion::Error>) {
        self.with(|inner| inner.machine.answer(answer));
    }

    fn upgraded(self: &Arc<Self>, answer: Result<UpgradeAnswer, candor_onion::Error>) {
        self.with(|inner| inner.machine.upgrade(answer));
    }

    fn lost(self: &Arc<Self>) {
        self.with(|inner| inner.machine.close(DestroyReason::INTERNAL));
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
    use crate::relay::payer::Asker;
    use candor_onion::cell::payload::Create2;
    use candor_onion::circuit::{Limits, RelayCircuit};
    use candor_onion::handshake::{Handshake, NtorDefault, NtorV3Default, Upgrade};
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    /// Somebody who waits for a handshake, by number.
    struct Waiting {
        number: u8,
        payer: usize,
        is_closed: AtomicBool,
        answers: Sender<u8>,
        /// Its answer makes the thread panic.
        panics: AtomicBool,
        /// The thread that brings the answer is kept until somebody lets it go.
        keeps: Option<Mutex<Receiver<()>>>,
    }

    impl Waits for Waiting {
        fn payer(self: &Arc<Self>) -> Payer {
            Payer::Asker(Asker::Link(self.payer))
        }

        fn is_closed(&self) -> bool {
            self.is_closed.load(Ordering::Relaxed)
        }

        fn answer(self: &Arc<Self>, answer: Result<Answer, candor_onion::Error>) {
            answer.unwrap();
            assert!(!self.panics.load(Ordering::Relaxed), "as it is to");
            self.answers.send(self.number).unwrap();
            if let Some(keeps) = &self.keeps {
                locked(keeps).recv().unwrap();
            }
        }

        fn upgraded(self: &Arc<Self>, answer: Result<UpgradeAnswer, candor_onion::Error>) {
            self.answers.send(if answer.is_ok() { self.number } else { REFUSED }).unwrap();
        }

        fn lost(self: &Arc<Self>) {
            self.answers.send(LOST + self.number).unwrap();
            panic!("as it is to, again");
        }
    }

    /// What is said of those who are lost, beside their number.
    const LOST: u8 = 100;
    /// What is said of an upgrade that is refused.
    const REFUSED: u8 = 255;
    /// So that a thread that is gone fails the test, which would wait for it else.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A pool of one thread, and what makes jobs for it.
    struct Scene {
        pool: Pool<Waiting>,
        onionskins: [(u16, Vec<u8>); 2],
        answers: (Sender<u8>, Receiver<u8>),
        submitted: u8,
    }

    impl Scene {
        fn new() -> Self {
            fn offer<H: Handshake>(handshake: &H, identity: H::Identity) -> (H::RelaySecret, (u16, Vec<u8>)) {
                let relay = handshake.generate_relay(identity).unwrap();
                // No extensions: their number is zero.
                let message: &[u8] = if H::CARRIES_MESSAGES { &[0] } else { &[] };
                let (_, onionskin) = handshake.start(handshake.public(&relay), message).unwrap();
                (relay, (handshake.handshake_type().unwrap().number(), onionskin))
            }
            let (ntor, ntor_v3) = (NtorDefault::default(), NtorV3Default::default());
            let ((first, of_first), (second, of_second)) = (offer(&ntor, [1; 20]), offer(&ntor_v3, [1; 32]));
            let keys = OnionKeys::default().with(ntor, vec![first]).unwrap().with(ntor_v3, vec![second]).unwrap();
            let pool = Pool::start(keys, 1, 100).unwrap();
            Self { pool, onionskins: [of_first, of_second], answers: channel(), submitted: 0 }
        }

        fn submit(&mut self, payer: usize, kind: usize, keeps: Option<Receiver<()>>) -> Arc<Waiting> {
            let (job, waiting) = self.job(payer, kind, keeps);
            assert!(self.pool.submit(Work::Create(job), &waiting, false).is_none(), "there is room");
            waiting
        }

        fn job(&mut self, payer: usize, kind: usize, keeps: Option<Receiver<()>>) -> (HandshakeJob, Arc<Waiting>) {
            let (number, onionskin) = self.onionskins[kind].clone();
            let (_, job) = RelayCircuit::create(Create2::new(number, onionskin).unwrap(), Limits::default());
            let (is_closed, panics, answers) = (AtomicBool::new(false), AtomicBool::new(false), self.answers.0.clone());
            let number = self.submitted;
            self.submitted += 1;
            (job, Arc::new(Waiting { number, payer, is_closed, answers, panics, keeps: keeps.map(Mutex::new) }))
        }

        /// Keeps the pool's thread while `others` come, then lets it go and waits for so many answers.
        fn after(mut self, others: impl FnOnce(&mut Self), count: usize) -> (Vec<u8>, [u64; BATCH]) {
            let (go, wait) = channel();
            self.submit(0, 0, Some(wait));
            assert_eq!(self.answers.1.recv(), Ok(0));
            others(&mut self);
            go.send(()).unwrap();
            let answers = (0..count).map(|_| self.answers.1.recv().unwrap()).collect();
            // One more, so that the batch before it has been counted.
            self.submit(0, 0, None);
            self.answers.1.recv().unwrap();
            let mut batches = self.pool.batches();
            while batches.iter().zip(1..).map(|(batches, size)| batches * size).sum::<u64>() < count as u64 + 2 {
                thread::yield_now();
                batches = self.pool.batches();
            }
            assert_eq!(self.pool.answered(), count as u64 + 2);
            batches[0] -= 2;
            (answers, batches)
        }
    }

    #[test]
    fn up_to_eight_that_wait_are_one_batch() {
        let twenty = |scene: &mut Scene| (1..=20).for_each(|payer| drop(scene.submit(payer, 0, None)));
        assert_eq!(Scene::new().after(twenty, 20), ((1..=20).collect(), [0, 0, 0, 1, 0, 0, 0, 2]));
    }

    #[test]
    fn a_batch_is_of_one_kind_taken_in_turn_and_without_those_who_have_gone() {
        let mix = |scene: &mut Scene| {
            (0..3).for_each(|_| drop(scene.submit(1, 0, None)));
            scene.submit(2, 0, None).is_closed.store(true, Ordering::Relaxed);
            scene.submit(2, 0, None);
            (0..2).for_each(|_| drop(scene.submit(3, 1, None)));
        };
        assert_eq!(Scene::new().after(mix, 6), (vec![1, 6, 2, 5, 7, 3], [4, 1, 0, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn upgrades_wait_among_creations_and_are_refused_with_them() {
        let mut scene = Scene::new();
        let request = Upgrade::new(MlKem768::new()).unwrap().start().unwrap().1;
        let (go, wait) = channel();
        scene.submit(0, 0, Some(wait));
        assert_eq!(scene.answers.1.recv(), Ok(0));
        let mut refused = Vec::new();
        for number in 1..=104 {
            // The first payer asks for upgrades only, another one for two creations.
            let (job, waiting) = scene.job(if number <= 102 { 1 } else { 2 }, 0, None);
            let work = if number <= 102 { Work::Upgrade(UpgradeJob::new(request.clone())) } else { Work::Create(job) };
            refused.extend(scene.pool.submit(work, &waiting, true).map(|waiting| waiting.payer));
        }
        assert_eq!((refused, scene.pool.refused()), (vec![1; 4], 4), "a hundred may wait, and who has most loses");
        go.send(()).unwrap();
        let mut answers: Vec<_> = (0..100).map(|_| scene.answers.1.recv_timeout(PATIENCE).unwrap()).collect();
        answers.sort_unstable();
        assert!(answers.ends_with(&[103, 104]), "{answers:?}");
        while locked(&scene.pool.0.state).working > 0 {
            thread::yield_now();
        }
        assert_eq!((scene.pool.upgraded(), scene.pool.answered()), (98, 3));
        assert_eq!(scene.pool.batches().iter().sum::<u64>(), 3, "batches are of creations");
        let (_, waiting) = scene.job(1, 0, None);
        let unreadable = Work::Upgrade(UpgradeJob::new(request[1..].to_vec()));
        assert!(scene.pool.submit(unreadable, &waiting, true).is_none());
        assert_eq!(scene.answers.1.recv_timeout(PATIENCE), Ok(REFUSED));
        assert_eq!(scene.pool.upgraded(), 98, "which is no answer");
    }

    #[test]
    fn one_that_panics_costs_no_other_its_answer_and_the_pool_no_thread() {
        let mut scene = Scene::new();
        let (go, wait) = channel();
        scene.submit(0, 0, Some(wait));
        assert_eq!(scene.answers.1.recv(), Ok(0));
        (1..=8).for_each(|payer| scene.submit(payer, 0, None).panics.store(payer == 3, Ordering::Relaxed));
        go.send(()).unwrap();
        let answers: Vec<_> = (0..8).map(|_| scene.answers.1.recv_timeout(PATIENCE).unwrap()).collect();
        assert_eq!(answers, [1, 2, LOST + 3, 4, 5, 6, 7, 8]);
        // On a link's thread, too.
        let (job, waiting) = scene.job(1, 0, None);
        waiting.panics.store(true, Ordering::Relaxed);
        while locked(&scene.pool.0.state).working > 0 {
            thread::yield_now();
        }
        assert!(scene.pool.submit(Work::Create(job), &waiting, true).is_none());
        assert_eq!((scene.answers.1.recv_timeout(PATIENCE), scene.pool.answered_here()), (Ok(LOST + 9), 1));
        assert!(!locked(&scene.pool.0.state).here.busy);
        // The twin: the thread goes on.
        scene.submit(1, 1, None);
        assert_eq!((scene.answers.1.recv_timeout(PATIENCE), scene.pool.refused()), (Ok(10), 0));
    }

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
