//! Accounts with old hashes: the answer that tells the hash is no guess, and serves once to begin again.

use crate::world::{Answer, World, bytes, text};
use candor_login::migrate::{Input, Layout, import};
use candor_login::{Actor, KeyRing, PARTIES};
use candor_old_hashes::OldScheme;
use candor_opaque::{Argon2id, Client, ClientLogin, DefaultSuite, Error, KsfParams, Limits, Password};
use getrandom::{SysRng, rand_core::UnwrapErr};
use serde_json::{Value, json};
use std::sync::Arc;

async fn world(settings: &[(&str, &str)]) -> World {
    let world = World::new(settings).await;
    let file = format!("name,hash\nalice,{}\n", bcrypt::hash("pw", 4).unwrap());
    let ring = Arc::new(KeyRing::load(world.server.store()).await.unwrap().unwrap());
    let input = Input::new(file.as_bytes(), Layout::Csv, "name", "hash").unwrap();
    import(world.server.store(), ring, input, false, Actor::Server, |_| ()).await.unwrap();
    world
}

/// Begins a login with these bytes as the password.
async fn begin(
    world: &World,
    name: &str,
    password: &[u8],
    old_hash: Option<&Value>,
) -> (ClientLogin<DefaultSuite>, Answer) {
    let client = Client::<DefaultSuite>::default().with_limits(Limits::NONE);
    let (login, ke1) = client.start_login(&mut UnwrapErr(SysRng), &Password::from_bytes(password).unwrap()).unwrap();
    let body = json!({ "name": name, "ke1": text(&ke1), "old_hash": old_hash });
    (login, world.post("/v1/login/start", &body).await)
}

/// The KE3 of a login.
fn finish(login: ClientLogin<DefaultSuite>, started: &Answer) -> Result<String, Error> {
    let ksf = KsfParams::from_bytes(&bytes(&started.body["ksf"])).unwrap();
    let done = login.finish(&bytes(&started.body["ke2"]), &ksf, &mut Argon2id::new(), &PARTIES)?;
    Ok(text(&done.ke3))
}

#[tokio::test]
async fn the_answer_that_tells_the_old_hash_opens_for_no_password() {
    let world = world(&[]).await;
    let (_, told) = begin(&world, "alice", b"pw", None).await;
    let scheme: OldScheme = told.body["old_hash"].as_str().unwrap().parse().unwrap();
    let secret = scheme.opaque_password(b"pw").unwrap();
    // Whoever knows the scheme already gets no guess from the first answer either.
    let (login, first) = begin(&world, "alice", &secret, None).await;
    assert_eq!(finish(login, &first).unwrap_err(), Error::Login);
    let (login, second) = begin(&world, "alice", &secret, Some(&first.body["state"])).await;
    let ke3 = finish(login, &second).unwrap();
    let body = json!({ "name": "alice", "state": second.body["state"], "ke3": ke3 });
    assert_eq!(world.post("/v1/login/finish", &body).await.status, 200);
}

#[tokio::test]
async fn it_serves_once_for_its_name_and_ends_no_login() {
    let world = world(&[]).await;
    let (_, told) = begin(&world, "alice", b"pw", None).await;
    let state = &told.body["state"];
    let again = async |name: &str, state: &Value| begin(&world, name, b"pw", Some(state)).await.1;
    assert_eq!(again("bob", state).await.kind(), "400 state-invalid");
    let login = json!({ "name": "alice", "state": state, "ke3": text(&[5; 64]) });
    assert_eq!(world.post("/v1/login/finish", &login).await.kind(), "400 state-invalid");
    let second = again("alice", state).await;
    assert_eq!(second.status, 200);
    assert_eq!(again("alice", state).await.kind(), "409 state-used");
    assert_eq!(
        again("alice", &second.body["state"]).await.kind(),
        "400 state-invalid",
        "a login's state tells nothing"
    );
    let (_, late) = begin(&world, "alice", b"pw", None).await;
    world.set_clock(600);
    assert_eq!(again("alice", &late.body["state"]).await.kind(), "400 state-expired");
}

#[tokio::test]
async fn a_state_that_told_an_old_hash_and_is_sent_again_counts_as_a_guess() {
    let world = world(&[("exempt", ""), ("address-burst", "4"), ("address-every", "1d")]).await;
    let (_, told) = begin(&world, "alice", b"pw", None).await;
    let again = async |state: &Value| begin(&world, "alice", b"pw", Some(state)).await.1.kind();
    let state = &told.body["state"];
    assert_eq!(again(state).await, "200", "both together are one guess");
    assert_eq!([again(state).await, again(state).await, again(state).await], ["409 state-used"; 3]);
    assert_eq!(again(state).await, "429 throttled");
}

#[tokio::test]
async fn whoever_begins_again_as_he_was_told_has_made_one_guess() {
    let world = world(&[("exempt", ""), ("address-burst", "4"), ("address-every", "1d")]).await;
    for kind in ["200", "200", "200", "200", "429 throttled"] {
        let (_, told) = begin(&world, "alice", b"pw", None).await;
        assert_eq!(told.kind(), kind);
        if kind == "200" {
            assert_eq!(begin(&world, "alice", b"pw", Some(&told.body["state"])).await.1.kind(), "200");
        }
    }
}
