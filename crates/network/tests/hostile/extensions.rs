//! Attacks by EXTEND2: links that run where the attacker wants, numbers that nobody frees, tarpits, and a relay's own network.

use crate::proxy::{Proxy, tarpit};
use crate::raw::{Heard, Raw, RawCircuit, extend2};
use crate::scene::{Scene, holds_nothing, list, until, until_equal};
use crate::town::local;
use candor_network::{HandshakeType, ListedRelay, Relay, RelayConfig, RelayKeys, RelayLimits, RelayList};
use candor_onion::cell::DestroyReason;
use candor_onion::relay::RelayCommand;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;

/// The same relay at another address.
fn moved(relay: &ListedRelay, address: SocketAddr) -> RelayList {
    let mut line: serde_json::Value = serde_json::from_str(&relay.to_line()).unwrap();
    line["address"] = address.to_string().into();
    RelayList::parse(&line.to_string()).unwrap()
}

/// EXTEND2 to an identity at an address, with an onionskin that is none.
fn extension(circuit: &mut RawCircuit, identity: [u8; 32], address: SocketAddr) -> candor_onion::cell::Cell {
    circuit.early(0, RelayCommand::EXTEND2, &extend2(address, &identity, &[0; 84]))
}

/// Relays that have no list and no links, so that all they know of each other is what their links say. They wait for a link as long as it
/// takes.
async fn strangers() -> Scene {
    strangers_with(|_| {}).await
}

