//! A login server on 127.0.0.1 with one account, connections to it, and the same account by the library alone.
//!
//! The server runs in this process, with a runtime and a thread of its own (SQLite's writer is another), and a generator of load talks to it from
//! the caller's thread over plain HTTP/1.1 connections that are kept. Keys and the account's record follow from the seed, so what a login
//! yields, the export key, is the same whoever answers it.

mod lane;

use super::thread::{Kept, Thread};
use candor_login::store::{Actor, Conflict, NewAccount};
use candor_login::{Config, Log, MasterKey, PARTIES, Server, Store, StoreError, UnixTime, UserName};
use candor_opaque::{
    Argon2id, Client, ClientLogin, CredentialId, DefaultSuite, KsfParams, Limits, NoStretching, Password, Record,
    ServerLogin, SuiteId,
};
use candor_peers::contract::opaque::Keys;
use candor_peers::seed::Stream;
use rand_core::UnwrapErr;
use serde_json::{Value, json};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tempfile::TempDir;

pub(crate) use lane::{Lane, bytes, post, text};

/// The environment variable with the URL of a PostgreSQL database that these tasks may fill.
pub(crate) const POSTGRES: &str = "CANDOR_TASKS_POSTGRES";
/// The master key of these tasks' databases: one in PostgreSQL outlives its task and must open again.
const MASTER_KEY: &str = "63616e646f72207461736b7320617265206e6f7420736563726574206174616c";
/// The server's keys are the same for all seeds, for the same reason.
const KEYS: u64 = 15;
const PASSWORD: &[u8] = b"correct horse battery staple";

/// Why something failed.
pub(crate) type Failed = String;

/// Where the server keeps its accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    /// A file that goes with the server.
    Sqlite,
    /// At the URL in [`POSTGRES`].
    Postgres,
}

/// An account, the keys that it is registered under, and its client.
pub(crate) struct Account {
    server: candor_opaque::Server<DefaultSuite>,
    record: Record,
    name: String,
    ksf: KsfParams,
    memory: Argon2id,
}

/// What the client has when a login ends.
pub(crate) struct Done {
    pub(crate) ke3: Vec<u8>,
    pub(crate) session_key: [u8; 64],
    pub(crate) export_key: [u8; 64],
}

impl Account {
    /// The account of a seed, whose client stretches with `ksf`.
    pub(crate) fn of(seed: u64, ksf: KsfParams) -> Result<Self, Failed> {
        let keys = Keys::of(KEYS);
        let server = candor_opaque::Server::from_keys(DefaultSuite::default(), ksf, &keys.oprf_seed, &keys.secret);
        let server = server.map_err(failed)?;
        let stretching = if ksf == KsfParams::Identity { "plain" } else { "stretched" };
        let name = format!("user-{seed:016x}-{stretching}");
        let (mut coins, mut memory) = (Stream::new(seed, "login account"), Argon2id::new());
        let (registration, request) = client().start_registration(&mut coins, &password()?).map_err(failed)?;
        let id = || CredentialId::imported(name.as_bytes()).map_err(failed);
        let response = server.register_with_id(id()?, &request).map_err(failed)?.response;
        let done = if ksf == KsfParams::Identity {
            registration.finish(&mut coins, &response, &ksf, &mut NoStretching, &PARTIES)
        } else {
            registration.finish(&mut coins, &response, &ksf, &mut memory, &PARTIES)
        };
        let upload = done.map_err(failed)?.upload;
        let record = Record::from_upload(&upload, &ksf, id()?, SuiteId::Rfc9807).map_err(failed)?;
        Ok(Self { server, record, name, ksf, memory })
    }

    /// The client's first message.
    pub(crate) fn ke1(&self) -> Result<(ClientLogin<DefaultSuite>, Vec<u8>), Failed> {
        client().start_login(&mut rng(), &password()?).map_err(failed)
    }

    /// The library's answer to it.
    pub(crate) fn ke2(&self, ke1: &[u8]) -> Result<(ServerLogin<DefaultSuite>, Vec<u8>), Failed> {
        let answer = self.server.respond(&mut rng(), ke1, self.name.as_bytes(), Some(&self.record), &PARTIES);
        answer.map(|answer| (answer.state, answer.ke2)).map_err(failed)
    }

    /// The client's last message, and what it has then.
    pub(crate) fn ke3(&mut self, login: ClientLogin<DefaultSuite>, ke2: &[u8]) -> Result<Done, Failed> {
        let done = if self.ksf == KsfParams::Identity {
            login.finish(ke2, &self.ksf, &mut NoStretching, &PARTIES)
        } else {
            login.finish(ke2, &self.ksf, &mut self.memory, &PARTIES)
        };
        let done = done.map_err(failed)?;
        let (session, export) = (done.session_key.as_bytes(), done.export_key.as_bytes());
        Ok(Done { ke3: done.ke3.to_vec(), session_key: *session, export_key: *export })
    }

    /// The end of a login by the library: its session key.
    pub(crate) fn end(&self, login: ServerLogin<DefaultSuite>, ke3: &[u8]) -> Result<[u8; 64], Failed> {
        Ok(*login.finish(ke3, Some(&self.record)).map_err(failed)?.session_key.as_bytes())
    }

