//! Interoperation with opaque-ke, Meta's implementation: registration and login, each side with each, with KEM and without.

use candor_opaque::{
    Argon2id, Client, CredentialId, Error, HybridCompat, KsfParams, Limits, NoStretching, Parties, Password, Record,
    Rfc9807, Server, ServerLogin, Suite, SuiteId, SystemRandomness, suite::NoKem,
};
use candor_primitives::kem::{aws_lc, libcrux, rustcrypto};
use candor_test_support::back_ends::system;
use opaque_ke::rand::rngs::OsRng;
use opaque_ke::{
    CipherSuite, ClientLogin, ClientLoginFinishParameters, ClientRegistration, ClientRegistrationFinishParameters,
    CredentialFinalization, CredentialRequest, CredentialResponse, Identifiers, RegistrationRequest,
    RegistrationResponse, RegistrationUpload, Ristretto255, ServerLoginParameters, ServerRegistration, ServerSetup,
    TripleDh, TripleDhKem,
};
use sha2_0_10::Sha512;

const PASSWORD: &[u8] = b"correct horse battery staple";
const USER: &[u8] = b"alice";
/// Small, so that tests don't take long.
fn small() -> KsfParams {
    KsfParams::argon2id(64, 2, 1).unwrap()
}

struct Theirs3Dh;
impl CipherSuite for Theirs3Dh {
    type OprfCs = Ristretto255;
    type KeyExchange = TripleDh<Ristretto255, Sha512>;
    type Ksf = opaque_ke::ksf::Identity;
}

struct Theirs3DhKem;
impl CipherSuite for Theirs3DhKem {
    type OprfCs = Ristretto255;
    type KeyExchange = TripleDhKem<Ristretto255, Sha512, ml_kem::MlKem768>;
    type Ksf = opaque_ke::argon2::Argon2<'static>;
}

/// The ways to name the two sides that are tried.
const PARTIES: [Parties<'static>; 3] = [
    Parties::new(b""),
    Parties { context: b"candor", client: Some(USER), server: Some(b"example.org") },
    Parties { context: b"candor", client: None, server: Some(b"example.org") },
];

fn identifiers<'a>(parties: &Parties<'a>) -> Identifiers<'a> {
    Identifiers { client: parties.client, server: parties.server }
}

/// What differs between the two pairs of suites: how theirs stretches.
struct Stretching<O, T> {
    params: KsfParams,
    ours: O,
    theirs: T,
}

/// Both directions for one pair of suites. The types of opaque-ke have bounds that a generic function would have to repeat, so
/// this is a macro.
macro_rules! both_ways {
    ($theirs:ty, $ours:expr, $stretching:expr) => {{
        let mut stretching = $stretching;
        for parties in PARTIES {
            let client = Client::new($ours).with_limits(Limits::NONE);
            let params = stretching.params;

            // Our client, their server.
            let setup = ServerSetup::<$theirs>::new(&mut OsRng);
            let password = Password::from_bytes(PASSWORD).unwrap();
            let (registration, request) = client.start_registration(&mut system(), &password).unwrap();
            let request = RegistrationRequest::deserialize(&request).unwrap();
            let response = ServerRegistration::start(&setup, request, USER).unwrap().message.serialize();
            let registered = registration
                .finish(&mut system(), &response, &params, &mut stretching.ours, &parties)
                .unwrap();
            let upload = RegistrationUpload::<$theirs>::deserialize(&registered.upload).unwrap();
            let file = ServerRegistration::finish(upload);

            let (login, ke1) = client.start_login(&mut system(), &password).unwrap();
            let server_parameters =
                || ServerLoginParameters { context: Some(parties.context), identifiers: identifiers(&parties) };
            let started = opaque_ke::ServerLogin::start(
                &mut OsRng,
                &setup,
                Some(file),
                CredentialRequest::deserialize(&ke1).unwrap(),
                USER,
                server_parameters(),
            )
            .unwrap();
            let done = login.finish(&started.message.serialize(), &params, &mut stretching.ours, &parties).unwrap();
            let ke3 = CredentialFinalization::deserialize(&done.ke3).unwrap();
            let finished = started.state.finish(ke3, server_parameters()).unwrap();
            assert_eq!(finished.session_key[..], done.session_key.as_bytes()[..]);
            assert_eq!(done.export_key, registered.export_key);

            // Their client, our server.
            let server = Server::generate($ours, params, &mut system()).unwrap();
            let started = ClientRegistration::<$theirs>::start(&mut OsRng, PASSWORD).unwrap();
            let answer = server.register(&mut system(), &started.message.serialize()).unwrap();
            let registered = started
                .state
                .finish(
                    &mut OsRng,
                    PASSWORD,
                    RegistrationResponse::deserialize(&answer.response).unwrap(),
                    ClientRegistrationFinishParameters::new(identifiers(&parties), Some(&stretching.theirs)),
                )
                .unwrap();
            let record = answer.state.finish(&registered.message.serialize()).unwrap().into_record();

            let started = ClientLogin::<$theirs>::start(&mut OsRng, PASSWORD).unwrap();
            let answer = server
                .respond(&mut system(), &started.message.serialize(), USER, Some(&record), &parties)
                .unwrap();
            let finished = started
                .state
                .finish(
                    &mut OsRng,
                    PASSWORD,
                    CredentialResponse::deserialize(&answer.ke2).unwrap(),
                    ClientLoginFinishParameters::new(
                        Some(parties.context),
                        identifiers(&parties),
                        Some(&stretching.theirs),
                    ),
                )
                .unwrap();
            let session = answer.state.finish(&finished.message.serialize(), Some(&record)).unwrap();
            assert_eq!(session.session_key.as_bytes()[..], finished.session_key[..]);
            assert_eq!(registered.export_key, finished.export_key);
            assert_eq!(finished.server_s_pk.serialize()[..], server.public_key()[..]);

            // Their client with the wrong password gives up; ours takes their records of made-up users for a wrong password.
            let started = ClientLogin::<$theirs>::start(&mut OsRng, b"wrong").unwrap();
            let answer = server
                .respond(&mut system(), &started.message.serialize(), USER, Some(&record), &parties)
                .unwrap();
            let refused = started.state.finish(
                &mut OsRng,
                b"wrong",
                CredentialResponse::deserialize(&answer.ke2).unwrap(),
                ClientLoginFinishParameters::new(
                    Some(parties.context),
                    identifiers(&parties),
                    Some(&stretching.theirs),
                ),
            );
            assert!(refused.is_err());
            let (login, ke1) = client.start_login(&mut system(), &password).unwrap();
            let ke1 = CredentialRequest::deserialize(&ke1).unwrap();
            let unknown =
                opaque_ke::ServerLogin::start(&mut OsRng, &setup, None, ke1, b"nobody", server_parameters()).unwrap();
            let refused = login.finish(&unknown.message.serialize(), &params, &mut stretching.ours, &parties);
            assert_eq!(refused.unwrap_err(), Error::Login);
        }
    }};
}

