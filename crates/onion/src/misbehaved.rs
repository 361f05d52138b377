//! What a peer did wrong: typed causes, modelled on rustls's `PeerMisbehaved`.

use crate::command::{Command, RelayCommand};

/// How a neighbour, a relay or a client broke the protocol. Close what the message came over: its link, or its circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what the messages say
pub enum PeerMisbehaved {
    // Links.
    /// A link begins with another cell than VERSIONS.
    #[error("first cell on the link is {command:?}; expected VERSIONS")]
    VersionsMissing { command: Command },
    /// VERSIONS came again.
    #[error("second VERSIONS cell on the link; expected one")]
    VersionsRepeated,
    /// Half a version in VERSIONS.
    #[error("VERSIONS payload is {got} bytes long; expected an even number")]
    VersionsOdd { got: usize },
    /// A cell that the link handshake does not expect at this point.
    #[error("{command:?} cell is out of turn in the link handshake")]
    CellOutOfTurn { command: Command },
    /// A circuit's command with circuit number 0.
    #[error("{command:?} cell has circuit number 0; expected the number of a circuit")]
    CircuitMissing { command: Command },

    // Cells of a circuit.
    /// A relay sent its client a cell that only clients send.
    #[error("{command:?} cell from a relay to its client; expected RELAY, CREATED2 or DESTROY")]
    CellFromRelay { command: Command },
    /// A V1 relay cell whose command, and so its layout, is unknown.
    #[error("relay cell has the unknown command {command}; expected one that format V1 knows")]
    CommandUnknown { command: u8 },
    /// A command that needs a stream with stream 0.
    #[error("{command:?} message names stream 0; expected the number of a stream")]
    StreamMissing { command: RelayCommand },

    // Messages that span cells.
    /// A message that is longer than its cell although its command can't be fragmented, or nobody has agreed to that.
    #[error("{command:?} message is {got} bytes long; expected at most the {most} bytes that are left in its cell")]
    NotFragmentable { command: RelayCommand, most: usize, got: usize },
    /// A later fragment in RELAY_EARLY.
    #[error("{command:?} message continues in a RELAY_EARLY cell; expected RELAY")]
    FragmentEarly { command: RelayCommand },
    /// Another message came between the fragments of one.
    #[error("{found:?} cell with {got} bytes to go interrupts a fragmented {expected:?}; expected {left} bytes to go")]
    FragmentMismatch { expected: RelayCommand, left: usize, found: RelayCommand, got: usize },

    // Bodies of relay messages.
    /// An address of an unknown type in CONNECTED.
    #[error("CONNECTED has an address of type {kind}; expected 6 (IPv6)")]
    AddressType { kind: u8 },
    /// A SENDME that proves nothing.
    #[error("SENDME version is {got}; expected 1")]
    SendmeVersion { got: u8 },
    /// A SENDME whose tag has a length that no layer makes.
    #[error("SENDME tag is {got} bytes long; expected 16 or 20")]
    SendmeTagLength { got: usize },
    /// EXTEND2 names two identities of one type.
    #[error("EXTEND2 has two link specifiers of type {kind}; expected one at most")]
    IdentityRepeated { kind: u8 },
    /// A link specifier that is longer than its type.
    #[error("link specifier of type {kind} is {got} bytes long; expected {expected}")]
    LinkSpecifierLength { kind: u8, expected: usize, got: usize },
    /// XON or XOFF of another version.
    #[error("{command:?} version is not 0")]
    SwitchVersion { command: RelayCommand },

    // The course of a circuit.
    /// EXTEND2 in a RELAY cell, of which a circuit may carry any number.
    #[error("EXTEND2 message in a RELAY cell; expected RELAY_EARLY")]
    ExtendNotEarly,
    /// A message that this end of a circuit does not accept.
    #[error("unexpected {command:?} message at this end of the circuit")]
    MessageUnexpected { command: RelayCommand },
    /// A reply to a circuit creation or extension that nobody asked for.
    #[error("unexpected handshake reply: no hop is being added")]
    ReplyUnexpected,
    /// A message from a hop that is not the last, although only the last may send it.
    #[error("unexpected message from hop {hop}, which is not the last of the circuit")]
    HopUnexpected { hop: usize },
    /// A message that spans cells, or UPGRADED, for a stream.
    #[error("{command:?} message names stream {stream}; expected stream 0")]
    StreamUnexpected { command: RelayCommand, stream: u16 },
    /// UPGRADE or UPGRADED when it is not its turn, or EXTEND2 while an upgrade is under way.
    #[error("{command:?} message is out of turn in an upgrade; a circuit has one, at its last hop")]
    UpgradeOutOfTurn { command: RelayCommand },
    /// UPGRADE with another suite than the one agreed on.
    #[error("UPGRADE is for suite {got:#04x}; expected {expected:#04x}")]
    UpgradeSuite { expected: u8, got: u8 },
    /// BEGIN for a stream that is open.
    #[error("BEGIN message for stream {stream}, which is open already")]
    StreamInUse { stream: u16 },
    /// A stream that neither end has opened.
    #[error("relay message for unknown stream {stream}")]
    StreamUnknown { stream: u16 },
    /// CONNECTED came again.
    #[error("second CONNECTED message for stream {stream}; expected one")]
    ConnectedRepeated { stream: u16 },
    /// DATA on a stream that is not connected.
    #[error("DATA message for stream {stream} before CONNECTED")]
    DataEarly { stream: u16 },

