//! What makes a link: TCP, TLS 1.3 and the link handshake, as lengths.
//!
//! ```text
//! initiator                              responder
//! SYN                          ───▶
//!                              ◀───      SYN-ACK
//! ClientHello                  ───▶
//!                              ◀───      ServerHello … Finished
//! Finished, VERSIONS           ───▶
//!                              ◀───      VERSIONS, CERTS, AUTH_CHALLENGE, NETINFO
//! (CERTS, AUTHENTICATE,) NETINFO, CREATE2 …
//! ```
//!
//! The lengths of cells are those of `onion`; a test compares them. Those of TLS are added up from RFC 8446 and
//! draft-ietf-tls-ecdhe-mlkem for X25519MLKEM768 and a certificate of 400 bytes; they can be off by a hundred bytes, which is less than a
//! segment. Session tickets and the time of the computations are left out.

use std::time::Duration;

/// Round trips before the first cell of a circuit.
pub const ROUND_TRIPS: u32 = 3;

/// How long a client's link may take to come about, TCP and TLS included: what `candor-network` gives its clients (`ClientOptions::link`). A link that a
/// relay makes may take as long (`RelayLimits::link`), which ends no circuit here: the client has given the hop up by then.
pub const LIMIT: Duration = Duration::from_secs(10);

/// How long a client waits until a stream is open, from when it asks: `ClientOptions::stream` of `candor-network`.
pub const STREAM: Duration = Duration::from_secs(20);

/// How long an exit waits for the target to be there, from when it is asked: `RelayLimits::connect` of `candor-network`.
pub const CONNECT: Duration = Duration::from_secs(15);

/// TLS's header, content type and tag, for each record.
pub(super) const RECORD: u64 = 22;
/// Most bytes in a record.
pub(super) const MOST_RECORD: usize = 1 << 14;

/// ClientHello: key shares of 1216 and 32 bytes, 270 of the rest, a record's header.
const CLIENT_HELLO: u64 = 1216 + 32 + 270 + 5;
/// ServerHello with a share of 1120 bytes, EncryptedExtensions, Certificate, CertificateVerify, Finished.
const SERVER_FLIGHT: u64 = (1120 + 90 + 5) + (20 + RECORD) + (400 + 20 + RECORD) + (80 + RECORD) + (52 + RECORD);
/// Finished with SHA-384.
const FINISHED: u64 = 52 + RECORD;
/// VERSIONS of the initiator.
pub(super) const VERSIONS: u64 = 11;
/// VERSIONS, CERTS, AUTH_CHALLENGE and NETINFO of the responder.
pub(super) const RESPONDER: u64 = 826;
/// NETINFO of a client.
pub(super) const CLIENT: u64 = 514;
/// CERTS, AUTHENTICATE and NETINFO of a relay.
pub(super) const RELAY: u64 = 1135;

/// Bytes of the message number `step`, sent by the initiator if even. `by_relay` says whether a relay initiates. `None` after the last.
pub(super) fn message(step: u8, by_relay: bool) -> Option<u64> {
    Some(match step {
        0 => CLIENT_HELLO,
        1 => SERVER_FLIGHT,
        2 => FINISHED + VERSIONS + RECORD,
        3 => RESPONDER + RECORD,
        4 if by_relay => RELAY + RECORD,
        4 => CLIENT + RECORD,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_onion::link::{Addresses, Binding, Initiator, LinkHandshake, RelayIdentity, Responder};

    /// Lengths of what the two ends send: VERSIONS, the responder's answer, the initiator's.
    fn lengths(relay: Option<&RelayIdentity>) -> [u64; 3] {
        let now = 1_800_000_000;
        let identity = RelayIdentity::from_seeds(&[1; 32], &[2; 32], &[3; 32], now);
        let binding = Binding { exporter: [4; 32], certificate: [5; 32] };
        let addresses = Addresses { ours: &[], theirs: Some([10, 0, 0, 1].into()) };
        let (nonce, challenge) = ([6; 24], [7; 32]);
        let initiator = Initiator { relay, expect: None, binding, now, nonce, addresses };
        let mut initiator = LinkHandshake::initiator(initiator);
        let mut responder =
            LinkHandshake::responder(Responder { relay: &identity, binding, now, challenge, addresses });
        let versions = initiator.take_output();
        responder.receive(&versions).unwrap();
        let answer = responder.take_output();
        initiator.receive(&answer).unwrap();
        let last = initiator.take_output();
        responder.receive(&last).unwrap();
        assert!(initiator.is_done() && responder.is_done());
        [versions, answer, last].map(|bytes| bytes.len() as u64)
    }

    #[test]
    fn cells_of_the_link_handshake_have_these_lengths() {
        assert_eq!(lengths(None), [VERSIONS, RESPONDER, CLIENT]);
        let relay = RelayIdentity::from_seeds(&[8; 32], &[9; 32], &[10; 32], 1_800_000_000);
        assert_eq!(lengths(Some(&relay)), [VERSIONS, RESPONDER, RELAY]);
    }
}
