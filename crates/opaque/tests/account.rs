//! What binds logins, records and registrations to an account, a suite and key stretching parameters.

use candor_opaque::suite::NoKem;
use candor_opaque::{
    Change, Client, CredentialId, DefaultSuite, Error, Hybrid, HybridCompat, HybridPinned, KsfParams, NoStretching,
    Parties, Password, Record, Rfc9807, Server, ServerLogin, ServerRegistration, Session, Suite, SuiteId,
    SystemRandomness,
};
use candor_primitives::kem::{DerandomizedKem, Kem, aws_lc, libcrux, rustcrypto};
use candor_test_support::back_ends::{Script, system};
use world::{Make, MlKem768, PARTIES, PASSWORD, USER, World, every_suite, register};

mod world;

/// A login up to the server's session.
fn session<S: Suite>(world: &World<S>, record: &Record) -> Result<Session, Error> {
    let password = Password::from_bytes(PASSWORD).unwrap();
    let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
    let answer = world.server.respond(&mut system(), &ke1, USER, Some(record), &PARTIES)?;
    let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES)?;
    answer.state.finish(&done.ke3, Some(record))
}

#[test]
fn each_registration_has_an_oprf_key_of_its_own() {
    let world = Rfc9807::world();
    let password = Password::from_bytes(PASSWORD).unwrap();
    let (_, request) = world.client.start_registration(&mut system(), &password).unwrap();
    let answers = [(); 2].map(|()| world.server.register(&mut system(), &request).unwrap());
    assert_ne!(answers[0].response[..32], answers[1].response[..32]);
    assert_eq!(answers[0].response[32..], world.server.public_key()[..]);
    // Under a given identifier the answer is the login's: this is why registrations have fresh ones.
    let id = world.record.credential_id().clone();
    let given = world.server.register_with_id(id, &request).unwrap();
    let (_, mut ke1) = world.client.start_login(&mut system(), &password).unwrap();
    ke1[..32].copy_from_slice(&request);
    let login = world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
    assert_eq!(given.response[..32], login.ke2[..32]);
    assert!(answers.iter().all(|answer| answer.response[..32] != login.ke2[..32]));
}

#[test]
fn a_session_registers_again_and_replaces_its_record() {
    let world = DefaultSuite::world();
    let session = session(&world, &world.record).unwrap();
    let password = Password::from_bytes(b"a new password").unwrap();
    let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
    let answer = world.server.register_again(&mut system(), &session, &request).unwrap();
    let done = registration.finish(&mut system(), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    let saved = ServerRegistration::from_bytes(&answer.state.to_bytes()).unwrap();
    let Change::Replace { replaces, record } = saved.finish(&done.upload).unwrap() else {
        panic!("a session replaces a record");
    };
    assert_eq!(replaces, world.record.credential_hash());
    assert_ne!(record.credential_id(), world.record.credential_id());

    let log_in = |password: &[u8]| {
        let password = Password::from_bytes(password).unwrap();
        let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
        let answer = world.server.respond(&mut system(), &ke1, USER, Some(&record), &PARTIES).unwrap();
        login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).map(|_| ())
    };
    assert_eq!(log_in(b"a new password"), Ok(()));
    assert_eq!(log_in(PASSWORD), Err(Error::Login));

    let first = world.server.register(&mut system(), &request).unwrap().state;
    assert!(matches!(first.finish(&done.upload), Ok(Change::Insert(_))));
}

#[test]
fn a_login_opens_only_the_account_that_it_was_begun_for() {
    fn check<S: Make>() {
        let world = S::world();
        let (other, _) = register(&world.server, &world.client, PASSWORD);
        let outcome = |record: Option<&Record>| {
            let password = Password::from_bytes(PASSWORD).unwrap();
            let (login, ke1) = world.client.start_login(&mut system(), &password).unwrap();
            let answer = world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
            let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
            answer.state.finish(&done.ke3, record).map(|session| *session.credential())
        };
        assert_eq!(outcome(Some(&world.record)), Ok(world.record.credential_hash()), "{}", S::NAME);
        assert_eq!(outcome(Some(&other)), Err(Error::Login), "{}", S::NAME);
        assert_eq!(outcome(None), Err(Error::Login), "{}", S::NAME);
    }
    every_suite!(check);
}

#[test]
fn a_saved_login_keeps_its_name() {
    let world = DefaultSuite::world();
    let (_, ke1) = world.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
    let begin = || world.server.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap().state;
    let (first, second) = (begin(), begin());
    let restored = ServerLogin::<DefaultSuite>::from_bytes(first.to_bytes().as_slice()).unwrap();
    assert_eq!(restored.id(), first.id());
    assert_ne!(first.id(), second.id());
    // The credential identifier stays in the record: without it the server's keys do not give the account's OPRF key.
    let id = world.record.credential_id().as_bytes();
    assert!(!first.to_bytes().windows(id.len()).any(|bytes| bytes == id));
    assert!(world.record.to_bytes().windows(id.len()).any(|bytes| bytes == id));
}

