//! The subjects: one operation by one library, checked against the reference.

use super::sizes::Sizes;
use super::{Failed, Keys, Library, Op, Suite};
use crate::ours;
use candor_lab::{Entry, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};
use std::hint::black_box;

/// The entry of a library. `open` makes it with the server's keys; `reference` is ours of the same wire format.
pub(crate) fn entry<L: Library, R: Library>(
    subject: impl Into<String>,
    suite: Suite,
    op: Op,
    open: fn(&Keys) -> Result<L, Failed>,
    reference: fn(&Keys) -> Result<R, Failed>,
) -> Entry {
    Entry::new(subject, move || Ok(Work { suite, op, open, reference, ready: None, witness: Witness::default() }))
}

struct Work<L: Library, R> {
    suite: Suite,
    op: Op,
    open: fn(&Keys) -> Result<L, Failed>,
    reference: fn(&Keys) -> Result<R, Failed>,
    ready: Option<Ready<L>>,
    witness: Witness,
}

/// Everything that stands before the clock starts.
struct Ready<L: Library> {
    library: L,
    record: Vec<u8>,
    /// A client's state after KE1, as bytes, and states made from it before the clock starts: each can finish once.
    saved: Vec<u8>,
    clients: Vec<L::Client>,
    ke1: Vec<u8>,
    ke2: Vec<u8>,
    sizes: Sizes,
}

/// A whole login; the export key if both sides have the same session key.
pub(super) fn log_in<C: Library, S: Library>(client: &C, server: &S, record: &[u8]) -> Result<[u8; 64], Failed> {
    let (waiting, ke1) = client.ke1()?;
    let (kept, ke2) = server.ke2(Some(record), &ke1)?;
    let done = client.ke3(waiting, &ke2)?;
    if server.finish(kept, &done.ke3)? != done.session_key {
        return Err("both sides finish, with different session keys".into());
    }
    Ok(done.export_key)
}

impl<L: Library, R: Library> Work<L, R> {
    fn make_ready(&self, seed: u64) -> Result<(Ready<L>, Witness), Failed> {
        let keys = Keys::of(seed);
        let (library, reference) = ((self.open)(&keys)?, (self.reference)(&keys)?);
        let upload = ours::opaque_upload(&keys, seed)?;
        let record = library.store(&upload)?;
        let with_client = log_in(&library, &reference, &reference.store(&upload)?)?;
        let with_server = log_in(&reference, &library, &record)?;
        // A registration of its own must be good for the reference as well.
        let own = reference.store(&register(&library)?)?;
        log_in(&reference, &reference, &own)?;

        let (client, ke1) = library.ke1()?;
        let (_, ke2) = library.ke2(Some(&record), &ke1)?;
        let saved = library.save(&client)?;
        let witness = Witness::default().with("export key as client", with_client);
        let witness = witness.with("export key given by its server", with_server);
        let sizes = Sizes::of(&library)?;
        sizes.check(self.suite)?;
        Ok((Ready { library, record, saved, clients: Vec::new(), ke1, ke2, sizes }, witness))
    }

    fn ready(&self) -> &Ready<L> {
        self.ready.as_ref().expect("prepared before it runs")
    }
}

fn register<L: Library>(library: &L) -> Result<Vec<u8>, Failed> {
    let (client, request) = library.registration_start()?;
    let response = library.registration_answer(&request)?;
    library.registration_finish(client, &response)
}

impl<L: Library, R: Library> Subject for Work<L, R> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let (ready, witness) = self.make_ready(seed).map_err(Refusal::failed)?;
        self.ready = Some(ready);
        self.witness = witness.clone();
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn restock(&mut self, iterations: u64) {
        if self.op == Op::ClientFinish {
            let Ready { library, saved, clients, .. } = self.ready.as_mut().expect("prepared before it runs");
            clients.clear();
            let restored = (0..iterations).map(|_| library.restore(saved).expect("it was just saved"));
            clients.extend(restored);
        }
    }

    fn run(&mut self, iterations: u64) {
        const WORKED: &str = "it worked when it was prepared";
        let Ready { library, record, clients, ke1, ke2, .. } = self.ready.as_mut().expect("prepared before it runs");
        for _ in 0..iterations {
            match self.op {
                Op::Register => drop(black_box(register(library).expect(WORKED))),
                Op::Login => drop(black_box(log_in(library, library, black_box(record)).expect(WORKED))),
                Op::ServerKe2 => {
                    black_box(library.ke2(Some(black_box(record)), black_box(ke1)).expect(WORKED));
                }
                Op::ClientStart => {
                    black_box(library.ke1().expect(WORKED));
                }
                Op::ClientFinish => {
                    let client = clients.pop().expect("as many as iterations");
                    black_box(library.ke3(black_box(client), black_box(ke2)).expect(WORKED));
                }
            }
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        match self.op {
            Op::Register => &["client-start", "server", "client-finish"],
            Op::Login => &["client-start", "server-ke2", "client-finish", "server-finish"],
            _ => &[],
        }
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        const WORKED: &str = "it worked when it was prepared";
        let Ready { library, record, .. } = self.ready();
        if self.op == Op::Register {
            let (client, request) = library.registration_start().expect(WORKED);
            lap();
            let response = library.registration_answer(&request).expect(WORKED);
            lap();
            black_box(library.registration_finish(client, &response).expect(WORKED));
        } else {
            let (client, ke1) = library.ke1().expect(WORKED);
            lap();
            let (server, ke2) = library.ke2(Some(record), &ke1).expect(WORKED);
            lap();
            let done = library.ke3(client, &ke2).expect(WORKED);
            lap();
            black_box(library.finish(server, &done.ke3).expect(WORKED));
        }
        lap();
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.ready().sizes.quantities(self.op)
    }

    fn provenance(&self) -> Provenance {
        let timed = self.op.timed();
        match &self.ready {
            Some(ready) => ready.library.provenance(timed),
            None => match (self.open)(&Keys::of(0)) {
                Ok(library) => library.provenance(timed),
                Err(_) => Provenance::of("unknown", "unknown", timed),
            },
        }
    }
}
