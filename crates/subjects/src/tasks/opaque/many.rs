//! `opaque/hybrid/server-ke2-many`: what a server gains that has eight logins at hand.

use crate::ours;
use candor_lab::{Entry, Habit, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::opaque::{Keys, Library};
use std::hint::black_box;

/// As many as the ML-KEM of one pass takes side by side.
const LOGINS: usize = 8;

pub(super) fn task() -> Task {
    let what = format!(
        "OPAQUE, suite hybrid: the server's answers to {LOGINS} KE1 of users that exist, in one pass or one by one; times are those of all {LOGINS}"
    );
    let mut task = Task::new("opaque/hybrid/server-ke2-many", what);
    for (name, in_one_pass) in [("candor@auto", true), ("candor@auto+one-by-one", false)] {
        task.entries.push(Entry::new(name, move || Ok(Answers { in_one_pass, ready: None })));
    }
    task
}

struct Answers {
    in_one_pass: bool,
    ready: Option<Ready>,
}

struct Ready {
    library: ours::HybridOpaque,
    record: Vec<u8>,
    ke1s: Vec<Vec<u8>>,
}

impl Ready {
    /// A server's state and KE2 for each.
    fn answers(&self, in_one_pass: bool) -> Result<Vec<ours::HybridAnswer>, String> {
        match in_one_pass {
            true => self.library.ke2_many(black_box(&self.record), black_box(&self.ke1s)),
            false => {
                self.ke1s.iter().map(|ke1| self.library.ke2(Some(black_box(&self.record)), black_box(ke1))).collect()
            }
        }
    }
}

impl Answers {
    /// Eight clients begin, the server answers, and each login must end with one session key.
    fn make_ready(&mut self, seed: u64) -> Result<Witness, String> {
        let keys = Keys::of(seed);
        let library = ours::hybrid_opaque(&keys)?;
        let record = library.store(&ours::upload(&keys, seed)?)?;
        let (clients, ke1s): (Vec<_>, Vec<_>) =
            (0..LOGINS).map(|_| library.ke1()).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let ready = self.ready.insert(Ready { library, record, ke1s });
        let answers = ready.answers(self.in_one_pass)?;
        let mut witness = Witness::default();
        for (client, (server, ke2)) in clients.into_iter().zip(answers) {
            // Random, all of it: what the subjects have in common is the length.
            witness = Witness::default().with("length of KE2", (ke2.len() as u64).to_le_bytes());
            let done = ready.library.ke3(client, &ke2)?;
            if ready.library.finish(server, &done.ke3)? != done.session_key {
                return Err("client and server have different session keys".to_owned());
            }
        }
        Ok(witness)
    }
}

impl Subject for Answers {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.make_ready(seed).map_err(Refusal::failed)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        Witness::default().with("length of KE2", 1408u64.to_le_bytes()).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_ref().expect("prepared before it runs");
        for _ in 0..iterations {
            let answers = black_box(ready.answers(self.in_one_pass).expect("it worked when it was prepared"));
            assert!(answers.len() == LOGINS, "the server has answered them before");
        }
    }

    fn provenance(&self) -> Provenance {
        let how = match self.in_one_pass {
            true => (Habit::Batches, "as one batch"),
            false => (Habit::OneAfterAnother, "one after another"),
        };
        let timed = format!("the server's answers to {LOGINS} KE1: records and KE1 in as bytes, KE2 out as bytes");
        ours::opaque_provenance(&timed).telling([how, BY_SYSTEM_CALL])
    }
}
