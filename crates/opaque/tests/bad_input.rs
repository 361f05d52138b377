//! What must fail: each change to a message, each wrong name, each mix-up. An error each time, no panic, no key.

use candor_opaque::error::{Input, StateError};
use candor_opaque::{
    Client, CredentialId, DefaultSuite, Error, Hybrid, HybridCompat, HybridPinned, Ksf, KsfParams, Limits,
    NoStretching, Parties, Password, Record, Rfc9807, Server, ServerLogin, ServerRegistration, SuiteId,
};
use candor_primitives::kem::KemError;
use candor_test_support::back_ends::system;
use proptest::prelude::*;
use world::{Edits, Make, MlKem768, PARTIES, PASSWORD, USER, World, every_suite, register};

mod world;

const NAMED: (&KsfParams, &Parties<'static>) = (&KsfParams::Identity, &PARTIES);

/// Flips a bit in every `step`th byte of every message.
fn refuses_flips<S: Make>(step: usize) {
    let world = S::world();
    for at in (0..S::KE1).step_by(step) {
        let outcome = world.edited(&Edits { ke1: &|ke1| ke1[at] ^= 1 << (at % 8), ..Edits::NONE });
        assert!(outcome.is_err(), "{}: KE1 byte {at}", S::NAME);
    }
    for at in (0..S::KE2).step_by(step) {
        let outcome = world.edited(&Edits { ke2: &|ke2| ke2[at] ^= 1 << (at % 8), ..Edits::NONE });
        let error = outcome.map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Login | Error::Element(_)), "{}: KE2 byte {at}: {error:?}", S::NAME);
        // Under the KEM nothing is told apart but the key share, which is in the clear.
        let share = 224..256;
        assert!(error == Error::Login || !S::ENCRYPTED || share.contains(&at), "{}: KE2 byte {at}", S::NAME);
    }
    for at in 0..S::KE3 {
        let outcome = world.edited(&Edits { ke3: &|ke3| ke3[at] ^= 1 << (at % 8), ..Edits::NONE });
        assert_eq!(outcome.map(|_| ()), Err(Error::Login), "{}: KE3 byte {at}", S::NAME);
    }
}

#[test]
fn every_byte_of_every_message_counts() {
    refuses_flips::<Rfc9807>(1);
    refuses_flips::<Hybrid<MlKem768>>(1);
    refuses_flips::<HybridCompat<MlKem768>>(7);
    refuses_flips::<HybridPinned<MlKem768>>(7);
}

#[test]
fn every_length_but_the_right_one_is_refused() {
    fn check<S: Make>() {
        let world = S::world();
        for length in [0, 1, 31, 32, 63, 65, 95, 97, 319, 321, 1279, 1281, 1407, 1409, 2367, 2369, 10000] {
            let resize = |bytes: &mut Vec<u8>| bytes.resize(length, 0);
            for (what, edits) in [
                (Input::Ke1, Edits { ke1: &resize, ..Edits::NONE }),
                (Input::Ke2, Edits { ke2: &resize, ..Edits::NONE }),
                (Input::Ke3, Edits { ke3: &resize, ..Edits::NONE }),
            ] {
                let error = world.edited(&edits).map(|_| ()).unwrap_err();
                assert!(
                    matches!(error, Error::Length { what: w, got, .. } if w == what && got == length),
                    "{what} of {length} bytes"
                );
            }
        }
    }
    every_suite!(check);
    let server = Rfc9807::world().server;
    for length in [0, 31, 33] {
        assert!(matches!(server.register(&mut system(), &vec![0; length]), Err(Error::Length { .. })));
    }
    for length in [0, 191, 193] {
        assert!(matches!(imported(&vec![0; length]), Err(Error::Length { .. })));
    }
    for length in [0, 206] {
        assert!(matches!(Record::from_bytes(&vec![0; length]), Err(Error::Length { .. })));
    }
    for length in [0, 1, 47] {
        assert!(matches!(ServerRegistration::from_bytes(&vec![1; length]), Err(Error::Length { .. })));
    }
    for length in [0, 161, 163] {
        assert!(matches!(ServerLogin::<Rfc9807>::from_bytes(&vec![0; length]), Err(Error::Length { .. })));
    }
}

