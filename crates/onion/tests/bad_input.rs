//! Handshakes that must fail: every change to a message, every wrong key, every mix-up gives an error, no panic and no
//! key.

use candor_onion::Error;
use candor_onion::handshake::{
    Client, Handshake, Hybrid, Hybrid512, Hybrid768, Hybrid768Auth, Hybrid1024, NoStaticKem, Ntor, NtorDefault, NtorV3,
    NtorV3Default, Request, StaticKem,
};
use candor_primitives::dh::{DhError, DiffieHellman, x25519::X25519};
use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
use candor_primitives::kem::{Kem, KemError};
use candor_test_support::back_ends::{SendsCoefficient, SendsPoint, Twisted};
use handshakes::{identity, keys, message, tampered};
use proptest::prelude::*;
use std::slice::from_ref;

#[macro_use]
mod handshakes;

/// Lengths of the handshake's messages in these tests.
fn lengths<H: Handshake>() -> (usize, usize) {
    (H::ONIONSKIN + message::<H>(b"client").len(), H::REPLY + message::<H>(b"relay").len())
}

fn refuses_every_flip<H: Handshake>(handshake: H) {
    let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
    let (onionskin, reply) = lengths::<H>();
    for at in 0..onionskin {
        let outcome = tampered(&handshake, &relay, |bytes| bytes[at] ^= 1 << (at % 8), |_| {});
        assert!(outcome.is_err(), "{}: onionskin byte {at}", handshake.name());
    }
    for at in 0..reply {
        let outcome = tampered(&handshake, &relay, |_| {}, |bytes| bytes[at] ^= 1 << (at % 8));
        assert_eq!(outcome, Err(Error::Authentication), "{}: reply byte {at}", handshake.name());
    }
}

#[test]
fn every_byte_of_every_message_counts() {
    every_handshake!(refuses_every_flip);
}

#[test]
fn every_byte_of_every_message_counts_on_other_back_ends() {
    use candor_primitives::{dh, kem};
    refuses_every_flip(Ntor::<dh::dalek::X25519>::default());
    refuses_every_flip(NtorV3::<dh::dalek::X25519>::default());
    refuses_every_flip(
        Hybrid::<kem::libcrux::MlKem512, dh::dalek::X25519, StaticKem<kem::libcrux::MlKem512>>::default(),
    );
    refuses_every_flip(Hybrid::<kem::rustcrypto::MlKem512, X25519, NoStaticKem>::default());
}

/// The top bit of an X25519 key does not affect the exchange (RFC 7748 §5); it must affect the transcript.
#[test]
fn the_ignored_bit_of_x25519_counts() {
    fn check<H: Handshake>(handshake: H, x: usize) {
        let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
        assert!(tampered(&handshake, &relay, |bytes| bytes[x + 31] ^= 0x80, |_| {}).is_err());
        assert!(tampered(&handshake, &relay, |_| {}, |bytes| bytes[31] ^= 0x80).is_err());
    }
    check(NtorDefault::default(), 52);
    check(NtorV3Default::default(), 64);
    check(Hybrid768::default(), 32);
}

#[test]
fn every_length_but_the_right_one_is_refused() {
    fn check<H: Handshake>(handshake: H) {
        let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
        let name = handshake.name();
        let (client, onionskin) = handshake.start(handshake.public(&relay), message::<H>(b"client")).unwrap();
        for length in 0..onionskin.len() {
            let error = handshake.accept(from_ref(&relay), &onionskin[..length]).err();
            let short = matches!(error, Some(Error::Length { got, .. }) if got == length);
            assert_eq!(short, length < H::ONIONSKIN, "{name}: {length} bytes of onionskin");
            assert!(error.is_some(), "{name}: {length} bytes of onionskin");
        }
        for extra in [1, 2, 31, 32, 33, 64, 1000] {
            for fill in [0, 0xff] {
                let longer = [onionskin.as_slice(), &vec![fill; extra]].concat();
                assert!(handshake.accept(from_ref(&relay), &longer).is_err(), "{name}: {extra} bytes more");
            }
        }
        drop(client);

        let (_, reply) = lengths::<H>();
        for length in 0..reply {
            let error = tampered(&handshake, &relay, |_| {}, |bytes| bytes.truncate(length)).unwrap_err();
            let short = matches!(error, Error::Length { got, .. } if got == length);
            assert_eq!(short, length < H::REPLY, "{name}: {length} bytes of reply");
        }
        for extra in [1, 2, 31, 32, 33, 64, 1000] {
            let outcome = tampered(&handshake, &relay, |_| {}, |bytes| bytes.resize(reply + extra, 0));
            assert!(outcome.is_err(), "{name}: {extra} bytes more");
        }
    }
    every_handshake!(check);
}

