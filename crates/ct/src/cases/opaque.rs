//! OPAQUE, phase by phase. Secret are the password, all that comes from the generator, the OPRF seed, the server's key, the KEM's keys and coins, and of a
//! record the masking key and the envelope; what either side sends is published.
//!
//! The side under check is poisoned, the other one is clean, and both must end with the same keys. The KEM is libcrux's, which is clean on
//! its own (`cases/kem.rs`). The key stretching is a copy: what Argon2id does with its input is Argon2id's affair (RFC 9106 §3.4.1.3).

use super::generator::{clean, poisoned};
use super::onion::SecretKem;
use candor_cpu::{Cpu, secret};
use candor_opaque::oprf::{Blinded, Key};
use candor_opaque::suite::NoKem;
use candor_opaque::{
    Client, ClientLogin, ClientRegistration, Hybrid, KsfParams, Limits, LoginStart, NoStretching, Parties, Password,
    Record, Rfc9807, Server, ServerLogin, Suite, SystemRandomness,
};
use candor_primitives::kem::libcrux::MlKem768;
use std::hint::black_box;
use subtle::ConstantTimeEq;

const PASSWORD: &[u8; 17] = b"correct horse ...";
const USER: &[u8] = b"account 17";
const SEED: [u8; 64] = [5; 64];
const PARTIES: Parties<'static> = Parties { context: b"ct", client: None, server: Some(b"example.org") };

/// The scalar 3 · 2^8 + 7.
const KEY: [u8; 32] = {
    let mut key = [0; 32];
    (key[0], key[1]) = (7, 3);
    key
};

pub(crate) fn oprf_client(_: Cpu) {
    let key = Key::derive(&[7; 32], b"ct").expect("a key");
    let (password, expected) = (*PASSWORD, key.evaluate_alone(PASSWORD).expect("an output"));
    secret::reset();
    secret::poison(&password);
    let (blinded, sent) = Blinded::new(&mut poisoned(1), &password).expect("a blinded element");
    secret::declassify(&sent, "blinded-element");
    let output = blinded.finalize(&key.evaluate(&sent).expect("an element")).expect("an output");
    secret::declassify(output.as_slice(), "result");
    assert!(output == expected, "the result is wrong, so whatever ran was no OPRF");
}

pub(crate) fn oprf_evaluate(_: Cpu) {
    let (_, sent) = Blinded::new(&mut clean(1), PASSWORD).expect("a blinded element");
    let expected = Key::derive(&SEED32, b"ct").expect("a key").evaluate(&sent).expect("an element");
    secret::reset();
    let seed = SEED32;
    secret::poison(&seed);
    let found = Key::derive(&seed, b"ct").expect("a key").evaluate(&sent).expect("an element");
    secret::declassify(&found, "result");
    assert!(found == expected, "the result is wrong, so whatever ran was no OPRF");
}

const SEED32: [u8; 32] = [9; 32];

/// A key that was saved, on an input of its own.
pub(crate) fn oprf_alone(_: Cpu) {
    let (key, input) = (KEY, *PASSWORD);
    let compute = |key: &[u8; 32], input: &[u8]| {
        let key = Key::from_bytes(key).expect("a canonical scalar");
        (key.to_bytes(), key.evaluate_alone(input).expect("an output"))
    };
    let expected = compute(&key, &input);
    secret::reset();
    secret::poison(&key);
    secret::poison(&input);
    let found = compute(&key, &input);
    secret::declassify(found.0.as_slice(), "keys");
    secret::declassify(found.1.as_slice(), "result");
    assert!(found == expected, "the result is wrong, so whatever ran was no OPRF");
}

