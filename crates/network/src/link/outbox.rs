//! What waits to be sent on a link: a queue for each circuit, served in turn, so that a circuit that carries much does not
//! hold up the others.
//!
//! A queue is bounded, and so are all queues of a process together. Nobody waits for room in another's queue while it holds cells
//! of its own, or two relays could wait for each other: a circuit that would overflow is destroyed. Honest circuits stay far below,
//! since flow control bounds what is on its way; whoever makes data ([`Outbox::poll_room`]) waits until its queue is short.
//!
//! A DESTROY that waits takes eight bytes: a circuit number and a reason. Each link may keep [`DESTROYS_A_CELL`] of them free of charge;
//! every further [`DESTROYS_A_CELL`] take the room of one cell from the budget. A DESTROY can't be dropped, since the other side must learn
//! that the circuit has ended. If there is no room for one, or if more of them wait than the link may have circuits (and [`REFUSALS`]
//! besides), the link is closed.
//!
//! A batch that the driver takes keeps its room until the connection below has taken all of it ([`Outbox::poll_fill`]): what TLS holds of it is memory,
//! too. A link whose other side takes too little of it is [slow](Outbox::poll_stuck), and may be [given up](Outbox::give_up) for its room.

use super::locked;
use crate::tls::RECORD;
use candor_onion::cell::{CELL, Cell, DestroyReason, Message};
use candor_onion::flow::MOST_UNACKNOWLEDGED;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// DESTROY cells that take the room of one cell.
const DESTROYS_A_CELL: usize = 64;
/// DESTROY cells that may wait on a link beyond one for each circuit that it may have: refusals.
const REFUSALS: usize = 1024;
/// Cells that a circuit may have in one link's queue: as many as the widest window holds, so that a sender that keeps to it never
/// overflows one.
pub(crate) const MOST: usize = MOST_UNACKNOWLEDGED as usize;
/// Below this a queue is short, and who makes data may make more.
pub(crate) const SHORT: usize = 128;
/// A table for so many queues is small.
const FEW: usize = 64;
/// Bytes to write at a time: four records, which are one system call and, on their way through the kernel, one packet.
const BATCH: usize = 4 * RECORD;

/// How many cells a process may keep: queued on links, on their way into their connections, unread in streams, and as unfinished cells and messages.
/// An eighth more is a reserve for while room is being made.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
    short: Notify,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, used: AtomicUsize::new(0), short: Notify::new() })
    }

    /// Room for one more.
    pub(crate) fn take(&self) -> Result<(), Full> {
        let used = self.used.fetch_add(1, Ordering::Relaxed);
        if used >= self.most {
            self.short.notify_one();
        }
        if used < self.most + self.most / 8 {
            return Ok(());
        }
        self.give(1);
        Err(Full)
    }

    /// Gives back the room of so many.
    pub(crate) fn give(&self, cells: usize) {
        self.used.fetch_sub(cells, Ordering::Relaxed);
    }

    /// How many it has room for are in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether three quarters are used up.
    pub(crate) fn is_short(&self) -> bool {
        self.used() >= self.most - self.most / 4
    }

    /// Comes back when all is used up and the reserve has been touched.
    pub(crate) async fn short(&self) {
        self.short.notified().await;
    }
}

/// Room of the budget for what grows and shrinks: unfinished cells and messages. Given back on drop.
pub(crate) struct Room {
    budget: Arc<Budget>,
    cells: usize,
}

impl Room {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, cells: 0 }
    }

    /// Takes or gives back, until it is the room of so many cells. If there is too little, it keeps what it has got.
    pub(crate) fn set(&mut self, cells: usize) -> Result<(), Full> {
        while self.cells < cells {
            self.budget.take()?;
            self.cells += 1;
        }
        if self.cells > cells {
            self.budget.give(self.cells - cells);
            self.cells = cells;
        }
        Ok(())
    }

    pub(crate) fn cells(&self) -> usize {
        self.cells
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.budget.give(self.cells);
    }
}