#[test]
fn an_onionskin_for_another_relay_is_refused() {
    fn check<H: Handshake>(handshake: H) {
        let meant = handshake.generate_relay(identity::<H>(1)).unwrap();
        let other_key = handshake.generate_relay(identity::<H>(1)).unwrap();
        let other_identity = handshake.generate_relay(identity::<H>(2)).unwrap();
        let (_, onionskin) = handshake.start(handshake.public(&meant), b"").unwrap();
        for wrong in [vec![other_key], vec![other_identity], Vec::new()] {
            assert_eq!(handshake.accept(&wrong, &onionskin).err(), Some(Error::UnknownKey), "{}", handshake.name());
        }
    }
    every_handshake!(check);
}

/// The relay has the onion key, but the directory gave the client another identity, or another static key.
#[test]
fn a_wrong_identity_or_static_key_in_the_directory_is_refused() {
    let handshake = Hybrid768Auth::default();
    let b = [3; 32];
    let make = |id, kem| handshake.relay([id; 32], X25519::new().secret_from_bytes(&b).unwrap(), kem).unwrap();
    let relay = make(1, MlKem768::new().generate().unwrap());
    for known in [make(2, MlKem768::new().generate().unwrap()), make(1, MlKem768::new().generate().unwrap())] {
        let (_, onionskin) = handshake.start(handshake.public(&known), b"").unwrap();
        assert_eq!(handshake.accept(from_ref(&relay), &onionskin).err(), Some(Error::UnknownKey));

        // Even if somebody on the way inserts the right KEYID.
        let mut renamed = onionskin.clone();
        renamed[..32].copy_from_slice(handshake.public(&relay).key_id());
        assert_eq!(handshake.accept(from_ref(&relay), &renamed).err(), Some(Error::Onionskin));
    }
}

#[test]
fn a_reply_to_another_session_is_refused() {
    fn check<H: Handshake>(handshake: H) {
        let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
        let (first, first_onionskin) = handshake.start(handshake.public(&relay), b"").unwrap();
        let (second, _) = handshake.start(handshake.public(&relay), b"").unwrap();
        let (reply, _) = handshake.accept(from_ref(&relay), &first_onionskin).unwrap().respond(b"").unwrap();
        assert_eq!(second.finish(&reply).unwrap_err(), Error::Authentication, "{}", handshake.name());
        assert!(first.finish(&reply).is_ok());
    }
    every_handshake!(check);
}

/// A relay answers a replayed onionskin with fresh keys, so the replayer learns nothing.
#[test]
fn a_replayed_onionskin_gives_other_keys() {
    fn check<H: Handshake>(handshake: H) {
        let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
        let (client, onionskin) = handshake.start(handshake.public(&relay), b"").unwrap();
        let [(reply, first), (replayed, second)] =
            [(); 2].map(|()| handshake.accept(from_ref(&relay), &onionskin).unwrap().respond(b"").unwrap());
        assert_ne!(reply, replayed);
        assert_ne!(keys(&first), keys(&second));
        assert_eq!(keys(&client.finish(&reply).unwrap().keys), keys(&first));
    }
    every_handshake!(check);
}

/// Points of small order and their other encodings (RFC 7748 §7): with each of them the exchange gives zero.
fn small_order() -> Vec<[u8; 32]> {
    let points = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];
    let with_ignored_bit = |mut point: [u8; 32]| {
        point[31] ^= 0x80;
        point
    };
    let decoded = points.map(|text| base16ct::lower::decode_vec(text).unwrap().try_into().unwrap());
    decoded.into_iter().flat_map(|point| [point, with_ignored_bit(point)]).collect()
}

