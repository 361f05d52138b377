//! `login/http/{start,login,login-argon2id}`: the login server over HTTP on 127.0.0.1, in a closed loop.
//!
//! The server has one worker thread. The generator, on the caller's thread, keeps a request in flight on each of some kept connections; an
//! operation is a number of requests, so that its beginning and its end, when fewer are in flight, weigh little. In the table of login starts
//! stands what the library does in them (`candor@auto+library`): its ratio is the share of a core's rate that HTTP and the database leave.
//! Limits on guesses are off: the loopback network is exempt, and the account's burst is never used up.

use crate::ours::login::{Account, Database, Done, Failed, Host, POSTGRES};
use crate::ours::opaque_provenance;
use candor_lab::{Entry, Mismatch, Provenance, Quantity, Refusal, Subject, Task, Witness};
use candor_opaque::{ClientLogin, DefaultSuite, KsfParams};
use std::hint::black_box;

const SQLITE: &str = "candor@auto+sqlite";
const IN_POSTGRES: &str = "candor@auto+postgres";
const LIBRARY: &str = "candor@auto+library";

/// Connections with a request in flight.
const LANES: usize = 8;
/// Login starts in an operation.
const STARTS: usize = 64;
/// Whole logins in an operation without key stretching, and with it.
const LOGINS: usize = 32;
const STRETCHED: usize = 2;

/// All tasks of the login server.
pub(super) fn tasks() -> Vec<Task> {
    let plain = format!("limits on guesses off, plain HTTP/1.1 on 127.0.0.1, {LANES} kept connections");
    let starts = format!(
        "{STARTS} login starts (suite hybrid, KE1 1280 bytes, KE2 1408 bytes) at a server with one worker thread; the KE1s are prepared; \
         {plain}"
    );
    let logins = |logins: usize, ksf: &str| {
        format!(
            "{logins} whole logins (start and finish, each opens a session) at a server with one worker thread; KE1s are prepared, KE3s are \
             computed by the generator, {ksf}; {plain}"
        )
    };
    let identity = logins(LOGINS, "without key stretching");
    let stretched = logins(STRETCHED, "with Argon2id (64 MiB, 3 passes)");
    vec![
        Task::new("login/http/start", starts)
            .entry(served(SQLITE, |database| Starts { at: At::Server(database), ready: None }))
            .entry(served(IN_POSTGRES, |database| Starts { at: At::Server(database), ready: None }))
            .entry(Entry::new(LIBRARY, || Ok(Starts { at: At::Library, ready: None }))),
        whole("login/http/login", identity, KsfParams::Identity, LOGINS),
        whole("login/http/login-argon2id", stretched, KsfParams::BROWSER, STRETCHED),
    ]
}

fn whole(name: &str, what: String, ksf: KsfParams, at_once: usize) -> Task {
    let make = move |database| Logins { database, ksf, at_once, ready: None };
    Task::new(name, what).entry(served(SQLITE, make)).entry(served(IN_POSTGRES, make))
}

/// A subject whose server keeps its accounts where the name says.
fn served<S: Subject + 'static>(name: &str, make: impl Fn(Database) -> S + Send + Sync + 'static) -> Entry {
    let database = if name == IN_POSTGRES { Database::Postgres } else { Database::Sqlite };
    Entry::new(name, move || match std::env::var_os(POSTGRES) {
        None if database == Database::Postgres => {
            Err(Refusal::new(format!("needs {POSTGRES}, the URL of a PostgreSQL database for these tasks alone")))
        }
        _ => Ok(make(database)),
    })
}

/// What a login yields is the same for every subject.
fn witness(export_key: &[u8; 64]) -> Witness {
    Witness::default().with("export key", export_key)
}

fn compare(export_key: Option<&[u8; 64]>, other: &Witness) -> Result<(), Mismatch> {
    let ours = export_key.ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
    witness(ours).same_as(other)
}

fn host_provenance(database: Database, timed: &str) -> Provenance {
    let threads = match database {
        Database::Sqlite => {
            "SQLite's writer has another, and a commit waits for the disk of the folder for temporary files"
        }
        Database::Postgres => "PostgreSQL's processes are its own",
    };
    let timed =
        format!("{timed}; the generator on this thread, the server in this process on a thread of its own; {threads}");
    Provenance { threads: Some(if database == Database::Sqlite { 3 } else { 2 }), ..opaque_provenance(&timed) }
}

/// Who answers KE1s.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Server(Database),
    Library,
}

/// Answers login starts.
struct Starts {
    at: At,
    ready: Option<ReadyStarts>,
}

struct ReadyStarts {
    account: Account,
    host: Option<Host>,
    /// KE1s for the library, whole requests for a server.
    requests: Vec<Vec<u8>>,
    /// Bytes of an answer.
    answer: usize,
    export_key: [u8; 64],
}

impl ReadyStarts {
    fn new(at: At, seed: u64) -> Result<Self, Failed> {
        let mut account = Account::of(seed, KsfParams::Identity)?;
        let mut host = match at {
            At::Server(database) => Some(Host::start(&account, database, LANES)?),
            At::Library => None,
        };
        let export_key = match &mut host {
            Some(host) => host.log_in(&mut account)?,
            None => by_library(&mut account)?.export_key,
        };
        let requests: Result<Vec<_>, Failed> = (0..STARTS)
            .map(|_| account.ke1().map(|(_, ke1)| if host.is_some() { account.start_request(&ke1) } else { ke1 }))
            .collect();
        let mut ready = Self { account, host, requests: requests?, answer: 0, export_key };
        let first = ready.requests[0].clone();
        ready.answer = match &mut ready.host {
            Some(host) => {
                host.lanes[0].send(&first)?;
                host.lanes[0].answer()?.len()
            }
            None => ready.account.ke2(&first)?.1.len(),
        };
        Ok(ready)
    }

