//! In-circuit upgrades as an attack: each costs the relay an encapsulation.

use crate::raw::{Heard, Raw, RawCircuit};
use crate::scene::{Scene, until_equal};
use candor_onion::cell::{Cell, DestroyReason};
use candor_onion::circuit::Request;
use candor_onion::handshake::Upgrade;
use candor_onion::relay::RelayCommand;
use candor_primitives::kem::ml_kem::MlKem768;
use std::collections::BTreeMap;

/// Most of a body that a cell holds.
const PART: usize = 498;

/// The cells of UPGRADE for a circuit's hop.
fn upgrade(circuit: &mut RawCircuit, body: &[u8]) -> Vec<Cell> {
    let part =
        |(number, part): (usize, &[u8])| circuit.part(RelayCommand::UPGRADE, (body.len() - number * PART) as u16, part);
    body.chunks(PART).enumerate().map(part).collect()
}

/// Sixty circuits ask at once, of a relay whose queue holds eight, and those that were answered ask again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circuit_is_upgraded_once_however_often_it_asks() {
    let scene = Scene::new(|config| {
        config.limits.circuit.upgrade = true;
        config.limits.handshake_queue = 8;
    })
    .await;
    let body = Upgrade::new(MlKem768::new()).unwrap().start().unwrap().1;
    let request = Request { upgrade: true, ..Request::NONE };
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuits = BTreeMap::new();
    for _ in 0..60 {
        let circuit = raw.open_with(scene.listed(0), request).await;
        circuits.insert(circuit.number, circuit);
    }
    let before = scene.relay(0).counts();
    raw.send(circuits.values_mut().flat_map(|circuit| upgrade(circuit, &body)).collect::<Vec<_>>()).await;
    let (mut answered, mut refused) = (Vec::new(), 0);
    while answered.len() + refused < 60 {
        match next(&mut raw, &mut circuits).await {
            (number, Heard::Said(0, RelayCommand::UPGRADED, 0, part)) if part.len() < PART => answered.push(number),
            (_, Heard::Said(0, RelayCommand::UPGRADED, 0, _)) => {}
            (_, Heard::Over(Some(DestroyReason::RESOURCELIMIT))) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    scene.serves().await;
    let again = circuits.iter_mut().filter(|(number, _)| answered.contains(number));
    raw.send(again.flat_map(|(_, circuit)| [(); 5].map(|()| upgrade(circuit, &body))).flatten().collect::<Vec<_>>())
        .await;
    for _ in &answered {
        let (number, heard) = next(&mut raw, &mut circuits).await;
        assert_eq!(heard, Heard::Over(Some(DestroyReason::PROTOCOL)), "{number}");
    }
    let counts = scene.relay(0).counts();
    assert_eq!((counts.upgrades, counts.refused - before.refused), (answered.len() as u64, refused as u64));
    assert!(!answered.is_empty());
    drop(raw);
    scene.is_as_before().await;
}

/// What comes next on the link, and on which circuit.
async fn next(raw: &mut Raw, circuits: &mut BTreeMap<u32, RawCircuit>) -> (u32, Heard) {
    loop {
        let cell = raw.next().await.expect("the link stays");
        let number = cell.circuit;
        if let Some(heard) = circuits.get_mut(&number).and_then(|circuit| circuit.hear(cell)) {
            return (number, heard);
        }
    }
}

/// One circuit of many asks; where the relay has no upgrades it ends, and the others don't.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_nobody_agreed_to_costs_its_own_circuit() {
    let scene = Scene::new(|_| {}).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let request = Request { upgrade: true, ..Request::NONE };
    let mut circuits = Vec::new();
    for _ in 0..3 {
        circuits.push(raw.open_with(scene.listed(0), request).await);
    }
    let body = Upgrade::new(MlKem768::new()).unwrap().start().unwrap().1;
    let cells = upgrade(&mut circuits[1], &body);
    raw.send(cells).await;
    assert_eq!(raw.hear(&mut circuits[1]).await, Heard::Over(Some(DestroyReason::PROTOCOL)));
    until_equal(|| scene.relay(0).held().circuits, 2).await;
    assert_eq!(scene.relay(0).counts().upgrades, 0);
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}
