//! Crowds of connections: each bound is attacked, and others are served meanwhile.

use crate::world::{World, ke1, parse, raw, request};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The connections that the server reports.
async fn connections(world: &World) -> usize {
    let text = raw(world.address(), &request("GET", "/metrics", "", "")).await;
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("candor_login_connections "));
    line.and_then(|number| number.parse().ok()).expect("a gauge")
}

#[tokio::test]
async fn connections_that_send_nothing_are_bounded_and_keep_nobody_out() {
    let world = World::new(&[("connections", "40"), ("connections-per-network", "20")]).await;
    let mut silent = Vec::new();
    for _ in 0..500 {
        silent.push(TcpStream::connect(world.address()).await.unwrap());
        if silent.len() % 50 == 0 {
            assert_eq!(world.get("/healthz", None).await.status, 200, "after {}", silent.len());
            assert!(connections(&world).await <= 21);
        }
    }
    // The oldest were closed; the newest are open.
    assert_eq!(silent[0].read(&mut [0; 1]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_connection_that_trickles_is_closed_in_time() {
    let world = World::new(&[("head-timeout", "200ms"), ("body-timeout", "200ms")]).await;
    let mut slow = TcpStream::connect(world.address()).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ";
    let mut sent = 0;
    // A byte at a time, for as long as the server listens.
    while slow.write_all(&[*head.get(sent).unwrap_or(&b'x')]).await.is_ok() && sent < 10_000 {
        sent += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(sent < 10_000);
    assert_eq!(world.get("/healthz", None).await.status, 200);
}

#[tokio::test]
async fn a_client_that_takes_no_answer_is_cut_off() {
    let world = World::new(&[("write-timeout", "200ms"), ("head-timeout", "200ms")]).await;
    let mut greedy = TcpStream::connect(world.address()).await.unwrap();
    // Asks and asks, and reads nothing, until both sides' buffers are full and the server gives up.
    let ask = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(64);
    while greedy.write_all(&ask).await.is_ok() {}
    assert_eq!(world.get("/healthz", None).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_login_starts_leaves_a_login_its_turn() {
    let world = World::new(&[
        ("proxies", "127.0.0.0/8"),
        ("waiting", "16"),
        ("waiting-per-network", "4"),
        ("exempt", "0.0.0.0/0"),
    ])
    .await;
    world.join("alice", "pw").await;
    let body = json!({ "name": "alice", "ke1": ke1("guess").1 }).to_string();
    let flood = "Content-Type: application/json\r\nX-Forwarded-For: 192.0.2.1\r\n";
    let flood = request("POST", "/v1/login/start", flood, &body);
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let (address, flood) = (world.address(), flood.clone());
        tasks.spawn(async move {
            let mut kinds = Vec::new();
            for _ in 0..10 {
                kinds.push(parse(&raw(address, &flood).await).kind());
            }
            kinds
        });
    }
    for _ in 0..5 {
        let proved = world.prove("alice", "pw").await;
        assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200, "from another network");
    }
    let kinds = tasks.join_all().await.concat();
    assert!(kinds.iter().all(|kind| kind == "200" || kind == "503 busy"), "{kinds:?}");
    assert!(kinds.iter().any(|kind| kind == "200"));
}

/// How many of 64 requests of an address whose guesses are turned away have been answered when a request that comes after them has been. The test's runtime
/// runs the server too, so nothing is answered before all have been sent. `accepted` says whether their connections have been accepted before.
async fn answered_before_another(settings: &[(&str, &str)], crowd: &[u8], accepted: bool, last: &str) -> usize {
    let from = [127, 0, 0, 1];
    let limits = [("exempt", "198.51.100.0/24"), ("address-burst", "1"), ("address-every", "1h")];
    let world = World::new(&[&limits, settings].concat()).await;
    let connect = |from: [u8; 4]| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(world.address())
    };
    // The address's only guess.
    let guess = json!({ "name": "alice", "ke1": ke1("guess").1 }).to_string();
    let guess =
        request("POST", "/v1/login/start", "Content-Type: application/json\r\nX-Forwarded-For: 192.0.2.1\r\n", &guess);
    let mut first = connect(from).await.unwrap();
    first.write_all(&guess).await.unwrap();
    let mut answer = Vec::new();
    first.read_to_end(&mut answer).await.unwrap();
    assert_eq!(parse(&answer).status, 200);
    let mut others = Vec::new();
    for _ in 0..64 {
        others.push(if accepted {
            connect(from).await.unwrap().into_std().unwrap()
        } else {
            let other = std::net::TcpStream::connect(world.address()).unwrap();
            other.set_nonblocking(true).unwrap();
            other
        });
    }
    let mut another = connect([127, 7, 7, 7]).await.unwrap().into_std().unwrap();
    if accepted {
        // Until the server waits for a request on each, so that it sees them in the order in which they come.
        for _ in 0..1000 {
            yield_now().await;
        }
    }
    others.iter_mut().for_each(|other| other.write_all(crowd).unwrap());
    another.write_all(&request("GET", "/healthz", last, "")).unwrap();
    let mut another = TcpStream::from_std(another).unwrap();
    let mut answer = Vec::new();
    another.read_to_end(&mut answer).await.unwrap();
    assert_eq!(parse(&answer).status, 200);
    answered(&mut others)
}

#[tokio::test]
async fn requests_of_addresses_that_are_turned_away_wait_behind_others() {
    let forwarded = "X-Forwarded-For: 192.0.2.1\r\n";
    let crowd = request("GET", "/healthz", forwarded, "");
    let proxy = [("proxies", "127.0.0.0/8")];
    let last = "X-Forwarded-For: 203.0.113.1\r\n";
    let before = answered_before_another(&proxy, &crowd, true, last).await;
    assert!(before < 32, "{before} of 64");
    // Where the first is like the others, it takes its turn after them.
    let before = answered_before_another(&proxy, &crowd, true, forwarded).await;
    assert!(before > 32, "{before} of 64");
}

#[tokio::test]
async fn connections_of_addresses_that_are_turned_away_wait_behind_others() {
    // This is no request, so only the connection can have been made to wait.
    let before = answered_before_another(&[], b"nonsense\r\n\r\n", false, "").await;
    assert!(before < 32, "{before} of 64");
}

/// Connections from this machine that have been accepted and have sent nothing.
async fn silent(world: &World, count: usize) -> Vec<std::net::TcpStream> {
    let mut crowd = Vec::new();
    for _ in 0..count {
        crowd.push(TcpStream::connect(world.address()).await.unwrap().into_std().unwrap());
    }
    // Until the server waits for something on each, so that it sees them in the order in which they come.
    for _ in 0..1000 + 8 * count {
        yield_now().await;
    }
    crowd
}

/// How many of these have got something from the server, if only its end.
fn answered(crowd: &mut [std::net::TcpStream]) -> usize {
    let waits = |line: &mut std::net::TcpStream| {
        line.read(&mut [0; 1]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    crowd.iter_mut().filter_map(|line| (!waits(line)).then_some(())).count()
}

/// How many of a crowd's requests, each on a connection of its own, have been answered when one has been that comes after them. The test's runtime runs the server
/// too, so nothing is answered before all have been sent.
async fn answered_before(world: &World, crowd: &[Vec<u8>], last: &[u8]) -> usize {
    let mut lines = silent(world, crowd.len() + 1).await;
    let mut another = lines.pop().unwrap();
    lines.iter_mut().zip(crowd).for_each(|(line, request)| line.write_all(request).unwrap());
    another.write_all(last).unwrap();
    let mut answer = Vec::new();
    TcpStream::from_std(another).unwrap().read_to_end(&mut answer).await.unwrap();
    assert_eq!(parse(&answer).status, 200);
    answered(&mut lines)
}

const FORWARDED: [(&str, &str); 2] = [("exempt", "198.51.100.0/24"), ("proxies", "127.0.0.0/8")];

/// A server whose clients come through a proxy and may ask so often.
async fn asked_at(burst: &str) -> World {
    World::new(&[&FORWARDED[..], &[("request-burst", burst), ("request-every", "1h")]].concat()).await
}

fn forwarded(method: &str, path: &str, from: &str) -> Vec<u8> {
    request(method, path, &format!("Content-Type: application/json\r\nX-Forwarded-For: {from}\r\n"), "{}")
}

#[tokio::test]
async fn five_hundred_connections_of_an_address_that_asks_very_often_wait_behind_others() {
    let crowd = vec![forwarded("GET", "/v1/config", "192.0.2.1"); 512];
    let last = forwarded("GET", "/v1/config", "203.0.113.1");
    let before = answered_before(&asked_at("1").await, &crowd, &last).await;
    assert!(before < 16, "{before} of 512");
    // At a rate that it may ask at, it goes on in the order in which requests come.
    let before = answered_before(&asked_at("1000").await, &crowd, &last).await;
    assert!(before > 256, "{before} of 512");
}

#[tokio::test]
async fn no_kind_of_request_is_exempt_from_the_rate_of_requests() {
    let world = asked_at("1").await;
    let interface = world.get("/openapi.json", None).await.body;
    let operations = interface["paths"].as_object().unwrap().iter();
    let operations = operations.flat_map(|(path, methods)| {
        methods.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.replace(['{', '}'], "x")))
    });
    let mut operations = operations.collect::<Vec<_>>();
    assert!(operations.len() > 20, "{operations:?}");
    operations.extend([("GET".to_owned(), "/nowhere".to_owned()), ("PUT".to_owned(), "/healthz".to_owned())]);
    let last = forwarded("GET", "/healthz", "198.51.100.1");
    for (method, path) in operations {
        let crowd = vec![forwarded(&method, &path, "192.0.2.1"); 32];
        let before = answered_before(&world, &crowd, &last).await;
        assert!(before < 8, "{method} {path}: {before} of 32");
    }
}

#[tokio::test]
async fn connections_of_an_address_that_connects_very_often_wait_behind_others() {
    for (burst, is_over) in [("1", true), ("1000", false)] {
        let world = World::new(&[("exempt", "127.7.0.0/16"), ("request-burst", burst), ("request-every", "1h")]).await;
        let mut crowd = Vec::new();
        for _ in 0..64 {
            let mut line = std::net::TcpStream::connect(world.address()).unwrap();
            line.set_nonblocking(true).unwrap();
            // This is no request, so only the connection can have been made to wait.
            line.write_all(b"nonsense\r\n\r\n").unwrap();
            crowd.push(line);
        }
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 7, 7, 7], 0).into()).unwrap();
        let mut another = socket.connect(world.address()).await.unwrap();
        another.write_all(&request("GET", "/healthz", "", "")).await.unwrap();
        let mut answer = Vec::new();
        another.read_to_end(&mut answer).await.unwrap();
        assert_eq!(parse(&answer).status, 200);
        let before = answered(&mut crowd);
        assert_eq!(before < 32, is_over, "{before} of 64 at {burst}");
    }
}

