//! A circuit at a relay: the state machine of `onion`, and the doing of what it wants done.

use super::creation::CircuitPermit;
use super::extension::Linking;
use super::links::RelayLink;
use super::payer::{Asker, Payer};
use super::pool::Work;
use super::{Shared, creation, directory, exit};
use crate::clock;
use crate::link::{Came, Full, Recent, Room, SHORT, locked};
use crate::stream::{Carrier, Ends, Read};
use candor_onion::cell::{CELL, Cell, DestroyReason, Message};
use candor_onion::circuit::{RelayAction, RelayCircuit, StreamId, UpgradeJob};
use candor_onion::relay::message::{EndReason, Resolve, Resolved};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::io::ReadBuf;

/// A circuit as its two links know it.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) circuit: Arc<Circuit>,
    /// Whether this link is the one that the circuit came over.
    pub(super) from_client: bool,
}

pub(super) struct Circuit {
    pub(super) relay: Arc<Shared>,
    /// The link that it came over, and its number there.
    pub(super) previous: Arc<RelayLink>,
    number: u32,
    inner: Mutex<Inner>,
}

pub(super) struct Inner {
    /// Until the circuit is closed.
    permit: Option<CircuitPermit>,
    pub(super) machine: RelayCircuit,
    pub(super) next: Option<(Arc<RelayLink>, u32)>,
    /// The extension that waits for its link.
    pub(super) linking: Option<Linking>,
    /// How many extensions have waited for a link.
    pub(super) extensions: u64,
    streams: Ends,
    /// An upgrade's work that the pool does not have yet.
    upgrade: Option<UpgradeJob>,
    /// Room for a fragmented message until its last cell comes.
    unfinished: Room,
    /// Cells of this circuit were lost for want of room. Nothing that follows them could be read, so only its end is sent.
    overflowed: bool,
    pub(super) last_cell: Instant,
}

/// What cells that come at once have in common.
pub(super) struct Batch {
    recent: Recent<Slot>,
    /// When they came, once one was for a circuit.
    now: Option<Instant>,
}

/// When the cells came. The first that is for a circuit is a use of the link; padding is none.
fn used(came: &mut Option<Instant>, link: &RelayLink) -> Instant {
    *came.get_or_insert_with(|| {
        link.place.used();
        clock::instant()
    })
}

impl Batch {
    pub(super) fn new() -> Self {
        Self { recent: Recent::none(), now: None }
    }

    /// Takes what came over a link.
    pub(super) fn take(&mut self, relay: &Arc<Shared>, link: &Arc<RelayLink>, came: Came) {
        let Came::Cell(Cell { circuit: number, message }, last) = came else { return *self = Self::new() };
        match message {
            Message::Create2(_) | Message::Create2v(_) => {
                self.recent.forget();
                creation::create(relay, link, number, message, last);
            }
            Message::Relay(_) | Message::RelayEarly(_) | Message::Created2(_) | Message::Created2v(_) => {
                relay.cells.fetch_add(1, Ordering::Relaxed);
                if let Some(slot) = link.circuit_of(number, &mut self.recent) {
                    slot.receive(link, number, message, used(&mut self.now, link));
                }
            }
            Message::Destroy(_) => {
                self.recent.forget();
                if let Some(slot) = link.circuit(number) {
                    slot.receive(link, number, message, used(&mut self.now, link));
                    link.forget(number);
                    link.outbox.clear(number);
                }
            }
            _ => {}
        }
    }
}

impl Slot {
    fn receive(&self, link: &Arc<RelayLink>, number: u32, message: Message, now: Instant) {
        self.circuit.with(|inner| {
            if self.from_client {
                inner.last_cell = now;
                inner.machine.receive_from_client(message, now);
            } else if inner.is_next(link, Some(number)) {
                inner.last_cell = now;
                inner.machine.receive_from_next(message);
            }
        });
    }

    /// The link is gone.
    pub(super) fn link_closed(&self, link: &Arc<RelayLink>) {
        self.circuit.with(|inner| {
            if self.from_client {
                inner.machine.client_link_closed();
            } else if inner.is_next(link, None) {
                inner.next = None;
                inner.machine.next_failed(DestroyReason::CHANNEL_CLOSED);
            }
        });
    }
}

impl Inner {
    /// Whether the circuit goes on over that link, by that number if it is known. It may have gone on elsewhere while somebody on another
    /// thread was bringing news from there.
    fn is_next(&self, link: &Arc<RelayLink>, number: Option<u32>) -> bool {
        let is_it =
            |(next, its): &(Arc<RelayLink>, u32)| Arc::ptr_eq(next, link) && number.is_none_or(|number| number == *its);
        self.next.as_ref().is_some_and(is_it)
    }
}

