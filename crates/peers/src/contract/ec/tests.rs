//! The witnesses refuse what they must: an honest library judges forged ones, and its honest twin.

use super::{Curve, Ec, Failed, INPUTS, Input, Op, entry, reference};
use crate::seed::Stream;
use candor_lab::{Mismatch, Provenance, Refusal, Subject, Witness};
use std::cell::Cell;

const SEED: u64 = 20261125;

/// What is wrong with a library.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Nothing,
    /// Signs with another key.
    WrongSignature,
    /// Signs another digest.
    OtherDigest,
    /// Verifies without looking at the digest.
    AcceptsAny,
    /// Verifies nothing.
    AcceptsNone,
    /// Agrees with another secret.
    WrongSecret,
    /// Gives an x coordinate with one bit wrong.
    WrongBit,
    /// Makes a public key that is not the secret key's.
    OtherPublicKey,
    /// Gives a public key that is no point.
    NoPoint,
}

const FAULTS: [(Fault, Op); 8] = [
    (Fault::WrongSignature, Op::Sign),
    (Fault::OtherDigest, Op::Sign),
    (Fault::AcceptsAny, Op::Verify),
    (Fault::AcceptsNone, Op::Verify),
    (Fault::WrongSecret, Op::Ecdh),
    (Fault::WrongBit, Op::Ecdh),
    (Fault::OtherPublicKey, Op::Keygen),
    (Fault::NoPoint, Op::Keygen),
];

/// A library made of the reference, which agrees any number of times or, if so declared, once.
struct Library<const ONCE: bool> {
    curve: Curve,
    fault: Fault,
    made: Cell<u64>,
}

impl<const ONCE: bool> Library<ONCE> {
    fn pair(&self) -> reference::Pair {
        self.made.set(self.made.get() + 1);
        reference::Pair::new(self.curve, &mut Stream::new(self.made.get(), "a fresh key"))
    }
}

impl<const ONCE: bool> Ec for Library<ONCE> {
    type Pair = reference::Pair;
    type Encoded = Vec<u8>;
    type Secret = reference::Pair;
    type Public = Vec<u8>;
    type Signature = Vec<u8>;
    type Shared = Vec<u8>;

    const AGREES_ONCE: bool = ONCE;

    fn keygen(&self) -> Result<(reference::Pair, Vec<u8>), Failed> {
        let pair = self.pair();
        let mut public = if self.fault == Fault::OtherPublicKey { self.pair().public } else { pair.public.clone() };
        if self.fault == Fault::NoPoint {
            *public.last_mut().unwrap() ^= 1;
        }
        Ok((pair, public))
    }

    fn ecdh_fresh(&self, pair: reference::Pair, peer: &Vec<u8>) -> Result<Vec<u8>, Failed> {
        pair.agree(peer)
    }

    fn secret(&self, secret: &[u8], _: &[u8]) -> Result<reference::Pair, Failed> {
        Ok(reference::Pair::of(self.curve, secret.to_vec()))
    }

    fn public(&self, public: &[u8]) -> Result<Vec<u8>, Failed> {
        Ok(public.to_vec())
    }

    fn sign(&self, secret: &reference::Pair, input: &Input) -> Result<Vec<u8>, Failed> {
        let other = self.curve.digest(b"another message");
        Ok(match self.fault {
            Fault::WrongSignature => self.pair().sign(&input.digest),
            Fault::OtherDigest => secret.sign(&other),
            _ => secret.sign(&input.digest),
        })
    }

    fn verify(&self, public: &Vec<u8>, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        match self.fault {
            Fault::AcceptsAny => Ok(()),
            Fault::AcceptsNone => Err("is never right"),
            _ => reference::verify(self.curve, public, &input.digest, signature),
        }
    }

    fn ecdh(&self, secret: &reference::Pair, peer: &Vec<u8>) -> Result<Vec<u8>, Failed> {
        if ONCE {
            return Err("agrees once");
        }
        match self.fault {
            Fault::WrongSecret => self.pair().agree(peer),
            Fault::WrongBit => secret.agree(peer).map(|mut shared| {
                *shared.last_mut().unwrap() ^= 1;
                shared
            }),
            _ => secret.agree(peer),
        }
    }

    fn provenance(&self, op: Op) -> Provenance {
        Provenance::of("a test", "0", op.timed())
    }
}

fn library<const ONCE: bool>(curve: Curve, op: Op, fault: Fault) -> Box<dyn Subject> {
    let make = move || Ok(Library::<ONCE> { curve, fault, made: Cell::new(0) });
    entry("a test", curve, op, make).make().expect("made of the reference")
}

/// What an honest library says of one with a fault: its refusal to answer, or the verdict on its answers.
fn judged<const ONCE: bool>(curve: Curve, op: Op, fault: Fault) -> Result<Result<(), Mismatch>, Refusal> {
    let mut judge = library::<ONCE>(curve, op, Fault::Nothing);
    judge.prepare(SEED).expect("an honest library answers");
    let witness = library::<false>(curve, op, fault).prepare(SEED)?;
    Ok(judge.check(&witness))
}

#[test]
fn honest_libraries_accept_each_other_and_run() {
    for curve in Curve::ALL {
        for (_, op) in Op::ALL {
            assert!(judged::<false>(curve, op, Fault::Nothing).unwrap().is_ok(), "{curve:?} {op:?}");
            let mut subject = library::<false>(curve, op, Fault::Nothing);
            subject.prepare(SEED).unwrap();
            subject.run(INPUTS as u64 + 1);
        }
        assert!(judged::<true>(curve, Op::Keygen, Fault::Nothing).unwrap().is_ok(), "{curve:?}");
    }
}

#[test]
fn forged_answers_are_refused() {
    for curve in Curve::ALL {
        for (fault, op) in FAULTS {
            let place = format!("{curve:?} {op:?}, fault {}", fault as u8);
            match judged::<false>(curve, op, fault) {
                Ok(verdict) => assert!(verdict.is_err(), "{place}"),
                Err(refusal) => assert!(op == Op::Verify, "{place}: {refusal}"),
            }
        }
        for fault in [Fault::OtherPublicKey, Fault::NoPoint] {
            assert!(judged::<true>(curve, Op::Keygen, fault).unwrap().is_err(), "{curve:?}, by the reference");
        }
    }
}

#[test]
fn whoever_accepts_a_signature_of_another_digest_gets_no_witness() {
    for curve in Curve::ALL {
        let refusal = judged::<false>(curve, Op::Verify, Fault::AcceptsAny).unwrap_err();
        assert_eq!(refusal.to_string(), "accepts a signature of another digest", "{curve:?}");
    }
}

#[test]
fn an_answer_that_is_missing_is_refused() {
    for (_, op) in Op::ALL {
        let mut judge = library::<false>(Curve::P256, op, Fault::Nothing);
        let whole = judge.prepare(SEED).unwrap();
        assert!(judge.check(&whole).is_ok(), "{op:?}");
        let without_first = whole
            .names()
            .skip(1)
            .fold(Witness::default(), |witness, name| witness.with(name, whole.part(name).unwrap()));
        assert!(judge.check(&without_first).is_err(), "{op:?}");
    }
}

#[test]
fn digests_are_as_long_as_the_order_and_hashes_of_the_message() {
    for curve in Curve::ALL {
        assert_eq!(curve.digest(b"abc").len(), curve.bytes());
    }
    // FIPS 180-4, the examples of SHA-256 and SHA-384.
    assert_eq!(Curve::Secp256k1.digest(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    assert_eq!(Curve::P384.digest(b"abc")[..4], [0xcb, 0x00, 0x75, 0x3f]);
}