    // Flow control.
    /// More DATA than the stream's window.
    #[error("stream {stream} exceeds its window of {most} DATA cells")]
    StreamWindow { stream: u16, most: u32 },
    /// More DATA than the circuit's window.
    #[error("circuit exceeds its window of {most} DATA cells")]
    CircuitWindow { most: u32 },
    /// A SENDME with nothing to acknowledge, for a stream or, for stream 0, the circuit.
    #[error("SENDME message for stream {stream} with nothing to acknowledge")]
    SendmeUnexpected { stream: u16 },
    /// A SENDME whose tag is not that of the cell it acknowledges.
    #[error("SENDME tag is not that of the acknowledged cell")]
    SendmeTag,
    /// Flow control of the wrong kind for the circuit's cryptography.
    #[error("{command:?} message for stream {stream} does not belong to the flow control that was agreed")]
    FlowControl { command: RelayCommand, stream: u16 },

    // Extension messages of handshakes.
    /// Half a subprotocol.
    #[error("subprotocol list is {got} bytes long; expected an even number")]
    SubprotocolsOdd { got: usize },
    /// Subprotocols that don't ascend.
    #[error("subprotocols are not in ascending order")]
    SubprotocolsOrder,
    /// A subprotocol that we don't know: it can't be agreed to.
    #[error("unknown subprotocol {protocol}, version {version}; expected Relay (2), version 6 or 240")]
    SubprotocolUnknown { protocol: u8, version: u8 },
    /// CGO comes with congestion control only.
    #[error("request for CGO without congestion control")]
    CgoAlone,
    /// A SENDME increment too far from ours.
    #[error("SENDME increment is unusable; expected one byte from {low} to {high}")]
    SendmeIncrement { low: u8, high: u8 },
    /// The answer about congestion control does not fit the request.
    #[error("congestion control is {}", if *.answered { "answered although it was not asked for" } else { "asked for but not answered" })]
    CongestionControl { answered: bool },
    /// An upgrade that was not asked for, or not with this suite.
    #[error("upgrade with suite {got:#04x} is agreed to although it was not asked for")]
    UpgradeUnasked { got: u8 },
    /// The answer to the request for an upgrade names no suite, or several.
    #[error("answer about upgrades is {got} bytes long; expected 1")]
    UpgradeLength { got: usize },
    /// An extension that is there twice.
    #[error("extension of type {kind} is there twice; expected once")]
    ExtensionRepeated { kind: u8 },
    /// Bytes after the last extension.
    #[error("{got} bytes follow the last extension; expected none")]
    ExtensionTrailing { got: usize },
}

/// What is wrong with a stream's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what the messages say
pub enum InvalidTarget {
    /// No host.
    #[error("host is empty")]
    HostEmpty,
    /// Too long a host.
    #[error("host is {got} bytes long; expected at most {most}")]
    HostLong { most: usize, got: usize },
    /// A host with a byte outside printable ASCII.
    #[error("host has a byte that is not printable ASCII")]
    HostBytes,
    /// No colon, or no number after it.
    #[error("port is missing or not a number")]
    PortMissing,
    /// Port 0 or above 65535.
    #[error("port is out of range; expected 1 to 65535")]
    PortRange,
    /// BEGIN without the NUL that ends its target.
    #[error("target has no terminating NUL")]
    Unterminated,
}

/// What is wrong with a certificate of CERTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what the messages say
pub enum InvalidCertificate {
    /// CERTS has none of this type, or several.
    #[error("CERTS does not hold it exactly once")]
    Count,
    /// No room for the signature.
    #[error("{got} bytes long; expected at least 64 for its signature")]
    Length { got: usize },
    /// Another version.
    #[error("version is {got}; expected 1")]
    Version { got: u8 },
    /// The type inside differs from the type that CERTS gives it.
    #[error("type inside is {got}; expected the one that CERTS gives")]
    Type { got: u8 },
    /// The wrong type of certified key.
    #[error("certified key is of type {got}; expected {expected}")]
    KeyType { expected: u8, got: u8 },
    /// Bytes after the extensions.
    #[error("{got} bytes follow the extensions; expected none")]
    Trailing { got: usize },
    /// It names no signer, and none is known.
    #[error("names no signer")]
    SignerMissing,
    /// It names two signers.
    #[error("names two signers")]
    SignerRepeated,
    /// Its signer's key is not a key.
    #[error("signer's key is not an Ed25519 key of 32 bytes")]
    SignerKey,
    /// Another signer than the chain demands.
    #[error("signed by another key than the one above it in the chain")]
    Signer,
    /// A critical extension that we don't know.
    #[error("extension of type {kind} is unknown but affects validation")]
    Extension { kind: u8 },
    /// Expired.
    #[error("expired at {expires} (seconds since 1970); check the clock")]
    Expired { expires: u64 },
    /// The signature does not verify.
    #[error("signature is wrong")]
    Signature,
    /// Made for another TLS certificate than the connection's.
    #[error("made for another TLS certificate than the connection's")]
    OtherConnection,
}
