//! Why something did not succeed.

use candor_old_hashes::BeyondLimits;
use std::time::Duration;

/// Why something did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The login failed: wrong password or name. The server does not say which.
    #[error("login failed: wrong name or password")]
    LoginFailed,
    /// Too many attempts came from this network, or the account's owner has done too much lately.
    #[error("too many attempts; wait {} s", .0.as_secs())]
    Throttled(Duration),
    /// There is no such session, or it has ended. Log in.
    #[error("no session, or it has ended; log in")]
    NoSession,
    /// The name is taken.
    #[error("name is taken")]
    NameTaken,
    /// The registration token is unknown, used or expired.
    #[error("registration token is unknown, used or expired")]
    RegistrationToken,
    /// The server can't do it at the moment.
    #[error("server can't do it at the moment; try again in {} s", .0.as_secs())]
    Unavailable(Duration),
    /// Another problem that the server has reported.
    #[error("server: {title} ({status}{})", detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default())]
    Problem {
        /// The status.
        status: u16,
        /// The last part of the problem's type.
        kind: String,
        /// What it is.
        title: String,
        /// What it is in this case.
        detail: Option<String>,
    },
    /// The password can't be used, key stretching failed, or the server asks for too little or too much of it.
    #[error(transparent)]
    Opaque(candor_opaque::Error),
    /// The server asks for an old password hash beyond the client's limits.
    #[error(
        "server asks for the old password hash {scheme}, which {why}; `Client::with_old_hash_limits` changes the limits"
    )]
    OldHash {
        /// The function and its cost.
        scheme: String,
        /// On which side it is.
        why: BeyondLimits,
    },
    /// The URL can't be used.
    #[error("{url}: {why}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server can't be reached.
    #[error("can't connect to {host}: {why}")]
    Connect {
        /// The server.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// The server did not answer in time.
    #[error("{host} did not answer within {} s", after.as_secs())]
    Timeout {
        /// The server.
        host: String,
        /// How long we waited.
        after: Duration,
    },
    /// The answer is not one of a login server.
    #[error("answer of {host} is not a login server's: {why}")]
    Answer {
        /// The server.
        host: String,
        /// What is wrong with it.
        why: String,
    },
    /// A part of this machine is out of order.
    #[error("{0}")]
    Internal(String),
}

impl From<candor_opaque::Error> for Error {
    fn from(error: candor_opaque::Error) -> Self {
        match error {
            candor_opaque::Error::Login => Self::LoginFailed,
            error => Self::Opaque(error),
        }
    }
}
