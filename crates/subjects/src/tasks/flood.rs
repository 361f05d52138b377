//! `relay/flood/create2`: what creations cost a relay that is a process of its own, ours by hybrid-768 and C tor's by ntor, while a client asks for many at once. The CPU time of that
//! process stands in a second table: its reciprocal is CREATE2 per CPU-second, with links, queues, cells and DESTROYs.

use crate::ours::relays::Whose;
use crate::ours::transfer::{Layout, Pipes, said_of_relays, tors};
use crate::ours::{AUTO, on_links};
use candor_lab::{Entry, Mismatch, Outcomes, Provenance, Refusal, Subject, Task, Witness};
use candor_network::HandshakeType;
use candor_peers::tor_relays::Scheduler;

/// Creations of an operation, all asked for at once over one link.
const AT_ONCE: usize = 64;

/// The task.
pub(super) fn tasks() -> Vec<Task> {
    let what = format!(
        "{AT_ONCE} CREATE2 at once over one link of TLS 1.3, on 127.0.0.1, at a relay that is a process of its own with one thread for cells and one for handshakes, \
         each circuit destroyed once it is there; by hybrid-768 where the name says nothing else; times are those of all {AT_ONCE}"
    );
    let ours = |name: &str, handshake| Entry::new(name, move || Ok(Floods::new(Whose::Ours, handshake)));
    let tors = |handshake: HandshakeType| {
        tors(&format!("+{handshake}"), Scheduler::Kist, move |whose| Ok(Floods::new(whose, handshake)))
    };
    vec![
        Task::new("relay/flood/create2", what)
            .entry(ours(AUTO, HandshakeType::Hybrid768))
            .entry(ours("candor@auto+ntor", HandshakeType::Ntor))
            .entry(tors(HandshakeType::Ntor))
            .entry(tors(HandshakeType::NtorV3)),
    ]
}

/// Asks for circuits of one hop.
struct Floods {
    whose: Whose,
    handshake: HandshakeType,
    pipes: Option<Pipes>,
    outcomes: Outcomes,
}

impl Floods {
    fn new(whose: Whose, handshake: HandshakeType) -> Self {
        Self { whose, handshake, pipes: None, outcomes: Outcomes::default() }
    }
}

impl Subject for Floods {
    /// A page through a circuit of three such relays.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let pipes = Pipes::lay(self.whose, Layout::of_one(self.handshake), seed)?;
        let witness = pipes.witness(seed)?;
        self.pipes = Some(pipes);
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.pipes.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?.compare(other)
    }

    fn run(&mut self, iterations: u64) {
        let relays = self.pipes.as_ref().expect("prepare comes before run").relays();
        for _ in 0..iterations {
            self.outcomes.attempts += AT_ONCE as u64;
            self.outcomes.successes += relays.wait(relays.create(self.handshake, AT_ONCE));
        }
    }

    fn outcomes(&self) -> Option<Outcomes> {
        Some(self.outcomes)
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.pipes.as_ref()?.relays().first_cpu_ns()
    }

    fn provenance(&self) -> Provenance {
        let timed = format!(
            "circuits of one hop by {}; the client is ours and on this thread; no limit on creations by rate holds on either side: loopback is a test network \
             to our relay, and C tor's defence is off unless a consensus turns it on",
            self.handshake
        );
        said_of_relays(self.whose, &timed, |timed| on_links("candor_network::Client, `candor onion relay`", timed))
    }
}
