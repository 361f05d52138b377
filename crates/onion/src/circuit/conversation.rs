//! The messages, flow control and streams between a client and one hop. Both ends work alike, except that only the
//! client opens streams.

mod lookups;
mod sending;

use super::ended::Ended;
use super::padding;
use super::stream::{Outgoing, Stream, StreamId};
use super::{Agreed, Limits};
use crate::cell::{DestroyReason, PAYLOAD, RelayPayload};
use crate::flow::{self, Flow};
use crate::layer::Tag;
use crate::relay::message::{Begin, Connected, EndReason, Extend2, Resolve, Resolved, Sendme};
use crate::relay::{Format, Fragments, Header, MOST_BODY, RelayCommand, Whole};
use crate::relay::{cells_for, continuation_room, encode_fragment};
use crate::{Error, PeerMisbehaved};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Where the cells of a message go: it wraps a decrypted payload, as RELAY_EARLY or not, and queues it.
pub(super) type Send<'a> = &'a mut dyn FnMut(bool, RelayPayload) -> Tag;

/// The end of the circuit that this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Relay,
}

/// What a cell brought.
#[derive(Debug)]
pub(super) enum News {
    /// Nothing for the caller.
    None,
    Begin(StreamId, Begin),
    BeginDirectory(StreamId),
    Connected(StreamId, Connected),
    Resolve(StreamId, Resolve),
    Resolved(StreamId, Resolved),
    Data(StreamId, Vec<u8>),
    Ended(StreamId, EndReason),
    /// These streams had more to send, and now may send it.
    Writable(Vec<StreamId>),
    /// An extension, and the number of cells that EXTEND2 took.
    Extend2(Extend2, usize),
    /// The reply of the next hop's handshake.
    Extended2(Vec<u8>),
    Upgrade(Vec<u8>),
    Upgraded(Vec<u8>),
    Truncate,
    Truncated(DestroyReason),
}

#[derive(Debug)]
pub(super) struct Conversation {
    end: End,
    format: Format,
    fragments: Fragments,
    upgrade_agreed: bool,
    flow: Flow,
    /// Whether streams have windows (tor1). Otherwise XON and XOFF regulate them.
    stream_windows: bool,
    limits: Arc<Limits>,
    streams: BTreeMap<u16, Stream>,
    /// Bytes of all streams, ended ones included, that the caller has and has not reported as consumed.
    unread: usize,
    /// Streams that the client has ended; cells for them may still be in flight.
    ended: Ended,
    next_stream: u16,
}

impl Conversation {
    pub(super) fn new(end: End, agreed: Agreed, limits: Arc<Limits>) -> Self {
        let format = agreed.crypto.format();
        let flow = match agreed.sendme_increment {
            Some(increment) => Flow::vegas(increment, &limits.congestion),
            None => Flow::fixed(),
        };
        Self {
            end,
            format,
            fragments: Fragments::new(format, agreed.fragments).with_upgrades(agreed.upgrade),
            upgrade_agreed: agreed.upgrade,
            flow,
            stream_windows: agreed.sendme_increment.is_none(),
            limits,
            streams: BTreeMap::new(),
            unread: 0,
            ended: Ended::default(),
            next_stream: 1,
        }
    }

