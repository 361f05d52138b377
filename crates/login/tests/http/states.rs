//! Sealed states: each serves once, for one use, for one name, for a while.

use crate::world::{Registering, World, bytes, text};
use serde_json::{Value, json};

#[tokio::test]
async fn a_login_ends_once() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    let proved = world.prove("alice", "pw").await;
    assert!(proved.state.len() <= 294, "220 bytes in base64");
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200);
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "409 state-used");
    // A wrong KE3 uses the state up as well.
    let mut wrong = world.prove("alice", "pw").await;
    let right = std::mem::replace(&mut wrong.ke3, text(&[0; 64]));
    assert_eq!(world.post("/v1/login/finish", &wrong.body()).await.kind(), "401 login-failed");
    wrong.ke3 = right;
    assert_eq!(world.post("/v1/login/finish", &wrong.body()).await.kind(), "409 state-used");
}

#[tokio::test]
async fn two_requests_at_once_end_a_login_once() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    let body = world.prove("alice", "pw").await.body();
    let (one, two) = tokio::join!(world.post("/v1/login/finish", &body), world.post("/v1/login/finish", &body));
    let mut kinds = [one.kind(), two.kind()];
    kinds.sort();
    assert_eq!(kinds, ["200", "409 state-used"]);
}

#[tokio::test]
async fn a_state_expires_and_a_clock_that_jumps_loses_nothing() {
    let world = World::new(&[]).await;
    let session = world.join("alice", "pw").await;
    let token = session["access_token"].as_str().unwrap();
    let proved = world.prove("alice", "pw").await;
    for (seconds, kind) in [(60, "400 state-expired"), (1 << 40, "400 state-expired"), (-1, "400 state-expired")] {
        world.set_clock(seconds);
        assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), kind, "{seconds}");
    }
    world.set_clock(59);
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200, "it was not used up");
    assert_eq!(world.get("/v1/session", Some(token)).await.status, 200);
    world.set_clock(900);
    assert_eq!(world.get("/v1/session", Some(token)).await.kind(), "401 no-session");
    let refresh = json!({ "refresh_token": session["refresh_token"] });
    assert_eq!(world.post("/v1/session/refresh", &refresh).await.status, 200);
}

/// A year ahead for a moment, in which the owner logs in.
#[tokio::test]
async fn a_clock_that_is_wrong_for_a_moment_costs_no_session() {
    const YEAR: i64 = 365 * 86400;
    let world = World::new(&[]).await;
    let before = world.join("alice", "pw").await;
    let opens = async |session: &Value| world.get("/v1/session", session["access_token"].as_str()).await.kind();
    let refreshes = async |session: &Value| {
        let body = json!({ "refresh_token": session["refresh_token"] });
        world.post("/v1/session/refresh", &body).await.kind()
    };
    world.set_clock(YEAR);
    assert_eq!(opens(&before).await, "401 no-session");
    let proved = world.prove("alice", "pw").await;
    let meanwhile = world.post("/v1/login/finish", &proved.body()).await.body;
    assert_eq!(opens(&meanwhile).await, "200");

    world.set_clock(0);
    assert_eq!([opens(&before).await, refreshes(&before).await], ["200", "200"]);
    assert_eq!([opens(&meanwhile).await, refreshes(&meanwhile).await], ["401 no-session", "401 no-session"]);
    world.set_clock(YEAR - 601);
    assert_eq!(opens(&meanwhile).await, "401 no-session");
    world.set_clock(YEAR - 600);
    assert_eq!([opens(&meanwhile).await, refreshes(&meanwhile).await], ["200", "200"]);
}

#[tokio::test]
async fn a_state_serves_its_own_use_and_name_and_deployment_only() {
    let (world, other) = (World::new(&[]).await, World::new(&[]).await);
    world.join("alice", "pw").await;
    world.join("bob", "pw").await;
    other.join("alice", "pw").await;
    let refused = async |body| world.post("/v1/login/finish", &body).await.kind();
    let mut wrong = world.prove("alice", "pw").await;
    wrong.name = "bob".to_owned();
    assert_eq!(refused(wrong.body()).await, "400 state-invalid");
    assert_eq!(refused(other.prove("alice", "pw").await.body()).await, "400 state-invalid");
    let (registering, request) = Registering::begin("pw");
    let started = world.post("/v1/register/start", &json!({ "name": "alice", "request": request })).await;
    let mut wrong = world.prove("alice", "pw").await;
    wrong.state = started.body["state"].as_str().unwrap().to_owned();
    assert_eq!(refused(wrong.body()).await, "400 state-invalid");
    // A registration's state is no change's, and no other name's.
    let upload = registering.upload(&started);
    let body = json!({ "name": "alice", "state": started.body["state"], "upload": upload });
    assert_eq!(world.post("/v1/password/finish", &body).await.kind(), "400 state-invalid");
    let body = json!({ "name": "carol", "state": started.body["state"], "upload": upload });
    assert_eq!(world.post("/v1/register/finish", &body).await.kind(), "400 state-invalid");
    // The same name in another form is the same name.
    let mut proved = world.prove("alice", "pw").await;
    proved.name = "\u{ff21}LICE".to_owned();
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200);
}

