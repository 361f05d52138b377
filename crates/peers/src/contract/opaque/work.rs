//! The subjects: one operation by one library, checked against the reference.

use super::reference::{Reference, log_in};
use super::sizes::Sizes;
use super::{Failed, Keys, Library, Op, Suite};
use candor_lab::{Entry, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};
use std::hint::black_box;

/// The entry of a library in the tasks of `suite`. Its messages are those of `wire`, which is another suite where no library has the same.
/// `open` makes it with the server's keys.
pub fn entry<L: Library>(
    subject: impl Into<String>,
    (suite, wire): (Suite, Suite),
    op: Op,
    open: fn(&Keys) -> Result<L, Failed>,
    reference: &'static dyn Reference,
) -> Entry {
    Entry::new(subject, move || Ok(Work { suite, wire, op, open, reference, ready: None, witness: Witness::default() }))
}

struct Work<L: Library> {
    suite: Suite,
    wire: Suite,
    op: Op,
    open: fn(&Keys) -> Result<L, Failed>,
    reference: &'static dyn Reference,
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

/// A whole registration of a library with itself: the upload. `lap` is called at the end of each phase.
#[inline(always)]
fn register<L: Library>(library: &L, mut lap: impl FnMut()) -> Result<Vec<u8>, Failed> {
    let (client, request) = library.registration_start()?;
    lap();
    let response = library.registration_answer(&request)?;
    lap();
    let upload = library.registration_finish(client, &response)?;
    lap();
    Ok(upload)
}

/// A whole login of a library with itself; the server's session key. `lap` as above.
#[inline(always)]
fn log_in_alone<L: Library>(library: &L, record: &[u8], mut lap: impl FnMut()) -> Result<[u8; 64], Failed> {
    let (client, ke1) = library.ke1()?;
    lap();
    let (server, ke2) = library.ke2(Some(record), &ke1)?;
    lap();
    let done = library.ke3(client, &ke2)?;
    lap();
    let session_key = library.finish(server, &done.ke3)?;
    if session_key != done.session_key {
        return Err("both sides finish, but with different session keys".into());
    }
    lap();
    Ok(session_key)
}

impl<L: Library> Work<L> {
    fn make_ready(&self, seed: u64) -> Result<(Ready<L>, Witness), Failed> {
        let keys = Keys::of(seed);
        let library = (self.open)(&keys)?;
        let reference = &*self.reference.open(self.wire, &keys)?;
        let upload = self.reference.upload(&keys, seed)?;
        let record = library.store(&upload)?;
        let with_client = log_in(&library, reference, &reference.store(&upload)?)?;
        let with_server = log_in(reference, &library, &record)?;
        // A registration of its own must be good for the reference as well.
        let own = reference.store(&register(&library, || ())?)?;
        log_in(reference, reference, &own)?;

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

impl<L: Library> Subject for Work<L> {
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
                Op::Register => drop(black_box(register(library, || ()).expect(WORKED))),
                Op::Login => {
                    black_box(log_in_alone(library, black_box(record), || ()).expect(WORKED));
                }
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
        match self.op {
            Op::Register => drop(black_box(register(library, lap).expect(WORKED))),
            _ => drop(black_box(log_in_alone(library, record, lap).expect(WORKED))),
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.ready().sizes.quantities(self.op)
    }

    fn provenance(&self) -> Provenance {
        match &self.ready {
            Some(ready) => ready.library.provenance(self.op),
            None => match (self.open)(&Keys::of(0)) {
                Ok(library) => library.provenance(self.op),
                Err(_) => Provenance::of("unknown", "unknown", self.op.timed()),
            },
        }
    }
}