    /// Deadline of the unfinished message.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.fragments.waiting_since().map(|since| since + self.limits.fragments)
    }

    /// Bytes of memory that the unfinished message holds.
    pub(super) fn unfinished(&self) -> usize {
        self.fragments.held()
    }

    /// Most DATA cells that may be unacknowledged.
    pub(super) fn window(&self) -> u32 {
        self.flow.window()
    }

    /// Sends a message that fits one cell.
    ///
    /// # Errors
    /// [`Error::Randomness`], like all that send something here; the circuit must be closed.
    fn message(&mut self, command: RelayCommand, stream: u16, body: &[u8], send: Send<'_>) -> Result<(), Error> {
        let mut payload = Box::new([0; PAYLOAD]);
        let header = Header { command, stream, length: body.len() as u16 };
        let taken = self.format.encode(&mut payload, header, body);
        debug_assert_eq!(taken, body.len(), "callers send messages that fit");
        padding::fill(&mut payload, self.format.room(stream != 0) - taken)?;
        send(false, payload);
        Ok(())
    }

    /// Sends a message without a stream that may need several cells; the first is RELAY_EARLY if `early`. DROP cells
    /// follow until there are `at_least` cells.
    pub(super) fn long_message(
        &mut self,
        command: RelayCommand,
        body: &[u8],
        early: bool,
        at_least: usize,
        send: Send<'_>,
    ) -> Result<usize, Error> {
        let cells = cells_for(self.format, body.len());
        let most = if self.fragments.may_span(command) { MOST_BODY } else { self.format.room(false) };
        if body.len() > most {
            return Err(Error::TooLong { what: "message for this hop", most, got: body.len() });
        }
        let mut done = 0;
        for index in 0..cells {
            let mut payload = Box::new([0; PAYLOAD]);
            let before = done;
            done = encode_fragment(self.format, &mut payload, command, body, done);
            let room = if index == 0 { self.format.room(false) } else { continuation_room(self.format) };
            padding::fill(&mut payload, room - (done - before))?;
            send(early && index == 0, payload);
        }
        for _ in cells..at_least {
            self.message(RelayCommand::DROP, 0, &[], send)?;
        }
        Ok(cells)
    }

    /// Opens a stream: picks a free number and sends BEGIN.
    pub(super) fn begin(&mut self, target: &Begin, send: Send<'_>) -> Result<StreamId, Error> {
        self.open(RelayCommand::BEGIN, &target.encode(), send)
    }

    /// Opens a stream to the relay's own directory, if it has one.
    pub(super) fn begin_directory(&mut self, send: Send<'_>) -> Result<StreamId, Error> {
        self.open(RelayCommand::BEGIN_DIR, &[], send)
    }

    fn open(&mut self, command: RelayCommand, body: &[u8], send: Send<'_>) -> Result<StreamId, Error> {
        if self.streams.len() >= self.limits.streams {
            return Err(Error::NotNow("circuit has its maximum of streams"));
        }
        let free = |number: &u16| *number != 0 && !self.streams.contains_key(number) && !self.ended.contains(*number);
        let number = (0..=u16::MAX)
            .map(|step| self.next_stream.wrapping_add(step))
            .find(free)
            .ok_or(Error::NotNow("circuit has used up its stream numbers; build another"))?;
        self.next_stream = number.wrapping_add(1);
        self.streams.insert(number, Stream::new(self.stream_windows));
        self.message(command, number, body, send)?;
        Ok(StreamId(number))
    }

    /// Answers BEGIN.
    pub(super) fn connected(&mut self, id: StreamId, connected: Connected, send: Send<'_>) -> Result<(), Error> {
        let stream = self.streams.get_mut(&id.0).filter(|stream| !stream.is_lookup).ok_or(Error::NoStream(id.0))?;
        stream.connected = true;
        self.message(RelayCommand::CONNECTED, id.0, &connected.encode(), send)
    }

    /// Reports that the caller has used up or discarded this many bytes of the stream.
    pub(super) fn consumed(&mut self, id: StreamId, bytes: usize, send: Send<'_>) -> Result<(), Error> {
        self.unread = self.unread.saturating_sub(bytes);
        if let Some(stream) = self.streams.get_mut(&id.0) {
            stream.incoming.unread = stream.incoming.unread.saturating_sub(bytes);
            self.regulate(id.0, send)?;
        }
        self.acknowledge(send)
    }

    /// Sends the SENDMEs that are due, unless the caller has too much left to read.
    fn acknowledge(&mut self, send: Send<'_>) -> Result<(), Error> {
        while self.unread <= self.limits.circuit_unread
            && let Some(tag) = self.flow.next_sendme()
        {
            self.message(RelayCommand::SENDME, 0, &Sendme { tag }.encode(), send)?;
        }
        Ok(())
    }

    /// Ends a stream from here.
    pub(super) fn end(&mut self, id: StreamId, reason: EndReason, send: Send<'_>) -> Result<(), Error> {
        self.streams.remove(&id.0).ok_or(Error::NoStream(id.0))?;
        self.note_end(id);
        self.message(RelayCommand::END, id.0, &[reason.0], send)
    }

    /// A relay keeps no memory of streams that it has ended: a client can't make it remember any number of them.
    fn note_end(&mut self, id: StreamId) {
        if self.end == End::Client {
            self.ended.insert(id.0);
        }
    }

    /// Sends TRUNCATED, from a relay.
    pub(super) fn truncated(&mut self, reason: DestroyReason, send: Send<'_>) -> Result<(), Error> {
        self.message(RelayCommand::TRUNCATED, 0, &[reason.0], send)
    }

    /// Takes a recognised cell, decrypted.
    ///
    /// # Errors
    /// Whatever the other end did wrong, or [`Error::Randomness`]; the circuit must be closed.
    pub(super) fn receive(
        &mut self,
        payload: &[u8; PAYLOAD],
        early: bool,
        tag: Tag,
        blocked: bool,
        now: Instant,
        send: Send<'_>,
    ) -> Result<News, Error> {
        match self.fragments.receive(payload, early, now)? {
            Some(whole) => self.dispatch(&whole, tag, blocked, now, send),
            None => Ok(News::None),
        }
    }

    fn dispatch(
        &mut self,
        whole: &Whole<'_>,
        tag: Tag,
        blocked: bool,
        now: Instant,
        send: Send<'_>,
    ) -> Result<News, Error> {
        let body: &[u8] = &whole.body;
        let id = StreamId(whole.stream);
        match (whole.command, self.end) {
            (RelayCommand::DATA, _) => self.on_data(id, body, tag, send),
            (RelayCommand::SENDME, _) => self.on_sendme(id, body, blocked, now),
            (RelayCommand::XON | RelayCommand::XOFF, _) => self.on_switch(id, whole.command, body),
            (RelayCommand::END, _) => self.on_end(id, body),
            (RelayCommand::DROP, _) => Ok(News::None),
            (RelayCommand::BEGIN, End::Relay) => self.on_begin(id, body, send),
            (RelayCommand::RESOLVE, End::Relay) => self.on_resolve(id, body, send),
            (command @ RelayCommand::BEGIN_DIR, End::Relay) if id.0 == 0 => {
                Err(PeerMisbehaved::StreamMissing { command }.into())
            }
            (RelayCommand::BEGIN_DIR, End::Relay) if !self.limits.directory => {
                self.message(RelayCommand::END, id.0, &[EndReason::NOTDIRECTORY.0], send)?;
                Ok(News::None)
            }
            (RelayCommand::BEGIN_DIR, End::Relay) => self.on_begin_directory(id, send),
            (RelayCommand::RESOLVED, End::Client) => self.on_resolved(id, body),
            (RelayCommand::CONNECTED, End::Client) => self.on_connected(id, body),
            (RelayCommand::EXTEND2, End::Relay) if !whole.early => Err(PeerMisbehaved::ExtendNotEarly.into()),
            (RelayCommand::EXTEND2, End::Relay) => Ok(News::Extend2(Extend2::decode(body)?, whole.cells)),
            (RelayCommand::EXTENDED2, End::Client) => {
                Ok(News::Extended2(crate::cell::payload::Created2::decode(body)?.into_reply()))
            }
            (command @ (RelayCommand::UPGRADE | RelayCommand::UPGRADED), _) if id.0 != 0 => {
                Err(PeerMisbehaved::StreamUnexpected { command, stream: id.0 }.into())
            }
            (RelayCommand::UPGRADE, End::Relay) if self.upgrade_agreed => Ok(News::Upgrade(body.to_vec())),
            (RelayCommand::UPGRADED, _) if self.upgrade_agreed => Ok(News::Upgraded(body.to_vec())),
            (RelayCommand::TRUNCATE, End::Relay) => Ok(News::Truncate),
            (RelayCommand::TRUNCATED, End::Client) => {
                Ok(News::Truncated(DestroyReason(body.first().copied().unwrap_or(0))))
            }
            (command, _) if command.name().is_none() => Ok(News::None), // V0: unknown commands are ignored
            (command, _) => Err(PeerMisbehaved::MessageUnexpected { command }.into()),
        }
    }

    fn on_begin(&mut self, id: StreamId, body: &[u8], send: Send<'_>) -> Result<News, Error> {
        if id.0 == 0 {
            return Err(PeerMisbehaved::StreamMissing { command: RelayCommand::BEGIN }.into());
        }
        if self.streams.contains_key(&id.0) {
            return Err(PeerMisbehaved::StreamInUse { stream: id.0 }.into());
        }
        let refusal = match Begin::decode(body) {
            Ok(_) if self.streams.len() >= self.limits.streams => EndReason::RESOURCELIMIT,
            Ok(begin) => {
                self.streams.insert(id.0, Stream::new(self.stream_windows));
                return Ok(News::Begin(id, begin));
            }
            Err(_) => EndReason::TORPROTOCOL,
        };
        self.message(RelayCommand::END, id.0, &[refusal.0], send)?;
        Ok(News::None)
    }

    fn on_begin_directory(&mut self, id: StreamId, send: Send<'_>) -> Result<News, Error> {
        if self.streams.contains_key(&id.0) {
            return Err(PeerMisbehaved::StreamInUse { stream: id.0 }.into());
        }
        if self.streams.len() >= self.limits.streams {
            self.message(RelayCommand::END, id.0, &[EndReason::RESOURCELIMIT.0], send)?;
            return Ok(News::None);
        }
        self.streams.insert(id.0, Stream::new(self.stream_windows));
        Ok(News::BeginDirectory(id))
    }

    fn on_connected(&mut self, id: StreamId, body: &[u8]) -> Result<News, Error> {
        let Some(stream) = self.open_stream(id)? else { return Ok(News::None) };
        if stream.is_lookup {
            return Err(PeerMisbehaved::MessageUnexpected { command: RelayCommand::CONNECTED }.into());
        }
        if std::mem::replace(&mut stream.connected, true) {
            return Err(PeerMisbehaved::ConnectedRepeated { stream: id.0 }.into());
        }
        Ok(News::Connected(id, Connected::decode(body)?))
    }

    fn on_data(&mut self, id: StreamId, body: &[u8], tag: Tag, send: Send<'_>) -> Result<News, Error> {
        self.flow.received(tag)?;
        let (end, windows) = (self.end, self.stream_windows);
        let Some(stream) = self.open_stream(id)? else {
            self.acknowledge(send)?;
            return Ok(News::None);
        };
        if stream.is_lookup || (end == End::Client && !stream.connected) {
            return Err(PeerMisbehaved::DataEarly { stream: id.0 }.into());
        }
        stream.incoming.cells += 1;
        stream.incoming.unread += body.len();
        if windows && stream.incoming.cells > flow::STREAM_WINDOW {
            return Err(PeerMisbehaved::StreamWindow { stream: id.0, most: flow::STREAM_WINDOW }.into());
        }
        self.unread += body.len();
        self.regulate(id.0, send)?;
        self.acknowledge(send)?;
        Ok(if body.is_empty() { News::None } else { News::Data(id, body.to_vec()) })
    }

    /// Sends the flow control that is due for a stream: SENDME if the caller keeps up, XOFF if it does not, XON when it
    /// has caught up by half.
    fn regulate(&mut self, number: u16, send: Send<'_>) -> Result<(), Error> {
        // A circuit with much unread data stops each of its streams early.
        let most = if self.unread > self.limits.circuit_unread { self.limits.unread / 10 } else { self.limits.unread };
        let Some(stream) = self.streams.get_mut(&number) else { return Ok(()) };
        let incoming = &mut stream.incoming;
        let command = if self.stream_windows {
            let keeps_up = incoming.unread < (flow::STREAM_INCREMENT as usize) * self.format.most_data();
            if incoming.cells < flow::STREAM_INCREMENT || !keeps_up {
                return Ok(());
            }
            incoming.cells -= flow::STREAM_INCREMENT;
            RelayCommand::SENDME
        } else if !incoming.off && incoming.unread > most {
            incoming.off = true;
            RelayCommand::XOFF
        } else if incoming.off && incoming.unread <= most / 2 {
            incoming.off = false;
            RelayCommand::XON
        } else {
            return Ok(());
        };
        // XOFF: version 0. XON: version 0 and rate 0, which means unlimited. A stream's SENDME is empty.
        let body: &[u8] = match command {
            RelayCommand::XOFF => &[0],
            RelayCommand::XON => &[0; 5],
            _ => &[],
        };
        self.message(command, number, body, send)
    }

    fn on_sendme(&mut self, id: StreamId, body: &[u8], blocked: bool, now: Instant) -> Result<News, Error> {
        if id.0 == 0 {
            self.flow.acknowledged(Sendme::decode(body)?.tag, blocked, now, &self.limits.congestion)?;
            let wake = |(number, stream): (&u16, &mut Stream)| {
                let ready = stream.starved && stream.allowance() > 0;
                stream.starved &= !ready;
                ready.then_some(StreamId(*number))
            };
            return Ok(News::Writable(self.streams.iter_mut().filter_map(wake).collect()));
        }
        let Some(stream) = self.open_stream(id)? else { return Ok(News::None) };
        match &mut stream.outgoing {
            Outgoing::Window(cells) if *cells + flow::STREAM_INCREMENT <= flow::STREAM_WINDOW => {
                *cells += flow::STREAM_INCREMENT;
            }
            Outgoing::Window(_) => return Err(PeerMisbehaved::SendmeUnexpected { stream: id.0 }.into()),
            Outgoing::Switched { .. } => {
                return Err(PeerMisbehaved::FlowControl { command: RelayCommand::SENDME, stream: id.0 }.into());
            }
        }
        Ok(self.wake(id))
    }

    fn on_switch(&mut self, id: StreamId, command: RelayCommand, body: &[u8]) -> Result<News, Error> {
        if body.first() != Some(&0) {
            return Err(PeerMisbehaved::SwitchVersion { command }.into());
        }
        let Some(stream) = self.open_stream(id)? else { return Ok(News::None) };
        let Outgoing::Switched { off } = &mut stream.outgoing else {
            return Err(PeerMisbehaved::FlowControl { command, stream: id.0 }.into());
        };
        *off = command == RelayCommand::XOFF;
        Ok(self.wake(id))
    }

    fn on_end(&mut self, id: StreamId, body: &[u8]) -> Result<News, Error> {
        if self.open_stream(id)?.is_none() {
            return Ok(News::None);
        }
        self.streams.remove(&id.0);
        Ok(News::Ended(id, EndReason(body.first().copied().unwrap_or(EndReason::MISC.0))))
    }

    /// News that a stream may send again, if it is waiting for that.
    fn wake(&mut self, id: StreamId) -> News {
        let circuit = self.flow.allowance();
        match self.streams.get_mut(&id.0) {
            Some(stream) if stream.starved && stream.allowance() > 0 && circuit > 0 => {
                stream.starved = false;
                News::Writable(vec![id])
            }
            _ => News::None,
        }
    }

    /// The stream that a message names; `None` if this end has ended it. A relay takes every unknown stream but 0 for one of those.
    fn open_stream(&mut self, id: StreamId) -> Result<Option<&mut Stream>, Error> {
        match self.streams.get_mut(&id.0) {
            Some(stream) => Ok(Some(stream)),
            None if id.0 != 0 && (self.end == End::Relay || self.ended.contains(id.0)) => Ok(None),
            None => Err(PeerMisbehaved::StreamUnknown { stream: id.0 }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::padding::UNPREDICTABLE;
    use crate::layer::Crypto;

    pub(super) fn conversation(end: End, crypto: Crypto) -> Conversation {
        let sendme_increment = (crypto == Crypto::Cgo).then_some(31);
        let agreed = Agreed { crypto, fragments: true, sendme_increment, upgrade: false };
        Conversation::new(end, agreed, Arc::default())
    }

    pub(super) fn tag() -> Tag {
        Tag::from_bytes(&[0; 20]).unwrap()
    }

    /// What an end of a circuit answers to a message.
    pub(super) fn answer(
        relay: &mut Conversation,
        command: RelayCommand,
        stream: u16,
        body: &[u8],
    ) -> Result<Vec<RelayPayload>, Error> {
        let mut payload = [0; PAYLOAD];
        relay.format.encode(&mut payload, Header { command, stream, length: body.len() as u16 }, body);
        let mut sent = Vec::new();
        let mut send = |_, payload| {
            sent.push(payload);
            tag()
        };
        relay.receive(&payload, false, tag(), false, Instant::now(), &mut send)?;
        Ok(sent)
    }

    #[test]
    fn nobody_can_guess_a_cell_that_a_sendme_acknowledges() {
        for (crypto, increment) in [(Crypto::Tor1, 100), (Crypto::Cgo, 31)] {
            let cells = || {
                let mut relay = conversation(End::Relay, crypto);
                relay.streams.insert(1, Stream { connected: true, ..Stream::new(relay.stream_windows) });
                let (mut sent, most) = (Vec::new(), relay.format.most_data());
                let mut send = |_, payload: RelayPayload| {
                    sent.push(payload);
                    tag()
                };
                let length = 115 * most;
                assert_eq!(relay.data(StreamId(1), &vec![7; length], Instant::now(), &mut send), Ok(length));
                // The last cell has the bytes that others had no room for, and is mostly padding.
                assert_eq!(sent.len(), 116, "{crypto:?}");
                sent.pop();
                sent
            };
            let (one, other) = (cells(), cells());
            for (index, (one, other)) in one.iter().zip(&other).enumerate() {
                let acknowledged = (index + 1) % increment == 0;
                assert_eq!(one != other, acknowledged, "{crypto:?}: cell {index}");
                let random = |cell: &RelayPayload| cell[PAYLOAD - 16..].to_vec();
                assert_eq!(random(one) != random(other), acknowledged, "{crypto:?}: cell {index}");
            }
        }
    }

    #[test]
    fn messages_of_any_length_are_padded_and_read_as_they_were() {
        for crypto in [Crypto::Tor1, Crypto::Cgo] {
            for length in [0, 1, 400, 480, 490, 498, 900, 1473, 4096] {
                let (mut relay, body) = (conversation(End::Relay, crypto), vec![9; length]);
                let mut sent = Vec::new();
                let mut send = |_, payload| {
                    sent.push(payload);
                    tag()
                };
                relay.long_message(RelayCommand::EXTENDED2, &body, false, 0, &mut send).unwrap();
                let mut fragments = Fragments::new(relay.format, true);
                let whole = sent.iter().find_map(|cell| {
                    let whole = fragments.receive(cell, false, Instant::now()).unwrap();
                    whole.map(|whole| whole.body.into_owned())
                });
                assert_eq!(whole.as_ref(), Some(&body), "{crypto:?} {length}");
                let last = sent.last().unwrap();
                let unused = cells_for(relay.format, length + UNPREDICTABLE) == sent.len();
                assert!(
                    !unused || last[PAYLOAD - 16..] != [0; 16] && last[PAYLOAD - 16..] != [9; 16],
                    "{crypto:?} {length}"
                );
            }
        }
    }

    #[test]
    fn a_relay_remembers_no_streams_that_have_ended_and_a_client_does() {
        let mut relay = conversation(End::Relay, Crypto::Tor1);
        for stream in 1..=u16::MAX {
            let refused = answer(&mut relay, RelayCommand::BEGIN, stream, b"no port\0").unwrap();
            assert_eq!(refused.len(), 1);
        }
        assert_eq!(format!("{:?}", relay.ended), "Ended(0)");
        assert_eq!(answer(&mut relay, RelayCommand::DATA, 7, b"late"), Ok(Vec::new()));
        let none = PeerMisbehaved::StreamUnknown { stream: 0 };
        assert_eq!(answer(&mut relay, RelayCommand::DATA, 0, b"no stream"), Err(none.into()));
        let mut client = conversation(End::Client, Crypto::Tor1);
        let unknown = PeerMisbehaved::StreamUnknown { stream: 7 };
        assert_eq!(answer(&mut client, RelayCommand::DATA, 7, b"early"), Err(unknown.into()));
        client.ended.insert(7);
        assert_eq!(answer(&mut client, RelayCommand::DATA, 7, b"late"), Ok(Vec::new()));
    }

    #[test]
    fn a_relay_refuses_directories_as_the_specification_has_it() {
        for crypto in [Crypto::Tor1, Crypto::Cgo] {
            let mut relay = conversation(End::Relay, crypto);
            let format = relay.format;
            let sent = answer(&mut relay, RelayCommand::BEGIN_DIR, 3, b"").unwrap();
            let (header, found) = format.decode(&sent[0]).unwrap();
            let refused = (1, RelayCommand::END, 3, &[EndReason::NOTDIRECTORY.0][..]);
            assert_eq!((sent.len(), header.command, header.stream, found), refused);
            // In V1 a message of such a kind always has a stream.
            if format == Format::V0 {
                assert!(answer(&mut relay, RelayCommand::BEGIN_DIR, 0, b"").is_err(), "without a stream");
            }
        }
    }
}