/// How many of 64 guesses, each from a network of its own, have been computed when a login start that comes after them has been.
async fn computed_before_another(burst: &str) -> usize {
    let world = World::new(&[&FORWARDED[..], &[("address-burst", burst), ("address-every", "1h")]].concat()).await;
    let body = json!({ "name": "alice", "ke1": ke1("guess").1 }).to_string();
    let guess = |from: &str| {
        let headers = format!("Content-Type: application/json\r\nX-Forwarded-For: {from}\r\n");
        request("POST", "/v1/login/start", &headers, &body)
    };
    let crowd: Vec<_> = (0..64).map(|number| guess(&format!("192.0.{number}.1"))).collect();
    answered_before(&world, &crowd, &guess("198.51.100.1")).await
}

#[tokio::test]
async fn guesses_that_use_their_addresses_up_are_computed_after_others() {
    let before = computed_before_another("1").await;
    assert!(before < 32, "{before} of 64");
    // Who may guess again at once goes on in the order in which requests come.
    let before = computed_before_another("2").await;
    assert!(before > 32, "{before} of 64");
}

/// What a client of TLS says first, and the connection that it belongs to.
fn hello(config: &Arc<ClientConfig>) -> Vec<u8> {
    let mut client = ClientConnection::new(Arc::clone(config), "localhost".try_into().unwrap()).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

/// A server that speaks TLS, and what a client needs for it.
async fn with_tls(settings: &[(&str, &str)]) -> (World, Arc<ClientConfig>) {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&chain, pair.cert.pem()).unwrap();
    std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
    let files = [("tls-certificate", chain.to_str().unwrap()), ("tls-key", key.to_str().unwrap())];
    let world = World::new(&[&files[..], settings].concat()).await;
    let mut roots = RootCertStore::empty();
    roots.add(pair.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (world, Arc::new(config))
}

#[tokio::test]
async fn handshakes_of_a_network_that_begins_very_many_wait_behind_others() {
    for (burst, is_over) in [("64", true), ("1000", false)] {
        let settings = [("exempt", "127.7.0.0/16"), ("request-burst", burst), ("request-every", "1h")];
        let (world, config) = with_tls(&settings).await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 7, 7, 7], 0).into()).unwrap();
        let another = socket.connect(world.address()).await.unwrap();
        // As many as may connect: each handshake is one too many.
        let mut crowd = silent(&world, 64).await;
        crowd.iter_mut().for_each(|tcp| tcp.write_all(&hello(&config)).unwrap());
        TlsConnector::from(Arc::clone(&config)).connect("localhost".try_into().unwrap(), another).await.unwrap();
        let before = answered(&mut crowd);
        assert_eq!(before < 32, is_over, "{before} of 64 at {burst}");
    }
}

