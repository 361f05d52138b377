//! The keys that a login ends in.

use crate::kdf::{HASH, Key};
use candor_cpu::secret;
use core::fmt;
use subtle::{Choice, ConstantTimeEq};

macro_rules! key {
    ($(#[$doc:meta])* $name:ident, $printed:literal) => {
        $(#[$doc])*
        ///
        /// It is wiped on drop, compared in constant time, and never printed.
        #[derive(Clone)]
        pub struct $name(Key);

        impl $name {
            /// Its length in bytes.
            pub const LENGTH: usize = HASH;

            /// The bytes.
            #[inline]
            pub fn as_bytes(&self) -> &[u8; HASH] {
                &self.0
            }

            pub(crate) fn new(key: Key) -> Self {
                Self(key)
            }
        }

        impl ConstantTimeEq for $name {
            fn ct_eq(&self, other: &Self) -> Choice {
                secret::ran("opaque/key-compare", "subtle");
                self.0.ct_eq(&*other.0)
            }
        }

        impl PartialEq for $name {
            // ct: opaque/key-compare
            fn eq(&self, other: &Self) -> bool {
                self.ct_eq(other).into()
            }
        }

        impl Eq for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($printed)
            }
        }
    };
}

key! {
    /// The key that client and server share after a login; fresh in each.
    SessionKey, "SessionKey(..)"
}
key! {
    /// The key that only the client has, the same after registration and after each login: for data that the server stores and
    /// must not read (RFC 9807 §10.4). It changes with the password and with each registration.
    ExportKey, "ExportKey(..)"
}
