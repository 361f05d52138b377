//! OPAQUE, step by step: password, blind, OPRF seed, server's key, masking key and envelope, KEM keys.

use super::anywhere;
use crate::case::{Case, Leaves};
use crate::probe::{Generator, Probe, step};
use candor_opaque::suite::NoKem;
use candor_opaque::{
    Answer, Client, ClientLogin, ClientRegistration, Hybrid, KsfParams, Limits, NoStretching, Parties, Password,
    Record, Rfc9807, Server, ServerLogin, ServerRegistration, Session, Suite,
};
use candor_primitives::kem::libcrux::MlKem768;

const PARTIES: Parties<'static> = Parties { context: b"residue", client: None, server: Some(b"example.org") };
const USER: &[u8] = b"account 17";

pub(super) fn cases() -> Vec<Case> {
    vec![
        anywhere("opaque/password", password, &[]),
        anywhere("opaque/rfc9807", |probe, _| logins(probe, Rfc9807), BATCHES),
        anywhere("opaque/hybrid", |probe, _| logins(probe, Hybrid::new(MlKem768)), BATCHES),
    ]
}

/// What dalek leaves on the heap when it encodes elements, in all steps that do: about 270 bytes an element.
const BATCHES: &[Leaves] = &[
    Leaves { step: "server's keys", stack: 0, heap: 500, names: &[], why: BATCH },
    Leaves { step: "client starts to register", stack: 0, heap: 260, names: &[], why: BATCH },
    Leaves { step: "client registers", stack: 0, heap: 260, names: &[], why: BATCH },
    Leaves { step: "client starts", stack: 0, heap: 540, names: &[], why: BATCH },
    Leaves { step: "server responds", stack: 0, heap: 1400, names: &[], why: BATCH },
    Leaves { step: "server responds to an unknown user", stack: 0, heap: 1400, names: &[], why: BATCH },
    Leaves { step: "client finishes", stack: 0, heap: 1120, names: &[], why: BATCH },
    Leaves {
        step: "server stores",
        stack: 7,
        heap: 0,
        names: &[],
        why: "bytes beside the tag of an enum that is moved, copied with whatever lay there before",
    },
];
const BATCH: &str = "dalek's `double_and_compress_batch` frees the coordinates of halved points without wiping them";

