//! Why the page's request was not done.

use candor_old_hashes::SchemeError;
use candor_opaque::Error;
use candor_opaque::error::{Input, KsfError};

/// What kind of reason it is; the numbers are those of `codes` in `web/src/worker.ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The login failed: wrong password, or not the right server.
    Login = 1,
    /// The password can't be used.
    Password = 2,
    /// Key stretching is beyond the client's limits.
    Limits = 3,
    /// An old hash does not exist or is beyond the client's limits.
    OldHash = 4,
    /// A message of the server is malformed.
    Message = 5,
    /// There is not enough memory.
    Memory = 6,
    /// The request itself can't be used.
    Input = 7,
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of reason.
    pub code: Code,
    /// For people; no secret in it.
    pub text: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, text: impl ToString) -> Self {
        Self { code, text: text.to_string() }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Login => Code::Login,
            Error::Password(_) => Code::Password,
            Error::Limits(_) => Code::Limits,
            Error::Ksf(KsfError::OutOfMemory) => Code::Memory,
            Error::TooLong { what: Input::Context | Input::ClientIdentity | Input::ServerIdentity, .. } => Code::Input,
            _ => Code::Message,
        };
        Self::new(code, error)
    }
}

impl From<SchemeError> for Refusal {
    fn from(error: SchemeError) -> Self {
        Self::new(if error == SchemeError::Memory { Code::Memory } else { Code::OldHash }, error)
    }
}
