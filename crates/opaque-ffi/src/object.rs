//! What a handle stands for, and the bytes that it can be asked for.

use crate::status::Status;
use crate::suites::{AnyClient, AnyClientLogin, AnyServer, AnyServerLogin, Once};
use candor_c_abi::handles::{Handle, Table};
use candor_opaque::{Change, ClientRegistration, KsfParams, LoggedIn, Registered, ServerRegistration, Session};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use zeroize::Zeroizing;

/// What a step makes. C gets its handle.
pub struct Object(pub(crate) Content);

pub(crate) enum Content {
    Client(Box<dyn AnyClient>),
    ClientRegistration { state: Once<ClientRegistration>, request: Option<[u8; 32]> },
    Registered(Registered),
    ClientLogin { state: Box<dyn AnyClientLogin>, ke1: Option<Vec<u8>> },
    LoggedIn(LoggedIn),
    Server(RwLock<Box<dyn AnyServer>>),
    ServerRegistration { state: Once<ServerRegistration>, sent: Option<([u8; 64], KsfParams)> },
    Change(Change),
    ServerLogin { state: Box<dyn AnyServerLogin>, sent: Option<SentKe2> },
    Session(Session),
}

/// What a server has answered to KE1.
pub(crate) struct SentKe2 {
    pub(crate) ke2: Vec<u8>,
    pub(crate) ksf: KsfParams,
    pub(crate) below_minimum: bool,
}

/// All objects.
pub(crate) static TABLE: Table<Object> = Table::new(u32::from_be_bytes(*b"OPAQ"));

/// The object of a handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Object>, Status> {
    Ok(TABLE.get(handle)?)
}

/// Stores an object.
///
/// # Errors
/// [`Status::Internal`] if there are more than any machine has memory for.
pub fn keep(object: Object) -> Result<Handle, Status> {
    Ok(TABLE.insert(object)?)
}

/// Frees an object and wipes it. The handle 0 is ignored.
///
/// # Errors
/// [`Status::Handle`] if there is none.
pub fn free(handle: Handle) -> Result<(), Status> {
    Ok(TABLE.free(handle)?)
}

/// A part of an object, with its number in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Part {
    /// What goes to the other side.
    Message = 1,
    /// The key stretching parameters that go with it; a server's, those of new registrations.
    Ksf = 2,
    /// The object itself, to be resumed. Secret.
    State = 3,
    /// Shared by both sides of a login. Secret.
    SessionKey = 4,
    /// Of the client alone. Secret.
    ExportKey = 5,
    /// The server's public key.
    ServerPublicKey = 6,
    /// The server's static KEM key, of the pinned suite.
    ServerKemKey = 7,
    /// The record to store.
    Record = 8,
    /// Names a record: the one that logged in, or the one that a change replaces.
    CredentialHash = 9,
    /// Names a server's login, for the table of those that were tried.
    LoginId = 10,
    /// For the operator: a byte that is 1 if the record forbids the suite, so that no password opens the answer.
    BelowMinimum = 11,
}

impl Part {
    /// All of them, with the name in the header.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Message, "MESSAGE"),
        (Self::Ksf, "KSF"),
        (Self::State, "STATE"),
        (Self::SessionKey, "SESSION_KEY"),
        (Self::ExportKey, "EXPORT_KEY"),
        (Self::ServerPublicKey, "SERVER_PUBLIC_KEY"),
        (Self::ServerKemKey, "SERVER_KEM_KEY"),
        (Self::Record, "RECORD"),
        (Self::CredentialHash, "CREDENTIAL_HASH"),
        (Self::LoginId, "LOGIN_ID"),
        (Self::BelowMinimum, "BELOW_MINIMUM"),
    ];

    fn of_number(number: u32) -> Result<Self, Status> {
        Self::ALL.iter().map(|(part, _)| *part).find(|part| *part as u32 == number).ok_or(Status::Number)
    }
}

