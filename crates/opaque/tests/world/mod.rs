//! A server, a client and a registered user, for each suite.
#![allow(dead_code)] // not every test file uses all of it

use candor_opaque::suite::NoKem;
use candor_opaque::{
    Client, Error, ExportKey, Hybrid, HybridCompat, HybridPinned, KsfParams, Limits, LoggedIn, NoStretching, Parties,
    Password, Record, Rfc9807, Server, ServerLogin, SessionKey, Suite,
};
use candor_primitives::kem::ml_kem;
use candor_test_support::back_ends::system;

/// The KEM of the default suite.
pub(crate) type MlKem768 = ml_kem::MlKem768;

pub(crate) const PASSWORD: &[u8] = b"correct horse battery staple";
pub(crate) const USER: &[u8] = b"account 17";
pub(crate) const PARTIES: Parties<'static> =
    Parties { context: b"candor tests", client: Some(b"alice"), server: Some(b"example.org") };

pub(crate) struct World<S: Suite> {
    pub(crate) server: Server<S>,
    pub(crate) client: Client<S>,
    pub(crate) record: Record,
    pub(crate) export_key: ExportKey,
}

/// A session key on both sides.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: SessionKey,
    pub(crate) server: SessionKey,
    pub(crate) export_key: ExportKey,
}

/// Which message is changed, and how.
pub(crate) struct Edits<'a> {
    pub(crate) ke1: &'a dyn Fn(&mut Vec<u8>),
    pub(crate) ke2: &'a dyn Fn(&mut Vec<u8>),
    pub(crate) ke3: &'a dyn Fn(&mut Vec<u8>),
}

impl Edits<'_> {
    pub(crate) const NONE: Edits<'static> = Edits { ke1: &|_| {}, ke2: &|_| {}, ke3: &|_| {} };
}

/// A world that a suite's type suffices to make.
pub(crate) trait Make: Suite {
    fn world() -> World<Self>;
}

macro_rules! plain {
    ($($suite:ty),+) => {
        $(impl Make for $suite {
            fn world() -> World<Self> {
                World::of(Server::generate(Self::default(), KsfParams::Identity, &mut system()).unwrap(), Client::default())
            }
        })+
    };
}

plain!(Rfc9807, HybridCompat<MlKem768>, Hybrid<MlKem768>);

impl Make for HybridPinned<MlKem768> {
    fn world() -> World<Self> {
        let server = Server::generate(Self::default(), KsfParams::Identity, &mut system()).unwrap();
        let client = Client::pinned(Self::default(), server.static_kem_key()).unwrap();
        World::of(server, client)
    }
}

/// Runs a generic function for each suite.
macro_rules! every_suite {
    ($check:ident) => {{
        $check::<candor_opaque::Rfc9807>();
        $check::<candor_opaque::HybridCompat<world::MlKem768>>();
        $check::<candor_opaque::Hybrid<world::MlKem768>>();
        $check::<candor_opaque::HybridPinned<world::MlKem768>>();
    }};
}
pub(crate) use every_suite;

impl<S: Suite> World<S> {
    pub(crate) fn of(server: Server<S>, client: Client<S>) -> Self {
        let client = client.with_limits(Limits::NONE);
        let (record, export_key) = register(&server, &client, PASSWORD);
        Self { server, client, record, export_key }
    }

    /// A login in which nothing goes wrong.
    pub(crate) fn login(&self) -> Result<Session, Error> {
        self.edited(&Edits::NONE)
    }

    /// A login in which somebody edits the messages.
    pub(crate) fn edited(&self, edits: &Edits<'_>) -> Result<Session, Error> {
        let password = Password::from_bytes(PASSWORD).unwrap();
        let (login, mut ke1) = self.client.start_login(&mut system(), &password)?;
        (edits.ke1)(&mut ke1);
        let mut answer = self.server.respond(&mut system(), &ke1, USER, Some(&self.record), &PARTIES)?;
        (edits.ke2)(&mut answer.ke2);
        let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES)?;
        let saved = answer.state.to_bytes();
        content(answer.state, &done, &self.record);
        let mut ke3 = done.ke3.to_vec();
        (edits.ke3)(&mut ke3);
        let server = ServerLogin::<S>::from_bytes(saved.as_slice())?.finish(&ke3, Some(&self.record))?;
        let server = server.session_key;
        Ok(Session { client: done.session_key, server, export_key: done.export_key })
    }

    /// What a login comes to if one side sees things differently.
    pub(crate) fn differing(
        &self,
        password: &[u8],
        record: Option<&Record>,
        name: &[u8],
        client_side: (&KsfParams, &Parties<'_>),
        server_parties: &Parties<'_>,
    ) -> Result<SessionKey, Error> {
        let (login, ke1) = self.client.start_login(&mut system(), &Password::from_bytes(password)?)?;
        let answer = self.server.respond(&mut system(), &ke1, name, record, server_parties)?;
        let done = login.finish(&answer.ke2, client_side.0, &mut AnyStretching, client_side.1)?;
        content(answer.state, &done, record.expect("nobody logs in without an account"));
        Ok(done.session_key)
    }
}

/// A client that ends without an error shares the server's key: whatever was changed before KE3 is for the client to notice, and not
/// for the server, which would refuse KE3 anyway.
fn content<S: Suite>(server: ServerLogin<S>, client: &LoggedIn, record: &Record) {
    let theirs = server.finish(&client.ke3, Some(record));
    assert!(
        theirs.is_ok_and(|session| session.session_key == client.session_key),
        "{}: the client accepts what the server refuses",
        S::NAME
    );
}

/// Registers a user, with no stretching.
pub(crate) fn register<S: Suite>(server: &Server<S>, client: &Client<S>, password: &[u8]) -> (Record, ExportKey) {
    let password = Password::from_bytes(password).unwrap();
    let (registration, request) = client.start_registration(&mut system(), &password).unwrap();
    let answer = server.register(&mut system(), &request).unwrap();
    let done = registration.finish(&mut system(), &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    assert_eq!(&done.server_public_key, server.public_key());
    (answer.state.finish(&done.upload).unwrap().into_record(), done.export_key)
}

/// Stretches nothing, whatever the parameters say: what then fails did not fail for the stretching.
pub(crate) struct AnyStretching;

impl candor_opaque::Ksf for AnyStretching {
    fn stretch(&mut self, _: &KsfParams, input: &[u8; 64], stretched: &mut [u8; 64]) -> Result<(), Error> {
        *stretched = *input;
        Ok(())
    }
}

/// The suites without a static KEM, for what only they have.
pub(crate) fn plain_client<S: Suite<Static = NoKem> + Default>() -> Client<S> {
    Client::<S>::default().with_limits(Limits::NONE)
}
