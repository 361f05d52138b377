//! Known answers: Tor's for ntor and ntor-v3, our own for the hybrids.

use candor_key_schedules::{self as book, Relay};
use candor_onion::handshake::{
    CIRCUIT_EXTEND, Chain, Client, Handshake, Hybrid, NoStaticKem, Ntor, NtorV3, Request, StaticKem, StaticKey, Upgrade,
};
use candor_primitives::dh::{self, DiffieHellman};
use candor_primitives::kem::{self, DerandomizedKem};
use candor_test_support::back_ends::{Draws, Script, Twisted};
use candor_test_support::vectors::{array, bytes, hex, list, load, save};
use serde_json::{Map, Value, json};
use std::slice::from_ref;

/// A back end whose randomness comes from a vector.
type Scripted<B> = Twisted<B, Draws<Script>>;

fn scripted<B: Default, const N: usize>(vector: &Value, draws: [&str; N]) -> Scripted<B> {
    let bytes = draws.map(|name| bytes(vector, name));
    Twisted::new(B::default(), Draws(Script::of(bytes.each_ref().map(Vec::as_slice))))
}

/// X25519 whose next key pairs are the client's and then the relay's.
fn scripted_dh<D: DiffieHellman + Default>(vector: &Value) -> Scripted<D> {
    scripted(vector, ["x", "y"])
}

fn ntor_vectors<D: DiffieHellman + Clone + Default>() {
    let file = load("ntor.json");
    for vector in list(&file, "handshake") {
        let handshake = Ntor::new(scripted_dh::<D>(vector));
        let identity = bytes(vector, "identity").try_into().expect("20 bytes");
        let relay = handshake.relay(identity, D::default().secret_from_bytes(&array(vector, "b")).unwrap()).unwrap();
        assert_eq!(handshake.public(&relay).onion_key, array(vector, "b_public"));

        let (client, onionskin) = handshake.start(handshake.public(&relay), b"").unwrap();
        assert_eq!(onionskin, bytes(vector, "onionskin"));
        let (reply, relay_keys) = handshake.accept(from_ref(&relay), &onionskin).unwrap().respond(b"").unwrap();
        assert_eq!(reply, bytes(vector, "reply"));
        let expected = bytes(vector, "keys");
        assert_eq!(*relay_keys.expand(expected.len()).unwrap(), expected);
        assert_eq!(*client.finish(&reply).unwrap().keys.expand(expected.len()).unwrap(), expected);
    }
}

#[test]
fn ntor_gives_tors_published_answers() {
    ntor_vectors::<dh::aws_lc::X25519>();
    ntor_vectors::<dh::dalek::X25519>();
}

fn ntor_v3_vectors<D: DiffieHellman + Clone + Default>() {
    let file = load("ntor-v3.json");
    for vector in list(&file, "handshake") {
        let handshake = NtorV3::new(scripted_dh::<D>(vector)).with_verification(bytes(vector, "verification"));
        let secret = D::default().secret_from_bytes(&array(vector, "b")).unwrap();
        let relay = handshake.relay(array(vector, "identity"), secret).unwrap();
        assert_eq!(handshake.public(&relay).onion_key, array(vector, "b_public"));

        let (cm, sm) = (bytes(vector, "client_message"), bytes(vector, "relay_message"));
        let (client, onionskin) = handshake.start(handshake.public(&relay), &cm).unwrap();
        assert_eq!(onionskin, bytes(vector, "onionskin"));
        let request = handshake.accept(from_ref(&relay), &onionskin).unwrap();
        assert_eq!(request.message(), cm);
        let (reply, relay_keys) = request.respond(&sm).unwrap();
        assert_eq!(reply, bytes(vector, "reply"));
        let established = client.finish(&reply).unwrap();
        assert_eq!(established.message, sm);
        let expected = bytes(vector, "keys");
        assert_eq!(*relay_keys.expand(expected.len()).unwrap(), expected);
        assert_eq!(*established.keys.expand(expected.len()).unwrap(), expected);
    }
}

#[test]
fn ntor_v3_gives_tors_published_answers() {
    ntor_v3_vectors::<dh::aws_lc::X25519>();
    ntor_v3_vectors::<dh::dalek::X25519>();
}

