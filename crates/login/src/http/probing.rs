//! A request costs the server the same work whether there is an account or not. Work is counted here, not timed: statements with their rows, and draws.

use super::{ClientAddress, Service, router};
use crate::config::Config;
use crate::keys::DRAWN;
use crate::log::Log;
use crate::migrate::{Input, Layout, import};
use crate::store::{Actor, NewAccount, Store};
use crate::time::{Clock, UnixTime};
use crate::{KeyRing, MasterKey, PARTIES, UserName};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use base64ct::{Base64UrlUnpadded, Encoding};
use candor_opaque::{Change, Client, DefaultSuite, KsfParams, Limits, NoStretching, Password, Record};
use getrandom::{SysRng, rand_core::UnwrapErr};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tempfile::TempDir;
use tower_service::Service as _;

const NOW: UnixTime = UnixTime(1_800_000_000);

/// What the server did for a request.
#[derive(Debug, PartialEq, Eq)]
struct Work {
    status: u16,
    statements: Vec<(&'static str, u64)>,
    draws: u64,
}

struct World {
    _folder: TempDir,
    service: Arc<Service>,
    router: Router,
}

impl World {
    /// A server with accounts: `alice`; `bob`, which is disabled; with `old`, imported ones as well.
    async fn new(old: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let master = MasterKey::from_bytes([7; 32]);
        let url = format!("sqlite:{}", folder.path().join("login.db").display());
        let store = Store::open(&url, &master).await.unwrap();
        let ring = KeyRing::open(&store, KsfParams::Identity, NOW).await.unwrap();
        let (key, record) = (ring.active().0, record(&ring));
        for text in ["alice", "bob"] {
            let name = UserName::parse(text).unwrap();
            let new = NewAccount { name, record: record.clone(), key, token: None, recovery_codes: Vec::new() };
            let id = store.register(new, NOW).await.unwrap();
            store.set_disabled(id, text == "bob", Actor::Server, NOW).await.unwrap();
        }
        if old {
            let hash = bcrypt::hash("pw", 4).unwrap();
            let lines: String = (0..8).map(|number| format!("old{number},{hash}\n")).collect();
            let text = format!("name,hash\n{lines}");
            let input = Input::new(text.as_bytes(), Layout::Csv, "name", "hash").unwrap();
            import(&store, Arc::new(ring), input, false, Actor::Server, |_| ()).await.unwrap();
        }
        let mut config = Config::default();
        config.set("test", "exempt", "127.0.0.0/8").unwrap();
        config.set("test", "account-burst", "1000").unwrap();
        let service = Service::new(config, store, &master, Log::default(), Clock::new(|| NOW)).await.unwrap();
        let router = router(&service, None);
        Self { _folder: folder, service, router }
    }

    async fn post(&self, path: &str, body: &Value) -> (Work, Value) {
        let before = DRAWN.get();
        self.service.store.traced();
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.extension(ClientAddress(Ipv4Addr::LOCALHOST.into())).body(Body::from(body.to_string()));
        let response = self.router.clone().call(request.unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
        let work = Work { status, statements: self.service.store.traced(), draws: DRAWN.get() - before };
        (work, serde_json::from_slice(&body).unwrap())
    }

    /// The work of each request that a stranger can make for a name.
    async fn probe(&self, name: &str) -> Vec<Work> {
        let ke1 = client().start_login(&mut UnwrapErr(SysRng), &Password::from_bytes(b"guess").unwrap()).unwrap().1;
        let body = json!({ "name": name, "ke1": text(&ke1), "device": text(&[3; 48]) });
        let (started, answer) = self.post("/v1/login/start", &body).await;
        let finish = json!({ "name": name, "state": answer["state"], "ke3": text(&[5; 64]) });
        let (finished, _) = self.post("/v1/login/finish", &finish).await;
        let mut seen = vec![started, finished];
        if answer["old_hash"].is_string() {
            let again = json!({ "name": name, "ke1": text(&ke1), "old_hash": answer["state"] });
            let (started, answer) = self.post("/v1/login/start", &again).await;
            let finish = json!({ "name": name, "state": answer["state"], "ke3": text(&[5; 64]) });
            seen.extend([started, self.post("/v1/login/finish", &finish).await.0]);
        }
        let recovery = json!({ "name": name, "code": text(&[1; 32]) });
        seen.push(self.post("/v1/recovery/session", &recovery).await.0);
        seen
    }
}

fn client() -> Client<DefaultSuite> {
    Client::new(DefaultSuite::default()).with_limits(Limits::NONE)
}

fn text(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

fn record(ring: &KeyRing) -> Record {
    let rng = &mut UnwrapErr(SysRng);
    let (registration, request) =
        client().start_registration(rng, &Password::from_bytes(b"password").unwrap()).unwrap();
    let answer = ring.active().1.register(rng, &request).unwrap();
    let done = registration.finish(rng, &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    match answer.state.finish(&done.upload).unwrap() {
        Change::Insert(record) => record,
        other => panic!("a new account replaces nothing: {other:?}"),
    }
}

#[tokio::test]
async fn a_login_takes_the_same_statements_rows_and_draws_with_and_without_an_account() {
    let world = World::new(false).await;
    let alice = world.probe("alice").await;
    assert_eq!(alice.iter().map(|work| work.status).collect::<Vec<_>>(), [200, 401, 401]);
    assert!(alice.iter().all(|work| !work.statements.is_empty()) && alice[0].draws > 0);
    // Disabled; without an account before, between and after the names of those that are there.
    for name in ["bob", "aaron", "amanda", "zoe"] {
        assert_eq!(world.probe(name).await, alice, "{name}");
    }
}

#[tokio::test]
async fn so_it_does_while_some_accounts_have_old_hashes() {
    let world = World::new(true).await;
    let (old, new) = (world.probe("old3").await, world.probe("alice").await);
    assert_eq!((old.len(), new.len()), (5, 3));
    let mut seen = [0, 0];
    for number in 0..40 {
        let nobody = world.probe(&format!("nobody{number}")).await;
        seen[usize::from(nobody.len() == old.len())] += 1;
        assert!(nobody == old || nobody == new, "nobody{number}: {nobody:?}");
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    assert_eq!(old[0].draws, new[0].draws, "the scheme is drawn in any case");
}
