//! Views: the relays that one authority knows at the beginning of a round.

use super::certificate::Endorsement;
use super::descriptor::magic;
use super::keys::{Label, digest_of};
use super::relay::{family, put_family};
use super::{Authorities, Certificate, Fingerprint, InvalidDocument, MOST_CONSENSUS, Relay, SecretKey};
use crate::Error;
use crate::parts::Parts;
use alloc::vec::Vec;

/// The most relays in a view or a consensus. Tor has had about 9,000.
pub const MOST_RELAYS: usize = 16_384;
/// The most bytes of a view: a consensus, with a declared family for each relay in it.
const MOST_VIEW: usize = 2 * MOST_CONSENSUS;

const MAGIC: &str = "candor view 1\n";
const WHAT: &str = "view";

/// When a consensus holds, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The beginning of its round, and its number: each consensus has a greater one than those before.
    pub valid_after: u64,
    /// When the next one is due.
    pub fresh_until: u64,
    /// Until when clients may use it if no other comes.
    pub valid_until: u64,
}

impl Times {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        [self.valid_after, self.fresh_until, self.valid_until].iter().for_each(|time| out.extend(time.to_be_bytes()));
    }

    pub(super) fn decode(parts: &mut Parts<'_>) -> Result<Self, Error> {
        let times = Self { valid_after: parts.u64()?, fresh_until: parts.u64()?, valid_until: parts.u64()? };
        match times.valid_after < times.fresh_until && times.fresh_until <= times.valid_until {
            true => Ok(times),
            false => Err(InvalidDocument::field("times of a view or consensus", "are not in order").into()),
        }
    }
}

/// An authority's view, whose signature has been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Whose it is.
    pub authority: Fingerprint,
    /// Of the consensus that it is for.
    pub times: Times,
    /// The relays by ascending identity, and the family that each declares.
    pub relays: Vec<(Relay, Vec<[u8; 32]>)>,
}

impl View {
    /// The signed document: LENGTH 4 | BODY | CERTIFICATE | SIGNATURE, where the body is MAGIC 14 | TIMES 24 | COUNT 4 | RELAY, FAMILY each.
    ///
    /// # Errors
    /// [`Error::Directory`] if the relays are not in order, or the certificate is another key's.
    pub fn sign(
        times: Times,
        relays: &[(Relay, Vec<[u8; 32]>)],
        key: &SecretKey,
        certificate: &Certificate,
    ) -> Result<Vec<u8>, Error> {
        let mut body = MAGIC.as_bytes().to_vec();
        times.encode(&mut body);
        body.extend_from_slice(&u32::try_from(relays.len()).unwrap_or(u32::MAX).to_be_bytes());
        for (relay, family) in relays {
            relay.encode(&mut body);
            put_family(&mut body, family);
        }
        Self::parse(&body, [0; 32])?;
        let mut out = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
        out.extend_from_slice(&body);
        Endorsement::sign(Label::View, &digest_of(&body), key, certificate)?.encode(&mut out);
        Ok(out)
    }

    /// Reads a view of one of these authorities.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::Length`], [`Error::TooLong`].
    pub fn verify(bytes: &[u8], authorities: &Authorities) -> Result<Self, Error> {
        if bytes.len() > MOST_VIEW {
            return Err(Error::TooLong { what: WHAT, most: MOST_VIEW, got: bytes.len() });
        }
        let mut parts = Parts::of(WHAT, bytes, 4, true)?;
        let length = parts.u32()? as usize;
        let body = parts.slice(length)?;
        let endorsement = Endorsement::decode(&mut parts)?;
        parts.end()?;
        let authority = endorsement.authority();
        if !authorities.contains(&authority) {
            return Err(InvalidDocument::field(WHAT, "is signed by an unknown authority").into());
        }
        endorsement.verify(Label::View, &digest_of(body), Self::times_of(body)?.valid_after)?;
        Self::parse(body, authority)
    }

    fn times_of(body: &[u8]) -> Result<Times, Error> {
        let mut parts = Parts::of(WHAT, body, MAGIC.len(), true)?;
        magic(&mut parts, WHAT, MAGIC)?;
        Times::decode(&mut parts)
    }

    fn parse(body: &[u8], authority: Fingerprint) -> Result<Self, Error> {
        let mut parts = Parts::of(WHAT, body, MAGIC.len(), true)?;
        magic(&mut parts, WHAT, MAGIC)?;
        let times = Times::decode(&mut parts)?;
        let count = relay_count(&mut parts)?;
        let mut relays: Vec<(Relay, Vec<[u8; 32]>)> = Vec::with_capacity(count);
        for _ in 0..count {
            let entry = (Relay::decode(&mut parts)?, family(&mut parts)?);
            if relays.last().is_some_and(|(last, _)| last.identity >= entry.0.identity) {
                return Err(InvalidDocument::Order { what: "the relays of a view" }.into());
            }
            relays.push(entry);
        }
        parts.end()?;
        Ok(Self { authority, times, relays })
    }
}

/// COUNT 4. What follows has room for so many, each of 130 bytes or more, so that a document reserves no more memory than it has bytes.
pub(super) fn relay_count(parts: &mut Parts<'_>) -> Result<usize, Error> {
    let count = parts.u32()? as usize;
    match count <= MOST_RELAYS.min(parts.left() / 130) {
        true => Ok(count),
        false => Err(InvalidDocument::field("number of relays", "is greater than the document has room for").into()),
    }
}
