//! Registration, login, change of password, recovery.

use crate::connection::Connection;
use crate::recovery::RecoveryCode;
use crate::session::{DeviceProof, Session};
use crate::wire::{self, Bytes};
use crate::{Error, Limits};
use candor_old_hashes::{CostLimits, OldScheme};
use candor_opaque::{
    Argon2id, Client as Opaque, ClientLogin, ClientRegistration, DefaultSuite, ExportKey, KsfParams, Parties, Password,
};
use getrandom::{SysRng, rand_core::UnwrapErr};
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

/// The context of every login, as the server has it.
const PARTIES: Parties<'static> = Parties::new(b"candor-login-1");

/// A client of one login server. It keeps a connection open.
pub struct Client {
    connection: Arc<Connection>,
    limits: Limits,
    old_hash_limits: CostLimits,
}

/// What a request may say besides name and password.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What this device got when it logged in before. It does not have to wait when strangers guess at the account.
    pub device: Option<DeviceProof>,
    /// Ask for such a proof, if there is none.
    pub remember: bool,
    /// What the user calls the device, for the list of sessions.
    pub label: String,
    /// How many recovery codes to make, at most 16. With zero, a new account has none, an account that was recovered keeps its others, and one whose
    /// password was changed has none any more.
    pub recovery_codes: usize,
}

/// An open session, and what came with it.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoggedIn {
    /// The session.
    pub session: Session,
    /// The same at every login with this password, and known to nobody else: for data that the server stores and must not read. **It changes
    /// with the password**; the server's documentation says how to deal with that.
    pub export_key: ExportKey,
    /// What this device proves itself with next time, if it was asked for.
    pub device: Option<DeviceProof>,
    /// The new recovery codes, to be shown to the user now: there is no other time.
    pub recovery_codes: Vec<RecoveryCode>,
}

impl Client {
    /// A client of the server at `https://HOST[:PORT]`, or at `http://` and a loopback address.
    ///
    /// # Errors
    /// [`Error::Url`].
    pub fn new(url: &str) -> Result<Self, Error> {
        Ok(Self::over(Connection::new(url, None)?))
    }

    /// A client that trusts only the certificate authorities in this PEM text.
    ///
    /// # Errors
    /// [`Error::Url`]; [`Error::Internal`] if the text has no certificates.
    pub fn with_authorities(url: &str, pem: &[u8]) -> Result<Self, Error> {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;
        let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match roots {
            Ok(roots) if !roots.is_empty() => Ok(Self::over(Connection::new(url, Some(roots))?)),
            _ => Err(Error::Internal("no certificates in the PEM text".to_owned())),
        }
    }

    fn over(connection: Connection) -> Self {
        Self { connection: Arc::new(connection), limits: Limits::DEFAULT, old_hash_limits: CostLimits::DEFAULT }
    }

    /// The client with other limits on the old password hashes that a server may ask it to compute, for accounts that were taken over from another
    /// system. Any server can ask, before it has proved to be the right one.
    #[must_use]
    pub fn with_old_hash_limits(self, old_hash_limits: CostLimits) -> Self {
        Self { old_hash_limits, ..self }
    }

    /// The client with other limits on key stretching. The default refuses what costs an attacker too little or this machine too much.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Makes an account. `token` is a registration token, if the server wants one.
    ///
    /// # Errors
    /// [`Error::NameTaken`], [`Error::RegistrationToken`]; [`Error`].
    pub async fn register(
        &self,
        name: &str,
        password: &str,
        token: Option<&str>,
        options: &Options,
    ) -> Result<LoggedIn, Error> {
        let (registration, request) = self.begin_registration(password)?;
        let body = wire::RegisterStart { name, token, request };
        let started = self.post("/v1/register/start", None, &body).await?;
        let finish = Finish { path: "/v1/register/finish", name: Some(name), token, access: None };
        self.finish_registration(registration, started, finish, options).await
    }

    /// Logs in.
    ///
    /// # Errors
    /// [`Error::LoginFailed`], [`Error::Throttled`]; [`Error`].
    pub async fn log_in(&self, name: &str, password: &str, options: &Options) -> Result<LoggedIn, Error> {
        let proved = self.prove(name, password, options).await?;
        if proved.old {
            return self.register_again(name, password, proved, options).await;
        }
        let body = wire::LoginFinish {
            name,
            state: proved.state,
            ke3: proved.ke3,
            device: options.device.as_ref().map(|proof| proof.0.clone()),
            label: &options.label,
            remember: options.remember,
        };
        let opened = self.post("/v1/login/finish", None, &body).await?;
        let (session, device) = Session::new(Arc::clone(&self.connection), opened);
        Ok(LoggedIn { session, export_key: proved.export_key, device, recovery_codes: Vec::new() })
    }

