//! Why a client doesn't get what it asks for, as each protocol says it.

use super::socks::Reply;
use crate::Error;
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::{Cause, Failure};
use candor_onion::relay::message::EndReason;
use candor_primitives::dh::DhError;
use candor_primitives::kem::KemError;
use hyper::StatusCode;

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// An onion service was asked for.
    OnionService,
    /// A name stands for addresses of a private network only, which no exit may tell.
    PrivateAddress,
    /// The proxy has as many circuits as it may.
    Busy,
    /// The network.
    Network(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Network(error)
    }
}

impl Trouble {
    pub(super) fn reply(&self) -> Reply {
        match self {
            Self::OnionService => Reply::NotAllowed,
            Self::PrivateAddress => Reply::NotAllowed,
            Self::Busy => Reply::GeneralFailure,
            Self::Network(error) => reply(error),
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match (self, self.reply()) {
            (Self::Busy, _) => StatusCode::SERVICE_UNAVAILABLE,
            (_, Reply::NotAllowed) => StatusCode::FORBIDDEN,
            (_, Reply::TtlExpired) => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        }
    }

    /// The cause, for the client that asked.
    pub(super) fn text(&self) -> String {
        match self {
            Self::OnionService => "onion services (.onion) are out of this network's scope".to_owned(),
            Self::PrivateAddress => {
                "the exit named private addresses only, which a name outside must not stand for".to_owned()
            }
            Self::Busy => "the proxy has its maximum of circuits; try again later".to_owned(),
            Self::Network(error) => error.to_string(),
        }
    }

    /// The cause, for the log, which does not say where anybody wanted to go.
    pub(super) fn text_without_target(&self) -> String {
        match self {
            Self::Network(Error::Stream { relay, hop, reason, .. }) => format!("hop {hop}: {reason} (relay {relay})"),
            Self::Network(Error::Timeout { after, .. }) => {
                format!("opening a stream took more than {} s", after.as_secs_f32())
            }
            Self::Network(Error::Path(_)) => "no path to what was asked for".to_owned(),
            Self::Network(Error::Internal(_)) => "internal error".to_owned(),
            other => other.text(),
        }
    }

    /// Whether another path may do better.
    pub(super) fn is_the_paths(&self) -> bool {
        match self {
            Self::OnionService | Self::PrivateAddress | Self::Busy => false,
            Self::Network(Error::Stream { reason, .. }) => !is_the_targets(*reason),
            Self::Network(error) => {
                matches!(
                    error,
                    Error::Circuit { .. }
                        | Error::FirstHop { .. }
                        | Error::Timeout { .. }
                        | Error::Silent { .. }
                        | Error::Late { .. }
                        | Error::TooManyStreams
                        | Error::NoUpgrade { .. }
                )
            }
        }
    }
}

/// Whether the exit says something of the target that any exit would find.
fn is_the_targets(reason: EndReason) -> bool {
    use EndReason as End;
    [End::RESOLVEFAILED, End::CONNECTREFUSED, End::NOROUTE, End::CONNRESET, End::DONE].contains(&reason)
}

fn reply(error: &Error) -> Reply {
    match error {
        Error::Stream { reason, .. } => match *reason {
            EndReason::RESOLVEFAILED | EndReason::NOROUTE => Reply::HostUnreachable,
            EndReason::CONNECTREFUSED | EndReason::CONNRESET => Reply::ConnectionRefused,
            EndReason::EXITPOLICY => Reply::NotAllowed,
            EndReason::TIMEOUT => Reply::TtlExpired,
            _ => Reply::GeneralFailure,
        },
        Error::Path(_) => Reply::NetworkUnreachable,
        Error::Timeout { .. } | Error::Silent { .. } | Error::Late { .. } => Reply::TtlExpired,
        Error::Circuit { failure, .. } if failure.cause == Cause::Timeout => Reply::TtlExpired,
        Error::FirstHop { source, .. } => match **source {
            Error::Timeout { .. } => Reply::TtlExpired,
            _ => Reply::NetworkUnreachable,
        },
        _ => Reply::GeneralFailure,
    }
}

/// Whether the error says nothing of the circuit that a stream was to be opened on: the exit answers, or this end did not ask it.
pub(super) fn leaves_the_circuit(error: &Error) -> bool {
    matches!(error, Error::Stream { .. } | Error::TooManyStreams | Error::Internal(_))
}

/// Whether a handshake has failed for want of memory or randomness here.
fn is_our_own(error: &candor_onion::Error) -> bool {
    use candor_onion::Error as Onion;
    matches!(
        error,
        Onion::Dh(DhError::Randomness | DhError::BackEnd(_)) | Onion::Kem(KemError::Randomness | KemError::BackEnd(_))
    )
}

/// Whether the error says that the guard can't be reached over a new link, or does not keep to the rules.
pub(super) fn is_the_guards(error: &Error) -> bool {
    match error {
        // For want of files or numbers here, nobody was asked.
        Error::FirstHop { source, .. } => !matches!(**source, Error::NoFiles | Error::Internal(_)),
        // What another relay has ended, the relay before it says so.
        error => failed_hop(error) == Some(1) && !is_a_refusal(error) && !is_the_links(error),
    }
}

/// Whether the link to the guard is closed, or nothing at all comes over it. A line that was cut for a moment does that too, and the guard may be there: a new
/// link tells.
pub(super) fn is_the_links(error: &Error) -> bool {
    match error {
        Error::Circuit { failure, .. } => *failure == Failure { hop: Some(1), cause: Cause::LinkClosed },
        Error::Silent { hop, .. } => *hop == 1,
        _ => false,
    }
}

/// Whether the guard has ended the circuit, or not made it while it went on carrying others. Others can make it do so: an exit that sends more than the
/// client's line carries, or whoever keeps the guard busy while a circuit is made. So one says little of it, and several in turn say that it is no use.
pub(super) fn is_a_refusal(error: &Error) -> bool {
    let Error::Circuit { failure: Failure { hop: Some(1), cause }, .. } = error else { return false };
    matches!(cause, Cause::Destroyed(_) | Cause::Timeout)
}

/// Whether a circuit that was built has failed otherwise than by this end. Its guard may have brought that about: by ending it, by saying that what is behind it is over, by
/// spoiling a cell on its way in or out, or by carrying none.
pub(super) fn carried_nothing(error: &Error) -> bool {
    match error {
        Error::Circuit { failure, .. } => !matches!(failure.cause, Cause::Closed | Cause::Overflow | Cause::Randomness),
        Error::Silent { .. } => true,
        // Where cells of others come, it may be the line.
        Error::Late { others_came, .. } => !others_came,
        _ => false,
    }
}

/// Whether that was at the last of so many hops, or a cell has come that none of them made: then it may be the exit's doing as well as that of anyone before it.
pub(super) fn may_be_the_exits(error: &Error, hops: usize) -> bool {
    let hop = match error {
        Error::Circuit { failure: Failure { cause: Cause::Unrecognized, .. }, .. } => Some(hops),
        Error::Circuit { failure, .. } => failure.hop,
        Error::Silent { hop, .. } => Some(*hop),
        _ => None,
    };
    hops > 1 && hop == Some(hops)
}

/// Whether a circuit that was built has been ended for a breach of the protocol, by a relay or here. An honest one does that when a cell has come that somebody on its way has
/// spoilt.
pub(super) fn is_spoilt(error: &Error) -> bool {
    let Error::Circuit { failure: Failure { cause, .. }, .. } = error else { return false };
    matches!(cause, Cause::Destroyed(DestroyReason::PROTOCOL) | Cause::Unrecognized)
}

/// Whether the exit of a circuit of so many hops is to blame for a stream. What nobody knows the place of, or what a relay before it can have brought about, it isn't.
pub(super) fn is_the_exits(error: &Error, hops: usize) -> bool {
    matches!(error, Error::Stream { .. } | Error::Timeout { .. })
        || (failed_hop(error) == Some(hops) && !is_spoilt(error))
}

/// The hop that does not do its part, if the error says so.
pub(super) fn failed_hop(error: &Error) -> Option<usize> {
    match error {
        Error::Circuit { failure, .. } => match failure.cause {
            Cause::Handshake(error) if is_our_own(&error) => None,
            Cause::Timeout | Cause::Destroyed(_) | Cause::Handshake(_) | Cause::Protocol(_) => failure.hop,
            // Closed here, or nobody knows where.
            _ => None,
        },
        Error::Silent { hop, .. } => Some(*hop),
        // A stream that takes too long may be its target's fault, and targets don't choose exits.
        _ => None,
    }
}

pub(super) fn is_onion(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("onion"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_onion::circuit::Failure;
    use std::time::Duration;

    fn stream(reason: EndReason) -> Trouble {
        let (relay, target) = ("cyd at 192.0.2.1:1".to_owned(), "secret.example:443".to_owned());
        Error::Stream { relay, hop: 3, target, reason }.into()
    }

    fn circuit(cause: Cause) -> Trouble {
        let relay = Some("bob at 192.0.2.2:1".to_owned());
        Error::Circuit { failure: Failure { hop: Some(2), cause }, relay }.into()
    }

    #[test]
    fn every_cause_has_its_reply_and_status() {
        let slow =
            || Error::Timeout { what: "opening a stream to secret.example:443".to_owned(), after: Duration::ZERO };
        let first = |source| Error::FirstHop { relay: "ada".to_owned(), source: Box::new(source) }.into();
        let late = Error::Late { relay: "ada".to_owned(), after: Duration::from_secs(5), others_came: false };
        let refused = Error::Connect { address: ([192, 0, 2, 3], 1).into(), why: "no".to_owned() };
        for (trouble, reply, status) in [
            (Trouble::OnionService, 2, 403),
            (Trouble::PrivateAddress, 2, 403),
            (Trouble::Busy, 1, 503),
            (stream(EndReason::EXITPOLICY), 2, 403),
            (stream(EndReason::RESOLVEFAILED), 4, 502),
            (stream(EndReason::NOROUTE), 4, 502),
            (stream(EndReason::CONNECTREFUSED), 5, 502),
            (stream(EndReason::TIMEOUT), 6, 504),
            (stream(EndReason::RESOURCELIMIT), 1, 502),
            (Error::Path(String::new()).into(), 3, 502),
            (first(refused), 3, 502),
            (first(slow()), 6, 504),
            (slow().into(), 6, 504),
            (late.into(), 6, 504),
            (circuit(Cause::Timeout), 6, 504),
            (circuit(Cause::LinkClosed), 1, 502),
        ] {
            assert_eq!((trouble.reply() as u8, trouble.status().as_u16()), (reply, status), "{trouble:?}");
        }
    }

    #[test]
    fn the_client_is_told_hop_and_cause_and_the_log_no_target() {
        for trouble in [stream(EndReason::CONNECTREFUSED), stream(EndReason::EXITPOLICY)] {
            let (said, logged) = (trouble.text(), trouble.text_without_target());
            assert!(said.contains("hop 3") && said.contains("cyd at") && said.contains("secret.example:443"), "{said}");
            assert!(logged.contains("hop 3") && logged.contains("cyd at") && !logged.contains("secret"), "{logged}");
        }
        let what = "opening a stream to secret.example:443".to_owned();
        let trouble = Trouble::from(Error::Timeout { what, after: Duration::from_secs(3) });
        assert!(trouble.text().contains("secret") && !trouble.text_without_target().contains("secret"));
        let said = circuit(Cause::LinkClosed).text_without_target();
        assert!(said.contains("hop 2") && said.contains("bob at"), "{said}");
    }

    #[test]
    fn another_path_is_tried_unless_the_target_is_the_cause() {
        let late = Error::Late { relay: "ada".to_owned(), after: Duration::from_secs(5), others_came: true }.into();
        for yes in [stream(EndReason::EXITPOLICY), stream(EndReason::RESOURCELIMIT), circuit(Cause::Timeout), late] {
            assert!(yes.is_the_paths(), "{yes:?}");
        }
        for no in
            [stream(EndReason::CONNECTREFUSED), stream(EndReason::RESOLVEFAILED), Trouble::OnionService, Trouble::Busy]
        {
            assert!(!no.is_the_paths(), "{no:?}");
        }
    }

    #[test]
    fn a_guard_that_is_gone_is_the_guards_and_a_dead_link_or_what_it_refuses_or_what_is_behind_it_is_not() {
        let circuit = |hop, cause| Error::Circuit { failure: Failure { hop, cause }, relay: None };
        let silent = |hop| Error::Silent { hop, relay: String::new(), after: Duration::from_secs(5) };
        let first = |source| Error::FirstHop { relay: "ada".to_owned(), source: Box::new(source) };
        let refused = Cause::Destroyed(DestroyReason::RESOURCELIMIT);
        let is = |error: Error| [is_the_guards(&error), is_the_links(&error), is_a_refusal(&error)];
        let [guards, links, refusal, others] =
            [[true, false, false], [false, true, false], [false, false, true], [false, false, false]];
        let wrong = || Cause::Handshake(candor_onion::Error::WrongIdentity);
        let why = || "refused".to_owned();
        for (error, whose) in [
            (first(Error::Connect { address: ([192, 0, 2, 3], 1).into(), why: why() }), guards),
            (first(Error::Timeout { what: why(), after: Duration::from_secs(10) }), guards),
            (circuit(Some(1), wrong()), guards),
            (circuit(Some(1), Cause::LinkClosed), links),
            (silent(1), links),
            (circuit(Some(1), refused), refusal),
            (circuit(Some(1), Cause::Timeout), refusal),
            (silent(2), others),
            (silent(3), others),
            (circuit(None, Cause::Randomness), others),
            (circuit(Some(2), refused), others),
            (circuit(Some(3), refused), others),
            (circuit(Some(2), Cause::Timeout), others),
            (circuit(Some(2), Cause::LinkClosed), others),
            (circuit(None, Cause::LinkClosed), others),
            (circuit(Some(2), wrong()), others),
            (circuit(Some(1), Cause::Closed), others),
            (first(Error::NoFiles), others),
            (first(Error::Internal(why())), others),
            (circuit(Some(1), Cause::Handshake(DhError::Randomness.into())), others),
            (circuit(Some(1), Cause::Handshake(KemError::BackEnd("aws-lc").into())), others),
            // The twins: a key that the relay should not have published.
            (circuit(Some(1), Cause::Handshake(DhError::NonContributory.into())), guards),
            (circuit(Some(1), Cause::Handshake(KemError::PublicKey.into())), guards),
        ] {
            let said = error.to_string();
            assert_eq!(is(error), whose, "{said}");
        }
    }

    #[test]
    fn what_a_guard_can_bring_about_counts_against_it_and_not_against_the_exit() {
        let circuit = |hop, cause| Error::Circuit { failure: Failure { hop, cause }, relay: None };
        let silent = |hop| Error::Silent { hop, relay: String::new(), after: Duration::from_secs(5) };
        let slow = || Error::Timeout { what: "opening a stream".to_owned(), after: Duration::from_secs(20) };
        let refused = || Cause::Destroyed(DestroyReason::NONE);
        let stream = |reason| Error::Stream { relay: "cyd".to_owned(), hop: 3, target: "x:1".to_owned(), reason };
        let spoilt = || Cause::Destroyed(DestroyReason::PROTOCOL);
        let late = |others_came| Error::Late { relay: String::new(), after: Duration::from_secs(5), others_came };
        // Whether it counts against the guard, only once for each exit, and against the exit.
        for (error, counts) in [
            (late(false), [true, false, false]),
            (circuit(Some(1), refused()), [true, false, false]),
            (circuit(Some(1), Cause::LinkClosed), [true, false, false]),
            (circuit(None, Cause::Unrecognized), [true, true, false]),
            (circuit(Some(2), refused()), [true, false, false]),
            (circuit(Some(2), spoilt()), [true, false, false]),
            (circuit(Some(3), spoilt()), [true, true, false]),
            (silent(1), [true, false, false]),
            (silent(2), [true, false, false]),
            (silent(3), [true, true, true]),
            (circuit(Some(3), refused()), [true, true, true]),
            // The twins.
            (late(true), [false, false, false]),
            (slow(), [false, false, true]),
            (stream(EndReason::EXITPOLICY), [false, false, true]),
            (circuit(None, Cause::Closed), [false, false, false]),
            (circuit(None, Cause::Overflow), [false, false, false]),
            (circuit(None, Cause::Randomness), [false, false, false]),
        ] {
            let said = error.to_string();
            let found = [carried_nothing(&error), may_be_the_exits(&error, 3), is_the_exits(&error, 3)];
            assert_eq!(found, counts, "{said}");
        }
        assert!(is_the_exits(&silent(1), 1) && !may_be_the_exits(&silent(1), 1), "it is both, and always counts");
    }

    #[test]
    fn onion_services_are_known_by_their_last_label() {
        for yes in ["abc.onion", "a.b.ONION", "abc.onion.", "onion"] {
            assert!(is_onion(yes), "{yes}");
        }
        for no in ["onion.example", "example.org", "127.0.0.1", "[::1]", "abconion"] {
            assert!(!is_onion(no), "{no}");
        }
    }
}