#[test]
fn rfc9807_interoperates_with_their_triple_dh() {
    both_ways!(
        Theirs3Dh,
        Rfc9807,
        Stretching { params: KsfParams::Identity, ours: NoStretching, theirs: opaque_ke::ksf::Identity }
    );
}

fn their_argon2() -> opaque_ke::argon2::Argon2<'static> {
    use opaque_ke::argon2::{Algorithm, Argon2, Params, Version};
    let KsfParams::Argon2id { memory_kib, iterations, parallelism, .. } = small() else { unreachable!() };
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(memory_kib, iterations, parallelism, None).unwrap())
}

#[test]
fn hybrid_compat_interoperates_with_their_triple_dh_kem_on_every_back_end() {
    let stretching = || Stretching { params: small(), ours: Argon2id::new(), theirs: their_argon2() };
    both_ways!(Theirs3DhKem, HybridCompat::new(SystemRandomness(aws_lc::MlKem768)), stretching());
    both_ways!(Theirs3DhKem, HybridCompat::new(libcrux::MlKem768), stretching());
    both_ways!(Theirs3DhKem, HybridCompat::new(rustcrypto::MlKem768), stretching());
}

/// Keys and records of one of their deployments, taken over: `ServerSetup::serialize` is the OPRF seed, the secret key and the made-up
/// user's public key.
#[test]
fn a_server_takes_over_their_keys_and_records() {
    let setup = ServerSetup::<Theirs3Dh>::new(&mut OsRng);
    let started = ClientRegistration::<Theirs3Dh>::start(&mut OsRng, PASSWORD).unwrap();
    let response = ServerRegistration::start(&setup, started.message, USER).unwrap().message;
    let upload = started
        .state
        .finish(&mut OsRng, PASSWORD, response, ClientRegistrationFinishParameters::default())
        .unwrap()
        .message
        .serialize();

    let saved = setup.serialize();
    let (seed, secret_key) = (saved[..64].try_into().unwrap(), saved[64..96].try_into().unwrap());
    let id = CredentialId::imported(USER).unwrap();
    let record = Record::from_upload(&upload, &KsfParams::Identity, id, SuiteId::Rfc9807).unwrap();

    fn log_in<S: Suite<Static = NoKem>>(suite: S, seed: &[u8; 64], secret_key: &[u8; 32], record: &Record) {
        let server = Server::from_keys(suite.clone(), KsfParams::Identity, seed, secret_key).unwrap();
        let client = Client::new(suite).with_limits(Limits::NONE);
        let password = Password::from_bytes(PASSWORD).unwrap();
        let (login, ke1) = client.start_login(&mut system(), &password).unwrap();
        let parties = Parties::default();
        let answer = server.respond(&mut system(), &ke1, USER, Some(record), &parties).unwrap();
        let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &parties).unwrap();
        let state = ServerLogin::<S>::from_bytes(answer.state.to_bytes().as_slice()).unwrap();
        assert_eq!(state.finish(&done.ke3, Some(record)).unwrap().session_key, done.session_key);
    }
    log_in(Rfc9807, &seed, &secret_key, &record);
    // The record serves every suite.
    log_in(HybridCompat::new(SystemRandomness(aws_lc::MlKem768)), &seed, &secret_key, &record);
    log_in(candor_opaque::Hybrid::new(SystemRandomness(aws_lc::MlKem768)), &seed, &secret_key, &record);
}