/// The oracle too gives Tor's answers, without the crate's handshakes.
#[test]
fn the_second_implementation_gives_tors_published_answers() {
    let public = |vector: &Value, name| {
        let secret = dh::dalek::X25519.secret_from_bytes(&array(vector, name)).unwrap();
        dh::dalek::X25519.public_of(&secret).unwrap()
    };
    let agree = |vector: &Value, name, with: &[u8; 32]| {
        let secret = dh::dalek::X25519.secret_from_bytes(&array(vector, name)).unwrap();
        dh::dalek::X25519.agree(&secret, with).unwrap().as_bytes().to_vec()
    };
    for (file, v3) in [("ntor.json", false), ("ntor-v3.json", true)] {
        for vector in list(&load(file), "handshake") {
            let (x, b, y) = (public(vector, "x"), public(vector, "b"), public(vector, "y"));
            let relay = Relay {
                identity: &bytes(vector, "identity"),
                onion_key: &b,
                static_secrets: &agree(vector, "b", &x),
                fresh_secrets: &agree(vector, "y", &x),
                fresh_public: &y,
                message: &if v3 { bytes(vector, "relay_message") } else { Vec::new() },
            };
            let (reply, keys) = if v3 {
                let (verification, message) = (bytes(vector, "verification"), bytes(vector, "client_message"));
                let (id, secret) = (relay.identity, relay.static_secrets);
                let end = book::ntor_v3_client(id, &b, &x, secret, &verification, &message);
                assert!(bytes(vector, "onionskin").ends_with(&end));
                book::ntor_v3(&x, &end[message.len()..], &verification, &relay)
            } else {
                book::ntor(&x, &relay)
            };
            assert_eq!(reply, bytes(vector, "reply"));
            let both = bytes(vector, "keys").len().min(keys.len());
            assert!(both >= 32 && keys[..both] == bytes(vector, "keys")[..both]);
        }
    }
}

/// The inputs of one hybrid vector, as the file has them.
struct Inputs<'a>(&'a Value);

impl Inputs<'_> {
    fn kem<K: DerandomizedKem + Default>(&self) -> Scripted<K> {
        scripted(self.0, ["kem_seed", "kem_coins"])
    }

    fn static_kem<K: DerandomizedKem + Default>(&self) -> StaticKem<Scripted<K>> {
        StaticKem(scripted(self.0, ["static_seed", "static_coins"]))
    }
}

/// Runs one vector's handshake and returns the results in the file's form.
fn run<K: DerandomizedKem + Clone + Default, D: DiffieHellman + Clone + Default, S: StaticKey>(
    vector: &Value,
    static_key: S,
) -> Map<String, Value> {
    let handshake = Hybrid::new(Inputs(vector).kem::<K>(), scripted_dh::<D>(vector), static_key.clone());
    let secret = D::default().secret_from_bytes(&array(vector, "b")).unwrap();
    let relay = handshake.relay(array(vector, "identity"), secret, static_key.generate().unwrap()).unwrap();
    let (cm, sm) = (bytes(vector, "client_message"), bytes(vector, "relay_message"));

    let (client, onionskin) = handshake.start(handshake.public(&relay), &cm).unwrap();
    let request = handshake.accept(from_ref(&relay), &onionskin).unwrap();
    assert_eq!(request.message(), cm);
    let (reply, relay_keys) = request.respond(&sm).unwrap();
    let established = client.finish(&reply).unwrap();
    assert_eq!(established.message, sm);
    assert_eq!(established.keys.expand(72).unwrap(), relay_keys.expand(72).unwrap());

    let mut out = Map::new();
    out.insert("handshake".to_owned(), json!(handshake.name()));
    out.insert("key_id".to_owned(), json!(hex(handshake.public(&relay).key_id())));
    out.insert("onionskin".to_owned(), json!(hex(&onionskin)));
    out.insert("reply".to_owned(), json!(hex(&reply)));
    out.insert("keys".to_owned(), json!(hex(relay_keys.expand(72).unwrap())));
    out
}

/// Runs each suite of the file on the given back ends.
macro_rules! outputs {
    ($vector:expr, $kem:ident, $dh:ident) => {{
        let vector = $vector;
        let inputs = Inputs(vector);
        match vector["handshake"].as_str().unwrap() {
            "hybrid-512" => run::<kem::$kem::MlKem512, dh::$dh::X25519, _>(vector, NoStaticKem),
            "hybrid-768" => run::<kem::$kem::MlKem768, dh::$dh::X25519, _>(vector, NoStaticKem),
            "hybrid-1024" => run::<kem::$kem::MlKem1024, dh::$dh::X25519, _>(vector, NoStaticKem),
            "hybrid-512-auth" => {
                run::<kem::$kem::MlKem512, dh::$dh::X25519, _>(vector, inputs.static_kem::<kem::$kem::MlKem512>())
            }
            "hybrid-768-auth" => {
                run::<kem::$kem::MlKem768, dh::$dh::X25519, _>(vector, inputs.static_kem::<kem::$kem::MlKem768>())
            }
            "hybrid-1024-auth" => {
                run::<kem::$kem::MlKem1024, dh::$dh::X25519, _>(vector, inputs.static_kem::<kem::$kem::MlKem1024>())
            }
            other => panic!("unknown handshake {other}"),
        }
    }};
}

