//! A relay's handshakes, separate from its circuits.

use super::extensions::{Agreed, Request as Asked, Response};
use crate::Error;
use crate::cell::payload::Create2;
use crate::flow;
use crate::handshake::{Chain, Handshake, Keys, Replies, Request};
use crate::layer::{Crypto, RelayLayer};
use std::fmt;
use std::marker::PhantomData;

/// The handshakes that a relay offers, with its onion keys for each.
#[derive(Default)]
pub struct OnionKeys {
    offers: Vec<Offer>,
}

/// A relay's side of a handshake, with its type erased: answers onionskins.
type Respond = Box<dyn Fn(&[&HandshakeJob], &mut dyn FnMut(usize, Result<Answer, Error>)) + Send + Sync>;

struct Offer {
    kind: u16,
    answer: Respond,
}

impl OnionKeys {
    /// Adds a handshake. `relays` has one entry for each onion key that is still valid.
    ///
    /// # Errors
    /// [`Error::NoNumber`] if the handshake has no number.
    pub fn with<H>(mut self, handshake: H, relays: Vec<H::RelaySecret>) -> Result<Self, Error>
    where
        H: Handshake + Send + Sync + 'static,
        H::RelaySecret: Send + Sync,
    {
        let kind = handshake.handshake_type().ok_or(Error::NoNumber)?.number();
        let answer: Respond = Box::new(move |jobs, answered| match jobs {
            [job] => answered(0, answer(&handshake, &relays, job)),
            _ => {
                let onionskins: Vec<_> = jobs.iter().map(|job| job.create.onionskin()).collect();
                let asked = vec![None; jobs.len()];
                handshake.answer_many(
                    &relays,
                    &onionskins,
                    &mut Answers::<H> { jobs, asked, answered, handshake: PhantomData },
                );
            }
        });
        self.offers.push(Offer { kind, answer });
        Ok(self)
    }

    /// Numbers of the handshakes on offer.
    pub fn kinds(&self) -> impl Iterator<Item = u16> {
        self.offers.iter().map(|offer| offer.kind)
    }
}

fn answer<H: Handshake>(handshake: &H, relays: &[H::RelaySecret], job: &HandshakeJob) -> Result<Answer, Error> {
    let request = handshake.accept(relays, job.create.onionskin())?;
    let (accepted, message) = Accepted::new::<H>(request.message(), job.upgrade)?;
    let (reply, keys) = request.respond(&message)?;
    accepted.answer(reply, &keys)
}

/// What a client has asked for, and what it gets.
#[derive(Clone, Copy)]
struct Accepted {
    asked: Asked,
    response: Response,
}

impl Accepted {
    /// From the client's extension message; with the one to answer with. `upgrade` says whether the relay agrees to upgrades.
    fn new<H: Handshake>(message: &[u8], upgrade: bool) -> Result<(Self, Vec<u8>), Error> {
        let (asked, congestion_control) = match H::CARRIES_MESSAGES {
            true => Asked::decode(message)?,
            false => (Asked::NONE, false),
        };
        // tor1 has fixed windows: a request for congestion control without CGO is not answered, as Tor allows.
        let sendme_increment = (congestion_control && asked.crypto == Crypto::Cgo).then_some(flow::SENDME_INCREMENT);
        let response = Response { sendme_increment, upgrade: asked.upgrade && upgrade };
        let message = if H::CARRIES_MESSAGES { response.encode() } else { Vec::new() };
        Ok((Self { asked, response }, message))
    }

    fn answer(self, reply: Vec<u8>, keys: &Keys) -> Result<Answer, Error> {
        let Self { asked, response } = self;
        let (crypto, agreed) = (asked.crypto, Agreed::new(asked, response)?);
        let chain = match agreed.upgrade {
            true => Some(Chain::new(keys, crypto.name(), crypto.key_length())?),
            false => None,
        };
        Ok(Answer { reply, layer: RelayLayer::new(crypto, keys)?, agreed, chain })
    }
}

/// The answers to several onionskins of a handshake.
struct Answers<'a, H> {
    jobs: &'a [&'a HandshakeJob],
    asked: Vec<Option<Accepted>>,
    answered: &'a mut dyn FnMut(usize, Result<Answer, Error>),
    handshake: PhantomData<H>,
}

impl<H: Handshake> Replies for Answers<'_, H> {
    fn message(&mut self, at: usize, message: &[u8]) -> Result<Vec<u8>, Error> {
        let (accepted, message) = Accepted::new::<H>(message, self.jobs[at].upgrade)?;
        self.asked[at] = Some(accepted);
        Ok(message)
    }

    fn answered(&mut self, at: usize, answer: Result<(Vec<u8>, Keys), Error>) {
        let answer = answer
            .and_then(|(reply, keys)| self.asked[at].expect("only what was accepted has a reply").answer(reply, &keys));
        (self.answered)(at, answer);
    }
}

/// A circuit creation whose handshake is still to be done. It can be sent to another thread;
/// [`RelayCircuit::answer`](super::RelayCircuit::answer) takes the result.
#[derive(Debug)]
#[must_use]
pub struct HandshakeJob {
    create: Create2,
    /// Whether the relay agrees to upgrades.
    upgrade: bool,
}

impl HandshakeJob {
    pub(super) fn new(create: Create2, upgrade: bool) -> Self {
        Self { create, upgrade }
    }

    /// Number of the requested handshake.
    pub fn kind(&self) -> u16 {
        self.create.kind()
    }

    /// Does the handshake: some tens of microseconds of computation.
    ///
    /// # Errors
    /// [`Error::NoNumber`] if the handshake is not offered; those of [`Handshake::accept`] and [`Request::respond`];
    /// [`Error::PeerMisbehaved`] for extensions that can't be agreed to.
    pub fn run(self, keys: &OnionKeys) -> Result<Answer, Error> {
        let mut result = Err(Error::NoNumber);
        Self::run_many(&[&self], keys, |_, answer| result = answer);
        result
    }

    /// Does several handshakes, those of one kind in one pass: eight take less time than one by one. `answered` gets the result that
    /// [`Self::run`] has of each, with its place among the jobs.
    pub fn run_many(jobs: &[&Self], keys: &OnionKeys, mut answered: impl FnMut(usize, Result<Answer, Error>)) {
        for offer in &keys.offers {
            let mut places = Vec::new();
            let mut of_kind = Vec::new();
            for (place, job) in jobs.iter().enumerate().filter(|(_, job)| job.kind() == offer.kind) {
                places.push(place);
                of_kind.push(*job);
            }
            if !places.is_empty() {
                (offer.answer)(&of_kind, &mut |at, answer| answered(places[at], answer));
            }
        }
        for (place, _) in jobs.iter().enumerate().filter(|(_, job)| keys.kinds().all(|kind| kind != job.kind())) {
            answered(place, Err(Error::NoNumber));
        }
    }
}

/// The result of a relay's handshake: the reply, the layer, and what was agreed.
pub struct Answer {
    pub(super) reply: Vec<u8>,
    pub(super) layer: RelayLayer,
    pub(super) agreed: Agreed,
    /// If an upgrade was agreed on.
    pub(super) chain: Option<Chain>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("agreed", &self.agreed).finish_non_exhaustive()
    }
}

impl fmt::Debug for OnionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kinds()).finish()
    }
}
