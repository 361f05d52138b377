//! The subject of `ntor/<handshake>/handshake`.

use super::judge::{check, witness};
use super::{EXTEND2, EXTENDED2, Failed, Kind, RelaySecrets, Scheme, cells};
use candor_lab::{Entry, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};
use std::hint::black_box;

/// The entry of an implementation of `kind`. `make` opens it, or says why it can't be had.
pub fn entry<S: Scheme>(
    subject: impl Into<String>,
    kind: Kind,
    make: impl Fn() -> Result<S, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Whole { scheme: make()?, kind, seed: 0, relay: None, sizes: Vec::new() }))
}

/// A whole handshake, both sides.
struct Whole<S: Scheme> {
    scheme: S,
    kind: Kind,
    seed: u64,
    relay: Option<S::Relay>,
    sizes: Vec<Quantity>,
}

/// How long both messages of a handshake are, and how many cells they fill on their way through a circuit.
fn sizes(witness: &Witness) -> Result<Vec<Quantity>, Mismatch> {
    let (onionskin, reply) = (witness.part("onionskin")?, witness.part("reply")?);
    Ok(vec![
        Quantity::bytes("onionskin", onionskin),
        Quantity::bytes("reply", reply),
        Quantity::count("EXTEND2", cells(EXTEND2 + onionskin.len()), "cells"),
        Quantity::count("EXTENDED2", cells(EXTENDED2 + reply.len()), "cells"),
    ])
}

/// One handshake. `lap` is called at the end of each phase, after the phase's garbage is gone.
#[inline(always)]
fn handshake<S: Scheme>(scheme: &S, relay: &S::Relay, mut lap: impl FnMut()) -> Result<(S::Keys, S::Keys), Failed> {
    let (waiting, onionskin) = scheme.start(black_box(relay))?;
    lap();
    let (reply, theirs) = scheme.answer(black_box(relay), black_box(&onionskin))?;
    lap();
    let ours = scheme.finish(waiting, black_box(&reply))?;
    drop((onionskin, reply));
    lap();
    Ok((ours, theirs))
}

impl<S: Scheme> Subject for Whole<S> {
    /// One handshake with itself, whose keys must agree; then one each way with the judge, for the others to check.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        let relay = self.scheme.relay(&RelaySecrets::new(seed, self.kind)).map_err(Refusal::failed)?;
        let (ours, theirs) = handshake(&self.scheme, &relay, || ()).map_err(Refusal::failed)?;
        if ours.as_ref() != theirs.as_ref() {
            return Err(Refusal::failed("client and relay end with different keys"));
        }
        let witness = witness(&self.scheme, &relay, self.kind, seed).map_err(Refusal::failed)?;
        self.sizes = sizes(&witness).map_err(|missing| Refusal::failed(missing.to_string()))?;
        self.relay = Some(relay);
        Ok(witness)
    }

    /// The judge checks both directions; where the other does the same handshake, this relay must take its onionskin
    /// as well.
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        check(self.kind, self.seed, other)?;
        if other.part("scheme")? != self.kind.name().as_bytes() {
            return Ok(());
        }
        let relay = self.relay.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        let answered = self.scheme.answer(relay, other.part("onionskin")?);
        answered.map(|_| ()).map_err(Mismatch::new)
    }

    fn run(&mut self, iterations: u64) {
        let relay = self.relay.as_ref().expect("prepare comes before run");
        for _ in 0..iterations {
            black_box(handshake(&self.scheme, relay, || ()).expect("the handshake has worked before"));
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        &["client-start", "server", "client-finish"]
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let relay = self.relay.as_ref().expect("prepare comes before run");
        black_box(handshake(&self.scheme, relay, lap).expect("the handshake has worked before"));
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.sizes.clone()
    }

    fn provenance(&self) -> Provenance {
        self.scheme.provenance(&self.kind.timed())
    }
}
