//! `circuit/<topology>/<handshake>`: circuits of three hops over modelled links, in virtual time.
//!
//! The state machines are those of `onion`, and the links between them a model, as `candor circuit` has it (`candor_links`). What a handshake costs there is
//! measured in the same process before: its three steps by the very subject of `ntor/<handshake>/handshake`, a sample of which is drawn for each hop. So
//! a task's time is delays, rates and losses that somebody wrote down, and computation of this machine: its evidence is `simulated`, it has no peer and
//! gets no verdict. What hosts do besides, for which `candor circuit` takes the phases of `circuit/loopback/<handshake>/warm`, is not in it: a process would have to
//! start relays of its own to measure that.
//!
//! Before anything counts, each process builds one circuit with X25519 and ML-KEM and one with their stand-ins, where computation is free and nothing is lost: both
//! have to take the same virtual time, cells and bytes. A page by `ntor` is also one by tor1's windows, since ntor can't ask for congestion control: what it fetches
//! is no comparison of handshakes.

use crate::ours::AUTO;
use candor_lab::{Entry, Evidence, Mismatch, Outcomes, Provenance, Quantity, Refusal, Subject, Task, Witness};
use candor_links::costs::{Costs, Steps};
use candor_links::simulator::{Cryptography, Outcome, Plan, Start, World};
use candor_links::survey::HANDSHAKES;
use candor_links::topology::{BUILT_IN, Topology};
use candor_network::HandshakeType;
use candor_peers::contract::ntor::Kind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Samples of each step of a handshake.
const SAMPLES: usize = 48;
/// Bytes of the page that is fetched for the numbers beside the time.
const PAGE: u64 = 100_000;

/// A task for each topology that candor brings, by each handshake.
pub(super) fn tasks() -> Vec<Task> {
    BUILT_IN.iter().flat_map(|topology| HANDSHAKES.map(|handshake| task(topology.name, handshake))).collect()
}

fn task(topology: &'static str, handshake: HandshakeType) -> Task {
    let what = format!(
        "a circuit of three hops by {handshake} over the links of `candor list topologies {topology}`, in virtual time: CREATE2 and twice EXTEND2 over links that \
         are there"
    );
    let make = move || {
        let instance = INSTANCES.fetch_add(1, Ordering::Relaxed);
        Ok(Simulated { topology, handshake, instance, ready: None, outcomes: Outcomes::default() })
    };
    Task::new(format!("circuit/{topology}/{handshake}"), what).entry(Entry::new(AUTO, make))
}

/// How many subjects this process has made.
static INSTANCES: AtomicU64 = AtomicU64::new(0);

struct Simulated {
    topology: &'static str,
    handshake: HandshakeType,
    /// Its number: the control beside the baseline must not draw the very same losses, or it would say that luck has no part in the times.
    instance: u64,
    ready: Option<(Plan, World)>,
    outcomes: Outcomes,
}

impl Simulated {
    fn build(&mut self) -> Outcome {
        let (plan, world) = self.ready.as_mut().expect("prepare comes before run");
        if let Some(another) = elsewhen(plan, self.outcomes.attempts) {
            *world = another;
        }
        let outcome = world.build();
        self.outcomes.attempts += 1;
        self.outcomes.successes += u64::from(outcome.built.is_some());
        outcome
    }
}

