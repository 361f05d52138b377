//! Rotated keys: an answer under the new key tells nothing, from the moment on in which the first account has it.

use crate::world::{Registering, World, config, ke1, prove};
use candor_login::{Actor, KeyRing, UnixTime};
use serde_json::{Value, json};

#[tokio::test]
async fn names_without_an_account_move_with_the_first_account_that_does() {
    let world = World::new(&[]).await;
    for number in 0..4 {
        world.join(&format!("user{number}"), "pw").await;
    }
    let ksf = async |name: &str| -> Value {
        world.post("/v1/login/start", &json!({ "name": name, "ke1": ke1("guess").1 })).await.body["ksf"].clone()
    };
    let old = ksf("user0").await;
    let store = world.server.store();
    let other = config(world.folder.path(), &[("ksf", "16:1:1")]).ksf;
    let ring = KeyRing::load(store).await.unwrap().unwrap();
    ring.rotate_to(other, store, Actor::Server, UnixTime(crate::world::NOW)).await.unwrap();
    let moved = async || {
        let mut moved = 0;
        for number in 0..200 {
            moved += usize::from(ksf(&format!("nobody{number}")).await != old);
        }
        moved
    };
    assert_eq!(moved().await, 0);
    assert_eq!(ksf("user0").await, old);

    let mut body = prove(world.address(), "user0", "pw").await.body();
    let (registering, request) = Registering::begin("new");
    body["request"] = request.into();
    let started = world.post("/v1/password/start", &body).await;
    let body = json!({ "name": "user0", "state": started.body["state"], "upload": registering.upload(&started) });
    assert_eq!(world.post("/v1/password/finish", &body).await.status, 200);
    assert_ne!(ksf("user0").await, old);
    assert_eq!(ksf("user1").await, old);
    // One account in four: 50 expected, standard deviation 6.
    let moved = moved().await;
    assert!((20..90).contains(&moved), "{moved}");
}
