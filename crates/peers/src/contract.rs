//! What a library implements to be measured, a module for each kind of work, and how all that implement it are prepared, checked and timed.
//!
//! Nothing here knows a library that is measured. What checks witnesses is a *reference*: RustCrypto's and dalek's crates under schedules
//! written here from the specifications. It shares no code with candor's products and is never timed.

use candor_lab::Habit;

/// What a library tells that asks the system for randomness in each call.
pub const BY_SYSTEM_CALL: (Habit, &str) = (Habit::DrawsBySystemCall, "randomness by a system call");

/// Writes `Algorithm`, an enum, from a table: a line an algorithm. Each has a name in tasks, the name and the place in its standard, and two
/// properties of its family.
macro_rules! algorithms {
    (
        $(#[$about:meta])*
        Algorithm,
        $(#[$about_one:meta])* $one:ident: $one_type:ty,
        $(#[$about_other:meta])* $other:ident: $other_type:ty;
        $($variant:ident, $name:literal, $title:literal, $one_value:literal, $other_value:literal, $standard:literal;)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Algorithm {
            $(#[doc = concat!($title, ", ", $standard)] $variant,)+
        }

        /// All of them, in the order of the tasks.
        pub const ALGORITHMS: &[Algorithm] = &[$(Algorithm::$variant,)+];

        impl Algorithm {
            /// As tasks are named.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// As its standard writes it.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// Where it is defined.
            #[must_use]
            pub fn standard(self) -> &'static str {
                match self { $(Self::$variant => $standard,)+ }
            }

            $(#[$about_one])*
            #[must_use]
            pub fn $one(self) -> $one_type {
                match self { $(Self::$variant => $one_value,)+ }
            }

            $(#[$about_other])*
            #[must_use]
            pub fn $other(self) -> $other_type {
                match self { $(Self::$variant => $other_value,)+ }
            }
        }
    };
}

pub mod aead;
pub mod cipher;
pub mod ec;
pub mod file_hash;
pub mod gf2;
pub mod gf2m;
pub mod hash;
pub mod hqc;
mod in_turn;
pub mod kdf;
pub mod kem;
pub mod ksf;
pub mod mac;
pub mod mceliece;
pub mod ml_kem;
pub mod ntor;
mod one_after_another;
pub mod opaque;
pub mod oprf;
pub mod rsa;
pub mod sm2;
pub mod x25519;
