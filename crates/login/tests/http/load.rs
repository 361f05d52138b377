//! Load drivers for the bars that no table of the lab shows. By command only, on a machine that does nothing else:
//!
//! ```text
//! cargo test --release -p candor-login --test http load:: -- --ignored --nocapture --test-threads 1
//! ```
//!
//! The attack needs two processors, root, and the programs `taskset` and `chrt`. The name of one driver in place of `load::` runs that one. The servers are processes of their own, with one thread for requests each.
//! `CANDOR_LOAD_SECONDS` says how long each phase lasts, 20 seconds by default, and `CANDOR_LOAD_USERS` how many accounts the large database
//! has, a million by default, which takes minutes to fill; with `CANDOR_LOAD_POSTGRES=1` it is PostgreSQL's. `CANDOR_LOAD_ATTACK` names one attack, `silence`, `flood` or `requests`, to
//! run alone. Requests must succeed; times and memory are only printed, each with its bar and whether it was met.

mod crowd;
mod generator;
mod process;

use crate::world::ke1;
use candor_login::store::{Conflict, NewAccount};
use candor_login::{KeyRing, MasterKey, PARTIES, Store, StoreError, UnixTime, UserName};
use candor_opaque::{Change, Client, DefaultSuite, KsfParams, Limits, NoStretching, Password, Record, Server};
use candor_test_support::{Random, postgres};
use generator::{Line, closed_loop, open_loop, percentile, start};
use getrandom::{SysRng, rand_core::UnwrapErr};
use process::{Process, runtime};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Of login starts at half the rate of a closed loop.
const BAR_P99: Duration = Duration::from_millis(20);
/// Others' 99th percentile under attack, at most so many times the quiet one.
const BAR_SLOWER: f64 = 2.0;
/// Server CPU of a login start, with an account against without.
const BAR_UNKNOWN: f64 = 0.01;
/// A login start's time, many users against few.
const BAR_USERS: f64 = 0.10;

/// Login starts a second of the others, while the server is attacked: so many that twenty in a phase are slower than the 99th percentile.
const RATE: f64 = 100.0;
const FEW: usize = 1000;
/// Requests in a block, before the other side has its turn.
const BLOCK: usize = 50;
/// Rounds of four blocks: one side, the other twice, the first again.
const ROUNDS: usize = 100;

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn phase() -> Duration {
    Duration::from_secs(number("CANDOR_LOAD_SECONDS", 20) as u64)
}

#[test]
#[ignore = "a load driver; its module says how to run it"]
fn latency_at_half_load() {
    let server = Process::with(|store| fill(store, 1));
    let request = start("user-0", &ke1("pw").1);
    let rate = closed_loop(&[server.address], 8, phase(), &request);
    let took = open_loop(server.address, rate / 2.0, phase(), &request).all;
    println!("closed loop: {rate:.0} login starts per second");
    println!("open loop at half of it, {} starts, each from when it was meant to begin:", took.len());
    for share in [0.5, 0.99, 0.999] {
        println!("  p{}: {:.2?}", share * 100.0, percentile(&took, share));
    }
    let p99 = percentile(&took, 0.99);
    verdict(
        "login starts at half the closed loop's rate, p99",
        &format!("{p99:.2?}"),
        p99 < BAR_P99,
        &format!("below {BAR_P99:?}"),
    );
}

#[test]
#[ignore = "a load driver; its module says how to run it"]
fn silent_connections_and_a_flood() {
    let server = Process::started_by(crowd::alone());
    crowd::first();
    let request = start("user-0", &ke1("pw").1);
    let quiet = open_loop(server.address, RATE, phase(), &request);
    let quiet_memory = server.memory();
    let under_attack = |attacked: &Process| {
        let _attackers = crowd::Attackers::start(attacked.address);
        // Until the silent have taken what they get.
        std::thread::sleep(Duration::from_secs(5));
        open_loop(server.address, RATE, phase(), &request)
    };
    // What the attack on another server costs here: attackers and servers of different machines would cost each other nothing.
    let neighbour = under_attack(&Process::started_by(crowd::elsewhere()));
    let before = server.cpu();
    let attacked = under_attack(&server);
    println!("server CPU under attack: {:.0?} in {:.0?}", server.cpu() - before, phase() + Duration::from_secs(5));
    println!("{RATE} login starts a second:");
    for (when, took) in [("quiet", &quiet), ("another server attacked", &neighbour), ("attacked", &attacked)] {
        let [half, p99] = [0.5, 0.99].map(|share| percentile(&took.all, share));
        let (count, first) = (took.first.len(), percentile(&took.first, 0.9));
        println!("  {when}: p50 {half:.2?}, p99 {p99:.2?}; p90 of the {count} that had to connect {first:.2?}");
    }
    let [quiet, attacked] = [quiet, attacked].map(|took| percentile(&took.all, 0.99));
    let slower = attacked.as_secs_f64() / quiet.as_secs_f64();
    let found = format!("{slower:.2} times the quiet one");
    verdict("others' p99 under attack", &found, slower <= BAR_SLOWER, &format!("at most {BAR_SLOWER} times"));
    println!("most memory of the server: quiet {} MB, attacked {} MB", quiet_memory >> 20, server.memory() >> 20);
}