#[tokio::test]
async fn handshakes_of_a_crowd_wait_behind_requests() {
    let (world, config) = with_tls(&[]).await;
    let tcp = TcpStream::connect(world.address()).await.unwrap();
    let mut kept = TlsConnector::from(Arc::clone(&config)).connect("localhost".try_into().unwrap(), tcp).await.unwrap();
    let mut crowd = silent(&world, 64).await;
    crowd.iter_mut().for_each(|tcp| tcp.write_all(&hello(&config)).unwrap());
    kept.write_all(&request("GET", "/healthz", "", "")).await.unwrap();
    let mut answer = Vec::new();
    kept.read_to_end(&mut answer).await.unwrap();
    assert_eq!(parse(&answer).status, 200);
    let before = answered(&mut crowd);
    assert!(before < 32, "{before} of 64");
    // They get on in the end.
    let mut last = TcpStream::from_std(crowd.pop().unwrap()).unwrap();
    assert_eq!(last.read(&mut [0; 1]).await.unwrap(), 1);
}

#[tokio::test]
async fn answers_to_guesses_that_are_turned_away_are_held_back_in_a_limited_number_of_places() {
    let settings = [("exempt", "198.51.100.0/24"), ("address-burst", "1"), ("address-every", "1h")];
    let held = [("refusal-delay", "1h"), ("connections", "16"), ("delayed-per-network", "2")];
    let world = World::new(&[settings.as_slice(), &held, &[("proxies", "127.0.0.0/8")]].concat()).await;
    let body = json!({ "name": "alice", "ke1": ke1("guess").1 }).to_string();
    let mut tasks = JoinSet::new();
    // Of a quarter of the connections the first network has two places, the second one, and the third the last, which is for newcomers.
    for (network, at_once) in [(1, 2), (2, 3), (3, 3)] {
        let headers = format!("Content-Type: application/json\r\nX-Forwarded-For: 192.0.{network}.1\r\n");
        let guess = request("POST", "/v1/login/start", &headers, &body);
        assert_eq!(parse(&raw(world.address(), &guess).await).status, 200, "its only guess");
        for _ in 0..4 {
            let (address, guess) = (world.address(), guess.clone());
            tasks.spawn(async move { parse(&raw(address, &guess).await).kind() });
        }
        for _ in 0..at_once {
            // Those that are held back come after an hour.
            let answered = timeout(Duration::from_secs(60), tasks.join_next()).await;
            assert_eq!(answered.expect("an answer at once").unwrap().unwrap(), "429 throttled");
        }
    }
    assert_eq!(world.get("/healthz", None).await.status, 200);
    assert!(tasks.try_join_next().is_none() && tasks.len() == 4, "four are held back");
}

