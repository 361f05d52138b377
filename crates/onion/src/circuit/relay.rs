//! A relay's end of a circuit.

mod upgrade;

pub use upgrade::UpgradeJob;

use super::conversation::{self, Conversation, End, News};
use super::job::{Answer, HandshakeJob};
use super::stream::StreamId;
use super::{Limits, RELAY_EARLY_CELLS};
use crate::Error;
use crate::cell::payload::{Create2, Created2};
use crate::cell::{Command, DestroyReason, Message, RelayPayload};
use crate::layer::{RelayLayer, Tag};
use crate::relay::RelayCommand;
use crate::relay::message::{Begin, Connected, EndReason, NextRelay, Resolve, Resolved};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// An action for the relay, or news for it.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayAction {
    /// Send this message on the link that the circuit came over.
    ToClient(Message),
    /// Send this message on the link to the next relay.
    ToNext(Message),
    /// Get a link to this relay and a circuit number on it, then call [`RelayCircuit::next_ready`] or
    /// [`RelayCircuit::next_failed`]. The caller decides whether the relay may be reached, and that it is not the one
    /// the circuit came from.
    Extend(NextRelay),
    /// Open a connection, then call [`RelayCircuit::connected`] or [`RelayCircuit::end_stream`]. The caller decides
    /// whether the policy allows it.
    Begin {
        /// Stream to connect.
        stream: StreamId,
        /// Target of the connection.
        target: Begin,
    },
    /// Open a stream to the relay's own directory, then call [`RelayCircuit::connected`] or [`RelayCircuit::end_stream`]. Only if
    /// [`Limits::directory`] says that there is one.
    BeginDirectory {
        /// Stream to connect.
        stream: StreamId,
    },
    /// Look something up, then call [`RelayCircuit::resolved`]. The caller decides what it tells whom.
    Resolve {
        /// Stream that stands for the question.
        stream: StreamId,
        /// The question.
        question: Resolve,
    },
    /// Bytes arrived from the client, perhaps before the connection is open. Report them by [`RelayCircuit::consumed`]
    /// when they are written.
    Data {
        /// Stream that the bytes belong to.
        stream: StreamId,
        /// The bytes; never empty.
        bytes: Vec<u8>,
    },
    /// The client ended the stream.
    Ended {
        /// Stream that has ended.
        stream: StreamId,
        /// Reason that the client gave.
        reason: EndReason,
    },
    /// [`RelayCircuit::send`] accepted less than it was given, and would now accept more.
    Writable {
        /// Stream that can send again.
        stream: StreamId,
    },
    /// Do this job, on another thread perhaps, and report its result by [`RelayCircuit::upgrade`]. A circuit has at most one, and only if
    /// [`Limits::upgrade`] allows it.
    Upgrade(UpgradeJob),
    /// The circuit now ends at this relay: free its number on the link to the next relay, or, if that link was still
    /// being made, forget the request. The circuit may be extended again.
    NextGone,
    /// The circuit and all its streams are closed: free its numbers. No action follows.
    Closed,
}

/// A relay's end of a circuit. See [the module](super).
pub struct RelayCircuit {
    limits: Arc<Limits>,
    state: State,
    next: Next,
    early_left: u8,
    blocked: bool,
    /// Form of the creation, and the length of its body.
    wide: Option<usize>,
    actions: VecDeque<RelayAction>,
}

enum State {
    /// The handshake is under way.
    Creating,
    Open(Box<Open>),
    Closed,
}

struct Open {
    layer: RelayLayer,
    conversation: Conversation,
    upgrade: upgrade::State,
}

/// What follows this relay on the path.
enum Next {
    None,
    /// The circuit went on from here until it was cut. Cells for what was behind may still be coming.
    Cut,
    /// The caller is making a link. Holds what to send then, and the number of cells that EXTEND2 took.
    Linking(Create2, usize),
    /// The creation has been sent.
    Creating(usize),
    Open,
}

impl RelayCircuit {
    /// A circuit created by CREATE2. It opens once [`Self::answer`] gets the result of the job.
    pub fn create(create: Create2, limits: impl Into<Arc<Limits>>) -> (Self, HandshakeJob) {
        Self::new(create, None, limits.into())
    }

    /// A circuit created by CREATE2V. The answer is CREATED2V, and no shorter than the creation.
    pub fn create_wide(create: Create2, limits: impl Into<Arc<Limits>>) -> (Self, HandshakeJob) {
        let length = create.onionskin().len() + 4;
        Self::new(create, Some(length), limits.into())
    }