#[test]
#[ignore = "a load driver; its module says how to run it"]
fn a_user_that_exists_against_one_that_does_not() {
    let server = Process::with(|store| fill(store, 10));
    let mut line = Line::open(server.address);
    let (there, not) = (start("user-3", &ke1("pw").1), start("user-x", &ke1("pw").1));
    assert_eq!(there.len(), not.len());
    let sizes = [line.call(&there), line.call(&not)];
    let [known, unknown] = alternate(|side| {
        let before = server.cpu();
        for _ in 0..BLOCK {
            let size = line.call(if side == 0 { &there } else { &not });
            assert_eq!(size, sizes[side]);
        }
        (server.cpu() - before).as_secs_f64()
    });
    assert_eq!(sizes[0], sizes[1], "bytes of an answer");
    println!("an answer has {} bytes, with an account and without", sizes[0]);
    compare("server CPU of a login start, without an account against with one", &known, &unknown, BAR_UNKNOWN);
}

#[test]
#[ignore = "a load driver; its module says how to run it"]
fn many_users_against_few() {
    let many = number("CANDOR_LOAD_USERS", 1_000_000);
    let database = match std::env::var_os("CANDOR_LOAD_POSTGRES").map(|_| postgres::shared()) {
        Some(Err(why)) => return postgres::skipped("many_users_against_few", why),
        Some(Ok(postgres)) => Some(postgres),
        None => None,
    };
    let users = [FEW, many];
    let mut folders = Vec::new();
    let servers = users.map(|users| {
        let filling = Instant::now();
        let server = match &database {
            None => Process::with(|store| fill(store, users)),
            Some(postgres) => {
                folders.push(tempfile::tempdir().unwrap());
                let state = folders[folders.len() - 1].path();
                let url = postgres.database();
                let server = Process::at(state, Some(&url), |store| fill(store, users));
                // As a server finds it that has been up for some hours: PostgreSQL does both by itself, but not right after a million insertions.
                postgres.run(&url, "VACUUM (ANALYZE)");
                postgres.run(&url, "CHECKPOINT");
                server
            }
        };
        println!("{users} users registered in {:.0?}", filling.elapsed());
        server
    });
    let mut lines = [0, 1].map(|side| Line::open(servers[side].address));
    let ke1 = ke1("pw").1;
    let mut random = Random::new(15);
    let mut cpu = [Duration::ZERO; 2];
    let [small, large] = alternate(|side| {
        let requests: Vec<_> =
            (0..BLOCK).map(|_| start(&format!("user-{}", random.below(users[side])), &ke1)).collect();
        let (before, began) = (servers[side].cpu(), Instant::now());
        for request in &requests {
            lines[side].call(request);
        }
        let took = began.elapsed().as_secs_f64();
        cpu[side] += servers[side].cpu() - before;
        took
    });
    compare(&format!("a login start among {many} users against {FEW}"), &small, &large, BAR_USERS);
    println!("  of that server CPU: {:.4} times", cpu[1].as_secs_f64() / cpu[0].as_secs_f64());
}