#[tokio::test]
async fn the_server_finishes_what_it_has_begun_and_cuts_off_what_takes_too_long() {
    let world = World::new(&[("shutdown-timeout", "300ms")]).await;
    let address = world.address();
    let body = json!({ "name": "alice", "ke1": ke1("pw").1 }).to_string();
    let whole = request("POST", "/v1/login/start", "Content-Type: application/json\r\n", &body);
    let mut begun = TcpStream::connect(address).await.unwrap();
    begun.write_all(&whole[..whole.len() - 1]).await.unwrap();
    let mut never = TcpStream::connect(address).await.unwrap();
    never.write_all(b"POST /v1/login/start HTTP/1.1\r\n").await.unwrap();
    assert_eq!(world.get("/readyz", None).await.status, 200);
    let shutdown = tokio::spawn(world.server.shutdown());
    // No new connection is taken once it has begun.
    while TcpStream::connect(address).await.is_ok() {
        yield_now().await;
    }
    begun.write_all(&whole[whole.len() - 1..]).await.unwrap();
    let mut answer = Vec::new();
    begun.read_to_end(&mut answer).await.unwrap();
    assert_eq!(parse(&answer).status, 200);
    shutdown.await.unwrap();
    assert_eq!(never.read(&mut [0; 1]).await.unwrap_or(0), 0);
}
