//! A circuit of one hop on a system without randomness, or to a relay with a directory.

use super::padding::without_randomness;
use super::{
    Cause, ClientAction, ClientCircuit, Failure, HopOptions, Limits, OnionKeys, RelayAction, RelayCircuit, StreamId,
};
use crate::Error;
use crate::cell::{DestroyReason, Message};
use crate::handshake::{Handshake, NtorV3Default};
use crate::relay::message::{Begin, Connected, EndReason};
use std::time::Instant;

fn circuit() -> (ClientCircuit, RelayCircuit) {
    circuit_within(Limits::default())
}

/// A circuit whose relay has these limits.
fn circuit_within(limits: Limits) -> (ClientCircuit, RelayCircuit) {
    let now = Instant::now();
    let handshake = NtorV3Default::default();
    let secret = handshake.generate_relay([1; 32]).unwrap();
    let mut client = ClientCircuit::new(Limits::default(), true);
    client.create(&handshake, handshake.public(&secret), HopOptions::default(), now).unwrap();
    let keys = OnionKeys::default().with(handshake, vec![secret]).unwrap();
    let Some(ClientAction::Send(Message::Create2(create))) = client.poll() else { panic!("expected CREATE2") };
    let (mut relay, job) = RelayCircuit::create(create, limits);
    relay.answer(job.run(&keys));
    let Some(RelayAction::ToClient(created)) = relay.poll() else { panic!("expected CREATED2") };
    client.receive(created, now);
    assert_eq!(client.poll(), Some(ClientAction::Extended { hop: 1 }));
    (client, relay)
}

/// A circuit with a stream that the relay has been asked for.
fn asked() -> (ClientCircuit, RelayCircuit, StreamId) {
    let (mut client, mut relay) = circuit();
    client.begin(&Begin::new("target.test", 80).unwrap()).unwrap();
    let Some(ClientAction::Send(begin)) = client.poll() else { panic!("expected BEGIN") };
    relay.receive_from_client(begin, Instant::now());
    let Some(RelayAction::Begin { stream, .. }) = relay.poll() else { panic!("expected a stream to open") };
    (client, relay, stream)
}

#[test]
fn a_relay_with_a_directory_opens_streams_to_it_and_no_more_than_it_may() {
    let (mut client, mut relay) = circuit_within(Limits { directory: true, streams: 1, ..Limits::default() });
    let mut ask = |relay: &mut RelayCircuit| {
        client.probe(1).unwrap();
        let Some(ClientAction::Send(question)) = client.poll() else { panic!("expected BEGIN_DIR") };
        relay.receive_from_client(question, Instant::now());
        relay.poll()
    };
    let Some(RelayAction::BeginDirectory { stream }) = ask(&mut relay) else { panic!("expected a stream to open") };
    let Some(RelayAction::ToClient(end)) = ask(&mut relay) else { panic!("expected END for a second one") };
    client.receive(end, Instant::now());
    assert!(matches!(client.poll(), Some(ClientAction::Answered { .. })));
    relay.connected(stream, Connected { address: None }).unwrap();
    let Some(RelayAction::ToClient(connected)) = relay.poll() else { panic!("expected CONNECTED") };
    client.receive(connected, Instant::now());
    // Which is a sign of life, too; the client ends the stream.
    let actions: Vec<_> = std::iter::from_fn(|| client.poll()).collect();
    assert!(actions.iter().any(|action| matches!(action, ClientAction::Answered { .. })), "{actions:?}");
    let end = actions.into_iter().find_map(|action| match action {
        ClientAction::Send(message) => Some(message),
        _ => None,
    });
    relay.receive_from_client(end.expect("END"), Instant::now());
    assert_eq!(relay.poll(), Some(RelayAction::Ended { stream, reason: EndReason::DONE }));
    // Its twin has none.
    let (mut client, mut relay) = circuit();
    client.probe(1).unwrap();
    let Some(ClientAction::Send(question)) = client.poll() else { panic!("expected BEGIN_DIR") };
    relay.receive_from_client(question, Instant::now());
    assert!(matches!(relay.poll(), Some(RelayAction::ToClient(_))));
}

#[test]
fn what_can_be_sent_is_known_before_and_a_stream_without_room_is_told_of_some() {
    let (mut client, mut relay, stream) = asked();
    let now = Instant::now();
    assert!(matches!(relay.sendable(stream), Err(Error::NotNow(_))), "it is not connected");
    relay.connected(stream, Connected { address: None }).unwrap();
    let (mut sent, mut cells) = (0, Vec::new());
    loop {
        cells.extend(std::iter::from_fn(|| relay.poll()));
        let room = relay.sendable(stream).unwrap().min(10_000);
        if room == 0 {
            break;
        }
        assert_eq!(relay.send(stream, &vec![7; room], now), Ok(room));
        sent += room;
    }
    for cell in cells {
        let RelayAction::ToClient(cell) = cell else { panic!("{cell:?}") };
        client.receive(cell, now);
    }
    let mut came = 0;
    while let Some(action) = client.poll() {
        match action {
            ClientAction::Data { stream, bytes } => {
                came += bytes.len();
                client.consumed(stream, bytes.len());
            }
            ClientAction::Send(acknowledgement) => relay.receive_from_client(acknowledgement, now),
            _ => {}
        }
    }
    assert_eq!(came, sent);
    assert!(std::iter::from_fn(|| relay.poll()).any(|action| action == RelayAction::Writable { stream }));
    assert!(relay.sendable(stream).unwrap() > 0);
}

#[test]
fn a_client_that_can_not_pad_a_cell_closes_its_circuit_and_says_why() {
    let (mut client, _) = circuit();
    let target = Begin::new("target.test", 80).unwrap();
    assert_eq!(without_randomness(|| client.begin(&target)), Err(Error::Randomness));
    assert!(client.is_closed());
    let failure = Failure { hop: None, cause: Cause::Randomness };
    assert_eq!(client.poll(), Some(ClientAction::Send(Message::Destroy(DestroyReason::INTERNAL))));
    assert_eq!((client.poll(), client.poll()), (Some(ClientAction::Closed(failure)), None));
    assert_eq!(failure.to_string(), "circuit: closed here: no randomness from the operating system to pad a cell with");
    // Its twin has some.
    assert!(circuit().0.begin(&target).is_ok());
}

#[test]
fn a_relay_that_can_not_pad_an_answer_closes_the_circuit_whoever_calls() {
    let ends = [RelayAction::ToClient(Message::Destroy(DestroyReason::INTERNAL)), RelayAction::Closed];
    let actions = |relay: &mut RelayCircuit| std::iter::from_fn(|| relay.poll()).collect::<Vec<_>>();
    let (_, mut relay, stream) = asked();
    assert_eq!(without_randomness(|| relay.connected(stream, Connected { address: None })), Err(Error::Randomness));
    assert_eq!(actions(&mut relay), ends);
    // A question that the relay answers by itself.
    let (mut client, mut relay) = circuit();
    client.probe(1).unwrap();
    let Some(ClientAction::Send(question)) = client.poll() else { panic!("expected BEGIN_DIR") };
    without_randomness(|| relay.receive_from_client(question, Instant::now()));
    assert_eq!(actions(&mut relay), ends);
    // Its twin has some.
    let (mut client, mut relay, stream) = asked();
    relay.connected(stream, Connected { address: None }).unwrap();
    let Some(RelayAction::ToClient(connected)) = relay.poll() else { panic!("expected CONNECTED") };
    client.receive(connected, Instant::now());
    assert!(matches!(client.poll(), Some(ClientAction::Connected { .. })));
}