#[tokio::test]
async fn a_change_of_password_ends_once_and_an_old_one_undoes_nothing() {
    let world = World::new(&[]).await;
    world.join("alice", "old").await;
    let begin = async || {
        let proved = world.prove("alice", "old").await;
        let (registering, request) = Registering::begin("new");
        let mut body = proved.body();
        body["request"] = request.into();
        let started = world.post("/v1/password/start", &body).await;
        assert_eq!(started.status, 200, "{started:?}");
        assert_eq!(world.post("/v1/password/start", &body).await.kind(), "409 state-used");
        assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "409 state-used");
        let upload = registering.upload(&started);
        json!({ "name": "alice", "state": started.body["state"], "upload": upload })
    };
    let (first, second) = (begin().await, begin().await);
    assert_eq!(world.post("/v1/password/finish", &first).await.status, 200);
    assert_eq!(world.post("/v1/password/finish", &second).await.kind(), "409 record-changed");
    assert_eq!(world.post("/v1/password/finish", &first).await.kind(), "409 record-changed");
    assert_eq!(world.post("/v1/login/finish", &world.prove("alice", "new").await.body()).await.status, 200);
}

#[tokio::test]
async fn a_session_from_a_recovery_code_can_only_set_a_password() {
    let world = World::new(&[]).await;
    let (start, registering) = crate::world::register(world.address(), "alice", "pw").await;
    let upload = registering.upload(&start);
    let body =
        json!({ "name": "alice", "state": start.body["state"], "upload": upload, "recovery_codes": [text(&[7; 32])] });
    let full = world.post("/v1/register/finish", &body).await.body;
    let opened = world.post("/v1/recovery/session", &json!({ "name": "alice", "code": text(&[7; 32]) })).await;
    assert_eq!(opened.status, 200, "{opened:?}");
    let token = opened.body["access_token"].as_str().unwrap();
    for path in ["/v1/sessions", "/v1/devices", "/v1/recovery/codes"] {
        assert_eq!(world.get(path, Some(token)).await.kind(), "403 scope", "{path}");
        assert_eq!(world.get(path, full["access_token"].as_str()).await.status, 200, "{path}");
    }
    assert_eq!(world.get("/v1/session", Some(token)).await.body["scope"], "recovery");
    let (_, request) = Registering::begin("new");
    let body = json!({ "request": request });
    let send = async |token| crate::world::send(world.address(), "POST", "/v1/recovery/start", token, "", &body).await;
    assert_eq!(
        send(full["access_token"].as_str()).await.kind(),
        "403 scope",
        "whoever has a session needs the password"
    );
    assert_eq!(send(None).await.kind(), "401 no-session");
    assert_eq!(send(Some(token)).await.status, 200);
    world.set_clock(900);
    assert_eq!(send(Some(token)).await.kind(), "401 no-session");
}

#[tokio::test]
async fn whoever_stole_a_session_plants_no_recovery_code() {
    let world = World::new(&[]).await;
    let stolen = world.join("alice", "old").await;
    let token = stolen["access_token"].as_str();
    let put = async |body: &Value| {
        crate::world::send(world.address(), "PUT", "/v1/recovery/codes", token, "", body).await.kind()
    };
    let open = async |code: u8| {
        world.post("/v1/recovery/session", &json!({ "name": "alice", "code": text(&[code; 32]) })).await.kind()
    };
    // The thief has a session, and the states of logins with guessed passwords.
    assert_eq!(put(&json!({ "codes": [text(&[6; 32])] })).await, "400 malformed");
    let mut guess = world.prove("alice", "old").await.body();
    guess["codes"] = json!([text(&[6; 32])]);
    guess["ke3"] = text(&[5; 64]).into();
    assert_eq!(put(&guess).await, "401 login-failed");
    assert_eq!(open(6).await, "401 login-failed");
    // The owner has the password.
    let mut proved = world.prove("alice", "old").await.body();
    proved["codes"] = json!([text(&[7; 32]), text(&[8; 32])]);
    assert_eq!(put(&proved).await, "200");
    assert_eq!(put(&proved).await, "409 state-used");
    assert_eq!(open(7).await, "200");
    // With a new password none of the old codes opens, and the new ones do.
    let change = async |old: &str, new: &str, codes: Value| {
        let (registering, request) = Registering::begin(new);
        let mut body = world.prove("alice", old).await.body();
        body["request"] = request.into();
        let started = world.post("/v1/password/start", &body).await;
        let mut body =
            json!({ "name": "alice", "state": started.body["state"], "upload": registering.upload(&started) });
        if !codes.is_null() {
            body["recovery_codes"] = codes;
        }
        assert_eq!(world.post("/v1/password/finish", &body).await.kind(), "200");
    };
    change("old", "new", Value::Null).await;
    assert_eq!(open(8).await, "401 login-failed");
    change("new", "newer", json!([text(&[9; 32])])).await;
    assert_eq!(open(9).await, "200");
}

