//! An experiment: the hybrid handshake with code-based KEMs. HQC takes ML-KEM's place, or the relay has a static key of Classic McEliece.
//!
//! None of these is a handshake that candor offers. Their subjects check themselves: both sides must end with the same keys, and a reply with a
//! wrong bit must be refused. No second implementation exists to be asked.

use super::{AUTO, ours};
use candor_codes::hqc::{Hqc1, Hqc3};
use candor_codes::mceliece::{Mceliece348864f, Mceliece6960119f};
use candor_lab::{Entry, Habit, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};
use candor_onion::handshake::{Client, Handshake, Hybrid, NoStaticKem, Request, StaticKem};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::ntor::{EXTEND2, EXTENDED2, cells};
use candor_primitives::SharedSecret;
use candor_primitives::dh::aws_lc::X25519;
use candor_primitives::kem::aws_lc::MlKem768;
use candor_primitives::kem::{Kem, KemError};
use std::hint::black_box;
use std::slice::from_ref;
use zeroize::Zeroizing;

/// What the timed call of each does.
pub(crate) const TIMED: &str = "a whole handshake: the client starts, the relay accepts and answers, the client finishes; 72 bytes of keys on both sides; the relay's keys \
                                are parsed before";

/// Bytes of keys that each side expands.
const KEYS: usize = 72;

/// All of them; candor's own hybrid with ML-KEM-768 first.
pub(crate) fn entries() -> Vec<Entry> {
    let dh = X25519;
    vec![
        entry(AUTO, "hybrid-768 as candor offers it: X25519 and ML-KEM-768", move || {
            Hybrid::new(MlKem768, dh, NoStaticKem)
        }),
        entry("candor+hqc-1@auto", "HQC-1 in place of ML-KEM", move || Hybrid::new(Hqc1::new(), dh, NoStaticKem)),
        entry("candor+hqc-3@auto", "HQC-3 in place of ML-KEM", move || Hybrid::new(Hqc3::new(), dh, NoStaticKem)),
        entry(
            "candor+mceliece348864f@auto",
            "no ephemeral KEM, and a static mceliece348864f key of the relay: against a quantum computer no forward secrecy",
            move || Hybrid::new(NoKem, dh, StaticKem(Mceliece348864f::new())),
        ),
        entry(
            "candor+mceliece6960119f@auto",
            "no ephemeral KEM, and a static mceliece6960119f key of the relay: against a quantum computer no forward secrecy",
            move || Hybrid::new(NoKem, dh, StaticKem(Mceliece6960119f::new())),
        ),
        entry(
            "candor+ml-kem-768+mceliece6960119f@auto",
            "ML-KEM-768 stays ephemeral, and the relay has a static mceliece6960119f key",
            move || Hybrid::new(MlKem768, dh, StaticKem(Mceliece6960119f::new())),
        ),
    ]
}

fn entry<H>(subject: &str, what: &'static str, handshake: impl Fn() -> H + Send + Sync + 'static) -> Entry
where
    H: Handshake<Identity = [u8; 32]> + 'static,
{
    // AWS-LC has a generator of its own; our code-based KEMs ask the system.
    let draws = (subject != AUTO).then_some(BY_SYSTEM_CALL);
    Entry::new(subject, move || Ok(Whole { handshake: handshake(), what, draws, relay: None, sizes: Vec::new() }))
}

struct Whole<H: Handshake> {
    handshake: H,
    what: &'static str,
    draws: Option<(Habit, &'static str)>,
    relay: Option<H::RelaySecret>,
    sizes: Vec<Quantity>,
}

/// What one handshake ended with.
struct Ended {
    onionskin: usize,
    reply: usize,
    client: [u8; KEYS],
    relay: [u8; KEYS],
}

impl<H: Handshake<Identity = [u8; 32]>> Whole<H> {
    /// One handshake. `lap` is called at the end of each phase.
    fn handshake(&self, mut lap: impl FnMut()) -> Result<Ended, candor_onion::Error> {
        let relay = self.relay.as_ref().expect("prepare comes before run");
        let (waiting, onionskin) = self.handshake.start(black_box(self.handshake.public(relay)), b"")?;
        lap();
        let (reply, stream) = self.handshake.accept(from_ref(black_box(relay)), black_box(&onionskin))?.respond(b"")?;
        let (mut theirs, mut ours) = ([0; KEYS], [0; KEYS]);
        stream.expand_into(&mut theirs)?;
        lap();
        waiting.finish(black_box(&reply))?.keys.expand_into(&mut ours)?;
        lap();
        Ok(Ended { onionskin: onionskin.len(), reply: reply.len(), client: ours, relay: theirs })
    }