#[test]
fn points_of_small_order_are_refused_in_every_place() {
    const ZERO: Error = Error::Dh(DhError::NonContributory);
    for point in small_order() {
        let lying = Twisted::new(X25519::new(), SendsPoint(point));

        let (honest, liar) = (NtorDefault::default(), Ntor::new(lying.clone()));
        let b = || X25519::new().secret_from_bytes(&[9; 32]).unwrap();
        let relay = honest.relay([1; 20], b()).unwrap();
        let liars_relay = liar.relay([1; 20], b()).unwrap();
        let (_, onionskin) = liar.start(honest.public(&relay), b"").unwrap();
        assert_eq!(honest.accept(from_ref(&relay), &onionskin).unwrap_err(), ZERO);
        let (client, onionskin) = honest.start(honest.public(&relay), b"").unwrap();
        let (reply, _) = liar.accept(from_ref(&liars_relay), &onionskin).unwrap().respond(b"").unwrap();
        assert_eq!(client.finish(&reply).unwrap_err(), ZERO);

        let (honest, liar) = (NtorV3Default::default(), NtorV3::new(lying.clone()));
        let relay = honest.relay([1; 32], b()).unwrap();
        let liars_relay = liar.relay([1; 32], b()).unwrap();
        let (_, onionskin) = liar.start(honest.public(&relay), b"").unwrap();
        assert_eq!(honest.accept(from_ref(&relay), &onionskin).unwrap_err(), ZERO);
        let (client, onionskin) = honest.start(honest.public(&relay), b"").unwrap();
        let (reply, _) = liar.accept(from_ref(&liars_relay), &onionskin).unwrap().respond(b"").unwrap();
        assert_eq!(client.finish(&reply).unwrap_err(), ZERO);

        let (honest, liar) = (Hybrid512::default(), Hybrid::new(MlKem512::new(), lying.clone(), NoStaticKem));
        let relay = honest.relay([1; 32], b(), ((), ())).unwrap();
        let liars_relay = liar.relay([1; 32], b(), ((), ())).unwrap();
        let (_, onionskin) = liar.start(honest.public(&relay), b"").unwrap();
        assert_eq!(honest.accept(from_ref(&relay), &onionskin).unwrap_err(), ZERO);
        let (client, onionskin) = honest.start(honest.public(&relay), b"").unwrap();
        let (reply, _) = liar.accept(from_ref(&liars_relay), &onionskin).unwrap().respond(b"").unwrap();
        assert_eq!(client.finish(&reply).unwrap_err(), ZERO);

        // In the directory.
        let ntor = NtorDefault::default();
        let known = candor_onion::handshake::NtorRelayPublic { identity: [1; 20], onion_key: point };
        let (client, _) = ntor.start(&known, b"").unwrap(); // it does not use B yet
        let y = X25519::new().generate().unwrap().1;
        assert_eq!(client.finish(&[y, [0; 32]].concat()).unwrap_err(), ZERO);
        let known = candor_onion::handshake::NtorV3RelayPublic { identity: [1; 32], onion_key: point };
        assert_eq!(NtorV3Default::default().start(&known, b"").unwrap_err(), ZERO);
        let hybrid = Hybrid768::default();
        let known = hybrid.relay_public([1; 32], point, ()).unwrap();
        assert_eq!(hybrid.start(&known, b"").unwrap_err(), ZERO);
    }
}

/// The client's KEM key has a coefficient that is not reduced (FIPS 203 §7.2); everything else in the onionskin is
/// intact.
#[test]
fn an_unreduced_kem_key_is_refused() {
    fn check<K: Kem + Clone + Default>(kem: K) {
        let honest = Hybrid::<K, X25519, NoStaticKem>::default();
        let relay = honest.generate_relay([1; 32]).unwrap();
        // 12 bits each: q = 3329 = 0xd01 and then 4095, as the first, a middle and the last coefficients.
        for at in [0, 384, K::PUBLIC - 32 - 3] {
            for bytes in [[0x01, 0x0d, 0x00], [0xff, 0xff, 0xff]] {
                let lying = Twisted::new(kem.clone(), SendsCoefficient { at, bytes });
                let liar = Hybrid::new(lying, X25519::new(), NoStaticKem);
                let (_, onionskin) = liar.start(honest.public(&relay), b"").unwrap();
                let error = honest.accept(from_ref(&relay), &onionskin).unwrap_err();
                assert_eq!(error, Error::Kem(KemError::PublicKey), "{} at {at}", K::NAME);
            }
        }
    }
    check(MlKem512::new());
    check(MlKem768::new());
    check(MlKem1024::new());
    check(candor_primitives::kem::libcrux::MlKem768);
    check(candor_primitives::kem::rustcrypto::MlKem768);
}

