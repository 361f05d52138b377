//! `circuit/processes/warm`: circuits of three hops through relays that are processes of their own, ours by hybrid-768 and C tor's by its classical handshakes, over
//! links that are there; the client is the same.

use crate::ours::relays::Whose;
use crate::ours::transfer::{Layout, Pipes, said_of_relays, tors};
use crate::ours::{AUTO, on_links};
use candor_lab::{Entry, Mismatch, Outcomes, Provenance, Refusal, Subject, Task, Witness};
use candor_network::HandshakeType;
use candor_peers::tor_relays::Scheduler;

/// The task.
pub(super) fn task() -> Task {
    let what = "a circuit of three hops: CREATE2 and twice EXTEND2 over links of TLS 1.3 that are there, all on 127.0.0.1, through three relays that are \
                processes of their own with one thread each for cells and one for handshakes; destroyed within the operation; by hybrid-768 where the name says \
                nothing else";
    let ours = |name: &str, handshake| {
        let name = name.to_owned();
        Entry::new(name, move || Ok(Builds::new(Whose::Ours, handshake)))
    };
    let task = Task::new("circuit/processes/warm", what)
        .entry(ours(AUTO, HandshakeType::Hybrid768))
        .entry(ours("candor@auto+ntor", HandshakeType::Ntor));
    [HandshakeType::Ntor, HandshakeType::NtorV3].into_iter().fold(task, |task, handshake| {
        task.entry(tors(&format!("+{handshake}"), Scheduler::Kist, move |whose| Ok(Builds::new(whose, handshake))))
    })
}

/// Builds circuits.
struct Builds {
    whose: Whose,
    handshake: HandshakeType,
    pipes: Option<Pipes>,
    outcomes: Outcomes,
}

impl Builds {
    fn new(whose: Whose, handshake: HandshakeType) -> Self {
        Self { whose, handshake, pipes: None, outcomes: Outcomes::default() }
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
        let relays = self.pipes.as_ref().expect("prepare comes before run").relays();
        for _ in 0..iterations {
            let built = relays.wait(relays.circuit(self.handshake)).is_ok();
            self.outcomes.attempts += 1;
            self.outcomes.successes += u64::from(built);
        }
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
