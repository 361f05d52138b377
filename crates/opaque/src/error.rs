//! Why something was refused.

use candor_primitives::kem::KemError;
use core::fmt;

/// Why a message, a password, a key or a parameter was refused.
///
/// No error tells a stranger whether an account exists. Errors of a server that depend on the account are for its operator
/// ([`Error::Record`]); a login with a wrong password and a login of an unknown user both end in [`Error::Login`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An input has the wrong length.
    Length {
        /// The input.
        what: Input,
        /// The length that this suite expects.
        expected: usize,
        /// The length found.
        got: usize,
    },
    /// An input is longer than 65535 bytes, the most that its encoding allows.
    TooLong {
        /// The input.
        what: Input,
        /// The length found.
        got: usize,
    },
    /// A group element in a message is not canonical, is the identity, or is our own element sent back.
    Element(Element),
    /// A secret key is not a canonical scalar, or is zero.
    Scalar,
    /// The secret and the public key of a static KEM belong to different pairs.
    KeyPair,
    /// A stored record is damaged: its public key is not a valid element.
    Record,
    /// The password can't be used.
    Password(PasswordError),
    /// The client's [`Limits`](crate::Limits) refuse the key stretching parameters.
    Limits(LimitError),
    /// The key stretching function failed.
    Ksf(KsfError),
    /// The login failed. For a client: the password, the user, the context or the server is not the right one, or a message was
    /// changed on the way. For a server: the client did not know the password, there is no such account, or the message was
    /// changed or belongs to another login.
    Login,
    /// A saved state can't be read.
    State(StateError),
    /// The KEM refused an operation.
    Kem(KemError),
}

/// What an [`Error::Length`] or [`Error::TooLong`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// The client's first message of a registration.
    RegistrationRequest,
    /// The server's answer to it.
    RegistrationResponse,
    /// The client's last message of a registration.
    RegistrationUpload,
    /// The client's first message of a login.
    Ke1,
    /// The server's answer to it.
    Ke2,
    /// The client's last message of a login.
    Ke3,
    /// A stored [`Record`](crate::Record).
    Record,
    /// Saved keys of a [`Server`](crate::Server).
    ServerKeys,
    /// A saved [`ServerLogin`](crate::ServerLogin).
    ServerLogin,
    /// A saved [`ServerRegistration`](crate::ServerRegistration).
    ServerRegistration,
    /// A saved [`ClientLogin`](crate::ClientLogin).
    ClientLogin,
    /// A saved [`ClientRegistration`](crate::ClientRegistration).
    ClientRegistration,
    /// Encoded [`KsfParams`](crate::KsfParams).
    KsfParams,
    /// A credential identifier.
    CredentialId,
    /// The name under which somebody logs in.
    Name,
    /// [`Parties::context`](crate::Parties::context).
    Context,
    /// [`Parties::client`](crate::Parties::client).
    ClientIdentity,
    /// [`Parties::server`](crate::Parties::server).
    ServerIdentity,
    /// The `info` of [`oprf::Key::derive`](crate::oprf::Key::derive).
    KeyInfo,
}

/// What an [`Error::Element`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// The client's blinded password.
    Blinded,
    /// The server's evaluation of it.
    Evaluated,
    /// The client's ephemeral key in KE1.
    ClientKeyShare,
    /// The server's ephemeral key in KE2.
    ServerKeyShare,
    /// The client's long-term key in a registration upload.
    ClientPublicKey,
    /// The server's long-term key in a registration response.
    ServerPublicKey,
}

/// Why a password can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PasswordError {
    /// It is empty.
    Empty,
    /// It is longer than 65535 bytes.
    TooLong,
    /// It has a control or format character.
    Control,
    /// It has a character that nobody sees, such as a zero-width space.
    Invisible,
    /// It has conjoining Hangul jamo instead of syllables.
    OldJamo,
    /// It has a character that RFC 8264 keeps out of free-form text: one for private use, or one of the exceptions of its §9.6.
    Disallowed,
    /// It hashes to the identity; nobody knows such a password.
    HashesToIdentity,
}

/// How key stretching parameters miss a client's [`Limits`](crate::Limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// They ask for no stretching at all.
    NoStretching,
    /// They cost an attacker too little.
    TooWeak,
    /// They cost the client too much.
    TooCostly,
}

/// Why key stretching failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KsfError {
    /// No function has these parameters (RFC 9106 §3.1).
    Parameters,
    /// The parameters are for a function that this [`Ksf`](crate::Ksf) does not have.
    OtherFunction,
    /// The parameters ask for more memory than there is.
    OutOfMemory,
    /// The function itself failed.
    Failed,
    /// The share of accounts that use new parameters is over 1000 per mille, has shrunk, or there are too many parameters.
    Share,
}

