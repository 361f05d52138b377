//! Several onionskins in one pass: each gets what it would get alone.

use candor_onion::Error;
use candor_onion::handshake::{
    Client, Handshake, Hybrid, Keys, NoStaticKem, Ntor, NtorV3, Replies, Request, StaticKem,
};
use candor_primitives::dh::{DhError, x25519::X25519};
use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
use candor_primitives::kem::{Kem, KemError};
use candor_test_support::Random;
use candor_test_support::back_ends::{Draws, Refuses, Script, SendsCoefficient, SendsPoint, Twisted};
use handshakes::{identity, keys, message};
use std::slice::from_ref;

#[macro_use]
mod handshakes;

/// What came of an onionskin: the reply and 72 bytes of keys, or why there is none.
type Answer = Result<(Vec<u8>, Vec<u8>), Error>;

/// A relay's answers to a batch. Its extension message repeats the client's.
#[derive(Default)]
struct Answers {
    answers: Vec<Option<Answer>>,
    carries_messages: bool,
}

impl Replies for Answers {
    fn message(&mut self, at: usize, message: &[u8]) -> Result<Vec<u8>, Error> {
        assert!(self.answers[at].is_none(), "a message is asked for after the answer");
        reply_to(message, self.carries_messages)
    }

    fn answered(&mut self, at: usize, answer: Result<(Vec<u8>, Keys), Error>) {
        let answer = answer.map(|(reply, made)| (reply, keys(&made)));
        assert!(self.answers[at].replace(answer).is_none(), "onionskin {at} is answered twice");
    }
}

/// A client that asks for too much is refused.
fn reply_to(message: &[u8], carries_messages: bool) -> Result<Vec<u8>, Error> {
    match message {
        b"too much" => Err(Error::NoNumber),
        _ if carries_messages => Ok([b"re: ", message].concat()),
        _ => Ok(Vec::new()),
    }
}

fn together<H: Handshake>(handshake: &H, relays: &[H::RelaySecret], onionskins: &[Vec<u8>]) -> Vec<Answer> {
    let onionskins: Vec<_> = onionskins.iter().map(Vec::as_slice).collect();
    let mut answers = Answers { carries_messages: H::CARRIES_MESSAGES, ..Answers::default() };
    answers.answers.resize_with(onionskins.len(), || None);
    handshake.answer_many(relays, &onionskins, &mut answers);
    answers.answers.into_iter().map(|answer| answer.expect("each is answered")).collect()
}

fn one_by_one<H: Handshake>(handshake: &H, relays: &[H::RelaySecret], onionskins: &[Vec<u8>]) -> Vec<Answer> {
    let alone = |onionskin: &Vec<u8>| {
        let request = handshake.accept(relays, onionskin)?;
        let message = reply_to(request.message(), H::CARRIES_MESSAGES)?;
        request.respond(&message).map(|(reply, made)| (reply, keys(&made)))
    };
    onionskins.iter().map(alone).collect()
}

type KnownDh = Twisted<X25519, Draws<Script>>;
type KnownKem<K> = Twisted<K, Draws<Script>>;

/// Randomness for a test, the same each time.
fn random(seed: u64) -> Draws<Script> {
    Draws(Script::of([&Random::new(seed).bytes(16 << 10)]))
}

fn dh() -> KnownDh {
    Twisted::new(X25519::new(), random(1))
}

/// Calls `$check` with what makes each handshake on our own back ends and known randomness.
macro_rules! every_known_handshake {
    ($check:ident) => {{
        $check(|| Ntor::new(dh()));
        $check(|| NtorV3::new(dh()));
        every_known_handshake!($check, MlKem512);
        every_known_handshake!($check, MlKem768);
        every_known_handshake!($check, MlKem1024);
    }};
    ($check:ident, $kem:ident) => {{
        let kem = |seed| KnownKem::<$kem>::new($kem::default(), random(seed));
        $check(|| Hybrid::new(kem(2), dh(), NoStaticKem));
        $check(|| Hybrid::new(kem(2), dh(), StaticKem(kem(3))));
    }};
}