#[test]
fn a_record_is_refused_below_its_minimum_and_nobody_can_tell() {
    let hybrid = DefaultSuite::world();
    assert_eq!(hybrid.record.minimum(), SuiteId::Hybrid);
    let server = hybrid.server.to_suite(Rfc9807, &mut system()).unwrap();
    let client = world::plain_client::<Rfc9807>();
    let (old, export_key) = register(&server, &client, PASSWORD);
    let mut weaker = World { server, client, record: old, export_key };

    // The twin: a record of the weaker suite logs in with both.
    assert!(session(&weaker, &weaker.record).is_ok() && session(&hybrid, &weaker.record).is_ok());
    assert_eq!(session(&weaker, &hybrid.record).map(|_| ()), Err(Error::Login));
    weaker.record.raise_minimum(SuiteId::Hybrid);
    weaker.record.raise_minimum(SuiteId::Rfc9807);
    let raised = Record::from_bytes(&weaker.record.to_bytes()).unwrap();
    assert_eq!(session(&weaker, &raised).map(|_| ()), Err(Error::Login));
    assert!(session(&hybrid, &raised).is_ok());

    // No KE3 at all opens it: the state is not bound to the record.
    let (_, ke1) = weaker.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
    let answer = |record: Option<&Record>| weaker.server.respond(&mut system(), &ke1, USER, record, &PARTIES).unwrap();
    let (refused, unknown) = (answer(Some(&raised)), answer(None));
    assert!(refused.below_minimum && !unknown.below_minimum);
    let names =
        |record: &Record| answer(Some(record)).state.to_bytes()[2..34] == record.credential_hash().as_bytes()[..];
    assert!(!names(&raised));
    assert!(names(&register(&weaker.server, &weaker.client, PASSWORD).0));
}

/// A stranger asks for one name in two suites, with one blinded element. Without an account both answers have the same evaluated element and the
/// same parameters. So they must for an account that is refused in one of them, or the difference says that there is one.
#[test]
fn asking_in_two_suites_does_not_tell_who_has_an_account() {
    let mut compat = HybridCompat::<MlKem768>::world();
    let before = compat.server.to_suite(Rfc9807, &mut system()).unwrap();
    let (weaker, _) = register(&before, &world::plain_client::<Rfc9807>(), PASSWORD);
    compat.server.adopt_ksf(KsfParams::NATIVE, 500).unwrap();
    let server = compat.server.to_suite(Rfc9807, &mut system()).unwrap();
    let password = Password::from_bytes(PASSWORD).unwrap();
    let (_, ke1) = compat.client.start_login(&mut system(), &password).unwrap();
    let asked = |name: &[u8], record: Option<&Record>| {
        let strong = compat.server.respond(&mut system(), &ke1, name, record, &PARTIES).unwrap();
        let weak = server.respond(&mut system(), &ke1[..96], name, record, &PARTIES).unwrap();
        let shown = |ke2: &[u8], ksf| (ke2[..32].to_vec(), ksf);
        assert_eq!(weak.below_minimum, record.is_some_and(|record| record.minimum() > SuiteId::Rfc9807));
        (shown(&strong.ke2, strong.ksf), shown(&weak.ke2, weak.ksf))
    };
    for name in 0..8u8 {
        for record in [None, Some(&compat.record), Some(&weaker)] {
            let (strong, weak) = asked(&[name], record);
            assert_eq!(strong, weak, "{name} {record:?}");
        }
    }
    // The twin: different names do have different answers.
    assert_ne!(asked(b"nobody", None).0.0, asked(b"somebody", None).0.0);
}

