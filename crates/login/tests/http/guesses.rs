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

#[tokio::test]
async fn tokens_that_nobody_has_count_apart_from_guesses_and_an_expired_one_does_not() {
    let settings = [("proxies", ""), ("address-burst", "4"), ("registration", "open")];
    let world = World::new(&[&SLOW[..], &settings].concat()).await;
    // Takes two of the four.
    let session = world.join("alice", "pw").await;
    world.set_clock(900);
    let expired = session["access_token"].as_str();
    for _ in 0..9 {
        assert_eq!(world.get("/v1/session", expired).await.kind(), "401 no-session");
    }
    let made_up = crate::world::text(&[9; 32]);
    let refresh = json!({ "refresh_token": crate::world::text(&[9; 48]) });
    for _ in 0..2 {
        assert_eq!(world.get("/v1/session", Some(&made_up)).await.kind(), "401 no-session");
        assert_eq!(world.post("/v1/session/refresh", &refresh).await.kind(), "401 no-session");
    }
    assert_eq!(world.get("/v1/session", Some(&made_up)).await.kind(), "429 throttled");
    assert_eq!(world.post("/v1/session/refresh", &refresh).await.kind(), "429 throttled");
    // A forgotten tab that asks for ever locks nobody at its address out of logging in.
    let proved = prove(world.address(), "alice", "pw").await;
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200);
    // Whoever has a session is not kept out by a neighbour's guesses.
    let refreshed = world.post("/v1/session/refresh", &json!({ "refresh_token": session["refresh_token"] })).await;
    assert_eq!(refreshed.status, 200);
    assert_eq!(world.get("/v1/session", refreshed.body["access_token"].as_str()).await.status, 200);
}

#[tokio::test]
async fn with_a_registration_token_too_taken_names_are_found_no_faster_than_passwords() {
    let settings = [("proxies", ""), ("address-burst", "3"), ("registration", "token")];
    let world = World::new(&[&SLOW[..], &settings].concat()).await;
    let store = world.server.store();
    let now = candor_login::UnixTime(crate::world::NOW);
    let register = async |name: &str, token: &str| {
        let hash = candor_login::TokenHash::of(candor_login::Purpose::Registration, token.as_bytes());
        if !store.has_registration_token(hash, now).await.unwrap() {
            let added =
                store.add_registration_token(hash, String::new(), now.plus(60), candor_login::Actor::Server, now);
            added.await.unwrap();
        }
        let (registering, request) = crate::world::Registering::begin("pw");
        let body = json!({ "name": name, "token": token, "request": request });
        let start = world.post("/v1/register/start", &body).await;
        if start.status != 200 {
            return start.kind();
        }
        let upload = registering.upload(&start);
        let body = json!({ "name": name, "token": token, "state": start.body["state"], "upload": upload });
        world.post("/v1/register/finish", &body).await.kind()
    };
    for number in 0..6 {
        assert_eq!(register(&format!("user{number}"), &format!("t{number}")).await, "201", "a success is no guess");
    }
    let mut kinds = Vec::new();
    for number in 0..5 {
        kinds.push(register(&format!("user{number}"), "one token").await);
    }
    assert_eq!(kinds, [&["409 name-taken"; 3][..], &["429 throttled"; 2]].concat());
}

#[tokio::test]
async fn a_registration_token_that_is_never_used_up_begins_a_limited_number_of_registrations() {
    let world = World::new(&[("registration", "token"), ("owner-burst", "3"), ("owner-every", "1d")]).await;
    let (store, now) = (world.server.store(), candor_login::UnixTime(crate::world::NOW));
    for token in ["hers", "his"] {
        let hash = candor_login::TokenHash::of(candor_login::Purpose::Registration, token.as_bytes());
        let add = store.add_registration_token(hash, String::new(), now.plus(60), candor_login::Actor::Server, now);
        add.await.unwrap();
    }
    let begin = async |token: &str| {
        let (_, request) = crate::world::Registering::begin("pw");
        let body = json!({ "name": "alice", "token": token, "request": request });
        world.post("/v1/register/start", &body).await.kind()
    };
    let mut kinds = Vec::new();
    for _ in 0..5 {
        kinds.push(begin("hers").await);
    }
    assert_eq!(kinds, ["200", "200", "200", "429 throttled", "429 throttled"]);
    assert_eq!(begin("his").await, "200", "another has its own rate");
    assert_eq!(begin("nobody's").await, "403 registration-token");
}

#[tokio::test]
async fn the_owner_of_an_account_has_a_rate_and_other_owners_have_theirs() {
    let world =
        World::new(&[&SLOW[..], &[("exempt", "127.0.0.0/8"), ("owner-burst", "3"), ("owner-every", "1d")]].concat())
            .await;
    let alice = world.join("alice", "pw").await;
    world.join("bob", "pw").await;
    let log_in = async |name: &str| {
        let proved = prove(world.address(), name, "pw").await;
        world.post("/v1/login/finish", &proved.body()).await
    };
    assert_eq!(log_in("alice").await.status, 200);
    assert_eq!(log_in("alice").await.status, 200);
    let refreshed = world.post("/v1/session/refresh", &json!({ "refresh_token": alice["refresh_token"] })).await;
    assert_eq!(refreshed.status, 200);
    let codes = async |name: &str| {
        let mut body = prove(world.address(), name, "pw").await.body();
        body["codes"] = json!([crate::world::text(&[4; 32])]);
        send(world.address(), "PUT", "/v1/recovery/codes", None, "", &body).await.kind()
    };
    let token = &refreshed.body["access_token"];
    assert_eq!(codes("alice").await, "200");
    // Three: each further one has to wait, whatever it is.
    assert_eq!(log_in("alice").await.kind(), "429 throttled");
    assert_eq!(codes("alice").await, "429 throttled");
    let refused = log_in("alice").await;
    assert!(refused.headers["retry-after"].parse::<u64>().unwrap() > 0);
    assert_eq!(world.get("/v1/session", token.as_str()).await.status, 200, "looking is free");
    assert_eq!((log_in("bob").await.status, codes("bob").await.as_str()), (200, "200"));
}

#[tokio::test]
async fn whoever_refreshes_a_stolen_session_for_ever_does_not_lock_its_owner_out() {
    let world =
        World::new(&[&SLOW[..], &[("exempt", "127.0.0.0/8"), ("owner-burst", "3"), ("owner-every", "1d")]].concat())
            .await;
    let mut stolen = world.join("alice", "pw").await;
    let refresh = async |session: &Value| {
        world.post("/v1/session/refresh", &json!({ "refresh_token": session["refresh_token"] })).await
    };
    let first = stolen.clone();
    for _ in 0..3 {
        stolen = refresh(&stolen).await.body;
    }
    let refused = refresh(&stolen).await;
    assert_eq!(refused.kind(), "429 throttled");
    assert!(refused.headers["retry-after"].parse::<u64>().unwrap() > 0);
    // The owner logs in, and his session is refreshed.
    let opened = world.post("/v1/login/finish", &prove(world.address(), "alice", "pw").await.body()).await;
    assert_eq!(opened.status, 200);
    let opened = refresh(&opened.body).await;
    assert_eq!(opened.status, 200);
    // A token that comes twice is noticed even where the rate is used up.
    assert_eq!(refresh(&first).await.kind(), "401 refresh-reused");
    assert_eq!(refresh(&stolen).await.kind(), "401 no-session");
    // A session that has ended by its lifetime has no token any more.
    world.set_clock(10 * 365 * 86400);
    assert_eq!(refresh(&opened.body).await.kind(), "401 no-session");
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
