//! The server's steps.

use crate::object::{Content, Object, SentKe2, get, read};
use crate::randomness::drawing;
use crate::status::Status;
use crate::suites::{self, AnyServer, Once, stored, stored_or_nobody};
use candor_c_abi::handles::Handle;
use candor_opaque::{CredentialId, KsfParams, Parties, Record, RegistrationAnswer, ServerRegistration};
use std::sync::{PoisonError, RwLock};
use zeroize::Zeroizing;

/// A server of the suite with this number, with fresh keys. Without `ksf` its users register with [`KsfParams::BROWSER`].
///
/// # Errors
/// [`Status::Number`], [`Status::Length`] or [`Status::Ksf`] for bad parameters, [`Status::Randomness`].
pub fn generate(suite: u32, ksf: Option<&[u8]>) -> Result<Object, Status> {
    let ksf = ksf.map_or(Ok(KsfParams::default()), KsfParams::from_bytes)?;
    Ok(server(drawing(|rng| suites::generate(suite, ksf, rng))?))
}

/// A server that was saved.
///
/// # Errors
/// [`Status::Number`], [`Status::Length`], [`Status::State`], [`Status::Key`], [`Status::Ksf`].
pub fn from_bytes(suite: u32, saved: &[u8]) -> Result<Object, Status> {
    Ok(server(suites::saved_server(suite, saved)?))
}

/// A server with the keys of another implementation: RFC 9807's `oprf_seed` and `server_private_key`. In the pinned suite it gets a fresh KEM key. Without `ksf` its
/// users register with [`KsfParams::BROWSER`].
///
/// # Errors
/// [`Status::Number`]; [`Status::Length`]; [`Status::Key`] if the secret key is not valid; [`Status::Ksf`], [`Status::Randomness`].
pub fn from_keys(suite: u32, oprf_seed: &[u8], secret_key: &[u8], ksf: Option<&[u8]>) -> Result<Object, Status> {
    let ksf = ksf.map_or(Ok(KsfParams::default()), KsfParams::from_bytes)?;
    let seed = oprf_seed.try_into().map_err(|_| Status::Length)?;
    let key = secret_key.try_into().map_err(|_| Status::Length)?;
    Ok(server(drawing(|rng| suites::server_of_keys(suite, seed, key, ksf, rng))?))
}

/// A server of another suite with the same keys.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Number`], [`Status::Randomness`].
pub fn to_suite(server: Handle, suite: u32) -> Result<Object, Status> {
    with(server, |server| Ok(self::server(drawing(|rng| server.to_suite(suite, rng))?)))
}

/// From now on users register with these parameters.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`]; [`Status::Length`], [`Status::Ksf`] for parameters or a share that do not exist.
pub fn adopt_ksf(server: Handle, ksf: &[u8], moved_per_mille: u32) -> Result<(), Status> {
    let object = get(server)?;
    let Content::Server(server) = &object.0 else { return Err(Status::Kind) };
    let params = KsfParams::from_bytes(ksf)?;
    let share = u16::try_from(moved_per_mille).map_err(|_| Status::Ksf)?;
    Ok(server.write().unwrap_or_else(PoisonError::into_inner).adopt_ksf(params, share)?)
}

/// Answers the registration request of a new account.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Length`], [`Status::Element`], [`Status::Randomness`].
pub fn start_registration(server: Handle, request: &[u8]) -> Result<Object, Status> {
    with(server, |server| Ok(answered(drawing(|rng| server.register(rng, None, request))?)))
}

/// Answers the registration request of the account that has just logged in with this session. A function of its own: a session of 0, which a login leaves that failed,
/// must not become a new account.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Length`], [`Status::Element`], [`Status::Randomness`].
pub fn start_registration_again(server: Handle, session: Handle, request: &[u8]) -> Result<Object, Status> {
    with(server, |server| match &get(session)?.0 {
        Content::Session(session) => Ok(answered(drawing(|rng| server.register(rng, Some(session), request))?)),
        _ => Err(Status::Kind),
    })
}

/// Answers a registration request under an identifier of the caller's.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Length`], [`Status::Element`].
pub fn start_registration_with_id(server: Handle, id: &[u8], request: &[u8]) -> Result<Object, Status> {
    with(server, |server| Ok(answered(server.register_with_id(CredentialId::imported(id)?, request)?)))
}

/// Goes on with a registration that was saved.
///
/// # Errors
/// [`Status::Length`], [`Status::State`], [`Status::Ksf`].
pub fn resume_registration(saved: &[u8]) -> Result<Object, Status> {
    let state = Once::new(ServerRegistration::from_bytes(saved)?);
    Ok(Object(Content::ServerRegistration { state, sent: None }))
}

