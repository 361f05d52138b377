//! Clients that would use up an exit.

use crate::proxy::tarpit;
use crate::raw::{Heard, RawCircuit};
use crate::scene::{Scene, recovers, until, until_equal};
use crate::town::{Town, client, local};
use candor_network::{Client, ClientOptions, Crypto, Policy, RelayConfig};
use candor_onion::cell::{Cell, DestroyReason};
use candor_onion::relay::RelayCommand;
use candor_onion::relay::message::{Begin, EndReason};
use socket2::SockRef;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// A port whose connections never come about: its queue is full.
struct Deaf {
    address: SocketAddr,
    _kept: (TcpListener, TcpStream),
}

impl Deaf {
    async fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(local()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let first = TcpStream::connect(address).await.unwrap();
        Self { address, _kept: (listener, first) }
    }
}

/// Lets an exit go to one port more.
fn also(config: &mut RelayConfig, address: SocketAddr) {
    config.policy = Policy::parse(&format!("{} {address}", config.policy)).unwrap();
}

fn begin(circuit: &mut RawCircuit, stream: u16, to: SocketAddr) -> Cell {
    let target = Begin::new(&to.ip().to_string(), to.port()).unwrap();
    circuit.cell(0, RelayCommand::BEGIN, stream, &target.encode())
}

