//! Three relays as processes of their own, ours or C tor's, and a client in this process. Each relay has one thread for its links and cells, and one for handshakes
//! (C tor: its main thread, and two for handshakes, the fewest that it makes of `NumCPUs 1`).
//!
//! Limits are as shipped. Loopback is a test network to our relays, so those that count networks of strangers don't apply; C tor's defence against
//! creations is off unless a consensus turns it on, and there is none. Our relays remember onionskins and refuse those that come again; C tor's don't.

use super::thread::runtime;
use candor_lab::{Refusal, cpu_time};
use candor_network::{Circuit, Client, ClientOptions, Crypto, Error, HandshakeType, RelayList};
use candor_peers::tor_relays::{Scheduler, Tor, TorRelay};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// The program's name, by which it is told from the tests that link this crate.
const CANDOR: &str = "candor";
/// Relays of a circuit.
const HOPS: usize = 3;

/// Whose relays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    Ours,
    Tors(&'static Tor, Scheduler),
}

/// The processes of the relays. Dropping them ends them.
enum Processes {
    Ours(Vec<OurRelay>),
    Tors(Vec<TorRelay>),
}

/// Three relays, and a client whose runtime is on the caller's thread: it does nothing while nobody waits in [`Relays::wait`].
pub(crate) struct Relays {
    // In the order in which they must go.
    client: Arc<Client>,
    runtime: Runtime,
    list: Arc<RelayList>,
    processes: Processes,
    _folder: Option<TempDir>,
}

/// This program. A test would take the arguments of a relay for names of tests, and run.
pub(crate) fn this_program() -> Result<PathBuf, Refusal> {
    let path = std::env::current_exe().map_err(|error| Refusal::new(format!("can't be found: {error}")))?;
    match path.file_stem().is_some_and(|stem| stem == CANDOR) {
        true => Ok(path),
        // Of a path only the name: the rest would be this machine's.
        false => {
            let name = path.file_name().map_or_else(|| "none".to_owned(), |name| name.to_string_lossy().into_owned());
            Err(Refusal::new(format!("is a command of the program {CANDOR}, and this is {name}")))
        }
    }
}

impl Relays {
    /// Starts three relays, of which each is an exit to the target. Layers are of `crypto`.
    pub(crate) fn start(whose: Whose, crypto: Crypto, target: SocketAddr) -> Result<Self, Refusal> {
        let failed = |error: Error| Refusal::failed(error.to_string());
        let (processes, lines, folder) = match whose {
            Whose::Ours => {
                let program = this_program()?;
                let started: Result<Vec<_>, String> = (0..HOPS).map(|_| OurRelay::start(&program, target)).collect();
                let mut relays = started.map_err(Refusal::failed)?;
                let lines: Result<Vec<_>, String> = relays.iter_mut().map(OurRelay::line).collect();
                (Processes::Ours(relays), lines.map_err(Refusal::failed)?, None)
            }
            Whose::Tors(tor, scheduler) => {
                let folder = tempfile::tempdir();
                let folder = folder.map_err(|error| Refusal::failed(format!("no temporary folder: {error}")))?;
                let relays = TorRelay::start(tor, scheduler, folder.path(), HOPS).map_err(Refusal::failed)?;
                let lines = relays.iter().map(line_of).collect();
                (Processes::Tors(relays), lines, Some(folder))
            }
        };
        Ok(Self {
            client: Arc::new(Client::new(ClientOptions { crypto, ..ClientOptions::default() }).map_err(failed)?),
            runtime: runtime().map_err(|error| Refusal::failed(format!("no runtime: {error}")))?,
            list: Arc::new(RelayList::parse(&lines.join("\n")).map_err(failed)?),
            processes,
            _folder: folder,
        })
    }

    /// CPU nanoseconds of the relays together.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        self.numbers().into_iter().map(|process| Some(cpu_time(process)?.as_nanos() as u64)).sum()
    }

    /// CPU nanoseconds of the first relay.
    pub(crate) fn first_cpu_ns(&self) -> Option<u64> {
        Some(cpu_time(*self.numbers().first()?)?.as_nanos() as u64)
    }

    fn numbers(&self) -> Vec<u32> {
        match &self.processes {
            Processes::Ours(relays) => relays.iter().map(|relay| relay.child.id()).collect(),
            Processes::Tors(relays) => relays.iter().map(TorRelay::process).collect(),
        }
    }

    /// Lets the client work until `future` is ready.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Asks the first relay for so many circuits at once, and drops each that is there; how many those are.
    pub(crate) async fn create(&self, handshake: HandshakeType, at_once: usize) -> u64 {
        let mut creating = JoinSet::new();
        for _ in 0..at_once {
            let (client, list) = (Arc::clone(&self.client), Arc::clone(&self.list));
            creating.spawn(async move { client.first_hop(&list.relays()[0], handshake).await.is_ok() });
        }
        let mut created = 0;
        while let Some(is_there) = creating.join_next().await {
            created += u64::from(is_there.unwrap_or(false));
        }
        created
    }

    /// Builds a circuit through all three.
    pub(crate) async fn circuit(&self, handshake: HandshakeType) -> Result<Circuit, Error> {
        let path: Vec<_> = self.list.relays().iter().collect();
        self.client.circuit(&path, handshake).await
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        self.client.disconnect();
    }
}

/// The line of a relay of C tor's.
fn line_of(relay: &TorRelay) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let facts = relay.facts();
    serde_json::json!({
        "address": facts.address.to_string(),
        "identity": hex(&facts.identity),
        "rsa_identity": hex(&facts.rsa),
        "handshakes": ["ntor", "ntor-v3"],
        "keys": { "x25519": hex(&facts.onion_key) },
    })
    .to_string()
}

/// `candor onion relay`.
struct OurRelay {
    child: Child,
}

impl OurRelay {
    fn start(program: &std::path::Path, target: SocketAddr) -> Result<Self, String> {
        let child = Command::new(program)
            .args(["onion", "relay", "--quiet", "--handshake-threads", "1", "--exit", &target.to_string()])
            // One thread for links and cells.
            .env("TOKIO_WORKER_THREADS", "1")
            // It ends with this process, however that comes about.
            .env("CANDOR_PARENT", std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        Ok(Self { child: child.map_err(|error| format!("a relay can't be started: {error}"))? })
    }

    /// What it prints when it is ready.
    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let stdout = self.child.stdout.take().ok_or("a relay's line is taken only once")?;
        let read = BufReader::new(stdout).read_line(&mut line);
        match read {
            Ok(length) if length > 0 => Ok(line),
            Ok(_) => Err("a relay ended before it was ready".to_owned()),
            Err(error) => Err(format!("a relay can't be read: {error}")),
        }
    }
}

impl Drop for OurRelay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
