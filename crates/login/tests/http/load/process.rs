//! A server as a process of its own: this program again, with one test alone.

use crate::world::{OPEN, config};
use candor_login::{Log, Server, Store};
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Where the process finds its state folder and, if it is not SQLite there, its database.
const STATE: &str = "CANDOR_LOAD_STATE";
const DATABASE: &str = "CANDOR_LOAD_DATABASE";
/// What the line with its address begins with, among those of the test harness.
const SAYS: &str = "load server: ";

/// It ends with this.
pub(super) struct Process {
    pub(super) address: SocketAddr,
    child: Child,
    // Open as long as it runs: after a minute the test harness says so there, and ends if it can't.
    _output: Lines<BufReader<ChildStdout>>,
    // Dropped after the process has ended.
    folder: Option<TempDir>,
}

impl Process {
    /// On a SQLite database of its own, which `prepare` gets first.
    pub(super) fn with(prepare: impl AsyncFnOnce(Store)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Self::at(folder.path(), None, prepare);
        server.folder = Some(folder);
        server
    }

    /// With this state folder, and the database at `url` instead of the one there.
    pub(super) fn at(state: &Path, url: Option<&str>, prepare: impl AsyncFnOnce(Store)) -> Self {
        Self::by(Command::new(std::env::current_exe().unwrap()), state, url, prepare)
    }

    /// One with a user, started by this command.
    pub(super) fn started_by(mut command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        command.arg(std::env::current_exe().unwrap());
        let mut server = Self::by(command, folder.path(), None, async |store| super::fill(store, 1).await);
        server.folder = Some(folder);
        server
    }

    fn by(mut command: Command, state: &Path, url: Option<&str>, prepare: impl AsyncFnOnce(Store)) -> Self {
        let sqlite = format!("sqlite:{}", state.join("login.sqlite").display());
        super::prepared(state, url.unwrap_or(&sqlite), prepare);
        command.args(["--ignored", "--exact", "load::process::server_process", "--nocapture"]);
        command.env(STATE, state).env(DATABASE, url.unwrap_or_default());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = output.find_map(|line| line.unwrap().split_once(SAYS)?.1.parse().ok());
        let address = address.expect("the server starts");
        Self { address, child, _output: output, folder: None }
    }

    /// The time that its threads have computed for.
    pub(super) fn cpu(&self) -> Duration {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let times = threads.map(|thread| {
            let text = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
            text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<u64>().ok()).expect("a time")
        });
        Duration::from_nanos(times.sum())
    }

    /// The most memory that it has had so far, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a size");
        line.trim().strip_suffix(" kB").and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("kilobytes") << 10
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of the drivers; not a test. Guesses are limited for all networks but 127.0.0.0/24, where the honest are.
#[test]
#[ignore = "run by the load drivers"]
fn server_process() {
    let Ok(state) = std::env::var(STATE) else { return };
    let database = std::env::var(DATABASE).unwrap_or_default();
    let mut settings = OPEN.to_vec();
    settings.extend([
        ("exempt", "127.0.0.0/24"),
        ("account-burst", "1000000000"),
        ("account-every", "1ms"),
        ("refusal-delay", "1s"),
    ]);
    if !database.is_empty() {
        settings.push(("database", &database));
    }
    let config = config(Path::new(&state), &settings);
    runtime().block_on(async {
        let server = Server::start(config, Log::default()).await.unwrap();
        println!("{SAYS}{}", server.address());
        // Until the driver kills it.
        std::future::pending::<()>().await;
    });
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}
