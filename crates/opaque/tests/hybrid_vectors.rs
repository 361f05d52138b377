//! The vectors of docs/hybrid.md: recorded answers, on two ML-KEM back ends, and against a second implementation.

use book::Inputs;
use candor_opaque::oprf::Key;
use candor_opaque::{
    Client, CredentialId, Hybrid, HybridCompat, HybridPinned, KsfParams, Limits, NoStretching, Parties, Password,
    Record, Rfc9807, Server, Suite, SuiteId,
};
use candor_primitives::kem::{self, DerandomizedKem, Kem};
use candor_test_support::back_ends::Script;
use candor_test_support::vectors::{array, bytes, hex, list, load, save};
use serde_json::{Map, Value, json};

mod book;

const FILE: &str = "opaque-hybrid.json";

/// Context and identities of a vector; a field that is not there is no identity.
struct Names([Option<Vec<u8>>; 3]);

impl Names {
    fn of(vector: &Value) -> Self {
        Self(
            ["context", "client_identity", "server_identity"].map(|name| vector.get(name).map(|_| bytes(vector, name))),
        )
    }

    fn parties(&self) -> Parties<'_> {
        let [context, client, server] = &self.0;
        Parties {
            context: context.as_deref().unwrap_or_default(),
            client: client.as_deref(),
            server: server.as_deref(),
        }
    }
}

/// The bytes of a field; none if it is not there.
fn optional(vector: &Value, name: &str) -> Vec<u8> {
    vector.get(name).map_or(Vec::new(), |_| bytes(vector, name))
}

/// The record of an upload.
fn record(vector: &Value, upload: &[u8]) -> Record {
    let id = CredentialId::imported(&bytes(vector, "credential_identifier")).unwrap();
    Record::from_upload(upload, &KsfParams::Identity, id, SuiteId::Rfc9807).unwrap()
}

/// Runs a vector and gives what came out, in the file's form.
fn run<S: Suite>(vector: &Value, server: &Server<S>, client: Client<S>) -> Map<String, Value> {
    let names = Names::of(vector);
    let client = client.with_limits(Limits::NONE);
    let (id, secret) = (bytes(vector, "credential_identifier"), bytes(vector, "password"));
    let id = CredentialId::imported(&id).unwrap();
    let password = Password::from_bytes(&secret).unwrap();
    let ksf = KsfParams::Identity;

    let mut rng = Script::of([&bytes(vector, "blind_registration"), &[0; 32], &bytes(vector, "envelope_nonce")]);
    let (registration, request) = client.start_registration(&mut rng, &password).unwrap();
    let answer = server.register_with_id(id, &request).unwrap();
    let registered =
        registration.finish(&mut rng, &answer.response, &ksf, &mut NoStretching, &names.parties()).unwrap();

    let mut rng = Script::of([
        &bytes(vector, "blind_login"),
        &[0; 32],
        &bytes(vector, "client_nonce"),
        &bytes(vector, "client_keyshare_seed"),
        &bytes(vector, "kem_seed"),
        &optional(vector, "static_coins"),
    ]);
    let (login, ke1) = client.start_login(&mut rng, &password).unwrap();
    assert!(rng.used_up());
    let mut rng = server_script(vector, &bytes(vector, "kem_coins"));
    let record = record(vector, &registered.upload);
    let answer = server.respond(&mut rng, &ke1, b"", Some(&record), &names.parties()).unwrap();
    assert!(rng.used_up());
    let done = login.finish(&answer.ke2, &ksf, &mut NoStretching, &names.parties()).unwrap();
    assert_eq!(answer.state.finish(&done.ke3, Some(&record)).unwrap().session_key, done.session_key);
    assert_eq!(registered.export_key, done.export_key);

    let outputs: [(&str, &[u8]); 6] = [
        ("registration_upload", &registered.upload),
        ("KE1", &ke1),
        ("KE2", &answer.ke2),
        ("KE3", &done.ke3),
        ("session_key", done.session_key.as_bytes()),
        ("export_key", done.export_key.as_bytes()),
    ];
    outputs.into_iter().map(|(name, value)| (name.to_owned(), json!(hex(value)))).collect()
}

