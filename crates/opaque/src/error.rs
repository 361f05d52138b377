//! What can go wrong in this crate.

use candor_primitives::kem::KemError;

/// Why a message was refused, or a password, key or parameter not taken.
///
/// No error tells a stranger whether an account exists: those of a server that depend on the account are for its operator
/// ([`Error::Record`]), and a login with a wrong password and one of an unknown user end alike, in [`Error::Login`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A message, a record or a saved state has the wrong length.
    #[error("the {what} has {got} bytes, and this suite's has {expected}")]
    Length {
        /// Which of them.
        what: &'static str,
        /// The length that it should have.
        expected: usize,
        /// The length that came.
        got: usize,
    },
    /// A part of a message is no element of the group, or the identity, or our own element sent back.
    #[error("the {0} is not a valid element of ristretto255; whoever sent it does not speak this protocol")]
    Element(&'static str),
    /// A secret key is no scalar, or zero.
    #[error("the secret key is not a valid scalar; restore it from where it was saved")]
    Scalar,
    /// A stored record does not hold an element where the client's key should be.
    #[error("the stored record is damaged: its public key is not valid; the user must register again")]
    Record,
    /// The password can't be used.
    #[error("this password can't be used: {0}")]
    Password(&'static str),
    /// An identity or a context has more than 65535 bytes.
    #[error("the {what} has {got} bytes, and 65535 is the most")]
    TooLong {
        /// Which of them.
        what: &'static str,
        /// Its length.
        got: usize,
    },
    /// Parameters of the key stretching function lie outside what the client accepts.
    #[error("the key stretching parameters {0}; ask the service, and do not lower the limits to get in")]
    KsfLimits(&'static str),
    /// The key stretching function can't work with these parameters.
    #[error("the key stretching function failed: {0}")]
    Ksf(&'static str),
    /// The login failed. For a client: the password, the user, the context or the server is not the right one, or a message was
    /// changed on the way. For a server: the client did not know the password, or there is no such account, or the message was
    /// changed or belongs to another login.
    #[error("the login failed: wrong password or user, or a message was changed on the way")]
    Login,
    /// A saved state is of another version or suite.
    #[error("the saved state is of another version or suite; start the login again")]
    State,
    /// A KEM operation was refused.
    #[error("KEM: {0}")]
    Kem(#[from] KemError),
}

/// `bytes` as an array, if it has that length.
#[inline]
pub(crate) fn exactly<'a, const N: usize>(what: &'static str, bytes: &'a [u8]) -> Result<&'a [u8; N], Error> {
    bytes.try_into().map_err(|_| Error::Length { what, expected: N, got: bytes.len() })
}

/// Checks that a length fits into two bytes, and gives them.
#[inline]
pub(crate) fn expect_short(what: &'static str, bytes: &[u8]) -> Result<[u8; 2], Error> {
    u16::try_from(bytes.len()).map(u16::to_be_bytes).map_err(|_| Error::TooLong { what, got: bytes.len() })
}
