//! Shards of simulated circuits.

use crate::Failure;
use crate::commands::circuit::costs::{self, Found};
use candor_lab::runfile::Run;
use candor_lab::sweep::{Circuits, Sweep};
use candor_links::Record;
use candor_links::simulator::{Plan, Start};
use candor_links::survey::outcomes;
use candor_links::topology::Topology;
use candor_network::HandshakeType;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The file of a shard: a line for each circuit.
const FILE: &str = "circuits.jsonl";

/// Bytes of a page that a glance fetches.
const GLANCE: u64 = 1000;

/// What a block of circuits simulates.
pub(super) struct Simulation {
    pub(super) plan: Plan,
    pub(super) handshakes: Vec<HandshakeType>,
    pub(super) costs: Found,
}

impl Simulation {
    /// Resolves what the plan has as text. Runs with costs stand in the sweep's folder.
    pub(super) fn of(of: &Circuits, directory: &Path) -> Result<Self, Failure> {
        let named = of.handshakes.iter().map(|name| name.parse::<HandshakeType>());
        let handshakes = named.collect::<Result<Vec<_>, _>>()?;
        let topology = Topology::parse(&of.name, &of.topology)?;
        let topology = if topology.orbit.is_some() { topology.fly(None, None)? } else { topology };
        let topology = if of.lossless { topology.lossless() } else { topology };
        let costs = match &of.costs {
            None => Found::none("none, by the plan of the sweep".to_owned()),
            Some(costs) => {
                let path = directory.join(Sweep::costs(&costs.run));
                let run = Run::open(&path)?;
                if run.sha256 != costs.sha256 {
                    let (found, expected) = (run.sha256, &costs.sha256);
                    let path = path.display();
                    return Err(Failure::Error(format!(
                        "{path}: another run than the plan's (expected {expected:.12}…, found {found:.12}…)"
                    )));
                }
                costs::of_run(&run, &path, &handshakes)?
            }
        };
        let first = *handshakes.first().ok_or_else(|| Failure::Error("a plan without handshakes".into()))?;
        let plan = Plan {
            set: of.set.clone(),
            start: if of.cold { Start::Cold } else { Start::Warm },
            costs: costs.costs.clone(),
            seed: of.seed,
            fetch: (of.page > 0).then_some(of.page),
            ..Plan::new(topology, first)
        };
        Ok(Self { plan, handshakes, costs })
    }

    /// Whether there can be circuits at all. How long the page is makes no difference to that.
    pub(super) fn check(&self) -> Result<(), Failure> {
        outcomes(&Plan { fetch: self.plan.fetch.map(|page| page.min(GLANCE)), ..self.plan.clone() }, 1)?;
        Ok(())
    }

    /// Simulates a shard into a folder. The name of its file.
    pub(super) fn shard(&self, folder: &Path, seed: u64, count: u64) -> Result<String, Failure> {
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| Failure::Error(format!("can't write {}: {error}", path.display()));
        let mut file = BufWriter::new(File::create_new(&path).map_err(failed)?);
        for &handshake in &self.handshakes {
            let plan = Plan { handshake, seed, ..self.plan.clone() };
            for outcome in outcomes(&plan, count as usize)? {
                file.write_all(Record::from(&outcome).line(handshake).as_bytes()).map_err(failed)?;
            }
        }
        file.flush().map_err(failed)?;
        Ok(FILE.to_owned())
    }
}

/// The circuits of a shard's file.
pub(super) fn read(path: &Path) -> Result<Vec<(HandshakeType, Record)>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Error(format!("can't read {}: {error}", path.display())))?;
    let record = |(index, line): (usize, &str)| {
        Record::parse(line).map_err(|why| Failure::Error(format!("{}, line {}: {why}", path.display(), index + 1)))
    };
    text.lines().enumerate().map(record).collect()
}
