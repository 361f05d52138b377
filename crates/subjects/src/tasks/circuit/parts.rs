//! What a circuit over warm links is made of: its three handshakes, and cells that go as far and back without one.
//!
//! It is no circuit. Its row stands in the tables of circuits to say how much of the time is explained: the whole, next to it in the
//! same rounds, should take little more than the sum.

use super::{Outcomes, page, refused, wrong};
use crate::ours::on_links;
use crate::ours::town::Town;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_network::{Circuit, Crypto, HandshakeType};
use candor_peers::contract::ntor::Kind;

/// The parts of a circuit by `handshake_type`, as a row in its table.
pub(super) fn entry(handshake_type: HandshakeType) -> Entry {
    Entry::new("parts@auto", move || {
        let kind = Kind::authenticated().find(|kind| kind.name() == handshake_type.name());
        let kind = kind.ok_or_else(|| Refusal::failed("no task measures the parts of this handshake"))?;
        // The very subject of `ntor/<handshake>/handshake`.
        let handshake = crate::ours::ntor::handshake(kind).swap_remove(0).make()?;
        Ok(Parts {
            handshake_type,
            cells: crate::ours::ntor::extension_cells(kind),
            handshake,
            ready: None,
            outcomes: Outcomes::default(),
        })
    })
}

struct Parts {
    handshake_type: HandshakeType,
    /// How many cells EXTEND2 takes.
    cells: usize,
    handshake: Box<dyn Subject>,
    ready: Option<Ready>,
    outcomes: Outcomes,
}

struct Ready {
    /// Of one, two and three hops. They go before the town does.
    circuits: Vec<Circuit>,
    town: Town,
}

impl Parts {
    fn once(&mut self, mut lap: impl FnMut()) {
        let Ready { circuits, town } = self.ready.as_ref().expect("prepare comes before run");
        self.outcomes.attempts += 1;
        let mut crossed = true;
        for circuit in circuits {
            self.handshake.run(1);
            lap();
            crossed &= town.cross(circuit, self.cells).is_ok();
            lap();
        }
        self.outcomes.successes += u64::from(crossed);
    }
}

impl Subject for Parts {
    /// The handshake has to agree with itself, and the page has to come through the longest of the circuits.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.handshake.prepare(seed)?;
        let town = Town::new(Crypto::Cgo).map_err(refused)?;
        let circuits = [1, 2, 3].map(|hops| town.circuit_of(hops, self.handshake_type, |_| {}));
        let circuits = circuits.into_iter().collect::<Result<Vec<_>, _>>().map_err(refused)?;
        for circuit in &circuits {
            town.cross(circuit, self.cells).map_err(refused)?;
        }
        let page = page(&town, &circuits[2], seed).map_err(refused)?;
        self.ready = Some(Ready { circuits, town });
        Ok(Witness::default().with("page", page))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let ready = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        let theirs = other.part("page")?;
        let page = ready.town.fetch(&ready.circuits[2], theirs.len() as u64).map_err(wrong)?;
        Witness::default().with("page", page).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.once(|| {});
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        &["handshake1", "crossing1", "handshake2", "crossing2", "handshake3", "crossing3"]
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        self.once(lap);
    }

    fn outcomes(&self) -> Option<Outcomes> {
        Some(self.outcomes)
    }

    fn provenance(&self) -> Provenance {
        let count = if self.cells == 1 { "a cell".to_owned() } else { format!("{} cells at once", self.cells) };
        let timed = format!(
            "for each hop of three: what ntor/{}/handshake does, on one thread, and {count} to that hop and back over links and \
             layers that are there: BEGIN for where no exit may go, answered by END. As many cells as EXTEND2 takes",
            self.handshake_type
        );
        let mut provenance = on_links("candor_onion::handshake and candor_network::{Client, Relay}", &timed);
        provenance.threads = Some(7);
        provenance.different_operation = Some(
            "not a circuit but what it is made of: the handshakes, and cells that cross the links as often without one"
                .into(),
        );
        provenance
    }
}
