//! The commands of cells.

use core::fmt;

/// A cell's command byte (tor-spec, "Cell Packet format").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Command(pub u8);

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)+) => {
        impl Command {
            $($(#[$doc])* pub const $name: Self = Self($value);)+

            /// The command's name in the specification, if it is a known one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

commands! {
    /// Link padding.
    PADDING = 0;
    /// A relay cell.
    RELAY = 3;
    /// Ends a circuit.
    DESTROY = 4;
    /// Starts the link handshake. The only variable cell with a command below 128.
    VERSIONS = 7;
    /// Ends the link handshake.
    NETINFO = 8;
    /// A relay cell that may extend the circuit.
    RELAY_EARLY = 9;
    /// Creates a circuit.
    CREATE2 = 10;
    /// Answers CREATE2.
    CREATED2 = 11;
    /// Asks for link padding (link protocol 5).
    PADDING_NEGOTIATE = 12;
    /// Link padding of variable length.
    VPADDING = 128;
    /// Certificates.
    CERTS = 129;
    /// Invitation to authenticate.
    AUTH_CHALLENGE = 130;
    /// Authentication.
    AUTHENTICATE = 131;
    /// Private: creates a circuit with an onionskin of any length (`docs/cells.md`).
    CREATE2V = 240;
    /// Private: answers CREATE2V.
    CREATED2V = 241;
}

impl Command {
    /// Whether cells with this command have a length field.
    pub fn is_variable(self) -> bool {
        self == Self::VERSIONS || self.0 >= 128
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Command({})", self.0),
        }
    }
}
