//! `relay/bulk/{one-stream,many-streams}`: bytes through three relays that are processes of their own, ours and C tor's, for a fixed time.
//!
//! An epoch is a transfer that lasts as long as the environment says ([`VARIABLE`]), one second by default; its time is that of ten million bytes at its rate. CPU times, of the three
//! relays together, stand in a second table. So a transfer that takes a minute costs as much for the slower as for the faster, and one of a second is there for a look.

use crate::ours::relays::Whose;
use crate::ours::transfer::{Layout, Pipes, said_of_relays, tors};
use crate::ours::{AUTO, on_links};
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Timed, Turn, Witness};
use candor_network::{Crypto, HandshakeType};
use candor_peers::tor_relays::Scheduler;
use std::time::Duration;

/// Seconds that a transfer lasts.
const VARIABLE: &str = "CANDOR_TASKS_TRANSFER";
/// Without it.
const GLANCE: Duration = Duration::from_secs(1);
/// What claims rest on.
const CLAIMED: Duration = Duration::from_secs(60);
/// A transfer that makes a subject warm.
const WARM: Duration = Duration::from_secs(1);
/// The amount whose time is told.
const BYTES: u64 = 10_000_000;

/// Both tasks.
pub(super) fn tasks() -> Vec<Task> {
    let layout =
        |circuits, streams| Layout { circuits, streams, handshake: HandshakeType::Hybrid768, crypto: Crypto::Cgo };
    let mtu = mtu();
    vec![
        task("relay/bulk/one-stream", "one stream", layout(1, 1), &mtu),
        task("relay/bulk/many-streams", "four circuits with four streams each", layout(4, 4), &mtu),
    ]
}

fn task(name: &str, over: &str, layout: Layout, mtu: &str) -> Task {
    let time = time();
    let lasts = match &time {
        Ok(time) if *time >= CLAIMED => format!("{} s", time.as_secs_f64()),
        Ok(time) => format!("{} s, too short for a claim ({VARIABLE} sets it)", time.as_secs_f64()),
        Err(_) => "no time".to_owned(),
    };
    let what = format!(
        "ten million bytes at the rate of a transfer of {lasts}, over {over} through three hops on 127.0.0.1 ({mtu}) that are processes of their own with one \
         thread each for cells; the circuits are there, every byte is compared"
    );
    let made = {
        let time = time.clone();
        move |whose, layout| time.clone().map(|time| Carries { whose, layout, time, pipes: None })
    };
    let ours = made.clone();
    let task = Task::new(name, what).bytes(BYTES).entry(Entry::new(AUTO, move || ours(Whose::Ours, layout)));
    let of_tor = Layout { handshake: HandshakeType::NtorV3, ..layout };
    let schedulers = [("+kist", Scheduler::Kist), ("+lite", Scheduler::KistLite), ("+vanilla", Scheduler::Vanilla)];
    let task = schedulers.into_iter().fold(task, |task, (suffix, scheduler)| {
        let made = made.clone();
        task.entry(tors(suffix, scheduler, move |whose| made(whose, of_tor)))
    });
    let older = Layout { crypto: Crypto::Tor1, ..of_tor };
    task.entry(tors("+tor1", Scheduler::KistLite, move |whose| made(whose, older)))
}

/// The loopback network's MTU. By itself it is 64 kB, so that whatever is written is less than a segment: Nagle's algorithm then holds it back until all
/// before it is acknowledged, which the receiver puts off. No other network is like that. Linux tells it of the namespace that asks only here; `/sys` is
/// that of the one in which it was mounted.
fn mtu() -> String {
    let told = std::fs::read_to_string("/proc/sys/net/ipv6/conf/lo/mtu");
    told.map_or_else(|_| "unknown MTU".to_owned(), |mtu| format!("MTU {}", mtu.trim()))
}

/// How long a transfer lasts.
fn time() -> Result<Duration, Refusal> {
    let Ok(text) = std::env::var(VARIABLE) else { return Ok(GLANCE) };
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        Refusal::new(format!("does not know how long: {VARIABLE} is {text:?}; expected seconds from 0.1 to 3600"))
    })
}

/// Carries bytes.
struct Carries {
    whose: Whose,
    layout: Layout,
    time: Duration,
    pipes: Option<Pipes>,
}

impl Carries {
    fn pipes(&self) -> &Pipes {
        self.pipes.as_ref().expect("prepare comes before work")
    }
}

impl Subject for Carries {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let pipes = Pipes::lay(self.whose, self.layout, seed)?;
        let witness = pipes.witness(seed)?;
        self.pipes = Some(pipes);
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.pipes.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?.compare(other)
    }

    fn run(&mut self, _: u64) {
        self.pipes().carry(self.time.min(WARM)).expect("bytes come through");
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.time)
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.pipes().relays().cpu_ns()
    }

    fn timed_elsewhere(&mut self, turn: &Turn) -> Option<Result<Timed, String>> {
        Some(self.pipes().carry(self.time).map(|brought| {
            let of_amount =
                |ns: f64| (ns * (turn.iterations * BYTES) as f64 / brought.bytes.max(1) as f64).max(1.0) as u64;
            let cpu_ns = brought.cpu_ns.map(|ns| of_amount(ns as f64));
            Timed { ns: of_amount(brought.wall.as_nanos() as f64), cpu_ns, ..Timed::default() }
        }))
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn provenance(&self) -> Provenance {
        let Layout { handshake, crypto, .. } = self.layout;
        let timed = format!(
            "layers: {}, circuits by {handshake}; the client is ours and on this thread, the source in this process on a thread of its own",
            crypto.name()
        );
        let mut provenance =
            said_of_relays(self.whose, &timed, |timed| on_links("candor_network::Client, `candor onion relay`", timed));
        if crypto == Crypto::Tor1 {
            provenance.different_operation =
                Some("older relay cryptography (tor1), which a change of a cell on its way does not destroy, and fixed windows in place of congestion control".into());
        }
        provenance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_too_short_for_a_claim_says_so_in_the_words_of_its_task() {
        // The tests of this crate run without the variable.
        assert!(std::env::var(VARIABLE).is_err());
        for task in tasks() {
            assert!(task.what.contains("1 s, too short for a claim"), "{}", task.what);
        }
    }
}
