//! What functions return.

use candor_c_abi::statuses;
use candor_suite::Error;

statuses! {
    "CANDOR_", clearing 8192;
    Algorithm = 4, "ALGORITHM", c"no algorithm has this number";
    Key = 7, "INVALID_KEY", c"bytes are not a valid key";
    Unsuitable = 8, "UNSUITABLE", c"keys of this kind do not do that, or the two keys are of different kinds";
    Authentication = 9, "AUTHENTICATION", c"tag, code, signature or ciphertext does not match this key and message";
    Fault = 14, "FAULT", c"a secret computation went wrong, so its result was discarded: check the key, and the machine";
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        use families::*;
        match error {
            Error::Length { .. } | Error::KeyLength { .. } | Error::MessageTooLong { .. } => Self::Length,
            Error::Unsuitable { .. } | Error::KindsDiffer { .. } => Self::Unsuitable,
            Error::Signature | Error::Mac => Self::Authentication,
            Error::KeyFile(_) => Self::Key,
            Error::Memory => Self::Memory,
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
            RsaError::Fault => Status::Fault,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_own_message() {
        let mut messages: Vec<_> = (0..=14).map(Status::message).collect();
        messages.sort();
        messages.dedup();
        assert_eq!((messages.len(), Status::ALL.len()), (15, 14));
        assert!(!messages.contains(&Status::message(15)) && Status::message(-1) == Status::message(15));
    }
}
