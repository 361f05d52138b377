//! Look-ups: RESOLVE takes the number of a stream until it is answered by RESOLVED, and carries nothing else.

use super::{Conversation, News, Send};
use crate::circuit::stream::{Stream, StreamId};
use crate::relay::RelayCommand;
use crate::relay::message::{Resolve, Resolved};
use crate::{Error, PeerMisbehaved};

impl Conversation {
    /// Asks for an address or a name: picks a free number and sends RESOLVE.
    pub(in crate::circuit) fn resolve(&mut self, question: &Resolve, send: Send<'_>) -> Result<StreamId, Error> {
        let id = self.open(RelayCommand::RESOLVE, &question.encode(), send)?;
        if let Some(stream) = self.streams.get_mut(&id.0) {
            stream.is_lookup = true;
        }
        Ok(id)
    }

    /// Answers RESOLVE, after which its number is free.
    pub(in crate::circuit) fn resolved(
        &mut self,
        id: StreamId,
        answer: &Resolved,
        send: Send<'_>,
    ) -> Result<(), Error> {
        self.streams.remove(&id.0).filter(|stream| stream.is_lookup).ok_or(Error::NoStream(id.0))?;
        self.message(RelayCommand::RESOLVED, id.0, &answer.encode(), send)
    }

    pub(super) fn on_resolve(&mut self, id: StreamId, body: &[u8], send: Send<'_>) -> Result<News, Error> {
        if id.0 == 0 {
            return Err(PeerMisbehaved::StreamMissing { command: RelayCommand::RESOLVE }.into());
        }
        if self.streams.contains_key(&id.0) {
            return Err(PeerMisbehaved::StreamInUse { stream: id.0 }.into());
        }
        let transient = match Resolve::decode(body) {
            Ok(_) if self.streams.len() >= self.limits.streams => true,
            Ok(question) => {
                self.streams.insert(id.0, Stream { is_lookup: true, ..Stream::new(self.stream_windows) });
                return Ok(News::Resolve(id, question));
            }
            Err(_) => false,
        };
        self.message(RelayCommand::RESOLVED, id.0, &Resolved::Failed { transient }.encode(), send)?;
        Ok(News::None)
    }

