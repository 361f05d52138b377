//! Neighbours who take without giving back: they lose what is theirs, and nobody else loses anything.

use crate::proxy::tarpit;
use crate::raw::{Heard, Raw, RawCircuit, create, extend2};
use crate::scene::{Scene, holds_nothing, recovers, until};
use crate::town::{Town, client, local};
use candor_network::{Client, ClientOptions, Error, HandshakeType, ListedRelay, Policy, RelayKeys, RelayList, Target};
use candor_onion::cell::payload::{Create2, Created2};
use candor_onion::cell::{Cell, DestroyReason, MOST_VARIABLE, Message, PAYLOAD};
use candor_onion::relay::RelayCommand;
use rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768;
use socket2::SockRef;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// One onionskin again and again, with numbers that are not the client's to give: each is answered by DESTROY.
fn refused(relay: &ListedRelay, count: u32) -> Vec<Cell> {
    let Cell { message, .. } = create(relay, 1);
    (1..=count).map(|number| Cell { circuit: number, message: message.clone() }).collect()
}

/// More answers than TCP's buffers hold, so that many wait in the relay, and fewer than the relay minds.
const MANY: u32 = 15_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_that_reads_no_refusals_takes_no_room_from_others() {
    let town = Town::with(|config| {
        config.limits.cells = 1000;
        config.limits.circuits = MANY as usize;
    })
    .await;
    let relay = town.listed(0);
    let mut neighbour = Raw::new(relay).await;
    neighbour.send(refused(relay, MANY)).await;
    until(|| town.relay(0).counts().replayed == u64::from(MANY) - 1).await;
    assert!(town.relay(0).held().cells <= 1 + MANY as usize / 64, "{:?}", town.relay(0).held());
    let client = client();
    let circuit = town.circuit(&client).await;
    assert_eq!(town.fetch(&circuit, 50_000).await, Target::digest(50_000));
    assert_eq!(
        neighbour.next().await.unwrap().message,
        Message::Destroy(DestroyReason::PROTOCOL),
        "he could have read"
    );
    drop((circuit, client, neighbour));
    recovers(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_that_keeps_asking_and_never_reads_loses_its_link() {
    let town = Town::with(|config| config.limits.circuits = 10).await;
    let relay = town.listed(0);
    let mut neighbour = Raw::new(relay).await;
    let cells = refused(relay, MANY);
    while neighbour.try_send(cells.clone()).await.is_ok() {}
    until(|| town.relay(0).counts().links == 0).await;
    drop(neighbour);
    recovers(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_that_reads_nothing_loses_its_link_in_time() {
    let town = Town::with(|config| {
        config.limits.stuck = Duration::from_millis(100);
        config.limits.circuits = MANY as usize;
    })
    .await;
    let relay = town.listed(0);
    let mut neighbour = Raw::new(relay).await;
    neighbour.send(refused(relay, MANY)).await;
    until(|| town.relay(0).counts().links == 0).await;
    drop(neighbour);
    holds_nothing(&town).await;
}

/// A link from that address that reads nothing of many answers; little of them waits in the kernel, on either side.
async fn deaf(relay: &ListedRelay, from: [u8; 4]) -> Raw {
    let socket = TcpSocket::new_v4().unwrap();
    SockRef::from(&socket).set_tcp_mss(536).unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.bind((from, 0).into()).unwrap();
    let tcp = socket.connect(relay.address()).await.unwrap();
    let mut raw = Raw::over(tcp, relay, vec![X25519MLKEM768]).await.unwrap();
    // One that is given up meanwhile is cut off.
    let _ = raw.try_send(refused(relay, ANSWERS)).await;
    raw
}

const ANSWERS: u32 = 2000;

/// Links of one network keep what they don't read until all room is taken, and one of another network does, too. The first network holds most and loses as many links as
/// others need; the other's link waits for its other side, however long that is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_that_take_nothing_give_way_and_one_that_holds_little_lasts() {
    // A deaf link holds a batch, 128 cells, and some ends. Where two such are less than three quarters of all room, the busy one holds most only when room is no
    // longer short, however many links come in whichever order.
    const ROOM: usize = 800;
    let scene = Scene::new(|config| {
        config.limits.cells = ROOM;
        config.limits.stuck = Duration::from_secs(600);
    })
    .await;
    let relay = scene.listed(0);
    let held = || scene.relay(0).held();
    let answered = || scene.relay(0).counts().replayed + scene.relay(0).counts().refused_circuits;
    let (links, before) = (scene.links_before(0), answered());
    let mut busy = deaf(relay, [127, 1, 2, 1]).await;
    until(|| answered() - before >= u64::from(ANSWERS) - 1).await;
    let mut many = Vec::new();
    while held().cells < ROOM && held().links > links + many.len() {
        assert!(many.len() < 60, "they take no room: {:?}", held());
        many.push(deaf(relay, [127, 1, 1, 1]).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Nobody has read anything for a second. Then whoever asks for room makes some: here, cells that are not finished, which take fifteen cells' worth each.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let mut unfinished = Vec::new();
    Cell::on_link(Message::Vpadding(MOST_VARIABLE)).encode(&mut unfinished);
    unfinished.pop();
    let (start, mut askers) = (held().cells, Vec::new());
    while held().cells + 30 > start + 15 * askers.len() {
        assert!(start + 15 * askers.len() <= ROOM + ROOM / 8, "nobody gives way: {:?} after {start}", held());
        let mut asker = scene.raw(0, [127, 1, 3, 1]).await;
        let _ = asker.send_bytes(&unfinished).await;
        askers.push(asker);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    drop(askers);
    scene.serves().await;
    for answer in 1..=ANSWERS {
        let cell = busy.next().await.unwrap_or_else(|| panic!("lost before answer {answer}"));
        assert!(matches!(cell.message, Message::Destroy(_)), "{cell:?}");
    }
    drop((busy, many));
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_closed_goes_though_nobody_reads_its_last_cells() {
    let town = Town::with(|config| {
        config.limits.links = 1;
        config.limits.circuits = MANY as usize;
    })
    .await;
    let relay = town.relay(0);
    let mut neighbour = Raw::new(town.listed(0)).await;
    neighbour.send(refused(town.listed(0), MANY)).await;
    relay.disconnect();
    // There is one place, and it is free only when the old link is really gone.
    while client().circuit(&[town.listed(0)], HandshakeType::NtorV3).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(neighbour);
    holds_nothing(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_creation_by_the_same_number_ends_the_circuit() {
    let town = Town::new().await;
    let relay = town.listed(0);
    let mut neighbour = Raw::new(relay).await;
    let number = 0x8000_0001;
    neighbour.created(relay, number).await;
    neighbour.send([create(relay, number)]).await;
    assert_eq!(neighbour.next().await.unwrap().message, Message::Destroy(DestroyReason::PROTOCOL));
    until(|| town.relay(0).counts().circuits == 0).await;
    drop(neighbour);
    recovers(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circuits_of_all_links_together_have_a_bound() {
    let town = Town::with(|config| config.limits.all_circuits = 3).await;
    let path = [town.listed(0)];
    let clients = [client(), client()];
    let mut kept = Vec::new();
    for index in 0..3 {
        kept.push(clients[index % 2].circuit(&path, HandshakeType::NtorV3).await.unwrap());
    }
    let error = clients[1].circuit(&path, HandshakeType::NtorV3).await.unwrap_err().to_string();
    assert!(error.starts_with("hop 1:") && error.contains("out of resources"), "{error}");
    drop(kept);
    while clients[0].circuit(&path, HandshakeType::NtorV3).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(clients);
    holds_nothing(&town).await;
    recovers(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_asked_for_at_a_wrong_address_can_still_be_reached_at_its_own() {
    let town = Town::with(|config| config.limits.link = Duration::from_secs(600)).await;
    let (address, count) = tarpit().await;
    let mut line: serde_json::Value = serde_json::from_str(&town.listed(1).to_line()).unwrap();
    line["address"] = address.to_string().into();
    let misled = RelayList::parse(&line.to_string()).unwrap();
    let mut client = ClientOptions::default();
    client.limits.build = Duration::from_secs(600);
    let client = Arc::new(Client::new(client).unwrap());
    let mut first = client.circuit(&[town.listed(0)], HandshakeType::Hybrid768).await.unwrap();
    let waits = tokio::spawn(async move { first.extend(&misled.relays()[0], HandshakeType::Hybrid768).await });
    until(|| count.load(Ordering::Relaxed) == 1).await;
    assert_eq!(town.circuit(&client).await.hops(), 3);
    assert!(!waits.is_finished(), "the other one still waits");
    waits.abort();
    drop((waits.await, client));
    recovers(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extensions_to_the_same_dead_relay_wait_once() {
    let town = Town::with(|config| config.limits.link = Duration::from_secs(2)).await;
    let (address, count) = tarpit().await;
    let eve = RelayKeys::generate().unwrap().listed(None, address, &HandshakeType::ALL).unwrap();
    let client = Arc::new(client());
    let mut circuits = Vec::new();
    for _ in 0..4 {
        circuits.push(client.circuit(&[town.listed(0)], HandshakeType::Hybrid768).await.unwrap());
    }
    let eve = Arc::new(RelayList::parse(&eve.to_line()).unwrap());
    let extending: Vec<_> = circuits
        .into_iter()
        .map(|mut circuit| {
            let eve = Arc::clone(&eve);
            tokio::spawn(async move { circuit.extend(&eve.relays()[0], HandshakeType::Hybrid768).await })
        })
        .collect();
    for one in extending {
        let error = one.await.unwrap().unwrap_err().to_string();
        assert!(error.starts_with("hop 2: destroyed: next relay can't be reached"), "{error}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 1);
    drop(client);
    recovers(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_relay_drops_who_has_not_finished_the_link_handshake() {
    let mut town = Town::with(|config| config.limits.link = Duration::from_secs(600)).await;
    let mut loris = TcpStream::connect(town.listed(0).address()).await.unwrap();
    let mut other = TcpStream::connect(town.listed(1).address()).await.unwrap();
    // Once this circuit stands, the relays have long taken in who came before.
    assert_eq!(town.circuit(&client()).await.hops(), 3);
    town.relays[0].take().unwrap().shutdown(Duration::ZERO).await;
    assert!(matches!(loris.read(&mut [0]).await, Ok(0) | Err(_)));
    drop(town.relays[1].take());
    assert!(matches!(other.read(&mut [0]).await, Ok(0) | Err(_)));
    holds_nothing(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_stops_while_it_extends_a_circuit_says_so() {
    let mut town = Town::with(|config| config.limits.link = Duration::from_secs(600)).await;
    let (address, count) = tarpit().await;
    let eve = RelayKeys::generate().unwrap().listed(Some("eve".into()), address, &HandshakeType::ALL).unwrap();
    let client = client();
    let mut circuit = client.circuit(&[town.listed(0)], HandshakeType::Hybrid768).await.unwrap();
    let stopping = async {
        until(|| count.load(Ordering::Relaxed) == 1).await;
        town.relays[0].take().unwrap().shutdown(Duration::ZERO).await;
    };
    let (extended, ()) = tokio::join!(circuit.extend(&eve, HandshakeType::Hybrid768), stopping);
    let error = extended.unwrap_err().to_string();
    assert!(error.starts_with("hop ") && error.contains("hibernates"), "{error}");
    drop((circuit, client));
    holds_nothing(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_nobody_answers_is_given_up() {
    // One connection fills this queue, and whoever comes after it gets no answer.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(local()).unwrap();
    let full = socket.listen(0).unwrap();
    let port = full.local_addr().unwrap().port();
    let _first = TcpStream::connect(full.local_addr().unwrap()).await.unwrap();
    let policy = Policy::parse(&format!("127.0.0.1:{port}")).unwrap();
    let town = Town::with(|config| {
        config.policy = policy.clone();
        config.limits.connect = Duration::from_secs(600);
    })
    .await;
    let options = ClientOptions { stream: Duration::from_millis(200), ..ClientOptions::default() };
    let client = Client::new(options).unwrap();
    let circuit = town.circuit(&client).await;
    let error = circuit.open("127.0.0.1", port).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }) && error.to_string().contains("opening a stream"), "{error}");
    assert!(circuit.failure().is_none(), "the circuit goes on");
    drop((circuit, client));
    holds_nothing(&town).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_a_target_does_not_take_have_their_bound_too() {
    let listener = TcpListener::bind(local()).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let policy = Policy::parse(&format!("127.0.0.1:{port}")).unwrap();
    let town = Town::with(|config| {
        config.policy = policy.clone();
        if config.name.as_deref() == Some("cyd") {
            config.limits.cells = 300;
        }
    })
    .await;
    let client = client();
    let circuit = town.circuit(&client).await;
    let (mut kept, mut streams) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        streams.push(circuit.open("127.0.0.1", port).await.unwrap());
        kept.push(listener.accept().await.unwrap());
    }
    let upload = |mut stream: candor_network::CircuitStream| async move {
        let piece = vec![0; 100_000];
        while stream.write_all(&piece).await.is_ok() {}
    };
    let uploads: Vec<_> = streams.into_iter().map(|stream| tokio::spawn(upload(stream))).collect();
    for upload in uploads {
        upload.await.unwrap();
    }
    let error = circuit.failure().expect("nobody stops the client, so the exit does").to_string();
    assert!(error.starts_with("hop 3:") && error.contains("out of resources"), "{error}");
    drop((circuit, client));
    holds_nothing(&town).await;
}

/// Makes cells that a circuit must not take.
type Wrong<'a> = &'a dyn Fn(&mut RawCircuit) -> Vec<Cell>;

/// Cells of the right length with the wrong content: each ends its circuit, and the one beside it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_of_wrong_content_ends_its_circuit_and_no_other() {
    let scene = Scene::new(|_| {}).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut twin = raw.open(scene.listed(0)).await;
    let drop_cell = |circuit: &mut RawCircuit| circuit.cell(0, RelayCommand::DROP, 0, &[]);
    let of = |circuit: &RawCircuit, message| vec![Cell { circuit: circuit.number, message }];
    let cases: [(&str, Wrong<'_>); 7] = [
        ("all zero", &|circuit| of(circuit, Message::Relay(Box::new([0; PAYLOAD])))),
        ("replayed", &|circuit| vec![drop_cell(circuit); 2]),
        ("reordered", &|circuit| {
            let mut cells = vec![drop_cell(circuit), drop_cell(circuit)];
            cells.reverse();
            cells
        }),
        ("the other side's answer", &|circuit| of(circuit, Message::Created2(Created2::new(vec![0; 64]).unwrap()))),
        ("a hop's message from the client", &|circuit| vec![circuit.cell(0, RelayCommand::TRUNCATED, 0, &[0])]),
        ("a stream's message without a stream", &|circuit| vec![circuit.cell(0, RelayCommand::DATA, 0, b"x")]),
        ("an extension that is not early", &|circuit| {
            let body = extend2(scene.listed(1).address(), scene.listed(1).identity(), &[0; 84]);
            vec![circuit.cell(0, RelayCommand::EXTEND2, 0, &body)]
        }),
    ];
    for (stream, (what, wrong)) in (1..).zip(cases) {
        let mut circuit = raw.open(scene.listed(0)).await;
        let cells = wrong(&mut circuit);
        raw.send(cells).await;
        assert_eq!(raw.hear(&mut circuit).await, Heard::Over(Some(DestroyReason::PROTOCOL)), "{what}");
        raw.send([twin.cell(0, RelayCommand::BEGIN_DIR, stream, &[])]).await;
        let heard = raw.hear(&mut twin).await;
        assert!(matches!(heard, Heard::Said(0, RelayCommand::END, at, _) if at == stream), "{what}: {heard:?}");
    }
    for (kind, length) in [(HandshakeType::NtorV3.number(), 138), (HandshakeType::Ntor.number(), 84), (0x7777, 84)] {
        let number = raw.fresh_number();
        let create = Create2::new(kind, vec![0; length]).unwrap();
        raw.send([Cell { circuit: number, message: Message::Create2(create) }]).await;
        let refused = raw.next().await.expect("the link goes on");
        assert!(matches!(refused.message, Message::Destroy(_)) && refused.circuit == number, "{kind}: {refused:?}");
        raw.open(scene.listed(0)).await;
    }
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circuit_by_hand_is_served_like_any_other() {
    let scene = Scene::new(|_| {}).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(0)).await;
    raw.extend(&mut circuit, scene.listed(1)).await.unwrap();
    raw.extend(&mut circuit, scene.listed(2)).await.unwrap();
    let port = scene.target.address().port();
    raw.send([circuit.cell(2, RelayCommand::BEGIN, 1, format!("127.0.0.1:{port}\0").as_bytes())]).await;
    assert!(matches!(raw.hear(&mut circuit).await, Heard::Said(2, RelayCommand::CONNECTED, 1, _)));
    raw.send([circuit.cell(0, RelayCommand::TRUNCATE, 0, &[])]).await;
    assert!(matches!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::TRUNCATED, 0, _)));
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}
