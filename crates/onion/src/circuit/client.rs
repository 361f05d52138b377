//! The client's end of a circuit.

mod upgrade;

use super::conversation::{self, Conversation, End, News};
use super::extensions::{Agreed, Request, Response};
use super::stream::StreamId;
use super::{Cause, Failure, Limits, RELAY_EARLY_CELLS};
use crate::cell::payload::Create2;
use crate::cell::{Command, DestroyReason, Message, RelayPayload};
use crate::handshake::{Chain, Client, Established, Handshake};
use crate::layer::{ClientLayer, Crypto, Onion};
use crate::relay::RelayCommand;
use crate::relay::message::{Begin, Connected, EndReason, Extend2, NextRelay, Resolve, Resolved};
use crate::{Error, PeerMisbehaved};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// What to ask of a hop in its handshake. `ntor` can't carry a request and always leads to tor1 without fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopOptions {
    /// Cryptography of the layer.
    pub crypto: Crypto,
    /// Whether the hop must accept EXTEND2 in fragments. It is needed if the onionskin for the next hop does not fit a
    /// cell. Only our relays know it; others refuse the handshake.
    pub fragments: bool,
    /// Whether to ask the hop to agree to an [upgrade](ClientCircuit::upgrade). A hop that does not know it passes the question over.
    pub upgrade: bool,
}

impl Default for HopOptions {
    /// CGO with fragments, and no upgrade.
    fn default() -> Self {
        Self { crypto: Crypto::Cgo, fragments: true, upgrade: false }
    }
}

/// An action for the caller, or news for the application.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientAction {
    /// Send this message on the circuit's link.
    Send(Message),
    /// A hop was added.
    Extended {
        /// Number of hops now.
        hop: usize,
    },
    /// The stream is open.
    Connected {
        /// Stream that is open.
        stream: StreamId,
        /// Address that the exit connected to, if it reveals it.
        connected: Connected,
    },
    /// A look-up was answered. Its stream is over.
    Resolved {
        /// Stream that stood for it.
        stream: StreamId,
        /// The answer.
        answer: Resolved,
    },
    /// Bytes arrived. Report them by [`ClientCircuit::consumed`] when they are used up, or the stream will stop.
    Data {
        /// Stream that the bytes belong to.
        stream: StreamId,
        /// The bytes; never empty.
        bytes: Vec<u8>,
    },
    /// The other end ended the stream.
    Ended {
        /// Stream that has ended.
        stream: StreamId,
        /// Reason that the other end gave.
        reason: EndReason,
    },
    /// [`ClientCircuit::send`] accepted less than it was given, and would now accept more.
    Writable {
        /// Stream that can send again.
        stream: StreamId,
    },
    /// The hop has answered a [probe](ClientCircuit::probe).
    Answered {
        /// Hop that answered, counted from 1.
        hop: usize,
    },
    /// The last hop's layer has new keys, in both directions: the [upgrade](ClientCircuit::upgrade) is done.
    Upgraded {
        /// Hop, counted from 1.
        hop: usize,
    },
    /// The circuit and all its streams are closed. No action follows.
    Closed(Failure),
}

/// Hops of most circuits: what there is room for at first.
const HOPS: usize = 3;

/// The client's end of a circuit. See [the module](super).
pub struct ClientCircuit {
    limits: Arc<Limits>,
    wide_link: bool,
    onion: Onion,
    hops: Vec<Conversation>,
    pending: Option<Pending>,
    /// That of the last hop.
    upgrade: upgrade::State,
    /// Streams that stand for probes, each with the hop's index.
    probes: Vec<(usize, StreamId)>,
    early_left: u8,
    /// What [`Self::carried`] says.
    carried: u64,
    blocked: bool,
    closed: bool,
    actions: VecDeque<ClientAction>,
}

/// The last step of a handshake, with its type erased.
type Finish = Box<dyn FnOnce(&[u8]) -> Result<Established, Error> + Send>;

/// A hop whose handshake is under way.
struct Pending {
    finish: Finish,
    request: Request,
    carries_messages: bool,
    deadline: Instant,
}