/// The same, with a change to every relay's limits.
async fn strangers_with(change: impl Fn(&mut RelayLimits)) -> Scene {
    let scene = Scene::new(|config| {
        config.limits.link = Duration::from_secs(600);
        change(&mut config.limits);
    })
    .await;
    for index in 0..3 {
        scene.relay(index).know(&RelayList::default());
        scene.relay(index).disconnect();
    }
    for index in 0..3 {
        until_equal(|| scene.relay(index).held().links, 0).await;
    }
    scene
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_through_the_attackers_proxy_carries_nobody_else() {
    // Elsewhere, and on the relay's own host at another port.
    for at in [[127, 0, 0, 66], [127, 0, 0, 1]] {
        let scene = strangers().await;
        let proxy = Proxy::start(at, scene.listed(1).address()).await;
        let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
        let mut circuit = raw.open(scene.listed(0)).await;
        raw.extend(&mut circuit, &moved(scene.listed(1), proxy.address).relays()[0]).await.unwrap();
        proxy.stall();
        scene.serves().await;
        assert_eq!(proxy.connections(), 1, "the honest circuit went another way");
        // The link that the honest circuit made is everybody's, though: it, the attacker's and the proxy's are all that there are.
        for _ in 0..2 {
            until_equal(|| scene.relay(0).counts().links, 3).await;
            scene.serves().await;
        }
        until_equal(|| scene.relay(0).counts().links, 3).await;
        drop((raw, proxy));
        holds_nothing(&scene).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_comes_through_the_attackers_proxy_carries_nobody_else() {
    for at in [[127, 0, 0, 66], [127, 0, 0, 1]] {
        let scene = strangers().await;
        let proxy = Proxy::start(at, scene.listed(0).address()).await;
        let mut raw = scene.raw(1, [127, 1, 1, 1]).await;
        let mut circuit = raw.open(scene.listed(1)).await;
        raw.extend(&mut circuit, &moved(scene.listed(0), proxy.address).relays()[0]).await.unwrap();
        if at == [127, 0, 0, 66] {
            proxy.stall();
        }
        // On one host, no address tells a relay from its neighbour: there the link is taken for what it says.
        scene.serves().await;
        assert_eq!(proxy.connections(), 1);
        drop((raw, proxy));
        holds_nothing(&scene).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_to_one_relay_at_ever_new_addresses_are_few_and_end_no_circuit() {
    let scene = strangers_with(|limits| limits.network.asked = 6).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let (mut proxies, mut circuits) = (Vec::new(), Vec::new());
    for last in 60..67 {
        let proxy = Proxy::start([127, 0, 0, last], scene.listed(1).address()).await;
        let mut circuit = raw.open(scene.listed(0)).await;
        let extended = raw.extend(&mut circuit, &moved(scene.listed(1), proxy.address).relays()[0]).await;
        match last {
            66 => assert_eq!(extended, Err(Heard::Over(Some(DestroyReason::RESOURCELIMIT))), "six may be asked for"),
            _ => extended.unwrap(),
        }
        circuits.push(circuit);
        proxies.push(proxy);
    }
    // Three of the links serve nobody new, and all six serve those that they have.
    for circuit in &mut circuits[..6] {
        raw.send([circuit.cell(1, RelayCommand::BEGIN_DIR, 9, &[])]).await;
        let heard = raw.hear(circuit).await;
        assert!(matches!(heard, Heard::Said(1, RelayCommand::END, 9, _)), "{heard:?}");
    }
    scene.serves().await;
    drop((raw, circuits));
    // Three that are kept for those who ask for their addresses, and the honest one.
    until_equal(|| scene.relay(0).counts().links, 4).await;
    drop(proxies);
    until_equal(|| scene.relay(0).counts().links, 1).await;
    holds_nothing(&scene).await;
}

/// Relays that are on nobody's list: identities cost nothing.
async fn unheard_of(count: u8) -> Vec<Relay> {
    let mut relays = Vec::new();
    for last in 1..=count {
        let mut config = RelayConfig::new(([127, 0, 3, last], 0).into());
        config.limits.handshake_threads = 1;
        relays.push(Relay::start(&RelayKeys::generate().unwrap(), config).await.unwrap());
    }
    relays
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_to_free_identities_have_a_share_for_their_asker_and_for_their_target() {
    let scene = Scene::new(|config| {
        config.limits.network.asked = 4;
        config.limits.network.dialled = 6;
    })
    .await;
    let relays = unheard_of(7).await;
    let mut raws = Vec::new();
    let mut made = Vec::new();
    for network in 1..=2 {
        let mut raw = scene.raw(0, [127, 1, network, 1]).await;
        let mut extended = 0;
        for relay in &relays {
            let mut circuit = raw.open(scene.listed(0)).await;
            match raw.extend(&mut circuit, &relay.listed()).await {
                Ok(()) => extended += 1,
                Err(heard) => assert_eq!(heard, Heard::Over(Some(DestroyReason::RESOURCELIMIT))),
            }
        }
        made.push(extended);
        raws.push(raw);
    }
    assert_eq!(made[0], 4, "one network may ask for four");
    // The second network's circuits share the links that there are, and the seventh would be one too many for one target.
    assert_eq!(made[1], 6);
    assert_eq!(scene.relay(0).counts().links, scene.links_before(0) + 2 + 6);
    scene.serves().await;
    drop((raws, relays));
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_to_free_identities_that_carry_nothing_keep_nobody_out() {
    let scene = Scene::new(|config| config.limits.links = 16).await;
    let relays = unheard_of(14).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(0)).await;
    for relay in &relays {
        if raw.extend(&mut circuit, &relay.listed()).await.is_ok() {
            raw.send([circuit.cell(0, RelayCommand::TRUNCATE, 0, &[])]).await;
            assert!(matches!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::TRUNCATED, ..)));
        }
        circuit = raw.open(scene.listed(0)).await;
    }
    // Fourteen of sixteen places are for strangers and what they ask for.
    assert_eq!(scene.relay(0).held().links, scene.links_before(0) + 14);
    scene.serves().await;
    assert!(scene.relay(0).held().links <= scene.links_before(0) + 14);
    drop((raw, relays));
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_attempts_to_a_network_keep_nobody_elses_from_it() {
    let scene = Scene::new(|config| config.limits.attempts_per_target = 6).await;
    // Nobody knows bob, who is in the tarpit's network.
    let known = list(&[scene.listed(0), scene.listed(2)]);
    (0..3).for_each(|index| scene.relay(index).know(&known));
    let (tarpit, came) = tarpit().await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    for index in 0..20 {
        let mut circuit = raw.open(scene.listed(0)).await;
        let extend = extension(&mut circuit, [index; 32], tarpit);
        raw.send([extend]).await;
    }
    until(|| came.load(Ordering::Relaxed) == 4).await;
    assert_eq!(scene.relay(0).held().attempts, 4, "one network may have four on their way to one");
    scene.relay(1).disconnect();
    until_equal(|| scene.relay(0).counts().links, 1).await;
    scene.serves().await;
    assert_eq!((scene.relay(0).held().attempts, came.load(Ordering::Relaxed)), (4, 4));
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_that_is_given_up_at_once_leaves_no_number_behind() {
    let scene = strangers().await;
    let proxy = Proxy::start([127, 0, 0, 66], scene.listed(1).address()).await;
    proxy.stall();
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let identity = *scene.listed(1).identity();
    let mut circuits = Vec::new();
    for _ in 0..10 {
        let mut circuit = raw.open(scene.listed(0)).await;
        for _ in 0..7 {
            let extend = extension(&mut circuit, identity, proxy.address);
            raw.send([extend, circuit.cell(0, RelayCommand::TRUNCATE, 0, &[])]).await;
            assert!(matches!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::TRUNCATED, ..)));
        }
        circuits.push(circuit);
    }
    until_equal(|| scene.relay(0).held().attempts, 0).await;
    // One of them stays, and so the link comes about.
    let mut circuit = circuits.pop().unwrap();
    raw.send([extension(&mut circuit, identity, proxy.address)]).await;
    until_equal(|| scene.relay(0).held().attempts, 1).await;
    proxy.go_on();
    until_equal(|| scene.relay(0).held().attempts, 0).await;
    assert!(
        matches!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::TRUNCATED, ..)),
        "bob refuses the onionskin"
    );
    assert_eq!(scene.relay(0).held().circuits, 10);
    scene.serves().await;
    drop((raw, proxy));
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_for_an_extension_that_was_given_up_is_not_used_for_the_next() {
    let scene = strangers().await;
    let (first, second) = (
        Proxy::start([127, 0, 0, 66], scene.listed(1).address()).await,
        Proxy::start([127, 0, 0, 67], scene.listed(2).address()).await,
    );
    first.stall();
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(0)).await;
    let extend = extension(&mut circuit, *scene.listed(1).identity(), first.address);
    raw.send([extend]).await;
    until_equal(|| scene.relay(0).held().attempts, 1).await;
    raw.send([circuit.cell(0, RelayCommand::TRUNCATE, 0, &[])]).await;
    assert!(matches!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::TRUNCATED, ..)));
    first.go_on();
    raw.extend(&mut circuit, &moved(scene.listed(2), second.address).relays()[0]).await.unwrap();
    assert_eq!((scene.relay(1).held().circuits, scene.relay(2).held().circuits), (0, 1));
    scene.serves().await;
    drop((raw, first, second));
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tarpit_holds_few_attempts_and_honest_circuits_are_extended() {
    let scene = Scene::new(|_| {}).await;
    let (tarpit, came) = tarpit().await;
    let mut raws = Vec::new();
    for network in 1..=4 {
        let mut raw = scene.raw(0, [127, 1, network, 1]).await;
        for index in 0..65 {
            let mut circuit = raw.open(scene.listed(0)).await;
            let extend = extension(&mut circuit, [index; 32], tarpit);
            raw.send([extend]).await;
        }
        raws.push(raw);
    }
    until(|| came.load(Ordering::Relaxed) > 0).await;
    let RelayConfig { limits, .. } = RelayConfig::new(local());
    let most = 4 * limits.attempts_per_asker_and_target;
    assert!(scene.relay(0).held().attempts <= most, "{:?}", scene.relay(0).held());
    assert!(came.load(Ordering::Relaxed) <= most);
    // The honest extension needs a new link too.
    scene.relay(1).disconnect();
    scene.serves().await;
    drop(raws);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_is_reached_from_outside_connects_to_no_private_address() {
    let (inside, came) = tarpit().await;
    for (advertise, reaches) in [(Some("1.2.3.4:443"), false), (None, true)] {
        let free = TcpListener::bind(local()).await.unwrap().local_addr().unwrap();
        let keys = RelayKeys::generate().unwrap();
        let mut config = RelayConfig::new(free);
        config.advertise = advertise.map(|address| address.parse().unwrap());
        let relay = Relay::start(&keys, config).await.unwrap();
        let listed = keys.listed(None, free, &HandshakeType::ALL).unwrap();
        let mut raw = Raw::new(&listed).await;
        let mut circuit = raw.open(&listed).await;
        let extend = extension(&mut circuit, [9; 32], inside);
        raw.send([extend]).await;
        match reaches {
            true => until(|| came.load(Ordering::Relaxed) == 1).await,
            false => {
                let refused = vec![DestroyReason::CONNECTFAILED.0];
                assert_eq!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::TRUNCATED, 0, refused));
                assert_eq!(came.load(Ordering::Relaxed), 0);
            }
        }
        drop(raw);
        until_equal(|| (relay.held().attempts, relay.held().circuits, relay.held().links), (0, 0, 0)).await;
    }
}
