//! `circuit/loopback/<handshake>/{warm,cold,directory-known,directory-cached,directory-cold}`: circuits of three hops over real sockets; and, in
//! `simulated`, `circuit/<topology>/<handshake>`; in `processes`, `circuit/processes/{warm,rested}`, with C tor's relays beside ours.
//!
//! Each operation builds a circuit as a client does: CREATE2, then EXTEND2 twice, over TLS links on 127.0.0.1. *Warm*: the links
//! between client and relays are there. *Cold*: there are none, and each circuit makes three: the client's own, and those of the
//! first and the second relay, which authenticate to the next one. With *directory*: cold, and
//! the client learns of the relays from the consensus first. It has just started, and fetches it from the directory by HTTP (*directory-cold*) or reads
//! it from the file of an earlier run (*directory-cached*), and verifies it; or it runs and has it in memory (*directory-known*).
//!
//! In every table stands the circuit by `ntor` at the same temperature, so that the price of a handshake is a ratio of its own
//! run; and in those of warm links the sum of a circuit's parts (`parts@auto`): the same handshakes without a link, and cells that go
//! the same ways without a handshake. An operation that fails is counted and not timed out of the table: [`Subject::outcomes`].

mod parts;
mod processes;
mod simulated;

use crate::ours::town::{Source, Step, Town};
use crate::ours::{AUTO, on_links};
use candor_lab::{Entry, Mismatch, Outcomes, Provenance, Refusal, Subject, Task, Witness};
use candor_network::{Circuit, Crypto, Error, HandshakeType};

/// What the other handshakes are compared with.
const NTOR: &str = "candor@auto+ntor";

/// The handshakes that are measured with a directory: of document 002's level, the default, and one whose keys the client fetches besides.
const LISTED: [HandshakeType; 3] = [HandshakeType::Hybrid512, HandshakeType::Hybrid768, HandshakeType::Hybrid768Auth];

/// What is there before an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Relays that are known, and links.
    Warm,
    /// Relays that are known.
    Cold,
    /// Nothing; the relays are learnt of first.
    Learning(Source),
}

impl Start {
    fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::Learning(Source::Memory) => "directory-known",
            Self::Learning(Source::File) => "directory-cached",
            Self::Learning(Source::Directory) => "directory-cold",
        }
    }

    fn relays(self) -> &'static str {
        match self {
            Self::Warm | Self::Cold => "",
            Self::Learning(Source::Memory) => "a client takes the relays from the consensus that it has in memory; ",
            Self::Learning(Source::File) => {
                "a new client reads the consensus of three relays from its file and verifies it; "
            }
            Self::Learning(Source::Directory) => {
                "a new client fetches the consensus of three relays from a directory by HTTP and verifies it; "
            }
        }
    }
}

/// All tasks of circuits.
pub(super) fn tasks() -> Vec<Task> {
    let both = |handshake| [Start::Warm, Start::Cold].map(|start| task(handshake, start));
    let learning = |handshake| {
        [Source::Memory, Source::File, Source::Directory].map(|source| {
            let start = Start::Learning(source);
            Task::new(name(handshake, start), what(handshake, start)).entry(entry(AUTO, handshake, start))
        })
    };
    let loopback = HandshakeType::ALL.into_iter().flat_map(both).chain(LISTED.into_iter().flat_map(learning));
    loopback.chain(processes::tasks()).chain(simulated::tasks()).collect()
}

fn name(handshake: HandshakeType, start: Start) -> String {
    format!("circuit/loopback/{handshake}/{}", start.name())
}

fn what(handshake: HandshakeType, start: Start) -> String {
    let links_are = match start {
        Start::Warm => "links of TLS 1.3 that are there",
        Start::Cold | Start::Learning(_) => "three links of TLS 1.3 (X25519MLKEM768) that are made in the operation",
    };
    format!(
        "{}a circuit of three hops by {handshake}: CREATE2 and twice EXTEND2 over {links_are}, all on 127.0.0.1; destroyed within the \
         operation",
        start.relays()
    )
}