impl ClientCircuit {
    /// A circuit without hops. `wide_link` says whether the link to the first hop accepts CREATE2V
    /// ([`Link::is_wide`](crate::link::Link::is_wide)).
    pub fn new(limits: impl Into<Arc<Limits>>, wide_link: bool) -> Self {
        Self {
            limits: limits.into(),
            wide_link,
            onion: Onion::with_room(HOPS),
            hops: Vec::with_capacity(HOPS),
            pending: None,
            upgrade: upgrade::State::None,
            probes: Vec::new(),
            early_left: RELAY_EARLY_CELLS,
            carried: 0,
            blocked: false,
            closed: false,
            actions: VecDeque::new(),
        }
    }

    /// Begins to add the first hop, over the link.
    ///
    /// # Errors
    /// [`Error::NotNow`] if there are hops already, or one is being added; [`Error::NoNumber`]; [`Error::TooLong`] if
    /// the onionskin needs a wide link; those of [`Handshake::start`]. An error leaves the circuit unchanged, but for [`Error::Randomness`] from a method of
    /// this type: that closes it.
    pub fn create<H>(
        &mut self,
        handshake: &H,
        relay: &H::RelayPublic,
        options: HopOptions,
        now: Instant,
    ) -> Result<(), Error>
    where
        H: Handshake,
        H::Client: Send + 'static,
    {
        if !self.hops.is_empty() {
            return Err(Error::NotNow("circuit has its first hop already"));
        }
        let (pending, create) = self.start(handshake, relay, options, now)?;
        let message = match create.fits_fixed() {
            true => Message::Create2(create),
            false if self.wide_link => Message::Create2v(create),
            false => {
                let (most, got) = (Create2::MOST_FIXED, create.onionskin().len());
                return Err(Error::TooLong { what: "onionskin for this link", most, got });
            }
        };
        self.pending = Some(pending);
        self.actions.push_back(ClientAction::Send(message));
        Ok(())
    }

    /// Asks the last hop to extend the circuit to the relay `next`.
    ///
    /// # Errors
    /// [`Error::NotNow`] if there is no hop yet, one is being added, an upgrade is under way, or eight extensions were made; [`Error::TooLong`]
    /// if the onionskin does not fit a cell and the last hop did not agree to fragments; otherwise those of
    /// [`Self::create`].
    pub fn extend<H>(
        &mut self,
        handshake: &H,
        relay: &H::RelayPublic,
        next: &NextRelay,
        options: HopOptions,
        now: Instant,
    ) -> Result<(), Error>
    where
        H: Handshake,
        H::Client: Send + 'static,
    {
        let last = self.hops.len().checked_sub(1).ok_or(Error::NotNow("circuit has no hop to extend from"))?;
        if self.early_left == 0 {
            return Err(Error::NotNow("circuit has used up its extensions"));
        }
        if self.upgrade.is_under_way() {
            return Err(Error::NotNow("an upgrade is under way"));
        }
        let (pending, create) = self.start(handshake, relay, options, now)?;
        let body = Extend2 { next: next.clone(), create }.encode();
        let sent = self.with_hop(last, |conversation, send| {
            conversation.long_message(RelayCommand::EXTEND2, &body, true, 1, send)
        });
        self.padded(sent)?;
        self.early_left -= 1;
        self.pending = Some(pending);
        Ok(())
    }

    fn start<H>(
        &self,
        handshake: &H,
        relay: &H::RelayPublic,
        options: HopOptions,
        now: Instant,
    ) -> Result<(Pending, Create2), Error>
    where
        H: Handshake,
        H::Client: Send + 'static,
    {
        self.check_open()?;
        if self.pending.is_some() {
            return Err(Error::NotNow("a hop is being added already"));
        }
        let kind = handshake.handshake_type().ok_or(Error::NoNumber)?.number();
        let (request, message) = match H::CARRIES_MESSAGES {
            true => {
                let HopOptions { crypto, fragments, upgrade } = options;
                let request = Request { crypto, fragments, upgrade };
                (request, request.encode())
            }
            false => (Request::NONE, Vec::new()),
        };
        let (client, onionskin) = handshake.start(relay, &message)?;
        let pending = Pending {
            finish: Box::new(move |reply| client.finish(reply)),
            request,
            carries_messages: H::CARRIES_MESSAGES,
            deadline: now + self.limits.build,
        };
        Ok((pending, Create2::new(kind, onionskin)?))
    }