#[test]
#[ignore = "a load driver; its module says how to run it"]
fn instances_on_one_postgres() {
    let postgres = match postgres::shared() {
        Ok(postgres) => postgres,
        Err(why) => return postgres::skipped("instances_on_one_postgres", why),
    };
    let url = postgres.database();
    let folder = tempfile::tempdir().unwrap();
    let mut servers = vec![Process::at(folder.path(), Some(&url), |store| fill(store, 1))];
    let request = start("user-0", &ke1("pw").1);
    let mut rates = Vec::new();
    for instances in 1..=std::thread::available_parallelism().map_or(2, usize::from).max(2) {
        while servers.len() < instances {
            servers.push(Process::at(folder.path(), Some(&url), async |_| ()));
        }
        let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
        rates.push(closed_loop(&addresses, 8, phase(), &request));
        println!("{instances} instances: {:.0} login starts per second", rates[instances - 1]);
    }
    println!(
        "rate of {} instances on one PostgreSQL against one: {:.2} times; no bar",
        rates.len(),
        rates[rates.len() - 1] / rates[0]
    );
}

/// Measures both sides in turn; what each block gave.
fn alternate(mut block: impl FnMut(usize) -> f64) -> [Vec<f64>; 2] {
    let mut blocks = [Vec::new(), Vec::new()];
    for side in [0, 1] {
        block(side);
    }
    for _ in 0..ROUNDS {
        let round = [0, 1, 1, 0].map(|side| (side, block(side)));
        for side in [0, 1] {
            blocks[side].push(round.iter().filter(|(other, _)| *other == side).map(|(_, took)| took).sum());
        }
    }
    blocks
}

/// Prints the median ratio of paired blocks with its sign-test interval at 95 %, and the bar.
fn compare(what: &str, first: &[f64], second: &[f64], bar: f64) {
    let mut ratios: Vec<f64> = first.iter().zip(second).map(|(first, second)| second / first).collect();
    ratios.sort_by(f64::total_cmp);
    let rounds = ratios.len();
    // Order statistics by the normal approximation of the binomial distribution: of 0 to 99 these are 39 and 60.
    let reach = 1 + (0.98 * (rounds as f64).sqrt()).ceil() as usize;
    let (low, middle, high) =
        (ratios[rounds / 2 - reach], ratios[rounds / 2], ratios[(rounds / 2 + reach - 1).min(rounds - 1)]);
    let found = format!("{middle:.4} times ({low:.4} to {high:.4}), {} requests each", 2 * rounds * BLOCK);
    verdict(what, &found, low >= 1.0 - bar && high <= 1.0 + bar, &format!("1 ± {bar}"));
}

/// One line: what was found, and what the bar says to it.
fn verdict(what: &str, found: &str, met: bool, bar: &str) {
    println!("{what}: {found}; the bar is {bar}: {}", if met { "met" } else { "missed" });
}

/// Registers `user-0`, `user-1` and so on, all with one record: what a login start costs doesn't depend on what the others' records are.
async fn fill(store: Store, users: usize) {
    let now = UnixTime::now();
    let ring = KeyRing::open(&store, KsfParams::Identity, now).await.unwrap();
    let (key, server) = ring.active();
    let record = record(server);
    let mut filling = JoinSet::new();
    for number in 0..users {
        // As many as share commits, and fewer than may wait.
        if filling.len() >= 512 {
            filling.join_next().await.unwrap().unwrap();
        }
        let name = UserName::parse(&format!("user-{number}")).unwrap();
        let new = NewAccount { name, record: record.clone(), key, token: None, recovery_codes: Vec::new() };
        let store = store.clone();
        filling.spawn(async move {
            match store.register(new, now).await {
                Ok(_) | Err(StoreError::Conflict(Conflict::NameTaken)) => {}
                Err(error) => panic!("{error}"),
            }
        });
    }
    filling.join_all().await;
}

fn record(server: &Server<DefaultSuite>) -> Record {
    let rng = &mut UnwrapErr(SysRng);
    let client = Client::new(DefaultSuite::default()).with_limits(Limits::NONE);
    let (registration, request) = client.start_registration(rng, &Password::from_bytes(b"pw").unwrap()).unwrap();
    let answer = server.register(rng, &request).unwrap();
    let done = registration.finish(rng, &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    match answer.state.finish(&done.upload).unwrap() {
        Change::Insert(record) => record,
        other => panic!("a new account replaces nothing: {other:?}"),
    }
}

/// Opens the database of a server that has not started yet.
fn prepared(state: &Path, url: &str, prepare: impl AsyncFnOnce(Store)) {
    let master = MasterKey::load_or_create(&state.join("master.key")).unwrap();
    runtime().block_on(async {
        prepare(Store::open(url, &master).await.unwrap()).await;
    });
}
