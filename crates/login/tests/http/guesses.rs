//! Guesses are slowed down; the owner is not.

use crate::world::{World, ke1, prove, send};
use serde_json::{Value, json};

/// Begins a login through a proxy that says where it comes from.
async fn begin(world: &World, from: &str, name: &str, device: Option<&Value>) -> String {
    let mut body = json!({ "name": name, "ke1": ke1("guess").1 });
    if let Some(device) = device {
        body["device"] = device.clone();
    }
    let header = format!("X-Forwarded-For: {from}\r\n");
    let answer = send(world.address(), "POST", "/v1/login/start", None, &header, &body).await;
    if answer.status == 429 {
        assert!(answer.headers["retry-after"].parse::<u64>().unwrap() > 0);
    }
    answer.kind()
}

const SLOW: [(&str, &str); 6] = [
    ("exempt", ""),
    ("proxies", "127.0.0.0/8"),
    ("address-every", "1d"),
    ("network-every", "1d"),
    ("account-every", "1d"),
    ("device-every", "1d"),
];

#[tokio::test]
async fn logins_that_are_begun_and_never_ended_count_by_address_and_network() {
    let world = World::new(&[&SLOW[..], &[("address-burst", "2"), ("network-burst", "3")]].concat()).await;
    world.join("alice", "pw").await;
    // (The registration came from the proxy itself.)
    for name in ["alice", "nobody"] {
        let from = if name == "alice" { "192.0.2" } else { "198.51.100" };
        let begin = async |host: u8| begin(&world, &format!("{from}.{host}"), name, None).await;
        assert_eq!(begin(1).await, "200");
        assert_eq!(begin(1).await, "200");
        assert_eq!(begin(1).await, "429 throttled", "{name}");
        assert_eq!(begin(2).await, "200", "{name}");
        assert_eq!(begin(3).await, "429 throttled", "the network, {name}");
    }
    assert_eq!(begin(&world, "203.0.113.1", "alice", None).await, "200", "others are served");
}

#[tokio::test]
async fn a_login_that_succeeds_is_no_guess() {
    let world =
        World::new(&[&SLOW[..], &[("proxies", ""), ("address-burst", "3"), ("network-burst", "3")]].concat()).await;
    world.join("alice", "pw").await;
    for _ in 0..5 {
        let proved = prove(world.address(), "alice", "pw").await;
        assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200);
    }
}

#[tokio::test]
async fn recovery_codes_are_guessed_no_faster_than_passwords() {
    let world = World::new(&[&SLOW[..], &[("proxies", ""), ("address-burst", "2")]].concat()).await;
    let guess = async || {
        let body = json!({ "name": "alice", "code": crate::world::text(&[1; 32]) });
        world.post("/v1/recovery/session", &body).await.kind()
    };
    assert_eq!(
        [guess().await, guess().await, guess().await],
        ["401 login-failed", "401 login-failed", "429 throttled"]
    );
}

/// A delay too long for the test, and places for two answers that wait: whoever gets 429 has been told to wait, and whoever gets 200 has not waited.
const DELAYED: [(&str, &str); 4] =
    [("account-burst", "2"), ("account-delay", "1d"), ("account-delay-longest", "1d"), ("delayed", "0")];

#[tokio::test]
async fn the_owners_device_does_not_wait_and_nobody_can_lock_it_out() {
    let world = World::new(&[&SLOW[..], &DELAYED].concat()).await;
    let device = world.join("alice", "pw").await["device"].clone();
    for name in ["alice", "nobody"] {
        // From many networks, so that only the account's limit is reached.
        let begin = async |network: u8| begin(&world, &format!("192.{network}.2.1"), name, None).await;
        assert_eq!([begin(1).await, begin(2).await], ["200", "200"], "{name}");
        for network in 3..20 {
            assert_eq!(begin(network).await, "429 throttled", "{name}: it has to wait");
        }
    }
    assert_eq!(begin(&world, "198.51.100.1", "alice", Some(&device)).await, "200");
    assert_eq!(begin(&world, "198.51.100.1", "nobody", Some(&device)).await, "429 throttled", "another's device");
    let mut forged = crate::world::bytes(&device);
    forged[47] ^= 1;
    let forged = crate::world::text(&forged).into();
    assert_eq!(begin(&world, "198.51.100.1", "alice", Some(&forged)).await, "429 throttled");
}

#[tokio::test]
async fn an_answer_that_was_held_back_comes() {
    let delayed = [("account-burst", "1"), ("account-delay", "30ms"), ("account-delay-longest", "60ms")];
    let world = World::new(&[&SLOW[..], &delayed, &[("proxies", ""), ("exempt", "127.0.0.0/8")]].concat()).await;
    world.join("alice", "pw").await;
    for _ in 0..4 {
        let proved = prove(world.address(), "alice", "pw").await;
        assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200);
        prove(world.address(), "alice", "pw").await;
    }
    let text = crate::world::raw(world.address(), &crate::world::request("GET", "/metrics", "", "")).await;
    assert!(String::from_utf8_lossy(&text).contains("candor_login_throttled_total{by=\"Account\"}"));
}

#[tokio::test]
async fn a_device_that_is_forgotten_waits_like_others() {
    let world = World::new(&[&SLOW[..], &DELAYED].concat()).await;
    let session = world.join("alice", "pw").await;
    let token = session["access_token"].as_str();
    let devices = world.get("/v1/devices", token).await.body;
    let id = devices["devices"][0]["device"].as_str().unwrap().to_owned();
    for network in 1..4 {
        begin(&world, &format!("192.{network}.2.1"), "alice", None).await;
    }
    assert_eq!(begin(&world, "198.51.100.1", "alice", Some(&session["device"])).await, "200");
    let path = format!("/v1/devices/{id}");
    assert_eq!(crate::world::ask(world.address(), "DELETE", &path, token).await.status, 204);
    assert_eq!(crate::world::ask(world.address(), "DELETE", &path, token).await.kind(), "404 no-such-device");
    assert_eq!(begin(&world, "198.51.100.1", "alice", Some(&session["device"])).await, "429 throttled");
}