impl Subject for Simulated {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let topology = Topology::built_in(self.topology).ok_or_else(|| Refusal::failed("no topology has this name"))?;
        let topology = topology.map_err(broken)?;
        let plan = Plan { seed, begin: topology.begins(), ..Plan::new(topology, self.handshake) };
        let witness = alike(&plan)?;
        let costs = Costs::none().with(self.handshake, measured(self.handshake, seed)?);
        let plan = Plan { costs, seed: seed ^ self.instance.wrapping_mul(0x9e37_79b9_7f4a_7c15), ..plan };
        let world = World::new(&plan).map_err(broken)?;
        self.ready = Some((plan, world));
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let (plan, _) = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        let again = alike(&Plan { costs: Costs::none(), ..plan.clone() });
        again.map_err(|refusal| Mismatch::new(refusal.to_string()))?.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.build();
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        &["hop1", "hop2", "hop3"]
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        self.build();
        self.phases().iter().for_each(|_| lap());
    }

    fn simulate(&mut self) -> Vec<u64> {
        // One that failed has done some of its hops; its round is left out.
        let mut hops = self.build().hops;
        hops.resize(3, Duration::ZERO);
        hops.into_iter().map(|hop| hop.as_nanos() as u64).collect()
    }

    fn outcomes(&self) -> Option<Outcomes> {
        Some(self.outcomes)
    }

    /// What a designer asks besides, where nothing is lost and computation is free: then it is the same for every circuit.
    fn quantities(&self) -> Vec<Quantity> {
        let Some((plan, _)) = &self.ready else { return Vec::new() };
        let plan = Plan { topology: plan.topology.clone().lossless(), costs: Costs::none(), ..plan.clone() };
        let build = |plan: Plan| World::new(&plan).map(|mut world| world.build());
        let with_page = build(Plan { fetch: Some(PAGE), ..plan.clone() });
        let cold = build(Plan { start: Start::Cold, ..plan.clone() });
        let (Ok(with_page), Ok(cold)) = (with_page, cold) else { return Vec::new() };
        let ms = |name: &str, time: Option<Duration>| {
            time.map(|time| Quantity::new(&format!("{name} (SIMULATED, nothing lost)"), time.as_secs_f64() * 1e3, "ms"))
        };
        let ([out, back], [sent, received]) = (with_page.cells[0], with_page.bytes[0]);
        let mut counted = vec![
            Quantity::new("cells of the client out", out as f64, "cells"),
            Quantity::new("cells of the client in", back as f64, "cells"),
            Quantity::new("bytes of the client out", sent as f64, "bytes"),
            Quantity::new("bytes of the client in", received as f64, "bytes"),
        ];
        counted.extend(ms("delays alone", plan.delays_alone().ok()));
        counted.extend(ms("circuit with its links made", cold.built));
        counted.extend(ms("first byte of a page", with_page.first_byte));
        let goodput = with_page.goodput();
        counted.extend(
            goodput.map(|bits| Quantity::new("goodput of 100 kB (SIMULATED, nothing lost)", bits / 1e6, "Mbit/s")),
        );
        counted
    }

    fn provenance(&self) -> Provenance {
        let timed = "virtual time of three hops over links that are there, from the first cell to the last; each hop's computation is drawn from samples that the process \
                     took of this handshake before, every host as fast as this machine; what hosts do besides (sockets, TLS, cells, waking) takes nothing here, while \
                     `candor circuit` draws it from a run; X25519 and ML-KEM are stand-ins of the same sizes";
        Provenance {
            evidence: Evidence::Simulated,
            arm: Some("the steps of the handshake: our own ML-KEM and X25519 on their default arms".to_owned()),
            ..crate::ours::ours(timed)
        }
    }
}

/// Where links follow satellites, each circuit begins at a time of its own, evenly over the flight. Times without a link don't count.
fn elsewhen(plan: &Plan, circuit: u64) -> Option<World> {
    let length = plan.topology.flight()?.ends().saturating_sub(plan.topology.begins());
    // Multiples of the golden ratio, modulo 1, leave no gap that is much larger than another.
    let shares = (0..8u64).map(|more| ((8 * circuit + more) as f64 * 0.618_033_988_75).fract());
    let seed = plan.seed.wrapping_add(circuit);
    let at = |share| Plan { begin: plan.topology.begins() + length.mul_f64(share), seed, ..plan.clone() };
    shares.map(at).find_map(|plan| World::new(&plan).ok())
}

/// The topology's circuit where computation is free and nothing is lost, by real cryptography and by its stand-ins: what both agree in.
fn alike(plan: &Plan) -> Result<Witness, Refusal> {
    let topology = plan.topology.clone().lossless();
    let build = |cryptography| {
        let plan = Plan { cryptography, topology: topology.clone(), ..plan.clone() };
        let outcome = World::new(&plan).map_err(broken)?.build();
        Ok::<_, Refusal>(format!("{outcome:?}"))
    };
    let (real, scripted) = (build(Cryptography::Real)?, build(Cryptography::Scripted)?);
    if real != scripted {
        return Err(Refusal::failed(format!("real cryptography gives {real}, and its stand-ins {scripted}")));
    }
    Ok(Witness::default().with("outcome", real))
}

/// Samples of the handshake's steps, taken now.
fn measured(handshake: HandshakeType, seed: u64) -> Result<Steps, Refusal> {
    let kind = Kind::authenticated().find(|kind| kind.name() == handshake.name());
    let kind = kind.ok_or_else(|| Refusal::failed("no task measures the steps of this handshake"))?;
    let mut subject = crate::ours::ntor::handshake(kind).swap_remove(0).make()?;
    subject.prepare(seed)?;
    let mut steps = [(); 3].map(|()| Vec::with_capacity(SAMPLES));
    // The first few find nothing in the caches.
    for sample in 0..SAMPLES + 8 {
        let (mut at, mut from) = (0, Instant::now());
        subject.restock(1);
        subject.run_phased(&mut || {
            if sample >= 8 && at < 3 {
                steps[at].push(from.elapsed());
            }
            (at, from) = (at + 1, Instant::now());
        });
        if at != 3 {
            return Err(Refusal::failed(format!("the handshake has {at} steps; expected 3")));
        }
    }
    let [start, answer, finish] = steps;
    Ok(Steps { start, answer, finish })
}

fn broken(error: impl std::fmt::Display) -> Refusal {
    Refusal::failed(error.to_string())
}