/// A client that was saved between its messages, in a registration and in a login.
pub(crate) fn resumed(_: Cpu) {
    let server = clean_server(Rfc9807);
    let password = *PASSWORD;
    let (registration, request) = secret_registration(Rfc9807);
    secret::poison(&password);
    let password = Password::from_bytes(&password).expect("a good password");
    let client = clean_client(Rfc9807);
    let registration = client.resume_registration(registration.to_bytes().as_slice(), &password).expect("its state");
    let answer = server.register(&mut clean(9), &request).expect("a response");
    let done = registration
        .finish(&mut poisoned(2), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES)
        .expect("an upload");
    secret::declassify(&done.upload, "registration-upload");
    let record = answer.state.finish(&done.upload).expect("a record").into_record();

    let (state, ke1) = client.start_login(&mut poisoned(1), &password).expect("KE1");
    secret::declassify(&ke1, "ke1");
    let saved = state.to_bytes().expect("the state's bytes");
    // The version, the suite and KE1, which it holds at its end, are public.
    let state = client.resume_login(&saved, &password).expect("its state");
    let answer = server.respond(&mut clean(5), &ke1, USER, Some(&record), &PARTIES).expect("KE2");
    let done = state.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).expect("the right password");
    secret::declassify(&done.ke3, "ke3");
    secret::declassify(done.session_key.as_bytes(), "result");
    let theirs = answer.state.finish(&done.ke3, Some(&record)).expect("the server believes it").session_key;
    assert!(theirs == done.session_key, "the result is wrong, so whatever ran was no OPAQUE");
}

/// A server that was saved, whose login was saved as well.
pub(crate) fn server_resumed(_: Cpu) {
    let (stored, client) = (clean_record().to_bytes(), clean_client(Rfc9807));
    let password = Password::from_bytes(PASSWORD).expect("a good password");
    let (state, ke1) = client.start_login(&mut clean(6), &password).expect("KE1");
    secret::reset();
    let (seed, key) = (SEED, KEY);
    secret::poison(&seed);
    secret::poison(&key);
    secret::poison(&stored[47..207]);
    let saved = Server::from_keys(Rfc9807, KsfParams::Identity, &seed, &key).and_then(|server| server.to_bytes());
    let server = Server::from_bytes(Rfc9807, &saved.expect("a good key")).expect("the server's bytes");
    let record = Record::from_bytes(&stored).expect("a record");
    let answer = server.respond(&mut poisoned(8), &ke1, USER, Some(&record), &PARTIES).expect("KE2");
    secret::declassify(&answer.ke2, "ke2");
    let done = state.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).expect("the right password");
    let waiting = ServerLogin::<Rfc9807>::from_bytes(answer.state.to_bytes().as_slice()).expect("the login's bytes");
    let ours = waiting.finish(&done.ke3, Some(&record)).expect("the right password").session_key;
    secret::declassify(ours.as_bytes(), "result");
    assert!(ours == done.session_key, "the result is wrong, so whatever ran was no OPAQUE");
}

/// The client's registration: OPRF, key stretching's entry, envelope.
pub(crate) fn register(_: Cpu) {
    let server = clean_server(Rfc9807);
    let (registration, request) = secret_registration(Rfc9807);
    let answer = server.register(&mut clean(9), &request).expect("a response");
    let done = registration
        .finish(&mut poisoned(2), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES)
        .expect("an upload");
    secret::declassify(&done.upload, "registration-upload");
    let record = answer.state.finish(&done.upload).expect("a record").into_record();
    log_in(&clean_client(Rfc9807), &server, &record);
}

pub(crate) fn rfc_start(_: Cpu) {
    start(Rfc9807, Rfc9807);
}

pub(crate) fn rfc_respond(_: Cpu) {
    respond(Rfc9807, Rfc9807, false);
}

pub(crate) fn rfc_finish(_: Cpu) {
    finish(Rfc9807, Rfc9807);
}

pub(crate) fn hybrid_start(_: Cpu) {
    start(Hybrid::new(SystemRandomness(SecretKem)), Hybrid::new(MlKem768));
}

pub(crate) fn hybrid_respond(_: Cpu) {
    respond(Hybrid::new(SystemRandomness(SecretKem)), Hybrid::new(MlKem768), false);
}

