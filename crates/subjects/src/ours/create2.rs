//! A relay's answers to CREATE2, one by one and several in one pass.

use super::AUTO_AWS_LC;
use super::ntor::{RelayWith, arms, on_arm, on_aws_lc, said_of};
use candor_lab::{Entry, Habit, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_onion::cell::Message;
use candor_onion::cell::payload::Create2;
use candor_onion::circuit::{
    ClientAction, ClientCircuit, HandshakeJob, HopOptions, Limits, OnionKeys, RelayAction, RelayCircuit,
};
use candor_onion::layer::Crypto;
use candor_peers::contract::ntor::{Failed, Kind, RelaySecrets};
use std::hint::black_box;
use std::time::Instant;

/// As many as the pool of a relay takes at once.
pub(crate) const BATCH: usize = 8;

/// How a relay answers what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// One.
    One,
    /// [`BATCH`], one after another.
    Singly,
    /// [`BATCH`] in one pass.
    Together,
}

impl How {
    fn count(self) -> usize {
        if self == Self::One { 1 } else { BATCH }
    }

    fn timed(self) -> &'static str {
        match self {
            Self::One => "answers one CREATE2",
            Self::Singly => "answers eight CREATE2 from eight clients, one after another",
            Self::Together => "answers eight CREATE2 from eight clients as one batch",
        }
    }

    fn habit(self) -> Option<Habit> {
        match self {
            Self::One => None,
            Self::Singly => Some(Habit::OneAfterAnother),
            Self::Together => Some(Habit::Batches),
        }
    }
}

/// One CREATE2 after another: on each arm, and on AWS-LC.
pub(crate) fn singly(kind: Kind) -> Vec<Entry> {
    let own = arms(kind).into_iter().map(|(arm, cpu)| {
        on_arm!(kind, cpu, |handshake, source| entry(format!("candor@{arm}"), kind, How::One, handshake, source))
    });
    let aws_lc = on_aws_lc!(kind, |handshake, source| entry(AUTO_AWS_LC, kind, How::One, handshake, source));
    own.chain(std::iter::once(aws_lc)).collect()
}

/// Eight in one pass; and one after another, with a +.
pub(crate) fn together(kind: Kind) -> Vec<Entry> {
    let both = |(arm, cpu)| {
        [("", How::Together), ("+one-by-one", How::Singly)].map(|(suffix, how)| {
            on_arm!(kind, cpu, |handshake, source| entry(format!("candor@{arm}{suffix}"), kind, how, handshake, source))
        })
    };
    let name = format!("{AUTO_AWS_LC}+one-by-one"); // it has no batches of its own
    let one_by_one = on_aws_lc!(kind, |handshake, source| entry(name, kind, How::Singly, handshake, source));
    arms(kind).into_iter().flat_map(both).chain(std::iter::once(one_by_one)).collect()
}

fn entry<H>(subject: impl Into<String>, kind: Kind, how: How, handshake: H, provenance: Provenance) -> Entry
where
    H: RelayWith + Clone + Send + Sync + 'static,
    H::RelaySecret: Send + Sync,
    H::Client: Send + 'static,
{
    Entry::new(subject, move || {
        let (handshake, provenance) = (handshake.clone(), provenance.clone());
        Ok(Relay { handshake, kind, how, provenance, keys: OnionKeys::default(), creations: Vec::new() })
    })
}

struct Relay<H> {
    handshake: H,
    kind: Kind,
    how: How,
    provenance: Provenance,
    keys: OnionKeys,
    creations: Vec<Creation>,
}

/// What a client asks for, and whether in a cell of variable length.
#[derive(Clone)]
struct Creation {
    create: Create2,
    is_wide: bool,
}

impl Creation {
    fn circuit(&self) -> (RelayCircuit, HandshakeJob) {
        match self.is_wide {
            true => RelayCircuit::create_wide(self.create.clone(), Limits::default()),
            false => RelayCircuit::create(self.create.clone(), Limits::default()),
        }
    }
}

