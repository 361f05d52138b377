//! Bodies for what a circuit does with cells that were properly wrapped by somebody who does as he likes.

use candor_onion::cell::payload::{Create2, Created2};
use candor_onion::cell::{Command, Message, PAYLOAD};
use candor_onion::circuit::{
    ClientAction, ClientCircuit, HopOptions, Limits, OnionKeys, RelayAction, RelayCircuit, Request,
};
use candor_onion::handshake::{Client, Handshake, HandshakeType, NtorV3Default, Request as _};
use candor_onion::layer::{ClientLayer, Crypto, RelayLayer};
use candor_onion::relay::Format;
use candor_primitives::kem::ml_kem::MlKem768;
use std::slice::from_ref;
use std::time::{Duration, Instant};

/// A client sends a relay what it likes. Data: the format and whether upgrades are agreed, then cells: what happens beside it, and the plain payload. Nobody panics,
/// and after the circuit's end nothing comes.
pub fn relay_circuit(data: &[u8]) {
    let [choice, cells @ ..] = data else { return };
    let crypto = crypto(*choice);
    let handshake = NtorV3Default::default();
    let relay = handshake.generate_relay([1; 32]).expect("the back end works");
    let upgrade = choice & 2 != 0;
    let request = Request { crypto, fragments: true, upgrade }.encode();
    let (client, onionskin) = handshake.start(handshake.public(&relay), &request).expect("good keys");
    let create = Create2::new(HandshakeType::NtorV3.number(), onionskin).expect("short");
    let (mut circuit, job) = RelayCircuit::create(create, Limits { upgrade, ..Limits::default() });
    circuit
        .answer(job.run(&OnionKeys::default().with(NtorV3Default::default(), vec![relay]).expect("it has a number")));
    let Some(RelayAction::ToClient(Message::Created2(created))) = circuit.poll() else { panic!("no answer") };
    let keys = client.finish(created.reply()).expect("an honest relay").keys;
    let mut layer = ClientLayer::new(crypto, &keys).expect("enough keys");

    let mut now = Instant::now();
    for cell in cells.chunks(PAYLOAD + 1) {
        let (beside, mut payload) = plain(cell, crypto.format());
        now += Duration::from_millis(beside.into());
        let early = beside & 1 != 0;
        let command = if early { Command::RELAY_EARLY } else { Command::RELAY };
        layer.originate(command, &mut payload);
        circuit.receive_from_client(if early { Message::RelayEarly(payload) } else { Message::Relay(payload) }, now);
        circuit.tick(now);
        while let Some(action) = circuit.poll() {
            match action {
                RelayAction::Extend(_) if beside & 2 == 0 => circuit.next_ready(beside & 4 == 0),
                RelayAction::Upgrade(job) if beside & 2 == 0 => circuit.upgrade(job.run(&MlKem768::new())),
                RelayAction::Data { stream, bytes } if beside & 8 == 0 => {
                    // The client may end the stream in the meantime, or never have let it connect.
                    let _ = circuit.send(stream, &bytes, now);
                    circuit.consumed(stream, bytes.len());
                }
                RelayAction::Closed => assert!(circuit.is_closed() && circuit.poll().is_none()),
                _ => {}
            }
        }
    }
}

/// A relay sends a client what it likes. Data: as for [`relay_circuit`].
pub fn client_circuit(data: &[u8]) {
    let [choice, cells @ ..] = data else { return };
    let crypto = crypto(*choice);
    let handshake = NtorV3Default::default();
    let relay = handshake.generate_relay([1; 32]).expect("the back end works");
    let mut now = Instant::now();
    let mut circuit = ClientCircuit::new(Limits::default(), true);
    let upgrade = choice & 2 != 0;
    let options = HopOptions { crypto, fragments: true, upgrade };
    circuit.create(&handshake, handshake.public(&relay), options, now).expect("a new circuit");
    let Some(ClientAction::Send(Message::Create2(create))) = circuit.poll() else { panic!("no creation") };
    let accepted = handshake.accept(from_ref(&relay), create.onionskin()).expect("an honest client");
    let sendme_increment = (crypto == Crypto::Cgo).then_some(31);
    let response = candor_onion::circuit::Response { sendme_increment, upgrade };
    let (reply, keys) = accepted.respond(&response.encode()).expect("an honest client");
    circuit.receive(Message::Created2(Created2::new(reply).expect("short")), now);
    assert!(circuit.poll() == Some(ClientAction::Extended { hop: 1 }));
    let mut layer = RelayLayer::new(crypto, &keys).expect("enough keys");
    let target = candor_onion::relay::message::Begin::new("a", 1).expect("a good target");
    let stream = circuit.begin(&target).expect("a new stream");
    assert!(circuit.upgrade(&MlKem768::new(), now).is_ok() == upgrade);

    for cell in cells.chunks(PAYLOAD + 1) {
        let (beside, mut payload) = plain(cell, crypto.format());
        now += Duration::from_millis(beside.into());
        layer.originate(Command::RELAY, &mut payload);
        circuit.receive(Message::Relay(payload), now);
        let _ = circuit.send(stream, &[1; 2000], now);
        circuit.tick(now);
        while let Some(action) = circuit.poll() {
            match action {
                ClientAction::Data { stream, bytes } if beside & 8 == 0 => circuit.consumed(stream, bytes.len()),
                ClientAction::Upgraded { .. } => panic!("a relay without the secret was believed"),
                ClientAction::Closed(_) => assert!(circuit.is_closed() && circuit.poll().is_none()),
                _ => {}
            }
        }
    }
}

fn crypto(choice: u8) -> Crypto {
    if choice & 1 == 0 { Crypto::Tor1 } else { Crypto::Cgo }
}

/// The byte beside a cell, and the cell with the layer's fields cleared.
fn plain(cell: &[u8], format: Format) -> (u8, Box<[u8; PAYLOAD]>) {
    let mut payload = Box::new([0; PAYLOAD]);
    let (beside, rest) = cell.split_first().expect("chunks are not empty");
    payload[..rest.len()].copy_from_slice(rest);
    match format {
        Format::V0 => (payload[1..3].fill(0), payload[5..9].fill(0)),
        Format::V1 => (payload[..16].fill(0), ()),
    };
    (*beside, payload)
}