/// Valid keys and ciphertexts of another session or of the attacker.
#[test]
fn swapped_keys_and_ciphertexts_are_refused() {
    let handshake = Hybrid768Auth::default();
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let public = handshake.public(&relay);
    let (x, ek, ct_s) = (32..64, 64..64 + 1184, 64 + 1184..64 + 1184 + 1088);
    let (_, other_onionskin) = handshake.start(public, b"client").unwrap();
    for range in [x.clone(), ek.clone(), ct_s, 32..other_onionskin.len() - 32] {
        let swap = |bytes: &mut Vec<u8>| bytes[range.clone()].copy_from_slice(&other_onionskin[range.clone()]);
        assert_eq!(tampered(&handshake, &relay, swap, |_| {}), Err(Error::Onionskin), "{range:?}");
    }
    let (other_reply, _) = handshake.accept(from_ref(&relay), &other_onionskin).unwrap().respond(b"relay").unwrap();
    let (y, ct_e, auth) = (0..32, 32..32 + 1088, 32 + 1088..32 + 1088 + 32);
    for range in [y, ct_e, auth.clone(), 0..auth.end, auth.end..other_reply.len()] {
        let swap = |bytes: &mut Vec<u8>| bytes[range.clone()].copy_from_slice(&other_reply[range.clone()]);
        assert_eq!(tampered(&handshake, &relay, |_| {}, swap), Err(Error::Authentication), "{range:?}");
    }
}

#[test]
fn another_verification_string_is_refused() {
    let (ours, theirs) = (Hybrid768::default(), Hybrid768::default().with_verification(&b"something else"[..]));
    let relay = ours.generate_relay([1; 32]).unwrap();
    let (_, onionskin) = theirs.start(ours.public(&relay), b"").unwrap();
    assert_eq!(ours.accept(from_ref(&relay), &onionskin).unwrap_err(), Error::Onionskin);

    let (ours, theirs) = (NtorV3Default::default(), NtorV3Default::default().with_verification(&b"something else"[..]));
    let relay = ours.generate_relay([1; 32]).unwrap();
    let (_, onionskin) = theirs.start(ours.public(&relay), b"").unwrap();
    assert_eq!(ours.accept(from_ref(&relay), &onionskin).unwrap_err(), Error::Onionskin);
}

