//! What functions return.

use candor_c_abi::statuses;
use candor_opaque::Error;
use candor_opaque::error::KsfError;
use candor_primitives::kem::KemError;

// The largest object that is moved is a client's login with its KEM key. What goes deeper, `candor-opaque` clears.
statuses! {
    "CANDOR_OPAQUE_", clearing 32 << 10;
    Number = 4, "NUMBER", c"no suite, part, or kind of password has this number";
    Key = 7, "INVALID_KEY", c"bytes are not a valid key, or two keys do not belong together";
    Login = 9, "LOGIN", c"login failed: wrong password or user, or a message was changed on the way";
    Element = 32, "ELEMENT", c"message holds no valid element of ristretto255: the peer does not follow the protocol";
    Password = 33, "PASSWORD", c"password can't be used: it is empty or too long, is no UTF-8, or has characters that RFC 8265 refuses";
    Limits = 34, "LIMITS", c"key stretching parameters are weaker or costlier than this client accepts";
    Ksf = 35, "KSF", c"key stretching parameters do not exist, or the share of accounts that use them is over 1000 per mille or shrinks";
    State = 36, "STATE", c"saved state was written by another version, or belongs to another suite";
    Record = 37, "RECORD", c"stored record is damaged: the user must register again";
    Part = 38, "PART", c"this object has no such part";
    Stale = 39, "STALE", c"the account has changed since, so this change must not be stored";
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::Length { .. } | Error::TooLong { .. } => Self::Length,
            Error::Element(_) => Self::Element,
            Error::Scalar | Error::KeyPair => Self::Key,
            Error::Record => Self::Record,
            Error::Password(_) => Self::Password,
            Error::Limits(_) => Self::Limits,
            Error::Ksf(KsfError::OutOfMemory) => Self::Memory,
            Error::Ksf(KsfError::Failed | KsfError::OtherFunction) => Self::Internal,
            Error::Ksf(_) => Self::Ksf,
            Error::Login => Self::Login,
            Error::State(_) => Self::State,
            Error::Kem(KemError::PublicKey | KemError::SecretKey) => Self::Key,
            Error::Kem(KemError::Length { .. }) => Self::Length,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_int;

    #[test]
    fn every_status_has_its_own_message() {
        let mut messages: Vec<_> = Status::ALL.iter().map(|(status, _)| Status::message(*status as c_int)).collect();
        messages.extend([Status::message(0), Status::message(8)]);
        let count = messages.len();
        messages.sort();
        messages.dedup();
        assert_eq!((messages.len(), Status::ALL.len()), (count, 20));
        assert!(Status::message(8) == Status::message(-1) && Status::message(40) == Status::message(-1));
    }
}