    /// Sets a new password. All sessions of the account end, and the one that is returned is opened. The old recovery codes are removed; `options` asks for
    /// new ones. **The export key is another one from now on.**
    ///
    /// # Errors
    /// [`Error::LoginFailed`] if the old password is wrong; [`Error::Throttled`]; [`Error`].
    pub async fn change_password(
        &self,
        name: &str,
        old: &str,
        new: &str,
        options: &Options,
    ) -> Result<LoggedIn, Error> {
        let proved = self.prove(name, old, options).await?;
        self.register_again(name, new, proved, options).await
    }

    async fn register_again(
        &self,
        name: &str,
        new: &str,
        proved: Proved,
        options: &Options,
    ) -> Result<LoggedIn, Error> {
        let (registration, request) = self.begin_registration(new)?;
        let body = wire::PasswordStart { name, state: proved.state, ke3: proved.ke3, request };
        let started = self.post("/v1/password/start", None, &body).await?;
        let finish = Finish { path: "/v1/password/finish", name: Some(name), token: None, access: None };
        self.finish_registration(registration, started, finish, options).await
    }

    /// Sets a new password with a recovery code, which is used up. All sessions of the account end, and the one that is returned is opened. **The export key
    /// is another one from now on**; [`RecoveryCode::wrapping_key`] is for what was encrypted under the old one.
    ///
    /// # Errors
    /// [`Error::LoginFailed`] if there is no such code or no such account; [`Error::Throttled`]; [`Error`].
    pub async fn recover(
        &self,
        name: &str,
        code: &RecoveryCode,
        new: &str,
        options: &Options,
    ) -> Result<LoggedIn, Error> {
        let (registration, request) = self.begin_registration(new)?;
        let body = wire::RecoveryOpen { name, code: Bytes::of(code.for_server().as_slice()) };
        let opened: wire::RecoveryOpened = self.post("/v1/recovery/session", None, &body).await?;
        let access = Some(opened.access_token);
        let started = self.post("/v1/recovery/start", access.as_ref(), &wire::RecoveryStart { request }).await?;
        let finish = Finish { path: "/v1/recovery/finish", name: None, token: None, access };
        self.finish_registration(registration, started, finish, options).await
    }

    /// Makes so many new recovery codes in place of the old ones; at most 16. It takes the password, so that whoever has stolen a session can't
    /// plant a code of his own.
    ///
    /// # Errors
    /// [`Error::LoginFailed`] if the password is wrong; [`Error::Throttled`]; [`Error`].
    pub async fn replace_recovery_codes(
        &self,
        name: &str,
        password: &str,
        number: usize,
        options: &Options,
    ) -> Result<Vec<RecoveryCode>, Error> {
        let codes = codes(number)?;
        let proved = self.prove(name, password, options).await?;
        let body = wire::RecoveryCodes { name, state: proved.state, ke3: proved.ke3, codes: for_server(&codes) };
        let answer = self.connection.call(Method::PUT, "/v1/recovery/codes", None, Some(&body)).await;
        answer.map(|wire::CodesLeft { .. }| codes)
    }

    /// Proves the password, without ending the login.
    async fn prove(&self, name: &str, password: &str, options: &Options) -> Result<Proved, Error> {
        let (login, started) = self.begin_login(name, prepared(password)?, options, None).await?;
        let Some(scheme) = started.old_hash else { return self.finish_login(login, started, false).await };
        // The account was taken over from another system. What it knows is the hash of the password as it was typed there.
        let scheme: OldScheme = scheme.parse().map_err(|error| self.connection.no_answer(error))?;
        // Nobody has proved yet to be the right server.
        self.old_hash_limits.check(&scheme).map_err(|why| Error::OldHash { scheme: scheme.name_and_cost(), why })?;
        let password = Zeroizing::new(password.as_bytes().to_vec());
        let old = spawn_blocking(move || scheme.opaque_password(&password)).await;
        let old = old.map_err(|_| cut_off())?.map_err(|error| self.connection.no_answer(error))?;
        let (login, started) = self.begin_login(name, old, options, Some(started.state)).await?;
        self.finish_login(login, started, true).await
    }

