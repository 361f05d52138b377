//! The commands of relay messages.

use core::fmt;

/// A relay message's command byte (tor-spec, "Relay cells").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelayCommand(pub u8);

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $stream:ident;)+) => {
        impl RelayCommand {
            $($(#[$doc])* pub const $name: Self = Self($value);)+

            /// The command's name in the specification, if it is a known one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)+
                    _ => None,
                }
            }

            /// Whether messages with this command name a stream; `None` for unknown commands.
            pub fn takes_stream(self) -> Option<bool> {
                match self {
                    $(Self::$name => Some(commands!($stream)),)+
                    _ => None,
                }
            }
        }
    };
    (stream) => { true };
    (circuit) => { false };
}

commands! {
    /// Opens a stream.
    BEGIN = 1, stream;
    /// Carries bytes of a stream.
    DATA = 2, stream;
    /// Ends a stream.
    END = 3, stream;
    /// Answers BEGIN.
    CONNECTED = 4, stream;
    /// Acknowledges cells. With tor1, a SENDME that names a stream acknowledges cells of that stream.
    SENDME = 5, circuit;
    /// Cuts the circuit after this hop.
    TRUNCATE = 8, circuit;
    /// Says that the circuit is cut after this hop.
    TRUNCATED = 9, circuit;
    /// Padding across several hops.
    DROP = 10, circuit;
    /// Asks for the addresses of a name.
    RESOLVE = 11, stream;
    /// Answers RESOLVE.
    RESOLVED = 12, stream;
    /// Opens a stream to the relay's own directory.
    BEGIN_DIR = 13, stream;
    /// Extends the circuit.
    EXTEND2 = 14, circuit;
    /// Answers EXTEND2.
    EXTENDED2 = 15, circuit;
    /// Tells the other end to stop sending on a stream (prop 324).
    XOFF = 43, stream;
    /// Tells the other end to resume sending on a stream (prop 324).
    XON = 44, stream;
    /// Asks for new keys of the layer (private, `docs/upgrade.md`).
    UPGRADE = 242, circuit;
    /// Proves that its sender has them: its next cell is under the new keys (private).
    UPGRADED = 243, circuit;
}

impl fmt::Debug for RelayCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "RelayCommand({})", self.0),
        }
    }
}
