//! Relays that are silent, wrong, gone or overrun: the circuit ends, the error names the hop and the cause, others go on.

#[path = "hostile/raw.rs"]
mod raw;
mod town;

use candor_network::{
    Client, Error, HandshakeType, ListedRelay, Policy, Proxy, ProxyConfig, ProxyEvent, Relay, RelayConfig, RelayEvent,
    RelayKeys, RelayList, Target,
};
use candor_onion::cell::{Cell, DestroyReason, Message, PAYLOAD};
use raw::{Raw, create};
use rustls::crypto::aws_lc_rs::kx_group::{X25519, X25519MLKEM768};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use town::proxied::{list_of, serves, until};
use town::{PATIENCE, Town, client, drain, fetch, impatient, local};

/// A relay that is on no list's side: its keys are real, and at its address is somebody else.
fn listed_at(address: SocketAddr) -> ListedRelay {
    RelayKeys::generate().unwrap().listed(Some("eve".into()), address, &HandshakeType::ALL).unwrap()
}

/// Somebody who says `words` to whoever connects, and then nothing any more.
async fn stranger(words: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind(local()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut tcp, _)) = listener.accept().await {
            let _ = tcp.write_all(words).await;
            kept.push(tcp);
        }
    });
    address
}

async fn refused(client: &Client, path: &[&ListedRelay]) -> String {
    client.circuit(path, HandshakeType::Hybrid768).await.expect_err("the circuit can't be built").to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hop_that_is_silent_or_talks_nonsense_is_named() {
    let town = Town::with(|config| config.limits.link = Duration::from_millis(300)).await;
    let client = impatient();
    for words in [b"".as_slice(), b"HTTP/1.1 200 OK\r\n\r\n"] {
        let eve = listed_at(stranger(words).await);
        let path = town.path();
        let first = refused(&client, &[&eve, path[1], path[2]]).await;
        assert!(first.starts_with("hop 1:") && first.contains("eve at"), "{first}");
        let second = refused(&client, &[path[0], &eve, path[2]]).await;
        assert!(second.starts_with("hop 2: destroyed: next relay can't be reached"), "{second}");
        assert!(second.contains("eve at"), "{second}");
        let third = refused(&client, &[path[0], path[1], &eve]).await;
        assert!(third.starts_with("hop 3:") && third.contains("eve at"), "{third}");
    }
    let circuit = town.circuit(&client).await;
    assert_eq!(town.fetch(&circuit, 100).await, Target::digest(100), "the others go on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_extends_too_slowly_is_the_clients_time_out() {
    // The relay would wait for a minute; the client does not.
    let town = Town::with(|config| config.limits.link = Duration::from_secs(60)).await;
    let eve = listed_at(stranger(b"").await);
    let error = refused(&impatient(), &[town.path()[0], &eve]).await;
    assert!(error.starts_with("hop 2: timed out"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_with_another_identity_than_the_lists_is_refused() {
    let town = Town::new().await;
    let client = client();
    let impostor = listed_at(town.listed(1).address());
    let first = client.circuit(&[&impostor], HandshakeType::Hybrid768).await.unwrap_err();
    let Error::FirstHop { source, .. } = &first else { panic!("{first}") };
    assert!(matches!(**source, Error::Link { source: candor_onion::Error::WrongIdentity, .. }), "{first}");
    let second = refused(&client, &[town.path()[0], &impostor]).await;
    assert!(second.starts_with("hop 2: destroyed: next relay has another identity than the one asked for"), "{second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_with_other_onion_keys_than_the_lists_is_refused() {
    let town = Town::new().await;
    let client = client();
    let other = RelayKeys::generate().unwrap().listed(None, local(), &HandshakeType::ALL).unwrap();
    let with_keys_of = |relay: &ListedRelay, other: &ListedRelay| {
        let mut line: serde_json::Value = serde_json::from_str(&relay.to_line()).unwrap();
        line["keys"] = serde_json::from_str::<serde_json::Value>(&other.to_line()).unwrap()["keys"].clone();
        RelayList::parse(&line.to_string()).unwrap()
    };
    let path = town.path();
    for hop in 1..=3 {
        let false_keys = with_keys_of(path[hop - 1], &other);
        let mut path = path.clone();
        path[hop - 1] = &false_keys.relays()[0];
        for handshake in [HandshakeType::Ntor, HandshakeType::NtorV3, HandshakeType::Hybrid768Auth] {
            let error = client.circuit(&path, handshake).await.unwrap_err().to_string();
            assert!(error.starts_with(&format!("hop {hop}:")), "{handshake}: {error}");
        }
    }
    assert_eq!(town.circuit(&client).await.hops(), 3, "the others go on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_killed_in_the_middle_ends_its_circuits_and_no_others() {
    let mut town = Town::new().await;
    let client = client();
    let circuit = town.circuit(&client).await;
    let other = client.circuit(&[town.path()[0], town.path()[2]], HandshakeType::Hybrid768).await.unwrap();
    let idle = circuit.open("127.0.0.1", town.target.address().port()).await.unwrap();

    drop(town.relays[1].take());
    let broken = drain(idle).await.expect_err("the stream breaks").to_string();
    assert!(broken.starts_with("hop 2:") && broken.contains("bob at"), "{broken}");
    assert_eq!(circuit.failure().expect("the circuit is over").to_string(), broken);
    assert!(circuit.open("127.0.0.1", 1).await.unwrap_err().to_string().starts_with("hop 2:"));
    let port = town.target.address().port();
    assert_eq!(fetch(&other, port, 100).await.unwrap(), Target::digest(100), "the others go on");
}

/// What the line of a relay that is a process of its own begins with, among those of the test harness.
const SAYS: &str = "relay: ";

/// A relay that is a process of its own, so that it can be frozen; not a test.
#[test]
#[ignore = "run by the test that freezes it"]
fn relay_process() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let relay = runtime.block_on(async {
        let mut config = RelayConfig::new(local());
        config.name = Some("bob".to_owned());
        Relay::start(&RelayKeys::generate().unwrap(), config).await.unwrap()
    });
    println!("{SAYS}{}", relay.listed().to_line());
    // Until whoever has started it goes.
    std::io::stdin().lines().for_each(drop);
}

/// That relay. It ends with this.
struct Freezable(Child);

impl Freezable {
    fn start() -> (Self, RelayList) {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "relay_process", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.filter_map(|line| line.split_once(SAYS).map(|(_, said)| said.to_owned())).next();
        (Self(process), RelayList::parse(&line.expect("the relay says its line")).unwrap())
    }

    fn freeze(&self) {
        let stopped = Command::new("kill").args(["-STOP", &self.0.id().to_string()]).status().unwrap();
        assert!(stopped.success());
        // The signal reaches each thread by itself: on a busy machine one of them may still have something to say.
        let threads = format!("/proc/{}/task", self.0.id());
        let runs = |thread: std::fs::DirEntry| {
            let state = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            !state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
        };
        let deadline = Instant::now() + PATIENCE;
        while std::fs::read_dir(&threads).unwrap().map(Result::unwrap).any(runs) {
            assert!(Instant::now() < deadline, "the relay does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Freezable {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_freezes_in_mid_transfer_is_named() {
    let town = Town::new().await;
    let client = client();
    let (process, bob) = Freezable::start();
    let path = [town.listed(0), &bob.relays()[0], town.listed(2)];
    let circuit = client.circuit(&path, HandshakeType::Hybrid768).await.unwrap();
    assert!(circuit.silent_hop(PATIENCE).await.is_none(), "all are well");

    let port = town.target.address().port();
    let mut stream = circuit.open("127.0.0.1", port).await.unwrap();
    stream.write_all(b"GET /bytes/50000000 HTTP/1.1\r\nHost: target\r\n\r\n").await.unwrap();
    stream.read_exact(&mut [0; 10_000]).await.unwrap();
    process.freeze();
    let error = circuit.silent_hop(Duration::from_secs(3)).await.expect("a hop is frozen");
    assert!(matches!(error, Error::Silent { hop: 2, .. }), "{error}");
    let said = error.to_string();
    assert!(said.starts_with("hop 2: no answer within 3 s") && said.contains("(relay bob at"), "{said}");
    let other = client.circuit(&[town.listed(0), town.listed(2)], HandshakeType::Hybrid768).await.unwrap();
    assert_eq!(town.fetch(&other, 100).await, Target::digest(100), "the others go on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_freezes_costs_one_stream_its_patience_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("guards.json");
    let town = Town::new().await;
    let (process, bob) = Freezable::start();
    let identity: String = bob.relays()[0].identity().iter().map(|byte| format!("{byte:02x}")).collect();
    let now = candor_network::Clock::default().now();
    let entry = format!(r#"{{"identity":"{identity}","drawn":{now},"last_listed":{now}}}"#);
    std::fs::write(&state, format!(r#"{{"guards":[{entry}]}}"#)).unwrap();
    let heard: Arc<Mutex<Vec<ProxyEvent>>> = Arc::default();
    let told = Arc::clone(&heard);
    let port = town.target.address().port();
    let list = || {
        RelayList::of(
            list_of(&town)
                .into_relays()
                .into_iter()
                .chain(RelayList::parse(&bob.relays()[0].to_line()).unwrap().into_relays())
                .collect(),
        )
    };
    let mut config = ProxyConfig::new(vec![local()]);
    (config.test_network, config.state, config.hops) = (true, Some(state), 2);
    (config.expected, config.spare) = (vec![port], 4);
    (config.client.stream, config.client.link) = (Duration::from_millis(1500), Duration::from_millis(500));
    config.log = Arc::new(move |event| told.lock().unwrap().push(event.clone()));
    let proxy = Proxy::start(config, list()).await.unwrap();
    until(|| proxy.metrics().circuits == 4).await;
    let at = proxy.addresses()[0];
    serves(&town, at, None).await;
    until(|| proxy.metrics().circuits == 5).await;
    // All circuits are over one guard. The first stream finds out, and the others are not tried: only the guard is, over a new link.
    process.freeze();
    serves(&town, at, None).await;
    // Two: that circuit, and the new link. Or one, if a circuit that is being built ahead has found out about the link meanwhile.
    assert!((1..=2).contains(&proxy.metrics().retries), "{:?}", heard.lock().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_without_a_post_quantum_group_works_and_is_told() {
    let town = Town::new().await;
    let relay = town.listed(0);
    for (group, told) in [(X25519MLKEM768, 0), (X25519, 1)] {
        let mut neighbour = Raw::with_group(relay, group).await;
        neighbour.created(relay, 0x8000_0001).await;
        let events = town.told.lock().unwrap().clone();
        assert_eq!(events.len(), told, "{events:?}");
        let expected = |event: &RelayEvent| matches!(event, RelayEvent::NotPostQuantum { group, relay: false } if group == "X25519");
        assert!(events.iter().all(expected), "{events:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cells_after_destroy_are_nobodys_and_the_link_goes_on() {
    let town = Town::new().await;
    let relay = town.listed(0);
    let mut neighbour = Raw::new(relay).await;
    let number = 0x8000_0001;
    neighbour.created(relay, number).await;
    let late = || Cell { circuit: number, message: Message::Relay(Box::new([1; PAYLOAD])) };
    let destroy = Cell { circuit: number, message: Message::Destroy(DestroyReason::REQUESTED) };
    let wrong_half = create(relay, 5);
    neighbour.send([destroy, late(), late(), wrong_half, create(relay, number)]).await;
    let refused = neighbour.next().await.unwrap();
    assert_eq!((refused.circuit, refused.message), (5, Message::Destroy(DestroyReason::PROTOCOL)));
    assert!(
        matches!(neighbour.next().await, Some(Cell { circuit, message: Message::Created2(_) }) if circuit == number)
    );
    // A cell that nobody made ends its circuit.
    neighbour.send([late()]).await;
    assert_eq!(neighbour.next().await.unwrap().message, Message::Destroy(DestroyReason::PROTOCOL));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_handshakes_than_fit_the_queue_are_refused_and_the_rest_are_answered() {
    let town = Town::with(|config| config.limits.handshake_queue = 4).await;
    let relay = town.listed(0);
    let mut neighbour = Raw::new(relay).await;
    let flood: Vec<_> = (1..=500).map(|number| create(relay, 0x8000_0000 | number)).collect();
    neighbour.send(flood).await;
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..500 {
        match neighbour.next().await.expect("every creation is answered").message {
            Message::Created2(_) => answered += 1,
            Message::Destroy(DestroyReason::RESOURCELIMIT) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(answered >= 4, "{answered}");
    assert!(refused > 0, "one thread can't answer 500 at once");
    let counts = town.relay(0).counts();
    assert_eq!((counts.handshakes, counts.refused, counts.circuits), (answered, refused, answered as usize));
    assert_eq!(town.circuit(&client()).await.hops(), 3, "afterwards there is room again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_that_comes_alone_to_an_idle_relay_is_answered_at_once() {
    let town = Town::new().await;
    let client = client();
    let _circuit = town.circuit(&client).await;
    for index in 0..3 {
        let counts = town.relay(index).counts();
        assert_eq!((counts.handshakes, counts.handshakes_at_once), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circuits_above_a_links_bound_are_refused() {
    let town = Town::with(|config| config.limits.circuits = 3).await;
    let client = client();
    let path = town.path();
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(client.circuit(&path[..1], HandshakeType::NtorV3).await.unwrap());
    }
    let error = client.circuit(&path[..1], HandshakeType::NtorV3).await.unwrap_err().to_string();
    assert!(error.starts_with("hop 1:") && error.contains("out of resources"), "{error}");
    drop(kept);
    // DESTROY goes ahead of the creation on the same link.
    assert!(client.circuit(&path[..1], HandshakeType::NtorV3).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutting_down_finishes_what_is_in_flight() {
    let mut town = Town::new().await;
    let client = client();
    let circuit = Arc::new(town.circuit(&client).await);
    let port = town.target.address().port();
    let fetching = {
        let circuit = Arc::clone(&circuit);
        let stream = circuit.open("127.0.0.1", port).await.unwrap();
        tokio::spawn(async move {
            let url = candor_network::http::Url::parse(&format!("http://127.0.0.1:{port}/bytes/5000000")).unwrap();
            candor_network::http::get(stream, &url, PATIENCE, |_| Ok(())).await
        })
    };
    let exit = town.relays[2].take().unwrap();
    let listed = RelayList::parse(&exit.listed().to_line()).unwrap();
    exit.shutdown(Duration::from_secs(60)).await;
    assert_eq!(fetching.await.unwrap().unwrap().length, 5_000_000);
    assert!(circuit.open("127.0.0.1", port).await.is_err(), "then it is over");
    assert!(client.circuit(&[&listed.relays()[0]], HandshakeType::NtorV3).await.is_err(), "and nothing new is taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutting_down_destroys_what_does_not_end() {
    let listener = TcpListener::bind(local()).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let policy = Policy::parse(&format!("127.0.0.1:{port}")).unwrap();
    let mut town = Town::with(|config| config.policy = policy.clone()).await;
    let client = client();
    let circuit = town.circuit(&client).await;
    let endless = circuit.open("127.0.0.1", port).await.unwrap();
    let _held = listener.accept().await.unwrap();
    town.relays[2].take().unwrap().shutdown(Duration::from_millis(200)).await;
    let error = drain(endless).await.unwrap_err().to_string();
    assert!(error.starts_with("hop 3: destroyed:") && error.contains("cyd at"), "{error}");
}
