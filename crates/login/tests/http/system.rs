//! What an operator asks of the server itself: nobody else gets an answer.

use crate::world::{World, parse, raw, request};

async fn metrics(world: &World, headers: &str) -> u16 {
    parse(&raw(world.address(), &request("GET", "/metrics", headers, "")).await).status
}

#[tokio::test]
async fn a_proxy_that_nobody_told_the_server_of_gets_no_metrics_for_strangers() {
    // It runs on this machine, whose own requests may read them.
    let world = World::new(&[]).await;
    assert_eq!(metrics(&world, "").await, 200);
    for header in [
        "X-Forwarded-For: 203.0.113.9",
        "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-For: ",
        "Forwarded: for=127.0.0.1",
        "X-Real-IP: 127.0.0.1",
        "X-Forwarded-Proto: https",
        "Via: 1.1 proxy",
    ] {
        assert_eq!(metrics(&world, &format!("{header}\r\n")).await, 404, "{header}");
    }
}

#[tokio::test]
async fn behind_a_known_proxy_metrics_are_for_the_networks_that_may_read_them() {
    let world = World::new(&[("proxies", "127.0.0.0/8"), ("metrics-from", "192.0.2.0/24")]).await;
    for (addresses, status) in
        [("192.0.2.7", 200), ("203.0.113.9", 404), ("192.0.2.7, 203.0.113.9", 404), ("203.0.113.9, 192.0.2.7", 200)]
    {
        assert_eq!(metrics(&world, &format!("X-Forwarded-For: {addresses}\r\n")).await, status, "{addresses}");
    }
    assert_eq!(metrics(&world, "").await, 404, "the proxy itself");
}

#[tokio::test]
async fn metrics_that_have_an_address_of_their_own_are_nowhere_else() {
    // A proxy on this machine that passes bytes on as they are looks like this machine itself, but reaches the main address only.
    let world = World::new(&[("metrics-listen", "127.0.0.1:0")]).await;
    assert_eq!(metrics(&world, "").await, 404);
    let apart = world.server.metrics_address().unwrap();
    assert_ne!(apart, world.address());
    let get = async |path: &str| parse(&raw(apart, &request("GET", path, "", "")).await).kind();
    assert_eq!(get("/metrics").await, "200");
    assert_eq!(get("/v1/config").await, "404 no-such-path");
    world.server.shutdown().await;
    assert!(tokio::net::TcpStream::connect(apart).await.is_err());

    let world = World::new(&[("metrics-listen", "127.0.0.1:0"), ("metrics-from", "192.0.2.0/24")]).await;
    let apart = world.server.metrics_address().unwrap();
    assert_eq!(parse(&raw(apart, &request("GET", "/metrics", "", "")).await).status, 404, "another network's");
}