/// The bytes of a part of an object.
///
/// # Errors
/// [`Status::Number`] if no part has this number, [`Status::Handle`], [`Status::Part`] if the object has no such part, [`Status::Finished`] if it was
/// used up.
pub fn part(handle: Handle, number: u32) -> Result<Zeroizing<Vec<u8>>, Status> {
    let part = Part::of_number(number)?;
    get(handle)?.0.part(part)
}

impl Content {
    fn part(&self, part: Part) -> Result<Zeroizing<Vec<u8>>, Status> {
        let copy = |bytes: &[u8]| Ok(Zeroizing::new(bytes.to_vec()));
        match (self, part) {
            (Self::ClientRegistration { request: Some(request), .. }, Part::Message) => copy(request),
            (Self::ClientRegistration { state, .. }, Part::State) => {
                state.look(|state| Zeroizing::new(state.to_bytes().to_vec()))
            }
            (Self::Registered(done), Part::Message) => copy(&done.upload),
            (Self::Registered(done), Part::ExportKey) => copy(done.export_key.as_bytes()),
            (Self::Registered(done), Part::ServerPublicKey) => copy(&done.server_public_key),
            (Self::ClientLogin { ke1: Some(ke1), .. }, Part::Message) => copy(ke1),
            (Self::ClientLogin { state, .. }, Part::State) => state.to_bytes(),
            (Self::LoggedIn(done), Part::Message) => copy(&done.ke3),
            (Self::LoggedIn(done), Part::SessionKey) => copy(done.session_key.as_bytes()),
            (Self::LoggedIn(done), Part::ExportKey) => copy(done.export_key.as_bytes()),
            (Self::LoggedIn(done), Part::ServerPublicKey) => copy(&done.server_public_key),
            (Self::Server(server), part) => server_part(&**read(server), part),
            (Self::ServerRegistration { sent: Some((response, _)), .. }, Part::Message) => copy(response),
            (Self::ServerRegistration { sent: Some((_, ksf)), .. }, Part::Ksf) => copy(&ksf.to_bytes()),
            (Self::ServerRegistration { state, .. }, Part::State) => state.look(ServerRegistration::to_bytes),
            (Self::Change(change), Part::Record) => Ok(change.record().to_bytes()),
            (Self::Change(Change::Replace { replaces, .. }), Part::CredentialHash) => copy(replaces.as_bytes()),
            (Self::ServerLogin { sent: Some(sent), .. }, Part::Message) => copy(&sent.ke2),
            (Self::ServerLogin { sent: Some(sent), .. }, Part::Ksf) => copy(&sent.ksf.to_bytes()),
            (Self::ServerLogin { sent: Some(sent), .. }, Part::BelowMinimum) => copy(&[u8::from(sent.below_minimum)]),
            (Self::ServerLogin { state, .. }, Part::State) => state.to_bytes(),
            (Self::ServerLogin { state, .. }, Part::LoginId) => copy(&state.id()?),
            (Self::Session(session), Part::SessionKey) => copy(session.session_key.as_bytes()),
            (Self::Session(session), Part::CredentialHash) => copy(session.credential().as_bytes()),
            _ => Err(Status::Part),
        }
    }
}

fn server_part(server: &dyn AnyServer, part: Part) -> Result<Zeroizing<Vec<u8>>, Status> {
    match part {
        Part::State => Ok(server.to_bytes()?),
        Part::Ksf => Ok(Zeroizing::new(server.ksf().to_bytes().to_vec())),
        Part::ServerPublicKey => Ok(Zeroizing::new(server.public_key().to_vec())),
        Part::ServerKemKey if !server.static_kem_key().is_empty() => {
            Ok(Zeroizing::new(server.static_kem_key().to_vec()))
        }
        _ => Err(Status::Part),
    }
}

/// A server to read. One in whose change a call panicked is still a server: parameters are checked before they are changed.
pub(crate) fn read(server: &RwLock<Box<dyn AnyServer>>) -> RwLockReadGuard<'_, Box<dyn AnyServer>> {
    server.read().unwrap_or_else(PoisonError::into_inner)
}