impl Circuit {
    /// A circuit that came over `previous` by that number.
    pub(super) fn new(
        relay: &Arc<Shared>,
        previous: &Arc<RelayLink>,
        number: u32,
        machine: RelayCircuit,
        permit: CircuitPermit,
    ) -> Self {
        let streams = Ends::new(Arc::clone(&relay.budget));
        Self {
            relay: Arc::clone(relay),
            previous: Arc::clone(previous),
            number,
            inner: Mutex::new(Inner {
                permit: Some(permit),
                machine,
                next: None,
                linking: None,
                extensions: 0,
                streams,
                upgrade: None,
                unfinished: Room::new(Arc::clone(&relay.budget)),
                overflowed: false,
                last_cell: clock::instant(),
            }),
        }
    }

    /// Lets `work` change the circuit, and does what it then wants done.
    pub(super) fn with<T>(self: &Arc<Self>, work: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = locked(&self.inner);
        let result = work(&mut inner);
        let needed = inner.machine.unfinished().div_ceil(CELL);
        if inner.unfinished.set(needed).is_err() {
            self.lose(&mut inner);
        }
        self.act(&mut inner);
        let upgrade = inner.upgrade.take();
        // The pool may end another circuit, or this one.
        drop(inner);
        if let Some(job) = upgrade {
            creation::submit(&self.relay, Work::Upgrade(job), self, false);
        }
        result
    }

    /// Who pays for what it holds.
    pub(super) fn payer(self: &Arc<Self>) -> Payer {
        Payer::of(&self.previous, Arc::as_ptr(self).addr())
    }

    /// Who has asked for it: a network of strangers, or the link that it came over.
    pub(super) fn asker(&self) -> Asker {
        Asker::of(&self.previous)
    }

    pub(super) fn last_cell(&self) -> Instant {
        locked(&self.inner).last_cell
    }

    pub(super) fn is_closed(&self) -> bool {
        locked(&self.inner).machine.is_closed()
    }

    /// Closes the circuit if it has no stream and has carried nothing since `since`.
    pub(super) fn expire(self: &Arc<Self>, since: Instant) {
        self.with(|inner| {
            if inner.streams.is_empty() && inner.last_cell < since {
                inner.machine.close(DestroyReason::FINISHED);
            }
        });
    }

    /// Whether streams are open, or a cell has passed since `since`.
    pub(super) fn is_busy(&self, since: Instant) -> bool {
        let inner = locked(&self.inner);
        !inner.streams.is_empty() || inner.last_cell > since
    }

    fn act(self: &Arc<Self>, inner: &mut Inner) {
        while let Some(action) = inner.machine.poll() {
            match action {
                RelayAction::ToClient(Message::Relay(_))
                | RelayAction::ToNext(Message::Relay(_) | Message::RelayEarly(_))
                    if inner.overflowed => {}
                RelayAction::ToClient(message) => match self.made(inner, message) {
                    Ok(queued) => inner.machine.set_blocked(queued >= SHORT),
                    Err(Full) => self.lose(inner),
                },
                RelayAction::ToNext(message) => {
                    let Some((link, number)) = &inner.next else { continue };
                    if link.outbox.push(*number, message).is_err() {
                        self.lose(inner);
                    }
                }
                RelayAction::Extend(next) => self.extend(inner, &next),
                RelayAction::NextGone => inner.next_gone(),
                RelayAction::Begin { stream, target } => {
                    self.begin(inner, stream, |relay, circuit| exit::begin(relay, circuit, stream, target));
                }
                RelayAction::BeginDirectory { stream } => {
                    self.begin(inner, stream, |relay, circuit| directory::begin(relay, circuit, stream));
                }
                RelayAction::Resolve { stream, question } => self.resolve(inner, stream, question),
                RelayAction::Data { stream, bytes } => match inner.streams.data(stream, bytes) {
                    Ok(nobodys) => inner.machine.consumed(stream, nobodys),
                    Err(Full) => self.lose(inner),
                },
                RelayAction::Ended { stream, reason } => inner.streams.over(stream, reason),
                RelayAction::Writable { stream } => inner.streams.writable(stream),
                RelayAction::Upgrade(job) => inner.upgrade = Some(job),
                RelayAction::Closed => {
                    inner.permit = None;
                    self.previous.forget(self.number);
                    inner.streams.clear();
                    let _ = inner.unfinished.set(0);
                }
                _ => {}
            }
        }
    }

