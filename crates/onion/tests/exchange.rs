//! Handshakes that must work: every handshake, on every back end, with messages of every length.

use candor_onion::Error;
use candor_onion::handshake::{
    Client, Established, Handshake, Hybrid768, Hybrid768Auth, NtorDefault, NtorV3Default, Request,
};
use handshakes::{identity, keys, message};
use proptest::prelude::*;
use std::slice::from_ref;

#[macro_use]
mod handshakes;

/// Runs both sides in turn, from start to end.
fn exchange<H: Handshake>(
    handshake: &H,
    relay: &H::RelaySecret,
    client_message: &[u8],
    relay_message: &[u8],
) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let (client, onionskin) = handshake.start(handshake.public(relay), client_message).unwrap();
    let request = handshake.accept(from_ref(relay), &onionskin).unwrap();
    assert_eq!(request.message(), client_message);
    let (reply, relay_keys) = request.respond(relay_message).unwrap();
    let Established { message, keys: client_keys, .. } = client.finish(&reply).unwrap();
    assert_eq!(message, relay_message);
    assert_eq!(keys(&client_keys), keys(&relay_keys), "{}", handshake.name());
    assert_eq!(onionskin.len(), H::ONIONSKIN + client_message.len());
    assert_eq!(reply.len(), H::REPLY + relay_message.len());
    (onionskin, reply, keys(&client_keys))
}

fn agrees<H: Handshake>(handshake: H) {
    let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
    for (ours, theirs) in [(&b""[..], &b""[..]), (b"x", b""), (b"", b"y"), (&[7; 300], &[8; 400])] {
        let first = exchange(&handshake, &relay, message::<H>(ours), message::<H>(theirs));
        let second = exchange(&handshake, &relay, message::<H>(ours), message::<H>(theirs));
        assert_ne!(first.0, second.0, "{}: the onionskin is fresh", handshake.name());
        assert_ne!(first.1, second.1, "{}: the reply is fresh", handshake.name());
        assert_ne!(first.2, second.2, "{}: the keys are fresh", handshake.name());
    }
}

#[test]
fn both_sides_agree() {
    every_handshake!(agrees);
}

#[test]
fn both_sides_agree_on_every_other_back_end() {
    every_other_back_end!(agrees);
}

/// A client on one back end and a relay on another.
#[test]
fn back_ends_understand_each_other() {
    use candor_onion::handshake::{Hybrid, StaticKem};
    use candor_primitives::dh::{self, DiffieHellman};
    use candor_primitives::kem::{self, Kem};

    type Ours = Hybrid<kem::aws_lc::MlKem768, dh::aws_lc::X25519, StaticKem<kem::aws_lc::MlKem768>>;
    type Theirs = Hybrid<kem::libcrux::MlKem768, dh::dalek::X25519, StaticKem<kem::rustcrypto::MlKem768>>;
    let (ours, theirs) = (Ours::default(), Theirs::default());

    let relay = theirs.generate_relay([1; 32]).unwrap();
    let public = theirs.public(&relay);
    let mut static_kem = vec![0; kem::rustcrypto::MlKem768::PUBLIC];
    kem::rustcrypto::MlKem768.public_to_bytes(public.static_kem(), &mut static_kem).unwrap();
    let static_kem = kem::aws_lc::MlKem768.public_from_bytes(&static_kem).unwrap();
    let known = ours.relay_public(*public.identity(), *public.onion_key(), static_kem).unwrap();
    assert_eq!(known.key_id(), public.key_id());

    let (client, onionskin) = ours.start(&known, b"from AWS-LC").unwrap();
    let request = theirs.accept(from_ref(&relay), &onionskin).unwrap();
    assert_eq!(request.message(), b"from AWS-LC");
    let (reply, relay_keys) = request.respond(b"from Rust").unwrap();
    let established = client.finish(&reply).unwrap();
    assert_eq!(established.message, b"from Rust");
    assert_eq!(keys(&established.keys), keys(&relay_keys));

    let secret = dh::dalek::X25519.generate().unwrap().0;
    let moved = dh::aws_lc::X25519.secret_from_bytes(&dh::dalek::X25519.secret_to_bytes(&secret).unwrap()).unwrap();
    let made = ours.relay([2; 32], moved, kem::aws_lc::MlKem768.generate().unwrap()).unwrap();
    assert_eq!(ours.public(&made).onion_key(), &dh::dalek::X25519.public_of(&secret).unwrap());
}

