//! Layers of an onion: the keys of both directions are secret, cells on the wire are public.
//!
//! Two cells in a row, so that what the first leaves behind is secret as well. What a relay finds in a cell that it has decrypted
//! tells it whether the cell is its own, and it branches on that.

use candor_cpu::{Cpu, secret};
use candor_onion::cell::{Command, PAYLOAD};
use candor_onion::layer::{ClientLayer, Crypto, RelayLayer};
use std::hint::black_box;

/// Cells that a relay passes on to the next, or keeps.
pub(crate) fn cgo_outbound(cpu: Cpu) {
    relay(cpu, Crypto::Cgo, |layer, cell| assert!(layer.outbound(Command::RELAY, cell).is_none()));
}

/// Cells that a relay passes back.
pub(crate) fn cgo_inbound(cpu: Cpu) {
    relay(cpu, Crypto::Cgo, |layer, cell| layer.inbound(Command::RELAY, cell));
}

/// Cells of the relay's own, after each of which it replaces its keys.
pub(crate) fn cgo_originate(cpu: Cpu) {
    relay(cpu, Crypto::Cgo, |layer, cell| _ = black_box(layer.originate(Command::RELAY, cell)));
}

/// Cells that a client wraps for a relay further on.
pub(crate) fn cgo_client(cpu: Cpu) {
    let make = |cpu, material: &[u8]| ClientLayer::with_cpu(cpu, Crypto::Cgo, material).expect("key material");
    run(cpu, Crypto::Cgo, make, |layer, cell| layer.outbound(Command::RELAY, cell));
}

pub(crate) fn tor1_inbound(cpu: Cpu) {
    relay(cpu, Crypto::Tor1, |layer, cell| layer.inbound(Command::RELAY, cell));
}

pub(crate) fn tor1_outbound(cpu: Cpu) {
    relay(cpu, Crypto::Tor1, |layer, cell| assert!(layer.outbound(Command::RELAY, cell).is_none()));
}

fn relay(cpu: Cpu, crypto: Crypto, crypt: impl Fn(&mut RelayLayer, &mut [u8; PAYLOAD])) {
    run(cpu, crypto, |cpu, material: &[u8]| RelayLayer::with_cpu(cpu, crypto, material).expect("key material"), crypt);
}

fn run<L>(cpu: Cpu, crypto: Crypto, make: impl Fn(Cpu, &[u8]) -> L, crypt: impl Fn(&mut L, &mut [u8; PAYLOAD])) {
    let material: Vec<u8> = (0..crypto.key_length()).map(|i| i as u8).collect();
    let mut expected = [[5; PAYLOAD]; 2];
    let mut layer = make(Cpu::portable(), &material);
    expected.iter_mut().for_each(|cell| crypt(&mut layer, cell));
    secret::arms();

    secret::poison(&material);
    let mut found = [[5; PAYLOAD]; 2];
    let mut layer = make(cpu, black_box(&material));
    found.iter_mut().for_each(|cell| crypt(&mut layer, cell));
    secret::declassify(found.as_flattened(), "cell");
    assert!(found == expected, "the result is wrong, so whatever ran was no layer");
}