    /// Takes a message that arrived for this circuit. Messages after the circuit's end are dropped.
    pub fn receive(&mut self, message: Message, now: Instant) {
        if self.closed {
            return;
        }
        match message {
            Message::Relay(payload) => self.on_relay(payload, now),
            Message::Created2(created) | Message::Created2v(created) if self.hops.is_empty() => {
                self.on_reply(&created.into_reply());
            }
            Message::Destroy(reason) => {
                let hop = self.hops.len().min(1).max(usize::from(self.pending.is_some()));
                self.end(Some(hop), Cause::Destroyed(reason), None);
            }
            other => self.break_off(Some(1), PeerMisbehaved::CellFromRelay { command: other.command() }.into()),
        }
    }

    /// The next action, or `None` until something happens.
    pub fn poll(&mut self) -> Option<ClientAction> {
        self.actions.pop_front()
    }

    /// When [`Self::tick`] must be called next.
    pub fn deadline(&self) -> Option<Instant> {
        let fragments = self.hops.iter().filter_map(Conversation::deadline);
        let build = self.pending.as_ref().map(|pending| pending.deadline);
        fragments.chain(build).chain(self.upgrade.deadline()).min().filter(|_| !self.closed)
    }

    /// Closes the circuit if a hop has been silent for too long.
    pub fn tick(&mut self, now: Instant) {
        let late = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if self.closed {
            return;
        }
        if let Some(hop) = self.hops.iter().position(|hop| late(hop.deadline())) {
            self.end(Some(hop + 1), Cause::Timeout, Some(DestroyReason::TIMEOUT));
        } else if late(self.pending.as_ref().map(|pending| pending.deadline)) {
            self.end(Some(self.hops.len() + 1), Cause::Timeout, Some(DestroyReason::TIMEOUT));
        } else if late(self.upgrade.deadline()) {
            self.end(Some(self.hops.len()), Cause::Timeout, Some(DestroyReason::TIMEOUT));
        }
    }

    /// Reports whether cells are piling up on the circuit's link; congestion control reacts to it.
    pub fn set_blocked(&mut self, blocked: bool) {
        self.blocked = blocked;
    }

    /// Number of hops.
    pub fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Number of cells that have come from hops behind the first, but for those that build the circuit, open a stream, end it or answer a question. The
    /// layers prove whose they are: the first relay can hold such cells back and can't make them. So they tell one that carries streams
    /// from one that only builds circuits and opens streams.
    pub fn carried(&self) -> u64 {
        self.carried
    }

    /// Whether the circuit is closed. Actions may still be pending.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Window of the last hop: how many DATA cells may be in flight to it. 0 without a hop.
    pub fn window(&self) -> u32 {
        self.hops.last().map_or(0, Conversation::window)
    }

    /// Opens a stream at the last hop.
    ///
    /// # Errors
    /// [`Error::NotNow`] without a hop, with too many streams, or after the circuit's end.
    pub fn begin(&mut self, target: &Begin) -> Result<StreamId, Error> {
        self.with_last(|conversation, send| conversation.begin(target, send))
    }

    /// Asks the last hop to look something up: [`ClientAction::Resolved`] follows, or [`ClientAction::Ended`]. Until then the question counts
    /// as a stream, and [`end_stream`](Self::end_stream) gives it up.
    ///
    /// # Errors
    /// As for [`Self::begin`].
    pub fn resolve(&mut self, question: &Resolve) -> Result<StreamId, Error> {
        self.with_last(|conversation, send| conversation.resolve(question, send))
    }

    /// Sends as much of `data` as flow control allows, and returns how many bytes that was. If that is less than all,
    /// [`ClientAction::Writable`] follows when there is room again.
    ///
    /// # Errors
    /// [`Error::NoStream`]; [`Error::NotNow`] before the stream is connected, or after the circuit's end.
    pub fn send(&mut self, stream: StreamId, bytes: &[u8], now: Instant) -> Result<usize, Error> {
        self.with_last(|conversation, send| conversation.data(stream, bytes, now, send))
    }

