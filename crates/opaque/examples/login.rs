//! Registers a user, logs in, and changes the password: everything that both sides do, with the network left out.

use candor_opaque::{Argon2id, Client, DefaultSuite, Error, KsfParams, Parties, Password, Server, ServerLogin};
use getrandom::{SysRng, rand_core::UnwrapErr};

fn main() -> Result<(), Error> {
    let mut rng = UnwrapErr(SysRng);
    let name = b"alice";
    let parties = Parties { context: b"example.org login 1", client: Some(name), server: Some(b"example.org") };
    let mut argon2id = Argon2id::new();

    // A server has one set of keys for all its users; it keeps `to_bytes` secret.
    let server = Server::generate(DefaultSuite::default(), KsfParams::BROWSER, &mut rng)?;
    let server = Server::from_bytes(DefaultSuite::default(), &server.to_bytes()?)?;
    let client = Client::<DefaultSuite>::default();

    // Registration, over TLS: request, response, upload.
    let password = Password::from_text("correct horse battery staple")?;
    let (registration, request) = client.start_registration(&mut rng, &password)?;
    let answer = server.register(&mut rng, &request)?;
    let registered = registration.finish(&mut rng, &answer.response, &answer.ksf, &mut argon2id, &parties)?;
    let record = answer.state.finish(&registered.upload)?.into_record();
    println!("registered: the server stores {} bytes, and no password", record.to_bytes().len());

    // Login: KE1, KE2 and the stretching parameters, KE3.
    let (login, ke1) = client.start_login(&mut rng, &password)?;
    let answer = server.respond(&mut rng, &ke1, name, Some(&record), &parties)?;
    let saved = answer.state.to_bytes();
    let done = login.finish(&answer.ke2, &answer.ksf, &mut argon2id, &parties)?;
    let state = ServerLogin::<DefaultSuite>::from_bytes(saved.as_slice())?;
    let session = state.finish(&done.ke3, Some(&record))?;
    assert!(session.session_key == done.session_key && done.export_key == registered.export_key);
    println!("logged in: KE1 {} bytes, KE2 {}, KE3 {}", ke1.len(), answer.ke2.len(), done.ke3.len());

    // A new password, from the session.
    let password = Password::from_text("battery horse")?;
    let (registration, request) = client.start_registration(&mut rng, &password)?;
    let answer = server.register_again(&mut rng, &session, &request)?;
    let registered = registration.finish(&mut rng, &answer.response, &answer.ksf, &mut argon2id, &parties)?;
    let change = answer.state.finish(&registered.upload)?;
    assert!(change.applies_to(Some(&record)));
    let record = change.into_record();

    // The old one is wrong now.
    let (login, ke1) = client.start_login(&mut rng, &Password::from_text("correct horse battery staple")?)?;
    let answer = server.respond(&mut rng, &ke1, name, Some(&record), &parties)?;
    let refused = login.finish(&answer.ke2, &answer.ksf, &mut argon2id, &parties);
    println!("with the wrong password: {}", refused.expect_err("the password has changed"));
    Ok(())
}