/// The circuit's queue, or all queues together, can take no more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The queues of one link.
pub(crate) struct Outbox {
    budget: Arc<Budget>,
    most_destroys: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queues: HashMap<u32, Queue>,
    /// Circuits with cells, each once, the next to be served first.
    turns: VecDeque<u32>,
    /// DESTROY cells of circuits without a queue, in the order of their coming.
    ends: VecDeque<(u32, DestroyReason)>,
    /// Room of the budget that `ends` has taken.
    room: usize,
    /// Room of the batch that is on its way.
    under_way: usize,
    /// How many cells' worth of bytes that batch has. DESTROY cells among them have room here only if the other side doesn't take them.
    batch: usize,
    closing: bool,
    given_up: bool,
    driver: Option<Waker>,
    /// The driver, while the other side doesn't take the batch, and whether that has been so for some time.
    stuck: Option<Waker>,
    is_slow: bool,
}

#[derive(Default)]
struct Queue {
    cells: VecDeque<Message>,
    /// Who waits for the queue to be short.
    waiting: Vec<Waker>,
}

fn is_destroy(message: &Message) -> bool {
    matches!(message, Message::Destroy(_))
}

impl Queue {
    /// Cells that have taken room from the budget.
    fn counted(&self) -> usize {
        self.cells.iter().filter(|message| !is_destroy(message)).count()
    }
}

impl Outbox {
    /// For a link of at most so many circuits.
    pub(crate) fn new(budget: Arc<Budget>, circuits: usize) -> Self {
        Self { budget, most_destroys: circuits.saturating_add(REFUSALS), state: Mutex::default() }
    }

    /// Room for what the link keeps besides, none at first.
    pub(crate) fn room(&self) -> Room {
        Room::new(Arc::clone(&self.budget))
    }

    /// Queues a cell; how many of the circuit's are queued then. On a link that closes it is dropped.
    pub(crate) fn push(&self, circuit: u32, message: Message) -> Result<usize, Full> {
        let mut state = locked(&self.state);
        if state.closing {
            return Ok(0);
        }
        if let Message::Destroy(reason) = message {
            return Ok(self.push_destroy(&mut state, circuit, reason));
        }
        if state.queues.get(&circuit).is_some_and(|queue| queue.cells.len() >= MOST) {
            return Err(Full);
        }
        self.budget.take()?;
        let state = &mut *state;
        let queue = state.queues.entry(circuit).or_default();
        if queue.cells.is_empty() {
            state.turns.push_back(circuit);
        }
        queue.cells.push_back(message);
        let length = queue.cells.len();
        state.wake();
        Ok(length)
    }

    /// Behind the circuit's cells, if it has any.
    fn push_destroy(&self, state: &mut State, circuit: u32, reason: DestroyReason) -> usize {
        if let Some(queue) = state.queues.get_mut(&circuit) {
            // A second one in a row would say nothing new.
            if !queue.cells.back().is_some_and(is_destroy) {
                queue.cells.push_back(Message::Destroy(reason));
            }
            return queue.cells.len();
        }
        let needs_room = state.ends.len() >= (state.room + 1) * DESTROYS_A_CELL;
        if state.ends.len() >= self.most_destroys || (needs_room && self.budget.take().is_err()) {
            self.drop_all(state);
            state.close();
            return 0;
        }
        state.room += usize::from(needs_room);
        state.ends.push_back((circuit, reason));
        state.wake();
        1
    }

