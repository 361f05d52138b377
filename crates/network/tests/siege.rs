//! All attacks at once, on relays that are processes of their own, while an honest client fetches a megabyte a second. Prints what it costs:
//!
//! ```text
//! cargo test --release -p candor-network --test siege -- --ignored --exact siege --nocapture
//! ```
//!
//! `CANDOR_SIEGE_SECONDS` says how long the quiet phase and the attacks last, 60 seconds each by default, and `CANDOR_SIEGE_ATTACK` names one
//! attack to run alone. The attackers are one process at the lowest priority, for they would have machines of their own: they take what the
//! relays and the client leave of this one. Fetches must succeed and counters must come back; times and memory are only printed, beside their bars.

#[path = "hostile/proxy.rs"]
mod proxy;
#[path = "hostile/raw.rs"]
mod raw;
mod town;

use candor_network::{Client, HandshakeType, ListedRelay, Policy, Relay, RelayConfig, RelayKeys, RelayList, Target};
use candor_onion::cell::{Cell, Message};
use candor_onion::relay::RelayCommand;
use proxy::{Proxy, tarpit};
use raw::{Raw, create, dial, extend2};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use town::{client, fetch, local};

/// Where the attackers' process finds the list of relays, the address of the hole, and the attack to run alone.
const LIST: &str = "CANDOR_SIEGE_LIST";
const HOLE: &str = "CANDOR_SIEGE_HOLE";
const ONLY: &str = "CANDOR_SIEGE_ATTACK";
/// Where relays of the siege find their orders.
const ORDERS: &str = "CANDOR_SIEGE_RELAY";
/// What their lines begin with, among those of the test harness.
const SAYS: &str = "siege: ";

const MEGABYTE: u64 = 1_000_000;
/// At most so many times the quiet 99th percentile.
const BAR_SLOWER: f64 = 3.0;
/// Until every counter is back.
const BAR_BACK: Duration = Duration::from_secs(60);
/// Resident memory of a relay.
const BAR_MEMORY: u64 = 300 << 20;

#[test]
#[ignore = "a load driver; its module says how to run it"]
fn siege() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(besiege(seconds()));
}

/// A relay of the siege; not a test.
#[test]
#[ignore = "run by the siege"]
fn relay_process() {
    let Ok(policy) = std::env::var(ORDERS) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut config = RelayConfig::new(local());
    config.test_networks.clear();
    config.policy = Policy::parse(&policy).unwrap();
    let keys = RelayKeys::generate().unwrap();
    let relay = runtime.block_on(Relay::start(&keys, config)).unwrap();
    println!("{SAYS}{}", relay.listed().to_line());
    for order in std::io::stdin().lines() {
        match order.unwrap().split_once(' ') {
            Some(("know", path)) => relay.know(&RelayList::load(Path::new(path)).unwrap()),
            _ => println!("{SAYS}{:?}", relay.held()),
        }
    }
}

/// The attackers of the siege; not a test. They go on until they are killed.
#[test]
#[ignore = "run by the siege"]
fn attackers_process() {
    let (Ok(path), Ok(hole)) = (std::env::var(LIST), std::env::var(HOLE)) else { return };
    let list = Arc::new(RelayList::load(Path::new(&path)).unwrap());
    let hole = hole.parse().unwrap();
    let only = std::env::var(ONLY).ok();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut attacks = JoinSet::new();
        for (index, kind) in ATTACKS.into_iter().enumerate() {
            if only.as_ref().is_none_or(|only| kind.is(only)) {
                let scene =
                    Arc::new(Attack { list: Arc::clone(&list), from: [127, 1, index as u8 + 1, 1].into(), hole });
                attacks.spawn(repeat(kind, scene));
            }
        }
        attacks.join_all().await;
    });
}

/// Starts the attackers. Dropping them ends all attacks, connections included.
struct Attackers(Child);

