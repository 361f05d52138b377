//! `circuit/processes/{warm,rested}`: circuits of three hops through relays that are processes of their own, ours by hybrid-768 and C tor's by its classical handshakes, over
//! links that are there; the client is the same.
//!
//! *Warm*: one circuit right after the other, so that the DESTROY of each goes out with the next one's first cell. C tor's sockets keep Nagle's algorithm, and a relay doesn't answer a
//! DESTROY: what its predecessor sends next seems to wait for the ACK, which the kernel delays by 40 ms (METHOD.md). *Rested*: that is over before a circuit begins, as where a link has been quiet. There, C tor stands
//! with each of two schedulers: KIST, which writes every ten milliseconds, and Vanilla, which writes at once.

use crate::ours::relays::{Relays, Whose};
use crate::ours::transfer::{Layout, Pipes, said_of_relays, tors};
use crate::ours::{AUTO, on_links};
use candor_lab::{Entry, Mismatch, Outcomes, Provenance, Refusal, Subject, Task, Timed, Turn, Witness};
use candor_network::HandshakeType;
use candor_peers::tor_relays::Scheduler;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long links are quiet before a circuit: longer than a kernel delays an ACK.
const REST: Duration = Duration::from_millis(100);

/// Both tasks.
pub(super) fn tasks() -> [Task; 2] {
    [warm(), rested()]
}

fn warm() -> Task {
    let what = "a circuit of three hops: CREATE2 and twice EXTEND2 over links of TLS 1.3 that are there, all on 127.0.0.1, through three relays that are \
                processes of their own with one thread each for cells and one for handshakes; destroyed within the operation; by hybrid-768 where the name says \
                nothing else";
    let task = Task::new("circuit/processes/warm", what).entry(ours(AUTO, HandshakeType::Hybrid768, None)).entry(ours(
        "candor@auto+ntor",
        HandshakeType::Ntor,
        None,
    ));
    [HandshakeType::Ntor, HandshakeType::NtorV3]
        .into_iter()
        .fold(task, |task, handshake| task.entry(of_tor(&format!("+{handshake}"), Scheduler::Kist, handshake, None)))
}

fn rested() -> Task {
    let what = format!(
        "a circuit of three hops: CREATE2 and twice EXTEND2 over links of TLS 1.3 that have been quiet for {} ms, all on 127.0.0.1, through three relays that are \
         processes of their own; destroyed outside the clocks; by hybrid-768 where the name says nothing else",
        REST.as_millis()
    );
    let rest = Some(REST);
    Task::new("circuit/processes/rested", what)
        .entry(ours(AUTO, HandshakeType::Hybrid768, rest))
        .entry(ours("candor@auto+ntor", HandshakeType::Ntor, rest))
        .entry(of_tor("+ntor+kist", Scheduler::Kist, HandshakeType::Ntor, rest))
        .entry(of_tor("+ntor+vanilla", Scheduler::Vanilla, HandshakeType::Ntor, rest))
}

fn ours(name: &str, handshake: HandshakeType, rest: Option<Duration>) -> Entry {
    Entry::new(name, move || Ok(Builds::new(Whose::Ours, handshake, rest)))
}

fn of_tor(suffix: &str, scheduler: Scheduler, handshake: HandshakeType, rest: Option<Duration>) -> Entry {
    tors(suffix, scheduler, move |whose| Ok(Builds::new(whose, handshake, rest)))
}

/// Builds circuits.
struct Builds {
    whose: Whose,
    handshake: HandshakeType,
    /// How long links are quiet before each, outside the clocks.
    rest: Option<Duration>,
    pipes: Option<Pipes>,
    outcomes: Outcomes,
}

impl Builds {
    fn new(whose: Whose, handshake: HandshakeType, rest: Option<Duration>) -> Self {
        Self { whose, handshake, rest, pipes: None, outcomes: Outcomes::default() }
    }

    fn relays(&self) -> &Relays {
        self.pipes.as_ref().expect("prepare comes before run").relays()
    }

    /// One circuit. Its DESTROY goes out as soon as the client may work again.
    fn build(&mut self) -> bool {
        let relays = self.relays();
        let built = relays.wait(relays.circuit(self.handshake)).is_ok();
        self.outcomes.attempts += 1;
        self.outcomes.successes += u64::from(built);
        built
    }
}

impl Subject for Builds {
    /// A page through a circuit.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let pipes = Pipes::lay(self.whose, Layout::of_one(self.handshake), seed)?;
        let witness = pipes.witness(seed)?;
        self.pipes = Some(pipes);
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let pipes = self.pipes.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        pipes.compare(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.build();
        }
    }

    fn timed_elsewhere(&mut self, turn: &Turn) -> Option<Result<Timed, String>> {
        let rest = self.rest?;
        let mut timed = Timed::default();
        let mut cpu_ns = Some(0);
        for _ in 0..turn.iterations {
            self.relays().wait(async move { sleep(rest).await });
            let (before, began) = (self.cpu_ns(), Instant::now());
            timed.failed |= !self.build();
            timed.ns += u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let used = before.zip(self.cpu_ns()).map(|(before, after)| after.saturating_sub(before));
            cpu_ns = cpu_ns.zip(used).map(|(sum, used)| sum + used);
        }
        Some(Ok(Timed {
            ns: timed.ns.max(1),
            cpu_ns: cpu_ns.map(|ns: u64| ns.max(1)),
            outcomes: self.outcomes(),
            ..timed
        }))
    }

    fn outcomes(&self) -> Option<Outcomes> {
        Some(self.outcomes)
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.pipes.as_ref()?.relays().cpu_ns()
    }

    fn provenance(&self) -> Provenance {
        let timed = format!(
            "three hops by {}, layers: {}; the client is ours and on this thread, links are there, the relays' keys are parsed before",
            self.handshake,
            Layout::of_one(self.handshake).crypto.name()
        );
        said_of_relays(self.whose, &timed, |timed| on_links("candor_network::Client, `candor onion relay`", timed))
    }
}
