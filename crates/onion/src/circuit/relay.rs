//! The circuit at one of its relays.

use super::conversation::{self, Conversation, End, News};
use super::job::{Answer, HandshakeJob};
use super::stream::StreamId;
use super::{Limits, RELAY_EARLY_CELLS};
use crate::Error;
use crate::cell::payload::{Create2, Created2};
use crate::cell::{Command, DestroyReason, Message, RelayPayload};
use crate::layer::{RelayLayer, Tag};
use crate::relay::RelayCommand;
use crate::relay::message::{Begin, Connected, EndReason, NextRelay};
use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;

/// What a relay's circuit wants done, or has to tell.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayAction {
    /// Send this on the link that the circuit came over.
    ToClient(Message),
    /// Send this on the link to the next relay.
    ToNext(Message),
    /// Get a link to this relay, and a number on it, and say [`RelayCircuit::next_ready`] or [`RelayCircuit::next_failed`]. Whether
    /// it may be reached, and is not where the circuit came from, is for the caller to judge.
    Extend(NextRelay),
    /// Open a connection, and say [`RelayCircuit::connected`] or [`RelayCircuit::end_stream`]. Whether the policy allows it is
    /// for the caller to judge.
    Begin {
        /// The stream.
        stream: StreamId,
        /// Where to.
        target: Begin,
    },
    /// Bytes came from the client, perhaps before the connection is there. Say [`RelayCircuit::consumed`] when they are written.
    Data {
        /// The stream.
        stream: StreamId,
        /// Never empty.
        bytes: Vec<u8>,
    },
    /// The client has ended the stream.
    Ended {
        /// The stream.
        stream: StreamId,
        /// Why.
        reason: EndReason,
    },
    /// [`RelayCircuit::send`] took less than it was given, and would now take more.
    Writable {
        /// The stream.
        stream: StreamId,
    },
    /// The circuit goes no further than here any more: free its number on the link to the next relay, or, if that link was still being
    /// got, forget that it was asked for. The circuit may be extended anew.
    NextGone,
    /// The circuit is over, with all its streams: free its numbers. Nothing follows.
    Closed,
}

/// A circuit at a relay. See [the module](super).
pub struct RelayCircuit {
    limits: Limits,
    state: State,
    next: Next,
    early_left: u8,
    blocked: bool,
    /// How the creation came, and how long its body was.
    wide: Option<usize>,
    actions: VecDeque<RelayAction>,
}

enum State {
    /// The handshake is being done.
    Creating,
    Open(Box<Open>),
    Closed,
}

struct Open {
    layer: RelayLayer,
    conversation: Conversation,
}

/// What is behind this relay.
enum Next {
    None,
    /// The caller gets a link. What to send then, and in how many cells it was asked for.
    Linking(Create2, usize),
    /// The creation is on its way.
    Creating(usize),
    Open,
}

impl RelayCircuit {
    /// A circuit that CREATE2 makes. It is open once [`Self::answer`] has been given what the job comes to.
    pub fn create(create: Create2, limits: Limits) -> (Self, HandshakeJob) {
        Self::new(create, None, limits)
    }

    /// The same for CREATE2V; the answer is CREATED2V then, and no shorter than the creation.
    pub fn create_wide(create: Create2, limits: Limits) -> (Self, HandshakeJob) {
        let length = create.onionskin().len() + 4;
        Self::new(create, Some(length), limits)
    }

    fn new(create: Create2, wide: Option<usize>, limits: Limits) -> (Self, HandshakeJob) {
        let circuit = Self {
            limits,
            state: State::Creating,
            next: Next::None,
            early_left: RELAY_EARLY_CELLS,
            blocked: false,
            wide,
            actions: VecDeque::new(),
        };
        (circuit, HandshakeJob::new(create))
    }

    /// Takes what the handshake came to. An error destroys the circuit.
    pub fn answer(&mut self, answer: Result<Answer, Error>) {
        if !matches!(self.state, State::Creating) {
            return; // destroyed meanwhile
        }
        let made = answer.and_then(|Answer { reply, layer, agreed }| Ok((Created2::new(reply)?, layer, agreed)));
        let Ok((created, layer, agreed)) = made else { return self.close(DestroyReason::PROTOCOL) };
        let message = match self.wide {
            Some(length) => Message::Created2v(created.padded_to(length)),
            None if created.fits_fixed() => Message::Created2(created),
            None => return self.close(DestroyReason::PROTOCOL),
        };
        let conversation = Conversation::new(End::Relay, agreed, self.limits);
        self.state = State::Open(Box::new(Open { layer, conversation }));
        self.actions.push_back(RelayAction::ToClient(message));
    }