/// A record of an upload that another implementation took.
fn imported(upload: &[u8]) -> Result<Record, Error> {
    Record::from_upload(upload, &KsfParams::Identity, CredentialId::imported(USER)?, SuiteId::Rfc9807)
}

/// Encodings that are no element: the identity, p, p + 1 (which would be 1), a negative one, all ones, and one that is on no curve.
fn no_elements() -> [[u8; 32]; 6] {
    let with = |first: u8, middle: u8, last: u8| {
        let mut bytes = [middle; 32];
        (bytes[0], bytes[31]) = (first, last);
        bytes
    };
    [[0; 32], with(0xed, 0xff, 0x7f), with(0xee, 0xff, 0x7f), with(1, 0, 0), [0xff; 32], with(0x26, 0x94, 0x7f)]
}

#[test]
fn bytes_that_are_not_an_element_are_refused_everywhere() {
    fn check<S: Make>() {
        let world = S::world();
        for bad in no_elements() {
            for at in [0, 64] {
                let edit = |ke1: &mut Vec<u8>| ke1[at..at + 32].copy_from_slice(&bad);
                let error = world.edited(&Edits { ke1: &edit, ..Edits::NONE }).map(|_| ()).unwrap_err();
                assert!(matches!(error, Error::Element(_)), "{}: KE1 at {at}", S::NAME);
            }
            for at in [0, 224] {
                let edit = |ke2: &mut Vec<u8>| ke2[at..at + 32].copy_from_slice(&bad);
                let error = world.edited(&Edits { ke2: &edit, ..Edits::NONE }).map(|_| ()).unwrap_err();
                assert!(matches!(error, Error::Element(_) | Error::Login), "{}: KE2 at {at}", S::NAME);
            }
        }
    }
    every_suite!(check);

    let world = Rfc9807::world();
    for bad in no_elements() {
        assert!(matches!(world.server.register(&mut system(), &bad), Err(Error::Element(_))));
        let mut upload = *world.record.upload();
        upload[..32].copy_from_slice(&bad);
        assert!(matches!(imported(&upload), Err(Error::Element(_))));
        assert!(imported(world.record.upload()).is_ok());
        let (_, request) =
            world.client.start_registration(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
        let registration = world.server.register(&mut system(), &request).unwrap().state;
        assert!(matches!(registration.finish(&upload), Err(Error::Element(_))));
        let mut stored = world.record.to_bytes().to_vec();
        stored[15..47].copy_from_slice(&bad);
        let stored = Record::from_bytes(&stored).unwrap();
        let refused = world.differing(PASSWORD, Some(&stored), USER, NAMED, &PARTIES);
        assert_eq!(refused, Err(Error::Record));
        for at in [0, 32] {
            let password = Password::from_bytes(PASSWORD).unwrap();
            let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
            let mut response = world.server.register(&mut system(), &request).unwrap().response;
            response[at..at + 32].copy_from_slice(&bad);
            let refused =
                registration.finish(&mut system(), &response, &KsfParams::Identity, &mut NoStretching, &PARTIES);
            assert!(matches!(refused, Err(Error::Element(_))));
        }
    }
}

#[test]
fn our_own_element_sent_back_is_refused() {
    let world = Rfc9807::world();
    let password = Password::from_bytes(PASSWORD).unwrap();
    let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
    let reflected = [request, *world.server.public_key()].concat();
    let refused = registration.finish(&mut system(), &reflected, &KsfParams::Identity, &mut NoStretching, &PARTIES);
    assert!(matches!(refused, Err(Error::Element(_))));
    let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
    let mut answer = world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
    answer.ke2[..32].copy_from_slice(&ke1[..32]);
    let refused = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES);
    assert!(matches!(refused, Err(Error::Element(_))));
}

#[test]
fn an_unreduced_kem_key_is_refused() {
    fn check<S: Make>() {
        if S::KE1 > 96 {
            let edit = |ke1: &mut Vec<u8>| ke1[96..99].fill(0xff);
            let outcome = S::world().edited(&Edits { ke1: &edit, ..Edits::NONE });
            assert_eq!(outcome.map(|_| ()), Err(Error::Kem(KemError::PublicKey)), "{}", S::NAME);
        }
    }
    every_suite!(check);
    assert!(matches!(
        Client::pinned(HybridPinned::<MlKem768>::default(), &[0xff; 1184]),
        Err(Error::Kem(KemError::PublicKey))
    ));
    assert!(matches!(Client::pinned(HybridPinned::<MlKem768>::default(), &[]), Err(Error::Kem(_))));
}