fn task(handshake: HandshakeType, start: Start) -> Task {
    let task = Task::new(name(handshake, start), what(handshake, start)).entry(entry(AUTO, handshake, start));
    let task =
        if handshake == HandshakeType::Ntor { task } else { task.entry(entry(NTOR, HandshakeType::Ntor, start)) };
    if start == Start::Warm { task.entry(parts::entry(handshake)) } else { task }
}

fn entry(name: &str, handshake: HandshakeType, start: Start) -> Entry {
    Entry::new(name, move || {
        Ok(Builds { handshake, start, town: None, is_apart: false, outcomes: Outcomes::default() })
    })
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
    start: Start,
    town: Option<Town>,
    /// There is no link, and nobody is busy closing one.
    is_apart: bool,
    outcomes: Outcomes,
}

impl Builds {
    fn circuit(&self, town: &Town, mut lap: impl FnMut(Step)) -> Result<Circuit, Error> {
        let Start::Learning(source) = self.start else { return town.circuit(self.handshake, lap) };
        let list = town.learn(source, self.handshake)?;
        lap(Step::Directory);
        town.circuit_over(&list, self.handshake, lap)
    }

    fn build(&mut self, lap: impl FnMut(Step)) {
        self.part();
        self.is_apart = false;
        let town = self.town.as_ref().expect("prepare comes before run");
        let built = self.circuit(town, lap).is_ok();
        self.outcomes.attempts += 1;
        self.outcomes.successes += u64::from(built);
    }

    /// Closes the links that an operation makes anew. That is no part of it, so it is done outside the clock where there is an iteration an epoch.
    fn part(&mut self) {
        if self.start != Start::Warm && !self.is_apart {
            self.town.as_ref().expect("prepare comes before run").part();
            self.is_apart = true;
        }
    }
}

impl Subject for Builds {
    /// A page through a circuit.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let town = match self.start {
            Start::Learning(_) => Town::published(Crypto::Cgo),
            Start::Warm | Start::Cold => Town::new(Crypto::Cgo),
        };
        let town = town.map_err(refused)?;
        let circuit = self.circuit(&town, |_| {}).map_err(refused)?;
        let page = page(&town, &circuit, seed).map_err(refused)?;
        drop(circuit);
        (self.town, self.is_apart) = (Some(town), false);
        Ok(Witness::default().with("page", page))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.is_apart = false;
        let town = self.town.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        let theirs = other.part("page")?;
        let circuit = self.circuit(town, |_| {}).map_err(wrong)?;
        let page = town.fetch(&circuit, theirs.len() as u64).map_err(wrong)?;
        Witness::default().with("page", page).same_as(other)
    }

    fn restock(&mut self, _: u64) {
        self.part();
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.build(|_| {});
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        match self.start {
            Start::Warm => &["hop1", "hop2", "hop3"],
            Start::Cold => &["link", "hop1", "hop2", "hop3"],
            Start::Learning(_) => &["directory", "link", "hop1", "hop2", "hop3"],
        }
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let mut laps = 0;
        let warm = self.start == Start::Warm;
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
        let links = match self.start {
            Start::Warm => "links that are there",
            Start::Cold | Start::Learning(_) => "links made anew, the second and the third within hop2 and hop3",
        };
        let (relays, threads) = match self.start {
            Start::Warm | Start::Cold => ("the relays' keys are parsed before", 7),
            Start::Learning(Source::Memory) => ("the relays are taken from a consensus that was verified before", 8),
            Start::Learning(Source::File) => ("the relays are learnt of from a file with one authority's signature", 8),
            Start::Learning(Source::Directory) => (
                "the relays are learnt of from one authority in this process, on a thread of its own; no file is written",
                8,
            ),
        };
        let timed = format!(
            "three hops by {} over {links}; layers: {cells}; the client on this thread, three relays in this process, each with a \
             thread and a handshake thread of its own; {relays}",
            self.handshake
        );
        Provenance { threads: Some(threads), ..on_links("candor_network::{Client, Relay}", &timed) }
    }
}