    /// Every request, and an answer to each.
    fn run(&mut self) -> Result<(), Failed> {
        let Some(host) = &mut self.host else {
            return self.requests.iter().try_for_each(|ke1| {
                black_box(self.account.ke2(black_box(ke1))?);
                Ok(())
            });
        };
        let lane = |number: usize| number % LANES;
        for (number, request) in self.requests.iter().take(LANES).enumerate() {
            host.lanes[lane(number)].send(request)?;
        }
        for number in 0..self.requests.len() {
            let length = host.lanes[lane(number)].answer()?.len();
            if length != self.answer {
                return Err(format!("an answer has {length} bytes; expected {}", self.answer));
            }
            if let Some(next) = self.requests.get(number + LANES) {
                host.lanes[lane(number)].send(next)?;
            }
        }
        Ok(())
    }
}

/// A whole login without a server; both sides' session keys agree.
fn by_library(account: &mut Account) -> Result<Done, Failed> {
    let (login, ke1) = account.ke1()?;
    let (server, ke2) = account.ke2(&ke1)?;
    let done = account.ke3(login, &ke2)?;
    if account.end(server, &done.ke3)? != done.session_key {
        return Err("client and server have different session keys".to_owned());
    }
    Ok(done)
}

impl Subject for Starts {
    /// A whole login.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = ReadyStarts::new(self.at, seed).map_err(Refusal::failed)?;
        let answer = witness(&ready.export_key);
        self.ready = Some(ready);
        Ok(answer)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        compare(self.ready.as_ref().map(|ready| &ready.export_key), other)
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_mut().expect("prepare comes before run");
        (0..iterations).for_each(|_| ready.run().expect("it worked when it was prepared"));
    }

    fn quantities(&self) -> Vec<Quantity> {
        let Some(ready) = &self.ready else { return Vec::new() };
        vec![
            Quantity::bytes("request of a login start", &ready.requests[0]),
            Quantity::count("body of its answer", ready.answer, "bytes"),
        ]
    }

    fn provenance(&self) -> Provenance {
        match self.at {
            At::Server(database) => host_provenance(database, "requests sent, answers received and measured by length"),
            At::Library => Provenance {
                different_operation: Some("the same KE2s without HTTP, database and sealed states".into()),
                ..opaque_provenance("KE1s and the stored record in as bytes, KE2s out as bytes, on this thread")
            },
        }
    }
}

/// Logs in.
struct Logins {
    database: Database,
    ksf: KsfParams,
    at_once: usize,
    ready: Option<ReadyLogins>,
}

struct ReadyLogins {
    account: Account,
    host: Host,
    /// Logins that have begun on the client's side, with the requests that begin them on the server's.
    stock: Vec<(ClientLogin<DefaultSuite>, Vec<u8>)>,
    export_key: [u8; 64],
}

impl ReadyLogins {
    fn new(database: Database, ksf: KsfParams, seed: u64) -> Result<Self, Failed> {
        let mut account = Account::of(seed, ksf)?;
        let mut host = Host::start(&account, database, LANES)?;
        let export_key = host.log_in(&mut account)?;
        Ok(Self { account, host, stock: Vec::new(), export_key })
    }

    fn restock(&mut self, logins: usize) -> Result<(), Failed> {
        while self.stock.len() < logins {
            let (login, ke1) = self.account.ke1()?;
            self.stock.push((login, self.account.start_request(&ke1)));
        }
        Ok(())
    }

    /// So many logins, a connection each: starts, finishes, and the sessions that they open.
    fn run(&mut self, logins: usize) -> Result<(), Failed> {
        let mut left = logins;
        while left > 0 {
            let now = left.min(LANES);
            let stock = self.stock.split_off(self.stock.len() - now);
            let lanes = &mut self.host.lanes[..now];
            let mut begun = Vec::with_capacity(now);
            for (lane, (login, request)) in lanes.iter_mut().zip(stock) {
                lane.send(&request)?;
                begun.push(login);
            }
            for (lane, login) in lanes.iter_mut().zip(begun) {
                let started = serde_json::from_slice(lane.answer()?).map_err(|error| error.to_string())?;
                lane.send(&self.account.finish_request(login, &started)?.0)?;
            }
            for lane in lanes {
                lane.answer()?;
            }
            left -= now;
        }
        Ok(())
    }
}

impl Subject for Logins {
    /// A whole login.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = ReadyLogins::new(self.database, self.ksf, seed).map_err(Refusal::failed)?;
        let answer = witness(&ready.export_key);
        self.ready = Some(ready);
        Ok(answer)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        compare(self.ready.as_ref().map(|ready| &ready.export_key), other)
    }

    fn restock(&mut self, iterations: u64) {
        let ready = self.ready.as_mut().expect("prepare comes before restock");
        let logins = self.at_once * usize::try_from(iterations).expect("a number that fits");
        ready.restock(logins).expect("it worked when it was prepared");
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_mut().expect("prepare comes before run");
        (0..iterations).for_each(|_| ready.run(self.at_once).expect("it worked when it was prepared"));
    }

    fn provenance(&self) -> Provenance {
        let timed =
            "logins that begin with prepared KE1s and end with sessions, KE3s and key stretching computed meanwhile";
        host_provenance(self.database, timed)
    }
}
