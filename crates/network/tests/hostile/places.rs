//! Attacks on the places for links, and on those who share what one relay's link brings.

use crate::proxy::tarpit;
use crate::raw::{Heard, Raw, create};
use crate::scene::{Scene, holds_nothing, list, until, until_equal};
use candor_network::{HandshakeType, Policy, RelayKeys};
use candor_onion::cell::Message;
use candor_onion::relay::RelayCommand;
use candor_onion::relay::message::{Begin, EndReason};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Places for strangers' links, if there are sixteen in all.
const PLACES: usize = 14;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_links_of_strangers_make_room_for_newcomers() {
    for (idle, makes_room) in [(Duration::from_millis(50), true), (Duration::from_secs(600), false)] {
        let scene = Scene::new(|config| {
            config.limits.links = 16;
            config.limits.idle_link = idle;
        })
        .await;
        let mut raws = Vec::new();
        for network in 1..=PLACES as u8 {
            // Of two providers, neither of which has more than is fair.
            let mut raw = scene.raw(0, [127, 3 + network % 2, network, 1]).await;
            // A circuit an hour would keep the place.
            raw.open(scene.listed(0)).await;
            raws.push(raw);
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
        let newcomer = Raw::from([127, 2, 1, 1].into(), scene.listed(0)).await;
        assert_eq!(newcomer.is_ok(), makes_room, "{idle:?}");
        drop(newcomer);
        if makes_room {
            scene.serves().await;
        }
        drop(raws);
        scene.is_as_before().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_with_many_busy_links_makes_room_for_newcomers() {
    let scene = Scene::new(|config| config.limits.links = 16).await;
    let mut raws = Vec::new();
    for host in 1..=PLACES as u8 {
        raws.push(scene.raw(0, [127, 1, 1, host]).await);
    }
    scene.serves().await;
    drop(raws);
    scene.is_as_before().await;
}

/// Whoever comes from a listed relay's address, through an exit there or from the same host, is no listed relay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_relays_address_gives_its_neighbours_no_places() {
    let scene = Scene::new(|config| config.limits.links = 16).await;
    let from: IpAddr = [127, 5, 5, 5].into();
    let keys = RelayKeys::generate().unwrap();
    let neighbour = keys.listed(None, SocketAddr::new(from, 443), &HandshakeType::ALL).unwrap();
    let mut relays = scene.path();
    relays.push(&neighbour);
    scene.relay(1).know(&list(&relays));
    let mut raws = Vec::new();
    for _ in 0..PLACES {
        raws.push(Raw::from(from, scene.listed(1)).await.expect("there are places for strangers"));
    }
    for _ in 0..4 {
        assert!(Raw::from(from, scene.listed(1)).await.is_err(), "the rest are for listed relays");
    }
    // Ada has to connect to bob anew.
    scene.relay(0).disconnect();
    scene.serves().await;
    drop(raws);
    scene.is_as_before().await;
}

/// Its links carried as many circuits as a listed relay may bring; now it counts as a stranger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_leaves_the_list_loses_the_links_of_a_listed_one() {
    let scene = Scene::new(|_| ()).await;
    let (ada, bob) = (scene.relay(0), scene.relay(1));
    // The same list once more changes nothing.
    let all = list(&scene.path());
    bob.know(&all);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((ada.held().links, bob.held().links), (scene.links_before(0), scene.links_before(1)));
    bob.know(&list(&[scene.listed(1), scene.listed(2)]));
    until_equal(|| bob.held().links, scene.links_before(1) - 1).await;
    until_equal(|| ada.held().links, 0).await;
    // It is a stranger that carries circuits.
    scene.serves().await;
    until_equal(|| bob.held().links, scene.links_before(1)).await;
    bob.know(&all);
    ada.disconnect();
    scene.serves().await;
    scene.is_as_before().await;
}

/// As [above](a_relay_that_leaves_the_list_loses_the_links_of_a_listed_one), but its link was a stranger's all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_a_listed_relay_beyond_its_number_are_strangers() {
    let scene = Scene::new(|config| config.limits.links_per_relay = 0).await;
    let bob = scene.relay(1);
    let all = list(&scene.path());
    bob.know(&list(&[scene.listed(1), scene.listed(2)]));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(scene.relay(0).held().links, scene.links_before(0));
    bob.know(&all);
    scene.serves().await;
    scene.is_as_before().await;
}

