//! What an attacker of the finished server tried: guesses for nothing, an account lost with a retired key, seats held by requests that never end.

use crate::world::{World, ke1, parse, post, register, request};
use candor_login::store::{Actor, KeyState};
use candor_login::{KeyRing, UnixTime};
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const NOW: UnixTime = UnixTime(crate::world::NOW);

#[tokio::test]
async fn a_finished_login_that_is_sent_again_gives_no_guess_back() {
    let burst = [("exempt", ""), ("address-every", "1d"), ("address-burst", "5"), ("network-every", "1d")];
    let world = World::new(&burst).await;
    // Takes two of the five.
    world.join("mallory", "pw").await;
    let mine = world.prove("mallory", "pw").await;
    assert_eq!(world.post("/v1/login/finish", &mine.body()).await.status, 200);
    let mut kinds = Vec::new();
    for number in 0..6 {
        let guess = json!({ "name": format!("victim{number}"), "ke1": ke1("guess").1 });
        kinds.push(world.post("/v1/login/start", &guess).await.kind());
        kinds.push(world.post("/v1/login/finish", &mine.body()).await.kind());
    }
    // The success gave its own guess back, and that only; each replay counts as a guess.
    assert_eq!(kinds, [&["200", "409 state-used", "200"][..], &["429 throttled"; 9]].concat());
}

#[tokio::test]
async fn no_account_is_made_under_a_key_that_was_retired_meanwhile() {
    let world = World::new(&[]).await;
    let store = world.server.store();
    let ring = KeyRing::load(store).await.unwrap().unwrap();
    let first = ring.active().0;
    let (bob, bobs) = register(world.address(), "bob", "pw").await;
    let (carol, carols) = register(world.address(), "carol", "pw").await;
    ring.rotate(store, Actor::Server, NOW).await.unwrap();
    let body = json!({ "name": "carol", "state": carol.body["state"], "upload": carols.upload(&carol) });
    let made = world.post("/v1/register/finish", &body).await;
    assert_eq!(made.status, 201, "the key still answers: {made:?}");
    let id = candor_login::UserName::parse("carol").unwrap();
    let id = store.account(&id).await.unwrap().unwrap().id;
    store.delete_account(id, Actor::Server, NOW).await.unwrap();
    store.retire_key(first, Actor::Server, NOW).await.unwrap();
    let body = json!({ "name": "bob", "state": bob.body["state"], "upload": bobs.upload(&bob) });
    assert_eq!(world.post("/v1/register/finish", &body).await.kind(), "400 state-invalid");
    // At a server that has read the ring since, he can register, and log in.
    let other = world.another().await;
    let (bob, bobs) = register(other.address(), "bob", "pw").await;
    let body = json!({ "name": "bob", "state": bob.body["state"], "upload": bobs.upload(&bob) });
    assert_eq!(post(other.address(), "/v1/register/finish", &body).await.status, 201);
    let keys = store.ring().await.unwrap();
    assert_eq!(keys.iter().map(|key| key.state).collect::<Vec<_>>(), [KeyState::Retired, KeyState::Active]);
}

#[tokio::test]
async fn what_one_instance_begins_under_a_new_key_another_finishes_at_once() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    let store = world.server.store();
    KeyRing::load(store).await.unwrap().unwrap().rotate(store, Actor::Server, NOW).await.unwrap();
    let other = world.another().await;
    // The first server has not read the ring since.
    let proved = crate::world::prove(other.address(), "alice", "pw").await;
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "200");
    let (started, registering) = register(other.address(), "bob", "pw").await;
    let body = json!({ "name": "bob", "state": started.body["state"], "upload": registering.upload(&started) });
    assert_eq!(world.post("/v1/register/finish", &body).await.kind(), "201");
    let mut forged = crate::world::prove(other.address(), "alice", "pw").await;
    forged.state.replace_range(2..6, "AAAA");
    assert_eq!(world.post("/v1/login/finish", &forged.body()).await.kind(), "400 state-invalid", "no such key");
}

async fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// What a newcomer gets who asks whether the server is there; nothing if he is kept out.
async fn healthz(from: [u8; 4], to: SocketAddr, headers: &str) -> Vec<u8> {
    let mut tcp = connect(from, to).await;
    let _ = tcp.write_all(&request("GET", "/healthz", headers, "")).await;
    let mut answer = Vec::new();
    let _ = tcp.read_to_end(&mut answer).await;
    answer
}

/// The whole head of a login, and nothing of its body but a byte.
fn slow(headers: &str) -> String {
    format!(
        "POST /v1/login/start HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n{headers}\r\n{{"
    )
}

#[tokio::test]
async fn requests_whose_bodies_never_come_keep_no_newcomer_out() {
    let seats = [("connections", "12"), ("connections-per-network", "4"), ("body-timeout", "1h")];
    let world = World::new(&seats).await;
    let mut held = Vec::new();
    for network in 1..=3 {
        for host in 1..=4 {
            let mut tcp = connect([127, 0, network, host], world.address()).await;
            tcp.write_all(slow("").as_bytes()).await.unwrap();
            held.push(tcp);
            // The server has read the head: whoever comes next from here is answered.
            tokio::task::yield_now().await;
        }
    }
    for host in 1..=20 {
        let answer = healthz([127, 0, 100 + host, 1], world.address(), "").await;
        assert!(!answer.is_empty(), "newcomer {host} was kept out");
        assert_eq!(parse(&answer).status, 200);
    }
    // A slow request that nobody needs the seat of ends as any other.
    let mut last = held.pop().unwrap();
    last.write_all(&[b'x'; 99]).await.unwrap();
    let mut answer = vec![0; 12];
    last.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 400");
}

#[tokio::test]
async fn behind_a_proxy_seats_count_by_client_and_not_by_proxy() {
    let world = World::new(&[
        ("connections", "32"),
        ("connections-per-network", "4"),
        ("proxies", "127.0.0.0/8"),
        ("body-timeout", "1h"),
    ])
    .await;
    let mut held = Vec::new();
    let mut hold = async |client: &str| {
        let mut tcp = connect([127, 0, 0, 1], world.address()).await;
        tcp.write_all(slow(&format!("X-Forwarded-For: {client}\r\n")).as_bytes()).await.unwrap();
        held.push(tcp);
    };
    for network in 0..6 {
        hold(&format!("192.0.{network}.1")).await;
    }
    let get = async |client: &str| {
        parse(&healthz([127, 0, 0, 1], world.address(), &format!("X-Forwarded-For: {client}\r\n")).await).kind()
    };
    assert_eq!(get("198.51.100.1").await, "200", "six clients are no more than six");
    // One network that holds as many requests as it may have gets no more, whatever the proxy is.
    for host in 1..=4 {
        hold(&format!("203.0.113.{host}")).await;
    }
    assert_eq!(get("198.51.100.1").await, "200");
    let mut kind = get("203.0.113.9").await;
    // Its four heads may still be on their way.
    for _ in 0..1000 {
        if kind != "200" {
            break;
        }
        kind = get("203.0.113.9").await;
    }
    assert_eq!(kind, "503 busy");
    assert_eq!(get("198.51.100.1").await, "200", "others are served");
}