/// The table of the specification (docs/hybrid-handshake.md §6), computed.
#[test]
fn sizes_are_those_of_the_specification() {
    fn sizes<H: Handshake>(handshake: H, list: &mut Vec<(String, usize, usize)>) {
        list.push((handshake.name(), H::ONIONSKIN, H::REPLY));
    }
    let mut list = Vec::new();
    macro_rules! add {
        ($($handshake:ident)+) => { $(sizes(candor_onion::handshake::$handshake::default(), &mut list);)+ };
    }
    add!(NtorDefault NtorV3Default Hybrid512 Hybrid768 Hybrid1024 Hybrid512Auth Hybrid768Auth Hybrid1024Auth);
    let expected = [
        ("ntor", 84, 64),
        ("ntor-v3", 128, 64),
        ("hybrid-512", 896, 832),
        ("hybrid-768", 1280, 1152),
        ("hybrid-1024", 1664, 1632),
        ("hybrid-512-auth", 1664, 832),
        ("hybrid-768-auth", 2368, 1152),
        ("hybrid-1024-auth", 3232, 1632),
    ];
    assert_eq!(list, expected.map(|(name, onionskin, reply)| (name.to_owned(), onionskin, reply)));

    let document = include_str!("../docs/hybrid-handshake.md");
    for (name, onionskin, reply) in expected {
        let row = format!("| `{name}` | {onionskin} | {reply} |");
        assert!(document.contains(&row), "the specification's table lacks {row}");
    }
}

#[test]
fn a_relay_answers_for_its_old_onion_key_too() {
    fn check<H: Handshake>(handshake: H) {
        let relays = [1, 1].map(|fill| handshake.generate_relay(identity::<H>(fill)).unwrap());
        for relay in &relays {
            let (client, onionskin) = handshake.start(handshake.public(relay), b"").unwrap();
            let (reply, relay_keys) = handshake.accept(&relays, &onionskin).unwrap().respond(b"").unwrap();
            assert_eq!(keys(&client.finish(&reply).unwrap().keys), keys(&relay_keys));
        }
    }
    every_handshake!(check);
}

#[test]
fn ntor_says_that_it_carries_no_message() {
    let ntor = NtorDefault::default();
    let relay = ntor.generate_relay([1; 20]).unwrap();
    assert_eq!(ntor.start(ntor.public(&relay), b"x").unwrap_err(), Error::NoMessage);
    let (_, onionskin) = ntor.start(ntor.public(&relay), b"").unwrap();
    assert_eq!(ntor.accept(from_ref(&relay), &onionskin).unwrap().respond(b"x").unwrap_err(), Error::NoMessage);
}

#[test]
fn keys_are_prefixes_of_one_stream() {
    fn check<H: Handshake>(handshake: H) {
        let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
        let (_, onionskin) = handshake.start(handshake.public(&relay), b"").unwrap();
        let (_, keys) = handshake.accept(from_ref(&relay), &onionskin).unwrap().respond(b"").unwrap();
        let all = keys.expand(8160).unwrap();
        for length in [0, 1, 31, 32, 33, 72, 128, 8159] {
            assert_eq!(keys.expand(length).unwrap()[..], all[..length]);
        }
        let mut out = [0; 72];
        keys.expand_into(&mut out).unwrap();
        assert_eq!(out, all[..72]);

        let too_many = Error::KeyLength { asked: 8161, most: 8160 };
        if handshake.name() == "ntor-v3" {
            assert_eq!(keys.expand(20_000).unwrap()[..8160], all[..]);
        } else {
            assert_eq!(keys.expand(8161), Err(too_many));
            assert_eq!(keys.expand_into(&mut [0; 8161]), Err(too_many));
        }
    }
    every_handshake!(check);
}

#[test]
fn nothing_secret_is_printed() {
    let handshake = Hybrid768Auth::default();
    let relay = handshake.generate_relay([0x11; 32]).unwrap();
    let (client, onionskin) = handshake.start(handshake.public(&relay), b"").unwrap();
    let request = handshake.accept(from_ref(&relay), &onionskin).unwrap();
    let printed = format!("{relay:?} {client:?} {request:?}");
    let (_, keys) = request.respond(b"").unwrap();
    let expected = format!(
        "HybridRelay {{ public: HybridRelayPublic {{ key_id: {:?}, .. }}, .. }} HybridClient {{ .. }} HybridRequest {{ .. }}",
        handshake.public(&relay).key_id()
    );
    assert_eq!(printed, expected);
    assert_eq!(format!("{keys:?}"), "Keys(..)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_of_any_content_and_length_arrive(
        id: [u8; 32],
        ours in prop::collection::vec(any::<u8>(), 0..1500),
        theirs in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let (v3, hybrid) = (NtorV3Default::default(), Hybrid768::default());
        exchange(&v3, &v3.generate_relay(id).unwrap(), &ours, &theirs);
        exchange(&hybrid, &hybrid.generate_relay(id).unwrap(), &ours, &theirs);
    }
}
