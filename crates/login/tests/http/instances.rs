//! Two instances on one PostgreSQL behind a balancer: what one begins the other finishes.

use crate::world::{OPEN, Registering, config, post, prove, register};
use candor_login::{Log, Server};
use candor_test_support::postgres;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Hands each connection to the next instance.
async fn balancer(instances: [SocketAddr; 2]) -> (SocketAddr, Arc<[AtomicUsize; 2]>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served: Arc<[AtomicUsize; 2]> = Arc::default();
    let counts = Arc::clone(&served);
    tokio::spawn(async move {
        for turn in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            let next = turn % 2;
            counts[next].fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut instance = TcpStream::connect(instances[next]).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut instance).await;
            });
        }
    });
    (address, served)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_instance_begins_the_other_finishes() {
    let server = match postgres::shared() {
        Ok(server) => server,
        Err(why) => return postgres::skipped("what_one_instance_begins_the_other_finishes", why),
    };
    let url = server.database();
    let folder = tempfile::tempdir().unwrap();
    let start = async || {
        // Both have the same state folder, and so the same master key.
        let settings = [&OPEN[..], &[("database", url.as_str())]].concat();
        Server::start(config(folder.path(), &settings), Log::default()).await.unwrap()
    };
    let (one, two) = tokio::join!(start(), start());
    let (address, served) = balancer([one.address(), two.address()]).await;

    let (started, registering) = register(address, "alice", "pw").await;
    let body = json!({ "name": "alice", "state": started.body["state"], "upload": registering.upload(&started) });
    let made = post(address, "/v1/register/finish", &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let proved = prove(address, "alice", "pw").await;
    assert_eq!(post(address, "/v1/login/finish", &proved.body()).await.status, 200);
    assert_eq!(post(one.address(), "/v1/login/finish", &proved.body()).await.kind(), "409 state-used");
    assert_eq!(post(two.address(), "/v1/login/finish", &proved.body()).await.kind(), "409 state-used");

    // A change of password, one half at each.
    let mut body = prove(address, "alice", "pw").await.body();
    let (registering, request) = Registering::begin("new");
    body["request"] = request.into();
    let started = post(one.address(), "/v1/password/start", &body).await;
    assert_eq!(started.status, 200, "{started:?}");
    let body = json!({ "name": "alice", "state": started.body["state"], "upload": registering.upload(&started) });
    let changed = post(two.address(), "/v1/password/finish", &body).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let token = changed.body["access_token"].as_str();
    assert_eq!(crate::world::ask(one.address(), "GET", "/v1/session", token).await.status, 200);

    // One goes, the other serves.
    one.shutdown().await;
    let proved = prove(two.address(), "alice", "new").await;
    assert_eq!(post(two.address(), "/v1/login/finish", &proved.body()).await.status, 200);
    assert!(served.iter().all(|count| count.load(Ordering::Relaxed) >= 2));
}