/// Thousands of connections that are closed at once would keep cells waiting, those of other payers too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_end_together_give_all_places_back() {
    let (address, _) = tarpit().await;
    let scene = Scene::new(|config| {
        config.policy = Policy::parse(&format!("{} {address}", config.policy)).unwrap();
        config.limits.streams = 200;
    })
    .await;
    let begin = Begin::new(&address.ip().to_string(), address.port()).unwrap().encode();
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(2)).await;
    // The link ends while connections are being opened, others are open and others lose their places.
    for stream in 1..=400 {
        raw.send([circuit.cell(0, RelayCommand::BEGIN, stream, &begin)]).await;
    }
    until(|| scene.relay(2).held().streams > 100).await;
    drop(raw);
    scene.serves().await;
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_from_a_listed_address_are_few() {
    let scene = Scene::new(|config| config.limits.link = Duration::from_secs(600)).await;
    let from: IpAddr = [127, 5, 5, 5].into();
    let keys = RelayKeys::generate().unwrap();
    let neighbour = keys.listed(None, SocketAddr::new(from, 443), &HandshakeType::ALL).unwrap();
    let mut relays = scene.path();
    relays.push(&neighbour);
    scene.relay(0).know(&list(&relays));
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(crate::raw::dial(from, scene.listed(0).address()).await.unwrap());
    }
    until_equal(|| scene.relay(0).counts().refused_connections, 12).await;
    assert_eq!(scene.relay(0).held().half_open, 8);
    scene.serves().await;
    drop(silent);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_leads_to_no_listed_relay() {
    let scene = Scene::new(|config| config.policy = Policy::parse("127.0.0.0/8:*").unwrap()).await;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(2)).await;
    let to = scene.listed(0).address();
    let begin = Begin::new(&to.ip().to_string(), to.port()).unwrap().encode();
    raw.send([circuit.cell(0, RelayCommand::BEGIN, 1, &begin)]).await;
    assert_eq!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::END, 1, vec![EndReason::EXITPOLICY.0]));
    scene.serves().await;
    // The same address and port, if no relay is known to be there.
    let all = list(&scene.path());
    scene.relay(2).know(&list(&[scene.listed(1), scene.listed(2)]));
    raw.send([circuit.cell(0, RelayCommand::BEGIN, 2, &begin)]).await;
    let heard = raw.hear(&mut circuit).await;
    assert!(matches!(heard, Heard::Said(0, RelayCommand::CONNECTED, 2, _)), "{heard:?}");
    scene.relay(2).know(&all);
    drop(raw);
    scene.is_as_before().await;
}

