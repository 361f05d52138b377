//! Layers of an onion: the keys of both directions are secret, and so are cells that have been decrypted; cells on the wire are public.
//!
//! Two cells in a row, so that what the first leaves behind is secret as well. Whether a cell is for this end is public, since a relay passes
//! it on or keeps it; the layer declassifies that answer and nothing else.

use candor_cpu::{Cpu, secret};
use candor_onion::cell::{Command, PAYLOAD};
use candor_onion::layer::{ClientLayer, Crypto, Onion, RelayLayer, Tag};
use std::hint::black_box;

type Payload = [u8; PAYLOAD];
type Cells = [Payload; 2];

macro_rules! directions {
    ($($name:ident: $crypto:ident, $end:ident, $inputs:ident, $crypt:expr;)+) => {
        $(pub(crate) fn $name(cpu: Cpu) {
            let make = |cpu, material: &[u8]| $end::with_cpu(cpu, Crypto::$crypto, material).expect("key material");
            run(cpu, Crypto::$crypto, $inputs, make, $crypt);
        })+
    };
}

directions! {
    // Cells for a relay further on, and cells for this one.
    cgo_outbound: Cgo, RelayLayer, strangers, |layer, cell| expect(layer.outbound(Command::RELAY, cell), false);
    cgo_recognize: Cgo, RelayLayer, from_the_client, |layer, cell| expect(layer.outbound(Command::RELAY, cell), true);
    // Cells that a relay passes back.
    cgo_inbound: Cgo, RelayLayer, strangers, |layer, cell| layer.inbound(Command::RELAY, cell);
    // Cells of the relay's own, after each of which it replaces its keys.
    cgo_originate: Cgo, RelayLayer, strangers, |layer, cell| _ = black_box(layer.originate(Command::RELAY, cell));
    // The same for the client: cells for others, for this relay, from others and from this relay.
    cgo_client: Cgo, ClientLayer, strangers, |layer, cell| layer.outbound(Command::RELAY, cell);
    cgo_client_originate: Cgo, ClientLayer, strangers, |layer, cell| _ = black_box(layer.originate(Command::RELAY, cell));
    cgo_client_inbound: Cgo, ClientLayer, strangers, |layer, cell| expect(layer.inbound(Command::RELAY, cell), false);
    cgo_client_recognize: Cgo, ClientLayer, from_the_relay, |layer, cell| expect(layer.inbound(Command::RELAY, cell), true);

    tor1_outbound: Tor1, RelayLayer, strangers, |layer, cell| expect(layer.outbound(Command::RELAY, cell), false);
    tor1_recognize: Tor1, RelayLayer, from_the_client, |layer, cell| expect(layer.outbound(Command::RELAY, cell), true);
    tor1_mistake: Tor1, RelayLayer, nearly_from_the_client, |layer, cell| expect(layer.outbound(Command::RELAY, cell), false);
    tor1_inbound: Tor1, RelayLayer, strangers, |layer, cell| layer.inbound(Command::RELAY, cell);
    tor1_originate: Tor1, RelayLayer, strangers, |layer, cell| _ = black_box(layer.originate(Command::RELAY, cell));
    tor1_client: Tor1, ClientLayer, strangers, |layer, cell| layer.outbound(Command::RELAY, cell);
    tor1_client_originate: Tor1, ClientLayer, strangers, |layer, cell| _ = black_box(layer.originate(Command::RELAY, cell));
    tor1_client_inbound: Tor1, ClientLayer, strangers, |layer, cell| expect(layer.inbound(Command::RELAY, cell), false);
    tor1_client_recognize: Tor1, ClientLayer, from_the_relay, |layer, cell| expect(layer.inbound(Command::RELAY, cell), true);
}

/// A client's layers as one: a cell out, and the same relay's cell back.
pub(crate) fn onion(cpu: Cpu) {
    let make = |cpu, material: &[u8]| {
        let mut onion = Onion::default();
        onion.push(ClientLayer::with_cpu(cpu, Crypto::Cgo, material).expect("key material"));
        onion
    };
    run(cpu, Crypto::Cgo, from_the_relay, make, |onion, cell| {
        assert!(onion.unwrap(Command::RELAY, cell).is_some(), "{WRONG}");
        assert!(onion.wrap(0, Command::RELAY, cell).is_some(), "{WRONG}");
    });
}

const WRONG: &str = "the result is wrong, so whatever ran was no layer";

/// A tag is public if there is one: it goes into a SENDME.
fn expect(found: Option<Tag>, recognized: bool) {
    assert!(found.is_some() == recognized, "{WRONG}");
}

/// Cells that are for neither end.
fn strangers(_: Crypto, _: &[u8]) -> Cells {
    [[5; PAYLOAD]; 2]
}

fn from_the_client(crypto: Crypto, material: &[u8]) -> Cells {
    let mut layer = ClientLayer::with_cpu(Cpu::portable(), crypto, material).expect("key material");
    own_cells(|cell| _ = layer.originate(Command::RELAY, cell))
}

fn from_the_relay(crypto: Crypto, material: &[u8]) -> Cells {
    let mut layer = RelayLayer::with_cpu(Cpu::portable(), crypto, material).expect("key material");
    own_cells(|cell| _ = layer.originate(Command::RELAY, cell))
}

/// Cells that look as if they were for the relay until the digest is compared: tor1 can't notice a change before that.
fn nearly_from_the_client(crypto: Crypto, material: &[u8]) -> Cells {
    let mut cells = from_the_client(crypto, material);
    cells.iter_mut().for_each(|cell| cell[PAYLOAD - 1] ^= 1);
    cells
}

/// Cells whose header is still empty, as whoever makes a cell leaves it.
fn own_cells(mut originate: impl FnMut(&mut Payload)) -> Cells {
    let mut cells = [[0; PAYLOAD]; 2];
    for cell in &mut cells {
        cell[16..].fill(5);
        originate(cell);
    }
    cells
}

/// The cells through a clean layer on the portable arm, then through one with secret keys on the arm in question.
fn run<L>(
    cpu: Cpu,
    crypto: Crypto,
    inputs: impl Fn(Crypto, &[u8]) -> Cells,
    make: impl Fn(Cpu, &[u8]) -> L,
    crypt: impl Fn(&mut L, &mut Payload),
) {
    let material: Vec<u8> = (0..crypto.key_length()).map(|i| i as u8).collect();
    let cells = inputs(crypto, &material);
    let mut expected = cells;
    let mut layer = make(Cpu::portable(), &material);
    expected.iter_mut().for_each(|cell| crypt(&mut layer, cell));
    secret::reset();

    secret::poison(&material);
    let mut found = cells;
    let mut layer = make(cpu, black_box(&material));
    found.iter_mut().for_each(|cell| crypt(&mut layer, cell));
    secret::declassify(found.as_flattened(), "cell");
    assert!(found == expected, "{WRONG}");
}
