//! Handshakes, step by step, on back ends whose randomness is known. X25519 is dalek's and ML-KEM libcrux's, which both leave much behind when
//! they are used alone.

use super::anywhere;
use crate::case::{Case, Leaves};
use crate::probe::{Generator, Probe, step};
use candor_onion::Error;
use candor_onion::handshake::{
    Client, Handshake, Hybrid, HybridRelayPublic, Keys, NoStaticKem, Ntor, NtorV3, Replies, Request, StaticKem,
};
use candor_primitives::dh::dalek::X25519;
use candor_primitives::kem::{Kem, libcrux::MlKem768};
use candor_test_support::back_ends::{Draws, Twisted};

pub(super) fn cases() -> Vec<Case> {
    vec![
        anywhere("handshake/ntor", |probe, _| handshake(probe, |own| Ntor::new(dh(own)), [1; 20], |_| Vec::new()), &[]),
        anywhere(
            "handshake/ntor-v3",
            |probe, _| handshake(probe, |own| NtorV3::new(dh(own)), [1; 32], |_| Vec::new()),
            &[],
        ),
        anywhere(
            "handshake/hybrid-768",
            |probe, _| handshake(probe, |own| Hybrid::new(kem(own), dh(own), NoStaticKem), [1; 32], |_| Vec::new()),
            PADDING,
        ),
        anywhere(
            "handshake/hybrid-768-auth",
            |probe, _| handshake(probe, |own| Hybrid::new(kem(own), dh(own), StaticKem(kem(own))), [1; 32], static_key),
            PADDING,
        ),
    ]
}

const PADDING: &[Leaves] = &[
    Leaves { step: "answer many", stack: 14, heap: 24, names: &[], why: BESIDE_A_TAG },
    Leaves { step: "*", stack: 14, heap: 0, names: &[], why: BESIDE_A_TAG },
];
const BESIDE_A_TAG: &str = "bytes beside the tag of an enum that is moved, copied with whatever lay there before";

/// A back end whose randomness is known.
type Known<B> = Twisted<B, Draws<Generator>>;

fn dh(random: &Generator) -> Known<X25519> {
    Twisted::new(X25519, Draws(random.clone()))
}

fn kem(random: &Generator) -> Known<MlKem768> {
    Twisted::new(MlKem768, Draws(random.clone()))
}

/// `public` gives of the relay's public keys what no message holds.
fn handshake<H: Handshake>(
    probe: &mut Probe,
    make: fn(&Generator) -> H,
    identity: H::Identity,
    public: fn(&H::RelayPublic) -> Vec<u8>,
) {
    let handshake = make(&probe.generator("randomness"));
    let relay = step!(probe, "onion keys", [handshake: &H = &handshake, identity: H::Identity = identity], handshake.generate_relay(identity)).expect("a relay");
    probe.public(&public(handshake.public(&relay)));
    let message: &[u8] = if H::CARRIES_MESSAGES { b"extensions" } else { b"" };
    let (waiting, onionskin) = step!(probe, "start", [handshake: &H = &handshake, relay: &H::RelayPublic = handshake.public(&relay), message: &[u8] = message], {
        handshake.start(relay, message)
    }).expect("an onionskin");
    probe.public(&onionskin);
    let request = step!(probe, "accept", [handshake: &H = &handshake, relay: &H::RelaySecret = &relay, onionskin: &[u8] = &onionskin], {
        handshake.accept(std::slice::from_ref(relay), onionskin)
    }).expect("an onionskin");
    let (reply, theirs) =
        step!(probe, "respond", [request: H::Request = request, message: &[u8] = message], request.respond(message))
            .expect("a reply");
    probe.public(&reply);
    let answers = step!(probe, "answer many", [handshake: &H = &handshake, relay: &H::RelaySecret = &relay, onionskins: &[&[u8]] = &[&onionskin[..]; 3]], {
        let mut answers = Answers(onionskins.iter().map(|_| None).collect());
        handshake.answer_many(std::slice::from_ref(relay), onionskins, &mut answers);
        answers
    });
    answers.0.iter().for_each(|reply| probe.public(reply.as_ref().expect("a reply to each")));
    let established =
        step!(probe, "finish", [waiting: H::Client = waiting, reply: &[u8] = &reply], waiting.finish(reply))
            .expect("a good reply");
    let ours = step!(probe, "expand", [keys: &Keys = &established.keys], keys.expand(72)).expect("keys");
    assert!(ours == theirs.expand(72).expect("keys"), "the keys differ");
    let mut keys = Some(established.keys);
    step!(probe, "drop keys", [keys: &mut Option<Keys> = &mut keys], *keys = None);
    let mut relay = Some(relay);
    step!(probe, "drop onion keys", [relay: &mut Option<H::RelaySecret> = &mut relay], *relay = None);
}

/// Replies of a batch. Its keys are dropped.
struct Answers(Vec<Option<Vec<u8>>>);

impl Replies for Answers {
    fn message(&mut self, _: usize, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(message.to_vec())
    }

    fn answered(&mut self, at: usize, answer: Result<(Vec<u8>, Keys), Error>) {
        self.0[at] = answer.ok().map(|(reply, _)| reply);
    }
}

fn static_key(public: &HybridRelayPublic<StaticKem<Known<MlKem768>>>) -> Vec<u8> {
    let mut bytes = vec![0; MlKem768::PUBLIC];
    MlKem768.public_to_bytes(public.static_kem(), &mut bytes).expect("as long as a key");
    [&bytes[..], public.onion_key()].concat()
}