#[test]
fn hybrids_give_the_recorded_answers_on_every_derandomized_back_end() {
    let file = load("onion-hybrid.json");
    for vector in list(&file, "handshakes") {
        for outputs in [
            outputs!(vector, libcrux, aws_lc),
            outputs!(vector, rustcrypto, dalek),
            outputs!(vector, rustcrypto, aws_lc),
        ] {
            for (name, value) in outputs {
                assert_eq!(vector[&name], value, "{}: {name}", vector["handshake"]);
            }
        }
    }
}

/// The relay's half of each vector, from the specification alone, with the secrets that the inputs lead to.
#[test]
fn the_recorded_answers_follow_from_the_specification() {
    fn check<K: DerandomizedKem + Default>(vector: &Value, auth: bool) {
        let (k, x25519) = (K::default(), dh::dalek::X25519);
        let secret = |name| x25519.secret_from_bytes(&array(vector, name)).unwrap();
        let (b, x, y) = (secret("b"), secret("x"), secret("y"));
        let public = |of| x25519.public_of(of).unwrap();

        let encode = |public: &K::Public| {
            let mut bytes = vec![0; K::PUBLIC];
            k.public_to_bytes(public, &mut bytes).unwrap();
            bytes
        };
        let (_, ek) = k.generate_from(&bytes(vector, "kem_seed")).unwrap();
        let mut ct_e = vec![0; K::CIPHERTEXT];
        let ss_e = k.encapsulate_from(&ek, &bytes(vector, "kem_coins"), &mut ct_e).unwrap();

        let mut protoid = format!("candor-hybrid-1/X25519/{}", K::NAME);
        let mut static_secrets = x25519.agree(&b, &public(&x)).unwrap().as_bytes().to_vec();
        let (mut ek_s, mut ct_s) = (Vec::new(), Vec::new());
        if auth {
            protoid += &format!("/static:{}", K::NAME);
            let (_, static_public) = k.generate_from(&bytes(vector, "static_seed")).unwrap();
            ek_s = encode(&static_public);
            ct_s = vec![0; K::CIPHERTEXT];
            let ss_s = k.encapsulate_from(&static_public, &bytes(vector, "static_coins"), &mut ct_s).unwrap();
            static_secrets.extend_from_slice(ss_s.as_bytes());
        }

        let key_id = book::hybrid_key_id(&protoid, &bytes(vector, "identity"), &public(&b), &ek_s);
        assert_eq!(key_id, bytes(vector, "key_id"));
        let header = [&key_id[..], &public(&x), &encode(&ek), &ct_s].concat();
        let rest =
            book::hybrid_client(&protoid, CIRCUIT_EXTEND, &header, &static_secrets, &bytes(vector, "client_message"));
        let onionskin = [&header[..], &rest].concat();
        assert_eq!(onionskin, bytes(vector, "onionskin"));

        let relay = Relay {
            identity: &bytes(vector, "identity"),
            onion_key: &public(&b),
            static_secrets: &static_secrets,
            fresh_secrets: &[&x25519.agree(&y, &public(&x)).unwrap().as_bytes()[..], ss_e.as_bytes()].concat(),
            fresh_public: &[&public(&y)[..], &ct_e].concat(),
            message: &bytes(vector, "relay_message"),
        };
        let (reply, keys) = book::hybrid(&protoid, CIRCUIT_EXTEND, &onionskin, header.len(), &relay);
        assert_eq!(reply, bytes(vector, "reply"));
        assert_eq!(keys, bytes(vector, "keys"));
    }
    let file = load("onion-hybrid.json");
    for vector in list(&file, "handshakes") {
        let name = vector["handshake"].as_str().unwrap();
        match name.trim_end_matches("-auth") {
            "hybrid-512" => check::<kem::rustcrypto::MlKem512>(vector, name.ends_with("-auth")),
            "hybrid-768" => check::<kem::rustcrypto::MlKem768>(vector, name.ends_with("-auth")),
            "hybrid-1024" => check::<kem::rustcrypto::MlKem1024>(vector, name.ends_with("-auth")),
            other => panic!("unknown handshake {other}"),
        }
    }
}