    /// How many bytes [`Self::send`] takes at least. If none, [`ClientAction::Writable`] follows when there is room again.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    pub fn sendable(&mut self, stream: StreamId) -> Result<usize, Error> {
        self.with_last(|conversation, _| conversation.sendable(stream))
    }

    /// Reports that this many bytes of the stream have been used up or discarded, so that the other end may send more.
    /// Report every byte, also of streams that have ended: unread bytes hold the whole circuit back.
    pub fn consumed(&mut self, stream: StreamId, bytes: usize) {
        // Without a hop, or after the circuit's end, there is no stream to report on.
        let _ = self.with_last(|conversation, send| conversation.consumed(stream, bytes, send));
    }

    /// Ends a stream. No more bytes come from it.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::NotNow`].
    pub fn end_stream(&mut self, stream: StreamId, reason: EndReason) -> Result<(), Error> {
        self.with_last(|conversation, send| conversation.end(stream, reason, send))
    }

    /// Asks a hop, counted from 1, for a sign of life: [`ClientAction::Answered`] follows when it has come. That is how a client finds out
    /// where a circuit is stuck on which no hop closes anything. The question is BEGIN_DIR, which every relay answers; relays that are
    /// no directory by END.
    ///
    /// # Errors
    /// [`Error::NotNow`] if there is no such hop, it has too many streams, or the circuit has ended.
    pub fn probe(&mut self, hop: usize) -> Result<(), Error> {
        self.check_open()?;
        let index = hop.checked_sub(1).filter(|index| *index < self.hops.len());
        let index = index.ok_or(Error::NotNow("circuit has no such hop"))?;
        let begun = self.with_hop(index, |conversation, send| conversation.begin_directory(send));
        let stream = self.padded(begun)?;
        self.probes.push((index, stream));
        Ok(())
    }

    /// Whether the stream is one that stands for a probe of that hop. If so, it is forgotten.
    fn take_probe(&mut self, hop: usize, stream: StreamId) -> bool {
        let at = self.probes.iter().position(|probe| *probe == (hop, stream));
        at.map(|at| self.probes.swap_remove(at)).is_some()
    }

    /// Closes the circuit.
    pub fn close(&mut self) {
        if !self.closed {
            self.end(None, Cause::Closed, Some(DestroyReason::NONE));
        }
    }

    /// Closes the circuit because this end has no room for its cells.
    pub fn overflow(&mut self) {
        if !self.closed {
            self.end(None, Cause::Overflow, Some(DestroyReason::NONE));
        }
    }

    /// Closes the circuit because its link has closed.
    pub fn link_closed(&mut self) {
        if !self.closed {
            self.end(Some(1), Cause::LinkClosed, None);
        }
    }

    fn on_relay(&mut self, mut payload: RelayPayload, now: Instant) {
        let Some((hop, tag)) = self.onion.unwrap(Command::RELAY, &mut payload) else {
            return self.end(None, Cause::Unrecognized, Some(DestroyReason::PROTOCOL));
        };
        let blocked = self.blocked;
        let news =
            self.with_hop(hop, |conversation, send| conversation.receive(&payload, false, tag, blocked, now, send));
        let news = match news {
            Ok(news) => news,
            Err(error) => return self.break_off(Some(hop + 1), error),
        };
        // A part of a hop's answer to EXTEND2 or UPGRADE is no news yet.
        let is_asked = self.pending.is_some() || self.upgrade.is_under_way();
        let is_of_a_stream = matches!(news, News::None | News::Data(..) | News::Writable(_)) && !is_asked;
        self.carried += u64::from(hop > 0 && is_of_a_stream);
        let action = match news {
            News::None => return,
            News::Ended(stream, _) if self.take_probe(hop, stream) => ClientAction::Answered { hop: hop + 1 },
            News::Connected(stream, _) if self.take_probe(hop, stream) => {
                // It is a directory, and we wanted nothing of it.
                let ended = self.with_hop(hop, |conversation, send| conversation.end(stream, EndReason::DONE, send));
                if self.padded(ended).is_err() {
                    return;
                }
                ClientAction::Answered { hop: hop + 1 }
            }
            News::Connected(stream, connected) => ClientAction::Connected { stream, connected },
            News::Resolved(stream, answer) => ClientAction::Resolved { stream, answer },
            News::Data(stream, bytes) => ClientAction::Data { stream, bytes },
            News::Ended(stream, reason) => ClientAction::Ended { stream, reason },
            News::Writable(streams) => {
                self.actions.extend(streams.into_iter().map(|stream| ClientAction::Writable { stream }));
                return;
            }
            News::Extended2(reply) if hop + 1 == self.hops.len() => return self.on_reply(&reply),
            News::Upgraded(reply) if hop + 1 == self.hops.len() => return self.on_upgraded(&reply),
            News::Truncated(reason) => {
                return self.end(Some(hop + 2), Cause::Destroyed(reason), Some(DestroyReason::NONE));
            }
            _ => return self.break_off(Some(hop + 1), PeerMisbehaved::HopUnexpected { hop: hop + 1 }.into()),
        };
        self.actions.push_back(action);
    }

    /// Handles the reply of the hop that is being added.
    fn on_reply(&mut self, reply: &[u8]) {
        let hop = self.hops.len() + 1;
        let Some(pending) = self.pending.take() else {
            return self.break_off(Some(hop.max(2) - 1), PeerMisbehaved::ReplyUnexpected.into());
        };
        match self.add_hop(pending, reply) {
            Ok(()) => self.actions.push_back(ClientAction::Extended { hop }),
            Err(error) => self.end(Some(hop), Cause::Handshake(error), Some(DestroyReason::PROTOCOL)),
        }
    }

    fn add_hop(&mut self, pending: Pending, reply: &[u8]) -> Result<(), Error> {
        let Established { message, keys } = (pending.finish)(reply)?;
        let response = if pending.carries_messages { Response::decode(&message)? } else { Response::default() };
        let agreed = Agreed::new(pending.request, response)?;
        self.onion.push(ClientLayer::new(agreed.crypto, &keys)?);
        self.upgrade = match agreed.upgrade {
            true => upgrade::State::Agreed(Chain::new(&keys, agreed.crypto.name(), agreed.crypto.key_length())?),
            false => upgrade::State::None,
        };
        self.hops.push(Conversation::new(End::Client, agreed, Arc::clone(&self.limits)));
        Ok(())
    }

    /// Calls `work` with a hop's conversation and with a function that wraps cells for that hop and queues them.
    fn with_hop<T>(&mut self, hop: usize, work: impl FnOnce(&mut Conversation, conversation::Send<'_>) -> T) -> T {
        let (onion, actions) = (&mut self.onion, &mut self.actions);
        let mut send = |early: bool, mut payload: RelayPayload| {
            let command = if early { Command::RELAY_EARLY } else { Command::RELAY };
            let tag = onion.wrap(hop, command, &mut payload).expect("each hop has a layer");
            let message = if early { Message::RelayEarly(payload) } else { Message::Relay(payload) };
            actions.push_back(ClientAction::Send(message));
            tag
        };
        work(&mut self.hops[hop], &mut send)
    }

    fn with_last<T>(
        &mut self,
        work: impl FnOnce(&mut Conversation, conversation::Send<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_open()?;
        let last = self.hops.len().checked_sub(1).ok_or(Error::NotNow("circuit has no hop yet"))?;
        let done = self.with_hop(last, work);
        self.padded(done)
    }

    /// Closes the circuit if a cell could not be padded.
    fn padded<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        if let Err(error @ Error::Randomness) = done {
            self.break_off(None, error);
        }
        done
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed { Err(Error::NotNow("circuit is closed")) } else { Ok(()) }
    }

    fn break_off(&mut self, hop: Option<usize>, error: Error) {
        match error {
            Error::Randomness => self.end(None, Cause::Randomness, Some(DestroyReason::INTERNAL)),
            _ => self.end(hop, Cause::Protocol(error), Some(DestroyReason::PROTOCOL)),
        }
    }

    fn end(&mut self, hop: Option<usize>, cause: Cause, tell: Option<DestroyReason>) {
        self.closed = true;
        self.pending = None;
        self.upgrade = upgrade::State::None;
        if let Some(reason) = tell {
            self.actions.push_back(ClientAction::Send(Message::Destroy(reason)));
        }
        self.actions.push_back(ClientAction::Closed(Failure { hop, cause }));
    }
}

impl fmt::Debug for ClientCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCircuit")
            .field("hops", &self.hops.len())
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