/// Ends a registration with the client's upload, and uses it up.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Finished`], [`Status::Length`], [`Status::Element`].
pub fn finish_registration(registration: Handle, upload: &[u8]) -> Result<Object, Status> {
    match &get(registration)?.0 {
        Content::ServerRegistration { state, .. } => Ok(Object(Content::Change(state.take()?.finish(upload)?))),
        _ => Err(Status::Kind),
    }
}

/// Whether a change may be made to an account whose stored record this is, without one to a free name.
///
/// # Errors
/// [`Status::Stale`] if not; [`Status::Handle`], [`Status::Kind`]; [`Status::Record`] if `current` is no record.
pub fn change_applies_to(change: Handle, current: Option<&[u8]>) -> Result<(), Status> {
    let current = current.map(stored).transpose()?;
    match &get(change)?.0 {
        Content::Change(change) => change.applies_to(current.as_ref()).then_some(()).ok_or(Status::Stale),
        _ => Err(Status::Kind),
    }
}

/// The record of an account that another implementation registered.
///
/// # Errors
/// [`Status::Number`], [`Status::Length`], [`Status::Element`], [`Status::Ksf`].
pub fn record_from_upload(upload: &[u8], ksf: &[u8], id: &[u8], minimum: u32) -> Result<Zeroizing<Vec<u8>>, Status> {
    let (ksf, id) = (KsfParams::from_bytes(ksf)?, CredentialId::imported(id)?);
    Ok(Record::from_upload(upload, &ksf, id, suites::suite(minimum)?)?.to_bytes())
}

/// What names a stored record: that of the session, and of the change, that belong to it.
///
/// # Errors
/// [`Status::Record`] if these bytes are no record.
pub fn record_credential_hash(record: &[u8]) -> Result<[u8; 32], Status> {
    Ok(*stored(record)?.credential_hash().as_bytes())
}

/// The record with a minimum that is at least this suite.
///
/// # Errors
/// [`Status::Number`]; [`Status::Record`] if these bytes are no record.
pub fn record_raise_minimum(record: &[u8], suite: u32) -> Result<Zeroizing<Vec<u8>>, Status> {
    let mut record = stored(record)?;
    record.raise_minimum(suites::suite(suite)?);
    Ok(record.to_bytes())
}

/// Answers KE1. Without a record, or with one of no bytes, there is no account of this name.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`]; [`Status::Record`] for a damaged record, whatever KE1 is; [`Status::Length`], [`Status::Element`], [`Status::Key`] for a bad KE1, the
/// same for every name; [`Status::Randomness`].
pub fn start_login(
    server: Handle,
    ke1: &[u8],
    name: &[u8],
    record: Option<&[u8]>,
    parties: &Parties<'_>,
) -> Result<Object, Status> {
    with(server, |server| {
        let record = stored_or_nobody(record)?;
        let answer = drawing(|rng| server.respond(rng, ke1, name, record.as_ref(), parties))?;
        let sent = SentKe2 { ke2: answer.ke2, ksf: answer.ksf, below_minimum: answer.below_minimum };
        Ok(Object(Content::ServerLogin { state: answer.state, sent: Some(sent) }))
    })
}

/// Goes on with a login that was saved.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Length`], [`Status::State`].
pub fn resume_login(server: Handle, saved: &[u8]) -> Result<Object, Status> {
    with(server, |server| Ok(Object(Content::ServerLogin { state: server.resume_login(saved)?, sent: None })))
}

/// Ends a login with KE3, and uses it up. A record of no bytes is none.
///
/// # Errors
/// [`Status::Login`] if the client does not know the password, there is no account, or the login was begun for another one; [`Status::Handle`],
/// [`Status::Kind`], [`Status::Finished`]; [`Status::Length`] for a bad KE3; [`Status::Record`] for a damaged record.
pub fn finish_login(login: Handle, ke3: &[u8], record: Option<&[u8]>) -> Result<Object, Status> {
    match &get(login)?.0 {
        Content::ServerLogin { state, .. } => Ok(Object(Content::Session(state.finish(ke3, record)?))),
        _ => Err(Status::Kind),
    }
}

fn with(server: Handle, then: impl FnOnce(&dyn AnyServer) -> Result<Object, Status>) -> Result<Object, Status> {
    match &get(server)?.0 {
        Content::Server(server) => then(&**read(server)),
        _ => Err(Status::Kind),
    }
}

fn server(server: Box<dyn AnyServer>) -> Object {
    Object(Content::Server(RwLock::new(server)))
}

fn answered(answer: RegistrationAnswer) -> Object {
    let sent = Some((answer.response, answer.ksf));
    Object(Content::ServerRegistration { state: Once::new(answer.state), sent })
}