/// Writes `vectors/onion-hybrid.json` anew: the inputs count upwards, the outputs are computed. Update the file's
/// digest in `vectors/SOURCES.toml` afterwards.
#[test]
#[ignore = "writes the vectors; run it by name after a change of the specification"]
fn write_hybrid_vectors() {
    let names = ["hybrid-512", "hybrid-768", "hybrid-1024", "hybrid-512-auth", "hybrid-768-auth", "hybrid-1024-auth"];
    let mut handshakes = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let count = |from: usize, length: usize| hex((0..length).map(|at| (from + at) as u8).collect::<Vec<_>>());
        let mut vector = json!({
            "handshake": name,
            "identity": count(number + 1, 32), "b": count(0x20 + number, 32), "x": count(0x40 + number, 32),
            "y": count(0x60 + number, 32), "kem_seed": count(0x80 + number, 64), "kem_coins": count(0xc0 + number, 32),
            "client_message": hex(b"client extensions"), "relay_message": hex(b"relay's extensions, in two blocks"),
        });
        if name.ends_with("-auth") {
            vector["static_seed"] = json!(count(0xa0 + number, 64));
            vector["static_coins"] = json!(count(0xe0 + number, 32));
        }
        let outputs = outputs!(&vector, rustcrypto, dalek);
        vector.as_object_mut().unwrap().extend(outputs);
        handshakes.push(vector);
    }
    save("onion-hybrid.json", &json!({ "handshakes": handshakes }));
}

/// The upgrade: the key stream is that of Tor's vector for ntor-v3, key pair and encapsulation are Wycheproof's, and what follows from them was computed by the
/// program in docs/upgrade.md §9.
fn upgrade_vectors<K: DerandomizedKem + Clone + Default>() {
    let (file, tors) = (load("onion-upgrade.json"), load("ntor-v3.json"));
    let [vector] = list(&tors, "handshake") else { panic!("one handshake") };
    let handshake = NtorV3::new(scripted_dh::<dh::dalek::X25519>(vector));
    let handshake = handshake.with_verification(bytes(vector, "verification"));
    let secret = dh::dalek::X25519.secret_from_bytes(&array(vector, "b")).unwrap();
    let relay = handshake.relay(array(vector, "identity"), secret).unwrap();
    let (client, onionskin) = handshake.start(handshake.public(&relay), &bytes(vector, "client_message")).unwrap();
    let accepted = handshake.accept(from_ref(&relay), &onionskin).unwrap();
    let (reply, theirs) = accepted.respond(&bytes(vector, "relay_message")).unwrap();
    let ours = client.finish(&reply).unwrap().keys;
    assert_eq!(*ours.expand(256).unwrap(), bytes(vector, "keys"));

    for layer in list(&file, "layers") {
        let (name, length) = match layer["layer"].as_str().unwrap() {
            "tor1" => ("tor1", 72),
            "cgo" => ("cgo", 160),
            other => panic!("layer {other}"),
        };
        let chain = |keys| Chain::new(keys, name, length).unwrap();
        let kem: Scripted<K> = scripted(&file["kem"], ["seed", "coins"]);
        let upgrade = Upgrade::new(kem).unwrap();
        let (waiting, request) = upgrade.start().unwrap();
        assert_eq!(request, bytes(&file, "upgrade"));
        let (reply, at_relay) = upgrade.answer(&request).unwrap().finish(chain(&theirs));
        assert_eq!(reply, bytes(layer, "relay_upgraded"), "{name}");
        let at_client = waiting.finish(chain(&ours), &reply).unwrap();
        for side in [&at_relay, &at_client] {
            assert_eq!(side.confirmation.as_bytes()[..], bytes(layer, "client_upgraded"), "{name}");
            assert_eq!(*side.keys.expand(length).unwrap(), bytes(layer, "keys"), "{name}");
        }
    }
}

#[test]
fn upgrades_give_the_answers_of_another_program() {
    upgrade_vectors::<kem::libcrux::MlKem768>();
    upgrade_vectors::<kem::rustcrypto::MlKem768>();
    upgrade_vectors::<kem::ml_kem::MlKem768>();
}