    /// Whether a client takes a reply with a wrong bit.
    fn takes_a_damaged_reply(&self) -> Result<bool, candor_onion::Error> {
        let relay = self.relay.as_ref().expect("prepare comes before run");
        let (waiting, onionskin) = self.handshake.start(self.handshake.public(relay), b"")?;
        let (mut reply, _) = self.handshake.accept(from_ref(relay), &onionskin)?.respond(b"")?;
        let middle = reply.len() / 2;
        reply[middle] ^= 1;
        Ok(waiting.finish(&reply).is_ok())
    }
}

impl<H: Handshake<Identity = [u8; 32]>> Subject for Whole<H> {
    fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
        let failed = |error: candor_onion::Error| Refusal::failed(error.to_string());
        self.relay = Some(self.handshake.generate_relay([7; 32]).map_err(failed)?);
        let ended = self.handshake(|| ()).map_err(failed)?;
        if self.takes_a_damaged_reply().map_err(failed)? {
            return Err(Refusal::failed("takes a reply with a wrong bit"));
        }
        self.sizes = vec![
            Quantity::count("onionskin", ended.onionskin, "bytes"),
            Quantity::count("reply", ended.reply, "bytes"),
            Quantity::count("EXTEND2", cells(EXTEND2 + ended.onionskin), "cells"),
            Quantity::count("EXTENDED2", cells(EXTENDED2 + ended.reply), "cells"),
        ];
        Ok(Witness::default().with("client's keys", ended.client).with("relay's keys", ended.relay))
    }

    /// Both sides of the other's handshake must have the same keys; there is nothing else to compare.
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        match other.part("client's keys")? == other.part("relay's keys")? {
            true => Ok(()),
            false => Err(Mismatch::new("client and relay end with different keys")),
        }
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let ended = self.handshake(|| ()).expect("the handshake has worked before");
            black_box((ended.client, ended.relay));
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        &["client-start", "server", "client-finish"]
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let ended = self.handshake(lap).expect("the handshake has worked before");
        black_box((ended.client, ended.relay));
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.sizes.clone()
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            arm: Some("code-based KEMs: the widest that this CPU has; ML-KEM and X25519: chosen by AWS-LC".into()),
            different_operation: Some(format!("each row is another handshake, this one {}", self.what)),
            ..ours(&format!("{TIMED}; {}", self.what)).telling(self.draws)
        }
    }
}

/// No ephemeral KEM: its keys, ciphertexts and secret are nothing, so that X25519 and the static key are left.
#[derive(Clone)]
struct NoKem;

impl Kem for NoKem {
    type Secret = ();
    type Public = ();

    const NAME: &'static str = "none";
    const PUBLIC: usize = 0;
    const SECRET: usize = 0;
    const CIPHERTEXT: usize = 0;

    fn generate(&self) -> Result<((), ()), KemError> {
        Ok(((), ()))
    }

    fn public_from_bytes(&self, _: &[u8]) -> Result<(), KemError> {
        Ok(())
    }

    fn public_to_bytes(&self, (): &(), _: &mut [u8]) -> Result<(), KemError> {
        Ok(())
    }

    fn secret_from_bytes(&self, _: &[u8]) -> Result<(), KemError> {
        Ok(())
    }

    fn secret_to_bytes(&self, (): &()) -> Result<Zeroizing<Vec<u8>>, KemError> {
        Ok(Zeroizing::default())
    }

    fn encapsulate(&self, (): &(), _: &mut [u8]) -> Result<SharedSecret, KemError> {
        Ok([0; 32].into())
    }

    fn decapsulate(&self, (): &(), _: &[u8]) -> Result<SharedSecret, KemError> {
        Ok([0; 32].into())
    }
}
