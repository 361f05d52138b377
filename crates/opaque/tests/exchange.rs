//! What must succeed: registration and login in every suite, and the sizes.

use candor_opaque::{
    Argon2id, Client, ClientLogin, DefaultSuite, Hybrid, HybridCompat, HybridPinned, KsfParams, NoStretching, Parties,
    Password, Record, Rfc9807, Server, ServerLogin, ServerRegistration, Suite,
};
use candor_test_support::back_ends::system;
use world::{Make, MlKem768, PARTIES, USER, World, every_suite, register};

mod world;

#[test]
fn both_sides_end_with_the_same_key_and_the_client_with_its_export_key() {
    fn check<S: Make>() {
        let world = S::world();
        let (first, second) = (world.login().unwrap(), world.login().unwrap());
        for session in [&first, &second] {
            assert_eq!(session.client, session.server, "{}", S::NAME);
            assert_eq!(session.export_key, world.export_key, "{}", S::NAME);
        }
        assert!(first.client != second.client, "{}: session keys are fresh", S::NAME);
    }
    every_suite!(check);
}

#[test]
fn sizes_are_those_of_the_table() {
    fn sizes<S: Suite>() -> [usize; 4] {
        [S::KE1, S::KE2, S::KE3, ServerLogin::<S>::LENGTH]
    }
    assert_eq!(sizes::<Rfc9807>(), [96, 320, 64, 162]);
    assert_eq!(sizes::<HybridCompat<MlKem768>>(), [1280, 1408, 64, 162]);
    assert_eq!(sizes::<Hybrid<MlKem768>>(), [1280, 1408, 64, 162]);
    assert_eq!(sizes::<HybridPinned<MlKem768>>(), [2368, 1408, 64, 162]);
    fn check<S: Make>() {
        let world = S::world();
        let (_, ke1) = world.client.start_login(&mut system(), &Password::from_bytes(b"x").unwrap()).unwrap();
        let answer = world.server.respond(&mut system(), &ke1, USER, None, &PARTIES).unwrap();
        assert_eq!((ke1.len(), answer.ke2.len()), (S::KE1, S::KE2), "{}", S::NAME);
        assert_eq!(answer.state.to_bytes().len(), ServerLogin::<S>::LENGTH, "{}", S::NAME);
        assert_eq!((world.record.to_bytes().len(), Record::LENGTH), (239, 239));
        assert_eq!(world.record.upload().len(), 192);
    }
    every_suite!(check);
}

#[test]
fn a_server_comes_back_from_its_bytes() {
    fn check<S: Make + Default>() {
        let world = S::world();
        let saved = world.server.to_bytes().unwrap();
        let server = Server::from_bytes(S::default(), &saved).unwrap();
        assert_eq!(server.public_key(), world.server.public_key());
        let restored = World { server, ..world };
        let session = restored.login().unwrap();
        assert_eq!(session.client, session.server, "{}", S::NAME);
    }
    every_suite!(check);
}

