//! What functions return, and the wall that no panic crosses.

use candor_suite::Error;
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

macro_rules! statuses {
    ($($variant:ident = $number:literal, $name:literal, $message:literal;)*) => {
        /// Why a call failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Status {
            $(#[doc = $name] $variant = $number,)*
        }

        impl Status {
            /// All of them, with the name in the header.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $name),)*];

            /// The message for a number.
            #[must_use]
            pub fn message(status: c_int) -> &'static CStr {
                match status {
                    0 => c"success",
                    $($number => $message,)*
                    _ => c"no status of candor has this number",
                }
            }
        }
    };
}

statuses! {
    Null = 1, "CANDOR_NULL", c"a pointer is null where bytes are expected";
    Handle = 2, "CANDOR_HANDLE", c"handle is not in use: it was freed, or was never made";
    Kind = 3, "CANDOR_KIND", c"handle is that of another kind of object";
    Algorithm = 4, "CANDOR_ALGORITHM", c"no algorithm has this number";
    Length = 5, "CANDOR_LENGTH", c"an input has a length that the algorithm does not take";
    Buffer = 6, "CANDOR_BUFFER", c"buffer is too short for the output, whose length has been written";
    Key = 7, "CANDOR_INVALID_KEY", c"bytes are not a valid key";
    Unsuitable = 8, "CANDOR_UNSUITABLE", c"keys of this kind do not do that, or the two keys are of different kinds";
    Authentication = 9, "CANDOR_AUTHENTICATION", c"tag, code, signature or ciphertext does not match this key and message";
    Finished = 10, "CANDOR_FINISHED", c"hash or MAC has been finished; make another";
    Randomness = 11, "CANDOR_RANDOMNESS", c"the operating system gave no randomness";
    Internal = 12, "CANDOR_INTERNAL", c"mistake in candor: please report it with what was called";
    Memory = 13, "CANDOR_MEMORY", c"not enough memory";
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        use families::*;
        match error {
            Error::Length { .. } | Error::KeyLength { .. } | Error::MessageTooLong { .. } => Self::Length,
            Error::Unsuitable { .. } | Error::KindsDiffer { .. } => Self::Unsuitable,
            Error::Signature | Error::Mac => Self::Authentication,
            Error::KeyFile(_) => Self::Key,
            Error::Aead(error) => of_aead(error),
            Error::Ec(error) => of_ec(error),
            Error::Sm2(error) => of_sm2(error),
            Error::Ed25519(error) => of_ed25519(error),
            Error::Dh(error) => of_dh(error),
            Error::Kem(error) => of_kem(error),
            Error::Rsa(error) => of_rsa(error),
            _ => Self::Internal,
        }
    }
}

/// The errors of each family.
mod families {
    use super::Status;
    use candor_suite::causes::{AeadError, DhError, EcError, Ed25519Error, KemError, RsaError, Sm2Error};

    pub(super) fn of_aead(error: AeadError) -> Status {
        match error {
            AeadError::Tag => Status::Authentication,
            AeadError::Randomness => Status::Randomness,
            _ => Status::Length,
        }
    }

    pub(super) fn of_ec(error: EcError) -> Status {
        match error {
            EcError::SecretKey | EcError::PublicKey => Status::Key,
            EcError::Digest => Status::Length,
            EcError::Signature | EcError::SignatureForm => Status::Authentication,
            EcError::Randomness | EcError::Generator => Status::Randomness,
            _ => Status::Internal,
        }
    }

    pub(super) fn of_sm2(error: Sm2Error) -> Status {
        match error {
            Sm2Error::SecretKey | Sm2Error::PublicKey => Status::Key,
            Sm2Error::Length | Sm2Error::Identity => Status::Length,
            Sm2Error::Randomness | Sm2Error::Generator => Status::Randomness,
            _ => Status::Authentication,
        }
    }

    pub(super) fn of_ed25519(error: Ed25519Error) -> Status {
        match error {
            Ed25519Error::PublicKey => Status::Key,
            Ed25519Error::Randomness => Status::Randomness,
            _ => Status::Authentication,
        }
    }

    pub(super) fn of_dh(error: DhError) -> Status {
        match error {
            // The peer's key is a point of small order.
            DhError::NonContributory => Status::Key,
            DhError::Randomness => Status::Randomness,
            _ => Status::Internal,
        }
    }

    pub(super) fn of_rsa(error: RsaError) -> Status {
        match error {
            RsaError::Modulus | RsaError::Exponent | RsaError::SecretKey => Status::Key,
            RsaError::Signature | RsaError::Decryption => Status::Authentication,
            RsaError::MessageLength | RsaError::Digest => Status::Length,
            RsaError::Generator | RsaError::Randomness => Status::Randomness,
            _ => Status::Internal,
        }
    }

    pub(super) fn of_kem(error: KemError) -> Status {
        match error {
            KemError::Length { .. } | KemError::Batch { .. } => Status::Length,
            KemError::PublicKey | KemError::SecretKey => Status::Key,
            KemError::Randomness => Status::Randomness,
            _ => Status::Internal,
        }
    }
}

/// Runs the body of a function of the header. A panic is a mistake of ours, and ends here.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Status>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => status as c_int,
        Err(_) => Status::Internal as c_int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guard(|| panic!("on purpose")), Status::Internal as c_int);
        assert_eq!((guard(|| Ok(())), guard(|| Err(Status::Key))), (0, 7));
    }

    #[test]
    fn every_status_has_its_own_message() {
        let mut messages: Vec<_> = (0..=13).map(Status::message).collect();
        messages.sort();
        messages.dedup();
        assert_eq!((messages.len(), Status::ALL.len()), (14, 13));
        assert!(!messages.contains(&Status::message(14)) && Status::message(-1) == Status::message(14));
    }
}