#[tokio::test]
async fn a_refresh_token_that_comes_twice_ends_the_session() {
    let world = World::new(&[]).await;
    let session = world.join("alice", "pw").await;
    let refresh = async |token: &Value| world.post("/v1/session/refresh", &json!({ "refresh_token": token })).await;
    let first = refresh(&session["refresh_token"]).await;
    assert_eq!(first.status, 200);
    assert_eq!(world.get("/v1/session", session["access_token"].as_str()).await.kind(), "401 no-session", "replaced");
    assert_eq!(world.get("/v1/session", first.body["access_token"].as_str()).await.status, 200);
    assert_eq!(refresh(&session["refresh_token"]).await.kind(), "401 refresh-reused");
    assert_eq!(world.get("/v1/session", first.body["access_token"].as_str()).await.kind(), "401 no-session");
    assert_eq!(refresh(&first.body["refresh_token"]).await.kind(), "401 no-session");
}

#[tokio::test]
async fn a_refresh_token_that_nobody_issued_ends_no_session() {
    let (world, other) = (World::new(&[]).await, World::new(&[]).await);
    let session = world.join("alice", "pw").await;
    let refresh =
        async |token: &[u8]| world.post("/v1/session/refresh", &json!({ "refresh_token": text(token) })).await;
    let issued = bytes(&session["refresh_token"]);
    let of_other = other.join("alice", "pw").await;
    // Another deployment's, with the session's own identifier, random bytes and tag.
    let mut forged = vec![bytes(&of_other["refresh_token"])];
    for part in [0..16, 16..32, 32..48] {
        let mut changed = forged[0].clone();
        changed[part.clone()].copy_from_slice(&issued[part]);
        forged.push(changed);
    }
    for at in [0, 16, 32, 47] {
        let mut changed = issued.clone();
        changed[at] ^= 1;
        forged.push(changed);
    }
    for token in forged {
        assert_eq!(refresh(&token).await.kind(), "401 no-session");
        assert_eq!(world.get("/v1/session", session["access_token"].as_str()).await.status, 200);
    }
    assert_eq!(refresh(&issued).await.status, 200);
}

#[tokio::test]
async fn a_registration_that_is_sent_again_brings_no_deleted_account_back() {
    let world = World::new(&[]).await;
    let begin = async || {
        let (start, registering) = crate::world::register(world.address(), "alice", "pw").await;
        json!({ "name": "alice", "state": start.body["state"], "upload": registering.upload(&start) })
    };
    let body = begin().await;
    assert_eq!(world.post("/v1/register/finish", &body).await.status, 201);
    assert_eq!(world.post("/v1/register/finish", &body).await.kind(), "409 state-used");
    let store = world.server.store();
    let alice = candor_login::UserName::parse("alice").unwrap();
    let id = store.account(&alice).await.unwrap().unwrap().id;
    store.delete_account(id, candor_login::Actor::Server, candor_login::UnixTime(crate::world::NOW)).await.unwrap();
    assert_eq!(world.post("/v1/register/finish", &body).await.kind(), "409 state-used");
    assert!(store.account(&alice).await.unwrap().is_none());
    assert_eq!(world.post("/v1/register/finish", &begin().await).await.status, 201, "the name is free");
}

#[tokio::test]
async fn one_of_many_registrations_of_a_name_succeeds() {
    let world = World::new(&[]).await;
    let mut bodies = Vec::new();
    for name in ["alice", "ALICE", "\u{ff41}lice", "Alice"] {
        let (start, registering) = crate::world::register(world.address(), name, "pw").await;
        let upload = registering.upload(&start);
        bodies.push(json!({ "name": name, "state": start.body["state"], "upload": upload }));
    }
    let [a, b, c, d] = bodies.as_slice() else { panic!("four names") };
    let finish = async |body| world.post("/v1/register/finish", body).await.kind();
    let (a, b, c, d) = tokio::join!(finish(a), finish(b), finish(c), finish(d));
    let mut kinds = [a, b, c, d];
    kinds.sort();
    assert_eq!(kinds, ["201", "409 name-taken", "409 name-taken", "409 name-taken"]);
}
