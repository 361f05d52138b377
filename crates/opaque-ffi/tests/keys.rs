//! A server with another implementation's keys: RFC 9807's vectors, which have the keys of one.

use candor_opaque_ffi::object::{Object, Part, free, keep, part};
use candor_opaque_ffi::status::Status;
use candor_opaque_ffi::{Handle, server};
use candor_test_support::vectors::{bytes, load};

fn made(object: Result<Object, Status>) -> Handle {
    object.and_then(keep).expect("a step that must succeed")
}

#[test]
fn a_server_with_the_keys_of_the_vectors_answers_as_they_say() {
    let mut answered = 0;
    for vector in load("opaque-rfc9807.json").as_array().expect("a list") {
        let (inputs, outputs) = (&vector["inputs"], &vector["outputs"]);
        if vector["config"]["Group"] != "ristretto255" || vector["config"]["Fake"] == "True" {
            continue;
        }
        let (seed, key) = (bytes(inputs, "oprf_seed"), bytes(inputs, "server_private_key"));
        let (id, request) = (bytes(inputs, "credential_identifier"), bytes(outputs, "registration_request"));
        for suite in 1..=4 {
            let server = made(server::from_keys(suite, &seed, &key, Some(&[0; 13])));
            let public = part(server, Part::ServerPublicKey as u32).unwrap();
            assert_eq!(*public, bytes(inputs, "server_public_key"));
            let registration = made(server::start_registration_with_id(server, &id, &request));
            let response = part(registration, Part::Message as u32).unwrap();
            assert_eq!(*response, bytes(outputs, "registration_response"), "suite {suite}");
            [server, registration].iter().for_each(|object| free(*object).unwrap());
            answered += 1;
        }
    }
    assert_eq!(answered, 8, "two vectors in four suites");
}