    /// The request that begins a login.
    pub(crate) fn start_request(&self, ke1: &[u8]) -> Vec<u8> {
        post("/v1/login/start", &json!({ "name": self.name, "ke1": text(ke1) }))
    }

    /// The request that ends it: KE2 is answered. Gives the export key as well.
    pub(crate) fn finish_request(
        &mut self,
        login: ClientLogin<DefaultSuite>,
        started: &Value,
    ) -> Result<(Vec<u8>, [u8; 64]), Failed> {
        let done = self.ke3(login, &bytes(started, "ke2")?)?;
        let body = json!({ "name": self.name, "state": started["state"], "ke3": text(&done.ke3) });
        Ok((post("/v1/login/finish", &body), done.export_key))
    }

    /// What the server stores.
    fn stored(&self) -> Result<Stored, Failed> {
        let keys = self.server.to_bytes().map_err(failed)?.to_vec();
        let name = UserName::parse(&self.name).map_err(failed)?;
        Ok(Stored { keys, name, record: self.record.clone() })
    }
}

/// The keys and the account, for the database.
struct Stored {
    keys: Vec<u8>,
    name: UserName,
    record: Record,
}

impl Stored {
    /// Puts them into an empty database, or finds them there.
    async fn put(self, config: &Config) -> Result<(), Failed> {
        let master = MasterKey::load(&config.master_key_file()).map_err(failed)?;
        let store = Store::open(&config.database_url(), &master).await.map_err(failed)?;
        let now = UnixTime::now();
        let key = store.add_key(self.keys.into(), true, Actor::Server, now).await.map_err(failed)?;
        let new = NewAccount { name: self.name, record: self.record, key, token: None, recovery_codes: Vec::new() };
        match store.register(new, now).await {
            Ok(_) | Err(StoreError::Conflict(Conflict::NameTaken)) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// A server with an account, and connections to it.
pub(crate) struct Host {
    /// The connections.
    pub(crate) lanes: Vec<Lane>,
    // After what talks to it, and before its files.
    _thread: Thread,
    _folder: TempDir,
}

impl Host {
    /// Starts a server that has `account`, and makes so many connections.
    pub(crate) fn start(account: &Account, database: Database, lanes: usize) -> Result<Self, Failed> {
        let folder = tempfile::tempdir().map_err(failed)?;
        let config = config(folder.path(), database)?;
        let stored = account.stored()?;
        let (address, thread) = Thread::new(failed, move || async move {
            // Before the server makes a key of its own.
            stored.put(&config).await?;
            let server = Server::start(config, Log::default()).await.map_err(failed)?;
            Ok((server.address(), Box::new(server) as Kept))
        })?;
        let lanes: Result<_, _> = (0..lanes).map(|_| Lane::connect(address)).collect();
        Ok(Self { lanes: lanes.map_err(failed)?, _thread: thread, _folder: folder })
    }

    /// A whole login; the server knows the session by its token. Returns the export key.
    pub(crate) fn log_in(&mut self, account: &mut Account) -> Result<[u8; 64], Failed> {
        let lane = self.lanes.first_mut().ok_or("no connection to the server")?;
        let (login, ke1) = account.ke1()?;
        let started = lane.call(&account.start_request(&ke1))?;
        let (finish, export_key) = account.finish_request(login, &started)?;
        let opened = lane.call(&finish)?;
        let token = opened["access_token"].as_str().ok_or("a login opened no session")?;
        let session = lane.call(&lane::get("/v1/session", token))?;
        if session["session"] != opened["session"] {
            return Err("a login's token is another session's".to_owned());
        }
        Ok(export_key)
    }
}

/// Settings without limits on guesses and on idle connections; the default ones otherwise.
fn config(folder: &Path, database: Database) -> Result<Config, Failed> {
    let mut config = Config::default();
    let file = folder.join("master.key");
    let options = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    options.and_then(|mut open| open.write_all(MASTER_KEY.as_bytes())).map_err(failed)?;
    config.state = folder.to_owned();
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    if database == Database::Postgres {
        let missing = |_| format!("needs {POSTGRES}, the URL of a PostgreSQL database for these tasks alone");
        config.database = Some(std::env::var(POSTGRES).map_err(missing)?);
    }
    for (name, value) in [
        ("exempt", "127.0.0.0/8"),
        ("account-burst", "1000000000"),
        ("account-every", "1ms"),
        ("owner-burst", "1000000000"),
        ("owner-every", "1ms"),
        ("head-timeout", "8h"),
    ] {
        config.set("login/http", name, value).map_err(failed)?;
    }
    Ok(config)
}

fn client() -> Client<DefaultSuite> {
    Client::new(DefaultSuite::default()).with_limits(Limits::NONE)
}

fn password() -> Result<Password<'static>, Failed> {
    Password::from_bytes(PASSWORD).map_err(failed)
}

fn rng() -> UnwrapErr<getrandom::SysRng> {
    UnwrapErr(getrandom::SysRng)
}

fn failed(error: impl ToString) -> Failed {
    error.to_string()
}
