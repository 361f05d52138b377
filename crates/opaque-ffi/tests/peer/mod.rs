//! Logins with another program: it is the client and the library the server, and the other way round.
//!
//! The program gets a role (`client`, `server`), a suite's number and the server's static KEM key as arguments. It reads a command a line and answers each
//! with a line: `refused` and why, or `ok` and the words below. A word is bytes in hexadecimal digits, `-` for none. CONTEXT, CLIENT and SERVER are the parties.
//!
//! | role | command | answer |
//! |---|---|---|
//! | client | `register PASSWORD CONTEXT CLIENT SERVER` | request |
//! | | `response RESPONSE KSF` | upload, export key, server's public key, `-` |
//! | | `login PASSWORD CONTEXT CLIENT SERVER` | KE1 |
//! | | `ke2 KE2 KSF` | KE3, export key, server's public key, session key |
//! | server | `setup KSF` | public key, static KEM key |
//! | | `request REQUEST` | response, KSF |
//! | | `upload UPLOAD` | `-` |
//! | | `ke1 KE1 CONTEXT CLIENT SERVER` | KE2, KSF |
//! | | `ke3 KE3` | session key |

use candor_opaque::suite::NoKem;
use candor_opaque::{
    Client, Error, Hybrid, HybridCompat, HybridPinned, KsfParams, Limits, Parties, Password, Record, Rfc9807, Server,
    ServerLogin, Suite,
};
use candor_opaque_ffi::suites::Stretching;
use candor_primitives::kem::ml_kem::MlKem768;
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const RIGHT: &[u8] = b"correct horse";
const WRONG: &[u8] = b"correct house";

/// A program that was started.
pub(crate) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts the program with these arguments.
    pub(crate) fn start(program: &mut Command, role: &str, suite: u32, kem_key: &[u8]) -> Self {
        program.args([role, &suite.to_string(), &hex(kem_key)]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().unwrap_or_else(|error| panic!("can't start {program:?}: {error}"));
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Self { child, input, output: BufReader::new(output) }
    }

    /// Sends a command; the words of the answer, or nothing if the program refuses.
    fn ask(&mut self, command: &str, words: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        let mut line = command.to_owned();
        words.iter().for_each(|word| write!(line, " {}", hex(word)).expect("a string takes everything"));
        line.push('\n');
        let input = self.input.as_mut().expect("a pipe");
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).expect("the program reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("text");
        let mut words = answer.split_whitespace();
        match words.next() {
            Some("ok") => Some(words.map(bytes).collect()),
            Some("refused") => None,
            _ => panic!("{command} was answered {answer:?}"),
        }
    }

    /// [`Self::ask`] for what must succeed.
    fn told<const N: usize>(&mut self, command: &str, words: &[&[u8]]) -> [Vec<u8>; N] {
        let answer = self.ask(command, words).unwrap_or_else(|| panic!("{command} was refused"));
        answer.try_into().unwrap_or_else(|answer| panic!("{command} was answered {answer:?}"))
    }

    /// Ends its input, and waits until it has ended without complaint.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().expect("a child").success());
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // After a failure the program may still wait for us.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(word: &str) -> Vec<u8> {
    let pairs = word.trim_matches('-').as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).expect("ASCII"), 16).expect("digits")).collect()
}

