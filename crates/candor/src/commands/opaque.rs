//! `candor opaque demo`: registrations and logins, message by message.

use crate::Failure;
use crate::cli::{DemoArguments, DemoSuite, OpaqueCommand};
use crate::output::print;
use candor_opaque::suite::NoKem;
use candor_opaque::{
    Argon2id, Client, DefaultSuite, Error, KsfParams, Parties, Password, Record, Rfc9807, Server, Suite, SuiteId,
};
use getrandom::{SysRng, rand_core::UnwrapErr};
use std::fmt::Write;

const NAME: &str = "alice";
const PASSWORD: &str = "correct horse battery staple";
const PARTIES: Parties<'static> =
    Parties { context: b"candor opaque demo 1", client: Some(NAME.as_bytes()), server: Some(b"example.org") };

pub(crate) fn execute(command: OpaqueCommand) -> Result<(), Failure> {
    let OpaqueCommand::Demo(DemoArguments { suite }) = command;
    let story = match suite {
        DemoSuite::Hybrid => Demo::new(DefaultSuite::default())?.run(),
        DemoSuite::Rfc9807 => Demo::new(Rfc9807)?.run(),
    };
    print(&story?)
}

/// A client and a server of one suite, and what there is to tell about them.
struct Demo<S: Suite> {
    server: Server<S>,
    client: Client<S>,
    argon2id: Argon2id,
    out: String,
}

/// What an eavesdropper has of a login.
struct Recorded {
    ke1: Vec<u8>,
    ke2: Vec<u8>,
    ke3: Option<Vec<u8>>,
}

impl Recorded {
    fn messages(&self) -> impl Iterator<Item = &[u8]> {
        [&self.ke1, &self.ke2].into_iter().chain(&self.ke3).map(Vec::as_slice)
    }

    fn length(&self) -> usize {
        self.messages().map(<[u8]>::len).sum()
    }

    /// Bytes that stand in the same place in both.
    fn equal_bytes(&self, other: &Self) -> usize {
        let pairs = self.messages().flatten().zip(other.messages().flatten());
        pairs.filter(|(ours, theirs)| ours == theirs).count()
    }
}

impl<S: Suite<Static = NoKem>> Demo<S> {
    fn new(suite: S) -> Result<Self, Error> {
        let server = Server::generate(suite.clone(), KsfParams::BROWSER, &mut UnwrapErr(SysRng))?;
        Ok(Self { server, client: Client::new(suite), argon2id: Argon2id::new(), out: String::new() })
    }

    fn run(mut self) -> Result<String, Failure> {
        self.say(&format!("OPAQUE, suite {}. Argon2id stretches the password with 64 MiB, 3 passes.", S::NAME));
        let record = self.register()?;
        self.say(&format!("\n{NAME} logs in"));
        let first = self.log_in(PASSWORD, Some(&record))?;
        self.say(&format!("\n{NAME} logs in again"));
        let second = self.log_in(PASSWORD, Some(&record))?;
        self.say("\nsomebody tries a wrong password");
        let wrong = self.log_in("Tr0ub4dor&3", Some(&record))?;
        self.say("\nsomebody tries a name without an account");
        let unknown = self.log_in(PASSWORD, None)?;
        self.harvest([&first, &second], [&wrong, &unknown]);
        Ok(self.out)
    }

    fn register(&mut self) -> Result<Record, Error> {
        self.say(&format!("\n{NAME} registers; these messages need TLS, which no suite replaces"));
        let (rng, password) = (&mut UnwrapErr(SysRng), Password::from_text(PASSWORD)?);
        let (registration, request) = self.client.start_registration(rng, &password)?;
        self.sent("client", "request", &request, "the password, blinded: a uniformly random element");
        let answer = self.server.register(rng, &request)?;
        self.sent(
            "server",
            "response",
            &answer.response,
            "the element evaluated under a fresh key; the server's public key",
        );
        let done = registration.finish(rng, &answer.response, &answer.ksf, &mut self.argon2id, &PARTIES)?;
        self.sent("client", "upload", &done.upload, "a public key, a masking key, an envelope: TLS must hide them");
        let record = answer.state.finish(&done.upload)?.into_record();
        self.say(&format!("  the server stores {} bytes, and no password", record.to_bytes().len()));
        Ok(record)
    }

    /// One login; it may fail, as some in this demo must.
    fn log_in(&mut self, password: &str, record: Option<&Record>) -> Result<Recorded, Failure> {
        let (rng, password) = (&mut UnwrapErr(SysRng), Password::from_text(password)?);
        let hybrid = S::ID >= SuiteId::Hybrid;
        let (login, ke1) = self.client.start_login(rng, &password)?;
        self.sent(
            "client",
            "KE1",
            &ke1,
            match hybrid {
                true => "a uniformly random element, a nonce, fresh public keys (ristretto255, ML-KEM-768)",
                false => "a uniformly random element, a nonce, a fresh public key",
            },
        );
        let name = if record.is_some() { NAME } else { "nobody" };
        let answer = self.server.respond(rng, &ke1, name.as_bytes(), record, &PARTIES)?;
        self.sent(
            "server",
            "KE2",
            &answer.ke2,
            match hybrid {
                true => "an answer encrypted under an ML-KEM secret, a nonce, a public key, a MAC, a ciphertext",
                false => "the evaluated element, the envelope masked, a nonce, a public key, a MAC",
            },
        );
        match login.finish(&answer.ke2, &answer.ksf, &mut self.argon2id, &PARTIES) {
            Ok(done) => {
                self.sent("client", "KE3", &done.ke3, "a MAC");
                let session = answer.state.finish(&done.ke3, record)?;
                if session.session_key != done.session_key {
                    return Err(Failure::Error("client and server have different session keys".into()));
                }
                self.say("  both sides have the same session key; the password never left the client");
                Ok(Recorded { ke1, ke2: answer.ke2, ke3: Some(done.ke3.to_vec()) })
            }
            Err(error) => {
                self.say(&format!("  client: {error}; nothing more is sent, and the server counts a guess"));
                Ok(Recorded { ke1, ke2: answer.ke2, ke3: None })
            }
        }
    }

    /// What the recorded logins are worth.
    fn harvest(&mut self, logins: [&Recorded; 2], failed: [&Recorded; 2]) {
        let ([first, second], [wrong, unknown]) = (logins, failed);
        self.say("\nan eavesdropper recorded all logins");
        self.say(&format!(
            "  a login: {} bytes, of which {} are equal in both logins of {NAME}, as by chance",
            first.length(),
            first.equal_bytes(second)
        ));
        self.say(&format!(
            "  a wrong password: {} bytes; a name without an account: {} bytes. Nothing tells them apart",
            wrong.length(),
            unknown.length()
        ));
        self.say("  today: no session key, and nothing to try passwords on");
        self.say(match S::ID >= SuiteId::Hybrid {
            true => "  after the curve is broken: the same, as long as ML-KEM-768 holds",
            false => "  after the curve is broken: the session keys, and the password by offline guessing",
        });
        self.say(
            "  somebody who began a login himself and kept the answer can guess offline after that, in every suite",
        );
    }

    /// A message: who sends it, its length, how it begins, what an eavesdropper makes of it.
    fn sent(&mut self, from: &str, what: &str, message: &[u8], meaning: &str) {
        let arrow = if from == "client" { "client -> server" } else { "client <- server" };
        let start: String = message.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        self.say(&format!("  {arrow}  {what:<8}  {:>4} bytes  {start}...  {meaning}", message.len()));
    }

    fn say(&mut self, line: &str) {
        let _ = writeln!(self.out, "{line}");
    }
}
