//! The consensus: the relays that the authorities agree on, signed by a threshold of them.

use super::certificate::Endorsement;
use super::descriptor::magic;
use super::keys::{Label, digest_of};
use super::view::relay_count;
use super::{Authorities, Certificate, Fingerprint, InvalidDocument, Relay, SecretKey, Times};
use crate::Error;
use crate::parts::Parts;
use alloc::vec::Vec;

/// The most bytes of a consensus. 8,000 relays take about two million.
pub const MOST_CONSENSUS: usize = 16 << 20;
/// The most signatures.
const MOST_SIGNERS: usize = 32;

const MAGIC: &str = "candor consensus 1\n";
const WHAT: &str = "consensus";

/// A consensus that enough authorities have signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consensus {
    /// When it holds.
    pub times: Times,
    /// How much of an exit's bandwidth should be used in other positions, in ten-thousandths.
    pub exit_weight: u16,
    /// The relays by ascending identity.
    pub relays: Vec<Listed>,
    /// The trusted authorities whose signatures have been verified.
    pub signers: Vec<Fingerprint>,
}

/// A relay in a consensus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The relay.
    pub relay: Relay,
    /// The number of its family, from 1, or 0 if it has none. Relays of one family don't belong in one circuit.
    pub family: u16,
}

/// A consensus as authorities compute it, to be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsignedConsensus {
    times: Times,
    body: Vec<u8>,
    digest: [u8; 64],
}

impl UnsignedConsensus {
    /// MAGIC 19 | TIMES 24 | EXIT_WEIGHT 2 | COUNT 4 | RELAY, FAMILY 2 each.
    pub(super) fn new(times: Times, exit_weight: u16, relays: &[Listed]) -> Result<Self, Error> {
        let mut body = MAGIC.as_bytes().to_vec();
        times.encode(&mut body);
        body.extend_from_slice(&exit_weight.to_be_bytes());
        body.extend_from_slice(&u32::try_from(relays.len()).unwrap_or(u32::MAX).to_be_bytes());
        for Listed { relay, family } in relays {
            relay.encode(&mut body);
            body.extend_from_slice(&family.to_be_bytes());
        }
        Consensus::parse(&body)?;
        Ok(Self { times, digest: digest_of(&body), body })
    }

    /// When it will hold.
    pub fn times(&self) -> Times {
        self.times
    }

    /// SHA-512 of what is signed: authorities with the same digest agree.
    pub fn digest(&self) -> &[u8; 64] {
        &self.digest
    }

    /// An authority's signature.
    ///
    /// # Errors
    /// [`Error::Directory`] if the certificate is another key's.
    pub fn sign(&self, key: &SecretKey, certificate: &Certificate) -> Result<Endorsement, Error> {
        Endorsement::sign(Label::Consensus, &self.digest, key, certificate)
    }

    /// That a signature is of one of the authorities, and of this consensus.
    ///
    /// # Errors
    /// [`Error::Directory`].
    pub fn check(&self, endorsement: &Endorsement, authorities: &Authorities) -> Result<(), Error> {
        if !authorities.contains(&endorsement.authority()) {
            return Err(InvalidDocument::field(WHAT, "is signed by an unknown authority").into());
        }
        endorsement.verify(Label::Consensus, &self.digest, self.times.valid_after)
    }