#[test]
fn a_client_comes_back_from_its_bytes() {
    fn check<S: Make>() {
        let world = S::world();
        let password = Password::from_bytes(world::PASSWORD).unwrap();
        let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
        let saved = login.to_bytes().unwrap();
        assert_eq!(saved.len(), ClientLogin::<S>::LENGTH, "{}", S::NAME);
        let answer = world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
        let login = world.client.resume_login(&saved, &password).unwrap();
        let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
        assert_eq!(
            answer.state.finish(&done.ke3, Some(&world.record)).unwrap().session_key,
            done.session_key,
            "{}",
            S::NAME
        );
        assert_eq!(done.export_key, world.export_key, "{}", S::NAME);
    }
    every_suite!(check);
    let world = Rfc9807::world();
    let password = Password::from_bytes(world::PASSWORD).unwrap();
    let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
    let saved = registration.to_bytes();
    let answer = world.server.register(&mut system(), &request).unwrap();
    let registration = world.client.resume_registration(saved.as_slice(), &password).unwrap();
    let done = registration.finish(&mut system(), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    let saved = ServerRegistration::from_bytes(&answer.state.to_bytes()).unwrap();
    let record = saved.finish(&done.upload).unwrap().into_record();
    let restored = World { record, export_key: done.export_key, ..world };
    assert_eq!(restored.login().unwrap().export_key, restored.export_key);
}

#[test]
fn records_made_under_one_suite_serve_the_stronger_ones() {
    let first = Rfc9807::world();
    let server = first.server.to_suite(DefaultSuite::default(), &mut system()).unwrap();
    let client = world::plain_client::<DefaultSuite>();
    let world = World { server, client, record: first.record, export_key: first.export_key };
    assert_eq!(world.login().unwrap().export_key, world.export_key);
}

#[test]
fn argon2id_is_used_as_the_record_says() {
    let params = KsfParams::argon2id(64, 2, 2).unwrap();
    let mut world = DefaultSuite::world();
    world.server.adopt_ksf(params, 0).unwrap();
    let password = Password::from_bytes(b"password").unwrap();
    let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
    let answer = world.server.register(&mut system(), &request).unwrap();
    assert_eq!(answer.ksf, params);
    let mut ksf = Argon2id::new();
    let done = registration.finish(&mut system(), &answer.response, &answer.ksf, &mut ksf, &PARTIES).unwrap();
    let record = answer.state.finish(&done.upload).unwrap().into_record();
    let record = Record::from_bytes(&record.to_bytes()).unwrap();

    let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
    let answer = world.server.respond(&mut system(), &ke1, USER, Some(&record), &PARTIES).unwrap();
    assert_eq!(answer.ksf, params);
    let back = login.finish(&answer.ke2, &answer.ksf, &mut ksf, &PARTIES).unwrap();
    assert_eq!(answer.state.finish(&back.ke3, Some(&record)).unwrap().session_key, back.session_key);
    assert_eq!(back.export_key, done.export_key);
}

/// On OPAQUE's inputs, against RustCrypto's; RFC 9106's own vector, which has a key and associated data, is in `primitives`.
#[test]
fn argon2id_is_rfc_9106s() {
    let (mut ours, mut theirs) = ([0; 64], [0; 64]);
    let params = KsfParams::argon2id(32, 3, 4).unwrap();
    candor_opaque::Ksf::stretch(&mut Argon2id::new(), &params, &[9; 64], &mut ours).unwrap();
    let params = argon2::Params::new(32, 3, 4, Some(64)).unwrap();
    argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params)
        .hash_password_into(&[9; 64], &[0; 16], &mut theirs)
        .unwrap();
    assert_eq!(ours, theirs);
}

#[test]
fn memory_of_one_size_serves_another() {
    let mut ksf = Argon2id::new();
    let stretch = |ksf: &mut Argon2id, memory_kib| {
        let mut out = [0; 64];
        let params = KsfParams::argon2id(memory_kib, 1, 1).unwrap();
        candor_opaque::Ksf::stretch(ksf, &params, &[1; 64], &mut out).unwrap();
        out
    };
    for memory_kib in [64, 32, 128, 64] {
        assert_eq!(stretch(&mut ksf, memory_kib), stretch(&mut Argon2id::new(), memory_kib));
    }
}

#[test]
fn one_password_of_two_users_gives_unrelated_records() {
    let world = Rfc9807::world();
    let (alice, _) = register(&world.server, &world.client, b"same");
    let (bob, _) = register(&world.server, &world.client, b"same");
    assert_ne!(alice.upload()[..32], bob.upload()[..32]);
    assert_ne!(alice.upload()[32..96], bob.upload()[32..96]);
}

#[test]
fn the_longest_names_and_passwords_work() {
    let world = DefaultSuite::world();
    let long = vec![b'x'; 65535];
    let parties = Parties { context: &long, client: Some(&long), server: Some(&long) };
    let password = Password::from_bytes(&long).unwrap();
    let client: &Client<DefaultSuite> = &world.client;
    let (registration, request) = client.start_registration(&mut system(), &password).unwrap();
    let registering = world.server.register(&mut system(), &request).unwrap();
    let done = registration
        .finish(&mut system(), &registering.response, &KsfParams::Identity, &mut world::AnyStretching, &parties)
        .unwrap();
    let record = registering.state.finish(&done.upload).unwrap().into_record();
    let (login, ke1) = client.start_login(&mut system(), &password).unwrap();
    let answer = world.server.respond(&mut system(), &ke1, &long, Some(&record), &parties).unwrap();
    let back = login.finish(&answer.ke2, &answer.ksf, &mut world::AnyStretching, &parties).unwrap();
    assert_eq!(answer.state.finish(&back.ke3, Some(&record)).unwrap().session_key, back.session_key);
}
