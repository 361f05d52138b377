//! The database goes away, is locked, is full, and comes back.

use crate::world::{World, ke1, register, text};
use candor_test_support::postgres::{Postgres, skipped};
use candor_test_support::small_disk;
use serde_json::json;

fn sqlite(world: &World) -> rusqlite::Connection {
    rusqlite::Connection::open(world.folder.path().join("login.sqlite")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_database_is_told_as_503_and_nothing_is_lost() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    let proved = world.prove("alice", "pw").await;
    let locker = sqlite(&world);
    locker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let (_, ke1) = ke1("pw");
    assert_eq!(
        world.post("/v1/login/start", &json!({ "name": "alice", "ke1": ke1 })).await.status,
        200,
        "reading goes on"
    );
    let made_up = json!({ "refresh_token": text(&[7; 48]) });
    assert_eq!(world.post("/v1/session/refresh", &made_up).await.kind(), "401 no-session", "writes nothing");
    let refused = world.post("/v1/login/finish", &proved.body()).await;
    assert_eq!(refused.kind(), "503 unavailable");
    assert_eq!(refused.headers["retry-after"], "5");
    assert_eq!(world.get("/healthz", None).await.status, 200);
    locker.execute_batch("ROLLBACK").unwrap();
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200, "the same login, later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_fails_in_the_middle_of_a_change_has_made_none_of_it() {
    let world = World::new(&[]).await;
    world.join("alice", "pw").await;
    let proved = world.prove("alice", "pw").await;
    // Opening a session comes after using up the login.
    let database = sqlite(&world);
    database.execute_batch("ALTER TABLE session RENAME TO away").unwrap();
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "500 internal");
    database.execute_batch("ALTER TABLE away RENAME TO session").unwrap();
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_gone_is_told_as_503_until_it_is_back() {
    let mut server = match Postgres::start() {
        Ok(server) => server,
        Err(why) => return skipped("a_database_that_is_gone_is_told_as_503_until_it_is_back", &why),
    };
    let url = server.database();
    let world = World::new(&[("database", &url)]).await;
    world.join("alice", "pw").await;
    let proved = world.prove("alice", "pw").await;
    server.pause();
    let (_, ke1) = ke1("pw");
    for name in ["alice", "nobody"] {
        let refused = world.post("/v1/login/start", &json!({ "name": name, "ke1": ke1 })).await;
        assert_eq!((refused.kind().as_str(), refused.headers["retry-after"].as_str()), ("503 unavailable", "5"));
    }
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "503 unavailable");
    assert_eq!(world.get("/readyz", None).await.kind(), "503 unavailable");
    assert_eq!(world.get("/healthz", None).await.status, 200);
    server.resume();
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200, "the same login, later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_moved_away_or_replaced_takes_no_change_until_it_is_back() {
    let world = World::new(&[]).await;
    let (started, registering) = register(world.address(), "alice", "pw").await;
    let body = json!({ "name": "alice", "state": started.body["state"], "upload": registering.upload(&started) });
    let finish = async || world.post("/v1/register/finish", &body).await.kind();
    let (file, away) = (world.folder.path().join("login.sqlite"), world.folder.path().join("away.sqlite"));
    std::fs::rename(&file, &away).unwrap();
    assert_eq!(finish().await, "503 unavailable", "moved away");
    assert_eq!(world.get("/readyz", None).await.kind(), "503 unavailable");
    std::fs::copy(&away, &file).unwrap();
    assert_eq!(finish().await, "503 unavailable", "a copy in its place");
    std::fs::rename(&away, &file).unwrap();
    assert_eq!(finish().await, "201", "the same registration, later");
    world.set_clock(1);
    assert_eq!(world.get("/readyz", None).await.kind(), "200");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_as_503_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let test = "database::a_full_disk_is_told_as_503_and_nothing_is_lost";
    if let Some(disk) = small_disk::run(test, folder.path(), "every user is there") {
        on_a_full_disk(&disk).await;
        println!("every user is there");
    }
}

async fn on_a_full_disk(disk: &str) {
    let world = World::new(&[]).await;
    let mut made = 0;
    let (body, refused) = loop {
        let name = format!("user{made}");
        let (started, registering) = register(world.address(), &name, "pw").await;
        let body = json!({ "name": name, "state": started.body["state"], "upload": registering.upload(&started) });
        let answer = world.post("/v1/register/finish", &body).await;
        if answer.status != 201 {
            break (body, answer);
        }
        made += 1;
    };
    assert!(made > 10, "{made}");
    assert_eq!((refused.kind().as_str(), refused.headers["retry-after"].as_str()), ("503 unavailable", "5"));
    assert_eq!(refused.headers["content-type"], "application/problem+json");
    // Reading goes on, and looks the same with and without an account.
    let starts = ["user0", "nobody"].map(|name| json!({ "name": name, "ke1": ke1("pw").1 }));
    let [known, unknown] =
        [world.post("/v1/login/start", &starts[0]).await, world.post("/v1/login/start", &starts[1]).await];
    assert_eq!((known.status, known.length), (200, unknown.length));
    small_disk::grow(disk);
    assert_eq!(world.post("/v1/register/finish", &body).await.status, 201, "the same registration, later");
    for user in [0, made / 2, made] {
        let proved = world.prove(&format!("user{user}"), "pw").await;
        assert_eq!(world.post("/v1/login/finish", &proved.body()).await.status, 200, "user{user}");
    }
}