    /// Takes a message from the link that the circuit came over. After the circuit's end it is dropped.
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
                // The reason is the client's business: it is not passed on (tor-spec, "Tearing down circuits").
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
            (_, Next::None | Next::Linking(..)) => {} // late, for what was cut
        }
    }

    /// The next thing to do, or `None` until something happens.
    pub fn poll(&mut self) -> Option<RelayAction> {
        self.actions.pop_front()
    }

    /// When [`Self::tick`] is next due.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Open(open) => open.conversation.deadline(),
            _ => None,
        }
    }

    /// Ends the circuit if its client has left a fragmented message unfinished for too long.
    pub fn tick(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.close(DestroyReason::TIMEOUT);
        }
    }

    /// There is a link for [`RelayAction::Extend`]. `wide` says whether it takes CREATE2V.
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

    /// There is no link for [`RelayAction::Extend`], or there was one and it is gone. The client is told; the circuit up to
    /// here goes on.
    pub fn next_failed(&mut self, reason: DestroyReason) {
        if matches!(self.state, State::Open(_)) && !matches!(self.next, Next::None) {
            self.cut(reason);
        }
    }

    /// Tells whether cells pile up on the link towards the client.
    pub fn set_blocked(&mut self, blocked: bool) {
        self.blocked = blocked;
    }

    /// Whether the circuit is over. There may still be actions.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// The connection of a [`RelayAction::Begin`] is open.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`] if the client or somebody on the way has ended it meanwhile.
    pub fn connected(&mut self, stream: StreamId, connected: Connected) -> Result<(), Error> {
        self.with_client(|conversation, send| conversation.connected(stream, connected, send))
    }

    /// Sends as much towards the client as flow control allows, and says how many bytes that was. After less than all,
    /// [`RelayAction::Writable`] comes when there is room again.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`].
    pub fn send(&mut self, stream: StreamId, bytes: &[u8], now: Instant) -> Result<usize, Error> {
        self.with_client(|conversation, send| conversation.data(stream, bytes, now, send))
    }

    /// Says that this many bytes of the stream's have been written on or thrown away. Report every byte, also of a stream that has
    /// ended: what is unread holds the whole circuit back.
    pub fn consumed(&mut self, stream: StreamId, bytes: usize) {
        // A circuit that is not open has no stream either.
        let _ = self.with_client(|conversation, send| {
            conversation.consumed(stream, bytes, send);
            Ok(())
        });
    }

    /// Ends a stream, or refuses it.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`].
    pub fn end_stream(&mut self, stream: StreamId, reason: EndReason) -> Result<(), Error> {
        self.with_client(|conversation, send| conversation.end(stream, reason, send))
    }

    /// Ends the circuit in both directions.
    pub fn close(&mut self, reason: DestroyReason) {
        if self.is_closed() {
            return;
        }
        self.leave_next(reason);
        self.state = State::Closed;
        self.actions.push_back(RelayAction::ToClient(Message::Destroy(reason)));
        self.actions.push_back(RelayAction::Closed);
    }

    /// Ends the circuit because the link that it came over is gone.
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
                // Nobody's cell: it was changed on the way, or its client is wrong.
                _ => self.close(DestroyReason::PROTOCOL),
            }
            return;
        };
        let Open { layer, conversation } = &mut **open;
        let mut send = to_client(layer, &mut self.actions);
        let news = conversation.receive(&payload, early, tag, self.blocked, now, &mut send);
        drop(send);
        match news {
            Ok(news) => self.on_news(news),
            Err(_) => self.close(DestroyReason::PROTOCOL),
        }
    }

    fn on_news(&mut self, news: News) {
        let action = match news {
            News::None => return,
            News::Begin(stream, target) => RelayAction::Begin { stream, target },
            News::Data(stream, bytes) => RelayAction::Data { stream, bytes },
            News::Ended(stream, reason) => RelayAction::Ended { stream, reason },
            News::Writable(streams) => {
                self.actions.extend(streams.into_iter().map(|stream| RelayAction::Writable { stream }));
                return;
            }
            News::Extend2(extend, cells) => {
                if !matches!(self.next, Next::None) {
                    return self.close(DestroyReason::PROTOCOL);
                }
                self.next = Next::Linking(extend.create, cells);
                RelayAction::Extend(extend.next)
            }
            News::Truncate => {
                self.leave_next(DestroyReason::REQUESTED);
                return self.tell_truncated(DestroyReason::REQUESTED);
            }
            News::Connected(..) | News::Extended2(_) | News::Truncated(_) => {
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

    /// The circuit behind this relay is gone: tells the client.
    fn cut(&mut self, reason: DestroyReason) {
        if !matches!(std::mem::replace(&mut self.next, Next::None), Next::None | Next::Linking(..)) {
            self.actions.push_back(RelayAction::NextGone);
        }
        self.tell_truncated(reason);
    }

    fn tell_truncated(&mut self, reason: DestroyReason) {
        let told = self.with_client(|conversation, send| {
            conversation.truncated(reason, send);
            Ok(())
        });
        debug_assert!(told.is_ok(), "only open circuits are cut");
    }

    /// Destroys what is behind this relay.
    fn leave_next(&mut self, reason: DestroyReason) {
        let next = std::mem::replace(&mut self.next, Next::None);
        if matches!(next, Next::Creating(_) | Next::Open) {
            self.actions.push_back(RelayAction::ToNext(Message::Destroy(reason)));
        }
        if !matches!(next, Next::None) {
            self.actions.push_back(RelayAction::NextGone);
        }
    }

    fn with_client<T>(
        &mut self,
        work: impl FnOnce(&mut Conversation, conversation::Send<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let State::Open(open) = &mut self.state else { return Err(Error::NotNow("the circuit is not open")) };
        let Open { layer, conversation } = &mut **open;
        work(conversation, &mut to_client(layer, &mut self.actions))
    }
}

/// The way to the client: adding this relay's layer, and the queue.
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
