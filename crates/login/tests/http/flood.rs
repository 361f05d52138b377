//! Crowds of connections: each bound is attacked, and others are served meanwhile.

use crate::world::{World, ke1, parse, raw, request};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

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
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
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
    let mut tasks = tokio::task::JoinSet::new();
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
        tokio::task::yield_now().await;
    }
    begun.write_all(&whole[whole.len() - 1..]).await.unwrap();
    let mut answer = Vec::new();
    begun.read_to_end(&mut answer).await.unwrap();
    assert_eq!(parse(&answer).status, 200);
    shutdown.await.unwrap();
    assert_eq!(never.read(&mut [0; 1]).await.unwrap_or(0), 0);
}
