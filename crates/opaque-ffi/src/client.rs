//! The client's steps.

use crate::object::{Content, Object, get};
use crate::randomness::drawing;
use crate::status::Status;
use crate::suites::{self, AnyClient, Once, Stretching};
use candor_c_abi::handles::Handle;
use candor_opaque::{KsfParams, Limits, Parties, Password};

/// What the bytes of a password are, with its number in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PasswordKind {
    /// A text in UTF-8, prepared as [`Password::from_text`] does.
    Text = 1,
    /// Bytes as they are.
    Bytes = 2,
}

impl PasswordKind {
    /// Both, with the name in the header.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Text, "TEXT"), (Self::Bytes, "BYTES")];
}

/// A client of the suite with this number; `server_kem_key` is for the pinned suite, and empty for others.
///
/// # Errors
/// [`Status::Number`]; [`Status::Length`] if there is a KEM key although the suite takes none; [`Status::Key`] or [`Status::Length`] if it is none.
pub fn new(suite: u32, server_kem_key: &[u8], limits: Option<Limits>) -> Result<Object, Status> {
    let client = suites::client(suite, server_kem_key, limits.unwrap_or_default())?;
    Ok(Object(Content::Client(client)))
}

/// Begins a registration.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Number`], [`Status::Password`], [`Status::Randomness`].
pub fn start_registration(client: Handle, kind: u32, password: &[u8]) -> Result<Object, Status> {
    with(client, |client| {
        let password = self::password(kind, password)?;
        let (state, request) = drawing(|rng| client.start_registration(rng, &password))?;
        Ok(Object(Content::ClientRegistration { state: Once::new(state), request: Some(request) }))
    })
}

/// Goes on with a registration that was saved.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Number`], [`Status::Password`]; [`Status::Length`], [`Status::State`], [`Status::Key`] if `saved` is no state of a
/// registration.
pub fn resume_registration(client: Handle, saved: &[u8], kind: u32, password: &[u8]) -> Result<Object, Status> {
    with(client, |client| {
        let state = client.resume_registration(saved, &self::password(kind, password)?)?;
        Ok(Object(Content::ClientRegistration { state: Once::new(state), request: None }))
    })
}

/// Ends a registration with the server's response, and uses it up.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Finished`], [`Status::Length`], [`Status::Element`], [`Status::Limits`], [`Status::Ksf`], [`Status::Memory`],
/// [`Status::Randomness`].
pub fn finish_registration(
    registration: Handle,
    response: &[u8],
    ksf: &[u8],
    parties: &Parties<'_>,
) -> Result<Object, Status> {
    let object = get(registration)?;
    let Content::ClientRegistration { state, .. } = &object.0 else { return Err(Status::Kind) };
    let params = KsfParams::from_bytes(ksf)?;
    let state = state.take()?;
    let done = drawing(|rng| state.finish(rng, response, &params, &mut Stretching::default(), parties))?;
    Ok(Object(Content::Registered(done)))
}

/// Begins a login.
///
/// # Errors
/// As [`start_registration`].
pub fn start_login(client: Handle, kind: u32, password: &[u8]) -> Result<Object, Status> {
    with(client, |client| {
        let password = self::password(kind, password)?;
        let (state, ke1) = drawing(|rng| client.start_login(rng, &password))?;
        Ok(Object(Content::ClientLogin { state, ke1: Some(ke1) }))
    })
}

/// Goes on with a login that was saved.
///
/// # Errors
/// As [`resume_registration`].
pub fn resume_login(client: Handle, saved: &[u8], kind: u32, password: &[u8]) -> Result<Object, Status> {
    with(client, |client| {
        let state = client.resume_login(saved, &self::password(kind, password)?)?;
        Ok(Object(Content::ClientLogin { state, ke1: None }))
    })
}

/// Ends a login with KE2, and uses it up.
///
/// # Errors
/// [`Status::Handle`], [`Status::Kind`], [`Status::Finished`]; [`Status::Login`] if the password, the user, the context, an identity or the server is not the right one, or
/// a message was changed; [`Status::Length`], [`Status::Element`], [`Status::Limits`], [`Status::Ksf`], [`Status::Memory`].
pub fn finish_login(login: Handle, ke2: &[u8], ksf: &[u8], parties: &Parties<'_>) -> Result<Object, Status> {
    let object = get(login)?;
    let Content::ClientLogin { state, .. } = &object.0 else { return Err(Status::Kind) };
    let params = KsfParams::from_bytes(ksf)?;
    Ok(Object(Content::LoggedIn(state.finish(ke2, &params, parties)?)))
}

fn with(client: Handle, then: impl FnOnce(&dyn AnyClient) -> Result<Object, Status>) -> Result<Object, Status> {
    match &get(client)?.0 {
        Content::Client(client) => then(&**client),
        _ => Err(Status::Kind),
    }
}

fn password(kind: u32, bytes: &[u8]) -> Result<Password<'_>, Status> {
    let found = PasswordKind::ALL.iter().find(|(one, _)| *one as u32 == kind);
    match found.ok_or(Status::Number)?.0 {
        PasswordKind::Text => Ok(Password::from_text(str::from_utf8(bytes).map_err(|_| Status::Password)?)?),
        PasswordKind::Bytes => Ok(Password::from_bytes(bytes)?),
    }
}