#[test]
fn every_byte_of_a_record_counts() {
    fn check<S: Make>() {
        let world = S::world();
        // The upload and the credential identifier.
        for at in (15..Record::LENGTH).step_by(if S::ENCRYPTED { 5 } else { 1 }) {
            let mut stored = world.record.to_bytes().to_vec();
            stored[at] ^= 1 << (at % 8);
            let record = Record::from_bytes(&stored).unwrap();
            let error = world.differing(PASSWORD, Some(&record), USER, NAMED, &PARTIES).unwrap_err();
            assert!(matches!(error, Error::Login | Error::Record), "{}: byte {at}", S::NAME);
        }
    }
    every_suite!(check);
}

#[test]
fn wrong_passwords_users_contexts_and_names_all_end_in_the_same_error() {
    fn check<S: Make>() {
        let world = S::world();
        let real = Some(&world.record);
        let outcome = |password: &[u8], record, id: &[u8], client: &Parties<'_>, server: &Parties<'_>| {
            world.differing(password, record, id, (&KsfParams::Identity, client), server)
        };
        assert!(outcome(PASSWORD, real, USER, &PARTIES, &PARTIES).is_ok(), "{}", S::NAME);
        let refused = [
            ("password", outcome(b"wrong", real, USER, &PARTIES, &PARTIES)),
            ("no account", outcome(PASSWORD, None, USER, &PARTIES, &PARTIES)),
            ("no account, wrong password", outcome(b"wrong", None, USER, &PARTIES, &PARTIES)),
        ];
        for (what, outcome) in refused {
            assert_eq!(outcome, Err(Error::Login), "{}: {what}", S::NAME);
        }
        for other in [
            Parties { context: b"candor test", ..PARTIES },
            Parties { context: b"", ..PARTIES },
            Parties { client: Some(b"bob"), ..PARTIES },
            Parties { client: None, ..PARTIES },
            Parties { server: Some(b"example.com"), ..PARTIES },
            Parties { server: None, ..PARTIES },
            // The same bytes, cut elsewhere.
            Parties { context: b"candor testsalice", client: Some(b""), ..PARTIES },
        ] {
            assert_eq!(outcome(PASSWORD, real, USER, &other, &PARTIES), Err(Error::Login), "{}: {other:?}", S::NAME);
            assert_eq!(outcome(PASSWORD, real, USER, &PARTIES, &other), Err(Error::Login), "{}: {other:?}", S::NAME);
        }
    }
    every_suite!(check);
}

#[test]
fn messages_of_other_logins_are_refused() {
    fn check<S: Make>() {
        let world = S::world();
        let (other_record, _) = register(&world.server, &world.client, PASSWORD);
        let password = Password::from_bytes(PASSWORD).unwrap();
        let begin = |record: &Record| {
            let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
            let answer = world.server.respond(&mut system(), &ke1, USER, Some(record), &PARTIES).unwrap();
            (login, answer)
        };
        let finish = |login: candor_opaque::ClientLogin<S>, ke2: &[u8]| {
            login.finish(ke2, &KsfParams::Identity, &mut NoStretching, &PARTIES)
        };
        // KE2 of the same user's other login, and of another user's.
        let (first, second) = (begin(&world.record), begin(&world.record));
        assert_eq!(finish(first.0, &second.1.ke2).map(|_| ()), Err(Error::Login), "{}", S::NAME);
        let (third, others) = (begin(&world.record), begin(&other_record));
        assert_eq!(finish(third.0, &others.1.ke2).map(|_| ()), Err(Error::Login), "{}", S::NAME);
        // KE3 of another login, and KE3 again where it was right once.
        let (fourth, fifth) = (begin(&world.record), begin(&world.record));
        let done = finish(fourth.0, &fourth.1.ke2).unwrap();
        assert_eq!(fifth.1.state.finish(&done.ke3, Some(&world.record)).map(|_| ()), Err(Error::Login), "{}", S::NAME);
        let session = fourth.1.state.finish(&done.ke3, Some(&world.record)).unwrap();
        assert_eq!(session.session_key, done.session_key);
        // KE1 sent twice: both answers are good for the client that sent it, with different keys, and only for it.
        let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
        let answer = || world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
        let (one, replayed) = (answer(), answer());
        assert_ne!(one.ke2, replayed.ke2);
        let done = finish(login, &one.ke2).unwrap();
        assert_eq!(replayed.state.finish(&done.ke3, Some(&world.record)).map(|_| ()), Err(Error::Login), "{}", S::NAME);
        assert!(one.state.finish(&done.ke3, Some(&world.record)).is_ok());
    }
    every_suite!(check);
}

