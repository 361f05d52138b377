//! The attackers: connections that send nothing and a flood of login starts, from many networks; and requests that are no guesses, from one address.

use super::process::runtime;
use crate::world::{ke1, request};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Where the process finds the server, and the attack to run alone.
const TARGET: &str = "CANDOR_LOAD_TARGET";
const ONLY: &str = "CANDOR_LOAD_ATTACK";
/// Connections that send nothing, and how many come from one network.
const SILENT: usize = 10_000;
const TOGETHER: usize = 100;
/// Networks that flood, each on a connection at a time.
const FLOODING: u8 = 200;
/// Connections of one address that ask for what costs nobody a guess.
const ASKING: usize = 512;
/// What they wait for between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// The attackers, a process: they would have machines of their own. They end with this.
///
/// They are on the second processor, and the server is on the first. So are the others, whose times are measured, in a real-time class: what the kernel does for thousands
/// of connecting sockets would hold them up on the second, and the end of the server's slice on the first, each for milliseconds that would be measured as the server's.
pub(super) struct Attackers(Child);

impl Attackers {
    pub(super) fn start(server: SocketAddr) -> Self {
        let mut command = elsewhere();
        command.arg(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "load::crowd::attackers_process", "--nocapture"]);
        command.env(TARGET, server.to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("`taskset` starts the attackers"))
    }
}

/// Puts this process on the first processor, in a real-time class: it goes on as soon as it has something to do.
pub(super) fn first() {
    let this = std::process::id().to_string();
    for words in
        [["taskset", "--all-tasks", "--cpu-list", "--pid", "0"], ["chrt", "--all-tasks", "--fifo", "--pid", "1"]]
    {
        let done = Command::new(words[0]).args(&words[1..]).arg(&this).output();
        assert!(
            done.is_ok_and(|done| done.status.success()),
            "`{}` moves this process; it needs root",
            words.join(" ")
        );
    }
}

/// Begins a command on the first processor.
pub(super) fn alone() -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]);
    command
}

/// Begins a command on the second processor, where it runs when nobody else wants to.
pub(super) fn elsewhere() -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "1", "chrt", "--idle", "0"]);
    command
}

impl Drop for Attackers {
    fn drop(&mut self) {
        let over = self.0.try_wait();
        let _ = self.0.kill();
        let _ = self.0.wait();
        // Nothing was attacked by attackers that had ended; a driver that fails already says so itself.
        assert!(std::thread::panicking() || matches!(over, Ok(None)), "the attackers ended early: {over:?}");
    }
}

/// The attackers of a driver; not a test. They go on until they are killed.
#[test]
#[ignore = "run by the load drivers"]
fn attackers_process() {
    let Ok(target) = std::env::var(TARGET) else { return };
    let target = target.parse().unwrap();
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let enough = maximum.is_none_or(|files| files as usize > SILENT + 2 * usize::from(FLOODING) + ASKING);
    assert!(enough, "the hard limit of open files is {maximum:?}; expected more than {SILENT}");
    let body = json!({ "name": "user-0", "ke1": ke1("guess").1 }).to_string();
    let flood = request("POST", "/v1/login/start", "Content-Type: application/json\r\n", &body);
    let ask = b"GET /v1/config HTTP/1.1\r\nHost: x\r\n\r\n";
    let only = std::env::var(ONLY).unwrap_or_default();
    let wanted = |attack| only.is_empty() || only == attack;
    runtime().block_on(async {
        let mut attacks = JoinSet::new();
        for number in (0..SILENT).filter(|_| wanted("silence")) {
            attacks.spawn(silence(target, [127, 2, (number / TOGETHER) as u8, 1]));
        }
        for network in (0..FLOODING).filter(|_| wanted("flood")) {
            attacks.spawn(flooding(target, [127, 3, network, 1], flood.clone()));
        }
        for _ in (0..ASKING).filter(|_| wanted("requests")) {
            attacks.spawn(asking(target, [127, 4, 0, 1], ask));
        }
        attacks.join_all().await;
    });
}

async fn dial(target: SocketAddr, from: [u8; 4]) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    socket.connect(target).await
}

/// Connects, says nothing until the server hangs up, and comes again.
async fn silence(target: SocketAddr, from: [u8; 4]) {
    loop {
        if let Ok(mut tcp) = dial(target, from).await {
            let _ = tcp.read(&mut [0; 1]).await;
        }
        sleep(PAUSE).await;
    }
}

/// Begins logins as fast as they are answered or turned away.
async fn flooding(target: SocketAddr, from: [u8; 4], request: Vec<u8>) {
    loop {
        match dial(target, from).await {
            Ok(mut tcp) => {
                let _ = tcp.write_all(&request).await;
                let _ = tcp.read_to_end(&mut Vec::new()).await;
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Asks on a connection that is kept, again as soon as there is an answer.
async fn asking(target: SocketAddr, from: [u8; 4], request: &[u8]) {
    let mut answer = [0; 4096];
    loop {
        if let Ok(mut tcp) = dial(target, from).await {
            while tcp.write_all(request).await.is_ok() && tcp.read(&mut answer).await.is_ok_and(|read| read > 0) {}
        }
        sleep(PAUSE).await;
    }
}