    fn begin(
        self: &Arc<Self>,
        inner: &mut Inner,
        stream: StreamId,
        begin: impl FnOnce(&Arc<Shared>, &Arc<Self>) -> Result<(), EndReason>,
    ) {
        // The number of a stream that has ended and is still being written on can't be used again yet.
        let begun = match inner.streams.open(stream) {
            true => begin(&self.relay, self).inspect_err(|_| {
                inner.streams.forget(stream);
            }),
            false => Err(EndReason::RESOURCELIMIT),
        };
        if let Err(reason) = begun {
            let _ = inner.machine.end_stream(stream, reason);
        }
    }

    fn resolve(self: &Arc<Self>, inner: &mut Inner, stream: StreamId, question: Resolve) {
        let begun = match inner.streams.open(stream) {
            true => exit::resolve(&self.relay, self, stream, question).inspect_err(|_| {
                inner.streams.forget(stream);
            }),
            false => Err(Resolved::Failed { transient: true }),
        };
        if let Err(refusal) = begun {
            let _ = inner.machine.resolved(stream, &refusal);
        }
    }

    /// Queues a cell towards the client, and counts it if it is from here.
    fn made(&self, inner: &Inner, message: Message) -> Result<usize, Full> {
        if inner.next.is_none() && matches!(message, Message::Relay(_)) {
            self.relay.cells.fetch_add(1, Ordering::Relaxed);
        }
        self.send_back(message)
    }

    /// Queues a cell towards the client. What waits in front of a DESTROY is of no use to anybody, unless the relay ends in good order.
    fn send_back(&self, message: Message) -> Result<usize, Full> {
        if let Message::Destroy(reason) = message
            && ![DestroyReason::HIBERNATING, DestroyReason::FINISHED].contains(&reason)
        {
            self.previous.outbox.clear(self.number);
        }
        self.previous.outbox.push(self.number, message)
    }

    /// Cells of the circuit are lost for want of room: it ends.
    fn lose(&self, inner: &mut Inner) {
        inner.overflowed = true;
        if let Some((link, number)) = &inner.next {
            link.outbox.clear(*number);
        }
        inner.machine.close(DestroyReason::RESOURCELIMIT);
    }

    /// Ends the circuit for want of room, with all that it holds.
    pub(super) fn overflow(self: &Arc<Self>) {
        self.with(|inner| self.lose(inner));
    }

    /// Cells that it has queued, and cells' worth of unfinished messages and of what its streams have not written on.
    pub(super) fn held(&self) -> usize {
        let inner = locked(&self.inner);
        let next = inner.next.as_ref().map_or(0, |(link, number)| link.outbox.queued(*number));
        self.previous.outbox.queued(self.number) + next + inner.streams.held() + inner.unfinished.cells()
    }
}

/// The circuit as its exit's streams hold it.
pub(super) struct CircuitEnd(pub(super) Arc<Circuit>);

impl CircuitEnd {
    /// How many bytes of the stream the machine takes, at least one; it is asked once the link's queue is short.
    fn poll_room(
        &self,
        stream: StreamId,
        cx: &mut Context<'_>,
        takes: impl FnOnce(&mut RelayCircuit) -> Result<usize, candor_onion::Error>,
    ) -> Poll<io::Result<usize>> {
        ready!(self.0.previous.outbox.poll_room(self.0.number, cx));
        self.0.with(|inner| match takes(&mut inner.machine) {
            Ok(0) => {
                inner.streams.wait_writable(stream, cx);
                Poll::Pending
            }
            Ok(length) => Poll::Ready(Ok(length)),
            Err(_) => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        })
    }
}

impl Carrier for CircuitEnd {
    fn poll_receive(&self, stream: StreamId, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.0.with(|inner| match inner.streams.read(stream, cx, buffer) {
            Read::Bytes(length) => {
                inner.machine.consumed(stream, length);
                Poll::Ready(Ok(()))
            }
            Read::Wait => Poll::Pending,
            Read::Over(_) => Poll::Ready(Ok(())),
            Read::Gone => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
        })
    }

    fn poll_send(&self, stream: StreamId, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_room(stream, cx, |machine| machine.send(stream, bytes, clock::instant()))
    }

    fn poll_sendable(&self, stream: StreamId, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll_room(stream, cx, |machine| machine.sendable(stream))
    }

    fn poll_gone(&self, stream: StreamId, cx: &mut Context<'_>) -> Poll<()> {
        locked(&self.0.inner).streams.poll_gone(stream, cx)
    }

    fn end(&self, stream: StreamId, reason: EndReason) {
        self.0.with(|inner| {
            let unread = inner.streams.forget(stream);
            // It may have been ended from the other side.
            let _ = inner.machine.end_stream(stream, reason);
            inner.machine.consumed(stream, unread);
        });
    }
}