#[test]
fn suites_do_not_understand_each_other() {
    let compat = HybridCompat::<MlKem768>::world();
    let keys = compat.server.to_bytes().unwrap();
    let hybrid = compat.server.to_suite(DefaultSuite::default(), &mut system()).unwrap();
    let password = Password::from_bytes(PASSWORD).unwrap();
    // Their messages have the same lengths; the same keys and record are on the other side.
    let (login, ke1) = compat.client.start_login(&mut system(), &password).unwrap();
    let answer = hybrid.respond(&mut system(), &ke1, USER, Some(&compat.record), &PARTIES).unwrap();
    let refused = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).unwrap_err();
    assert!(matches!(refused, Error::Login | Error::Element(_)));
    let (login, ke1) = world::plain_client::<DefaultSuite>().start_login(&mut system(), &password).unwrap();
    let answer = compat.server.respond(&mut system(), &ke1, USER, Some(&compat.record), &PARTIES).unwrap();
    let refused = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).unwrap_err();
    assert_eq!(refused, Error::Login);
    // Saved states and keys know their suite.
    let state = answer.state.to_bytes();
    assert_eq!(
        ServerLogin::<DefaultSuite>::from_bytes(state.as_slice()).map(|_| ()).unwrap_err(),
        Error::State(StateError::Suite)
    );
    assert_eq!(
        Server::from_bytes(DefaultSuite::default(), &keys).map(|_| ()).unwrap_err(),
        Error::State(StateError::Suite)
    );
    let mut newer = keys.to_vec();
    newer[0] += 1;
    let refused = Server::from_bytes(HybridCompat::<MlKem768>::default(), &newer);
    assert_eq!(refused.map(|_| ()).unwrap_err(), Error::State(StateError::Version));
}

#[test]
fn a_clients_saved_state_knows_its_version_and_suite() {
    let compat = HybridCompat::<MlKem768>::world();
    let password = Password::from_bytes(PASSWORD).unwrap();
    let (login, ke1) = compat.client.start_login(&mut system(), &password).unwrap();
    let saved = login.to_bytes().unwrap();
    assert!(compat.client.resume_login(&saved, &password).is_ok());
    let hybrid = world::plain_client::<DefaultSuite>();
    assert_eq!(hybrid.resume_login(&saved, &password).unwrap_err(), Error::State(StateError::Suite));
    let (mut newer, mut zero) = (saved.to_vec(), saved.to_vec());
    newer[0] += 1;
    assert_eq!(compat.client.resume_login(&newer, &password).unwrap_err(), Error::State(StateError::Version));
    zero[2..34].fill(0);
    assert_eq!(compat.client.resume_login(&zero, &password).unwrap_err(), Error::Scalar);
    let short = compat.client.resume_login(&saved[1..], &password);
    assert!(matches!(short, Err(Error::Length { what: Input::ClientLogin, .. })));
    // Another password than the one that the login was started with.
    let other = compat.client.resume_login(&saved, &Password::from_bytes(b"wrong").unwrap()).unwrap();
    let answer = compat.server.respond(&mut system(), &ke1, USER, Some(&compat.record), &PARTIES).unwrap();
    let refused = other.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES);
    assert_eq!(refused.unwrap_err(), Error::Login);

    let (registration, _) = compat.client.start_registration(&mut system(), &password).unwrap();
    let saved = registration.to_bytes();
    assert!(compat.client.resume_registration(saved.as_slice(), &password).is_ok());
    let mut newer = *saved;
    newer[0] += 1;
    let refused = compat.client.resume_registration(&newer, &password);
    assert_eq!(refused.unwrap_err(), Error::State(StateError::Version));
    assert!(matches!(compat.client.resume_registration(&saved[1..], &password), Err(Error::Length { .. })));
}