impl Attackers {
    fn start(list: &Path, hole: SocketAddr) -> Self {
        let exe = std::env::current_exe().unwrap();
        let process = Command::new("nice")
            .args(["-n", "19"])
            .arg(exe)
            .args(["--ignored", "--exact", "attackers_process", "--nocapture"])
            .env(LIST, list)
            .env(HOLE, hole.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`nice` starts the attackers");
        Self(process)
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn seconds() -> u64 {
    std::env::var("CANDOR_SIEGE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// A relay in a process of its own. It ends with this.
struct Besieged {
    process: Child,
    orders: ChildStdin,
    says: std::io::Lines<std::io::BufReader<ChildStdout>>,
}

impl Besieged {
    fn start(policy: &str) -> (Self, String) {
        use std::io::BufRead;
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "relay_process", "--nocapture"])
            .env(ORDERS, policy)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut relay = Self { process, orders, says: std::io::BufReader::new(output).lines() };
        let line = relay.hear();
        (relay, line)
    }

    fn hear(&mut self) -> String {
        loop {
            let line = self.says.next().expect("the relay lives").unwrap();
            // The harness prints without an end of line before.
            if let Some((_, said)) = line.split_once(SAYS) {
                return said.to_owned();
            }
        }
    }

    fn order(&mut self, order: &str) {
        use std::io::Write;
        writeln!(self.orders, "{order}").unwrap();
    }

    fn held(&mut self) -> String {
        self.order("held");
        self.hear()
    }

    /// The most memory that it has had so far, in bytes.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok())
            .map_or(0, |kilobytes| kilobytes << 10)
    }
}

impl Drop for Besieged {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn besiege(seconds: u64) {
    let target = Target::start(local()).await.unwrap();
    let (hole, _) = tarpit().await;
    let policy = format!("{} {hole}", target.address());
    let (mut relays, lines): (Vec<_>, Vec<_>) = ["", "", &policy].map(Besieged::start).into_iter().unzip();
    let list = RelayList::parse(&lines.join("\n")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    std::fs::write(&path, lines.join("\n")).unwrap();
    relays.iter_mut().for_each(|relay| relay.order(&format!("know {}", path.display())));
    let port = target.address().port();

    fetches(&list, port, 2).await;
    sleep(Duration::from_secs(1)).await;
    let before: Vec<_> = relays.iter_mut().map(Besieged::held).collect();
    let quiet = fetches(&list, port, seconds).await;

    let only = std::env::var(ONLY).ok();
    assert!(only.is_none_or(|only| ATTACKS.iter().any(|kind| kind.is(&only))), "attacks: {ATTACKS:?}");
    let mut attackers = Attackers::start(&path, hole);
    sleep(Duration::from_secs(1)).await;
    let attacked = fetches(&list, port, seconds).await;
    println!("held under attack: {}", relays.iter_mut().map(Besieged::held).collect::<Vec<_>>().join("\n  "));
    assert!(attackers.0.try_wait().unwrap().is_none(), "the attackers ended before the siege did");
    drop(attackers);

    let start = Instant::now();
    let back = async {
        for (relay, before) in relays.iter_mut().zip(&before) {
            loop {
                let held = relay.held();
                if held == *before {
                    break;
                }
                assert!(start.elapsed() < 10 * BAR_BACK, "still {held}, and {before} before");
                sleep(Duration::from_millis(200)).await;
            }
        }
        start.elapsed()
    };
    let back = back.await;
    let memory = relays.iter().map(Besieged::memory).max().unwrap_or(0);
    let mut report = String::new();
    writeln!(report, "slowest, and which fetch: quiet {}; attacked {}", slowest(&quiet), slowest(&attacked)).unwrap();
    let (quiet, attacked) = (percentile(quiet), percentile(attacked));
    let slower = attacked.as_secs_f64() / quiet.as_secs_f64();
    writeln!(report, "1 MB, 99th percentile: quiet {quiet:.3?}, attacked {attacked:.3?}").unwrap();
    writeln!(report, "  {slower:.2} times the quiet one; the bar is {BAR_SLOWER}").unwrap();
    writeln!(report, "counters back after {back:.1?}; the bar is {BAR_BACK:?}").unwrap();
    writeln!(report, "most memory of a relay: {} MB; the bar is {} MB", memory >> 20, BAR_MEMORY >> 20).unwrap();
    println!("{report}");
}

/// A fetch a second, each over a circuit of its own; how long each took.
async fn fetches(list: &RelayList, port: u16, count: u64) -> Vec<Duration> {
    let client = client();
    let path: Vec<_> = list.relays().iter().collect();
    let mut took = Vec::new();
    for index in 0..count {
        let start = Instant::now();
        let one = timeout(Duration::from_secs(60), fetched(&client, &path, port)).await;
        one.unwrap_or_else(|_| panic!("fetch {index} took more than a minute"));
        took.push(start.elapsed());
        sleep(Duration::from_secs(1).saturating_sub(start.elapsed())).await;
    }
    took
}

async fn fetched(client: &Client, path: &[&ListedRelay], port: u16) {
    let circuit = client.circuit(path, HandshakeType::Hybrid768).await.expect("the honest circuit is built");
    fetch(&circuit, port, MEGABYTE).await.expect("the honest fetch succeeds");
}

/// The five slowest, each with its number in the phase, counted from 1: the first one makes the client's link.
fn slowest(took: &[Duration]) -> String {
    let mut numbered: Vec<_> = took.iter().zip(1..).collect();
    numbered.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    let shown: Vec<_> = numbered.iter().take(5).map(|(took, number)| format!("{took:.0?} ({number})")).collect();
    shown.join(", ")
}

fn percentile(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[(took.len() * 99).div_ceil(100).saturating_sub(1)]
}

/// What an attack needs to know.
struct Attack {
    list: Arc<RelayList>,
    from: IpAddr,
    /// Connections there are taken and never answered.
    hole: SocketAddr,
}

impl Attack {
    fn relay(&self, index: usize) -> &ListedRelay {
        &self.list.relays()[index]
    }

    /// A link with a relay, or the wait for the next try.
    async fn link(&self, index: usize) -> Option<Raw> {
        match timeout(Duration::from_secs(15), Raw::from(self.from, self.relay(index))).await {
            Ok(Ok(raw)) => Some(raw),
            _ => {
                sleep(Duration::from_millis(100)).await;
                None
            }
        }
    }
}

/// One attack, from one address.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Silent,
    Creations,
    Replays,
    Tarpit,
    GivenUp,
    Unread,
    Hijack,
    IdleStreams,
}

impl Kind {
    fn is(self, name: &str) -> bool {
        format!("{self:?}").eq_ignore_ascii_case(name)
    }
}

const ATTACKS: [Kind; 8] = [
    Kind::Silent,
    Kind::Creations,
    Kind::Replays,
    Kind::Tarpit,
    Kind::GivenUp,
    Kind::Unread,
    Kind::Hijack,
    Kind::IdleStreams,
];

async fn repeat(kind: Kind, attack: Arc<Attack>) {
    loop {
        // A relay may hang up in the middle, which makes the attacker's part of the protocol fail; then it begins again.
        let scene = Arc::clone(&attack);
        let round = tokio::spawn(async move { once(kind, &scene).await });
        let _ = AbortOnDrop(round).await;
        tokio::task::yield_now().await;
    }
}

/// Takes its task along when the siege is over.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Future for AbortOnDrop {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        std::pin::Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn once(kind: Kind, attack: &Attack) {
    let pause = Duration::from_secs(20);
    match kind {
        Kind::Silent => {
            let mut kept = Vec::new();
            for _ in 0..1000 {
                kept.extend(dial(attack.from, attack.relay(0).address()).await);
                sleep(Duration::from_millis(5)).await;
            }
        }
        Kind::Creations => {
            let Some(mut raw) = attack.link(0).await else { return };
            for _ in 0..2000 {
                let cell = create(attack.relay(0), raw.fresh_number());
                let _ = raw.try_send([cell]).await;
                let _ = raw.next().await;
            }
            sleep(pause).await;
        }
        Kind::Replays => {
            let Some(mut raw) = attack.link(0).await else { return };
            let Cell { message, .. } = create(attack.relay(0), 1);
            for _ in 0..200 {
                let cells: Vec<_> =
                    (0..100).map(|_| Cell { circuit: raw.fresh_number(), message: message.clone() }).collect();
                let count = cells.len();
                let _ = raw.try_send(cells).await;
                for _ in 0..count {
                    let _ = raw.next().await;
                }
            }
        }
        Kind::Tarpit => {
            let Some(mut raw) = attack.link(0).await else { return };
            for index in 0..400_u16 {
                let mut circuit = raw.open(attack.relay(0)).await;
                let mut identity = [7; 32];
                identity[..2].copy_from_slice(&index.to_be_bytes());
                let body = extend2(attack.hole, &identity, &[0; 84]);
                raw.send([circuit.early(0, RelayCommand::EXTEND2, &body)]).await;
            }
            sleep(pause).await;
        }
        Kind::GivenUp => {
            let Some(mut raw) = attack.link(0).await else { return };
            for _ in 0..400 {
                let mut circuit = raw.open(attack.relay(0)).await;
                for _ in 0..8 {
                    let body = extend2(attack.hole, attack.relay(1).identity(), &[0; 84]);
                    let extend = circuit.early(0, RelayCommand::EXTEND2, &body);
                    raw.send([extend, circuit.cell(0, RelayCommand::TRUNCATE, 0, &[])]).await;
                }
            }
            sleep(pause).await;
        }
        Kind::Unread => {
            let Some(mut raw) = attack.link(0).await else { return };
            let Cell { message, .. } = create(attack.relay(0), 1);
            for number in 1..1_000_000 {
                let message: Message = message.clone();
                if timeout(pause, raw.try_send([Cell { circuit: number, message }])).await.is_err() {
                    return;
                }
            }
        }
        Kind::Hijack => {
            let Some(mut raw) = attack.link(0).await else { return };
            for last in 60..70 {
                let proxy = Proxy::start([127, 0, 9, last], attack.relay(1).address()).await;
                let mut circuit = raw.open(attack.relay(0)).await;
                let body = extend2(proxy.address, attack.relay(1).identity(), &[0; 84]);
                raw.send([circuit.early(0, RelayCommand::EXTEND2, &body)]).await;
                let _ = timeout(Duration::from_secs(5), raw.hear(&mut circuit)).await;
                proxy.stall();
                sleep(Duration::from_secs(1)).await;
            }
        }
        Kind::IdleStreams => {
            let Some(mut raw) = attack.link(2).await else { return };
            let begin = format!("{}\0", attack.hole);
            for _ in 0..100 {
                let mut circuit = raw.open(attack.relay(2)).await;
                for stream in 1..=100 {
                    let begin = circuit.cell(0, RelayCommand::BEGIN, stream, begin.as_bytes());
                    raw.send([begin, circuit.cell(0, RelayCommand::DATA, stream, &[0; 400])]).await;
                }
            }
            sleep(pause).await;
        }
    }
}
