//! Real relays, a target and a client in a testbed.

use super::process::Process;
use crate::Failure;
use crate::commands::onion::builder::{Built, Request};
use crate::output::Talk;
use candor_links::model::Loss;
use candor_links::simulator::{Outcome, Plan, Start};
use candor_links::survey::Summary;
use candor_links::topology::Role;
use candor_network::HandshakeType;
use candor_testbed::{Awake, Counts, Testbed, address};
use serde_json::Value;
use std::time::Duration;

/// The relays, each with its port: two at the same node can't have the same one.
const RELAYS: [(Role, &str); 3] = [(Role::Guard, "9001"), (Role::Middle, "9002"), (Role::Exit, "9003")];
const TARGET: &str = "8000";
/// Number of the address that a relay tells others, and at which no circuit reaches it.
const ADVERTISED: u32 = 65_535;
/// How long the links stay quiet before a circuit, besides two round trips: an acknowledgement may be 40 ms late, and a segment that was lost is sent again
/// after 200 ms.
const SETTLE: [Duration; 2] = [Duration::from_millis(60), Duration::from_millis(250)];

/// Circuits that the client is asked for at a time.
const AT_ONCE: u32 = 1000;

/// A network for one plan.
pub(super) struct Network {
    testbed: Testbed,
    entries: [String; 3],
    builder: Process,
    /// Relays and the target, which live as long as this.
    _others: Vec<Process>,
    /// How many circuits there have been: each has addresses of its own.
    circuits: u32,
    settle: Duration,
    /// Packets shall not wait for a CPU to be woken.
    _awake: Option<Awake>,
}

/// What was measured.
#[derive(Default)]
pub(super) struct Measured {
    /// What became of each circuit; what the client can't see, such as bytes and packets, is zero.
    pub(super) outcomes: Vec<Outcome>,
    /// When each began, to a few milliseconds, by the time of the links.
    pub(super) begins: Vec<Duration>,
    /// Why circuits were not built, or brought no page.
    pub(super) failures: Vec<String>,
}

impl Measured {
    pub(super) fn summary(&self) -> Summary {
        Summary::of(&self.outcomes)
    }
}

impl Network {
    pub(super) fn start(plan: &Plan, talk: Talk) -> Result<Self, Failure> {
        let set = plan.set.as_deref();
        let awake = Awake::start();
        if let Err(error) = &awake {
            talk.say(&format!(
                "CPUs may sleep between packets, which makes circuits slower: no thread may become idle: {error}"
            ));
        }
        let testbed = Testbed::start(&plan.topology, set, plan.seed, plan.begin)?;
        let target = address(Role::Target, 0);
        let mut others = Vec::new();
        let listen = format!("0.0.0.0:{TARGET}");
        let arguments = ["onion", "target", "--listen", &listen];
        others.push(Process::start(&testbed, Role::Target, "target", &arguments, talk)?);
        let policy = format!("{target}:{TARGET}");
        for (role, port) in RELAYS {
            let listen = format!("0.0.0.0:{port}");
            let advertise = format!("{}:{port}", address(role, ADVERTISED));
            let exit = if role == Role::Exit { &policy[..] } else { "" };
            let arguments = ["onion", "relay", "--name", role.name(), "--listen", &listen, "--advertise", &advertise];
            let choices = ["--test-networks", "10.0.0.0/8", "--exit", exit];
            others.push(Process::start(&testbed, role, role.name(), &[&arguments[..], &choices].concat(), talk)?);
        }
        let builder = Process::start(&testbed, Role::Client, "the client", &["onion", "builder"], talk)?;
        others[0].answer::<Value>()?;
        let mut entries = <[String; 3]>::default();
        for (entry, relay) in entries.iter_mut().zip(&mut others[1..]) {
            *entry = relay.line()?;
        }
        let loses = plan.topology.links.iter().any(|link| link.profiles(set).iter().any(|way| way.loss != Loss::None));
        let mut settle = SETTLE[usize::from(loses)];
        for pair in Role::ALL[..4].windows(2) {
            settle += round_trip(plan, pair)? * 2;
        }
        Ok(Self { testbed, entries, builder, _others: others, circuits: 0, settle, _awake: awake.ok() })
    }

    /// The time of the links.
    pub(super) fn now(&self) -> Duration {
        self.testbed.now()
    }

    /// Builds circuits by a handshake, one after another, adds them to those that were measured, and calls `each` after each.
    pub(super) fn measure(
        &mut self,
        plan: &Plan,
        handshake: HandshakeType,
        circuits: u32,
        measured: &mut Measured,
        mut each: impl FnMut(),
    ) -> Result<(), Failure> {
        let mut left = circuits;
        while left > 0 {
            let some = left.min(AT_ONCE);
            left -= some;
            let numbers = self.circuits..self.circuits + some;
            self.circuits += some;
            let addresses = |role| numbers.clone().map(|number| address(role, number % ADVERTISED)).collect();
            let page = plan.fetch.map(|bytes| format!("http://{}:{TARGET}/bytes/{bytes}", address(Role::Target, 0)));
            self.builder.ask(&Request {
                relays: self.entries.clone(),
                addresses: RELAYS.map(|(role, _)| addresses(role)),
                handshake: handshake.name().to_owned(),
                cold: plan.start == Start::Cold,
                page,
                settle: self.settle,
            })?;
            for _ in 0..some {
                let mut asked = self.testbed.now();
                let built: Built = self.builder.answer()?;
                // It answers at once when it is done. A circuit that was not built began after it was asked for, and after its links were quiet.
                asked += self.settle;
                let took = built.built.map(|circuit| circuit + built.last_byte.unwrap_or_default());
                measured.begins.push(took.map_or(asked, |took| self.testbed.now().saturating_sub(took)));
                measured.failures.extend(built.failure);
                measured.outcomes.push(Outcome {
                    link: built.link,
                    hops: built.hops,
                    built: built.built,
                    first_byte: built.first_byte,
                    last_byte: built.last_byte,
                    fetched: built.fetched,
                    ..Outcome::default()
                });
                each();
            }
        }
        Ok(())
    }

    /// What became of packets.
    pub(super) fn counts(&self) -> Result<Counts, Failure> {
        Ok(self.testbed.counts()?)
    }
}

fn round_trip(plan: &Plan, pair: &[Role]) -> Result<Duration, Failure> {
    let set = plan.set.as_deref();
    let delay = |from, to| {
        let way = plan.topology.way_at(from, to, set, plan.begin)?;
        Ok::<_, Failure>(plan.topology.delay(&way, set, plan.begin))
    };
    Ok(delay(pair[0], pair[1])? + delay(pair[1], pair[0])?)
}
