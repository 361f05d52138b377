//! A server, and requests written by hand.

use crate::everywhere;
use base64ct::{Base64UrlUnpadded, Encoding};
use candor_login::{Clock, Config, Log, PARTIES, Server, UnixTime};
use candor_opaque::{Argon2id, Client, ClientLogin, DefaultSuite, KsfParams, Limits, Password};
use candor_test_support::postgres;
use getrandom::{SysRng, rand_core::UnwrapErr};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const NOW: i64 = 1_800_000_000;

/// A server with its own database and a clock that the test sets.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
    pub(crate) clock: Arc<AtomicI64>,
    /// PostgreSQL's URL; none with SQLite.
    postgres: Option<String>,
}

/// Settings in which anybody may register, and nothing is slow.
pub(crate) const OPEN: [(&str, &str); 6] = [
    ("listen", "127.0.0.1:0"),
    ("ksf", "8:1:1"),
    ("registration", "open"),
    ("exempt", "127.0.0.0/8"),
    ("account-burst", "1000"),
    ("refusal-delay", "0ms"),
];

pub(crate) fn config(state: &Path, settings: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    config.set("test", "state", &state.display().to_string()).unwrap();
    for (name, value) in settings {
        config.set("test", name, value).unwrap();
    }
    config
}

impl World {
    pub(crate) async fn new(settings: &[(&str, &str)]) -> Self {
        Self::with_log(settings, Log::default()).await
    }

    pub(crate) async fn with_log(settings: &[(&str, &str)], log: Log) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let postgres = everywhere::is_postgres().then(|| postgres::shared().unwrap().database());
        let database = postgres.as_ref().map(|url| ("database", url.as_str()));
        let config = config(folder.path(), &[&OPEN, database.as_slice(), settings].concat());
        let clock = Arc::new(AtomicI64::new(NOW));
        let read = Arc::clone(&clock);
        let clock_of_server = Clock::new(move || UnixTime(read.load(Ordering::Relaxed)));
        let server = Server::start_with_clock(config, log, clock_of_server).await.unwrap();
        Self { server, folder, clock, postgres }
    }

    /// Another server on the same database.
    pub(crate) async fn another(&self) -> Server {
        let database = self.postgres.as_ref().map(|url| ("database", url.as_str()));
        let config = config(self.folder.path(), &[&OPEN, database.as_slice()].concat());
        Server::start_with_clock(config, Log::default(), Clock::new(|| UnixTime(NOW))).await.unwrap()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn set_clock(&self, seconds_later: i64) {
        self.clock.store(NOW + seconds_later, Ordering::Relaxed);
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        post(self.address(), path, body).await
    }

    pub(crate) async fn get(&self, path: &str, token: Option<&str>) -> Answer {
        ask(self.address(), "GET", path, token).await
    }

    /// An account, and the tokens of its first session.
    pub(crate) async fn join(&self, name: &str, password: &str) -> Value {
        let (start, state) = register(self.address(), name, password).await;
        assert_eq!(start.status, 200, "{start:?}");
        let upload = state.upload(&start);
        let body = json!({ "name": name, "state": start.body["state"], "upload": upload, "remember": true });
        let made = self.post("/v1/register/finish", &body).await;
        assert_eq!(made.status, 201, "{made:?}");
        made.body
    }

    /// A login up to KE3, which is not sent.
    pub(crate) async fn prove(&self, name: &str, password: &str) -> Proved {
        prove(self.address(), name, password).await
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
    /// Bytes of the body.
    pub(crate) length: usize,
}

impl Answer {
    /// The problem's kind, or the status.
    pub(crate) fn kind(&self) -> String {
        match self.body["type"].as_str().and_then(|kind| kind.strip_prefix("urn:candor:login:")) {
            Some(kind) => format!("{} {kind}", self.status),
            None => self.status.to_string(),
        }
    }
}

/// Sends these bytes and reads all that comes back.
pub(crate) async fn raw(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    // The server may answer and hang up before it has read all.
    let _ = tcp.write_all(request).await;
    let mut answer = Vec::new();
    let _ = tcp.read_to_end(&mut answer).await;
    answer
}

pub(crate) fn parse(answer: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status line");
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Answer {
        status,
        headers: lines.filter_map(header).collect(),
        body: serde_json::from_str(body).unwrap_or(Value::Null),
        length: body.len(),
    }
}

pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    send(address, "POST", path, None, "", body).await
}

pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    token: Option<&str>,
    headers: &str,
    body: &Value,
) -> Answer {
    let bearer = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let headers = format!("Content-Type: application/json\r\n{bearer}{headers}");
    parse(&raw(address, &request(method, path, &headers, &body.to_string())).await)
}

pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str, token: Option<&str>) -> Answer {
    let headers = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    parse(&raw(address, &request(method, path, &headers, "")).await)
}

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    Base64UrlUnpadded::decode_vec(value.as_str().expect("a text")).unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

fn client() -> Client<DefaultSuite> {
    Client::new(DefaultSuite::default()).with_limits(Limits::NONE)
}

/// A registration that waits for its response.
pub(crate) struct Registering(candor_opaque::ClientRegistration);

impl Registering {
    pub(crate) fn begin(password: &str) -> (Self, String) {
        let password = Password::from_bytes(password.as_bytes()).unwrap();
        let (state, request) = client().start_registration(&mut UnwrapErr(SysRng), &password).unwrap();
        (Self(state), text(&request))
    }

    pub(crate) fn upload(self, started: &Answer) -> String {
        let ksf = KsfParams::from_bytes(&bytes(&started.body["ksf"])).unwrap();
        let response = bytes(&started.body["response"]);
        let rng = &mut UnwrapErr(SysRng);
        text(&self.0.finish(rng, &response, &ksf, &mut Argon2id::new(), &PARTIES).unwrap().upload)
    }
}

pub(crate) async fn register(address: SocketAddr, name: &str, password: &str) -> (Answer, Registering) {
    let (state, request) = Registering::begin(password);
    (post(address, "/v1/register/start", &json!({ "name": name, "request": request })).await, state)
}

/// KE1 for a password, and what finishes the login.
pub(crate) fn ke1(password: &str) -> (ClientLogin<DefaultSuite>, String) {
    let password = Password::from_bytes(password.as_bytes()).unwrap();
    let (login, ke1) = client().start_login(&mut UnwrapErr(SysRng), &password).unwrap();
    (login, text(&ke1))
}

/// A login whose KE3 has not been sent.
#[derive(Clone)]
pub(crate) struct Proved {
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) ke3: String,
}

impl Proved {
    pub(crate) fn body(&self) -> Value {
        json!({ "name": self.name, "state": self.state, "ke3": self.ke3 })
    }
}

pub(crate) async fn prove(address: SocketAddr, name: &str, password: &str) -> Proved {
    let (login, ke1) = ke1(password);
    let started = post(address, "/v1/login/start", &json!({ "name": name, "ke1": ke1 })).await;
    assert_eq!(started.status, 200, "{started:?}");
    let ksf = KsfParams::from_bytes(&bytes(&started.body["ksf"])).unwrap();
    let done = login.finish(&bytes(&started.body["ke2"]), &ksf, &mut Argon2id::new(), &PARTIES).unwrap();
    let state = started.body["state"].as_str().unwrap().to_owned();
    Proved { name: name.to_owned(), state, ke3: text(&done.ke3) }
}