    fn new(create: Create2, wide: Option<usize>, limits: Arc<Limits>) -> (Self, HandshakeJob) {
        let upgrade = limits.upgrade;
        let circuit = Self {
            limits,
            state: State::Creating,
            next: Next::None,
            early_left: RELAY_EARLY_CELLS,
            blocked: false,
            wide,
            actions: VecDeque::new(),
        };
        (circuit, HandshakeJob::new(create, upgrade))
    }

    /// Takes the result of the handshake. An error destroys the circuit.
    pub fn answer(&mut self, answer: Result<Answer, Error>) {
        if !matches!(self.state, State::Creating) {
            return; // destroyed in the meantime
        }
        let made =
            answer.and_then(|answer| Ok((Created2::new(answer.reply)?, answer.layer, answer.agreed, answer.chain)));
        let Ok((created, layer, agreed, chain)) = made else { return self.close(DestroyReason::PROTOCOL) };
        let message = match self.wide {
            Some(length) => Message::Created2v(created.padded_to(length)),
            None if created.fits_fixed() => Message::Created2(created),
            None => return self.close(DestroyReason::PROTOCOL),
        };
        let conversation = Conversation::new(End::Relay, agreed, Arc::clone(&self.limits));
        let upgrade = chain.map_or(upgrade::State::None, upgrade::State::Agreed);
        self.state = State::Open(Box::new(Open { layer, conversation, upgrade }));
        self.actions.push_back(RelayAction::ToClient(message));
    }

    /// Takes a message from the link that the circuit came over. Messages after the circuit's end are dropped.
    pub fn receive_from_client(&mut self, message: Message, now: Instant) {
        match message {
            Message::Relay(payload) => self.on_outbound(Command::RELAY, payload, now),
            Message::RelayEarly(payload) => match self.early_left.checked_sub(1) {
                Some(left) => {
                    self.early_left = left;
                    self.on_outbound(Command::RELAY_EARLY, payload, now);
                }
                None => self.close(DestroyReason::PROTOCOL),
            },
            Message::Destroy(_) if !self.is_closed() => {
                // The client's reason is not passed on (tor-spec, "Tearing down circuits").
                self.leave_next(DestroyReason::DESTROYED);
                self.state = State::Closed;
                self.actions.push_back(RelayAction::Closed);
            }
            Message::Destroy(_) => {}
            _ => self.close(DestroyReason::PROTOCOL),
        }
    }

    /// Takes a message from the link to the next relay.
    pub fn receive_from_next(&mut self, message: Message) {
        let State::Open(open) = &mut self.state else { return };
        match (message, &self.next) {
            (Message::Relay(mut payload), Next::Open) => {
                open.layer.inbound(Command::RELAY, &mut payload);
                self.actions.push_back(RelayAction::ToClient(Message::Relay(payload)));
            }
            (Message::Created2(created) | Message::Created2v(created), Next::Creating(cells)) => {
                let cells = *cells;
                self.next = Next::Open;
                self.on_created(&created, cells);
            }
            (Message::Destroy(reason), Next::Creating(_) | Next::Open) => self.cut(reason),
            (_, Next::Creating(_) | Next::Open) => {
                self.actions.push_back(RelayAction::ToNext(Message::Destroy(DestroyReason::PROTOCOL)));
                self.cut(DestroyReason::PROTOCOL);
            }
            (_, Next::None | Next::Cut | Next::Linking(..)) => {} // late, for a part that was cut off
        }
    }

    /// The next action, or `None` until something happens.
    pub fn poll(&mut self) -> Option<RelayAction> {
        self.actions.pop_front()
    }