    pub(super) fn on_resolved(&mut self, id: StreamId, body: &[u8]) -> Result<News, Error> {
        let Some(stream) = self.open_stream(id)? else { return Ok(News::None) };
        if !stream.is_lookup {
            return Err(PeerMisbehaved::MessageUnexpected { command: RelayCommand::RESOLVED }.into());
        }
        let answer = Resolved::decode(body)?;
        self.streams.remove(&id.0);
        Ok(News::Resolved(id, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answer, conversation, tag};
    use super::super::{Conversation, End};
    use super::*;
    use crate::cell::{PAYLOAD, RelayPayload};
    use crate::layer::Crypto;
    use crate::relay::message::EndReason;
    use crate::relay::{Format, Header};
    use std::net::IpAddr;
    use std::time::Instant;

    const FORMATS: [Crypto; 2] = [Crypto::Tor1, Crypto::Cgo];

    fn deliver(to: &mut Conversation, payload: &RelayPayload) -> Result<News, Error> {
        to.receive(payload, false, tag(), false, Instant::now(), &mut |_, _| tag())
    }

    /// What the relay has of a client's question, and both ends.
    fn asked(crypto: Crypto, question: &Resolve) -> (Conversation, Conversation, StreamId) {
        let (mut client, mut relay) = (conversation(End::Client, crypto), conversation(End::Relay, crypto));
        let mut sent = Vec::new();
        let id = client.resolve(question, &mut |_, payload| {
            sent.push(payload);
            tag()
        });
        let id = id.unwrap();
        match deliver(&mut relay, &sent[0]).unwrap() {
            News::Resolve(stream, found) => assert_eq!((stream, &found), (id, question)),
            other => panic!("{other:?}"),
        }
        (client, relay, id)
    }

    #[test]
    fn a_question_is_answered_once_and_its_number_is_free_again() {
        let addresses: [IpAddr; 2] = [[192, 0, 2, 1].into(), [0x2001, 0xdb8, 0, 0, 0, 0, 0, 7].into()];
        for crypto in FORMATS {
            for (question, answer) in [
                (Resolve::name("example.org").unwrap(), Resolved::Addresses(addresses.to_vec())),
                (Resolve::name("example.org").unwrap(), Resolved::Addresses(vec![addresses[1]; Resolved::MOST])),
                (Resolve::name("nobody.example").unwrap(), Resolved::Failed { transient: false }),
                (Resolve::Pointer(addresses[0]), Resolved::Name("host.example.org".to_owned())),
                (Resolve::Pointer(addresses[1]), Resolved::Failed { transient: true }),
            ] {
                let (mut client, mut relay, id) = asked(crypto, &question);
                let mut sent = Vec::new();
                let mut send = |_, payload| {
                    sent.push(payload);
                    tag()
                };
                relay.resolved(id, &answer, &mut send).unwrap();
                assert_eq!(relay.resolved(id, &answer, &mut send), Err(Error::NoStream(id.0)), "answered already");
                match deliver(&mut client, &sent[0]).unwrap() {
                    News::Resolved(stream, found) => assert_eq!((stream, found), (id, answer)),
                    other => panic!("{other:?}"),
                }
                assert!(client.streams.is_empty() && relay.streams.is_empty());
                let unknown = PeerMisbehaved::StreamUnknown { stream: id.0 };
                assert_eq!(deliver(&mut client, &sent[0]).unwrap_err(), unknown.into(), "a second answer");
            }
        }
    }

    #[test]
    fn an_answer_to_a_question_that_was_given_up_is_passed_over() {
        let (mut client, mut relay, id) = asked(Crypto::Cgo, &Resolve::name("example.org").unwrap());
        let mut sent = Vec::new();
        let mut send = |_, payload| {
            sent.push(payload);
            tag()
        };
        relay.resolved(id, &Resolved::Failed { transient: false }, &mut send).unwrap();
        client.end(id, EndReason::DONE, &mut |_, _| tag()).unwrap();
        assert!(matches!(deliver(&mut client, &sent[0]), Ok(News::None)));
    }

    #[test]
    fn a_look_up_carries_nothing_but_its_answer() {
        for crypto in FORMATS {
            let (mut client, mut relay, id) = asked(crypto, &Resolve::name("example.org").unwrap());
            let unexpected = |command| Err(PeerMisbehaved::MessageUnexpected { command }.into());
            let early = Err(PeerMisbehaved::DataEarly { stream: id.0 }.into());
            assert_eq!(answer(&mut relay, RelayCommand::DATA, id.0, b"data"), early);
            assert_eq!(answer(&mut client, RelayCommand::DATA, id.0, b"data"), early);
            assert_eq!(answer(&mut client, RelayCommand::CONNECTED, id.0, b""), unexpected(RelayCommand::CONNECTED));
            let connected = relay.connected(id, crate::relay::message::Connected { address: None }, &mut |_, _| tag());
            assert_eq!(connected, Err(Error::NoStream(id.0)));
            // And a stream no answer to a look-up.
            let mut client = conversation(End::Client, crypto);
            let target = crate::relay::message::Begin::new("example.org", 80).unwrap();
            let id = client.begin(&target, &mut |_, _| tag()).unwrap();
            let failed = Resolved::Failed { transient: true }.encode();
            assert_eq!(answer(&mut client, RelayCommand::RESOLVED, id.0, &failed), unexpected(RelayCommand::RESOLVED));
            let (_, mut relay, _) = asked(crypto, &Resolve::name("example.org").unwrap());
            relay.streams.insert(9, Stream::new(relay.stream_windows));
            assert_eq!(
                relay.resolved(StreamId(9), &Resolved::Failed { transient: true }, &mut |_, _| tag()),
                Err(Error::NoStream(9))
            );
        }
    }

    #[test]
    fn bad_questions_are_refused_and_the_circuit_goes_on_unless_the_number_is_wrong() {
        for crypto in FORMATS {
            let mut relay = conversation(End::Relay, crypto);
            let format = relay.format;
            for (body, refused) in [(&b"no end"[..], 0xf1), (b"\0", 0xf1), (b"two words\0", 0xf1)] {
                let sent = answer(&mut relay, RelayCommand::RESOLVE, 3, body).unwrap();
                let (header, found) = format.decode(&sent[0]).unwrap();
                assert_eq!(
                    (header.command, header.stream, found),
                    (RelayCommand::RESOLVED, 3, &[refused, 0, 0, 0, 0, 0][..])
                );
            }
            assert_eq!(answer(&mut relay, RelayCommand::RESOLVE, 3, b"example.org\0"), Ok(Vec::new()));
            let in_use = PeerMisbehaved::StreamInUse { stream: 3 };
            assert_eq!(answer(&mut relay, RelayCommand::RESOLVE, 3, b"example.org\0"), Err(in_use.into()));
            // In V1 a message of such a kind always has a stream.
            if format == Format::V0 {
                assert!(answer(&mut relay, RelayCommand::RESOLVE, 0, b"example.org\0").is_err(), "no stream");
            }
            std::sync::Arc::make_mut(&mut relay.limits).streams = 1;
            let sent = answer(&mut relay, RelayCommand::RESOLVE, 4, b"example.org\0").unwrap();
            assert_eq!(format.decode(&sent[0]).unwrap().1, [0xf0, 0, 0, 0, 0, 0], "too many: later perhaps");
        }
    }

    #[test]
    fn an_answer_from_a_strange_exit_is_read_or_refused() {
        let value = |kind: u8, value: &[u8]| [&[kind, value.len() as u8], value, &[0, 0, 0, 60]].concat();
        let read = |bodies: &[Vec<u8>]| Resolved::decode(&bodies.concat());
        let four = value(4, &[192, 0, 2, 1]);
        assert_eq!(read(&[value(9, b"what"), four.clone()]), Ok(Resolved::Addresses(vec![[192, 0, 2, 1].into()])));
        assert_eq!(read(&[value(0, b"a.example")]), Ok(Resolved::Name("a.example".to_owned())));
        assert_eq!(read(&[value(0xf0, b"text")]), Ok(Resolved::Failed { transient: true }));
        assert!(read(&[value(9, b"what")]).is_err(), "no type that we know");
        assert!(read(&[value(4, &[192, 0, 2])]).is_err() && read(&[value(6, &[0; 4])]).is_err());
        assert!(read(&[value(0, b"two words")]).is_err() && read(&[]).is_err());
        assert!(Resolved::decode(&four[..four.len() - 1]).is_err(), "cut");
    }

    #[test]
    fn addresses_are_asked_for_in_their_zones() {
        let asked = |text: &str| Resolve::decode(format!("{text}\0").as_bytes()).unwrap();
        assert_eq!(asked("1.2.0.192.in-addr.arpa"), Resolve::Pointer([192, 0, 2, 1].into()));
        assert_eq!(asked("1.2.0.192.IN-ADDR.ARPA"), Resolve::Pointer([192, 0, 2, 1].into()));
        let six: IpAddr = "2001:db8::567:89ab".parse().unwrap();
        let zone = "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
        assert_eq!(Resolve::Pointer(six).encode(), format!("{zone}\0").into_bytes());
        assert_eq!(asked(zone), Resolve::Pointer(six));
        // Not as deep as an address, or too deep.
        for name in
            ["2.0.192.in-addr.arpa", "7.1.2.0.192.in-addr.arpa", "b.a.ip6.arpa", &format!("1.{zone}"), "in-addr.arpa"]
        {
            assert_eq!(asked(name), Resolve::Name(name.to_owned()), "{name}");
        }
        let mut cell = [0; PAYLOAD];
        let body = Resolve::Pointer(six).encode();
        let header = Header { command: RelayCommand::RESOLVE, stream: 1, length: body.len() as u16 };
        assert_eq!(Format::V1.encode(&mut cell, header, &body), body.len(), "it fits a cell");
    }
}