    /// The document: LENGTH 4 | BODY | SIGNATURES 1 | CERTIFICATE, SIGNATURE each, by ascending authority.
    pub fn signed(&self, endorsements: &[Endorsement]) -> Vec<u8> {
        let mut sorted: Vec<_> =
            endorsements.iter().map(|endorsement| (endorsement.authority(), endorsement)).collect();
        sorted.sort_by_key(|(authority, _)| *authority);
        sorted.dedup_by_key(|(authority, _)| *authority);
        sorted.truncate(MOST_SIGNERS);
        let mut out = Vec::with_capacity(5 + self.body.len() + sorted.len() * Endorsement::LENGTH);
        out.extend_from_slice(&u32::try_from(self.body.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(&self.body);
        out.push(sorted.len() as u8);
        sorted.iter().for_each(|(_, endorsement)| endorsement.encode(&mut out));
        out
    }
}

impl Consensus {
    /// Reads a consensus that enough of these authorities have signed. Signatures of others are passed over; a trusted authority's that doesn't
    /// hold doesn't count. The relays are not looked at before that. Whether it is of today is for the caller to judge, by `times`.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::Length`], [`Error::TooLong`].
    pub fn verify(bytes: &[u8], authorities: &Authorities) -> Result<Self, Error> {
        Self::verify_signatures(bytes, authorities, MOST_SIGNERS)
    }

    /// The same for whoever uses it: no more signatures are looked at once enough have been found good. So `signers` names no more than are needed.
    ///
    /// # Errors
    /// As for [`Self::verify`].
    pub fn verify_enough(bytes: &[u8], authorities: &Authorities) -> Result<Self, Error> {
        Self::verify_signatures(bytes, authorities, authorities.threshold())
    }

    fn verify_signatures(bytes: &[u8], authorities: &Authorities, most: usize) -> Result<Self, Error> {
        if bytes.len() > MOST_CONSENSUS {
            return Err(Error::TooLong { what: WHAT, most: MOST_CONSENSUS, got: bytes.len() });
        }
        let mut parts = Parts::of(WHAT, bytes, 4, true)?;
        let length = parts.u32()? as usize;
        let body = parts.slice(length)?;
        let [count] = *parts.array()?;
        if usize::from(count) > MOST_SIGNERS {
            return Err(InvalidDocument::field(WHAT, "has too many signatures").into());
        }
        let endorsements = (0..count).map(|_| Endorsement::decode(&mut parts)).collect::<Result<Vec<_>, _>>()?;
        parts.end()?;
        let signers: Vec<_> = endorsements.iter().map(Endorsement::authority).collect();
        if !signers.is_sorted_by(|low, high| low < high) {
            return Err(InvalidDocument::Order { what: "the signatures of a consensus" }.into());
        }
        let (digest, times) = (digest_of(body), Self::header(body)?.0);
        let holds = |(endorsement, authority): (&Endorsement, &Fingerprint)| {
            authorities.contains(authority) && endorsement.verify(Label::Consensus, &digest, times.valid_after).is_ok()
        };
        let good = endorsements.iter().zip(&signers).filter(|pair| holds(*pair)).map(|(_, authority)| *authority);
        let signers: Vec<_> = good.take(most).collect();
        if signers.len() < authorities.threshold() {
            let (known, threshold) = (authorities.known().len(), authorities.threshold());
            return Err(InvalidDocument::UnderSigned { good: signers.len(), known, threshold }.into());
        }
        Ok(Self { signers, ..Self::parse(body)? })
    }

    fn header(body: &[u8]) -> Result<(Times, Parts<'_>), Error> {
        let mut parts = Parts::of(WHAT, body, MAGIC.len(), true)?;
        magic(&mut parts, WHAT, MAGIC)?;
        Ok((Times::decode(&mut parts)?, parts))
    }

    fn parse(body: &[u8]) -> Result<Self, Error> {
        let (times, mut parts) = Self::header(body)?;
        let exit_weight = parts.u16()?;
        if exit_weight > 10_000 {
            return Err(InvalidDocument::field(WHAT, "has a weight above 10000").into());
        }
        let count = relay_count(&mut parts)?;
        let mut relays: Vec<Listed> = Vec::with_capacity(count);
        for _ in 0..count {
            let relay = Relay::decode(&mut parts)?;
            if relays.last().is_some_and(|last| last.relay.identity >= relay.identity) {
                return Err(InvalidDocument::Order { what: "the relays of a consensus" }.into());
            }
            relays.push(Listed { relay, family: parts.u16()? });
        }
        parts.end()?;
        Ok(Self { times, exit_weight, relays, signers: Vec::new() })
    }

    /// Its number, by which a client notices that it is shown an older one: the beginning of its round.
    pub fn number(&self) -> u64 {
        self.times.valid_after
    }

    /// The relay with that identity.
    pub fn relay(&self, identity: &[u8; 32]) -> Option<&Listed> {
        let at = self.relays.binary_search_by_key(identity, |listed| listed.relay.identity).ok()?;
        self.relays.get(at)
    }
}