    /// Drops what a circuit has queued.
    pub(crate) fn clear(&self, circuit: u32) {
        let mut state = locked(&self.state);
        if let Some(queue) = state.queues.remove(&circuit) {
            state.turns.retain(|other| *other != circuit);
            self.budget.give(queue.counted());
            drop(state);
            queue.waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// How many cells a circuit has queued.
    pub(crate) fn queued(&self, circuit: u32) -> usize {
        locked(&self.state).queues.get(&circuit).map_or(0, |queue| queue.cells.len())
    }

    /// Ready when the circuit's queue is short.
    pub(crate) fn poll_room(&self, circuit: u32, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = locked(&self.state);
        match state.queues.get_mut(&circuit) {
            Some(queue) if queue.cells.len() >= SHORT => {
                if !queue.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                    queue.waiting.push(cx.waker().clone());
                }
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Appends the next cells to `out`; whether there will be more. Pending while there are none. All that it has given before is gone.
    pub(super) fn poll_fill(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        let mut state = locked(&self.state);
        let state = &mut *state;
        self.batch_is_gone(state);
        if state.turns.is_empty() && state.ends.is_empty() {
            if state.closing {
                return Poll::Ready(false);
            }
            if !state.driver.as_ref().is_some_and(|driver| driver.will_wake(cx.waker())) {
                state.driver = Some(cx.waker().clone());
            }
            return Poll::Pending;
        }
        let (mut taken, before) = (0, out.len());
        while out.len() < BATCH {
            // The ends take turns with each of the queues.
            if let Some((circuit, reason)) = state.ends.pop_front() {
                Cell { circuit, message: Message::Destroy(reason) }.encode(out);
            } else if state.turns.is_empty() {
                break;
            }
            let Some(circuit) = state.turns.pop_front() else { continue };
            let Some(queue) = state.queues.get_mut(&circuit) else { continue };
            let Some(message) = queue.cells.pop_front() else { continue };
            taken += usize::from(!is_destroy(&message));
            Cell { circuit, message }.encode(out);
            if queue.cells.len() < SHORT {
                queue.waiting.drain(..).for_each(Waker::wake);
            }
            if queue.cells.is_empty() {
                state.queues.remove(&circuit);
            } else {
                state.turns.push_back(circuit);
            }
        }
        let room = state.ends.len().saturating_sub(1) / DESTROYS_A_CELL;
        self.budget.give(state.room - room);
        state.room = room;
        (state.under_way, state.batch) = (taken, (out.len() - before).div_ceil(CELL));
        if state.ends.is_empty() {
            state.ends.shrink_to(DESTROYS_A_CELL);
        }
        Poll::Ready(true)
    }

    /// The batch that [`Self::poll_fill`] has given is not gone, and if the link is slow, it hasn't been for some time. Ready when the link is to be
    /// given up: somebody else gets its room, or there is none for all of the batch.
    pub(super) fn poll_stuck(&self, is_slow: bool, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = locked(&self.state);
        while state.under_way < state.batch && self.budget.take().is_ok() {
            state.under_way += 1;
        }
        (state.stuck, state.is_slow) = (Some(cx.waker().clone()), is_slow);
        let has_room = !is_slow || state.under_way >= state.batch;
        if has_room && !state.given_up { Poll::Pending } else { Poll::Ready(()) }
    }

    /// The batch that [`Self::poll_fill`] has given is gone, or nobody sends it any more.
    pub(super) fn gone(&self) {
        self.batch_is_gone(&mut locked(&self.state));
    }

    fn batch_is_gone(&self, state: &mut State) {
        self.budget.give(std::mem::take(&mut state.under_way));
        (state.batch, state.stuck, state.is_slow) = (0, None, false);
    }

    /// How many cells the link keeps that its other side should have taken long since.
    pub(crate) fn overdue(&self) -> usize {
        let state = locked(&self.state);
        if state.is_slow { state.under_way } else { 0 }
    }

    /// How many cells the link keeps that its other side does not take at this moment.
    pub(crate) fn stuck(&self) -> usize {
        let state = locked(&self.state);
        state.stuck.as_ref().map_or(0, |_| state.under_way)
    }

    /// Gives up the link with all that waits on it. The room is free at once.
    pub(crate) fn give_up(&self) {
        let mut state = locked(&self.state);
        let stuck = state.stuck.take();
        self.drop_all(&mut state);
        state.given_up = true;
        state.close();
        stuck.into_iter().for_each(Waker::wake);
    }

    /// Gives back most of what more queues than there are now have needed. To be called now and then.
    pub(crate) fn tidy(&self) {
        let mut state = locked(&self.state);
        let used = state.queues.len();
        if state.queues.capacity() > FEW.max(4 * used) {
            state.queues.shrink_to(2 * used);
            state.turns.shrink_to(2 * used);
        }
    }

    /// Takes nothing more; the driver ends when all is sent.
    pub(crate) fn close(&self) {
        locked(&self.state).close();
    }

    /// Whether no more is taken, so that what waits is worth little patience.
    pub(super) fn is_closing(&self) -> bool {
        locked(&self.state).closing
    }

    fn drop_all(&self, state: &mut State) {
        let all: usize = state.queues.values().map(Queue::counted).sum();
        self.budget.give(all + state.room);
        self.batch_is_gone(state);
        state.room = 0;
        state.ends = VecDeque::new();
        state.turns.clear();
        state.queues.drain().flat_map(|(_, queue)| queue.waiting).for_each(Waker::wake);
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        let state = locked(&self.state);
        state.turns.is_empty() && state.ends.is_empty()
    }
}

impl State {
    fn close(&mut self) {
        self.closing = true;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.drop_all(&mut locked(&self.state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_onion::cell::{DestroyReason, PAYLOAD};

    fn destroy() -> Message {
        Message::Destroy(DestroyReason::NONE)
    }

    fn relay() -> Message {
        Message::Relay(Box::new([0; PAYLOAD]))
    }

    fn circuits(out: &[u8]) -> Vec<u8> {
        out.chunks(514).map(|cell| cell[3]).collect()
    }

    #[test]
    fn circuits_take_turns() {
        let outbox = Outbox::new(Budget::new(100), 10);
        for circuit in [1, 1, 1, 2, 3] {
            outbox.push(circuit, relay()).unwrap();
        }
        let mut out = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(outbox.poll_fill(&mut cx, &mut out), Poll::Ready(true));
        assert_eq!(circuits(&out), [1, 2, 3, 1, 1]);
        assert_eq!(outbox.poll_fill(&mut cx, &mut out), Poll::Pending);
        outbox.close();
        assert_eq!(outbox.poll_fill(&mut cx, &mut out), Poll::Ready(false));
    }

    #[test]
    fn a_circuit_and_all_together_have_their_bounds() {
        let budget = Budget::new(8);
        let outbox = Outbox::new(Arc::clone(&budget), 10);
        (1..=9).for_each(|length| assert_eq!(outbox.push(1, relay()), Ok(length)));
        assert_eq!(outbox.push(2, relay()), Err(Full), "all together, and the reserve");
        assert_eq!(outbox.push(1, destroy()), Ok(10), "behind its cells, an end always finds room");
        assert_eq!(outbox.push(1, destroy()), Ok(10), "and is told once");
        assert_eq!(outbox.push(3, destroy()), Ok(1), "a link's first ends are free");
        assert_eq!(budget.used(), 9);
        outbox.clear(1);
        assert_eq!(outbox.push(2, relay()), Ok(1));
        drop(outbox);
        assert_eq!(budget.used(), 0);

        let outbox = Outbox::new(Budget::new(2 * MOST), 10);
        (1..=MOST).for_each(|length| assert_eq!(outbox.push(1, relay()), Ok(length)));
        assert_eq!(outbox.push(1, relay()), Err(Full), "the circuit's own");
        assert_eq!(outbox.push(2, relay()), Ok(1));
    }

    #[test]
    fn a_circuit_with_data_waits_until_the_queue_is_short() {
        let outbox = Outbox::new(Budget::new(1000), 10);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..SHORT {
            assert_eq!(outbox.poll_room(1, &mut cx), Poll::Ready(()));
            outbox.push(1, relay()).unwrap();
        }
        assert_eq!(outbox.poll_room(1, &mut cx), Poll::Pending);
        assert_eq!(outbox.poll_room(2, &mut cx), Poll::Ready(()), "another circuit");
        let _ = outbox.poll_fill(&mut cx, &mut Vec::new());
        assert_eq!(outbox.poll_room(1, &mut cx), Poll::Ready(()));
    }

    #[test]
    fn a_neighbour_that_lets_too_many_destroys_pile_up_loses_its_link() {
        let budget = Budget::new(100);
        let outbox = Outbox::new(Arc::clone(&budget), 10);
        outbox.push(5000, relay()).unwrap();
        for circuit in 0..1034 {
            outbox.push(circuit, destroy()).unwrap();
        }
        assert_eq!(budget.used(), 1 + 1033 / DESTROYS_A_CELL);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(!outbox.is_closing() && !outbox.is_empty());
        outbox.push(2000, destroy()).unwrap();
        assert!(outbox.is_closing() && outbox.is_empty());
        assert_eq!(outbox.poll_fill(&mut cx, &mut Vec::new()), Poll::Ready(false));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_batch_keeps_its_room_until_it_is_gone_and_ends_in_it_have_some_if_it_stays() {
        let budget = Budget::new(100);
        let outbox = Outbox::new(Arc::clone(&budget), 10);
        let mut cx = Context::from_waker(Waker::noop());
        let mut fill = |outbox: &Outbox| outbox.poll_fill(&mut cx, &mut Vec::new());
        (1..=10).for_each(|length| assert_eq!(outbox.push(1, relay()), Ok(length)));
        (2..=6).for_each(|circuit| assert_eq!(outbox.push(circuit, destroy()), Ok(1)));
        assert_eq!((fill(&outbox), outbox.is_empty(), budget.used()), (Poll::Ready(true), true, 10));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!((outbox.poll_stuck(false, &mut cx), budget.used()), (Poll::Pending, 15));
        assert_eq!(outbox.overdue(), 0, "nobody has waited for it");
        assert_eq!((outbox.poll_stuck(true, &mut cx), budget.used(), outbox.overdue()), (Poll::Pending, 15, 15));
        assert_eq!(
            (outbox.poll_fill(&mut cx, &mut Vec::new()), budget.used(), outbox.overdue()),
            (Poll::Pending, 0, 0)
        );

        // A link that is given up gives all of its room back at once, and its driver hears of it.
        (1..=130).for_each(|circuit| drop(outbox.push(circuit % 2, relay())));
        assert_eq!(budget.used(), 112, "what there is, and the reserve");
        outbox.clear(0);
        assert_eq!(outbox.poll_fill(&mut cx, &mut Vec::new()), Poll::Ready(true));
        assert_eq!((outbox.poll_stuck(true, &mut cx), outbox.overdue()), (Poll::Pending, 56));
        outbox.push(7, relay()).unwrap();
        outbox.give_up();
        assert_eq!(
            (outbox.poll_stuck(true, &mut cx), budget.used(), outbox.push(8, relay())),
            (Poll::Ready(()), 0, Ok(0))
        );

        // One that finds no room for the ends of its batch is given up, too, and takes none from others.
        let other = Outbox::new(Arc::clone(&budget), 10);
        (1..=112).for_each(|_| drop(other.push(1, relay())));
        let full = Outbox::new(Arc::clone(&budget), 10);
        full.push(3, destroy()).unwrap();
        assert_eq!(full.poll_fill(&mut cx, &mut Vec::new()), Poll::Ready(true));
        assert_eq!((full.poll_stuck(false, &mut cx), budget.used()), (Poll::Pending, 112), "it may go in a moment");
        assert_eq!((full.poll_stuck(true, &mut cx), budget.used()), (Poll::Ready(()), 112));
        drop((other, full, outbox));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_burst_of_circuits_leaves_no_large_tables() {
        let outbox = Outbox::new(Budget::new(10_000), 10_000);
        let mut cx = Context::from_waker(Waker::noop());
        let capacities = || {
            let state = locked(&outbox.state);
            (state.queues.capacity(), state.turns.capacity())
        };
        (1..=5000).for_each(|circuit| drop(outbox.push(circuit, relay())));
        outbox.tidy();
        assert!(capacities().0 >= 5000, "they are all in use");
        while outbox.poll_fill(&mut cx, &mut Vec::new()) == Poll::Ready(true) {}
        (1..=20).for_each(|circuit| drop(outbox.push(circuit, relay())));
        outbox.tidy();
        assert!(capacities().0 <= FEW && capacities().1 <= FEW, "{:?}", capacities());
        let mut out = Vec::new();
        assert_eq!(outbox.poll_fill(&mut cx, &mut out), Poll::Ready(true));
        assert!(circuits(&out).into_iter().eq(1..=20));
    }

    #[test]
    fn ends_take_turns_with_cells_and_give_their_room_back() {
        let budget = Budget::new(100);
        let outbox = Outbox::new(Arc::clone(&budget), 1000);
        for circuit in 100..200 {
            outbox.push(circuit, destroy()).unwrap();
        }
        outbox.push(1, relay()).unwrap();
        outbox.push(2, relay()).unwrap();
        assert_eq!(budget.used(), 3);
        let mut out = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(outbox.poll_fill(&mut cx, &mut out), Poll::Ready(true));
        assert_eq!(circuits(&out)[..5], [100, 1, 101, 2, 102]);
        while outbox.poll_fill(&mut cx, &mut Vec::new()) == Poll::Ready(true) {}
        assert!(outbox.is_empty());
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn an_end_that_finds_no_room_in_the_budget_closes_the_link() {
        let budget = Budget::new(1);
        let full = Outbox::new(Arc::clone(&budget), 10);
        full.push(1, relay()).unwrap();
        let other = Outbox::new(Arc::clone(&budget), 10);
        for circuit in 0..64 {
            other.push(circuit, destroy()).unwrap();
        }
        assert!(!other.is_empty(), "so many are free");
        other.push(64, destroy()).unwrap();
        assert_eq!(other.poll_fill(&mut Context::from_waker(Waker::noop()), &mut Vec::new()), Poll::Ready(false));
        assert!(!full.is_empty(), "others keep theirs");
    }
}
