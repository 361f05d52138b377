//! The registry of handshakes: the number and the type that belong to each name.

use super::{Hybrid, NoStaticKem, Ntor, NtorV3, StaticKem};
use alloc::borrow::ToOwned;
use alloc::string::String;
use candor_primitives::dh::x25519::X25519;
use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
use core::fmt;
use core::str::FromStr;

/// Declares the handshakes. Each line has the variant, HTYPE, the name, whether a KEM takes part, and the type on our own
/// ML-KEM and X25519.
macro_rules! handshakes {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal, $exchange:ident, $alias:ident = $type:ty;)+) => {
        /// A handshake that CREATE2 and EXTEND2 have a number for (HTYPE; tor-spec, "CREATE and CREATED cells").
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum HandshakeType {
            $($(#[$doc])* $variant,)+
        }

        impl HandshakeType {
            const COUNT: usize = [$($number),+].len();

            /// Every handshake that has a number.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// HTYPE.
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$variant => $number,)+
                }
            }

            /// The name in lists, tasks and tables: [`Handshake::name`](super::Handshake::name).
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Whether traffic recorded today stays secret from an attacker who has a quantum computer later.
            pub const fn is_post_quantum(self) -> bool {
                match self {
                    $(Self::$variant => handshakes!($exchange),)+
                }
            }
        }

        $(
            #[doc = concat!("`", $name, "` on our own back ends.")]
            pub type $alias = $type;
        )+

        /// Each handshake with the name that its type gives itself.
        #[cfg(test)]
        fn names_of_types() -> Vec<(HandshakeType, String)> {
            use super::Handshake;
            vec![$((HandshakeType::$variant, <$alias>::default().name())),+]
        }
    };
    (classical) => { false };
    (hybrid) => { true };
}

// Numbers from 0xFF00 are private; docs/cells.md lists them. Tor has assigned none above 0x0003.
handshakes! {
    /// Tor's `ntor` (tor-spec).
    Ntor = 0x0002, "ntor", classical, NtorDefault = Ntor<X25519>;
    /// Tor's `ntor-v3` (prop 332).
    NtorV3 = 0x0003, "ntor-v3", classical, NtorV3Default = NtorV3<X25519>;
    /// X25519 and ML-KEM-512.
    Hybrid512 = 0xFF65, "hybrid-512", hybrid, Hybrid512 = Hybrid<MlKem512, X25519, NoStaticKem>;
    /// X25519 and ML-KEM-768.
    Hybrid768 = 0xFF68, "hybrid-768", hybrid, Hybrid768 = Hybrid<MlKem768, X25519, NoStaticKem>;
    /// X25519 and ML-KEM-1024.
    Hybrid1024 = 0xFF6A, "hybrid-1024", hybrid, Hybrid1024 = Hybrid<MlKem1024, X25519, NoStaticKem>;
    /// X25519 and ML-KEM-512, and a static ML-KEM-512 key of the relay.
    Hybrid512Auth = 0xFF75, "hybrid-512-auth", hybrid, Hybrid512Auth = Hybrid<MlKem512, X25519, StaticKem<MlKem512>>;
    /// X25519 and ML-KEM-768, and a static ML-KEM-768 key of the relay.
    Hybrid768Auth = 0xFF78, "hybrid-768-auth", hybrid, Hybrid768Auth = Hybrid<MlKem768, X25519, StaticKem<MlKem768>>;
    /// X25519 and ML-KEM-1024, and a static ML-KEM-1024 key of the relay.
    Hybrid1024Auth = 0xFF7A, "hybrid-1024-auth", hybrid, Hybrid1024Auth = Hybrid<MlKem1024, X25519, StaticKem<MlKem1024>>;
}

impl HandshakeType {
    /// The handshake with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The handshake with this number.
    pub fn numbered(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.number() == number)
    }
}

impl fmt::Display for HandshakeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for HandshakeType {
    type Err = UnknownHandshake;

    fn from_str(name: &str) -> Result<Self, UnknownHandshake> {
        Self::named(name).ok_or_else(|| UnknownHandshake { name: name.to_owned() })
    }
}

/// No handshake has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown handshake `{name}`; expected one of {}", HandshakeType::ALL.map(HandshakeType::name).join(", "))]
pub struct UnknownHandshake {
    /// The name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_their_handshake() {
        for handshake in HandshakeType::ALL {
            assert_eq!(handshake.name().parse(), Ok(handshake));
            assert_eq!(HandshakeType::numbered(handshake.number()), Some(handshake));
        }
        assert_eq!(HandshakeType::numbered(0), None);
        let error = "ntor-v4".parse::<HandshakeType>().unwrap_err().to_string();
        assert!(error.contains("`ntor-v4`") && error.contains("hybrid-768-auth"), "{error}");
    }

    #[test]
    fn types_go_by_the_name_in_the_registry() {
        for (handshake, name) in names_of_types() {
            assert_eq!(name, handshake.name());
        }
    }
}