/// As a user types it, in ASCII and otherwise.
fn password(probe: &mut Probe, _: candor_cpu::Cpu) {
    let letters: [u8; 12] = probe.secret::<12>("password").map(|byte| b'a' + byte % 26);
    probe.know("password", &letters);
    let letters = String::from_utf8(letters.to_vec()).expect("letters");
    for (name, text) in [("ascii", letters.clone()), ("unicode", format!("pa\u{308}ss{letters}"))] {
        let mut made =
            Some(step!(probe, name, [text: &str = &text], Password::from_text(text)).expect("a good password"));
        step!(probe, "drop", [made: &mut Option<Password<'_>> = &mut made], *made = None);
    }
}

fn logins<S: Suite<Static = NoKem>>(probe: &mut Probe, suite: S) {
    let (seed, key): ([u8; 64], [u8; 32]) = (probe.secret("OPRF seed"), probe.scalar("server's key"));
    let typed: [u8; 17] = probe.secret("password");
    let password = Password::from_bytes(&typed).expect("a good password");
    let client = Client::new(suite.clone()).with_limits(Limits::NONE);
    let server = step!(probe, "server's keys", [suite: S = suite, seed: &[u8; 64] = &seed, key: &[u8; 32] = &key], {
        Server::from_keys(suite, KsfParams::Identity, seed, key)
    })
    .expect("a good key");
    probe.public(server.public_key());
    let record = register(probe, &client, &server, &password);
    login(probe, &client, &server, &password, &record);
    unknown(probe, &client, &server, &password);
    let (mut server, mut record) = (Some(server), Some(record));
    step!(probe, "drop record", [record: &mut Option<Record> = &mut record], *record = None);
    step!(probe, "drop server", [server: &mut Option<Server<S>> = &mut server], *server = None);
}

fn register<S: Suite<Static = NoKem>>(
    probe: &mut Probe,
    client: &Client<S>,
    server: &Server<S>,
    password: &Password<'_>,
) -> Record {
    let mut of_client = probe.generator("client, registration");
    let mut of_server = probe.generator("server, registration");
    let (state, request) = step!(probe, "client starts to register", [client: &Client<S> = client, random: &mut Generator = &mut of_client, password: &Password<'_> = password], {
        client.start_registration(random, password)
    }).expect("a request");
    probe.public(&request);
    let saved = step!(probe, "client's registration saved", [state: &ClientRegistration = &state], state.to_bytes());
    let state = step!(probe, "client's registration read", [client: &Client<S> = client, saved: &[u8] = saved.as_slice(), password: &Password<'_> = password], {
        client.resume_registration(saved, password)
    }).expect("its state");
    let answer = step!(probe, "server registers", [server: &Server<S> = server, random: &mut Generator = &mut of_server, request: &[u8] = &request], {
        server.register(random, request)
    }).expect("a response");
    probe.public(&answer.response);
    let done = step!(probe, "client registers", [state: ClientRegistration = state, random: &mut Generator = &mut of_client, response: &[u8] = &answer.response, ksf: &KsfParams = &answer.ksf], {
        state.finish(random, response, ksf, &mut NoStretching, &PARTIES)
    }).expect("an upload");
    probe.public(&done.upload[..32]);
    let change = step!(probe, "server stores", [state: ServerRegistration = answer.state, upload: &[u8] = &done.upload], state.finish(upload)).expect("a record");
    let record = change.into_record();
    // Of what the server knows anyway: it names the registration and opens nothing.
    probe.public(record.credential_hash().as_bytes());
    let bytes = step!(probe, "record saved", [record: &Record = &record], record.to_bytes());
    step!(probe, "record read", [bytes: &[u8] = &bytes], Record::from_bytes(bytes)).expect("a record")
}

fn login<S: Suite<Static = NoKem>>(
    probe: &mut Probe,
    client: &Client<S>,
    server: &Server<S>,
    password: &Password<'_>,
    record: &Record,
) {
    let mut of_client = probe.generator("client, login");
    let mut of_server = probe.generator("server, login");
    let (state, ke1) = start(probe, client, &mut of_client, password);
    let saved =
        step!(probe, "client's login saved", [state: &ClientLogin<S> = &state], state.to_bytes()).expect("its bytes");
    let state = step!(probe, "client's login read", [client: &Client<S> = client, saved: &[u8] = &saved, password: &Password<'_> = password], {
        client.resume_login(saved, password)
    }).expect("its state");
    let answer = respond(probe, "server responds", server, &mut of_server, &ke1, Some(record));
    let done = step!(probe, "client finishes", [state: ClientLogin<S> = state, ke2: &[u8] = &answer.ke2, ksf: &KsfParams = &answer.ksf], {
        state.finish(ke2, ksf, &mut NoStretching, &PARTIES)
    }).expect("the right password");
    probe.public(&done.ke3);
    probe.know("session key", done.session_key.as_bytes());
    let saved = step!(probe, "server's login saved", [state: &ServerLogin<S> = &answer.state], state.to_bytes());
    let state =
        step!(probe, "server's login read", [saved: &[u8] = saved.as_slice()], ServerLogin::<S>::from_bytes(saved))
            .expect("its bytes");
    let session = step!(probe, "server finishes", [state: ServerLogin<S> = state, ke3: &[u8] = &done.ke3, record: Option<&Record> = Some(record)], {
        state.finish(ke3, record)
    }).expect("the right password");
    assert!(session.session_key == done.session_key, "the keys differ");
    let mut session = Some(session);
    step!(probe, "drop session", [session: &mut Option<Session> = &mut session], *session = None);
    let mut done = Some(done);
    step!(probe, "drop client's keys", [done: &mut Option<candor_opaque::LoggedIn> = &mut done], *done = None);
}

/// A user that there isn't.
fn unknown<S: Suite<Static = NoKem>>(
    probe: &mut Probe,
    client: &Client<S>,
    server: &Server<S>,
    password: &Password<'_>,
) {
    let mut of_client = probe.generator("client, unknown");
    let mut of_server = probe.generator("server, unknown");
    let (state, ke1) = start(probe, client, &mut of_client, password);
    let answer = respond(probe, "server responds to an unknown user", server, &mut of_server, &ke1, None);
    // How far it comes depends on what it decrypts to, so two runs can't be compared.
    let refused = state.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES);
    assert!(refused.is_err(), "a user that there isn't was let in");
}

fn start<S: Suite<Static = NoKem>>(
    probe: &mut Probe,
    client: &Client<S>,
    random: &mut Generator,
    password: &Password<'_>,
) -> (ClientLogin<S>, Vec<u8>) {
    let (state, ke1) = step!(probe, "client starts", [client: &Client<S> = client, random: &mut Generator = random, password: &Password<'_> = password], {
        client.start_login(random, password)
    }).expect("KE1");
    probe.public(&ke1);
    (state, ke1)
}

fn respond<S: Suite<Static = NoKem>>(
    probe: &mut Probe,
    name: &'static str,
    server: &Server<S>,
    random: &mut Generator,
    ke1: &[u8],
    record: Option<&Record>,
) -> Answer<S> {
    let answer = step!(probe, name, [server: &Server<S> = server, random: &mut Generator = random, ke1: &[u8] = ke1, record: Option<&Record> = record], {
        server.respond(random, ke1, USER, record, &PARTIES)
    }).expect("KE2");
    probe.public(&answer.ke2);
    answer
}