/// The same two logins in one pass.
pub(crate) fn hybrid_respond_many(_: Cpu) {
    respond(Hybrid::new(SystemRandomness(SecretKem)), Hybrid::new(MlKem768), true);
}

pub(crate) fn hybrid_finish(_: Cpu) {
    finish(Hybrid::new(SystemRandomness(SecretKem)), Hybrid::new(MlKem768));
}

fn clean_client<S: Suite<Static = NoKem>>(suite: S) -> Client<S> {
    Client::new(suite).with_limits(Limits::NONE)
}

fn clean_server<S: Suite<Static = NoKem>>(suite: S) -> Server<S> {
    Server::from_keys(suite, KsfParams::Identity, &SEED, &KEY).expect("a good key")
}

/// A record made without poison.
fn clean_record() -> Record {
    let (server, client) = (clean_server(Rfc9807), clean_client(Rfc9807));
    let password = Password::from_bytes(PASSWORD).expect("a good password");
    let (registration, request) = client.start_registration(&mut clean(3), &password).expect("a request");
    let answer = server.register(&mut clean(9), &request).expect("a response");
    let done = registration
        .finish(&mut clean(4), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES)
        .expect("an upload");
    answer.state.finish(&done.upload).expect("a record").into_record()
}

fn secret_registration<S: Suite<Static = NoKem>>(suite: S) -> (ClientRegistration, [u8; 32]) {
    secret::reset();
    let password = *PASSWORD;
    secret::poison(&password);
    let password = Password::from_bytes(&password).expect("a good password");
    let (state, request) = clean_client(suite).start_registration(&mut poisoned(1), &password).expect("a request");
    secret::declassify(&request, "blinded-element");
    (state, request)
}

fn secret_login<S: Suite<Static = NoKem>>(suite: S) -> (ClientLogin<S>, Vec<u8>) {
    secret::reset();
    let password = *PASSWORD;
    secret::poison(&password);
    let password = Password::from_bytes(&password).expect("a good password");
    let (state, ke1) = clean_client(suite).start_login(&mut poisoned(1), &password).expect("KE1");
    secret::declassify(&ke1, "ke1");
    (state, ke1)
}

/// The client up to KE1, which a clean server takes.
fn start<S: Suite<Static = NoKem>, C: Suite<Static = NoKem>>(suite: S, other: C) {
    let record = clean_record();
    let (_, ke1) = secret_login(suite);
    let answer = clean_server(other).respond(&mut clean(5), &ke1, USER, Some(&record), &PARTIES);
    assert!(answer.is_ok(), "the server refuses KE1, so whatever ran was no OPAQUE");
}

/// The client up to its keys.
fn finish<S: Suite<Static = NoKem>, C: Suite<Static = NoKem>>(suite: S, other: C) {
    let record = clean_record();
    let (state, ke1) = secret_login(suite);
    let answer = clean_server(other).respond(&mut clean(5), &ke1, USER, Some(&record), &PARTIES).expect("KE2");
    let done = state.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).expect("the right password");
    secret::declassify(&done.ke3, "ke3");
    secret::declassify(done.session_key.as_bytes(), "result");
    let theirs = answer.state.finish(&done.ke3, Some(&record)).expect("the server believes it").session_key;
    assert!(theirs == done.session_key, "the result is wrong, so whatever ran was no OPAQUE");
}

