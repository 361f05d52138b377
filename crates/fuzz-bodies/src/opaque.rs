//! Messages, stored states and passwords of OPAQUE.
//!
//! The server's keys and the user's record are the same in every process, so that a corpus stays meaningful.

use candor_opaque::suite::NoKem;
use candor_opaque::{
    Client, ClientLogin, CredentialId, Hybrid, HybridCompat, KsfParams, Limits, NoStretching, Parties, Password,
    Record, Rfc9807, Server, ServerLogin, ServerRegistration, Suite, SuiteId, SystemRandomness,
};
use candor_primitives::kem::aws_lc;
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;

type MlKem768 = SystemRandomness<aws_lc::MlKem768>;

const USER: &[u8] = b"account 17";
const PASSWORD: &[u8] = b"correct horse battery staple";

/// A KE1 from anywhere reaches a server of each suite. Nobody panics; what is answered is answered alike for a known and an unknown user;
/// and no KE3 made without the password is believed.
pub fn ke1(data: &[u8]) {
    fn check<S: Suite<Static = NoKem>>(suite: S, data: &[u8]) {
        let (server, record) = world(suite);
        let respond = |record| server.respond(&mut Counter(9), data, USER, record, &Parties::default());
        match (respond(Some(&record)), respond(None)) {
            (Ok(known), Ok(unknown)) => {
                assert!(data.len() == S::KE1 && known.ke2.len() == S::KE2 && unknown.ke2.len() == S::KE2);
                assert!(known.state.finish(&data[..64], Some(&record)).is_err());
                assert!(unknown.state.finish(&data[..64], Some(&record)).is_err());
            }
            (Err(known), Err(unknown)) => assert!(known == unknown, "{}: the error tells who exists", S::NAME),
            _ => panic!("{}: whether there is an answer tells who exists", S::NAME),
        }
    }
    check(Rfc9807, data);
    check(HybridCompat::<MlKem768>::default(), data);
    check(Hybrid::<MlKem768>::default(), data);
}

/// A KE2 from anywhere reaches a client that has just started: it believes none but what the server would have sent, which without a
/// KEM is the same in every run. The first byte chooses the suite.
pub fn ke2(data: &[u8]) {
    fn check<S: Suite<Static = NoKem>>(suite: S, data: &[u8]) {
        let (server, record) = world(suite.clone());
        let (login, ke1) = client(suite).start_login(&mut Counter(7), &password()).expect("a good password");
        if login.finish(data, &KsfParams::Identity, &mut NoStretching, &Parties::default()).is_ok() {
            let answer = server.respond(&mut Counter(9), &ke1, USER, Some(&record), &Parties::default());
            let honest = answer.is_ok_and(|answer| answer.ke2 == *data);
            assert!(honest, "{} believed a KE2 that no server made", S::NAME);
        }
    }
    let Some((choice, data)) = data.split_first() else { return };
    match choice % 3 {
        0 => check(Rfc9807, data),
        1 => check(HybridCompat::<MlKem768>::default(), data),
        _ => check(Hybrid::<MlKem768>::default(), data),
    }
}

/// What a server stores or is sent at registration: requests, uploads, records, saved states, saved keys, parameters. What is taken comes back
/// as the same bytes.
pub fn stored(data: &[u8]) {
    let (server, _) = world(Rfc9807);
    if let Ok(answer) = server.register(&mut Counter(4), data) {
        assert!(data.len() == 32 && answer.response[32..] == server.public_key()[..]);
    }
    if let Ok(state) = ServerRegistration::from_bytes(data) {
        // The name of the replaced record counts for nothing where none is replaced.
        assert!(state.to_bytes().len() == data.len() && (data[2] == 0 || state.to_bytes()[..] == *data));
    }
    if let Ok(login) = client(Rfc9807).resume_login(data, &password()) {
        assert!(login.to_bytes().expect("no KEM to fail")[..] == *data && data.len() == ClientLogin::<Rfc9807>::LENGTH);
    }
    if let Ok(registration) = client(Rfc9807).resume_registration(data, &password()) {
        assert!(registration.to_bytes()[..] == *data);
    }
    if let Ok(record) = Record::from_upload(data, &KsfParams::BROWSER, id(), SuiteId::Rfc9807) {
        assert!(record.upload()[..] == *data && record.ksf() == KsfParams::BROWSER);
    }
    if let Ok(record) = Record::from_bytes(data) {
        assert!(record.to_bytes()[..] == *data);
        let (_, ke1) = client(Rfc9807).start_login(&mut Counter(7), &password()).expect("a good password");
        // Refused if its key is none, and answered otherwise; never a panic.
        let _ = server.respond(&mut Counter(9), &ke1, USER, Some(&record), &Parties::default());
    }
    if let Ok(state) = ServerLogin::<Rfc9807>::from_bytes(data) {
        assert!(state.to_bytes()[..] == *data);
    }
    if let Ok(params) = KsfParams::from_bytes(data) {
        assert!(params.to_bytes()[..] == *data);
        let _ = Limits::DEFAULT.check(&params);
    }
    if let Ok(server) = Server::from_bytes(Rfc9807, data) {
        assert!(server.to_bytes().expect("no KEM to fail")[..] == *data);
    }
}

