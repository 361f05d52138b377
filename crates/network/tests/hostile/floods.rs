//! Attacks by mere number: connections, circuits, onionskins, log lines.

use crate::raw::{Raw, create, dial};
use crate::scene::{Scene, until, until_equal};
use candor_network::{Rate, RelayEvent};
use candor_onion::cell::{Cell, DestroyReason, Message};
use candor_onion::relay::RelayCommand;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_take_a_networks_share_and_no_more() {
    let scene = Scene::new(|config| config.limits.link = Duration::from_secs(600)).await;
    let address = scene.listed(0).address();
    let mut silent = Vec::new();
    for network in 1..=4 {
        for host in 1..=64 {
            silent.push(dial([127, 1, network, host].into(), address).await.unwrap());
        }
    }
    until_equal(|| scene.relay(0).held().half_open, 4 * 32).await;
    until_equal(|| scene.relay(0).counts().refused_connections, 4 * 32).await;
    let told = scene.told.lock().unwrap().clone();
    let is_refusal = |event: &RelayEvent| matches!(event, RelayEvent::TooMany { network: true, .. });
    assert!(told.iter().all(is_refusal), "{told:?}");
    assert_eq!(told.len(), 20, "128 refusals are twenty lines of the log");
    scene.serves().await;
    drop(silent);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_of_all_networks_together_leave_room_for_listed_relays() {
    let scene = Scene::new(|config| {
        config.limits.links = 40;
        config.limits.half_open = 20;
    })
    .await;
    let address = scene.listed(1).address();
    let mut silent = Vec::new();
    for network in 1..=60 {
        silent.push(dial([127, 1, network, 1].into(), address).await.unwrap());
    }
    until_equal(|| scene.relay(1).held().half_open, 20).await;
    // Ada has to connect to bob anew.
    scene.relay(0).disconnect();
    scene.serves_in_time().await;
    drop(silent);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_onionskin_makes_one_circuit() {
    let scene = Scene::new(|_| {}).await;
    let relay = scene.listed(0);
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let Cell { message, .. } = create(relay, 1);
    let cells: Vec<_> = (0..100).map(|_| Cell { circuit: raw.fresh_number(), message: message.clone() }).collect();
    raw.send(cells).await;
    let mut made = 0;
    for _ in 0..100 {
        match raw.next().await.expect("each creation is answered").message {
            Message::Created2(_) => made += 1,
            Message::Destroy(DestroyReason::PROTOCOL) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((made, scene.relay(0).counts().replayed), (1, 99));
    let number = raw.fresh_number();
    raw.created(relay, number).await;
    let mut other = scene.raw(0, [127, 1, 2, 1]).await;
    other.send([Cell { circuit: 0x8000_0001, message }]).await;
    assert_eq!(other.next().await.unwrap().message, Message::Destroy(DestroyReason::PROTOCOL), "on another link too");
    scene.serves().await;
    drop((raw, other));
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_makes_circuits_by_its_rate_and_others_by_theirs() {
    let scene = Scene::new(|config| {
        config.limits.network.creations = Rate { burst: 20, per_second: 0 };
        config.limits.handshake_queue = 1000;
    })
    .await;
    let relay = scene.listed(0);
    for network in 1..=2 {
        let mut links = [scene.raw(0, [127, 1, network, 1]).await, scene.raw(0, [127, 1, network, 2]).await];
        let (mut made, mut refused) = (0, 0);
        for raw in &mut links {
            let cells: Vec<_> = (0..30).map(|_| create(relay, raw.fresh_number())).collect();
            raw.send(cells).await;
            for _ in 0..30 {
                match raw.next().await.expect("each creation is answered").message {
                    Message::Created2(_) => made += 1,
                    Message::Destroy(DestroyReason::RESOURCELIMIT) => refused += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!((made, refused), (20, 40), "two hosts of a network share its rate");
    }
    scene.serves().await;
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_holds_no_more_circuits_than_its_share() {
    let scene = Scene::new(|config| config.limits.network.circuits = 5).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuits = Vec::new();
    for _ in 0..5 {
        circuits.push(raw.open(scene.listed(0)).await);
    }
    let number = raw.fresh_number();
    raw.send([create(scene.listed(0), number)]).await;
    assert_eq!(raw.next().await.unwrap().message, Message::Destroy(DestroyReason::RESOURCELIMIT));
    raw.send([circuits[0].destroy()]).await;
    raw.open(scene.listed(0)).await;
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circuit_that_carries_nothing_expires_and_one_with_a_stream_does_not() {
    let scene = Scene::new(|config| config.limits.idle_circuit = Duration::from_secs(1)).await;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let (mut idle, mut busy) = (raw.open(scene.listed(2)).await, raw.open(scene.listed(2)).await);
    let begin = format!("127.0.0.1:{}\0", scene.target.address().port());
    raw.send([busy.cell(0, RelayCommand::BEGIN, 1, begin.as_bytes())]).await;
    raw.hear(&mut busy).await;
    assert_eq!(raw.hear(&mut idle).await, crate::raw::Heard::Over(Some(DestroyReason::FINISHED)));
    assert_eq!(scene.relay(2).held().circuits, 1);
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_handshakes_fill_no_log_and_name_no_address() {
    let scene = Scene::new(|config| config.limits.log_lines = 5).await;
    for host in 1..=40 {
        let mut tcp = dial([127, 77, 77, host].into(), scene.listed(0).address()).await.unwrap();
        tcp.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        // TLS's alert, and the end.
        while let Ok(1..) = tcp.read(&mut [0; 100]).await {}
    }
    until(|| !scene.told.lock().unwrap().is_empty()).await;
    let told = scene.told.lock().unwrap().clone();
    assert_eq!(told.len(), 5, "{told:?}");
    for event in told {
        let RelayEvent::LinkFailed { why } = &event else { panic!("{event}") };
        assert!(why.contains("an incoming connection") && !why.contains("127."), "{why}");
    }
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_networks_links_have_a_bound_and_another_network_has_its_own() {
    let scene = Scene::new(|config| config.limits.network.connections = 3).await;
    let mut links = Vec::new();
    for host in 1..=3 {
        links.push(scene.raw(0, [127, 1, 1, host]).await);
    }
    assert!(Raw::from([127, 1, 1, 4].into(), scene.listed(0)).await.is_err());
    scene.raw(0, [127, 1, 2, 1]).await;
    links.pop();
    until_equal(|| scene.relay(0).counts().links, 3).await;
    links.push(scene.raw(0, [127, 1, 1, 4]).await);
    scene.serves().await;
    drop(links);
    scene.is_as_before().await;
}
