//! Both layers against published vectors (`vectors/cgo.json`, `vectors/tor1.json`). Unit tests, since they set states
//! that the public interface can't set.

use super::cgo::{self, State};
use super::{ClientLayer, Crypto, Onion};
use crate::cell::{Command, PAYLOAD};
use candor_primitives::Cpu;
use candor_test_support::vectors::{bytes, list, load};
use serde_json::Value;
use shake::{ExtendableOutput, Shake256, Update, XofReader};

/// Each tier that this machine can run.
fn cpus() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().map(|tier| Cpu::named(tier.name).unwrap())
}

fn cell(of: &Value, name: &str) -> [u8; PAYLOAD] {
    bytes(of, name).try_into().unwrap()
}

/// A cell whose tag is not yet set.
fn body(of: &Value) -> [u8; PAYLOAD] {
    [vec![0; 16], bytes(of, "body")].concat().try_into().unwrap()
}

fn command(of: &Value) -> Command {
    Command(bytes(of, "command")[0])
}

fn state(of: &Value) -> State {
    let part = |name| bytes(of, name);
    State {
        keys: part("keys").try_into().unwrap(),
        nonce: part("nonce").try_into().unwrap(),
        tag: part("tag").try_into().unwrap(),
    }
}

#[test]
fn uiv_gives_the_published_cells() {
    for vector in list(&load("cgo.json"), "uiv") {
        let keys: [u8; 64] = bytes(vector, "keys").try_into().unwrap();
        let tweak: [u8; 17] = bytes(vector, "tweak").try_into().unwrap();
        let encrypt = vector["encrypt"].as_bool().unwrap();
        for cpu in cpus() {
            let mut cell = cell(vector, "in");
            cgo::uiv_for_vectors(cpu, encrypt, &keys, &tweak, &mut cell);
            assert_eq!(cell[..], bytes(vector, "out")[..], "{cpu:?}");
        }
    }
}

#[test]
fn cgo_relays_give_the_published_cells_and_states() {
    cpus().for_each(cgo_relays);
}

fn cgo_relays(cpu: Cpu) {
    let file = load("cgo.json");
    for vector in list(&file, "relay") {
        let (mut cell, inbound) = (cell(vector, "in"), vector["inbound"].as_bool().unwrap());
        let mut relay = match inbound {
            true => cgo::Relay::from_states(cpu, &State::ZERO, &state(&vector["state"])),
            false => cgo::Relay::from_states(cpu, &state(&vector["state"]), &State::ZERO),
        };
        match inbound {
            true => relay.inbound(command(vector), &mut cell),
            false => drop(relay.outbound(command(vector), &mut cell)),
        }
        assert_eq!(cell[..], bytes(vector, "out")[..]);
        relay.assert_state(inbound, &state(&vector["out_state"]));
    }
    for vector in list(&file, "relay_originate") {
        let mut cell = body(vector);
        let mut relay = cgo::Relay::from_states(cpu, &State::ZERO, &state(&vector["state"]));
        let tag = relay.originate(command(vector), &mut cell);
        assert_eq!(cell[..], bytes(vector, "out")[..]);
        assert_eq!(tag.as_bytes(), &cell[..16]);
        relay.assert_state(true, &state(&vector["out_state"]));
    }
}

#[test]
fn cgo_clients_give_the_published_cells_and_states() {
    cpus().for_each(cgo_clients);
}

fn cgo_clients(cpu: Cpu) {
    for vector in list(&load("cgo.json"), "client_originate") {
        let mut layers: Vec<cgo::Client> =
            list(vector, "states").iter().map(|of| cgo::Client::from_states(cpu, &state(of), &State::ZERO)).collect();
        let hop = usize::try_from(vector["hop"].as_u64().unwrap()).unwrap();
        let (mut cell, command) = (body(vector), command(vector));
        layers[hop - 1].originate(command, &mut cell);
        layers[..hop - 1].iter_mut().rev().for_each(|layer| layer.outbound(command, &mut cell));
        assert_eq!(cell[..], bytes(vector, "out")[..]);
        for (layer, expected) in layers.iter().zip(list(vector, "out_states")) {
            layer.assert_state(false, &state(expected));
        }
    }
}

#[test]
fn tor1_gives_the_cells_of_c_tor() {
    cpus().for_each(tor1_clients);
}

fn tor1_clients(cpu: Cpu) {
    let file = load("tor1.json");
    let mut onion = Onion::default();
    for keys in file["keys"].as_array().unwrap() {
        let material = bytes(&serde_json::json!({ "keys": keys }), "keys");
        onion.push(ClientLayer::with_cpu(cpu, Crypto::Tor1, &material[..Crypto::Tor1.key_length()]).unwrap());
    }
    let mut stream = Shake256::default().chain(bytes(&file, "shake256_seed")).finalize_xof();
    let mut expected = list(&file, "cells").iter().peekable();
    for number in 0.. {
        let Some(next) = expected.peek() else { break };
        let mut cell = [0; PAYLOAD];
        // DATA on stream 1 with 498 bytes.
        (cell[0], cell[4], cell[9], cell[10]) = (2, 1, 1, 242);
        stream.read(&mut cell[11..]);
        onion.wrap(2, Command::RELAY, &mut cell).unwrap();
        if next["number"].as_u64() == Some(number) {
            assert_eq!(cell[..], bytes(next, "wrapped")[..], "cell {number}");
            expected.next();
        }
    }
}