/// The replies to these, in order. All that a relay does between a cell and a cell, but for links, queues and the table of circuits.
fn answered(creations: &[Creation], keys: &OnionKeys, how: How) -> Vec<(RelayCircuit, RelayAction)> {
    let (mut circuits, jobs): (Vec<_>, Vec<_>) = creations.iter().map(Creation::circuit).unzip();
    if how == How::Together {
        let jobs: Vec<_> = jobs.iter().collect();
        HandshakeJob::run_many(&jobs, keys, |at, answer| circuits[at].answer(answer));
    } else {
        jobs.into_iter().zip(&mut circuits).for_each(|(job, circuit)| circuit.answer(job.run(keys)));
    }
    circuits.into_iter().filter_map(|mut circuit| circuit.poll().map(|action| (circuit, action))).collect()
}

impl<H> Relay<H>
where
    H: RelayWith + Clone + Send + Sync + 'static,
    H::RelaySecret: Send + Sync,
    H::Client: Send + 'static,
{
    /// What a witness calls an onionskin: ntor's has no MAC, so a relay answers whatever its end is.
    fn onionskin(&self) -> &'static str {
        if self.kind == Kind::Ntor { "unsigned onionskin" } else { "onionskin" }
    }

    /// Clients ask, the relay answers, and each client must have its hop.
    fn make_ready(&mut self, seed: u64) -> Result<Witness, Failed> {
        let secrets = RelaySecrets::new(seed, self.kind);
        let relay = self.handshake.relay_with(&secrets)?;
        let options = match H::CARRIES_MESSAGES {
            true => HopOptions::default(),
            false => HopOptions { crypto: Crypto::Tor1, fragments: false, upgrade: false },
        };
        let mut clients = Vec::new();
        for _ in 0..self.how.count() {
            let mut client = ClientCircuit::new(Limits::default(), true);
            client.create(&self.handshake, self.handshake.public(&relay), options, Instant::now())?;
            let creation = match client.poll() {
                Some(ClientAction::Send(Message::Create2(create))) => Creation { create, is_wide: false },
                Some(ClientAction::Send(Message::Create2v(create))) => Creation { create, is_wide: true },
                other => return Err(Failed::because(&format!("the client sends no CREATE2 but {other:?}"))),
            };
            self.creations.push(creation);
            clients.push(client);
        }
        self.keys = OnionKeys::default().with(self.handshake.clone(), vec![relay])?;
        for ((_, action), client) in answered(&self.creations, &self.keys, self.how).into_iter().zip(&mut clients) {
            let RelayAction::ToClient(created) = action else { return Err(Failed::because("no reply to CREATE2")) };
            client.receive(created, Instant::now());
            match client.poll() {
                Some(ClientAction::Extended { hop: 1 }) => {}
                other => {
                    return Err(Failed::because(&format!("the client does not take the reply but says {other:?}")));
                }
            }
        }
        Ok(Witness::default().with(self.onionskin(), self.creations[0].create.onionskin()))
    }
}

impl<H> Subject for Relay<H>
where
    H: RelayWith + Clone + Send + Sync + 'static,
    H::RelaySecret: Send + Sync,
    H::Client: Send + 'static,
{
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.creations.clear();
        self.make_ready(seed).map_err(Refusal::failed)
    }

    /// All have the keys of one relay, so each answers the others' clients.
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let kind =
            self.creations.first().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?.create.kind();
        let create = Create2::new(kind, other.part(self.onionskin())?.to_vec())
            .map_err(|error| Mismatch::new(error.to_string()))?;
        let (_, job) = RelayCircuit::create_wide(create, Limits::default());
        job.run(&self.keys).map(|_| ()).map_err(|error| Mismatch::new(error.to_string()))
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let replies = black_box(answered(black_box(&self.creations), &self.keys, self.how));
            assert!(replies.len() == self.creations.len(), "the relay has answered them before");
        }
    }

    fn provenance(&self) -> Provenance {
        let timed = format!(
            "{}: RelayCircuit::create, the handshake, the layer's keys and the reply; one thread that waits for nothing, so that its time is \
             CPU time; no links, queues or table of circuits",
            self.how.timed()
        );
        said_of(&timed, self.provenance.clone()).with(self.how.habit())
    }
}
