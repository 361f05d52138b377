//! Whose circuit is built next. Addresses take turns, so whoever asks for many circuits at once has its own others wait.

use crate::line::Line;
use crate::link::locked;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// For so many at a time.
pub(super) struct Turns {
    most: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    running: usize,
    /// Those that wait, in the order in which they came: for which address, or for nobody yet, and how they are told.
    waiting: Vec<(Option<IpAddr>, oneshot::Sender<Turn>)>,
    line: Line<Option<IpAddr>>,
}

/// A turn, until it is dropped.
pub(super) struct Turn(Arc<Turns>);

impl Turns {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, queue: Mutex::default() })
    }

    /// Waits for a turn for a client at that address. `None` can't be: nobody who waits is forgotten.
    pub(super) async fn take(self: &Arc<Self>, from: Option<IpAddr>) -> Option<Turn> {
        let (tell, told) = oneshot::channel();
        locked(&self.queue).waiting.push((from, tell));
        self.serve();
        told.await.ok()
    }

    fn serve(self: &Arc<Self>) {
        while let Some(tell) = self.next() {
            // Whoever has just left drops it, and so gives it back.
            let _ = tell.send(Turn(Arc::clone(self)));
        }
    }

    /// Whoever is next, if there is room; a turn of theirs is running from now on.
    fn next(&self) -> Option<oneshot::Sender<Turn>> {
        let mut queue = locked(&self.queue);
        let Queue { running, waiting, line } = &mut *queue;
        waiting.retain(|(_, tell)| !tell.is_closed());
        line.line_up(waiting.iter().map(|(from, _)| *from));
        if *running >= self.most {
            return None;
        }
        // The first of that address.
        let next = (0..waiting.len()).min_by_key(|index| line.place(waiting[*index].0))?;
        let (from, tell) = waiting.remove(next);
        line.go_last(from);
        *running += 1;
        Some(tell)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        locked(&self.0.queue).running -= 1;
        self.0.serve();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use tokio::task::{LocalSet, spawn_local, yield_now};

    fn from(number: u8) -> Option<IpAddr> {
        Some([192, 0, 2, number].into())
    }

    /// The order in which these are served, one at a time; those of address 0 leave before it is their turn.
    async fn served(most: usize, addresses: &[u8]) -> Vec<u8> {
        let turns = Turns::new(most);
        let mut first = Vec::new();
        for _ in 0..most {
            first.push(turns.take(from(1)).await.unwrap());
        }
        let order = std::rc::Rc::new(RefCell::new(Vec::new()));
        let tasks = LocalSet::new();
        let served = async {
            let mut all = Vec::new();
            for address in addresses {
                let (turns, order, address) = (Arc::clone(&turns), std::rc::Rc::clone(&order), *address);
                let task = spawn_local(async move {
                    let turn = turns.take(from(address)).await;
                    order.borrow_mut().push(address);
                    drop(turn);
                });
                yield_now().await;
                if address == 0 {
                    task.abort();
                    yield_now().await;
                } else {
                    all.push(task);
                }
            }
            assert!(order.borrow().is_empty(), "the others are not done");
            drop(first);
            for task in all {
                task.await.unwrap();
            }
        };
        tasks.run_until(served).await;
        let queue = locked(&turns.queue);
        assert_eq!((queue.running, queue.waiting.len()), (0, 0));
        order.take()
    }

    #[tokio::test]
    async fn addresses_take_turns_and_who_leaves_takes_none() {
        assert_eq!(served(1, &[1, 1, 1, 2, 1, 3, 2]).await, [1, 2, 3, 1, 2, 1, 1]);
        assert_eq!(served(1, &[0, 1, 0, 0, 1, 2]).await, [1, 2, 1]);
    }

    #[tokio::test]
    async fn there_are_so_many_at_a_time() {
        let turns = Turns::new(2);
        let held = [turns.take(None).await.unwrap(), turns.take(from(1)).await.unwrap()];
        assert!(turns.next().is_none());
        let waiting = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move { turns.take(from(2)).await.is_some() }
        });
        yield_now().await;
        let counts = || {
            let queue = locked(&turns.queue);
            (queue.running, queue.waiting.len())
        };
        assert_eq!(counts(), (2, 1));
        drop(held);
        assert!(waiting.await.unwrap());
        assert_eq!(counts(), (0, 0));
    }
}
