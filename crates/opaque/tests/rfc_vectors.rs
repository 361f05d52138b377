//! Known answers: RFC 9807's for OPAQUE, RFC 9497's for the OPRF.

use candor_opaque::oprf::{Blinded, Key};
use candor_opaque::{
    Client, CredentialId, KsfParams, Limits, NoStretching, Parties, Password, Record, Rfc9807, Server, SuiteId,
};
use candor_test_support::back_ends::Script;
use candor_test_support::vectors::{array, bytes, list, load};
use serde_json::Value;

/// Groups of RFC 9807's appendix C that this crate does not have, and how many vectors that leaves out.
const LEFT_OUT: [(&str, usize); 2] = [("curve25519", 3), ("P256_XMD:SHA-256_SSWU_RO_", 3)];
const GROUP: &str = "ristretto255";
const UPPER_HALF: [u8; 32] = [0; 32];

/// The vectors of our group.
fn vectors(fake: bool) -> Vec<Value> {
    let file = load("opaque-rfc9807.json");
    let chosen = |vector: &&Value| {
        vector["config"]["Group"] == GROUP && vector["config"]["Fake"] == if fake { "True" } else { "False" }
    };
    file.as_array().expect("a list").iter().filter(chosen).cloned().collect()
}

/// Context and identities of a vector.
struct Names {
    context: Vec<u8>,
    client: Option<Vec<u8>>,
    server: Option<Vec<u8>>,
}

impl Names {
    fn of(vector: &Value) -> Self {
        let inputs = &vector["inputs"];
        let identity = |name: &str| inputs.get(name).map(|_| bytes(inputs, name));
        Self {
            context: bytes(&vector["config"], "Context"),
            client: identity("client_identity"),
            server: identity("server_identity"),
        }
    }

    fn parties(&self) -> Parties<'_> {
        Parties { context: &self.context, client: self.client.as_deref(), server: self.server.as_deref() }
    }
}

fn server(inputs: &Value) -> Server<Rfc9807> {
    let (seed, key) = (array(inputs, "oprf_seed"), array(inputs, "server_private_key"));
    Server::from_keys(Rfc9807, KsfParams::Identity, &seed, &key).unwrap()
}

#[test]
fn every_vector_of_rfc_9807_is_either_run_or_left_out_by_name() {
    let file = load("opaque-rfc9807.json");
    let all = file.as_array().unwrap();
    let of = |group: &str| all.iter().filter(|vector| vector["config"]["Group"] == group).count();
    for (group, count) in LEFT_OUT {
        println!("left out: {count} vectors of {group}, a group that this crate does not have");
        assert_eq!(of(group), count, "{group}");
    }
    assert_eq!((vectors(false).len(), vectors(true).len()), (2, 1));
    assert_eq!(of(GROUP) + LEFT_OUT.iter().map(|(_, count)| count).sum::<usize>(), all.len());
}

#[test]
fn registration_and_login_give_the_rfcs_answers() {
    for vector in vectors(false) {
        let (inputs, outputs) = (&vector["inputs"], &vector["outputs"]);
        let expect = |name: &str, found: &[u8]| assert_eq!(found, bytes(outputs, name), "{name}");
        let names = Names::of(&vector);
        let server = server(inputs);
        assert_eq!(server.public_key()[..], bytes(inputs, "server_public_key"));
        let (id, secret) = (bytes(inputs, "credential_identifier"), bytes(inputs, "password"));
        let id = CredentialId::imported(&id).unwrap();
        let password = Password::from_bytes(&secret).unwrap();
        let client = Client::new(Rfc9807).with_limits(Limits::NONE);

        let mut rng = Script::of([&bytes(inputs, "blind_registration"), &UPPER_HALF, &bytes(inputs, "envelope_nonce")]);
        let (registration, request) = client.start_registration(&mut rng, &password).unwrap();
        expect("registration_request", &request);
        let registering = server.register_with_id(id, &request).unwrap();
        expect("registration_response", &registering.response);
        let registered = registration
            .finish(&mut rng, &registering.response, &KsfParams::Identity, &mut NoStretching, &names.parties())
            .unwrap();
        expect("registration_upload", &registered.upload);
        expect("export_key", registered.export_key.as_bytes());
        assert!(rng.used_up());

        let mut rng = Script::of([
            &bytes(inputs, "blind_login"),
            &UPPER_HALF,
            &bytes(inputs, "client_nonce"),
            &bytes(inputs, "client_keyshare_seed"),
        ]);
        let (login, ke1) = client.start_login(&mut rng, &password).unwrap();
        expect("KE1", &ke1);
        assert!(rng.used_up());
        let mut rng = Script::of([
            &bytes(inputs, "masking_nonce"),
            &bytes(inputs, "server_nonce"),
            &bytes(inputs, "server_keyshare_seed"),
        ]);
        let record = registering.state.finish(&registered.upload).unwrap().into_record();
        let answer = server.respond(&mut rng, &ke1, b"", Some(&record), &names.parties()).unwrap();
        expect("KE2", &answer.ke2);
        assert!(rng.used_up());
        let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &names.parties()).unwrap();
        expect("KE3", &done.ke3);
        expect("session_key", done.session_key.as_bytes());
        expect("export_key", done.export_key.as_bytes());
        expect("session_key", answer.state.finish(&done.ke3, Some(&record)).unwrap().session_key.as_bytes());
    }
}

#[test]
fn a_made_up_record_is_answered_as_in_the_rfc() {
    for vector in vectors(true) {
        let inputs = &vector["inputs"];
        let names = Names::of(&vector);
        // The RFC gives the made-up record's key and masking key; its envelope is zeros.
        let upload = [&bytes(inputs, "client_public_key")[..], &bytes(inputs, "masking_key"), &[0; 96]].concat();
        let id = CredentialId::imported(&bytes(inputs, "credential_identifier")).unwrap();
        let record = Record::from_upload(&upload, &KsfParams::Identity, id, SuiteId::Rfc9807).unwrap();
        let mut rng = Script::of([
            &bytes(inputs, "masking_nonce"),
            &bytes(inputs, "server_nonce"),
            &bytes(inputs, "server_keyshare_seed"),
        ]);
        let ke1 = bytes(inputs, "KE1");
        let answer = server(inputs).respond(&mut rng, &ke1, b"", Some(&record), &names.parties()).unwrap();
        assert_eq!(answer.ke2, bytes(&vector["outputs"], "KE2"));
    }
}

#[test]
fn the_oprf_gives_rfc_9497s_answers() {
    let file = load("oprf-rfc9497.json");
    let key = Key::derive(&array(&file, "seed"), &bytes(&file, "key_info")).unwrap();
    assert_eq!(key.to_bytes()[..], bytes(&file, "sk_sm"));
    for vector in list(&file, "vectors") {
        let input = bytes(vector, "input");
        let mut rng = Script::of([&bytes(vector, "blind"), &UPPER_HALF]);
        let (blinded, sent) = Blinded::new(&mut rng, &input).unwrap();
        assert_eq!(sent[..], bytes(vector, "blinded_element"));
        let evaluated = key.evaluate(&sent).unwrap();
        assert_eq!(evaluated[..], bytes(vector, "evaluation_element"));
        assert_eq!(blinded.finalize(&evaluated).unwrap()[..], bytes(vector, "output"));
        assert_eq!(key.evaluate_alone(&input).unwrap()[..], bytes(vector, "output"));
    }
}