/// A response from anywhere reaches a client that registers: nobody panics, and what comes of it is well formed.
pub fn registration_response(data: &[u8]) {
    let (registration, _) = client(Rfc9807).start_registration(&mut Counter(7), &password()).expect("a good password");
    let outcome =
        registration.finish(&mut Counter(8), data, &KsfParams::Identity, &mut NoStretching, &Parties::default());
    if let Ok(done) = outcome {
        assert!(data.len() == 64 && done.server_public_key[..] == data[32..]);
        assert!(Record::from_upload(&done.upload, &KsfParams::Identity, id(), SuiteId::Rfc9807).is_ok());
    }
}

/// A text from anywhere as a password: taken, it is what it was prepared to, and preparing it again changes nothing.
pub fn password_text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(password) = Password::from_text(text) {
        let prepared = str::from_utf8(password.as_bytes()).expect("it is still text");
        assert!(Password::from_text(prepared).expect("prepared once, it can be prepared again") == password);
    }
}

/// Good inputs, to start corpora with: the body's name and the bytes.
pub fn honest() -> Vec<(&'static str, Vec<u8>)> {
    fn messages<S: Suite<Static = NoKem>>(suite: S, choice: u8, out: &mut Vec<(&'static str, Vec<u8>)>) {
        let (server, record) = world(suite.clone());
        let (_, ke1) = client(suite).start_login(&mut Counter(7), &password()).expect("a good password");
        let parties = Parties::default();
        let answer = server.respond(&mut Counter(9), &ke1, USER, Some(&record), &parties).expect("an honest KE1");
        out.push(("opaque_ke1", ke1));
        out.push(("opaque_ke2", [&[choice][..], &answer.ke2].concat()));
    }
    let mut all = Vec::new();
    messages(Rfc9807, 0, &mut all);
    messages(HybridCompat::<MlKem768>::default(), 1, &mut all);
    messages(Hybrid::<MlKem768>::default(), 2, &mut all);
    let (server, record) = world(Rfc9807);
    let (_, request) = client(Rfc9807).start_registration(&mut Counter(7), &password()).expect("a good password");
    let response = server.register_with_id(id(), &request).expect("an honest request").response;
    all.push(("opaque_registration_response", response.to_vec()));
    let stored: [&[u8]; 5] = [
        &request,
        record.upload(),
        &record.to_bytes(),
        &KsfParams::NATIVE.to_bytes(),
        &server.to_bytes().expect("no KEM to fail"),
    ];
    all.extend(stored.into_iter().map(|bytes| ("opaque_stored", bytes.to_vec())));
    let texts = ["cafe\u{301} au lait", "\u{3000}\u{212b}\u{fb01}", "\u{1100}\u{1161}\u{11a8}"];
    all.extend(texts.into_iter().map(|text| ("opaque_password_text", text.as_bytes().to_vec())));
    all
}

fn id() -> CredentialId {
    CredentialId::imported(USER).expect("it is short")
}

fn password() -> Password<'static> {
    Password::from_bytes(PASSWORD).expect("it is neither empty nor long")
}

fn client<S: Suite<Static = NoKem>>(suite: S) -> Client<S> {
    Client::new(suite).with_limits(Limits::NONE)
}

/// A server with fixed keys, and the record of its one user.
fn world<S: Suite<Static = NoKem>>(suite: S) -> (Server<S>, Record) {
    let mut key = [0; 32];
    key[0] = 3;
    let server = Server::from_keys(suite.clone(), KsfParams::Identity, &[5; 64], &key).expect("3 is a scalar");
    let (registration, request) =
        client(suite).start_registration(&mut Counter(1), &password()).expect("a good password");
    let answer = server.register_with_id(id(), &request).expect("an honest request");
    let done = registration
        .finish(&mut Counter(2), &answer.response, &KsfParams::Identity, &mut NoStretching, &Parties::default())
        .expect("an honest response");
    (server, answer.state.finish(&done.upload).expect("an honest upload").into_record())
}

/// A generator that counts: the same in every run.
struct Counter(u8);

impl TryRng for Counter {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0 = self.0.wrapping_add(1);
        Ok(u32::from(self.0))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.try_next_u32().map(u64::from)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for byte in out {
            self.0 = self.0.wrapping_mul(5).wrapping_add(1);
            *byte = self.0;
        }
        Ok(())
    }
}

impl TryCryptoRng for Counter {}
