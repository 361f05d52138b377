//! Nothing tells a stranger whether a name has an account: sizes, headers, statuses and errors are the same.

use crate::world::{Answer, World, bytes, ke1, text};
use candor_login::{Actor, UserName};
use serde_json::json;
use std::collections::BTreeMap;

/// What a stranger sees of an answer besides random bytes.
#[derive(Debug, PartialEq)]
struct Look {
    status: u16,
    length: usize,
    headers: BTreeMap<String, String>,
    fields: Vec<(String, usize)>,
}

fn look(answer: &Answer) -> Look {
    let mut headers = answer.headers.clone();
    headers.remove("date");
    let fields = answer.body.as_object().expect("an object");
    let fields = fields.iter().map(|(name, value)| (name.clone(), value.to_string().len())).collect();
    Look { status: answer.status, length: answer.length, headers, fields }
}

#[tokio::test]
async fn a_login_looks_the_same_with_and_without_an_account() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    world.join("grace", "pw").await;
    let grace = world.server.store().account(&UserName::parse("grace").unwrap()).await.unwrap().unwrap().id;
    world.server.store().set_disabled(grace, true, Actor::Server, candor_login::UnixTime::now()).await.unwrap();
    let mut seen = Vec::new();
    // There is an account; it is disabled; there is none.
    for name in ["alice", "grace", "nobdy"] {
        let (_, ke1) = ke1("guess");
        let device = text(&[3; 48]);
        let started = world.post("/v1/login/start", &json!({ "name": name, "ke1": ke1, "device": device })).await;
        let state = started.body["state"].clone();
        let finish = json!({ "name": name, "state": state, "ke3": text(&[5; 64]) });
        let finished = world.post("/v1/login/finish", &finish).await;
        let again = world.post("/v1/login/finish", &finish).await;
        let started_again = world.post("/v1/login/start", &json!({ "name": name, "ke1": ke1 })).await;
        let mut change = finish.clone();
        change["state"] = started_again.body["state"].clone();
        change["request"] = text(&element()).into();
        let changed = world.post("/v1/password/start", &change).await;
        let recovered = world.post("/v1/recovery/session", &json!({ "name": name, "code": text(&[1; 32]) })).await;
        assert_eq!(
            [&started, &finished, &again, &changed, &recovered].map(|answer| answer.status),
            [200, 401, 409, 401, 401]
        );
        assert_eq!(recovered.kind(), "401 login-failed");
        seen.push([started, finished, again, started_again, changed, recovered].map(|answer| look(&answer)));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}

/// A valid element of the group: a registration request.
fn element() -> Vec<u8> {
    let (_, request) = crate::world::Registering::begin("pw");
    bytes(&request.into())
}

#[tokio::test]
async fn the_beginning_of_a_registration_does_not_tell_either() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    let mut seen = Vec::new();
    for name in ["alice", "nobdy"] {
        seen.push(look(&crate::world::register(world.address(), name, "pw").await.0));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_name_without_an_account_is_always_answered_under_the_same_key() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    let ksf = async |name: &str| {
        world.post("/v1/login/start", &json!({ "name": name, "ke1": ke1("pw").1 })).await.body["ksf"].clone()
    };
    let (alice, nobody) = (ksf("alice").await, ksf("nobody").await);
    assert_eq!(alice, nobody);
    assert_eq!(ksf("nobody").await, nobody);
}

#[tokio::test]
async fn every_answer_forbids_caching() {
    let world = World::new(&[]).await;
    for path in ["/v1/config", "/healthz", "/v1/session", "/nothing"] {
        let answer = world.get(path, None).await;
        assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{path}");
    }
}
