//! The layers of an onion: keys, nonces, key stream, and what passes through.
//!
//! Cells go in with the same contents whatever the keys are. What comes out is the caller's; pieces of it must not stay either.

use super::on_each;
use crate::case::{Case, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_onion::cell::{Command, PAYLOAD};
use candor_onion::layer::{ClientLayer, Crypto, RelayLayer};

type Cell = [u8; PAYLOAD];

const TIERS: [&str; 3] = ["clmul", "vpclmul", "avx512"];

/// Where no kernel of ours runs.
const LIBRARIES: &[Leaves] = &[Leaves {
    step: "*",
    stack: 3400,
    heap: 0,
    names: &["keys"],
    why: "the crates `aes` and `polyval` leave keys and blocks in their stack frames, cell by cell",
}];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = on_each(&TIERS, "layer/tor1", tor1, &[]);
    cases.extend(on_each(&TIERS, "layer/cgo", cgo, &[]));
    cases.extend(on_each(&["portable"], "layer/tor1", tor1, LIBRARIES));
    cases.extend(on_each(&["portable"], "layer/cgo", cgo, LIBRARIES));
    cases
}

fn tor1(probe: &mut Probe, cpu: Cpu) {
    layers(probe, cpu, Crypto::Tor1);
}

fn cgo(probe: &mut Probe, cpu: Cpu) {
    layers(probe, cpu, Crypto::Cgo);
}

/// Both ends of a layer, with a cell of each kind in each direction.
fn layers(probe: &mut Probe, cpu: Cpu, crypto: Crypto) {
    let material: [u8; 160] = probe.secret("keys");
    let material = &material[..crypto.key_length()];
    let mut relay_end = Some(
        step!(probe, "relay's keys", [cpu: Cpu = cpu, crypto: Crypto = crypto, material: &[u8] = material], {
            RelayLayer::with_cpu(cpu, crypto, material)
        })
        .expect("key material"),
    );
    let mut client_end = Some(
        step!(probe, "client's keys", [cpu: Cpu = cpu, crypto: Crypto = crypto, material: &[u8] = material], {
            ClientLayer::with_cpu(cpu, crypto, material)
        })
        .expect("key material"),
    );
    let (relay, client) = (relay_end.as_mut().expect("made above"), client_end.as_mut().expect("made above"));
    for _ in 0..2 {
        let mut cell = own();
        let tag = step!(probe, "client originates", [client: &mut ClientLayer = client, cell: &mut Cell = &mut cell], client.originate(Command::RELAY, cell));
        probe.public(&cell);
        probe.public(tag.as_bytes());
        let found = step!(probe, "relay recognizes", [relay: &mut RelayLayer = relay, cell: &mut Cell = &mut cell], relay.outbound(Command::RELAY, cell));
        assert!(found.is_some() && cell[20..] == own()[20..], "the relay does not get the client's cell");

        let mut cell = own();
        let tag = step!(probe, "relay originates", [relay: &mut RelayLayer = relay, cell: &mut Cell = &mut cell], relay.originate(Command::RELAY, cell));
        probe.public(&cell);
        probe.public(tag.as_bytes());
        let found = step!(probe, "client recognizes", [client: &mut ClientLayer = client, cell: &mut Cell = &mut cell], client.inbound(Command::RELAY, cell));
        assert!(found.is_some() && cell[20..] == own()[20..], "the client does not get the relay's cell");
    }
    let mut cell = [5; PAYLOAD];
    step!(probe, "client passes on", [client: &mut ClientLayer = client, cell: &mut Cell = &mut cell], client.outbound(Command::RELAY, cell));
    let mut cell = [5; PAYLOAD];
    step!(probe, "relay passes on", [relay: &mut RelayLayer = relay, cell: &mut Cell = &mut cell], _ = relay.outbound(Command::RELAY, cell));
    let mut cell = [5; PAYLOAD];
    step!(probe, "relay passes back", [relay: &mut RelayLayer = relay, cell: &mut Cell = &mut cell], relay.inbound(Command::RELAY, cell));
    let mut cell = [5; PAYLOAD];
    step!(probe, "client unwraps", [client: &mut ClientLayer = client, cell: &mut Cell = &mut cell], _ = client.inbound(Command::RELAY, cell));
    step!(probe, "relay drops", [relay_end: &mut Option<RelayLayer> = &mut relay_end], *relay_end = None);
    step!(probe, "client drops", [client_end: &mut Option<ClientLayer> = &mut client_end], *client_end = None);
    first_cells(probe, cpu, crypto, material);
}

/// Ends whose first cell of each direction is somebody else's: CGO expands a direction's keys for it. And ends that never see a cell.
fn first_cells(probe: &mut Probe, cpu: Cpu, crypto: Crypto, material: &[u8]) {
    let relay = || Some(RelayLayer::with_cpu(cpu, crypto, material).expect("key material"));
    let client = || Some(ClientLayer::with_cpu(cpu, crypto, material).expect("key material"));
    let (mut relay_end, mut client_end) = (relay(), client());
    let (first_relay, first_client) =
        (relay_end.as_mut().expect("made above"), client_end.as_mut().expect("made above"));
    let mut cell = [5; PAYLOAD];
    step!(probe, "client passes its first on", [client: &mut ClientLayer = first_client, cell: &mut Cell = &mut cell], client.outbound(Command::RELAY, cell));
    let mut cell = [5; PAYLOAD];
    step!(probe, "relay passes its first on", [relay: &mut RelayLayer = first_relay, cell: &mut Cell = &mut cell], _ = relay.outbound(Command::RELAY, cell));
    let mut cell = [5; PAYLOAD];
    step!(probe, "relay passes its first back", [relay: &mut RelayLayer = first_relay, cell: &mut Cell = &mut cell], relay.inbound(Command::RELAY, cell));
    let mut cell = [5; PAYLOAD];
    step!(probe, "client unwraps its first", [client: &mut ClientLayer = first_client, cell: &mut Cell = &mut cell], _ = client.inbound(Command::RELAY, cell));
    step!(probe, "relay drops what it passed", [relay_end: &mut Option<RelayLayer> = &mut relay_end], *relay_end = None);
    step!(probe, "client drops what it passed", [client_end: &mut Option<ClientLayer> = &mut client_end], *client_end = None);

    let (mut relay_end, mut client_end) = (relay(), client());
    step!(probe, "relay drops unused", [relay_end: &mut Option<RelayLayer> = &mut relay_end], *relay_end = None);
    step!(probe, "client drops unused", [client_end: &mut Option<ClientLayer> = &mut client_end], *client_end = None);
}

/// A cell whose header is still empty.
fn own() -> Cell {
    let mut cell = [0; PAYLOAD];
    cell[20..].fill(5);
    cell
}
