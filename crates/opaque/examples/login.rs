//! Registers a user and logs him in: everything that both sides do, with the network left out.

use candor_opaque::{Argon2id, Client, DefaultSuite, Error, KsfParams, Parties, Password, Record, Server, ServerLogin};
use getrandom::{SysRng, rand_core::UnwrapErr};

fn main() -> Result<(), Error> {
    let mut rng = UnwrapErr(SysRng);
    let account = b"account 17";
    let parties = Parties { context: b"example.org login 1", client: Some(b"alice"), server: Some(b"example.org") };
    let (ksf_params, mut argon2id) = (KsfParams::BROWSER, Argon2id::new());

    // A server has one set of keys for all its users; `to_bytes` is what it keeps secret.
    let server = Server::generate(DefaultSuite::default(), &mut rng)?;
    let client = Client::<DefaultSuite>::default();

    // Registration, over TLS: request, response, upload.
    let password = Password::from_text("correct horse battery staple")?;
    let (registration, request) = client.start_registration(&mut rng, &password)?;
    let response = server.register(&request, account)?;
    let registered = registration.finish(&mut rng, &response, &ksf_params, &mut argon2id, &parties)?;
    let record = Record::from_upload(&registered.upload, &ksf_params)?;
    println!("registered: the server stores {} bytes, and no password", record.to_bytes().len());

    // Login: KE1, KE2 and the stretching parameters, KE3.
    let (login, ke1) = client.start_login(&mut rng, &password)?;
    let answer = server.respond(&mut rng, &ke1, Some(&record), account, &parties)?;
    let saved = answer.state.to_bytes();
    let done = login.finish(&answer.ke2, &answer.ksf, &mut argon2id, &parties)?;
    let session_key = ServerLogin::<DefaultSuite>::from_bytes(saved.as_slice())?.finish(&done.ke3)?;
    assert!(session_key == done.session_key && done.export_key == registered.export_key);
    println!("logged in: KE1 {} bytes, KE2 {}, KE3 {}", ke1.len(), answer.ke2.len(), done.ke3.len());

    // The wrong password.
    let (login, ke1) = client.start_login(&mut rng, &Password::from_text("battery horse")?)?;
    let answer = server.respond(&mut rng, &ke1, Some(&record), account, &parties)?;
    let refused = login.finish(&answer.ke2, &answer.ksf, &mut argon2id, &parties);
    println!("with the wrong password: {}", refused.expect_err("it is the wrong one"));
    Ok(())
}