/// Why a saved state can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// Another version of this crate wrote it.
    Version,
    /// It belongs to another suite.
    Suite,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { what, expected, got } => write!(f, "{what} is {got} bytes long; expected {expected}"),
            Self::TooLong { what, got } => write!(f, "{what} is {got} bytes long; expected at most 65535"),
            Self::Element(what) => {
                write!(f, "{what} is not a valid element of ristretto255; the peer does not follow the protocol")
            }
            Self::Scalar => f.write_str("secret key is not a valid scalar; restore it from a backup"),
            Self::KeyPair => {
                f.write_str("the KEM's secret key does not belong to its public key; restore both from the same backup")
            }
            Self::Record => {
                f.write_str("stored record is damaged: its public key is not valid; the user must register again")
            }
            Self::Password(cause) => write!(f, "password can't be used: {cause}"),
            Self::Limits(cause) => {
                write!(f, "key stretching parameters {cause}; report it to the service instead of lowering the limits")
            }
            Self::Ksf(cause) => write!(f, "key stretching: {cause}"),
            Self::Login => f.write_str("login failed: wrong password or user, or a message was changed on the way"),
            Self::State(cause) => write!(f, "saved state {cause}"),
            Self::Kem(cause) => write!(f, "KEM: {cause}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<KemError> for Error {
    fn from(cause: KemError) -> Self {
        Self::Kem(cause)
    }
}

/// `Display` of an enum whose values have fixed texts.
macro_rules! texts {
    ($type:ty { $($value:ident => $text:literal,)+ }) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$value => $text,)+
                })
            }
        }
    };
}

texts! { Input {
    RegistrationRequest => "registration request",
    RegistrationResponse => "registration response",
    RegistrationUpload => "registration upload",
    Ke1 => "KE1",
    Ke2 => "KE2",
    Ke3 => "KE3",
    Record => "record",
    ServerKeys => "saved server",
    ServerLogin => "saved login of a server",
    ServerRegistration => "saved registration of a server",
    ClientLogin => "saved login of a client",
    ClientRegistration => "saved registration of a client",
    KsfParams => "encoding of key stretching parameters",
    CredentialId => "credential identifier",
    Name => "name",
    Context => "context",
    ClientIdentity => "client's identity",
    ServerIdentity => "server's identity",
    KeyInfo => "key information",
} }

texts! { Element {
    Blinded => "blinded element",
    Evaluated => "evaluated element",
    ClientKeyShare => "client's key share",
    ServerKeyShare => "server's key share",
    ClientPublicKey => "client's public key",
    ServerPublicKey => "server's public key",
} }

texts! { PasswordError {
    Empty => "it is empty",
    TooLong => "it is longer than 65535 bytes",
    Control => "it contains a control or format character",
    Invisible => "it contains an invisible character, such as a zero-width space",
    OldJamo => "it contains conjoining Hangul jamo; write whole syllables",
    Disallowed => "it contains a character that RFC 8264 does not allow, such as one for private use",
    HashesToIdentity => "it hashes to the identity; choose another",
} }

texts! { LimitError {
    NoStretching => "ask for no stretching at all",
    TooWeak => "are weaker than this client accepts",
    TooCostly => "cost more than this client accepts",
} }

texts! { KsfError {
    Parameters => "no function has these parameters",
    OtherFunction => "the parameters are for another function",
    OutOfMemory => "not enough memory",
    Failed => "Argon2id failed",
    Share => "the share of accounts with new parameters may only grow, up to 1000 per mille",
} }

texts! { StateError {
    Version => "was written by another version of this crate",
    Suite => "belongs to another suite",
} }

impl StateError {
    /// Whether a saved state begins with this version and suite.
    pub(crate) fn check(found: &[u8], [version, suite]: [u8; 2]) -> Result<(), Error> {
        match found {
            [v, s] if [*v, *s] == [version, suite] => Ok(()),
            [v, _] if *v == version => Err(Error::State(Self::Suite)),
            _ => Err(Error::State(Self::Version)),
        }
    }
}

/// `bytes` as an array, if it has that length.
#[inline]
pub(crate) fn exactly<const N: usize>(what: Input, bytes: &[u8]) -> Result<&[u8; N], Error> {
    bytes.try_into().map_err(|_| Error::Length { what, expected: N, got: bytes.len() })
}

/// Checks that a length fits into two bytes.
#[inline]
pub(crate) fn expect_short(what: Input, bytes: &[u8]) -> Result<(), Error> {
    match bytes.len() {
        0..=0xffff => Ok(()),
        got => Err(Error::TooLong { what, got }),
    }
}