#[test]
fn the_hybrid_binds_the_stretching_parameters() {
    fn check<S: Make>() {
        let world = S::world();
        // The same work either way: what differs is what the client was told.
        let told = (&KsfParams::BROWSER, &PARTIES);
        let outcome = world.differing(PASSWORD, Some(&world.record), USER, told, &PARTIES);
        assert_eq!(outcome.is_err(), S::ENCRYPTED, "{}", S::NAME);
    }
    every_suite!(check);
    // The other suites do it by their context.
    let world = Rfc9807::world();
    let bound = |params| candor_opaque::context_with(&params, PARTIES.context);
    let (ours, theirs) = (bound(KsfParams::BROWSER), bound(KsfParams::Identity));
    let (client, server) = (Parties { context: &ours, ..PARTIES }, Parties { context: &theirs, ..PARTIES });
    let told = (&KsfParams::BROWSER, &client);
    assert_eq!(world.differing(PASSWORD, Some(&world.record), USER, told, &server), Err(Error::Login));
}

#[test]
fn nothing_is_stretched_outside_the_limits() {
    struct NotToBeCalled;
    impl Ksf for NotToBeCalled {
        fn stretch(&mut self, _: &KsfParams, _: &[u8; 64], _: &mut [u8; 64]) -> Result<(), Error> {
            panic!("stretched before the parameters were checked")
        }
    }
    let world = DefaultSuite::world();
    let client = Client::<DefaultSuite>::default();
    let password = Password::from_bytes(PASSWORD).unwrap();
    let dear = KsfParams::argon2id(u32::MAX, u32::MAX, 1).unwrap();
    let weak = KsfParams::argon2id(1024, 1, 1).unwrap();
    for params in [KsfParams::Identity, dear, weak] {
        let (login, ke1) = client.start_login(&mut system(), &password).unwrap();
        let answer = world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
        let refused = login.finish(&answer.ke2, &params, &mut NotToBeCalled, &PARTIES);
        assert!(matches!(refused, Err(Error::Limits(_))), "{params:?}");
        let (registration, request) = client.start_registration(&mut system(), &password).unwrap();
        let response = world.server.register(&mut system(), &request).unwrap().response;
        let refused = registration.finish(&mut system(), &response, &params, &mut NotToBeCalled, &PARTIES);
        assert!(matches!(refused, Err(Error::Limits(_))), "{params:?}");
    }
    // A function that can't do what is asked says so.
    let world = Rfc9807::world();
    let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
    let answer = world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
    let refused = login.finish(&answer.ke2, &KsfParams::BROWSER, &mut NoStretching, &PARTIES);
    assert!(matches!(refused, Err(Error::Ksf(_))));
    assert_eq!(Limits::default(), Limits::DEFAULT);
}

#[test]
fn an_unknown_user_looks_like_a_known_one() {
    fn check<S: Make>() {
        let world = S::world();
        let mut server = world.server;
        server.adopt_ksf(KsfParams::NATIVE, 500).unwrap();
        let (_, ke1) = world.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
        let told = |id: &[u8]| {
            let answer = server.respond(&mut system(), &ke1, id, None, &PARTIES).unwrap();
            assert_eq!(answer.ke2.len(), S::KE2);
            answer.ksf
        };
        let all: Vec<KsfParams> = (0..32u8).map(|id| told(&[id])).collect();
        let both = [KsfParams::Identity, KsfParams::NATIVE];
        assert!(both.iter().all(|params| all.contains(params)), "{}: only one of two is ever told", S::NAME);
        assert!((0..32u8).all(|id| told(&[id]) == all[usize::from(id)]), "{}: not always the same", S::NAME);
    }
    every_suite!(check);
}

/// In the suite of the RFC the evaluated element is in the clear: asked twice with the same blinded element, a name without an account must
/// give the same answer, as an account does.
#[test]
fn an_unknown_user_has_an_oprf_key_of_its_own() {
    let world = Rfc9807::world();
    let (_, ke1) = world.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
    let evaluated = |name: &[u8], record| {
        world.server.respond(&mut system(), &ke1, name, record, &PARTIES).unwrap().ke2[..32].to_vec()
    };
    assert_eq!(evaluated(b"nobody", None), evaluated(b"nobody", None));
    assert_ne!(evaluated(b"nobody", None), evaluated(b"somebody", None));
    assert_eq!(evaluated(USER, Some(&world.record)), evaluated(USER, Some(&world.record)));
}