type Begun<H> = (H, <H as Handshake>::RelaySecret, Vec<<H as Handshake>::Client>, Vec<Vec<u8>>);

/// The handshake, its relay, and so many clients with their onionskins; the same each time.
fn begin<H: Handshake>(make: impl Fn() -> H, count: usize) -> Begun<H> {
    let handshake = make();
    let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
    let client =
        |at| handshake.start(handshake.public(&relay), message::<H>(&b"the client's extensions"[at..])).unwrap();
    let (clients, onionskins) = (0..count).map(client).unzip();
    (handshake, relay, clients, onionskins)
}

fn any_number_together<H: Handshake>(make: impl Fn() -> H) {
    for count in 0..=17 {
        let (handshake, relay, _, onionskins) = begin(&make, count);
        let alone = one_by_one(&handshake, from_ref(&relay), &onionskins);
        let (handshake, relay, clients, onionskins) = begin(&make, count);
        let answers = together(&handshake, from_ref(&relay), &onionskins);
        assert_eq!(answers, alone, "{}: {count} onionskins", handshake.name());
        for (client, answer) in clients.into_iter().zip(answers) {
            let (reply, relays_keys) = answer.unwrap();
            assert_eq!(keys(&client.finish(&reply).unwrap().keys), relays_keys);
        }
    }
}

#[test]
fn any_number_of_onionskins_is_answered_as_one_by_one() {
    every_known_handshake!(any_number_together);
}

/// What can be wrong with an onionskin wherever it comes from.
fn spoil<H: Handshake>(kind: usize, onionskin: &mut Vec<u8>) {
    match kind {
        0 => onionskin.truncate(H::ONIONSKIN - 1),
        1 => onionskin[3] ^= 1,
        // X, which in all of them follows what names the relay: a point of small order.
        2 => onionskin[x_at::<H>()..][..32].fill(0),
        // The MAC; without one, another X.
        _ if H::CARRIES_MESSAGES => *onionskin.last_mut().unwrap() ^= 1,
        _ => onionskin[x_at::<H>()] ^= 1,
    }
}

fn x_at<H: Handshake>() -> usize {
    H::Identity::default().as_ref().len() + if H::ONIONSKIN > 1000 { 0 } else { 32 }
}

fn bad_ones_alone<H: Handshake>(make: impl Fn() -> H) {
    for (count, bad) in [(2, vec![0]), (8, vec![3]), (9, vec![0, 8]), (8, vec![1, 2, 5, 6]), (3, vec![0, 1, 2])] {
        for kind in 0..4 {
            let spoilt = |mut onionskins: Vec<Vec<u8>>| {
                bad.iter().for_each(|at| spoil::<H>(kind, &mut onionskins[*at]));
                onionskins
            };
            let (handshake, relay, _, onionskins) = begin(&make, count);
            let alone = one_by_one(&handshake, from_ref(&relay), &spoilt(onionskins));
            let (handshake, relay, clients, onionskins) = begin(&make, count);
            let answers = together(&handshake, from_ref(&relay), &spoilt(onionskins));
            assert_eq!(answers, alone, "{}: {bad:?} of {count} spoilt in way {kind}", handshake.name());
            for (at, (client, answer)) in clients.into_iter().zip(answers).enumerate() {
                let finished = answer.and_then(|(reply, theirs)| Ok((keys(&client.finish(&reply)?.keys), theirs)));
                assert_eq!(finished.as_ref().is_err(), bad.contains(&at), "{}: {at}", handshake.name());
                assert!(finished.is_err() || finished.is_ok_and(|(ours, theirs)| ours == theirs));
            }
        }
    }
}

#[test]
fn a_bad_onionskin_fails_alone() {
    every_known_handshake!(bad_ones_alone);
}