    /// When [`Self::tick`] must be called next.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Open(open) => open.conversation.deadline(),
            _ => None,
        }
    }

    /// Number of bytes of memory that a fragmented message holds until its last cell comes.
    pub fn unfinished(&self) -> usize {
        match &self.state {
            State::Open(open) => open.conversation.unfinished(),
            _ => 0,
        }
    }

    /// Closes the circuit if its client has left a fragmented message unfinished for too long.
    pub fn tick(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.close(DestroyReason::TIMEOUT);
        }
    }

    /// Reports that there is a link for [`RelayAction::Extend`]. `wide` says whether it accepts CREATE2V.
    pub fn next_ready(&mut self, wide: bool) {
        let Next::Linking(create, cells) = std::mem::replace(&mut self.next, Next::None) else { return };
        let message = match create.fits_fixed() {
            true => Message::Create2(create),
            false if wide => Message::Create2v(create),
            false => return self.cut(DestroyReason::CONNECTFAILED),
        };
        self.next = Next::Creating(cells);
        self.actions.push_back(RelayAction::ToNext(message));
    }

    /// Reports that there is no link for [`RelayAction::Extend`], or that it has closed. The client is told; the
    /// circuit up to this relay stays open.
    pub fn next_failed(&mut self, reason: DestroyReason) {
        if matches!(self.state, State::Open(_)) && !matches!(self.next, Next::None | Next::Cut) {
            self.cut(reason);
        }
    }

    /// Reports whether cells are piling up on the link towards the client.
    pub fn set_blocked(&mut self, blocked: bool) {
        self.blocked = blocked;
    }

    /// Whether the circuit is closed. Actions may still be pending.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Window towards the client: how many DATA cells may be in flight. 0 unless the circuit is open.
    pub fn window(&self) -> u32 {
        match &self.state {
            State::Open(open) => open.conversation.window(),
            _ => 0,
        }
    }

    /// Reports that the connection of a [`RelayAction::Begin`] or a [`RelayAction::BeginDirectory`] is open.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`] if the stream or the circuit has ended in the meantime.
    pub fn connected(&mut self, stream: StreamId, connected: Connected) -> Result<(), Error> {
        self.with_client(|conversation, send| conversation.connected(stream, connected, send))
    }

    /// Answers a [`RelayAction::Resolve`].
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`] if the client or the circuit has given up in the meantime.
    pub fn resolved(&mut self, stream: StreamId, answer: &Resolved) -> Result<(), Error> {
        self.with_client(|conversation, send| conversation.resolved(stream, answer, send))
    }

    /// Sends as much of `data` towards the client as flow control allows, and returns how many bytes that was. If that
    /// is less than all, [`RelayAction::Writable`] follows when there is room again.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`].
    pub fn send(&mut self, stream: StreamId, bytes: &[u8], now: Instant) -> Result<usize, Error> {
        self.with_client(|conversation, send| conversation.data(stream, bytes, now, send))
    }

    /// How many bytes [`Self::send`] takes at least. If none, [`RelayAction::Writable`] follows when there is room again.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    pub fn sendable(&mut self, stream: StreamId) -> Result<usize, Error> {
        self.with_client(|conversation, _| conversation.sendable(stream))
    }

    /// Reports that this many bytes of the stream have been written or discarded. Report every byte, also of streams
    /// that have ended: unread bytes hold the whole circuit back.
    pub fn consumed(&mut self, stream: StreamId, bytes: usize) {
        // A circuit that is not open has no streams.
        let _ = self.with_client(|conversation, send| conversation.consumed(stream, bytes, send));
    }

    /// Ends or refuses a stream.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`].
    pub fn end_stream(&mut self, stream: StreamId, reason: EndReason) -> Result<(), Error> {
        self.with_client(|conversation, send| conversation.end(stream, reason, send))
    }

    /// Closes the circuit in both directions.
    pub fn close(&mut self, reason: DestroyReason) {
        if self.is_closed() {
            return;
        }
        self.leave_next(reason);
        self.state = State::Closed;
        self.actions.push_back(RelayAction::ToClient(Message::Destroy(reason)));
        self.actions.push_back(RelayAction::Closed);
    }

    /// Closes the circuit because the link that it came over has closed.
    pub fn client_link_closed(&mut self) {
        if !self.is_closed() {
            self.leave_next(DestroyReason::CHANNEL_CLOSED);
            self.state = State::Closed;
            self.actions.push_back(RelayAction::Closed);
        }
    }

    fn on_outbound(&mut self, command: Command, mut payload: RelayPayload, now: Instant) {
        let open = match &mut self.state {
            State::Open(open) => open,
            State::Creating => return self.close(DestroyReason::PROTOCOL),
            State::Closed => return,
        };
        let early = command == Command::RELAY_EARLY;
        let Some(tag) = open.layer.outbound(command, &mut payload) else {
            let message = if early { Message::RelayEarly(payload) } else { Message::Relay(payload) };
            match self.next {
                Next::Open => self.actions.push_back(RelayAction::ToNext(message)),
                // Late: the client does not know yet. To close the circuit would blame this relay and hide the reason.
                Next::Cut => {}
                // Nobody recognises the cell: it was changed on the way, or its client is faulty.
                _ => self.close(DestroyReason::PROTOCOL),
            }
            return;
        };
        let Open { layer, conversation, .. } = &mut **open;
        let mut send = to_client(layer, &mut self.actions);
        let news = conversation.receive(&payload, early, tag, self.blocked, now, &mut send);
        drop(send);
        match news {
            Ok(news) => self.on_news(news),
            Err(Error::Randomness) => self.close(DestroyReason::INTERNAL),
            Err(_) => self.close(DestroyReason::PROTOCOL),
        }
    }

    fn on_news(&mut self, news: News) {
        let action = match news {
            News::None => return,
            News::Begin(stream, target) => RelayAction::Begin { stream, target },
            News::BeginDirectory(stream) => RelayAction::BeginDirectory { stream },
            News::Resolve(stream, question) => RelayAction::Resolve { stream, question },
            News::Data(stream, bytes) => RelayAction::Data { stream, bytes },
            News::Ended(stream, reason) => RelayAction::Ended { stream, reason },
            News::Writable(streams) => {
                self.actions.extend(streams.into_iter().map(|stream| RelayAction::Writable { stream }));
                return;
            }
            News::Extend2(extend, cells) => {
                let is_upgrading = matches!(&self.state, State::Open(open) if open.upgrade.is_under_way());
                if !matches!(self.next, Next::None | Next::Cut) || is_upgrading {
                    return self.close(DestroyReason::PROTOCOL);
                }
                self.next = Next::Linking(extend.create, cells);
                RelayAction::Extend(extend.next)
            }
            News::Upgrade(request) => return self.on_upgrade(request),
            News::Upgraded(confirmation) => return self.on_upgraded(&confirmation),
            News::Truncate => {
                self.leave_next(DestroyReason::REQUESTED);
                return self.tell_truncated(DestroyReason::REQUESTED);
            }
            News::Connected(..) | News::Resolved(..) | News::Extended2(_) | News::Truncated(_) => {
                return self.close(DestroyReason::PROTOCOL);
            }
        };
        self.actions.push_back(action);
    }

    fn on_created(&mut self, created: &Created2, cells: usize) {
        let mut body = Vec::new();
        created.encode(&mut body);
        let sent = self.with_client(|conversation, send| {
            conversation.long_message(RelayCommand::EXTENDED2, &body, false, cells, send)
        });
        if sent.is_err() {
            self.leave_next(DestroyReason::PROTOCOL);
            self.tell_truncated(DestroyReason::PROTOCOL);
        }
    }

    /// Tells the client that the circuit now ends at this relay.
    fn cut(&mut self, reason: DestroyReason) {
        let was_open = matches!(self.next, Next::Open);
        let next = std::mem::replace(&mut self.next, if was_open { Next::Cut } else { Next::None });
        if matches!(next, Next::Creating(_) | Next::Open) {
            self.actions.push_back(RelayAction::NextGone);
        }
        self.tell_truncated(reason);
    }

    fn tell_truncated(&mut self, reason: DestroyReason) {
        let told = self.with_client(|conversation, send| conversation.truncated(reason, send));
        debug_assert!(told.is_ok() || self.is_closed(), "only open circuits are cut");
    }

    /// Destroys the circuit beyond this relay.
    fn leave_next(&mut self, reason: DestroyReason) {
        let next = std::mem::replace(&mut self.next, Next::None);
        if matches!(next, Next::Creating(_) | Next::Open) {
            self.actions.push_back(RelayAction::ToNext(Message::Destroy(reason)));
        }
        if !matches!(next, Next::None | Next::Cut) {
            self.actions.push_back(RelayAction::NextGone);
        }
    }

    fn with_client<T>(
        &mut self,
        work: impl FnOnce(&mut Conversation, conversation::Send<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let State::Open(open) = &mut self.state else { return Err(Error::NotNow("circuit is not open")) };
        let Open { layer, conversation, .. } = &mut **open;
        let done = work(conversation, &mut to_client(layer, &mut self.actions));
        if matches!(done, Err(Error::Randomness)) {
            self.close(DestroyReason::INTERNAL);
        }
        done
    }
}

/// Sends towards the client: adds this relay's layer and queues the cell.
fn to_client(layer: &mut RelayLayer, actions: &mut VecDeque<RelayAction>) -> impl FnMut(bool, RelayPayload) -> Tag {
    move |_early, mut payload| {
        let tag = layer.originate(Command::RELAY, &mut payload);
        actions.push_back(RelayAction::ToClient(Message::Relay(payload)));
        tag
    }
}

impl fmt::Debug for RelayCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayCircuit").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
