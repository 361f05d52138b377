//! What the server can't write down: which requests go on, which are refused whole. Each with its undamaged twin.

use crate::world::{OPEN, Registering, World, config, register};
use candor_login::{Log, Server};
use candor_test_support::postgres;
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Makes every statement of this kind fail, in the database of a running server, until [`mend`].
fn fail(world: &World, statement: &str) {
    let trigger = format!("CREATE TRIGGER fault BEFORE {statement} BEGIN SELECT RAISE(ABORT, 'fault'); END");
    database(world).execute_batch(&trigger).unwrap();
}

fn mend(world: &World) {
    database(world).execute_batch("DROP TRIGGER fault").unwrap();
}

fn database(world: &World) -> rusqlite::Connection {
    rusqlite::Connection::open(world.folder.path().join("login.sqlite")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_opens_requests_whose_use_cannot_be_written_down() {
    let world = World::new(&[]).await;
    let session = world.join("alice", "pw").await;
    let used = async || world.get("/v1/session", session["access_token"].as_str()).await.body["used"].clone();
    let before = used().await;
    world.set_clock(60);
    fail(&world, "UPDATE OF used ON session");
    assert_eq!([used().await, used().await], [before.clone(), before.clone()]);
    mend(&world);
    // What is shown was read before the use was written down.
    assert_eq!([used().await, used().await], [before, (crate::world::NOW + 60).into()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_logged_names_nobody_and_gives_nothing_away() {
    let logged: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&logged);
    let log = Log::new(move |event| sink.lock().unwrap().push(format!("{event} {}", json!(event))));
    let world = World::with_log(&[], log).await;
    let session = world.join("alice", "pw").await;
    let proved = world.prove("alice", "pw").await;
    fail(&world, "INSERT ON session");
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "500 internal");
    mend(&world);
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "200");
    assert_eq!(world.post("/v1/login/finish", &proved.body()).await.kind(), "409 state-used");
    let wrong = json!({ "name": "alice", "state": proved.state, "ke3": proved.ke3.replace('A', "B") });
    assert!(world.post("/v1/login/finish", &wrong).await.status >= 400);
    let logged = logged.lock().unwrap().join("\n");
    assert!(logged.contains("/v1/login/finish: database: fault"), "{logged}");
    let tokens = ["access_token", "refresh_token", "session", "device"].map(|name| session[name].as_str().unwrap());
    for secret in ["alice", &proved.state, &proved.ke3].into_iter().chain(tokens) {
        assert!(!logged.contains(secret), "{secret}: {logged}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_succeeds_whose_device_cannot_be_marked_as_used() {
    let world = World::new(&[]).await;
    let device = world.join("alice", "pw").await["device"].clone();
    let log_in = async || {
        let mut body = world.prove("alice", "pw").await.body();
        body["device"] = device.clone();
        let opened = world.post("/v1/login/finish", &body).await;
        assert_eq!(opened.status, 200, "{opened:?}");
        let devices = world.get("/v1/devices", opened.body["access_token"].as_str()).await.body;
        devices["devices"][0]["used"].as_i64().unwrap() - crate::world::NOW
    };
    world.set_clock(86400);
    fail(&world, "UPDATE OF used ON device");
    assert_eq!(log_in().await, 0);
    mend(&world);
    assert_eq!(log_in().await, 86400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_cannot_be_stored_takes_its_session_with_it_and_can_be_sent_again() {
    let world = World::new(&[]).await;
    fail(&world, "INSERT ON device");
    let (start, registering) = register(world.address(), "alice", "pw").await;
    let upload = registering.upload(&start);
    let body = json!({ "name": "alice", "state": start.body["state"], "upload": upload, "remember": true });
    assert_eq!(world.post("/v1/register/finish", &body).await.kind(), "500 internal");
    let alice = candor_login::UserName::parse("alice").unwrap();
    assert!(world.server.store().account(&alice).await.unwrap().is_none());
    mend(&world);
    let made = world.post("/v1/register/finish", &body).await;
    assert!(made.status == 201 && made.body["device"].is_string(), "{made:?}");

    let token = made.body["access_token"].as_str();
    let sessions = async || world.get("/v1/sessions", token).await.body["sessions"].as_array().unwrap().len();
    let mut login = world.prove("alice", "pw").await.body();
    login["remember"] = true.into();
    let mut change = world.prove("alice", "pw").await.body();
    let (registering, request) = Registering::begin("new");
    change["request"] = request.into();
    let started = world.post("/v1/password/start", &change).await;
    let upload = registering.upload(&started);
    let change = json!({ "name": "alice", "state": started.body["state"], "upload": upload, "remember": true });
    for (path, body) in [("/v1/login/finish", login), ("/v1/password/finish", change)] {
        fail(&world, "INSERT ON device");
        assert_eq!(world.post(path, &body).await.kind(), "500 internal", "{path}");
        assert_eq!(sessions().await, 1, "{path}");
        mend(&world);
        let opened = world.post(path, &body).await;
        assert!(opened.status == 200 && opened.body["device"].is_string(), "{path}: {opened:?}");
        if path == "/v1/login/finish" {
            let end = format!("/v1/sessions/{}", opened.body["session"].as_str().unwrap());
            assert_eq!(crate::world::ask(world.address(), "DELETE", &end, token).await.status, 204);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_database_takes_no_change_is_not_ready() {
    let world = World::new(&[]).await;
    let ready = async || world.get("/readyz", None).await.kind();
    assert_eq!(ready().await, "200");
    fail(&world, "UPDATE ON room");
    assert_eq!(ready().await, "200", "it writes once a second at most");
    world.set_clock(1);
    assert_eq!([ready().await, ready().await], ["503 unavailable", "503 unavailable"]);
    assert_eq!(world.get("/healthz", None).await.status, 200);
    mend(&world);
    world.set_clock(2);
    assert_eq!(ready().await, "200");
    // However often it is asked, it writes no more.
    let watch = database(&world);
    let changes = || watch.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let before = changes();
    for _ in 0..20 {
        assert_eq!(ready().await, "200");
    }
    assert_eq!(changes(), before);
    world.set_clock(3);
    assert_eq!(ready().await, "200");
    assert_ne!(changes(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_master_key_is_missing_says_so_and_makes_no_other() {
    let sqlite = tempfile::tempdir().unwrap();
    without_its_key(sqlite.path(), &[]).await;
    match postgres::shared() {
        Ok(server) => {
            let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
            without_its_key(folder.path(), &[("database", &url)]).await;
        }
        Err(why) => postgres::skipped("a_server_whose_master_key_is_missing_says_so_and_makes_no_other", why),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_database_is_missing_says_so_and_makes_no_other() {
    let state = tempfile::tempdir().unwrap();
    let start = async || Server::start(config(state.path(), &OPEN), Log::default()).await;
    let (database, elsewhere) = (state.path().join("login.sqlite"), state.path().join("kept.sqlite"));
    start().await.unwrap().shutdown().await;
    std::fs::rename(&database, &elsewhere).unwrap();
    let error = start().await.err().expect("no server").to_string();
    assert!(
        error.contains("master.key is there, and its database") && error.contains("login.sqlite is not"),
        "{error}"
    );
    assert!(!database.exists(), "an empty one would look like one without accounts");
    std::fs::rename(&elsewhere, &database).unwrap();
    start().await.unwrap().shutdown().await;
    // Whoever means it begins anew.
    std::fs::remove_file(&database).unwrap();
    std::fs::remove_file(state.path().join("master.key")).unwrap();
    start().await.unwrap().shutdown().await;
}

async fn without_its_key(state: &Path, settings: &[(&str, &str)]) {
    let start = async || Server::start(config(state, &[&OPEN, settings].concat()), Log::default()).await;
    let (key, elsewhere) = (state.join("master.key"), state.join("kept.key"));
    start().await.unwrap().shutdown().await;
    std::fs::rename(&key, &elsewhere).unwrap();
    let error = start().await.err().expect("no server").to_string();
    assert!(error.contains("master.key is missing") && error.contains("`master-key`"), "{error}");
    assert!(!key.exists(), "a new one would only be in the way");
    std::fs::rename(&elsewhere, &key).unwrap();
    start().await.unwrap().shutdown().await;
}