    async fn begin_login(
        &self,
        name: &str,
        password: Zeroizing<Vec<u8>>,
        options: &Options,
        old_hash: Option<Bytes>,
    ) -> Result<(ClientLogin<DefaultSuite>, wire::LoginStarted), Error> {
        let client = Opaque::<DefaultSuite>::default().with_limits(self.limits);
        let (login, ke1) = client.start_login(&mut UnwrapErr(SysRng), &Password::from_bytes(&password)?)?;
        let device = options.device.as_ref().map(|proof| proof.0.clone());
        let body = wire::LoginStart { name, ke1: Bytes::of(&ke1), device, old_hash };
        Ok((login, self.post("/v1/login/start", None, &body).await?))
    }

    async fn finish_login(
        &self,
        login: ClientLogin<DefaultSuite>,
        started: wire::LoginStarted,
        old: bool,
    ) -> Result<Proved, Error> {
        let params = KsfParams::from_bytes(&started.ksf.0)?;
        let ke2 = started.ke2;
        let done = stretching(move || login.finish(&ke2.0, &params, &mut Argon2id::new(), &PARTIES)).await?;
        Ok(Proved { state: started.state, ke3: Bytes::of(done.ke3), export_key: done.export_key, old })
    }

    fn begin_registration(&self, password: &str) -> Result<(ClientRegistration, Bytes), Error> {
        let password = prepared(password)?;
        let client = Opaque::<DefaultSuite>::default().with_limits(self.limits);
        let (state, request) = client.start_registration(&mut UnwrapErr(SysRng), &Password::from_bytes(&password)?)?;
        Ok((state, Bytes::of(request)))
    }

    async fn finish_registration(
        &self,
        registration: ClientRegistration,
        started: wire::RegisterStarted,
        finish: Finish<'_>,
        options: &Options,
    ) -> Result<LoggedIn, Error> {
        let params = KsfParams::from_bytes(&started.ksf.0)?;
        let response = started.response;
        let done = stretching(move || {
            registration.finish(&mut UnwrapErr(SysRng), &response.0, &params, &mut Argon2id::new(), &PARTIES)
        })
        .await?;
        let recovery_codes = codes(options.recovery_codes)?;
        let body = wire::RegisterFinish {
            name: finish.name,
            token: finish.token,
            state: started.state,
            upload: Bytes::of(done.upload),
            recovery_codes: (!recovery_codes.is_empty()).then(|| for_server(&recovery_codes)),
            label: &options.label,
            remember: options.remember,
        };
        let opened = self.post(finish.path, finish.access.as_ref(), &body).await?;
        let (session, device) = Session::new(Arc::clone(&self.connection), opened);
        Ok(LoggedIn { session, export_key: done.export_key, device, recovery_codes })
    }

    async fn post<A: DeserializeOwned>(
        &self,
        path: &str,
        token: Option<&Bytes>,
        body: &impl Serialize,
    ) -> Result<A, Error> {
        self.connection.call(Method::POST, path, token, Some(body)).await
    }
}

/// A login that only the server has not ended yet.
struct Proved {
    state: Bytes,
    ke3: Bytes,
    export_key: ExportKey,
    /// By the old hash of the password and not by the password itself.
    old: bool,
}

/// Where a registration ends.
struct Finish<'a> {
    path: &'static str,
    name: Option<&'a str>,
    token: Option<&'a str>,
    access: Option<Bytes>,
}

/// The bytes of a password, prepared as RFC 8265 says.
fn prepared(password: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    Ok(Zeroizing::new(Password::from_text(password)?.as_bytes().to_vec()))
}

/// Runs something that takes long on a thread of its own.
async fn stretching<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, candor_opaque::Error> + Send + 'static,
) -> Result<T, Error> {
    Ok(spawn_blocking(work).await.map_err(|_| cut_off())??)
}

fn cut_off() -> Error {
    Error::Internal("key stretching was cut off".to_owned())
}

fn codes(number: usize) -> Result<Vec<RecoveryCode>, Error> {
    (0..number).map(|_| RecoveryCode::generate()).collect()
}

fn for_server(codes: &[RecoveryCode]) -> Vec<Bytes> {
    codes.iter().map(|code| Bytes::of(code.for_server().as_slice())).collect()
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("limits", &self.limits).finish_non_exhaustive()
    }
}