/// The server's randomness in a login; the KEM's coins come last.
fn server_script(vector: &Value, kem_coins: &[u8]) -> Script {
    Script::of([
        &bytes(vector, "masking_nonce"),
        &bytes(vector, "server_nonce"),
        &bytes(vector, "server_keyshare_seed"),
        kem_coins,
    ])
}

/// A vector on one back end.
fn outputs<K: DerandomizedKem + Clone>(vector: &Value, kem: K) -> Map<String, Value> {
    let ksf = KsfParams::Identity;
    let (seed, secret) = (array(vector, "oprf_seed"), array(vector, "server_private_key"));
    match vector["suite"].as_str().unwrap() {
        "hybrid" => {
            let suite = Hybrid::new(kem);
            let server = Server::from_keys(suite.clone(), ksf, &seed, &secret).unwrap();
            run(vector, &server, Client::new(suite))
        }
        "hybrid-pinned" => {
            let suite = HybridPinned::new(kem.clone());
            let (dk, ek) = kem.generate_from(&bytes(vector, "static_seed")).unwrap();
            let mut ek_bytes = vec![0; 1184];
            kem.public_to_bytes(&ek, &mut ek_bytes).unwrap();
            let dk = kem.secret_to_bytes(&dk).unwrap();
            let server = Server::from_keys_pinned(suite.clone(), ksf, &seed, &secret, [&dk, &ek_bytes]).unwrap();
            let client = Client::pinned(suite, server.static_kem_key()).unwrap();
            run(vector, &server, client)
        }
        "hybrid-compat" => {
            let suite = HybridCompat::new(kem);
            let server = Server::from_keys(suite.clone(), ksf, &seed, &secret).unwrap();
            run(vector, &server, Client::new(suite))
        }
        other => panic!("no such suite: {other}"),
    }
}

#[test]
fn hybrids_give_the_recorded_answers_on_two_back_ends() {
    let file = load(FILE);
    let suites: Vec<&str> = list(&file, "logins").iter().map(|vector| vector["suite"].as_str().unwrap()).collect();
    assert_eq!(suites, SUITES.map(|(suite, _)| suite));
    for vector in list(&file, "logins") {
        for found in [outputs(vector, kem::libcrux::MlKem768), outputs(vector, kem::rustcrypto::MlKem768)] {
            for (name, value) in found {
                assert_eq!(vector[&name], value, "{}: {name}", vector["suite"]);
            }
        }
    }
}