/// Somebody who has all of the server's keys but that of the KEM, as if he had broken the curve, can't pass for the server to a client
/// that holds its KEM key.
#[test]
fn a_pinned_kem_key_is_needed_to_answer() {
    let honest = HybridPinned::<MlKem768>::world();
    let other = HybridPinned::<MlKem768>::world();
    let (ours, theirs) = (honest.server.to_bytes().unwrap(), other.server.to_bytes().unwrap());
    // Version, suite, seed, key, one set of parameters: then come the KEM's keys.
    let stolen = [&ours[..114], &theirs[114..]].concat();
    let server = Server::from_bytes(HybridPinned::<MlKem768>::default(), &stolen).unwrap();
    assert_eq!(server.public_key(), honest.server.public_key());
    let world = World { server, ..honest };
    assert_eq!(world.login().map(|_| ()), Err(Error::Login));
}

#[test]
fn names_that_do_not_fit_are_refused() {
    let world = Rfc9807::world();
    let long = vec![0; 65536];
    for parties in [
        Parties { context: &long, ..PARTIES },
        Parties { client: Some(&long), ..PARTIES },
        Parties { server: Some(&long), ..PARTIES },
    ] {
        let told = (&KsfParams::Identity, &parties);
        let refused = world.differing(PASSWORD, Some(&world.record), USER, told, &PARTIES);
        assert!(matches!(refused, Err(Error::TooLong { got: 65536, .. })));
        let refused = world.differing(PASSWORD, Some(&world.record), USER, NAMED, &parties);
        assert!(matches!(refused, Err(Error::TooLong { got: 65536, .. })));
    }
    assert!(matches!(CredentialId::imported(&long), Err(Error::TooLong { got: 65536, .. })));
    assert!(CredentialId::imported(&long[1..]).is_ok());
    let (_, ke1) = world.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
    let refused = world.server.respond(&mut system(), &ke1, &long, None, &PARTIES);
    assert!(matches!(refused, Err(Error::TooLong { what: Input::Name, .. })));
}

#[test]
fn secrets_are_not_printed() {
    let world = DefaultSuite::world();
    let password = Password::from_bytes(PASSWORD).unwrap();
    let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
    let answer = world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
    let id = world.record.credential_id();
    let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
    let registering = world.server.register(&mut system(), &request).unwrap();
    let secrets = [
        id.as_bytes().to_vec(),
        world.record.upload().to_vec(),
        answer.state.to_bytes()[34..].to_vec(),
        login.to_bytes().unwrap()[2..].to_vec(),
        registration.to_bytes()[1..].to_vec(),
        world.server.to_bytes().unwrap()[2..].to_vec(),
        world.export_key.as_bytes().to_vec(),
    ];
    let printed = format!(
        "{:?} {login:?} {answer:?} {:?} {:?} {:?} {id:?} {registration:?} {registering:?} {:?}",
        world.server,
        answer.state,
        world.login().unwrap(),
        world.record,
        world.export_key,
    );
    for word in printed.split(|c: char| !c.is_ascii_hexdigit()) {
        assert!(word.len() < 12, "{word} in {printed}");
    }
    // As a list of numbers, which is how arrays are printed.
    let shows = |printed: &str, secret: &[u8]| {
        let list = |bytes: &[u8]| format!("{bytes:?}").trim_matches(['[', ']']).to_owned();
        secret.chunks_exact(8).any(|bytes| printed.contains(&list(bytes)))
    };
    for secret in &secrets {
        assert!(!shows(&printed, secret), "{printed}");
        assert!(shows(&format!("{secret:?}"), secret));
    }
    assert_eq!(format!("{password:?}"), "Password(..)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever bytes come, nobody panics and nobody is let in.
    #[test]
    fn arbitrary_messages_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2400), cut in 0..4usize) {
        let length = [96, 1280, 320, 1408][cut];
        let mut bytes = bytes;
        bytes.resize(length, 7);
        let world = DefaultSuite::world();
        if let Ok(answer) = world.server.respond(&mut system(), &bytes, USER, Some(&world.record), &PARTIES) {
            prop_assert!(answer.state.finish(&bytes[..64], Some(&world.record)).is_err());
        }
        let (login, _) = world.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
        prop_assert!(login.finish(&bytes, &KsfParams::Identity, &mut NoStretching, &PARTIES).is_err());
    }
}