/// One relay with one identity and one onion key offers every handshake. No handshake accepts an onionskin or a reply
/// of another, whatever its length and whatever name it carries.
#[test]
fn no_handshake_accepts_messages_of_another() {
    let b = || X25519::new().secret_from_bytes(&[9; 32]).unwrap();
    let v3 = NtorV3Default::default();
    let (h512, h768, h1024) = (Hybrid512::default(), Hybrid768::default(), Hybrid1024::default());
    let (a768, mixed) =
        (Hybrid768Auth::default(), Hybrid::new(MlKem768::new(), X25519::new(), StaticKem(MlKem1024::new())));
    let v3_relay = v3.relay([1; 32], b()).unwrap();
    let relay512 = h512.relay([1; 32], b(), ((), ())).unwrap();
    let relay768 = h768.relay([1; 32], b(), ((), ())).unwrap();
    let relay1024 = h1024.relay([1; 32], b(), ((), ())).unwrap();
    let relay_a768 = a768.relay([1; 32], b(), MlKem768::new().generate().unwrap()).unwrap();
    let relay_mixed = mixed.relay([1; 32], b(), MlKem1024::new().generate().unwrap()).unwrap();

    /// Onionskins of all lengths up to the longest, from clients of `from`.
    fn onionskins<H: Handshake>(from: &H, relay: &H::RelaySecret) -> Vec<Vec<u8>> {
        let lengths = [0, 384, 768, 1088, 1152, 1472, 2240, 3104];
        lengths.iter().map(|&length| from.start(from.public(relay), &vec![0; length]).unwrap().1).collect()
    }
    fn accepts<H: Handshake>(to: &H, relay: &H::RelaySecret, onionskin: &[u8]) -> bool {
        to.accept(from_ref(relay), onionskin).is_ok()
    }

    let all: Vec<(usize, Vec<Vec<u8>>)> = vec![
        (0, onionskins(&v3, &v3_relay)),
        (1, onionskins(&h512, &relay512)),
        (2, onionskins(&h768, &relay768)),
        (3, onionskins(&h1024, &relay1024)),
        (4, onionskins(&a768, &relay_a768)),
        (5, onionskins(&mixed, &relay_mixed)),
    ];
    let v3_name = [[1; 32], v3.public(&v3_relay).onion_key].concat();
    let names: [&[u8]; 6] = [
        &v3_name,
        h512.public(&relay512).key_id(),
        h768.public(&relay768).key_id(),
        h1024.public(&relay1024).key_id(),
        a768.public(&relay_a768).key_id(),
        mixed.public(&relay_mixed).key_id(),
    ];
    for (from, onionskins) in &all {
        for onionskin in onionskins {
            let accepted = |onionskin: &[u8]| {
                [
                    accepts(&v3, &v3_relay, onionskin),
                    accepts(&h512, &relay512, onionskin),
                    accepts(&h768, &relay768, onionskin),
                    accepts(&h1024, &relay1024, onionskin),
                    accepts(&a768, &relay_a768, onionskin),
                    accepts(&mixed, &relay_mixed, onionskin),
                ]
            };
            let only_from: [bool; 6] = std::array::from_fn(|to| to == *from);
            assert_eq!(accepted(onionskin), only_from, "from {from}, {} bytes", onionskin.len());
            for (to, name) in names.iter().enumerate().filter(|(to, _)| to != from) {
                let mut renamed = onionskin.clone();
                renamed[..name.len()].copy_from_slice(name);
                assert!(!accepted(&renamed)[to], "from {from} renamed to {to}, {} bytes", onionskin.len());
            }
        }
    }

    // Replies: hybrid-768's and hybrid-768-auth's have the same form.
    let (client, _) = a768.start(a768.public(&relay_a768), b"").unwrap();
    let (_, onionskin) = h768.start(h768.public(&relay768), b"").unwrap();
    let (reply, _) = h768.accept(from_ref(&relay768), &onionskin).unwrap().respond(b"").unwrap();
    assert_eq!(client.finish(&reply).unwrap_err(), Error::Authentication);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..3500)) {
        fn check<H: Handshake>(handshake: H, bytes: &[u8]) {
            let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
            assert!(handshake.accept(from_ref(&relay), bytes).is_err());
            let (client, _) = handshake.start(handshake.public(&relay), b"").unwrap();
            assert!(client.finish(bytes).is_err());
        }
        check(NtorDefault::default(), &bytes);
        check(NtorV3Default::default(), &bytes);
        check(Hybrid512::default(), &bytes);
        check(Hybrid768Auth::default(), &bytes);
    }

    /// Several edits anywhere: unless they change nothing, nobody gets keys.
    #[test]
    fn edits_are_refused(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        fn apply(edits: &[(prop::sample::Index, u8)], bytes: &mut [u8]) {
            edits.iter().for_each(|(at, xor)| bytes[at.index(bytes.len())] ^= xor);
        }
        fn check<H: Handshake>(handshake: H, edits: &[(prop::sample::Index, u8)]) {
            let relay = handshake.generate_relay(identity::<H>(1)).unwrap();
            let mut same = false;
            let to_reply = |bytes: &mut Vec<u8>| {
                let before = bytes.clone();
                apply(edits, bytes);
                same = *bytes == before;
            };
            let outcome = tampered(&handshake, &relay, |_| {}, to_reply);
            assert_eq!(outcome.is_ok(), same);
        }
        check(NtorDefault::default(), &edits);
        check(NtorV3Default::default(), &edits);
        check(Hybrid768::default(), &edits);
    }
}