#[test]
fn a_client_whose_extensions_or_keys_are_refused_fails_alone() {
    let handshake = Hybrid::new(MlKem768::default(), X25519::new(), NoStaticKem);
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let known = handshake.public(&relay);
    let good = || handshake.start(known, b"").unwrap();
    let unreduced = SendsCoefficient { at: 0, bytes: [0xff; 3] };
    let bad_key = Hybrid::new(Twisted::new(MlKem768::default(), unreduced), X25519::new(), NoStaticKem);
    let small_order = Hybrid::new(MlKem768::default(), Twisted::new(X25519::new(), SendsPoint([0; 32])), NoStaticKem);
    let (clients, mut onionskins): (Vec<_>, Vec<_>) = [good(), good(), good()].into_iter().unzip();
    onionskins.insert(1, bad_key.start(known, b"").unwrap().1);
    onionskins.insert(2, small_order.start(known, b"").unwrap().1);
    onionskins.insert(3, handshake.start(known, b"too much").unwrap().1);
    let answers = together(&handshake, from_ref(&relay), &onionskins);
    assert_eq!(answers[1], Err(Error::Kem(KemError::PublicKey)));
    assert_eq!(answers[2], Err(Error::Dh(DhError::NonContributory)));
    assert_eq!(answers[3], Err(Error::NoNumber));
    for (client, at) in clients.into_iter().zip([0, 4, 5]) {
        let (reply, theirs) = answers[at].as_ref().unwrap();
        let established = client.finish(reply).unwrap();
        assert_eq!((&keys(&established.keys), &established.message[..]), (theirs, &b"re: "[..]));
    }
}

/// A back end that fails for one of a batch says so of the whole.
#[test]
fn where_a_back_end_refuses_one_of_a_batch_the_others_are_answered() {
    let with = |ephemeral: &[u8], fixed: &[u8]| {
        let [ephemeral, fixed] = [ephemeral, fixed].map(|it| Twisted::new(MlKem768::default(), Refuses(it.to_vec())));
        Hybrid::new(ephemeral, X25519::new(), StaticKem(fixed))
    };
    let willing = with(&[], &[]);
    let relay = willing.generate_relay([1; 32]).unwrap();
    let key = 64..64 + MlKem768::PUBLIC;
    let ciphertext = key.end..key.end + MlKem768::CIPHERTEXT;
    for (refused, part) in [(None, key.clone()), (Some(1), key), (Some(1), ciphertext.clone()), (Some(3), ciphertext)] {
        let start = |_| willing.start(willing.public(&relay), b"").unwrap();
        let (clients, onionskins): (Vec<_>, Vec<_>) = (0..4).map(start).unzip();
        let bytes = refused.map_or(&[][..], |at: usize| &onionskins[at][part]);
        let answers = together(&with(bytes, bytes), from_ref(&relay), &onionskins);
        for (at, (client, answer)) in clients.into_iter().zip(answers).enumerate() {
            if refused == Some(at) {
                assert_eq!(answer, Err(Error::Kem(KemError::BackEnd("the test"))));
            } else {
                let (reply, theirs) = answer.unwrap();
                assert_eq!(keys(&client.finish(&reply).unwrap().keys), theirs);
            }
        }
    }
}

/// Onionskins to the old key and to the new one may stand in one batch.
#[test]
fn onionskins_to_different_keys_stand_in_one_batch() {
    fn check<H: Handshake>(handshake: H) {
        let relays = [(); 2].map(|()| handshake.generate_relay(identity::<H>(1)).unwrap());
        let to = |at: usize| handshake.start(handshake.public(&relays[at]), b"").unwrap();
        let (clients, onionskins): (Vec<_>, Vec<_>) = [to(1), to(0), to(0), to(1), to(1)].into_iter().unzip();
        for (client, answer) in clients.into_iter().zip(together(&handshake, &relays, &onionskins)) {
            let (reply, theirs) = answer.unwrap();
            assert_eq!(keys(&client.finish(&reply).unwrap().keys), theirs);
        }
    }
    every_handshake!(check);
}