/// The server from KE1 to its keys, once for a user that there is and once for one that there isn't.
fn respond<S: Suite<Static = NoKem>, C: Suite<Static = NoKem>>(suite: S, other: C, in_one_pass: bool) {
    let (stored, client) = (clean_record().to_bytes(), clean_client(other));
    let password = Password::from_bytes(PASSWORD).expect("a good password");
    let (state, ke1) = client.start_login(&mut clean(6), &password).expect("KE1");
    secret::reset();
    let (seed, key) = (SEED, KEY);
    secret::poison(&seed);
    secret::poison(&key);
    // Masking key and envelope.
    secret::poison(&stored[47..207]);
    let mut server = Server::from_keys(suite, KsfParams::Identity, &seed, &key).expect("a good key");
    // Two sets of parameters, so that the one for an unknown user depends on the seed.
    server.adopt_ksf(KsfParams::argon2id(64, 1, 1).expect("good parameters"), 500).expect("a second set");
    let record = Record::from_bytes(&stored).expect("a record");
    let logins = [None, Some(&record)].map(|record| LoginStart { ke1: &ke1, name: USER, record, parties: &PARTIES });
    let [mut unknown, mut answer] = [None, None];
    if in_one_pass {
        server.respond_many(&mut poisoned(7), &logins, |at, done| *[&mut unknown, &mut answer][at] = done.ok());
    } else {
        unknown = server.respond(&mut poisoned(7), &ke1, USER, None, &PARTIES).ok();
        answer = server.respond(&mut poisoned(8), &ke1, USER, Some(&record), &PARTIES).ok();
    }
    let [unknown, answer] = [unknown, answer].map(|answer| answer.expect("KE2"));
    secret::declassify(&unknown.ke2, "ke2");
    secret::declassify(&answer.ke2, "ke2");
    let done = state.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).expect("the right password");
    assert!(unknown.state.finish(&done.ke3, Some(&record)).is_err(), "a user that there isn't was let in");
    let ours = answer.state.finish(&done.ke3, Some(&record)).expect("the right password").session_key;
    secret::declassify(ours.as_bytes(), "result");
    assert!(ours == done.session_key, "the result is wrong, so whatever ran was no OPAQUE");
}

/// The keys of two parties and passwords of one length, equal and not; only the answers are public.
pub(crate) fn compare(_: Cpu) {
    let (server, client) = (clean_server(Rfc9807), clean_client(Rfc9807));
    let (record, password) = (clean_record(), Password::from_bytes(PASSWORD).expect("a good password"));
    let keys = |number| {
        let (state, ke1) = client.start_login(&mut clean(number), &password).expect("KE1");
        let answer = server.respond(&mut clean(7), &ke1, USER, Some(&record), &PARTIES).expect("KE2");
        let done = state.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).expect("the right password");
        let theirs = answer.state.finish(&done.ke3, Some(&record)).expect("the server believes it").session_key;
        (done.session_key, theirs, done.export_key)
    };
    let ((session, theirs, export), (another, _, same)) = (keys(6), keys(9));
    secret::reset();
    for key in [&session, &theirs, &another] {
        secret::poison(key.as_bytes());
    }
    for key in [&export, &same] {
        secret::poison(key.as_bytes());
    }
    let (mut last, password) = (*PASSWORD, *PASSWORD);
    last[PASSWORD.len() - 1] ^= 1;
    secret::poison(&last);
    secret::poison(&password);
    let [last, first, other] =
        [&last, &password, PASSWORD].map(|bytes| Password::from_bytes(black_box(bytes)).expect("a good password"));
    let answers =
        [(session == theirs, 1), (session == another, 0), (export == same, 1), (first == other, 1), (first == last, 0)];
    for (answer, expected) in answers {
        assert_eq!(secret::declassified(u8::from(answer), "equality"), expected);
    }
    assert_eq!(secret::declassified(session.ct_eq(&theirs).unwrap_u8(), "equality"), 1);
}

fn log_in<S: Suite>(client: &Client<S>, server: &Server<S>, record: &Record) {
    let password = Password::from_bytes(PASSWORD).expect("a good password");
    let (state, ke1) = client.start_login(&mut clean(6), &password).expect("KE1");
    let answer = server.respond(&mut clean(7), &ke1, USER, Some(record), &PARTIES).expect("KE2");
    let done = state.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).expect("the right password");
    assert!(answer.state.finish(&done.ke3, Some(record)).is_ok(), "the result is wrong, so whatever ran was no OPAQUE");
}
