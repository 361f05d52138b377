//! Identifiers, and the hashes under which tokens are stored.

use candor_primitives::hash::{Digest, Sha256};
use getrandom::{SysRng, rand_core::TryRng};
use std::fmt;
use std::str::FromStr;

/// A random identifier of 16 bytes. Written in hexadecimal digits; not a secret.
macro_rules! identifier {
    ($(#[$meta:meta])* $name:ident, $what:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// A fresh one.
            ///
            /// # Errors
            /// If the operating system gives no random bytes.
            pub fn generate() -> Result<Self, NoRandomness> {
                random().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = NoIdentifier;

            fn from_str(text: &str) -> Result<Self, NoIdentifier> {
                let mut bytes = [0; 16];
                match base16ct::mixed::decode(text, &mut bytes) {
                    Ok(decoded) if decoded.len() == 16 => Ok(Self(bytes)),
                    _ => Err(NoIdentifier { what: $what }),
                }
            }
        }
    };
}

identifier! {
    /// Names an account for good; its name can change.
    AccountId, "account"
}
identifier! {
    /// Names a session, to list and to revoke it.
    SessionId, "session"
}
identifier! {
    /// Names a known device.
    DeviceId, "device"
}
identifier! {
    /// Names an entry of the key ring.
    KeyId, "key"
}

/// A text that is no identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} identifier is not 32 hexadecimal digits")]
pub struct NoIdentifier {
    what: &'static str,
}

/// The operating system gave no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no random bytes: {0}")]
pub struct NoRandomness(getrandom::Error);

/// Random bytes of the operating system.
///
/// # Errors
/// If it gives none.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(NoRandomness)?;
    Ok(bytes)
}

/// What a token is for. One kind can't be used as another: the hashes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Permits one registration.
    Registration,
    /// Opens a session's requests.
    Access,
    /// Renews a session.
    Refresh,
    /// A recovery code.
    Recovery,
    /// What a known device proves itself with.
    Device,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Registration => b"registration",
            Self::Access => b"access",
            Self::Refresh => b"refresh",
            Self::Recovery => b"recovery",
            Self::Device => b"device",
        }
    }
}

/// SHA-256 of a token. The database holds only this, so that whoever reads the database can't use what is in it.
///
/// One hash without a salt suffices because tokens are random, of at least 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash of a token.
    #[must_use]
    pub fn of(purpose: Purpose, token: &[u8]) -> Self {
        let hash = Sha256::new()
            .chain_update(b"candor-login-1: ")
            .chain_update(purpose.label())
            .chain_update([0])
            .chain_update(token)
            .finalize();
        Self(hash.into())
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_come_back_from_their_text() {
        let id = AccountId::generate().unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        let text = id.to_string();
        assert!(text[1..].parse::<AccountId>().is_err());
        assert!(format!("{text}0").parse::<AccountId>().is_err());
        assert!(format!("g{}", &text[1..]).parse::<AccountId>().is_err());
    }

    #[test]
    fn a_token_of_one_kind_is_none_of_another() {
        let kinds = [Purpose::Registration, Purpose::Access, Purpose::Refresh, Purpose::Recovery, Purpose::Device];
        for (index, one) in kinds.iter().enumerate() {
            assert_eq!(TokenHash::of(*one, b"token"), TokenHash::of(*one, b"token"));
            for other in &kinds[index + 1..] {
                assert_ne!(TokenHash::of(*one, b"token"), TokenHash::of(*other, b"token"), "{one:?} {other:?}");
            }
        }
        assert!(!format!("{:?}", TokenHash::of(Purpose::Access, b"token")).contains(char::is_numeric));
    }
}
