//! `circuit/loopback/<handshake>/{warm,cold}`: circuits of three hops over real sockets.
//!
//! Each operation builds a circuit as a client does: CREATE2, then EXTEND2 twice, over TLS links on 127.0.0.1. *Warm*: the links
//! between client and relays are there. *Cold*: there are none, and each circuit makes three: the client's own, and those of the
//! first and the second relay, which authenticate to the next one.
//!
//! In every table stands the circuit by `ntor` at the same temperature, so that the price of a handshake is a ratio of its own
//! run; and in those of warm links the sum of a circuit's parts (`parts@auto`): the same handshakes without a link, and cells that go
//! the same ways without a handshake. An operation that fails is counted and not timed out of the table: [`Subject::outcomes`].

mod parts;

use crate::ours::town::{Step, Town};
use crate::ours::{AUTO, on_aws_lc};
use candor_lab::{Entry, Mismatch, Outcomes, Provenance, Refusal, Subject, Task, Witness};
use candor_network::{Circuit, Crypto, Error, HandshakeType};

/// What the other handshakes are compared with.
const NTOR: &str = "candor@auto+ntor";

/// Whether the links are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    Warm,
    Cold,
}

impl Links {
    fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}

/// All tasks of circuits.
pub(super) fn tasks() -> Vec<Task> {
    let both = |handshake| [Links::Warm, Links::Cold].map(|links| task(handshake, links));
    HandshakeType::ALL.into_iter().flat_map(both).collect()
}

fn task(handshake: HandshakeType, links: Links) -> Task {
    let links_are = match links {
        Links::Warm => "links of TLS 1.3 that are there",
        Links::Cold => "three links of TLS 1.3 (X25519MLKEM768) that are made in the operation",
    };
    let what = format!(
        "a circuit of three hops by {handshake}: CREATE2 and twice EXTEND2 over {links_are}, all on 127.0.0.1; destroyed within the \
         operation"
    );
    let task = Task::new(format!("circuit/loopback/{handshake}/{}", links.name()), what);
    let task = task.entry(entry(AUTO, handshake, links));
    let task =
        if handshake == HandshakeType::Ntor { task } else { task.entry(entry(NTOR, HandshakeType::Ntor, links)) };
    if links == Links::Warm { task.entry(parts::entry(handshake)) } else { task }
}

fn entry(name: &str, handshake: HandshakeType, links: Links) -> Entry {
    Entry::new(name, move || Ok(Builds { handshake, links, town: None, outcomes: Outcomes::default() }))
}

/// The page that a subject fetches: its bytes depend on the seed alone.
fn page(town: &Town, circuit: &Circuit, seed: u64) -> Result<Vec<u8>, Error> {
    town.fetch(circuit, 1000 + seed % 1000)
}

fn refused(error: Error) -> Refusal {
    Refusal::failed(error.to_string())
}

fn wrong(error: Error) -> Mismatch {
    Mismatch::new(error.to_string())
}

/// Builds circuits.
struct Builds {
    handshake: HandshakeType,
    links: Links,
    town: Option<Town>,
    outcomes: Outcomes,
}

impl Builds {
    fn build(&mut self, mut lap: impl FnMut(Step)) {
        let town = self.town.as_ref().expect("prepare comes before run");
        if self.links == Links::Cold {
            town.disconnect();
        }
        self.outcomes.attempts += 1;
        if town.circuit(self.handshake, &mut lap).is_ok() {
            self.outcomes.successes += 1;
        }
    }
}

impl Subject for Builds {
    /// A page through a circuit.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let town = Town::new(Crypto::Cgo).map_err(refused)?;
        let circuit = town.circuit(self.handshake, |_| {}).map_err(refused)?;
        let page = page(&town, &circuit, seed).map_err(refused)?;
        drop(circuit);
        self.town = Some(town);
        Ok(Witness::default().with("page", page))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let town = self.town.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        let theirs = other.part("page")?;
        let circuit = town.circuit(self.handshake, |_| {}).map_err(wrong)?;
        let page = town.fetch(&circuit, theirs.len() as u64).map_err(wrong)?;
        Witness::default().with("page", page).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.build(|_| {});
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        match self.links {
            Links::Warm => &["hop1", "hop2", "hop3"],
            Links::Cold => &["link", "hop1", "hop2", "hop3"],
        }
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let mut laps = 0;
        let warm = self.links == Links::Warm;
        self.build(|step| {
            if !(warm && step == Step::Link) {
                laps += 1;
                lap();
            }
        });
        // A circuit that failed has its remaining phases all the same, or the epoch would not add up.
        (laps..self.phases().len()).for_each(|_| lap());
    }

    fn outcomes(&self) -> Option<Outcomes> {
        Some(self.outcomes)
    }

    fn provenance(&self) -> Provenance {
        let cells = if self.handshake == HandshakeType::Ntor { "tor1, for ntor can't ask for CGO" } else { "CGO" };
        let links = match self.links {
            Links::Warm => "links that are there",
            Links::Cold => "links made anew, the second and the third within hop2 and hop3",
        };
        let timed = format!(
            "three hops by {} over {links}; layers: {cells}; the client on this thread, three relays in this process, each with a \
             thread and a handshake thread of its own; the relays' keys are parsed before",
            self.handshake
        );
        Provenance { threads: Some(7), ..on_aws_lc("candor_network::{Client, Relay}", &timed) }
    }
}