/// What both sides agree on: the parties, and memory of Argon2id in KiB, 0 for no stretching.
type Case = (Parties<'static>, u32);

const NAMED: Parties<'static> =
    Parties { context: b"test 1", client: Some(b"alice@example.org"), server: Some(b"example.org") };

/// With public keys for identities and with names, with and without a context, with and without stretching.
const EVERY_CASE: [Case; 2] = [(Parties::new(b""), 0), (NAMED, 64)];

/// For programs that have no context, and always stretch.
#[allow(dead_code)] // Not every test has such a program.
pub(crate) const WITHOUT_CONTEXT: [Case; 2] = [(Parties::new(b""), 64), (Parties { context: b"", ..NAMED }, 128)];

/// [`both_ways`] in all suites and all cases.
pub(crate) fn in_every_suite(start: impl Fn(&str, u32, &[u8]) -> Peer) {
    fn plain<S: Suite<Static = NoKem> + Default>(_: &[u8]) -> Client<S> {
        Client::default()
    }
    let pinned = |key: &[u8]| Client::pinned(HybridPinned::default(), key).expect("a KEM key");
    both_ways::<Rfc9807>(&start, plain, &EVERY_CASE);
    both_ways::<HybridCompat<MlKem768>>(&start, plain, &EVERY_CASE);
    both_ways::<Hybrid<MlKem768>>(&start, plain, &EVERY_CASE);
    both_ways::<HybridPinned<MlKem768>>(&start, pinned, &EVERY_CASE);
}

/// Registers and logs in both ways.
pub(crate) fn both_ways<S: Suite + Default>(
    start: impl Fn(&str, u32, &[u8]) -> Peer,
    client: impl Fn(&[u8]) -> Client<S>,
    cases: &[Case],
) {
    for &(parties, memory) in cases {
        let ksf = match memory {
            0 => KsfParams::Identity,
            _ => KsfParams::argon2id(memory, 1, 1).expect("parameters that exist"),
        };
        let server = Server::generate(S::default(), ksf, &mut UnwrapErr(SysRng)).expect("keys");
        let other = Server::generate(S::default(), ksf, &mut UnwrapErr(SysRng)).expect("keys");
        let mut peer = start("client", S::ID as u32, server.static_kem_key());
        let record = its_client(&mut peer, &server, &parties);
        peer.end();
        if !other.static_kem_key().is_empty() {
            let mut peer = start("client", S::ID as u32, other.static_kem_key());
            assert!(its_login(&mut peer, &server, &Login::of(&record, &parties)).is_none(), "pinned to another server");
            peer.end();
        }

        let mut peer = start("server", S::ID as u32, b"");
        let [public_key, kem_key] = peer.told("setup", &[&ksf.to_bytes()]);
        let client = |key: &[u8]| client(key).with_limits(Limits::NONE);
        its_server(&mut peer, &client(&kem_key), &public_key, &parties);
        if !kem_key.is_empty() {
            let elsewhere = client(other.static_kem_key());
            let login = login_to(&mut peer, &elsewhere, RIGHT, &parties, &parties, None);
            assert!(matches!(login, Err(Error::Login)), "pinned to another server");
        }
        peer.end();
    }
}

/// A byte in each field of KE1: blinded element, nonce, share, and where there are KEMs a coefficient of the key, and the end of its seed or of
/// the other ciphertext.
const IN_KE1: [Change; 5] = [Change::Ke1(0), Change::Ke1(40), Change::Ke1(70), Change::Ke1(200), Change::Ke1(LAST)];
/// A byte in each field of KE2: evaluated element, masking nonce, masked response (the server's key, the envelope), server's nonce, share, MAC, and where there is a KEM the
/// ciphertext.
const IN_KE2: [Change; 8] = [
    Change::Ke2(0),
    Change::Ke2(40),
    Change::Ke2(70),
    Change::Ke2(100),
    Change::Ke2(200),
    Change::Ke2(230),
    Change::Ke2(260),
    Change::Ke2(LAST),
];
const LAST: usize = usize::MAX;

/// Which byte of a message is changed on its way.
#[derive(Clone, Copy, Debug)]
enum Change {
    Ke1(usize),
    Ke2(usize),
}

impl Change {
    fn flip(at: usize, message: &mut [u8]) {
        let last = message.len() - 1;
        message[at.min(last)] ^= 1;
    }

    fn on_ke1(change: Option<Self>, message: &mut [u8]) {
        if let Some(Self::Ke1(at)) = change {
            Self::flip(at, message);
        }
    }

    fn on_ke2(change: Option<Self>, message: &mut [u8]) {
        if let Some(Self::Ke2(at)) = change {
            Self::flip(at, message);
        }
    }
}

/// A login of the program's, as the library's server sees it.
#[derive(Clone, Copy)]
struct Login<'a> {
    password: &'a [u8],
    record: Option<&'a Record>,
    parties: &'a Parties<'a>,
    at_server: &'a Parties<'a>,
    change: Option<Change>,
}

impl<'a> Login<'a> {
    /// The one that succeeds.
    fn of(record: &'a Record, parties: &'a Parties<'a>) -> Self {
        Self { password: RIGHT, record: Some(record), parties, at_server: parties, change: None }
    }
}

/// What the program answers to KE2, with what the library's server keeps; nothing if either of the two refuses what it is sent.
fn its_login<S: Suite>(
    peer: &mut Peer,
    server: &Server<S>,
    login: &Login<'_>,
) -> Option<(Vec<Vec<u8>>, ServerLogin<S>)> {
    let mut ke1 = its_message(peer, "login", login.password, login.parties);
    Change::on_ke1(login.change, &mut ke1);
    let answer = server.respond(&mut UnwrapErr(SysRng), &ke1, b"alice", login.record, login.at_server);
    if login.change.is_none() {
        assert!(answer.is_ok(), "an honest KE1 is answered");
    }
    let mut answer = answer.ok()?;
    Change::on_ke2(login.change, &mut answer.ke2);
    let end = peer.ask("ke2", &[&answer.ke2, &answer.ksf.to_bytes()]);
    end.map(|words| (words, answer.state))
}

fn its_message(peer: &mut Peer, command: &str, password: &[u8], parties: &Parties<'_>) -> Vec<u8> {
    let [message] = peer.told(
        command,
        &[password, parties.context, parties.client.unwrap_or_default(), parties.server.unwrap_or_default()],
    );
    message
}