fn data(circuit: &mut RawCircuit, stream: u16, cells: usize, length: usize) -> Vec<Cell> {
    (0..cells).map(|_| circuit.cell(0, RelayCommand::DATA, stream, &vec![7; length])).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_data_for_a_deaf_port_costs_the_circuits_that_sent_it_and_no_others() {
    let deaf = Deaf::new().await;
    let scene = Scene::new(|config| {
        also(config, deaf.address);
        config.limits.cells = 4000;
        config.limits.connect = Duration::from_secs(600);
    })
    .await;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let mut circuits = Vec::new();
    for _ in 0..6 {
        circuits.push(raw.open(scene.listed(2)).await);
    }
    for circuit in &mut circuits {
        // Within tor1's windows.
        for stream in [1, 2] {
            let mut cells = vec![begin(circuit, stream, deaf.address)];
            cells.extend(data(circuit, stream, 450, 498));
            raw.send(cells).await;
        }
        scene.serves().await;
    }
    let mut lost = 0;
    while lost == 0 {
        let cell = raw.next().await.expect("the link goes on");
        let circuit = circuits.iter_mut().find(|circuit| circuit.number == cell.circuit).unwrap();
        match circuit.hear(cell) {
            Some(Heard::Over(reason)) => {
                assert_eq!(reason, Some(DestroyReason::RESOURCELIMIT));
                lost += 1;
            }
            Some(Heard::Said(_, command, ..)) => assert_eq!(command, RelayCommand::SENDME),
            None => {}
        }
    }
    assert!(scene.relay(2).held().cells <= 4500, "the bound and the reserve");
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_streams_make_room_for_others() {
    let (address, _) = tarpit().await;
    let scene = Scene::new(|config| {
        also(config, address);
        config.limits.streams = 20;
    })
    .await;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let mut circuits = [raw.open(scene.listed(2)).await, raw.open(scene.listed(2)).await];
    for circuit in &mut circuits {
        let begins: Vec<_> = (1..=10).map(|stream| begin(circuit, stream, address)).collect();
        raw.send(begins).await;
    }
    until_equal(|| scene.relay(2).held().streams, 20).await;
    scene.serves().await;
    let mut ended = Vec::new();
    while ended.is_empty() {
        let cell = raw.next().await.expect("the link goes on");
        let circuit = circuits.iter_mut().find(|circuit| circuit.number == cell.circuit).unwrap();
        match circuit.hear(cell) {
            Some(Heard::Said(_, RelayCommand::END, _, body)) => ended = body,
            Some(Heard::Said(_, RelayCommand::CONNECTED, ..)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ended, [EndReason::RESOURCELIMIT.0]);
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_carry_nothing_end_in_time() {
    let scene = Scene::new(|config| config.limits.idle_stream = Duration::from_millis(200)).await;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(2)).await;
    raw.send([begin(&mut circuit, 1, scene.target.address())]).await;
    let connected = raw.hear(&mut circuit).await;
    assert!(matches!(connected, Heard::Said(0, RelayCommand::CONNECTED, 1, _)), "{connected:?}");
    assert_eq!(raw.hear(&mut circuit).await, Heard::Said(0, RelayCommand::END, 1, vec![EndReason::TIMEOUT.0]));
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}

/// One byte a cell costs a relay as much as it says, not a cell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_pieces_take_the_room_of_their_bytes() {
    let deaf = Deaf::new().await;
    let scene = Scene::new(|config| {
        also(config, deaf.address);
        config.limits.connect = Duration::from_secs(600);
    })
    .await;
    let before = scene.relay(2).held().cells;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(2)).await;
    let mut cells = vec![begin(&mut circuit, 1, deaf.address)];
    cells.extend(data(&mut circuit, 1, 400, 1));
    raw.send(cells).await;
    // A SENDME of the circuit for each hundred says that they are there.
    let mut sendmes = 0;
    while sendmes < 4 {
        let heard = raw.hear(&mut circuit).await;
        assert!(matches!(heard, Heard::Said(0, RelayCommand::SENDME, ..)), "{heard:?}");
        sendmes += usize::from(matches!(heard, Heard::Said(_, _, 0, _)));
    }
    assert_eq!(scene.relay(2).held().cells, before + 1);
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_beyond_the_circuits_window_is_found_out() {
    let deaf = Deaf::new().await;
    let scene = Scene::new(|config| {
        also(config, deaf.address);
        config.limits.connect = Duration::from_secs(600);
        config.limits.circuit.circuit_unread = 0;
    })
    .await;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    for (cells, good) in [(250, true), (251, false)] {
        let mut circuit = raw.open(scene.listed(2)).await;
        for stream in 1..=4 {
            let mut sent = vec![begin(&mut circuit, stream, deaf.address)];
            sent.extend(data(&mut circuit, stream, cells, 1));
            raw.send(sent).await;
        }
        // Whatever the relay makes of that, it has done so before it answers this.
        raw.send([circuit.cell(0, RelayCommand::BEGIN_DIR, 9, &[])]).await;
        let heard = loop {
            match raw.hear(&mut circuit).await {
                Heard::Said(_, RelayCommand::SENDME, ..) => {}
                heard => break heard,
            }
        };
        match good {
            true => assert!(matches!(heard, Heard::Said(0, RelayCommand::END, 9, _)), "{heard:?}"),
            false => assert_eq!(heard, Heard::Over(Some(DestroyReason::PROTOCOL))),
        }
    }
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}

/// The number of a stream that has ended, but whose bytes still wait for their target.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streams_number_is_not_used_again_while_its_bytes_wait() {
    let deaf = Deaf::new().await;
    let scene = Scene::new(|config| {
        also(config, deaf.address);
        config.limits.connect = Duration::from_secs(600);
    })
    .await;
    let mut raw = scene.raw(2, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(2)).await;
    for _ in 0..3 {
        let mut cells = vec![begin(&mut circuit, 1, deaf.address)];
        cells.extend(data(&mut circuit, 1, 10, 498));
        cells.push(circuit.cell(0, RelayCommand::END, 1, &[EndReason::DONE.0]));
        raw.send(cells).await;
    }
    for _ in 0..2 {
        let refused = Heard::Said(0, RelayCommand::END, 1, vec![EndReason::RESOURCELIMIT.0]);
        assert_eq!(raw.hear(&mut circuit).await, refused);
    }
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}

/// An honest client whose sixty uploads nobody takes for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_slow_uploads_wait_and_then_arrive() {
    const UPLOADS: usize = 60;
    const LENGTH: usize = 400_000;
    let socket = TcpSocket::new_v4().unwrap();
    // Accepted connections inherit both: bytes wait in the exit, not in the kernel.
    socket.set_recv_buffer_size(4096).unwrap();
    SockRef::from(&socket).set_tcp_mss(536).unwrap();
    socket.bind(local()).unwrap();
    let listener = socket.listen(128).unwrap();
    let address = listener.local_addr().unwrap();
    let town = Town::with(|config| also(config, address)).await;
    for crypto in [Crypto::Tor1, Crypto::Cgo] {
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        let circuit = town.circuit(&client).await;
        let (mut taken, mut uploads) = (Vec::new(), Vec::new());
        for _ in 0..UPLOADS {
            let mut stream = circuit.open("127.0.0.1", address.port()).await.unwrap();
            taken.push(listener.accept().await.unwrap().0);
            uploads.push(tokio::spawn(async move {
                stream.write_all(&vec![5; LENGTH]).await?;
                // The end of the other side says that all has come.
                stream.read_to_end(&mut Vec::new()).await
            }));
        }
        // More than the circuit may leave unread: the exit holds back.
        until(|| town.relay(2).held().cells >= 2000).await;
        let reads = taken
            .into_iter()
            .map(|mut tcp| tokio::spawn(async move { tcp.read_exact(&mut vec![0; LENGTH]).await.map(|_| ()) }));
        for read in reads.collect::<Vec<_>>() {
            read.await.unwrap().unwrap();
        }
        for upload in uploads {
            upload.await.unwrap().unwrap();
        }
        assert!(circuit.failure().is_none(), "{crypto:?}: {:?}", circuit.failure());
        until_equal(|| town.relay(2).held().streams, 0).await;
    }
    recovers(&town).await;
}

/// `private`, `*` and wide networks don't lead to the exit's own machine, by whatever address a client asks for it, and nothing is
/// connected to in order to find out. A rule that names the address does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exits_own_machine_is_reached_only_where_its_policy_names_it() {
    let services = TcpListener::bind("[::]:0").await.unwrap_or(TcpListener::bind("0.0.0.0:0").await.unwrap());
    let port = services.local_addr().unwrap().port();
    let mut ways: Vec<String> = [
        "127.0.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "localhost",
        "[::]",
        "[::1]",
        "[::ffff:0.0.0.0]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
    ]
    .map(String::from)
    .into();
    // The address of an interface, if there is one but loopback.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    if socket.connect("192.0.2.1:9").is_ok() {
        ways.push(socket.local_addr().unwrap().ip().to_string());
    }
    let policies = [
        (format!("private:{port} *:{port} localhost:{port} 0.0.0.0/0:{port} [::]/0:{port}"), false),
        (format!("127.0.0.0/8:{port} 0.0.0.0:{port}"), true),
    ];
    for (policy, named) in policies {
        let town = Town::with(|config| config.policy = Policy::parse(&policy).unwrap()).await;
        let client = client();
        let circuit = town.circuit(&client).await;
        for way in &ways {
            let reached = circuit.open(way, port).await.map(|_| ());
            let listed = ["127.0.0.1", "127.0.0.2", "0.0.0.0", "[::ffff:0.0.0.0]", "[::ffff:127.0.0.1]", "localhost"];
            assert_eq!(reached.is_ok(), named && listed.contains(&way.as_str()), "{policy}: {way}: {reached:?}");
        }
        let knocked = tokio::time::timeout(Duration::ZERO, services.accept()).await.is_ok();
        assert_eq!(knocked, named, "{policy}");
    }
}
