//! Accounts to try things with: real records, made without key stretching.

use candor_login::store::{NewAccount, NewRecord, NewSession, Scope};
use candor_login::{
    AccountId, IssuedRefresh, KeyId, KeyRing, MasterKey, PARTIES, Purpose, RefreshKey, SessionId, Store, TokenHash,
    UnixTime, UserName, random,
};
use candor_old_hashes::OldScheme;
use candor_opaque::{Change, Client, DefaultSuite, Error, KsfParams, Limits, NoStretching, Password, Record, Server};
use getrandom::{SysRng, rand_core::UnwrapErr};
use zeroize::Zeroizing;

pub(crate) const NOW: UnixTime = UnixTime(1_800_000_000);

pub(crate) fn name(text: &str) -> UserName {
    UserName::parse(text).unwrap()
}

pub(crate) fn token(purpose: Purpose) -> TokenHash {
    TokenHash::of(purpose, &random::<32>().unwrap())
}

pub(crate) fn session() -> NewSession {
    refreshable().0
}

/// A session, and its refresh token.
pub(crate) fn refreshable() -> (NewSession, IssuedRefresh) {
    let id = SessionId::generate().unwrap();
    let issued = issued(id);
    let session = NewSession {
        id,
        scope: Scope::Full,
        access: token(Purpose::Access),
        access_until: NOW.plus(600),
        refresh: issued.hash(),
        ends: NOW.plus(86400),
        label: "laptop".to_owned(),
        device: None,
    };
    (session, issued)
}

/// A fresh refresh token of a session.
pub(crate) fn issued(session: SessionId) -> IssuedRefresh {
    let key = RefreshKey::new(&MasterKey::from_bytes([1; 32]));
    key.read(&key.issue(session).unwrap()).unwrap()
}

/// A fresh record under a server's key.
pub(crate) fn record(server: &Server<DefaultSuite>) -> Record {
    let rng = &mut UnwrapErr(SysRng);
    let client = Client::new(DefaultSuite::default()).with_limits(Limits::NONE);
    let (registration, request) = client.start_registration(rng, &Password::from_bytes(b"password").unwrap()).unwrap();
    let answer = server.register(rng, &request).unwrap();
    let done = registration.finish(rng, &answer.response, &answer.ksf, &mut NoStretching, &PARTIES).unwrap();
    match answer.state.finish(&done.upload).unwrap() {
        Change::Insert(record) => record,
        other => panic!("a new account replaces nothing: {other:?}"),
    }
}

/// A store's ring, and accounts under its active key.
pub(crate) struct People {
    pub(crate) ring: KeyRing,
    pub(crate) store: Store,
}

impl People {
    pub(crate) async fn of(store: Store) -> Self {
        Self { ring: KeyRing::open(&store, KsfParams::Identity, NOW).await.unwrap(), store }
    }

    pub(crate) fn key(&self) -> KeyId {
        self.ring.active().0
    }

    pub(crate) fn record(&self) -> Record {
        record(self.ring.active().1)
    }

    pub(crate) fn newcomer(&self, text: &str) -> NewAccount {
        NewAccount { name: name(text), record: self.record(), key: self.key(), token: None, recovery_codes: Vec::new() }
    }

    /// An account that is there.
    pub(crate) async fn join(&self, text: &str) -> (AccountId, Record) {
        let new = self.newcomer(text);
        let record = new.record.clone();
        (self.store.register(new, NOW).await.unwrap(), record)
    }

    /// A new record in place of `old`.
    pub(crate) fn change(&self, account: AccountId, old: &Record) -> NewRecord {
        NewRecord {
            account,
            replaces: old.credential_hash(),
            record: self.record(),
            key: self.key(),
            keep: None,
            recovery_codes: None,
        }
    }
}

/// Plays a login: what the client does who types `password`, and what the server does. Returns the account's old scheme, if it was asked for.
pub(crate) async fn log_in(people: &People, text: &str, password: &str) -> Result<Option<OldScheme>, Error> {
    let rng = &mut UnwrapErr(SysRng);
    let (name, account) = (name(text), people.store.account(&name(text)).await.unwrap());
    let basis = people.ring.basis(&name, account.as_ref()).unwrap();
    // The client, told how the old hash was computed.
    let old: Option<OldScheme> = basis.old_hash.as_deref().map(|scheme| scheme.parse().unwrap());
    let secret = match &old {
        Some(scheme) => scheme.opaque_password(password.as_bytes()).unwrap(),
        None => Zeroizing::new(Password::from_text(password)?.as_bytes().to_vec()),
    };
    let client = Client::new(DefaultSuite::default()).with_limits(Limits::NONE);
    let (login, ke1) = client.start_login(rng, &Password::from_bytes(&secret)?)?;
    let answer = basis.server.respond(rng, &ke1, &basis.name, basis.record, &PARTIES)?;
    let done = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &PARTIES)?;
    answer.state.finish(&done.ke3, basis.record)?;
    Ok(old)
}