/// Four networks with thirty links and a stream on each, and ten clients behind one listed relay. No network has as many streams as the
/// listed relay brings, so the ten go first if they count as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_links_with_a_stream_each_do_not_outlast_streams_behind_a_listed_relay() {
    let (address, _) = tarpit().await;
    let scene = Scene::new(|config| {
        config.policy = Policy::parse(&format!("{} {address}", config.policy)).unwrap();
        config.limits.streams = 40;
    })
    .await;
    let begin = Begin::new(&address.ip().to_string(), address.port()).unwrap().encode();
    let mut honest = scene.raw(0, [127, 2, 1, 1]).await;
    let mut circuits = Vec::new();
    for _ in 0..10 {
        let mut circuit = honest.open(scene.listed(0)).await;
        honest.extend(&mut circuit, scene.listed(2)).await.unwrap();
        honest.send([circuit.cell(1, RelayCommand::BEGIN, 1, &begin)]).await;
        assert!(matches!(honest.hear(&mut circuit).await, Heard::Said(1, RelayCommand::CONNECTED, 1, _)));
        circuits.push(circuit);
    }
    let mut raws = Vec::new();
    for host in 1..=30 {
        let mut raw = scene.raw(2, [127, 1, host % 4, host]).await;
        let mut circuit = raw.open(scene.listed(2)).await;
        raw.send([circuit.cell(0, RelayCommand::BEGIN, 1, &begin)]).await;
        assert!(matches!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::CONNECTED, 1, _)));
        raws.push((raw, circuit));
    }
    assert_eq!(scene.relay(2).held().streams, 40);
    // Every page that is fetched now takes somebody's place.
    scene.serves().await;
    for circuit in &mut circuits {
        honest.send([circuit.cell(1, RelayCommand::BEGIN_DIR, 9, &[])]).await;
        let heard = honest.hear(circuit).await;
        assert!(matches!(heard, Heard::Said(1, RelayCommand::END, 9, _)), "the stream was taken away: {heard:?}");
    }
    drop((honest, raws));
    // But for a link between the two relays, which stays for a while.
    holds_nothing(&scene).await;
}

/// A few networks fill the link between two relays with circuits that carry nothing, and keep asking for more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_circuits_on_the_link_between_two_relays_make_room_for_others() {
    let scene = Scene::new(|config| config.limits.circuits = 16).await;
    let mut raws = Vec::new();
    for network in 1..=3 {
        let mut raw = scene.raw(0, [127, 1, network, 1]).await;
        for _ in 0..10 {
            let mut circuit = raw.open(scene.listed(0)).await;
            // The link may have no room at this moment, but has some soon.
            let _ = raw.extend(&mut circuit, scene.listed(1)).await;
        }
        raws.push(raw);
    }
    // Above fourteen, some have to go.
    until(|| scene.relay(1).held().circuits <= 14).await;
    scene.serves().await;
    drop(raws);
    scene.is_as_before().await;
}

/// Circuits of one network hold nearly all places, and those of another a few.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circuits_of_the_network_with_most_make_room_for_others() {
    let scene = Scene::new(|config| config.limits.all_circuits = 16).await;
    let mut few = scene.raw(0, [127, 2, 1, 1]).await;
    let mut kept = Vec::new();
    for _ in 0..4 {
        kept.push(few.open(scene.listed(0)).await);
    }
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    for number in 1..=12 {
        raw.send([create(scene.listed(0), 0x8000_0000 | number)]).await;
    }
    // Of sixteen circuits, no more than twelve stay. The four that go are of the network with twelve.
    let mut gone = 0;
    while gone < 4 {
        let cell = raw.next().await.expect("the link stays");
        gone += usize::from(matches!(cell.message, Message::Destroy(_)));
    }
    for circuit in &mut kept {
        few.send([circuit.cell(0, RelayCommand::BEGIN_DIR, 9, &[])]).await;
        let heard = few.hear(circuit).await;
        assert!(matches!(heard, Heard::Said(0, RelayCommand::END, 9, _)), "the circuit was taken away: {heard:?}");
    }
    scene.serves().await;
    drop((few, raw));
    scene.is_as_before().await;
}

/// A provider's range has any number of networks; each has a few links, and keeps them busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_networks_of_one_provider_make_room_for_newcomers() {
    // Seventy places for strangers.
    let scene = Scene::new(|config| config.limits.links = 80).await;
    let mut raws = Vec::new();
    while let Ok(raw) = Raw::from([127, 1, (raws.len() / 7) as u8, 1].into(), scene.listed(0)).await {
        raws.push(raw);
    }
    assert!(raws.len() > 64, "{}", raws.len());
    scene.serves().await;
    drop(raws);
    scene.is_as_before().await;
}
