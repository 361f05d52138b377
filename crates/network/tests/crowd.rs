//! A hundred clients at three relays, going on and on: none of them sees an error, and the memory that all of it takes stays flat.
//!
//! The gate has some rounds of it. By command it runs for `CANDOR_CROWD_SECONDS`, three minutes by default, and prints what it saw; for an hour:
//!
//! ```text
//! CANDOR_CROWD_SECONDS=3600 cargo test --release -p candor-network --test crowd -- --ignored --nocapture
//! ```
//!
//! `CANDOR_CROWD_PAUSE` is a number of milliseconds between rounds, for an hour that leaves the machine to others.
//!
//! In a round each client fetches a page and checks its bytes; each eighth time it builds a new circuit first. Relays, target and clients are one
//! process, whose resident memory is looked at between the rounds. A third of them is warm-up; then the median of the last third is
//! compared with that of the one before.

mod town;

use candor_network::{Circuit, Client};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use town::proxied::until;
use town::{Town, client, fetch};

const CLIENTS: usize = 100;
/// Of the gate.
const ROUNDS: usize = 72;
/// So much of the memory may be gained after warm-up: more than twice what the allocator made of twelve crowds of so many rounds (6.3 % at most).
/// What 300 circuits hold, which is what a crowd builds in a third of the gate's rounds, is more.
const GAIN: f64 = 1.15;

/// A client, and its circuit if it has one yet.
struct Member {
    number: usize,
    client: Client,
    circuit: Option<Circuit>,
}

impl Member {
    async fn round(&mut self, town: &Town, round: usize) {
        let length = (self.number * 7919 + round * 104_729) % 60_000;
        let circuit = match self.circuit.take() {
            Some(circuit) if !(self.number + round).is_multiple_of(8) => circuit,
            _ => town.circuit(&self.client).await,
        };
        let fetched = fetch(&circuit, town.target.address().port(), length as u64).await;
        fetched.unwrap_or_else(|error| panic!("client {}, round {round}: {error}", self.number));
        self.circuit = Some(circuit);
    }
}

/// Resident memory of this process in kB, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// Runs rounds while `goes_on`, with a pause after each; the memory after each.
async fn crowd(pause: Duration, mut goes_on: impl FnMut(usize) -> bool) -> Vec<u64> {
    let town = Arc::new(Town::new().await);
    let mut members: Vec<_> = (0..CLIENTS).map(|number| Member { number, client: client(), circuit: None }).collect();
    let mut memory = Vec::new();
    let mut round = 0;
    while goes_on(round) {
        let mut under_way = JoinSet::new();
        for mut member in members.drain(..) {
            let town = Arc::clone(&town);
            under_way.spawn(async move {
                member.round(&town, round).await;
                member
            });
        }
        members = under_way.join_all().await;
        memory.extend(resident());
        round += 1;
        tokio::time::sleep(pause).await;
    }
    assert_eq!(members.len(), CLIENTS);
    drop(members);
    until(|| (0..3).all(|relay| town.relay(relay).held().streams == 0 && town.relay(relay).held().circuits == 0)).await;
    memory
}

/// That the memory has not grown after warm-up.
fn is_flat(memory: &[u64]) {
    if memory.is_empty() {
        eprintln!("skipped: this system doesn't tell what memory a process has");
        return;
    }
    let third = memory.len() / 3;
    let (before, after) = (median(&memory[third..2 * third]), median(&memory[2 * third..]));
    println!("{} rounds, resident memory {before} kB, then {after} kB", memory.len());
    assert!(after as f64 <= before as f64 * GAIN, "resident memory grew from {before} kB to {after} kB: {memory:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_see_no_error_and_memory_stays_flat() {
    is_flat(&crowd(Duration::ZERO, |round| round < ROUNDS).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a load driver; its module says how to run it"]
async fn a_hundred_clients_for_a_time() {
    let set = |name: &str| -> Option<u64> {
        std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    let end = Instant::now() + Duration::from_secs(set("CANDOR_CROWD_SECONDS").unwrap_or(180));
    let pause = Duration::from_millis(set("CANDOR_CROWD_PAUSE").unwrap_or(0));
    // Three rounds at least, for there are three thirds.
    is_flat(&crowd(pause, |round| round < 3 || Instant::now() < end).await);
}