#[test]
fn registering_again_keeps_a_raised_minimum() {
    let hybrid = DefaultSuite::world();
    let weaker = hybrid.server.to_suite(Rfc9807, &mut system()).unwrap();
    let client = world::plain_client::<Rfc9807>();
    let again = |session: &Session| {
        let password = Password::from_bytes(b"a new password").unwrap();
        let (registration, request) = client.start_registration(&mut system(), &password).unwrap();
        let answer = weaker.register_again(&mut system(), session, &request).unwrap();
        let done =
            registration.finish(&mut system(), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
        answer.state.finish(&done.upload).unwrap().into_record().minimum()
    };
    assert_eq!(again(&session(&hybrid, &hybrid.record).unwrap()), SuiteId::Hybrid);
    let (record, _) = register(&weaker, &client, PASSWORD);
    assert_eq!(again(&session(&hybrid, &record).unwrap()), SuiteId::Rfc9807);
}

/// A thief of the old password begins a login and holds a session while the owner registers again, under the same imported identifier.
#[test]
fn logins_and_sessions_of_an_old_record_are_worth_nothing_for_the_new_one() {
    let world = Rfc9807::world();
    let register = |password: &[u8]| {
        let password = Password::from_bytes(password).unwrap();
        let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
        let id = CredentialId::imported(b"alice").unwrap();
        let answer = world.server.register_with_id(id, &request).unwrap();
        let ksf = &mut NoStretching;
        let done = registration.finish(&mut system(), &answer.response, &answer.ksf, ksf, &PARTIES).unwrap();
        answer.state.finish(&done.upload).unwrap()
    };
    let (old, new) = (register(PASSWORD).into_record(), register(b"a new password").into_record());
    assert_eq!(old.credential_id(), new.credential_id());

    let begun = || {
        let (login, ke1) = world.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
        let answer = world.server.respond(&mut system(), &ke1, USER, Some(&old), &PARTIES).unwrap();
        let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
        (answer.state, done.ke3)
    };
    let ((first, first_ke3), (second, second_ke3)) = (begun(), begun());
    assert_eq!(first.finish(&first_ke3, Some(&new)).map(|_| ()), Err(Error::Login));
    let session = second.finish(&second_ke3, Some(&old)).unwrap();

    let (registration, request) =
        world.client.start_registration(&mut system(), &Password::from_bytes(b"the thief's").unwrap()).unwrap();
    let answer = world.server.register_again(&mut system(), &session, &request).unwrap();
    let done = registration.finish(&mut system(), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    let change = answer.state.finish(&done.upload).unwrap();
    assert!(change.applies_to(Some(&old)));
    assert!(!change.applies_to(Some(&new)) && !change.applies_to(None));
    let insert = register(b"another's");
    assert!(insert.applies_to(None) && !insert.applies_to(Some(&old)));
}

#[test]
fn a_damaged_minimum_or_version_is_refused() {
    let stored = Rfc9807::world().record.to_bytes();
    assert!(Record::from_bytes(&stored).is_ok());
    for (at, value) in [(0, 2), (1, 0), (1, 5), (2, 9)] {
        let mut damaged = stored.to_vec();
        damaged[at] = value;
        assert!(Record::from_bytes(&damaged).is_err(), "byte {at}");
    }
}

#[test]
fn unknown_users_are_told_the_same_parameters_after_a_restart() {
    fn check<S: Make + Default>() {
        let world = S::world();
        let mut server = world.server;
        server.adopt_ksf(KsfParams::NATIVE, 400).unwrap();
        let (_, ke1) = world.client.start_login(&mut system(), &Password::from_bytes(PASSWORD).unwrap()).unwrap();
        let told = |server: &Server<S>| {
            let ksf = |name: u8| server.respond(&mut system(), &ke1, &[name], None, &PARTIES).unwrap().ksf;
            (0..16).map(ksf).collect::<Vec<_>>()
        };
        let restarted = Server::from_bytes(S::default(), &server.to_bytes().unwrap()).unwrap();
        assert_eq!(told(&restarted), told(&server), "{}", S::NAME);
        assert_eq!(restarted.ksf(), KsfParams::NATIVE);
        // An account keeps what it registered with.
        let known = restarted.respond(&mut system(), &ke1, USER, Some(&world.record), &PARTIES).unwrap();
        assert_eq!(known.ksf, KsfParams::Identity);
        // When more accounts have moved, names only move forwards.
        let before = told(&server);
        server.adopt_ksf(KsfParams::NATIVE, 700).unwrap();
        let moved = before.iter().zip(told(&server)).all(|(old, new)| *old == new || new == KsfParams::NATIVE);
        assert!(moved, "{}", S::NAME);
    }
    every_suite!(check);
}

#[test]
fn a_server_moves_to_another_suite_with_its_keys() {
    let mut pinned = HybridPinned::<MlKem768>::world();
    pinned.server.adopt_ksf(KsfParams::NATIVE, 0).unwrap();
    // To another back end of the same KEM: the key that clients pin stays.
    let moved = pinned.server.to_suite(HybridPinned::new(rustcrypto::MlKem768), &mut system()).unwrap();
    assert_eq!(moved.static_kem_key(), pinned.server.static_kem_key());
    assert_eq!((moved.public_key(), moved.ksf()), (pinned.server.public_key(), KsfParams::NATIVE));
    let client = Client::pinned(HybridPinned::new(rustcrypto::MlKem768), moved.static_kem_key()).unwrap();
    let World { record, export_key, .. } = pinned;
    let world = World { server: moved, client: client.with_limits(candor_opaque::Limits::NONE), record, export_key };
    assert_eq!(world.login().unwrap().export_key, world.export_key);
    // From a suite without a static KEM: a fresh key.
    let plain = world.server.to_suite(Rfc9807, &mut system()).unwrap();
    assert!(plain.static_kem_key().is_empty());
    let fresh = plain.to_suite(HybridPinned::new(libcrux::MlKem768), &mut system()).unwrap();
    assert_ne!(fresh.static_kem_key(), world.server.static_kem_key());
    assert_eq!(fresh.public_key(), world.server.public_key());
}

/// Without the standard library there is no generator but the caller's. A script that is used up to the last byte, and that gives the same
/// messages twice, shows that the KEM draws from nowhere else.
#[test]
fn a_hybrid_draws_only_from_the_callers_generator() {
    fn messages<S: Suite<Static = NoKem>>(suite: S) -> (Vec<u8>, Vec<u8>) {
        let count = |from: u8, length: u8| (0..length).map(|at| from.wrapping_add(at)).collect::<Vec<_>>();
        let server = Server::generate(suite.clone(), KsfParams::Identity, &mut Script::of([&count(1, 128)])).unwrap();
        let (mut coins, password) = (Script::of([&count(2, 192)]), Password::from_bytes(PASSWORD).unwrap());
        let (_, ke1) = Client::new(suite).start_login(&mut coins, &password).unwrap();
        let mut server_coins = Script::of([&count(3, 128)]);
        let ke2 = server.respond(&mut server_coins, &ke1, USER, None, &Parties::default()).unwrap().ke2;
        assert!(coins.used_up() && server_coins.used_up());
        (ke1, ke2)
    }
    assert_eq!(messages(Hybrid::new(libcrux::MlKem768)), messages(Hybrid::new(rustcrypto::MlKem768)));
    assert_eq!(messages(HybridCompat::new(libcrux::MlKem768)), messages(HybridCompat::new(libcrux::MlKem768)));
    let script = || Script::of([&[7; 192]]);
    let pinned = || Server::generate(HybridPinned::new(libcrux::MlKem768), KsfParams::Identity, &mut script()).unwrap();
    assert_eq!(pinned().static_kem_key(), pinned().static_kem_key());
    // AWS-LC draws its own, and its type says so.
    let own = Hybrid::new(SystemRandomness(aws_lc::MlKem768));
    let ke1 = || Client::new(own).start_login(&mut Script::of([&[7; 128]]), &Password::from_bytes(PASSWORD).unwrap());
    assert_ne!(ke1().unwrap().1, ke1().unwrap().1);
}

#[test]
fn an_imported_account_keeps_its_identifier() {
    let world = Rfc9807::world();
    let password = Password::from_bytes(PASSWORD).unwrap();
    let (registration, request) = world.client.start_registration(&mut system(), &password).unwrap();
    let id = CredentialId::imported(b"alice@example.org").unwrap();
    let answer = world.server.register_with_id(id.clone(), &request).unwrap();
    let done = registration.finish(&mut system(), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    let record = Record::from_upload(&done.upload, &KsfParams::Identity, id, SuiteId::Rfc9807).unwrap();
    let record = Record::from_bytes(&record.to_bytes()).unwrap();
    assert_eq!(record.credential_id().as_bytes(), b"alice@example.org");
    assert!(session(&world, &record).is_ok());
}

#[test]
fn a_static_kem_key_pair_must_belong_together() {
    let kem = libcrux::MlKem768;
    let pair = |seed: u8| {
        let (secret, public) = kem.generate_from(&[seed; 64]).unwrap();
        let mut bytes = vec![0; 1184];
        kem.public_to_bytes(&public, &mut bytes).unwrap();
        (kem.secret_to_bytes(&secret).unwrap(), bytes)
    };
    let ((secret, public), (_, others)) = (pair(1), pair(2));
    let with = |public: &[u8]| {
        let suite = HybridPinned::new(libcrux::MlKem768);
        Server::from_keys_pinned(suite, KsfParams::Identity, &[3; 64], &[4; 32], [&secret, public])
    };
    let server = with(&public).unwrap();
    assert_eq!(with(&others).unwrap_err(), Error::KeyPair);

    // A saved server's keys likewise: its last bytes are the public key.
    let mut saved = server.to_bytes().unwrap();
    assert!(Server::from_bytes(HybridPinned::new(libcrux::MlKem768), &saved).is_ok());
    let at = saved.len() - others.len();
    saved[at..].copy_from_slice(&others);
    assert_eq!(Server::from_bytes(HybridPinned::new(libcrux::MlKem768), &saved).unwrap_err(), Error::KeyPair);
}