/// The record of the account.
fn its_client<S: Suite>(peer: &mut Peer, server: &Server<S>, parties: &Parties<'_>) -> Record {
    let request = its_message(peer, "register", RIGHT, parties);
    let answer = server.register(&mut UnwrapErr(SysRng), &request).expect("a request");
    let ksf = answer.ksf.to_bytes();
    let [upload, export_key, public_key, _] = peer.told("response", &[&answer.response, &ksf]);
    assert_eq!(public_key, server.public_key());
    let record = answer.state.finish(&upload).expect("an upload").into_record();

    let right = Login::of(&record, parties);
    let (words, state) = its_login(peer, server, &right).expect("the right password");
    let [ke3, again, key, session_key] = words.try_into().expect("four words");
    assert_eq!((again, key), (export_key, public_key));
    let session = state.finish(&ke3, Some(&record)).expect("the right KE3");
    assert_eq!(session.session_key.as_bytes()[..], session_key);

    assert!(its_login(peer, server, &Login { password: WRONG, ..right }).is_none(), "a wrong password");
    assert!(its_login(peer, server, &Login { record: None, ..right }).is_none(), "no account");
    let elsewhere = [Parties { context: b"another", ..*parties }, Parties { server: Some(b"another"), ..*parties }];
    assert!(elsewhere.iter().all(|other| its_login(peer, server, &Login { at_server: other, ..right }).is_none()));
    for change in IN_KE1.into_iter().chain(IN_KE2) {
        let login = Login { change: Some(change), ..right };
        assert!(its_login(peer, server, &login).is_none(), "{change:?} was changed");
    }
    assert!(its_login(peer, server, &right).is_some(), "and it goes on");
    record
}

fn its_server<S: Suite>(peer: &mut Peer, client: &Client<S>, public_key: &[u8], parties: &Parties<'_>) {
    let mut rng = UnwrapErr(SysRng);
    let mut ksf = Stretching::default();
    let right = Password::from_bytes(RIGHT).expect("a password");
    // Before there is an account.
    assert!(matches!(login_to(peer, client, RIGHT, parties, parties, None), Err(Error::Login)), "no account");
    assert!(peer.ask("ke3", &[&[0; 64]]).is_none(), "no account");

    let (state, request) = client.start_registration(&mut rng, &right).expect("a request");
    let [response, params] = peer.told("request", &[&request]);
    let params = KsfParams::from_bytes(&params).expect("parameters");
    let done = state.finish(&mut rng, &response, &params, &mut ksf, parties).expect("a response");
    assert_eq!(done.server_public_key[..], *public_key);
    assert!(peer.ask("upload", &[&done.upload]).is_some());

    let mine = login_to(peer, client, RIGHT, parties, parties, None).expect("the right password");
    assert_eq!((&mine.export_key, &mine.server_public_key), (&done.export_key, &done.server_public_key));
    let [session_key] = peer.told("ke3", &[&mine.ke3]);
    assert_eq!(mine.session_key.as_bytes()[..], session_key);

    let mut elsewhere = *parties;
    if parties.context.is_empty() {
        elsewhere.server = Some(b"another");
    } else {
        elsewhere.context = b"another";
    }
    for (password, at_server) in [(WRONG, parties), (RIGHT, &elsewhere)] {
        assert!(matches!(login_to(peer, client, password, parties, at_server, None), Err(Error::Login)));
        assert!(peer.ask("ke3", &[&mine.ke3]).is_none(), "the KE3 of another login");
    }
    for change in IN_KE1.into_iter().chain(IN_KE2) {
        assert!(login_to(peer, client, RIGHT, parties, parties, Some(change)).is_err(), "{change:?} was changed");
    }
    let mut changed = login_to(peer, client, RIGHT, parties, parties, None).expect("the right password").ke3;
    changed[63] ^= 1;
    assert!(peer.ask("ke3", &[&changed]).is_none(), "KE3 was changed");
}

fn login_to<S: Suite>(
    peer: &mut Peer,
    client: &Client<S>,
    password: &[u8],
    parties: &Parties<'_>,
    at_server: &Parties<'_>,
    change: Option<Change>,
) -> Result<candor_opaque::LoggedIn, Error> {
    let password = Password::from_bytes(password).expect("a password");
    let (state, mut ke1) = client.start_login(&mut UnwrapErr(SysRng), &password).expect("KE1");
    let names = [at_server.context, at_server.client.unwrap_or_default(), at_server.server.unwrap_or_default()];
    Change::on_ke1(change, &mut ke1);
    // What a program says to a KE1 that was changed is that login's end, too.
    let answer = peer.ask("ke1", &[&ke1, names[0], names[1], names[2]]);
    let answer =
        if change.is_some() { answer.ok_or(Error::Login)? } else { answer.expect("an honest KE1 is answered") };
    let [mut ke2, params] = answer.try_into().expect("KE2 and parameters");
    Change::on_ke2(change, &mut ke2);
    let params = KsfParams::from_bytes(&params).expect("parameters");
    state.finish(&ke2, &params, &mut Stretching::default(), parties)
}