/// The server's half from the specification, where the credential response comes from suite `rfc9807`, which the RFC's own
/// vectors check.
#[test]
fn the_recorded_answers_are_the_specifications() {
    let file = load(FILE);
    let encrypted = list(&file, "logins").iter().filter(|vector| vector["suite"] != "hybrid-compat");
    for vector in encrypted {
        let names = Names::of(vector);
        let (k, ke1) = (kem::rustcrypto::MlKem768, bytes(vector, "KE1"));
        let server_secret: [u8; 32] = array(vector, "server_private_key");
        let rfc = Server::from_keys(Rfc9807, KsfParams::Identity, &array(vector, "oprf_seed"), &server_secret).unwrap();
        let record = record(vector, &bytes(vector, "registration_upload"));
        let ke2 =
            rfc.respond(&mut server_script(vector, &[]), &ke1[..96], b"", Some(&record), &names.parties()).unwrap().ke2;

        let share_secret = *Key::derive(&array(vector, "server_keyshare_seed"), b"OPAQUE-DeriveDiffieHellmanKeyPair")
            .unwrap()
            .to_bytes();
        let (client_share, client_public) = (&ke1[64..96], &record.upload()[..32]);
        let (_, ek) = k.generate_from(&bytes(vector, "kem_seed")).unwrap();
        let mut ciphertext = vec![0; 1088];
        let ephemeral_secret = k.encapsulate_from(&ek, &bytes(vector, "kem_coins"), &mut ciphertext).unwrap();
        let (mut static_key, mut static_secret) = (Vec::new(), Vec::new());
        if vector["suite"] == "hybrid-pinned" {
            let (dk_s, ek_s) = k.generate_from(&bytes(vector, "static_seed")).unwrap();
            static_key = vec![0; 1184];
            k.public_to_bytes(&ek_s, &mut static_key).unwrap();
            static_secret = k.decapsulate(&dk_s, &ke1[1280..]).unwrap().as_bytes().to_vec();
        }

        let found = book::hybrid(&Inputs {
            suite: vector["suite"].as_str().unwrap(),
            ksf: &KsfParams::Identity.to_bytes(),
            context: names.parties().context,
            static_key: &static_key,
            ke1: &ke1,
            response: &ke2[..192],
            server_nonce: &ke2[192..224],
            server_share: &ke2[224..256],
            ciphertext: &ciphertext,
            client_identity: names.parties().client.unwrap_or(client_public),
            server_identity: names.parties().server.unwrap_or(rfc.public_key()),
            dh: [
                book::product(&share_secret, client_share),
                book::product(&server_secret, client_share),
                book::product(&share_secret, client_public),
            ],
            ephemeral_secret: ephemeral_secret.as_bytes(),
            static_secret: &static_secret,
        });
        assert_eq!(found.ke2, bytes(vector, "KE2"), "{}", vector["suite"]);
        assert_eq!(found.ke3, bytes(vector, "KE3"), "{}", vector["suite"]);
        assert_eq!(found.session_key, bytes(vector, "session_key"), "{}", vector["suite"]);
    }
}

/// Suite of each vector, and whether it names its parties.
const SUITES: [(&str, bool); 5] =
    [("hybrid", true), ("hybrid", false), ("hybrid-pinned", true), ("hybrid-pinned", false), ("hybrid-compat", true)];

/// Writes the file anew: the inputs count upwards, the outputs are what comes out. Its digest in `vectors/SOURCES.toml` must follow.
#[test]
#[ignore = "writes the vectors; run it by name after a change of the specification"]
fn write_hybrid_vectors() {
    let mut logins = Vec::new();
    for (number, (suite, named)) in SUITES.into_iter().enumerate() {
        let count =
            |from: usize, length: usize| hex((0..length).map(|at| (from + number + at) as u8).collect::<Vec<_>>());
        // A scalar is below 2^252.
        let scalar = |from: usize| count(from, 31) + "01";
        let mut vector = json!({
            "suite": suite, "ksf": hex(KsfParams::Identity.to_bytes()),
            "oprf_seed": count(0x01, 64), "server_private_key": scalar(0x20),
            "password": hex(b"correct horse battery staple"), "credential_identifier": hex(b"account 17"),
            "blind_registration": scalar(0x30), "envelope_nonce": count(0x40, 32),
            "blind_login": scalar(0x50), "client_nonce": count(0x60, 32), "client_keyshare_seed": count(0x70, 32),
            "masking_nonce": count(0x80, 32), "server_nonce": count(0x90, 32), "server_keyshare_seed": count(0xa0, 32),
            "kem_seed": count(0xb0, 64), "kem_coins": count(0xc0, 32), "context": hex(b"candor"),
        });
        if named {
            vector["client_identity"] = json!(hex(b"alice"));
            vector["server_identity"] = json!(hex(b"example.org"));
        }
        if suite == "hybrid-pinned" {
            vector["static_seed"] = json!(count(0xd0, 64));
            vector["static_coins"] = json!(count(0xe0, 32));
        }
        let found = outputs(&vector, kem::rustcrypto::MlKem768);
        vector.as_object_mut().unwrap().extend(found);
        logins.push(vector);
    }
    save(FILE, &json!({ "logins": logins }));
}
